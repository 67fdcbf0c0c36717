//! Data networks.
use super::SmfConfig;
use super::address_pools::{PoolError, parse_ipv4, parse_ipv6, range_of_ipv4, range_of_ipv6};
use martlet_config::Finding;
use martlet_store::{AddressPool, Secret, Subscriber, UpSecurityPolicy};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6};

/// A data network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DnnConfig {
    /// Data network name.
    pub name: String,
    /// IPv4 pool for UEs, such as `10.45.0.0/16`; the first address is the gateway's. Empty for
    /// none.
    pub pool: String,
    /// IPv6 pool such as `fd45::/48`, of which each session gets a /64; the first is the
    /// gateway's. Empty for none.
    pub pool6: String,
    /// Part of `pool` for subscribed static addresses, such as `10.45.255.0/24`: no other session
    /// gets an address of it. Empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub static_pool: String,
    /// Part of `pool6` for subscribed static prefixes, such as `fd45:0:0:ff00::/56`. Empty for
    /// none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub static_pool6: String,
    /// DNS servers for UEs, IPv4 and IPv6.
    pub dns: Vec<IpAddr>,
    /// P-CSCF addresses for UEs (IMS).
    pub pcscf: Vec<IpAddr>,
    /// MTU for UEs, in bytes: 576 at least (RFC 791), and 1280 with `pool6` (RFC 8200).
    pub mtu: u16,
    /// Whether it supports Ethernet sessions.
    pub ethernet: bool,
    /// UDP endpoint for the data of unstructured sessions, such as `[fd99::1]:4000`. The session's
    /// address comes from `pool6`. If absent, unstructured sessions are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstructured: Option<SocketAddrV6>,
    /// Whether all sessions are always-on (TS 23.501, 5.6.13); otherwise those whose UEs request
    /// it.
    pub always_on: bool,
    /// User plane security policy for subscriptions without one (TS 33.501, 6.6.1): `integrity`
    /// and `ciphering`, each `required`, `preferred` or `not_needed`. If absent, gNBs decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_security: Option<UpSecurityPolicy>,
}

impl Default for DnnConfig {
    fn default() -> Self {
        DnnConfig {
            name: String::new(),
            pool: String::new(),
            pool6: String::new(),
            static_pool: String::new(),
            static_pool6: String::new(),
            dns: Vec::new(),
            pcscf: Vec::new(),
            mtu: default_mtu(),
            ethernet: false,
            unstructured: None,
            always_on: false,
            up_security: None,
        }
    }
}

fn default_mtu() -> u16 {
    1400
}

/// Smallest packet that every IPv4 host accepts, in bytes (RFC 791, 3.1).
const MIN_MTU_IPV4: u16 = 576;
/// Smallest MTU of a link with IPv6, in bytes (RFC 8200, 5).
const MIN_MTU_IPV6: u16 = 1280;

impl DnnConfig {
    /// The addresses that UEs get. The first address and the first prefix are the gateway's.
    pub(super) fn address_pool(&self) -> AddressPool {
        let ipv4 = parse_ipv4(&self.pool).ok().map(range_of_ipv4);
        let ipv6 = parse_ipv6(&self.pool6).ok().map(range_of_ipv6);
        let prefix = |prefix: u64| Ipv6Addr::from(u128::from(prefix) << 64);
        AddressPool {
            dnn: self.name.clone(),
            ipv4: ipv4.map(|(network, broadcast)| {
                Ipv4Addr::from(network as u32 + 2)..=Ipv4Addr::from(broadcast as u32 - 1)
            }),
            ipv6: ipv6.map(|(network, last)| prefix(network + 1)..=prefix(last)),
        }
    }

    /// Why UEs cannot use the MTU.
    fn wrong_mtu(&self) -> Option<String> {
        let (min, whose) = match self.pool6.is_empty() {
            true => (MIN_MTU_IPV4, "IPv4 needs"),
            false => (MIN_MTU_IPV6, "IPv6 (pool6) needs"),
        };
        (self.mtu < min)
            .then(|| format!("{} is less than {whose}: write {min} or more, best 1400", self.mtu))
    }
}

/// Why the pool of static addresses, or that of static prefixes, is invalid, if it is. `range_of`
/// is the first and last one of a network.
fn wrong_static_pool(
    text: &str,
    (pool, key): (&str, &str),
    range_of: impl Fn(&str) -> Result<(u64, u64), PoolError>,
) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    match (range_of(text), range_of(pool)) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(inner), Ok(outer)) if outer.0 <= inner.0 && inner.1 <= outer.1 => None,
        _ => Some(outside(text, pool, key)),
    }
}

fn outside(part: &str, pool: &str, key: &str) -> String {
    match pool.is_empty() {
        true => format!("{part} is a part of {key}, which is empty: write {key}, or remove this"),
        false => format!("{part} is not a part of {key} {pool}: write a network within it"),
    }
}

/// Whether a subscription can have a data network of this name.
fn is_subscribable(dnn: &str) -> bool {
    Subscriber::new("imsi-001010000000001", Secret([0; 16]), Secret([0; 16]), dnn).check().is_ok()
}

/// Names, pools and MTUs of data networks that UEs cannot use.
pub(super) fn check(config: &SmfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
    for (n, dnn) in config.dnns.iter().enumerate() {
        if dnn.name.is_empty() {
            wrong(format!("dnns[{n}].name"), "empty: write the name of the data network".into());
        }
        if !dnn.name.is_empty() && !is_subscribable(&dnn.name) {
            let name = &dnn.name;
            wrong(
                format!("dnns[{n}].name"),
                format!(
                    "{name:?} is not a data network name (TS 23.003, 9.1): write letters, digits, \
                     - and . such as internet"
                ),
            );
        }
        if let Some(error) = (!dnn.pool.is_empty()).then(|| parse_ipv4(&dnn.pool).err()).flatten() {
            wrong(format!("dnns[{n}].pool"), error.to_string());
        }
        if let Some(error) = (!dnn.pool6.is_empty()).then(|| parse_ipv6(&dnn.pool6).err()).flatten()
        {
            wrong(format!("dnns[{n}].pool6"), error.to_string());
        }
        let range_of = |text: &str| parse_ipv4(text).map(range_of_ipv4);
        if let Some(why) = wrong_static_pool(&dnn.static_pool, (&dnn.pool, "pool"), range_of) {
            wrong(format!("dnns[{n}].static_pool"), why);
        }
        let range_of = |text: &str| parse_ipv6(text).map(range_of_ipv6);
        if let Some(why) = wrong_static_pool(&dnn.static_pool6, (&dnn.pool6, "pool6"), range_of) {
            wrong(format!("dnns[{n}].static_pool6"), why);
        }
        if dnn.pool.is_empty() && dnn.pool6.is_empty() && !dnn.ethernet {
            wrong(format!("dnns[{n}].pool"), "no addresses: set pool, pool6, or ethernet".into());
        }
        if dnn.unstructured.is_some() && dnn.pool6.is_empty() {
            wrong(format!("dnns[{n}].pool6"), "unstructured sessions need an IPv6 pool".into());
        }
        if let Some(why) = dnn.wrong_mtu() {
            wrong(format!("dnns[{n}].mtu"), why);
        }
        if config.dnns[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&dnn.name)) {
            let twice = format!("{} occurs twice: give each a name of its own", dnn.name);
            wrong(format!("dnns[{n}].name"), twice);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `addresses.rs` allocates them.
    #[test]
    fn the_address_pool_is_without_the_gateway() {
        let pools = SmfConfig::default().address_pools();
        let text = |address: &dyn std::fmt::Display| address.to_string();
        let (ipv4, ipv6) = (pools[0].ipv4.clone().unwrap(), pools[0].ipv6.clone().unwrap());
        assert_eq!([text(ipv4.start()), text(ipv4.end())], ["10.45.0.2", "10.45.255.254"]);
        assert_eq!([text(ipv6.start()), text(ipv6.end())], ["fd45:0:0:1::", "fd45:0:0:ffff::"]);
        let set = serde_json::from_str(r#"{"id": "set1", "member": 0}"#).unwrap();
        assert!(SmfConfig { set: Some(set), ..SmfConfig::default() }.address_pools().is_empty());
    }

    #[test]
    fn a_static_pool_is_a_part_of_the_pool() {
        let findings = |static_pool: &str, static_pool6: &str| -> Vec<String> {
            let dnn = DnnConfig {
                name: "internet".into(),
                pool: "10.45.0.0/16".into(),
                pool6: "fd45::/48".into(),
                static_pool: static_pool.into(),
                static_pool6: static_pool6.into(),
                ..DnnConfig::default()
            };
            let config = SmfConfig { dnns: vec![dnn], ..SmfConfig::default() };
            config.check().into_iter().map(|finding| finding.path).collect()
        };
        assert!(findings("10.45.255.0/24", "fd45:0:0:ff00::/56").is_empty());
        assert!(findings("10.45.0.0/16", "").is_empty());
        for wrong in ["10.46.0.0/24", "10.0.0.0/8", "10.45.255.1/24", "x"] {
            assert_eq!(findings(wrong, ""), ["dnns[0].static_pool"], "{wrong}");
        }
        for wrong in ["fd46::/56", "fd45::/32", "fd45:0:0:ff01::/56", "x"] {
            assert_eq!(findings("", wrong), ["dnns[0].static_pool6"], "{wrong}");
        }
    }

    #[test]
    fn the_mtu_is_what_the_ip_versions_of_the_pools_need() {
        let findings = |pool6: &str, mtu: u16| {
            let dnn = DnnConfig {
                name: "internet".into(),
                pool: "10.45.0.0/16".into(),
                pool6: pool6.into(),
                mtu,
                ..DnnConfig::default()
            };
            SmfConfig { dnns: vec![dnn], ..SmfConfig::default() }.check()
        };
        for (pool6, min) in [("", 576), ("fd45::/48", 1280)] {
            assert_eq!(findings(pool6, min), []);
            for wrong in [0, min - 1] {
                let found = findings(pool6, wrong);
                assert_eq!((found.len(), found[0].path.as_str()), (1, "dnns[0].mtu"));
                let remedy = format!("write {min} or more");
                assert!(found[0].message.contains(&remedy), "{}", found[0].message);
            }
        }
    }
}
