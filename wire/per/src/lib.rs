//! Packed encoding rules (ITU-T X.691), BASIC-PER, aligned and unaligned: the runtime on which the
//! generated code of `wire/lpp` and `wire/nrppa` stands.
//!
//! An [`Encoder`] takes values in the order of their type, with its bounds, and gives bytes; a
//! [`Decoder`] the other way. The code that calls them in the right order is written by
//! `wire/oracles/per_generate.py`.
//!
//! ```
//! use martlet_per::{Decoder, Encoder, Variant};
//!
//! // SEQUENCE { a INTEGER (0..255), b BOOLEAN, c OCTET STRING OPTIONAL }
//! let mut encoder = Encoder::new(Variant::Unaligned);
//! encoder.bit(true); // c is there
//! encoder.constrained(200, 0, 255).unwrap();
//! encoder.bit(false);
//! encoder.octet_string(&[0xab], None).unwrap();
//! let bytes = encoder.finish();
//! assert_eq!(bytes, [0b1_1100100, 0b0_0_000000, 0b01_101010, 0b11_000000]);
//!
//! let mut decoder = Decoder::new(&bytes, Variant::Unaligned);
//! assert_eq!(decoder.bit(), Ok(true));
//! assert_eq!(decoder.constrained(0, 255), Ok(200));
//! assert_eq!(decoder.bit(), Ok(false));
//! assert_eq!(decoder.octet_string(None), Ok(vec![0xab]));
//! assert_eq!(decoder.finish(), Ok(()));
//! ```
#![forbid(unsafe_code)]

mod bit_string;
mod decode;
mod encode;
mod error;

pub use bit_string::BitString;
pub use decode::{Additions, Decoder};
pub use encode::Encoder;
pub use error::{DecodeError, EncodeError};

/// Which of the two: does what needs whole bytes start on one?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// ALIGNED, as NRPPa and NGAP have it.
    Aligned,
    /// UNALIGNED, as LPP and RRC have it.
    Unaligned,
}

/// The bounds of a size: the least, the most where there is one, and whether the constraint has an
/// extension marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The fewest.
    pub least: usize,
    /// The most; none: as many as one likes.
    pub most: Option<usize>,
    /// Sizes outside the bounds are allowed too.
    pub extensible: bool,
}

impl Size {
    /// From the fewest to the most.
    pub const fn range(least: usize, most: usize) -> Self {
        Size { least, most: Some(most), extensible: false }
    }

    /// The same with an extension marker.
    pub const fn extensible(least: usize, most: usize) -> Self {
        Size { least, most: Some(most), extensible: true }
    }
}

/// Fragments of a long value are multiples of this (X.691, 11.9.3.8).
const FRAGMENT: usize = 16_384;
/// A size whose most is below this is written as a constrained number (X.691, 11.9.3.3).
const LARGE: usize = 65_536;

/// Bits that a number of `range` values needs (X.691, 11.5.7.1).
fn bits_for(range: u128) -> u32 {
    if range <= 1 { 0 } else { 128 - (range - 1).leading_zeros() }
}
