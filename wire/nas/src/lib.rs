//! NAS-5GS messages (TS 24.501): bytes in, values out.
//!
//! A thin layer over the codec crate that the workspace pins; nothing outside `wire/` names that
//! crate. Everything of the codec is at the root (`Nas5gsMessage`, `NasRegistrationAccept`,
//! `NasSecurityContext`, …); the modules add what AMF, SMF and UE need again and again:
//!
//! | module | what it does |
//! | --- | --- |
//! | [`inbound`] | whether a received message is processed: integrity, replay, messages that may be unprotected (TS 24.501, 4.4.4) |
//! | [`outbound`] | protects a message under the security header that its procedure requires |
//! | [`reaction`] | the reaction to a message that does not decode (TS 24.501, 7) |
//! | [`identifiers`] | AMF identifier, TAC, slice as text, as TS 29.571 has them in JSON |
//! | [`qos`] | default QoS rule and flow description, session AMBR in bit/s |
//! | [`options`] | DNS servers and MTU in the extended protocol configuration options |
//! | [`algorithms`] | selects NEA and NIA; converts the capability for NGAP |
//! | [`key_change`] | informs a UE of a new K_AMF at a handover, and reads that at the UE |
//! | [`timers`] | a GPRS timer 3 for any number of seconds |
//!
//! # A message from a UE, and an answer
//!
//! ```
//! use martlet_nas::inbound::{self, Assurance};
//! use martlet_nas::*;
//!
//! // REGISTRATION REQUEST with a SUCI of the null scheme, before any security.
//! let bytes = hex::decode("7e004179000d0102f8390000000000000010022e08a020000000000000").unwrap();
//! let received = inbound::from_ue(None, false, &bytes).unwrap();
//! assert_eq!(received.assurance, Assurance::Plain);
//! let Nas5gsMessage::Gmm(_, message) = &received.message else { unreachable!() };
//! let Nas5gmmMessage::RegistrationRequest(request) = message else { unreachable!() };
//! let Some(Suci::Imsi(suci)) = request.fgs_mobile_identity.as_suci() else { unreachable!() };
//! assert_eq!(suci.imsi().unwrap().to_string(), "208930000000120");
//!
//! // A message that does not decode: what to answer, if anything.
//! let refused = inbound::from_ue(None, false, &[0x7e, 0x00, 0x41]).unwrap_err();
//! // REGISTRATION REJECT, #96
//! assert_eq!(refused.answer.unwrap().encode().unwrap(), [0x7e, 0x00, 0x44, 0x60]);
//!
//! // REGISTRATION ACCEPT under the security context of the UE.
//! let kamf = KAmf::new(&[0x11; 32]);
//! let mut context =
//!     NasSecurityContext::from_fresh_kamf(
//!         &kamf,
//!         IntegrityAlgorithm::NIA2,
//!         CipheringAlgorithm::NEA2,
//!     )
//!     .unwrap();
//! let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
//! let accept = Nas5gsMessage::new_5gmm(NasRegistrationAccept::new(result));
//! let protected = outbound::to_ue(&mut context, &accept).unwrap();
//! assert_eq!(protected[..2], [0x7e, 0x02]);
//! ```
//!
//! # The session management part of a PDU SESSION ESTABLISHMENT ACCEPT
//!
//! ```
//! use martlet_nas::*;
//!
//! let accept = NasPduSessionEstablishmentAccept::new(
//!     NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4),
//!     NasSscMode::from_mode(SscModeValue::Ssc1),
//!     qos::default_rule(1, 1).unwrap(),
//!     qos::session_ambr(200_000_000, 100_000_000).unwrap(),
//! )
//! .with_authorized_qos_flow_descriptions(qos::flow(1, 9).unwrap())
//! .with_pdu_address(NasPduAddress::from_ipv4([10, 60, 0, 1]));
//! let message = Nas5gsMessage::new_5gsm(accept, 5, 1);
//! # let _ = message;
//! ```
//!
//! # Errors
//!
//! [`inbound::from_ue`] and [`inbound::from_network`] return [`inbound::Refused`] with the answer
//! to send, if any. [`outbound`] fails with `NasError` where a security context has no NAS COUNT
//! left. A value that does not fit its information element is a `ValueError`.
//!
//! # Features
//!
//! None.

pub use oxirush_nas::identity::{self, Plmn};
pub use oxirush_nas::nas_5gs::*;
pub use oxirush_nas::{UnknownIe, UnknownIes, common};

pub mod algorithms;
#[doc(hidden)]
pub mod fuzz;
pub mod identifiers;
pub mod inbound;
pub mod key_change;
pub mod options;
pub mod outbound;
pub mod ppp;
pub mod qos;
pub mod reaction;
pub mod timers;
