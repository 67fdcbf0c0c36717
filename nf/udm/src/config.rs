//! The UDM's section of the configuration.
use crate::home_network_keys::{HomeNetworkKey, load};
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// The UDM's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UdmConfig {
    /// MCC and MNC without a separator, such as `00101`: the serving network of requests that name
    /// none.
    pub home_plmn: String,
    /// Keys for SUCIs. Without any, only the null scheme is supported.
    pub home_network_keys: Vec<HomeNetworkKey>,
    /// Accept the null scheme. Set it to false if all USIMs have a key of `home_network_keys` (TS
    /// 33.501, 6.12.2).
    pub null_scheme: bool,
    /// Serve Nudm_SDM v2 also below `nudm-sdm/v1`, which older network functions of free5GC use.
    pub sdm_v1: bool,
    /// Accept SDM subscriptions without `monitoredResourceUris` or `callbackReference`, which
    /// free5GC's AMF sends; they are never notified. Else they are rejected (TS 29.503,
    /// 6.1.6.2.3).
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
    /// Checks the values.
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
                    "write the key's 32 bytes in 64 hexadecimal digits",
                ));
            } else if let Err(wrong) = load(std::slice::from_ref(key)) {
                findings.push(Finding::new(at("private"), wrong.to_string()));
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
    use crate::Scheme;

    #[test]
    fn wrong_keys_are_reported_with_their_path() {
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
