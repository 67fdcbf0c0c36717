//! The user plane of the simulator: GTP-U at the gNB, network interfaces at the UE.
//!
//! One thread per gNB moves the packets. Without the right to make interfaces, packets go in and
//! out by calls.
mod address;
mod air;
mod batch;
mod endpoint;
mod interface;
mod netns;
mod packet;
mod port;
mod radio;
#[cfg(test)]
mod tests;

pub use endpoint::{Counters, LATE, UserPlane};
pub use interface::Interface;
pub use netns::{Namespace, Netns};
pub use port::{Port, Tunnel, UplinkWaiting};
pub use radio::RadioConfig;
