//! Flow descriptions of SDF filters (RFC 6733, `IPFilterRule`), as the SMF sends them to the UPF:
//! the rule up to the first newline, then a packet.
#![no_main]

use martlet_pfcp::ie::SdfFilter;
use martlet_upf_rules::{Direction, Flow, SdfRule};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (text, packet) = data.split_at(split);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let filter = SdfFilter { flow_description: Some(text.into()), ..SdfFilter::default() };
    let (Ok(rule), Some(flow)) = (SdfRule::of(&filter), Flow::of(packet.get(1..).unwrap_or(&[])))
    else {
        return;
    };
    for direction in [Direction::Uplink, Direction::Downlink] {
        let _ = rule.matches(&flow, direction);
    }
});
