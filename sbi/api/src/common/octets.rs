//! Bytes inside JSON: base64 (`Bytes`) and hexadecimal strings.
use super::NotValid;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use martlet_sbi::Compact;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use zeroize::{Zeroize, Zeroizing};

/// Bytes encoded in base64 (TS 29.571, 5.2, `Bytes`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Compact)]
pub struct Base64(pub Bytes);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crate::text::read(from, Base64::decode)
    }
}

impl Base64 {
    fn decode(text: &str) -> Result<Self, NotValid> {
        STANDARD
            .decode(text)
            .map(|octets| Base64(octets.into()))
            .map_err(|_| NotValid::new("base64 text", text))
    }
}

impl From<Base64> for String {
    fn from(value: Base64) -> String {
        STANDARD.encode(&value.0)
    }
}

impl TryFrom<String> for Base64 {
    type Error = NotValid;
    fn try_from(text: String) -> Result<Self, NotValid> {
        Base64::decode(&text)
    }
}

macro_rules! hexadecimal {
    ($(#[$meta:meta])* $name:ident $(: $copy:ident)?) => {
        $(#[$meta])*
        #[derive(Clone, $($copy,)? PartialEq, Eq, Hash, Compact)]
        pub struct $name<const N: usize>(pub [u8; N]);

        impl<const N: usize> Serialize for $name<N> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut text = Zeroizing::new([0; 128]);
                // On the stack if they fit.
                if let Some(text) = text.get_mut(..2 * N)
                    && hex::encode_to_slice(self.0, text).is_ok()
                {
                    return to.serialize_str(std::str::from_utf8(text).unwrap_or_default());
                }
                to.serialize_str(&Zeroizing::new(hex::encode(self.0)))
            }
        }

        impl<'de, const N: usize> Deserialize<'de> for $name<N> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                crate::text::read(from, str::parse)
            }
        }

        impl<const N: usize> From<[u8; N]> for $name<N> {
            fn from(octets: [u8; N]) -> Self {
                $name(octets)
            }
        }
        impl<const N: usize> From<$name<N>> for String {
            fn from(value: $name<N>) -> String {
                hex::encode(value.0)
            }
        }
        impl<const N: usize> FromStr for $name<N> {
            type Err = NotValid;
            fn from_str(text: &str) -> Result<Self, NotValid> {
                let mut octets = [0; N];
                hex::decode_to_slice(text, &mut octets).map_err(|_| {
                    NotValid { what: "hexadecimal text of the length due", text: String::new() }
                })?;
                Ok($name(octets))
            }
        }
        impl<const N: usize> TryFrom<String> for $name<N> {
            type Error = NotValid;
            fn try_from(text: String) -> Result<Self, NotValid> {
                text.parse()
            }
        }
    };
}

hexadecimal! {
    /// `N` bytes in hexadecimal digits, most significant first.
    Hex: Copy
}

hexadecimal! {
    /// Like [`Hex`], for keys: its debug output hides the bytes, and its memory is overwritten on
    /// drop.
    SecretHex
}

impl<const N: usize> Drop for SecretHex<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl<const N: usize> fmt::Debug for SecretHex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Text that must not appear in logs, such as a key: its debug output hides it, and its memory is
/// overwritten on drop.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(transparent)]
pub struct SecretText(pub String);

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let json = serde_json::to_string(&Base64(Bytes::from_static(&[0, 255, 1]))).unwrap();
        assert_eq!(json, "\"AP8B\"");
        assert_eq!(serde_json::from_str::<Base64>(&json).unwrap().0[..], [0, 255, 1]);
        assert!(serde_json::from_str::<Base64>("\"A\"").is_err());
        let json = serde_json::to_string(&Hex([0xca, 0xfe])).unwrap();
        assert_eq!(json, "\"cafe\"");
        assert_eq!(serde_json::from_str::<Hex<2>>("\"CAFE\"").unwrap(), Hex([0xca, 0xfe]));
        assert!(serde_json::from_str::<Hex<2>>("\"cafe0\"").is_err());
        assert!(serde_json::from_str::<Hex<3>>("\"cafe\"").is_err());
    }

    #[test]
    fn keys_stay_out_of_logs() {
        let wrong = serde_json::from_str::<SecretHex<2>>("\"c0ffee\"").unwrap_err();
        assert!(!wrong.to_string().contains("c0ffee"));
        assert!(!format!("{:?}", SecretHex([0xca, 0xfe])).contains("ca"));
    }
}
