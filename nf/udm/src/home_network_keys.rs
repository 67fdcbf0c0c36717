//! The home network's keys for SUCIs: loaded from the configuration, and made for a new network.
use crate::{Scheme, UdmConfig};
use martlet_security::nas_5gs::HomeNetworkPrivateKey;
use martlet_security::sidf::HomeNetworkKeys;
use rand::TryRngCore;

/// A key pair in hexadecimal digits.
pub struct KeyPair {
    /// For the UDM's configuration.
    pub private: String,
    /// For USIMs.
    pub public: String,
}

/// Loads the keys of a configuration; the error names the one that is wrong.
pub(crate) fn load(config: &UdmConfig) -> Result<HomeNetworkKeys, String> {
    let mut keys = HomeNetworkKeys::new();
    for key in &config.home_network_keys {
        let wrong =
            |why: String| format!("home network key {} of scheme {:?}: {why}", key.id, key.scheme);
        let mut octets = [0; 32];
        hex::decode_to_slice(&key.private, &mut octets).map_err(|e| wrong(e.to_string()))?;
        match key.scheme {
            Scheme::A => keys.add_profile_a(key.id, &octets),
            Scheme::B => keys.add_profile_b(key.id, &octets).map_err(|e| wrong(e.to_string()))?,
        }
    }
    Ok(keys)
}

/// Makes a key pair from the system's random numbers.
pub fn generate_key_pair(scheme: Scheme) -> Result<KeyPair, String> {
    // A random number is no key of profile B with a chance of 2^-32: then another one is drawn.
    for _ in 0..8 {
        let mut octets = [0; 32];
        rand::rngs::OsRng
            .try_fill_bytes(&mut octets)
            .map_err(|e| format!("no random numbers: {e}"))?;
        let key = match scheme {
            Scheme::A => HomeNetworkPrivateKey::profile_a(&octets),
            Scheme::B => match HomeNetworkPrivateKey::profile_b(&octets) {
                Ok(key) => key,
                Err(_) => continue,
            },
        };
        return Ok(KeyPair {
            private: hex::encode(octets),
            public: hex::encode(key.public_key().to_octets()),
        });
    }
    Err("the system's random numbers make no key".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HomeNetworkKey;

    #[test]
    fn a_pair_that_was_made_loads() {
        for scheme in [Scheme::A, Scheme::B] {
            let pair = generate_key_pair(scheme).unwrap();
            let key = HomeNetworkKey { id: 3, scheme, private: pair.private };
            let keys =
                load(&UdmConfig { home_network_keys: vec![key], ..UdmConfig::default() }).unwrap();
            assert_eq!(hex::encode(&keys.public_keys()[0].2), pair.public);
        }
    }
}
