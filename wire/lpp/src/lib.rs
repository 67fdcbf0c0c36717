//! LPP, the LTE positioning protocol (TS 37.355, Release 18), in the unaligned packed encoding:
//! bytes in, values out.
//!
//! The types are those of the specification's ASN.1, in Rust's spelling:
//! `NR-ECID-RequestLocationInformation-r16` is [`NrEcidRequestLocationInformationR16`],
//! `commonIEsRequestCapabilities` is `common_ies_request_capabilities`. An enumeration of one value
//! is `()`, an optional one `Option<()>`.
//!
//! ```
//! use martlet_lpp::*;
//!
//! let bytes =
//!     [0xf0, 0x02, 0x07, 0x48, 0x32, 0x08, 0x2a, 0x29, 0x0c, 0x12, 0x2e, 0x05, 0x02, 0x81, 0xc0];
//! let message = decode(&bytes).unwrap();
//! assert_eq!(message.transaction_id.as_ref().unwrap().transaction_number, 1);
//! assert!(matches!(
//!     message.lpp_message_body,
//!     Some(LppMessageBody::C1(LppMessageBodyC1::RequestLocationInformation(_)))
//! ));
//! assert_eq!(encode(&message).unwrap(), bytes);
//! ```
//!
//! # Errors
//!
//! [`DecodeError`] states why the bytes are not a message, and [`EncodeError`] which bound of its
//! type a value exceeds.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

mod body;
#[rustfmt::skip]
mod generated;

pub use body::{Body, Transaction};
pub use generated::*;
pub use martlet_per::{BitString, DecodeError, EncodeError};
use martlet_per::{Decoder, Encoder, Variant};

/// Decodes a message.
///
/// # Errors
/// The bytes are not one LPP message.
pub fn decode(bytes: &[u8]) -> Result<LppMessage, DecodeError> {
    let mut decoder = Decoder::new(bytes, Variant::Unaligned);
    let message = LppMessage::decode(&mut decoder)?;
    decoder.finish()?;
    Ok(message)
}

/// Encodes a message.
///
/// # Errors
/// A value of the message is outside the bounds of its type.
pub fn encode(message: &LppMessage) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::new(Variant::Unaligned);
    message.encode(&mut encoder)?;
    Ok(encoder.finish())
}

#[doc(hidden)]
pub fn fuzz_decode(data: &[u8]) {
    if let Ok(message) = decode(data) {
        // An empty addition group is not encoded again; all else is.
        let bytes = encode(&message).expect("what was read can be written");
        assert_eq!(decode(&bytes).as_ref(), Ok(&message), "what was encoded reads differently");
    }
}
