//! NRPPa (TS 38.455, Release 18), in the aligned packed encoding: bytes in, values out.
//!
//! The types are those of the specification's ASN.1, in Rust's spelling. A message is a struct with
//! a member for each of its information elements; unknown elements are skipped, unless their
//! criticality is "reject".
//!
//! ```
//! use martlet_nrppa::*;
//!
//! let bytes = [
//!     0x00, 0x02, 0x00, 0x00, 0x05, 0x17, 0x00, 0x00, 0x03, 0x00, 0x02, 0x00, 0x01, 0x00, 0x00,
//!     0x03, 0x00, 0x01, 0x00, 0x00, 0x05, 0x00, 0x06, 0x00, 0x00, 0x0b, 0x00, 0x01, 0x04,
//! ];
//! let pdu = Pdu::decode(&bytes).unwrap();
//! assert_eq!(pdu.transaction, 5);
//! let Message::ECidMeasurementInitiationRequest(request) = &pdu.message else {
//!     panic!("another message")
//! };
//! assert_eq!(request.measurement_quantities.len(), 1);
//! assert_eq!(pdu.encode().unwrap(), bytes);
//! ```
//!
//! # Errors
//!
//! [`DecodeError`] distinguishes a missing element from an unknown one with the criticality
//! "reject". [`EncodeError`] states which bound of its type a value exceeds.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

#[rustfmt::skip]
mod generated;

pub use generated::*;
pub use martlet_per::{BitString, DecodeError, EncodeError};
use martlet_per::{Decoder, Encoder, Variant};

/// A message with the transaction that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Pdu {
    /// The transaction, 0 to 32,767.
    pub transaction: u16,
    /// The message; its direction, procedure and criticality follow from it.
    pub message: Message,
}

impl Pdu {
    /// Decodes a message.
    ///
    /// # Errors
    /// The bytes are not one NRPPa message, or have an information element that has to be
    /// rejected.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(bytes, Variant::Aligned);
        let d = &mut decoder;
        let direction = d.index(3, true)?;
        let procedure = d.constrained(0, 255)? as u8;
        // The criticality of the procedure follows from it.
        d.index(3, false)?;
        let transaction = d.constrained(0, 32_767)? as u16;
        let message = d.open(|d| Message::decode(d, direction, procedure))?;
        decoder.finish()?;
        Ok(Pdu { transaction, message })
    }

    /// Encodes the message.
    ///
    /// # Errors
    /// A value of the message is outside the bounds of its type.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let (direction, procedure, criticality) = self.message.numbers();
        let mut e = Encoder::new(Variant::Aligned);
        e.index(direction, 3, true)?;
        e.constrained(procedure.into(), 0, 255)?;
        e.index(criticality, 3, false)?;
        e.constrained(self.transaction.into(), 0, 32_767)?;
        e.open(|e| self.message.encode(e))?;
        Ok(e.finish())
    }
}

#[doc(hidden)]
pub fn fuzz_decode(data: &[u8]) {
    if let Ok(pdu) = Pdu::decode(data) {
        match pdu.encode() {
            Ok(bytes) => assert_eq!(
                Pdu::decode(&bytes).as_ref(),
                Ok(&pdu),
                "what was encoded reads differently"
            ),
            Err(error) => panic!("what was read cannot be written: {error}"),
        }
    }
}
