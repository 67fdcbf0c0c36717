//! What is wrong with a configuration, said such that it can be put right.
use super::{N6Mode, Pool, UpfConfig};
use martlet_config::Finding;

pub(super) fn check(config: &UpfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    for (path, ip) in [("n4.bind", config.n4.bind), ("n3.bind", config.n3.bind.into())] {
        if ip.is_unspecified() {
            find(path, format!("{ip} is told to others: write an address that they can reach"));
        }
    }
    let positive = [
        ("n4.port", usize::from(config.n4.port), 8805),
        ("n4.peer_port", usize::from(config.n4.peer_port), 8805),
        ("n3.port", usize::from(config.n3.port), 2152),
        ("n4.t1_ms", config.n4.t1_ms as usize, 1000),
        ("n4.n1", usize::from(config.n4.n1), 3),
        ("n4.associations", config.n4.associations, 16),
        ("n4.transactions", config.n4.transactions, 10_000),
        ("limits.max_sessions", config.limits.max_sessions, 20_000),
        ("limits.max_rules_per_session", config.limits.max_rules_per_session, 64),
        ("limits.buffer_packets_per_session", config.limits.buffer_packets_per_session, 64),
        ("limits.buffer_packets", config.limits.buffer_packets, 10_000),
        ("limits.mbr_burst_ms", config.limits.mbr_burst_ms as usize, 100),
        ("limits.events", config.limits.events, 4096),
    ];
    for (path, value, default) in positive {
        if value == 0 {
            find(path, format!("0 lets nothing work: write {default}"));
        }
    }
    if config.n4.node_id.as_deref().is_some_and(|id| !is_node_id(id)) {
        find("n4.node_id", "neither an address nor a host name: leave it out to use the IP of n4.bind".into());
    }
    let name = &config.n6.interface;
    if name.is_empty() || name.len() > 15 || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)) {
        find("n6.interface", format!("{name:?} is no name of an interface: write 1 to 15 letters, as martlet-n6"));
    }
    if config.mtu < 1280 {
        find("mtu", format!("{} is less than IPv6 needs: write 1280 or more, best 1400", config.mtu));
    }
    if config.n6.mode != N6Mode::None && config.n6.pools.is_empty() {
        find("n6.pools", "no UE can be reached: write [{dnn: internet, cidr: 10.45.0.0/16}]".into());
    }
    check_pools(config, &mut findings);
    findings
}

fn is_node_id(id: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    id.parse::<std::net::IpAddr>().is_ok() || id.len() <= 253 && id.split('.').all(label)
}

fn check_pools(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut seen: Vec<(&str, Pool)> = Vec::new();
    for (n, configured) in config.n6.pools.iter().enumerate() {
        if configured.dnn.is_empty() {
            findings.push(Finding::new(format!("n6.pools[{n}].dnn"), "a data network needs a name: write internet"));
        }
        let path = format!("n6.pools[{n}].cidr");
        let pool = match configured.read() {
            Ok((pool, _)) => pool,
            Err(message) => {
                findings.push(Finding::new(path, message));
                continue;
            }
        };
        let overlaps = |other: &Pool| other.contains(pool.network) || pool.contains(other.network);
        if let Some((other, _)) = seen.iter().find(|(_, other)| overlaps(other)) {
            let text = format!("{} overlaps {other}: give each its own addresses", configured.cidr);
            findings.push(Finding::new(path, text));
        }
        seen.push((&configured.cidr, pool));
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{PoolConfig, UpfConfig};

    #[test]
    fn defaults_are_right() {
        assert_eq!(UpfConfig::default().check(), []);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut config = UpfConfig::default();
        config.n3.bind = [0, 0, 0, 0].into();
        config.n6.interface = "a name that is far too long".into();
        config.n4.n1 = 0;
        let pool = |cidr: &str| PoolConfig { dnn: "internet".into(), cidr: cidr.into(), gateway: None };
        config.n6.pools = ["10.45.0.0/16", "10.45.1.0/24", "10.46.0.1/16", "x", "10.47.0.0/24"].map(pool).to_vec();
        config.n6.pools[4].gateway = Some([10, 48, 0, 1].into());
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        let pools = [1, 2, 3, 4].map(|n| format!("n6.pools[{n}].cidr"));
        assert_eq!(paths, [&["n3.bind", "n4.n1", "n6.interface"].map(String::from)[..], &pools].concat());
    }
}
