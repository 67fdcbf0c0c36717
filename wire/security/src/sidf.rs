//! Subscription identifiers, concealed (SUCI) and not (SUPI), in the text form of TS 29.571 and TS
//! 29.503: `suci-0-208-93-0000-1-27-…` and `imsi-208930000000001` (TS 33.501, 6.12 and annex C).

use crate::Plmn;
use crate::identity::{ImsiSuci, NaiSuci};
use crate::nas_5gs::{
    HomeNetworkPrivateKey, HomeNetworkPublicKey, Protection, ProtectionScheme, RoutingIndicator,
    Suci, SuciError,
};

/// The home network's private keys, by protection scheme and public key identifier.
#[derive(Default)]
pub struct HomeNetworkKeys {
    keys: Vec<(u8, HomeNetworkPrivateKey)>,
}

/// Why a SUCI was not de-concealed. A UE learns only that its registration is rejected, since
/// details would help an attacker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SidfError {
    /// It is not in the form of TS 29.571.
    #[error("{0:?} is not a SUCI: write suci-0-MCC-MNC-routing-scheme-key-output")]
    Text(String),
    /// No key has this scheme and identifier.
    #[error(
        "no home network key of protection scheme {scheme} with identifier {key_id}: add it to \
         the UDM's keys"
    )]
    UnknownKey {
        /// Protection scheme, 1 for profile A, 2 for profile B.
        scheme: u8,
        /// Home network public key identifier.
        key_id: u8,
    },
    /// De-concealment with the key failed.
    #[error("the SUCI cannot be de-concealed: {0}")]
    Suci(SuciError),
}

impl HomeNetworkKeys {
    /// No keys: only the null scheme is de-concealed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a key of profile A (X25519, 32 bytes) under an identifier, 1 to 254.
    pub fn add_profile_a(&mut self, key_id: u8, private: &[u8; 32]) {
        self.keys.push((key_id, HomeNetworkPrivateKey::profile_a(private)));
    }

    /// Add a key of profile B (secp256r1, 32 bytes) under an identifier, 1 to 254.
    pub fn add_profile_b(&mut self, key_id: u8, private: &[u8; 32]) -> Result<(), SuciError> {
        self.keys.push((key_id, HomeNetworkPrivateKey::profile_b(private)?));
        Ok(())
    }

    /// The private key of a scheme and an identifier.
    fn key(&self, scheme: ProtectionScheme, key_id: u8) -> Option<&HomeNetworkPrivateKey> {
        self.keys
            .iter()
            .find(|(id, key)| *id == key_id && key.scheme() == scheme)
            .map(|(_, key)| key)
    }

    /// The public keys for USIMs: scheme (1 profile A, 2 profile B), identifier and bytes each.
    pub fn public_keys(&self) -> Vec<(u8, u8, Vec<u8>)> {
        let public = |(key_id, key): &(u8, HomeNetworkPrivateKey)| {
            (key.scheme().identifier(), *key_id, key.public_key().to_octets())
        };
        self.keys.iter().map(public).collect()
    }

    /// The SUPI, `imsi-…` or `nai-…`, of a SUCI in text.
    pub fn deconceal(&self, suci: &str) -> Result<String, SidfError> {
        let suci = parse(suci)?;
        let (scheme, key_id) = (suci.protection_scheme(), suci.home_network_public_key_id());
        let key = match scheme {
            ProtectionScheme::NULL => None,
            _ => {
                let unknown = SidfError::UnknownKey { scheme: scheme.identifier(), key_id };
                Some(self.key(scheme, key_id).ok_or(unknown)?)
            }
        };
        suci.deconceal(key).map(|supi| supi.to_string()).map_err(SidfError::Suci)
    }
}

/// A SUCI from its text.
pub fn parse(text: &str) -> Result<Suci, SidfError> {
    let wrong = || SidfError::Text(text.chars().take(64).collect());
    if let Ok(suci) = text.parse::<ImsiSuci>() {
        return Suci::from_nas_octets(&suci.to_nas_octets()).map_err(SidfError::Suci);
    }
    let nai: NaiSuci = text.parse().map_err(|_| wrong())?;
    let bytes = nai.to_nas_octets().map_err(|_| wrong())?;
    Suci::from_nas_octets(&bytes).map_err(SidfError::Suci)
}

/// How a UE conceals its identifier.
#[derive(Debug, Clone)]
pub enum Concealment {
    /// The null scheme: no concealment.
    Null,
    /// Profile A or B with a public key of the home network and its identifier, 1 to 254.
    Ecies {
        /// The identifier of the key.
        key_id: u8,
        /// The key.
        key: HomeNetworkPublicKey,
    },
}

/// A UE's SUCI of an IMSI: the bytes of the mobile identity are [`Suci::to_nas_octets`], the text
/// its `Display`.
pub fn conceal(
    plmn: Plmn,
    msin: &str,
    routing_indicator: &str,
    concealment: &Concealment,
) -> Result<Suci, SuciError> {
    let routing_indicator =
        RoutingIndicator::new(routing_indicator).map_err(|_| SuciError::RoutingIndicator)?;
    let protection = match concealment {
        Concealment::Null => Protection::Null,
        Concealment::Ecies { key_id, key } => Protection::Ecies { key_id: *key_id, key },
    };
    Suci::conceal_imsi(plmn, msin, routing_indicator, protection)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plmn() -> Plmn {
        Plmn::new("208", "93").expect("a PLMN")
    }

    #[test]
    fn what_a_ue_conceals_its_home_network_finds_out() {
        let mut keys = HomeNetworkKeys::new();
        keys.add_profile_a(27, &[0x42; 32]);
        keys.add_profile_b(28, &[0x17; 32]).expect("a key");
        let null = conceal(plmn(), "0000000001", "0", &Concealment::Null).expect("a SUCI");
        assert_eq!(null.to_string(), "suci-0-208-93-0-0-0-0000000001");
        assert_eq!(keys.deconceal(&null.to_string()).as_deref(), Ok("imsi-208930000000001"));
        for (scheme, key_id, bytes) in keys.public_keys() {
            let key = match scheme {
                1 => {
                    HomeNetworkPublicKey::profile_a(bytes.as_slice().try_into().expect("32 bytes"))
                }
                _ => HomeNetworkPublicKey::profile_b(&bytes).expect("a point"),
            };
            let suci = conceal(plmn(), "0000000001", "012", &Concealment::Ecies { key_id, key })
                .expect("a SUCI");
            let text = suci.to_string();
            assert!(text.starts_with(&format!("suci-0-208-93-012-{scheme}-{key_id}-")), "{text}");
            assert!(!text.contains("0000000001"));
            assert_eq!(keys.deconceal(&text).as_deref(), Ok("imsi-208930000000001"));
            // One digit of the tag changed.
            let (rest, last) = text.split_at(text.len() - 1);
            let changed = format!("{rest}{}", if last == "0" { "1" } else { "0" });
            assert_eq!(keys.deconceal(&changed), Err(SidfError::Suci(SuciError::MacMismatch)));
            // A key that the network does not have.
            let none = HomeNetworkKeys::new().deconceal(&text);
            assert_eq!(none, Err(SidfError::UnknownKey { scheme, key_id }));
        }
    }

    #[test]
    fn a_text_that_is_no_suci_is_refused() {
        let keys = HomeNetworkKeys::new();
        for text in [
            "",
            "imsi-208930000000001",
            "suci-0-208-93-0000-3-1-00",
            "suci-0-208-93-0-1-27-00",
            "suci-0-20-93-0-0-0-1",
        ] {
            assert!(keys.deconceal(text).is_err(), "{text}");
        }
    }
}
