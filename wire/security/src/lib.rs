//! The security functions of 5G: MILENAGE (TS 35.206), TUAK (TS 35.231), key derivation and SUCI
//! (TS 33.501), NEA and NIA.
//!
//! A thin layer over the crate that the workspace pins; nothing outside `wire/` names that crate.
//! Its primitives are at the root. The modules combine them as network functions use them:
//!
//! | module | for | what |
//! | --- | --- | --- |
//! | [`aka`] | UDM, AUSF, AMF | the authentication vector of 5G-AKA, HXRES*, K_SEAF, K_AMF, re-synchronisation |
//! | [`usim`] | UE | the answer to a challenge: RES*, MAC failure, synchronisation failure |
//! | [`sqn`] | UDM, UE | sequence numbers with an index (TS 33.102, annex C) |
//! | [`tuak`] | UDM, UE | the functions of TUAK |
//! | [`sidf`] | UDM, UE | conceal and de-conceal a subscription identifier, as text |
//!
//! ```
//! use martlet_security::aka::{self, SubscriberKey};
//! use martlet_security::usim::{Challenge, Usim};
//! use martlet_security::{Rand, sqn};
//!
//! let key = SubscriberKey::from_hex(
//!     "465b5ce8b199b49faa5f0a2ee238a6bc",
//!     "cd63cb71954a9f4e48a5994e37a02baf",
//! )
//! .unwrap();
//! let network = aka::serving_network_name("208", "93");
//!
//! // UDM: the next sequence number of the subscriber, a fresh RAND, and the vector.
//! let sqn = sqn::next(0);
//! let vector = aka::vector(&key, &Rand::new(&[0x23; 16]), sqn, [0x80, 0x00], &network).unwrap();
//! // AUSF: what the serving network gets.
//! let hxres_star = aka::hxres_star(&vector.rand, &vector.xres_star);
//! let k_seaf = aka::k_seaf(&vector.k_ausf, &network).unwrap();
//! // UE: checks AUTN and answers.
//! let mut usim = Usim::new(key);
//! let Challenge::Accepted(answer) = usim.challenge(&vector.rand, &vector.autn, &network) else {
//!     unreachable!()
//! };
//! // AMF: HRES* equals HXRES*. AUSF: RES* equals XRES*.
//! assert!(aka::hres_star_matches(&vector.rand, answer.res_star.as_octets(), &hxres_star));
//! assert!(vector.xres_star.accepts(&answer.res_star));
//! // Both sides derive K_AMF.
//! let k_amf = aka::k_amf(&k_seaf, "imsi-208930000000001").unwrap();
//! assert_eq!(
//!     answer.k_amf(&network, "imsi-208930000000001").unwrap().as_octets(),
//!     k_amf.as_octets()
//! );
//! ```
//!
//! # Errors
//!
//! [`aka::NoKey`] is a key of a wrong length, [`sidf::SidfError`] a SUCI that cannot be
//! de-concealed, and `SecurityError` a failed derivation or check.
//!
//! # Features
//!
//! None.
pub use oxirush_security::*;
/// Memory with keys, overwritten on drop.
pub use zeroize::{Zeroize, Zeroizing};

pub mod aka;
#[doc(hidden)]
pub mod fuzz;
pub mod sidf;
pub mod sqn;
pub mod tuak;
pub mod usim;
