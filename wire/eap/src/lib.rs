//! EAP-AKA' (RFC 9048, RFC 4187) as 5GS uses it (TS 33.501, 6.1.3.1 and annex F): the packets, the
//! keys, the AUSF's side and the UE's. No I/O and no clock.
//!
//! | module | what |
//! | --- | --- |
//! | [`packet`] | encode and decode EAP packets and their attributes |
//! | [`keys`] | K_aut and EMSK from CK' and IK' (RFC 9048, 3.3) |
//! | [`server`] | the AUSF: make a challenge, process the response |
//! | [`peer`] | the UE: process a request, make the response |
//!
//! ```
//! use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
//!
//! # fn main() -> Result<(), martlet_eap::packet::PacketError> {
//! // A UE with another authentication centre's keys rejects the challenge.
//! let reject = Packet::new(Code::Response, 1, Subtype::AuthenticationReject, vec![]);
//! let received = Packet::decode(&reject.encode())?;
//! assert_eq!(received.subtype(), Some(Subtype::AuthenticationReject));
//! assert_eq!(received.attributes(), &[] as &[Attribute]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzz;
pub mod keys;
pub mod packet;
pub mod peer;
pub mod server;
