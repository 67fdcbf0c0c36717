//! Support for call-flow tests: each test runs a complete core in its own network namespace, with
//! simulated gNBs and UEs, and records the messages of the service-based interface.
#![forbid(unsafe_code)]

mod bearer;
mod capture;
mod commands;
mod counts;
mod data_network;
mod eventually;
pub mod free5gc_smf;
mod ipv6;
mod lan;
mod log_lines;
mod lossy_link;
mod metric;
mod namespace;
mod openapi_validator;
mod packet_filter;
mod packets;
mod raw_gnb;
mod requests_compared;
mod sbi_gate;
mod sbi_record;
mod second_amf;
mod separate_upf;
mod skip;
mod soak;
mod switch_wiring;
mod test_core;

pub use bearer::peer_with_token;
pub use capture::{LiveCapture, Recording, in_order};
pub use commands::{is_installed, run};
pub use counts::Counts;
pub use data_network::{
    DN_HOST, DataNetworkHost, N6_GATEWAY, Server, serve_http, unique_namespace,
};
pub use eventually::eventually;
pub use ipv6::{configure6, ping6, reaches6};
pub use lan::{add_lan, join_lan};
pub use log_lines::{LogLine, LogLines};
pub use lossy_link::{Impairments, LossyLink};
pub use metric::{MetricDelta, metric};
pub use namespace::{in_namespace, in_namespace_alone, in_namespace_within, within_netns};
pub use packet_filter::PacketFilter;
pub use packets::{ping, reaches, sequence_of};
pub use raw_gnb::{RawGnb, cause_of};
pub use requests_compared::compared_requests;
pub use sbi_gate::SbiGate;
pub use sbi_record::SbiRecord;
pub use second_amf::SecondAmf;
pub use separate_upf::SeparateUpf;
pub use skip::skip;
pub use soak::{Soak, SoakCounters};
pub use switch_wiring::{SwitchWiring, switch_program};
pub use test_core::{
    GATEWAY, SUBSCRIBERS, TestCore, internet, subscriber_keys, switch_datapath, without_switch,
    xdp_datapath,
};
