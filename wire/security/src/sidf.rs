//! Subscription identifiers, concealed (SUCI) and not (SUPI), in the text form of TS 29.571 and TS
//! 29.503 (TS 33.501, 6.12 and annex C): `suci-0-208-93-0000-1-27-…` and `imsi-208930000000001`, or
//! `suci-1-example.org-0000-1-27-…` and `nai-user@example.org` (TS 23.003, 28.7.2 and 28.7.3).

use crate::Plmn;
use crate::identity::{ImsiSuci, NaiSuci, SupiType};
use crate::nas_5gs::{
    HomeNetworkPrivateKey, HomeNetworkPublicKey, Protection, ProtectionScheme, RoutingIndicator,
    Suci, SuciError,
};

/// The home network's private keys, by protection scheme and public key identifier.
#[derive(Default)]
pub struct HomeNetworkKeys {
    keys: Vec<(u8, HomeNetworkPrivateKey)>,
}

/// Why a SUCI was not de-concealed. The response to the UE has no details, since these would help
/// an attacker.
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

    /// Adds a key of profile A (X25519, 32 bytes) under an identifier, 1 to 254.
    pub fn add_profile_a(&mut self, key_id: u8, private: &[u8; 32]) {
        self.keys.push((key_id, HomeNetworkPrivateKey::profile_a(private)));
    }

    /// Adds a key of profile B (secp256r1, 32 bytes) under an identifier, 1 to 254.
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
    let bytes = parse_nai(text).and_then(|suci| suci.to_nas_octets().ok()).ok_or_else(wrong)?;
    Suci::from_nas_octets(&bytes).map_err(SidfError::Suci)
}

/// Maximum length of a realm in octets (RFC 7542, 2.2).
const MAX_REALM: usize = 253;

/// A SUCI whose SUPI is a network-specific identifier, a GLI or a GCI:
/// suci-TYPE-realm-routing-scheme-key-output (TS 29.571, 5.3.2). Realm and user name may contain
/// hyphens, so the text is divided at the first hyphen after which all parts are valid.
fn parse_nai(text: &str) -> Option<NaiSuci> {
    let (kind, rest) = text.strip_prefix("suci-")?.split_once('-')?;
    let kind = SupiType::from_type_number(kind.parse().ok()?).ok()?;
    if kind == SupiType::Imsi {
        return None;
    }
    let mut ends = rest.match_indices('-').map(|(at, _)| at).take_while(|at| *at <= MAX_REALM);
    ends.find_map(|at| with_realm(kind, &rest[..at], &rest[at + 1..]))
}

/// The SUCI of a realm and of `routing-scheme-key-output`.
fn with_realm(kind: SupiType, realm: &str, rest: &str) -> Option<NaiSuci> {
    let mut parts = rest.splitn(4, '-');
    let mut part = || parts.next();
    let (routing, scheme, key_id, output) = (part()?, part()?, part()?, part()?);
    let routing = RoutingIndicator::new(routing).ok()?;
    let scheme = (scheme.len() == 1).then(|| u8::from_str_radix(scheme, 16).ok()).flatten()?;
    let scheme = ProtectionScheme::new(scheme).ok()?;
    let key_id: u8 = key_id.parse().ok()?;
    if scheme == ProtectionScheme::NULL {
        let suci = NaiSuci::null(kind, routing, output, realm).ok()?;
        return (key_id == 0).then_some(suci);
    }
    let output = octets(output)?;
    NaiSuci::concealed(kind, routing, scheme, key_id, output, realm).ok()
}

/// The octets of hexadecimal digits.
fn octets(text: &str) -> Option<Vec<u8>> {
    let digit = |octet: u8| Some(char::from(octet).to_digit(16)? as u8);
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    text.len().is_multiple_of(2).then(|| text.as_bytes().chunks_exact(2).map(pair).collect())?
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
    use crate::nas_5gs::Supi;

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
    fn a_network_specific_identifier_is_concealed_but_for_its_realm() {
        let mut keys = HomeNetworkKeys::new();
        keys.add_profile_a(27, &[0x42; 32]);
        // Hyphens, also at positions that could be the end of the realm.
        for nai in [
            "user17@example.com",
            "a-b@x-1.example.org",
            "a-0-0-0-b@x-0-0-0-y.org",
            "!#$%&'*+/=?^_`{|}~@example.org",
        ] {
            let supi = Supi::network_specific(nai).expect("an identifier");
            let routing = || RoutingIndicator::new("678").expect("digits");
            let null = Suci::conceal_nai(&supi, routing(), Protection::Null).expect("a SUCI");
            let (user, realm) = nai.split_once('@').expect("a realm");
            assert_eq!(null.to_string(), format!("suci-1-{realm}-678-0-0-{user}"));
            assert_eq!(keys.deconceal(&null.to_string()), Ok(format!("nai-{nai}")));
            let (_, key_id, key) = keys.public_keys().remove(0);
            let key = HomeNetworkPublicKey::profile_a(key.as_slice().try_into().expect("a key"));
            let protection = Protection::Ecies { key_id, key: &key };
            let concealed = Suci::conceal_nai(&supi, routing(), protection).expect("a SUCI");
            let text = concealed.to_string();
            assert!(text.starts_with(&format!("suci-1-{realm}-678-1-27-")), "{text}");
            assert_eq!(parse(&text), Ok(concealed));
            assert_eq!(keys.deconceal(&text), Ok(format!("nai-{nai}")));
        }
        for wrong in [
            "suci-1-example.org-0-0-0-a b",
            "suci-1-example-0-0-0-user",
            "suci-1-example.org-0-0-1-user",
            "suci-1-example.org-0-1-0-00",
            "suci-1-example.org-0-1-27-0g",
            "suci-1-example.org-0-1-27-\u{e9}",
            "suci-1-example.org-0-0-0",
            "suci-4-example.org-0-0-0-user",
            "suci-1-",
        ] {
            assert!(matches!(parse(wrong), Err(SidfError::Text(_))), "{wrong}");
        }
        let long = format!("suci-1-{}-0-0-0-user", "a.".repeat(200) + "org");
        assert!(matches!(parse(&long), Err(SidfError::Text(_))));
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
