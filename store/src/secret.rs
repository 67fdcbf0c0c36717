//! Keys that stay out of logs.
use serde::{Deserialize, Serialize};

/// 16 octets in hexadecimal digits where they are stored; hidden where they are printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// From 32 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut octets = [0; 16];
        hex::decode_to_slice(text, &mut octets).ok().map(|()| Secret(octets))
    }

    /// 32 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Secret::from_hex(&text).ok_or("a key is 32 hexadecimal digits")
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> String {
        secret.to_hex()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}
