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
//! use martlet_eap::keys::identity_of;
//! use martlet_eap::peer::{self, Reply, Verdict};
//! use martlet_eap::server::{Outcome, Server, Vector};
//! use martlet_security::Rand;
//! use martlet_security::aka::{self, SubscriberKey};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = aka::serving_network_name("001", "01");
//! let identity = identity_of("imsi-001010000000001");
//! let key = SubscriberKey::new(&[0x46; 16], &[0xcd; 16]);
//!
//! // AUSF: a challenge from an authentication vector of the UDM.
//! let rand = Rand::new(&[0x23; 16]);
//! let vector = aka::eap_vector(&key, &rand, 32, [0x80, 0], &network)?;
//! let vector = Vector {
//!     rand: *rand.as_octets(),
//!     autn: *vector.autn.as_octets(),
//!     xres: vector.xres,
//!     ck_prime: vector.ck_prime,
//!     ik_prime: vector.ik_prime,
//!     network: &network,
//!     identity,
//! };
//! let (mut server, request) = Server::challenge(&vector, 7);
//!
//! // UE: checks AUTN with its USIM, and answers.
//! let reply = peer::answer(&request, &network, identity, |rand, autn| {
//!     match key.check_autn(rand, autn) {
//!         Ok(response) => Verdict::Accepted(Box::new(response)),
//!         Err(_) => Verdict::Rejected,
//!     }
//! });
//! let Reply::Accepted(response, keys) = reply else { unreachable!() };
//!
//! // AUSF: EAP-Success. Both have the same K_AUSF.
//! let Outcome::Success(end) = server.answer(&response) else { unreachable!() };
//! assert_eq!(peer::end(&end), Some(true));
//! assert_eq!(keys.k_ausf().as_octets(), server.keys().k_ausf().as_octets());
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! [`packet::PacketError`] names the part of a packet that is wrong. [`server::Outcome`] and
//! [`peer::Reply`] state what to send.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzz;
pub mod keys;
pub mod packet;
pub mod peer;
pub mod server;
