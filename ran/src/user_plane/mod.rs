//! The user plane of the simulator: GTP-U at the gNB, network interfaces at the UE.
//!
//! One thread per gNB transports the packets. Without the privilege to create interfaces, packets
//! are passed by calls.
mod address;
mod air_interface;
mod batch;
mod endpoint;
mod interface;
mod netns;
mod packet;
mod port;
mod port_state;
mod radio;
#[cfg(test)]
pub(crate) mod tests;

pub use endpoint::{Counters, LATE, UserPlane};
pub use interface::Interface;
pub use netns::{Namespace, Netns};
pub use port::Port;
pub use port_state::{Tunnel, UplinkWaiting};
pub use radio::{RadioConfig, RadioConfigError};
