//! The home network's key pairs for SUCIs: loading and generation.
use crate::{Scheme, UdmConfig};
use martlet_security::nas_5gs::{HomeNetworkPrivateKey, SuciError};
use martlet_security::sidf::HomeNetworkKeys;
use rand::TryRngCore;

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

/// Loads the keys of a configuration.
pub(crate) fn load(config: &UdmConfig) -> Result<HomeNetworkKeys, KeyError> {
    let mut keys = HomeNetworkKeys::new();
    for key in &config.home_network_keys {
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
    use crate::HomeNetworkKey;

    #[test]
    fn a_generated_pair_loads() {
        for scheme in [Scheme::A, Scheme::B] {
            let pair = generate_key_pair(scheme).unwrap();
            let key = HomeNetworkKey { id: 3, scheme, private: pair.private };
            let keys =
                load(&UdmConfig { home_network_keys: vec![key], ..UdmConfig::default() }).unwrap();
            assert_eq!(hex::encode(&keys.public_keys()[0].2), pair.public);
        }
    }
}
