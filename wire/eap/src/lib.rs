//! EAP-AKA' (RFC 9048, RFC 4187) as 5GS uses it (TS 33.501, 6.1.3.1 and annex F): the packets, the
//! keys, the AUSF's side and the UE's. No I/O and no clock.
//!
//! | module | what |
//! | --- | --- |
//! | [`packet`] | an EAP packet of the method with its attributes, as bytes and back |
//! | [`keys`] | K_aut and EMSK from CK' and IK' (RFC 9048, 3.3) |
//! | [`server`] | the AUSF: a challenge, and what an answer to it means |
//! | [`peer`] | the UE: the answer to a challenge |
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzz;
pub mod keys;
pub mod packet;
pub mod peer;
pub mod server;
