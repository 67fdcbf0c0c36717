//! What the call-flow tests share: a network namespace of their own, a whole core in it, and a
//! record of what crossed the service-based interface.
#![forbid(unsafe_code)]

mod bodies;
mod counts;
pub mod free5gc_smf;
mod host;
mod ipv6;
mod live_capture;
mod metric;
mod namespace;
mod own_upf;
mod packets;
mod programs;
mod raw_gnb;
mod second_amf;
mod soak;
mod test_core;
mod unruly_wire;
mod wall;
mod wires;

pub use bodies::BodyRecord;
pub use counts::{Counts, eventually};
pub use host::{HOST, Host, MACHINE, Server, namespace, serve_http};
pub use ipv6::{configure6, ping6, reaches6};
pub use live_capture::{LiveCapture, Recording, in_order};
pub use metric::{Growth, metric};
pub use namespace::{in_namespace, in_namespace_within};
pub use own_upf::OwnUpf;
pub use packets::{ping, reaches, sequence_of};
pub use programs::{has, run};
pub use raw_gnb::{RawGnb, cause_of};
pub use second_amf::SecondAmf;
pub use soak::{Seen, Soak};
pub use test_core::{
    GATEWAY, SUBSCRIBERS, TestCore, a_switch_carries_packets, internet, programs_carry_packets,
    subscriber_keys, without_a_switch,
};
pub use unruly_wire::{Manners, UnrulyWire};
pub use wall::Wall;
pub use wires::{Wires, switch_program};
