//! Packets and Ethernet frames of UEs and data networks, as the UPF reads them to select a rule.
#![no_main]

use martlet_upf_rules::{EthernetHeader, Flow};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(flow) = Flow::of(data) {
        let _ = flow.dscp();
    }
    let _ = Flow::of_frame(data);
    if let Some((header, length)) = EthernetHeader::of(data) {
        assert!(length <= data.len(), "a header is within its frame");
        let _ = header.is_group();
    }
});
