//! The UDM's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// A protection scheme of SUCIs (TS 33.501, annex C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    /// Profile A: X25519.
    A,
    /// Profile B: secp256r1.
    B,
}

/// A private key with which the home network reveals SUCIs.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeNetworkKey {
    /// Home network public key identifier, 1 to 254; USIMs name it.
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

/// What the UDM needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UdmConfig {
    /// MCC and MNC without a separator, such as `00101`; data of subscribers are looked up for it
    /// where a request names no serving network.
    pub home_plmn: String,
    /// Keys for SUCIs; without any, only the null scheme is understood.
    pub home_network_keys: Vec<HomeNetworkKey>,
    /// Whether identities that nothing conceals (null scheme) are taken; false where all USIMs
    /// have a key of `home_network_keys` (TS 33.501, 6.12.2).
    pub null_scheme: bool,
    /// Whether Nudm_SDM is also served below `nudm-sdm/v1`, where the older functions of free5GC
    /// ask, with the v2 of TS 29.503.
    pub sdm_v1: bool,
    /// Whether Nudm_SDM takes subscriptions to changes that name nothing to watch or nowhere to
    /// tell of it, as free5GC's AMF has them; they are told nothing. Else they are refused (TS
    /// 29.503, 6.1.6.2.3).
    pub empty_subscriptions: bool,
}

impl Default for UdmConfig {
    fn default() -> Self {
        UdmConfig {
            home_plmn: "00101".into(),
            home_network_keys: Vec::new(),
            null_scheme: true,
            sdm_v1: false,
            empty_subscriptions: false,
        }
    }
}

impl UdmConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !(5..=6).contains(&self.home_plmn.len())
            || !self.home_plmn.bytes().all(|b| b.is_ascii_digit())
        {
            findings.push(Finding::new(
                "home_plmn",
                "write MCC and MNC in five or six digits, such as \"00101\"",
            ));
        }
        for (n, key) in self.home_network_keys.iter().enumerate() {
            let at = |field: &str| format!("home_network_keys[{n}].{field}");
            if !(1..=254).contains(&key.id) {
                findings.push(Finding::new(
                    at("id"),
                    "a home network public key identifier is 1 to 254",
                ));
            }
            if key.private.len() != 64 || !key.private.bytes().all(|b| b.is_ascii_hexdigit()) {
                findings.push(Finding::new(
                    at("private"),
                    "write the key's 32 octets in 64 hexadecimal digits",
                ));
            } else if let Err(wrong) = crate::home_network_keys::load(&UdmConfig {
                home_network_keys: vec![key.clone()],
                ..self.clone()
            }) {
                findings.push(Finding::new(at("private"), wrong));
            }
            if self.home_network_keys[..n].iter().any(|k| k.id == key.id && k.scheme == key.scheme)
            {
                findings.push(Finding::new(at("id"), "another key has this identifier already"));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_keys_are_told_by_place() {
        let key =
            |id, private: &str| HomeNetworkKey { id, scheme: Scheme::B, private: private.into() };
        let config = UdmConfig {
            home_network_keys: vec![
                key(1, &"17".repeat(32)),
                key(0, &"00".repeat(32)),
                key(1, "abc"),
            ],
            ..UdmConfig::default()
        };
        let paths: Vec<_> = config.check().into_iter().map(|f| f.path).collect();
        let expected = [
            "home_network_keys[1].id",
            "home_network_keys[1].private",
            "home_network_keys[2].private",
            "home_network_keys[2].id",
        ];
        assert_eq!(paths, expected);
        assert!(!format!("{config:?}").contains("1717"));
    }
}
