//! Bodies in a compact form, for bindings whose two ends are of one build: what JSON says, in fewer octets and without
//! its text. Like JSON it describes itself, so every type that has a JSON form through `serde` has this one, whatever
//! its attributes (`untagged`, `flatten`, `tag`, …), and a body can be turned into JSON by who does not know its type.
//!
//! | first octet | value |
//! | --- | --- |
//! | `0x00`–`0x3f` | unsigned integer 0 to 63 |
//! | `0x40`–`0x7f` | text of 0 to 63 octets |
//! | `0x80`–`0xbf` | name 0 to 63 of [`NAMES`](names::NAMES) as text |
//! | `0xc0` `0xc1` `0xc2` | null, false, true |
//! | `0xc3` n | unsigned integer |
//! | `0xc4` n | the integer −1−n |
//! | `0xc5` | floating point number, 8 octets, little-endian |
//! | `0xc6` n | text of n octets |
//! | `0xc7` n | n octets |
//! | `0xc8` n, `0xe0`–`0xef` | array of n (0 to 15) values |
//! | `0xc9` | array of values up to `0xcf` |
//! | `0xca` | object of names and values up to `0xcf` |
//! | `0xcb` n | object of n names and values; `0xd0`–`0xdf` for 0 to 15 |
//! | `0xcc` | name of the list as text: its number, 2 octets, little-endian |
//!
//! n is LEB128. Names of an object are text.
mod decode;
mod encode;
mod fields;
pub mod names;
#[cfg(test)]
mod tests;

pub use decode::from_slice;
pub use encode::to_vec;

use crate::{Encoded, Problem};
use std::fmt::Display;

/// Version of the form.
const VERSION: u8 = 1;
/// Levels of arrays and objects, as `serde_json` has it.
const DEEPEST: u32 = 128;

const NULL: u8 = 0xc0;
const FALSE: u8 = 0xc1;
const TRUE: u8 = 0xc2;
const UNSIGNED: u8 = 0xc3;
const NEGATIVE: u8 = 0xc4;
const FLOAT: u8 = 0xc5;
const TEXT: u8 = 0xc6;
const OCTETS: u8 = 0xc7;
const ARRAY: u8 = 0xc8;
const ARRAY_OPEN: u8 = 0xc9;
const OBJECT_OPEN: u8 = 0xca;
const OBJECT: u8 = 0xcb;
const NAME: u8 = 0xcc;
const END: u8 = 0xcf;

/// Why a value has no compact form, or octets no value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<str>);

impl Error {
    fn new(what: impl Display) -> Self {
        Error(what.to_string().into())
    }
}

impl serde::ser::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Error::new(what)
    }
}

impl serde::de::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Error::new(what)
    }
}

/// A number that is equal at two ends if they understand each other's compact bodies.
pub fn model() -> u64 {
    // FNV-1a over all that a reader has to know.
    let text = names::NAMES.iter().flat_map(|name| name.bytes().chain([0]));
    [VERSION]
        .into_iter()
        .chain(text)
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

/// Compact octets as JSON text.
pub(crate) fn to_json(octets: &[u8]) -> Result<Vec<u8>, Problem> {
    let value: serde_json::Value = from_slice(octets).map_err(|e| Problem::invalid_message(e.to_string()))?;
    serde_json::to_vec(&value).map_err(|e| Problem::system_failure(e.to_string()))
}

/// A compact body as it would be on a wire.
pub(crate) fn to_wire(compact: &Encoded) -> Result<Encoded, Problem> {
    if crate::multipart::is_multipart(&compact.content_type) {
        return crate::multipart::compact_to_wire(compact);
    }
    Ok(Encoded { content_type: compact.content_type.clone(), bytes: to_json(&compact.bytes)?.into() })
}
