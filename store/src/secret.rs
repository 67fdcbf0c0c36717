//! Keys that stay out of logs.
use serde::{Deserialize, Serialize};

/// Octets, 16 unless said otherwise, in hexadecimal digits where they are stored; hidden where they
/// are printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret<const N: usize = 16>(pub [u8; N]);

impl<const N: usize> Secret<N> {
    /// From two hexadecimal digits for each octet.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut octets = [0; N];
        hex::decode_to_slice(text, &mut octets).ok().map(|()| Secret(octets))
    }

    /// Two hexadecimal digits for each octet.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl<const N: usize> TryFrom<String> for Secret<N> {
    type Error = String;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Secret::from_hex(&text).ok_or_else(|| format!("this key is {} hexadecimal digits", 2 * N))
    }
}

impl<const N: usize> From<Secret<N>> for String {
    fn from(secret: Secret<N>) -> String {
        secret.to_hex()
    }
}

impl<const N: usize> std::fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}
