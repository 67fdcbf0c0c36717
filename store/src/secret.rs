//! Subscriber keys, hidden in logs.
use serde::{Deserialize, Serialize, Serializer};
use zeroize::{Zeroize, Zeroizing};

/// A key of `N` bytes, 16 by default. Stored as hexadecimal digits; `Debug` prints `(hidden)`. Its
/// memory is overwritten on drop.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret<const N: usize = 16>(pub [u8; N]);

/// The text of a key has a wrong length or a character that is not a hexadecimal digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: write {digits} hexadecimal digits")]
pub struct InvalidSecret {
    /// Digits that the key has.
    pub digits: usize,
}

impl<const N: usize> Secret<N> {
    /// Reads two hexadecimal digits per byte.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut secret = Secret([0; N]);
        hex::decode_to_slice(text, &mut secret.0).ok().map(|()| secret)
    }

    /// Writes two hexadecimal digits per byte.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl<const N: usize> TryFrom<String> for Secret<N> {
    type Error = InvalidSecret;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = Zeroizing::new(text);
        Secret::from_hex(&text).ok_or(InvalidSecret { digits: 2 * N })
    }
}

impl<const N: usize> Serialize for Secret<N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&Zeroizing::new(self.to_hex()))
    }
}

impl<const N: usize> From<Secret<N>> for String {
    fn from(secret: Secret<N>) -> String {
        secret.to_hex()
    }
}

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<const N: usize> std::fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}
