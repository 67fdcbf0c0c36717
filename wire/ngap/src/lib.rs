//! NGAP messages (TS 38.413, aligned PER): bytes in, values out.
//!
//! A thin layer over the codec crate that the workspace pins; nothing outside `wire/` names that
//! crate. Its items are at the root: the types of the ASN.1 in [`ngap`], `build_ngap!`,
//! `extract_ngap_ies!` and the [`helpers`] for PLMN, GUAMI, TAI and slices. The modules add what
//! AMF, SMF and gNB need in addition:
//!
//! | module | what |
//! | --- | --- |
//! | [`transfer`] | the N2 SM information of a PDU session as plain values: TEID, address, QFI, 5QI, ARP |
//! | [`inbound`] | reads a message, or makes the answer to its fault (TS 38.413, 10) |
//! | [`mod@error_indication`] | build an ERROR INDICATION |
//! | [`cause`] | causes as the numbers of TS 29.571 and as text |
//!
//! ```
//! use martlet_ngap::{NgapPduKind, inbound};
//!
//! # fn main() -> Result<(), hex::FromHexError> {
//! // The NG SETUP REQUEST of a gNB.
//! let bytes = hex::decode(
//!     "00150035000004001b00080002f83910000001005240070200676e622d310066001200000000010002f8390001\
//!      000880400000ff0015400140",
//! )?;
//! match inbound::read(&bytes) {
//!     Ok(received) => assert_eq!(received.pdu.kind(), NgapPduKind::Initiating_NGSetup),
//!     // What TS 38.413, 10 requires: the message to send, if any.
//!     Err(fault) => println!("{fault:?}: answer {:?}", fault.answer()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! [`inbound::read`] returns an [`inbound::Fault`], whose `answer` is the ERROR INDICATION or the
//! unsuccessful outcome that TS 38.413, 10 requires. Transfers fail with
//! [`transfer::TransferError`], which has the cause.
//!
//! # Features
//!
//! None.
pub use oxirush_ngap::{
    BitString, Bits, Decode, Deviation, Encode, Error, ErrorKind, Message, NgapPduKind, Octets,
    aper, build_ngap, build_ngap_ie, extract_ngap_ies, helpers, identity, ie, ngap,
    with_ngap_ie_mut,
};

pub use node_name::{extended_ran_node_name, ran_node_name};

pub mod cause;
pub mod error_indication;
#[doc(hidden)]
pub mod fuzz;
pub mod inbound;
mod node_name;
pub mod transfer;
mod ue_ids;
