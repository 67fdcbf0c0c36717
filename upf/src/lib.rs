//! The user plane function: N4 and its rules above a datapath that carries the packets.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`config`] | the configuration |
//! | [`n4`] | PFCP with the SMF, one file for each procedure |
//! | [`rules`] | the rules of a session: PDR, FAR, QER, URR, BAR, and whether they fit together |
//! | [`datapath`] | what N4 asks of whatever carries the packets |
//! | [`telemetry`] | what is told of packets: metrics, `martlet top`, tracing |
//! | [`thermal`] | the board's sensors and the thermal governor |
//! | [`conformance`] | what every datapath has to pass |
//! | [`KernelDatapath`] | the datapath of sockets and a TUN device |
//! | [`XdpDatapath`] | the datapath of programs in the kernel |
//! | [`SwitchDatapath`] | a programmable switch, with one of the others behind it |

mod checksum;
pub mod config;
pub mod conformance;
pub mod counters;
pub mod datapath;
mod gtpu;
mod kernel;
mod metrics;
pub mod n4;
pub mod names;
pub mod rules;
mod signalling;
mod start;
mod switch;
mod tally;
pub mod telemetry;
pub mod thermal;
mod xdp;

pub use config::UpfConfig;
pub use kernel::{KernelDatapath, Signals};
pub use start::{AskSource, StatusSource, UpfError, UpfHandle, open_datapath, start};
pub use switch::SwitchDatapath;
pub use xdp::{Verdict, XdpDatapath, XdpError};

/// Reads octets as a flow description, up to the first that is 0, and a packet after it, for
/// fuzzing.
#[doc(hidden)]
pub fn fuzz_rules(data: &[u8]) {
    let (text, packet) =
        data.split_at(data.iter().position(|octet| *octet == 0).unwrap_or(data.len()));
    let flow = rules::Flow::of(packet.get(1..).unwrap_or_default());
    let flow_description = Some(String::from_utf8_lossy(text).into_owned());
    let filter = martlet_pfcp::ie::SdfFilter { flow_description, ..Default::default() };
    if let (Ok(rule), Some(flow)) = (rules::SdfRule::of(&filter), flow) {
        rule.matches(&flow, rules::Direction::Uplink);
        rule.matches(&flow, rules::Direction::Downlink);
    }
}
