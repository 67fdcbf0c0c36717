//! The home network's key pairs for SUCIs: loading and generation.
use martlet_security::nas_5gs::{HomeNetworkPrivateKey, SuciError};
use martlet_security::sidf::HomeNetworkKeys;
use rand::TryRngCore;
use serde::{Deserialize, Serialize};

/// A SUCI protection scheme (TS 33.501, annex C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    /// Profile A: X25519.
    A,
    /// Profile B: secp256r1.
    B,
}

/// A private key of the home network, for the de-concealment of SUCIs.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeNetworkKey {
    /// Home network public key identifier, 1 to 254.
    pub id: u8,
    /// Protection scheme: A or B.
    pub scheme: Scheme,
    /// The private key: 32 octets in hexadecimal digits.
    pub private: String,
}

impl std::fmt::Debug for HomeNetworkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "HomeNetworkKey {{ id: {}, scheme: {:?}, private: (hidden) }}",
            self.id, self.scheme
        )
    }
}

/// Why a home network key cannot be loaded or generated.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The private key is not 64 hexadecimal digits.
    #[error("home network key {id} of scheme {scheme:?}: {error}; write 64 hexadecimal digits")]
    Format {
        /// Home network public key identifier.
        id: u8,
        /// Protection scheme.
        scheme: Scheme,
        /// What is wrong.
        error: hex::FromHexError,
    },
    /// The number is not a private key of the curve.
    #[error("home network key {id} of scheme {scheme:?}: {error}; generate another one")]
    Invalid {
        /// Home network public key identifier.
        id: u8,
        /// Protection scheme.
        scheme: Scheme,
        /// What is wrong.
        error: SuciError,
    },
    /// The system has no random numbers.
    #[error("the system's random number generator failed: {0}")]
    Random(rand::rand_core::OsError),
    /// Several random numbers in a row were no keys.
    #[error("the system's random numbers make no key; try again")]
    NoKey,
}

/// A key pair, hexadecimal.
pub struct KeyPair {
    /// The private key, for the UDM's configuration.
    pub private: String,
    /// The public key, for USIMs.
    pub public: String,
}

/// Loads configured keys.
pub(crate) fn load(configured: &[HomeNetworkKey]) -> Result<HomeNetworkKeys, KeyError> {
    let mut keys = HomeNetworkKeys::new();
    for key in configured {
        let (id, scheme) = (key.id, key.scheme);
        let mut bytes = [0; 32];
        hex::decode_to_slice(&key.private, &mut bytes).map_err(|error| KeyError::Format {
            id,
            scheme,
            error,
        })?;
        match key.scheme {
            Scheme::A => keys.add_profile_a(id, &bytes),
            Scheme::B => keys.add_profile_b(id, &bytes).map_err(|error| KeyError::Invalid {
                id,
                scheme,
                error,
            })?,
        }
    }
    Ok(keys)
}

/// Generates a key pair.
///
/// # Errors
/// The system's random number generator failed.
pub fn generate_key_pair(scheme: Scheme) -> Result<KeyPair, KeyError> {
    // With a probability of 2^-32 a random number is not a key of profile B; then draw another.
    for _ in 0..8 {
        let mut bytes = [0; 32];
        rand::rngs::OsRng.try_fill_bytes(&mut bytes).map_err(KeyError::Random)?;
        let key = match scheme {
            Scheme::A => HomeNetworkPrivateKey::profile_a(&bytes),
            Scheme::B => match HomeNetworkPrivateKey::profile_b(&bytes) {
                Ok(key) => key,
                Err(_) => continue,
            },
        };
        return Ok(KeyPair {
            private: hex::encode(bytes),
            public: hex::encode(key.public_key().to_octets()),
        });
    }
    Err(KeyError::NoKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_pair_loads() {
        for scheme in [Scheme::A, Scheme::B] {
            let pair = generate_key_pair(scheme).unwrap();
            let key = HomeNetworkKey { id: 3, scheme, private: pair.private };
            let keys = load(&[key]).unwrap();
            assert_eq!(hex::encode(&keys.public_keys()[0].2), pair.public);
        }
    }
}
