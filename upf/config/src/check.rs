//! Checks of the configuration; each finding includes its correction.
use super::{DatapathChoice, N6Mode, Pool, SourceCheck, UpfConfig, XdpMode, mac_address};
use martlet_config::Finding;

pub(super) fn check(config: &UpfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_n4_and_n3(config, &mut findings);
    check_positive(config, &mut findings);
    check_n6(config, &mut findings);
    check_rules(config, &mut findings);
    check_namespaces(config, &mut findings);
    let native = if config.datapath == DatapathChoice::Switch {
        config.switch.native
    } else {
        config.datapath
    };
    if native == DatapathChoice::Xdp {
        check_xdp(config, &mut findings);
    }
    super::switch::check(config, &mut findings);
    check_pools(config, &mut findings);
    check_governor(config, &mut findings);
    check_network_instances(config, &mut findings);
    findings
}

fn check_n4_and_n3(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    for (path, address) in [("n4.address", config.n4.address), ("n3.address", config.n3.address)] {
        if address.ip().is_unspecified() {
            find(
                path,
                format!(
                    "{} is advertised to peers: write an address that they can reach",
                    address.ip()
                ),
            );
        }
        if address.port() == 0 {
            find(
                path,
                "port 0 is invalid: write the port too, as 127.0.0.8:8805 for N4 or 127.0.0.8:2152 \
                 for N3"
                    .into(),
            );
        }
    }
    if let Some(ip) = config.n3.address6 {
        if config.n3.address.is_ipv6() {
            find(
                "n3.address6",
                "n3.address is of IPv6 already: write one of IPv4 there, or leave this out".into(),
            );
        } else if ip.is_unspecified() || ip.to_ipv4_mapped().is_some() {
            find(
                "n3.address6",
                format!("{ip} is advertised to peers: write an IPv6 address that they can reach"),
            );
        }
    }
    if config.n4.node_id.as_deref().is_some_and(|id| !is_node_id(id)) {
        find(
            "n4.node_id",
            "neither an address nor a host name: leave it out to use the IP of n4.address".into(),
        );
    }
    if config.n3.source_check == SourceCheck::Off && !config.n3.allow.is_empty() {
        find(
            "n3.source_check",
            "off accepts packets of anyone, whatever n3.allow has: write session or peer".into(),
        );
    }
}

fn check_positive(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    let positive = [
        ("n4.t1_ms", config.n4.t1_ms as usize, 1000),
        ("n4.n1", usize::from(config.n4.n1), 3),
        ("n4.associations", config.n4.associations, 16),
        ("n4.sessions", config.n4.sessions, 65_536),
        ("n4.transactions", config.n4.transactions, 10_000),
        ("n4.traffic_stop_s", config.n4.traffic_stop_s as usize, 30),
        ("n4.overload_percent", config.n4.overload_percent.into(), 90),
        ("rules.pdrs", config.rules.pdrs, 64),
        ("rules.fars", config.rules.fars, 64),
        ("kernel.sessions", config.kernel.sessions, 65_536),
        ("kernel.buffer_packets_per_session", config.kernel.buffer_packets_per_session, 256),
        ("kernel.buffer_packets", config.kernel.buffer_packets, 65_536),
        ("kernel.mbr_burst_ms", config.kernel.mbr_burst_ms as usize, 100),
        ("kernel.events", config.kernel.events, 4096),
        ("kernel.device_queue", config.kernel.device_queue as usize, 4096),
        ("xdp.sessions", config.xdp.sessions as usize, 65_536),
        ("xdp.rules", config.xdp.rules as usize, 196_608),
        ("xdp.filters", config.xdp.filters as usize, 65_536),
        ("xdp.buffer_packets_per_session", config.xdp.buffer_packets_per_session, 256),
        ("xdp.buffer_packets", config.xdp.buffer_packets, 65_536),
        ("xdp.mbr_burst_ms", config.xdp.mbr_burst_ms as usize, 100),
        ("xdp.events", config.xdp.events, 4096),
    ];
    for (path, value, default) in positive {
        if value == 0 {
            find(path, format!("0 is not possible: write {default}"));
        }
    }
}

fn check_n6(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    let name = &config.n6.interface;
    if name.is_empty() || name.len() > 15 || name.contains(['/', ' ', '%']) {
        find(
            "n6.interface",
            format!("{name:?} is no name of an interface: write 1 to 15 letters, as martlet-n6"),
        );
    }
    if config.n6.mtu < 1280 {
        find(
            "n6.mtu",
            format!("{} is less than IPv6 needs: write 1280 or more, best 1400", config.n6.mtu),
        );
    }
    for (n, lan) in config.n6.ethernet.iter().enumerate() {
        let name = &lan.interface;
        if name.is_empty()
            || name.len() > 15
            || name.contains(['/', ' ', '%'])
            || *name == config.n6.interface
        {
            let why = format!(
                "{name:?} is not a free name for a TAP device: write 1 to 15 letters, as \
                 martlet-lan"
            );
            find(&format!("n6.ethernet[{n}].interface"), why);
        }
        for gateway in lan.gateways.iter().filter(|text| mac_address(text).is_none()) {
            let why = format!(
                "{gateway:?} is no MAC address of one station: write it as 02:00:00:00:00:01"
            );
            find(&format!("n6.ethernet[{n}].gateways"), why);
        }
    }
    for (n, service) in config.n6.allow.iter().enumerate() {
        if let Some(why) = service.fault() {
            find(&format!("n6.allow[{n}]"), why.into());
        }
    }
    for (n, text) in config.n6.pools6.iter().enumerate() {
        if super::pool6(text).is_none() {
            find(
                &format!("n6.pools6[{n}]"),
                format!("{text:?} is no IPv6 network of 32 to 64 bits: write fd45::/48"),
            );
        }
    }
}

fn check_rules(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    for (n, policy) in config.n6.forwarding_policies.iter().enumerate() {
        let known = |name: &String| {
            config.n6.network_instances.iter().any(|instance| instance.network_instance == *name)
        };
        if policy.name.is_empty() || policy.name.len() > 255 {
            let why = "the name is empty or longer than 255 bytes: write another".to_string();
            find(&format!("n6.forwarding_policies[{n}].name"), why);
        }
        if policy.network_instance.as_ref().is_some_and(|name| !known(name)) {
            let why = "not one of n6.network_instances: add it there, or leave it out".to_string();
            find(&format!("n6.forwarding_policies[{n}].network_instance"), why);
        }
    }
    for (n, rule) in config.predefined_rules.iter().enumerate() {
        let again = config.predefined_rules.iter().take(n).any(|other| other.name == rule.name);
        let why = rule.fault().or_else(|| again.then(|| "the name is there twice".to_string()));
        if let Some(why) = why {
            find(&format!("predefined_rules[{n}]"), why);
        }
    }
}

fn check_namespaces(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    for (path, netns) in [("n3.netns", &config.n3.netns), ("n6.netns", &config.n6.netns)] {
        if netns
            .as_deref()
            .is_some_and(|name| name.is_empty() || name.contains('/') || name.starts_with('.'))
        {
            find(
                path,
                "not the name of a network namespace: write one that `ip netns list` shows".into(),
            );
        }
    }
}

fn check_network_instances(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let network_instances = &config.n6.network_instances;
    let mut find = |path: String, message: String| findings.push(Finding::new(path, message));
    if network_instances.len() > super::MAX_NETWORK_INSTANCES {
        find(
            "n6.network_instances".into(),
            format!(
                "{} are too many: write {} at most",
                network_instances.len(),
                super::MAX_NETWORK_INSTANCES
            ),
        );
    }
    if !network_instances.is_empty() && !matches!(config.n6.mode, N6Mode::Routing | N6Mode::Nat) {
        find(
            "n6.network_instances".into(),
            "they are of no use with this n6.mode: write routing or nat".into(),
        );
    }
    for (n, instance) in network_instances.iter().enumerate() {
        if instance.network_instance.is_empty()
            || network_instances[..n]
                .iter()
                .any(|e| e.network_instance == instance.network_instance)
        {
            find(
                format!("n6.network_instances[{n}].network_instance"),
                "each network instance needs a unique name: write board".into(),
            );
        }
        if instance.interface.is_empty() || instance.interface.len() > 15 {
            find(
                format!("n6.network_instances[{n}].interface"),
                "not the name of an interface: write one that `ip link` shows".into(),
            );
        }
    }
}

fn check_governor(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    let governor = &config.governor;
    for (path, value, from, to) in [
        ("governor.set_point", governor.set_point, 30.0, 110.0),
        ("governor.window_s", governor.window_s, 1.0, 3600.0),
        ("governor.interval_s", governor.interval_s, 0.05, 60.0),
    ] {
        if !(from..=to).contains(&value) {
            find(path, format!("{value} is not from {from} to {to}"));
        }
    }
    if governor.interval_s * 6.0 > governor.window_s {
        find("governor.window_s", "it has to be at least six times interval_s".into());
    }
    let Some(simulated) = &config.board.simulated else { return };
    if config.board.root == std::path::Path::new("/") {
        find(
            "board.root",
            "a simulated board writes its sensors there: name a separate folder, as \
             /run/martlet/board"
                .into(),
        );
    }
    for (path, value) in [
        ("board.simulated.full_rate", simulated.full_rate),
        ("board.simulated.speed", simulated.speed),
        ("board.simulated.board.time_constant_s", simulated.board.time_constant_s),
        ("board.simulated.board.idle_watts", simulated.board.idle_watts),
    ] {
        if value.is_nan() || value <= 0.0 {
            find(path, format!("{value} is invalid: write a number above 0"));
        }
    }
}

/// The links between the XDP programs and the kernel take 3,498 bytes, and a tunnel adds 44: the
/// headers of IPv4, UDP and GTP-U with the PDU session container.
const LARGEST_XDP_MTU: u16 = 3498 - 44;

fn check_xdp(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| findings.push(Finding::new(path, message));
    let xdp = &config.xdp;
    for (path, value, max) in [
        ("xdp.sessions", xdp.sessions, 1 << 24),
        ("xdp.rules", xdp.rules, 1 << 26),
        ("xdp.filters", xdp.filters, 1 << 26),
    ] {
        if value > max {
            find(path, format!("{value} is above the maximum: write {max} or less"));
        }
    }
    // A session has a PDR for each direction.
    let needed = xdp.sessions.saturating_mul(2);
    if (1..needed).contains(&xdp.rules) && xdp.sessions <= 1 << 24 {
        find(
            "xdp.rules",
            format!(
                "{} PDRs are too few for {} sessions with two each: write {needed} or more, or \
                 leave the key out for three per session",
                xdp.rules, xdp.sessions
            ),
        );
    }
    if !xdp.ring.is_power_of_two() || !(1 << 16..=1 << 30).contains(&xdp.ring) {
        find(
            "xdp.ring",
            format!("{} is no power of two from 65536 to 1073741824: write 2097152", xdp.ring),
        );
    }
    if xdp.sockets != 0 && !(xdp.sockets.is_power_of_two() && (16..=65_536).contains(&xdp.sockets))
    {
        find(
            "xdp.sockets",
            format!(
                "{} is no power of two from 16 to 65536: write 512, or 0 for none",
                xdp.sockets
            ),
        );
    }
    if xdp.uplink_cpus as usize > super::MAX_UPLINK_CPUS {
        find(
            "xdp.uplink_cpus",
            format!(
                "{} is above the maximum: write {} or less, or 0 for all CPUs",
                xdp.uplink_cpus,
                super::MAX_UPLINK_CPUS
            ),
        );
    } else if xdp.uplink_cpus != 1 && xdp.mode == XdpMode::Generic {
        find(
            "xdp.uplink_cpus",
            "in generic mode, the CPU that receives a packet processes it: write 1, or xdp.mode: \
             auto"
                .into(),
        );
    }
    if config.n6.mtu > LARGEST_XDP_MTU {
        find(
            "n6.mtu",
            format!(
                "{} with its tunnel headers is above the 3498 bytes of XDP: write \
                 {LARGEST_XDP_MTU} or less, or upf.datapath: kernel",
                config.n6.mtu
            ),
        );
    }
    check_nat(config, &mut find);
    if config.n6.netns != config.n3.netns {
        find(
            "n6.netns",
            "XDP has N3 and N6 in one network namespace: write the same for both, or neither"
                .into(),
        );
    }
    if config.n3.address.port() != martlet_gtpu::PORT {
        find("n3.address", format!("XDP detects GTP-U by its port: write {}", martlet_gtpu::PORT));
    }
}

fn check_nat(config: &UpfConfig, find: &mut impl FnMut(&str, String)) {
    let nat = &config.xdp.nat;
    if nat.addresses.is_empty() {
        return;
    }
    if config.n6.mode != N6Mode::Nat {
        find("xdp.nat.addresses", "they are of no use without n6.mode: nat".into());
    }
    if nat.addresses.len() > 8 {
        find("xdp.nat.addresses", format!("{} are too many: write 8 at most", nat.addresses.len()));
    }
    if !config.xdp.direct || config.xdp.interfaces.is_empty() {
        let why = "programs translate only packets on their own interfaces: name \
                   that of the data network, too";
        find("xdp.interfaces", why.into());
    }
    if let Some(address) =
        nat.addresses.iter().find(|a| a.is_unspecified() || a.is_multicast() || a.is_broadcast())
    {
        find(
            "xdp.nat.addresses",
            format!(
                "{address} is not a host address: write one that the data network routes to \
                     this machine"
            ),
        );
    }
    if nat.first_port == 0 || nat.first_port >= nat.last_port {
        find("xdp.nat.first_port", "no range of ports: write 1024, and 32767 for last_port".into());
    }
    if !(1..=1 << 24).contains(&nat.flows) {
        find("xdp.nat.flows", format!("{} is not from 1 to 16777216: write 131072", nat.flows));
    }
    let times = [
        ("flows_per_ue", nat.flows_per_ue, 1024),
        ("tcp_established_s", nat.tcp_established_s, 7440),
        ("tcp_transitory_s", nat.tcp_transitory_s, 240),
        ("udp_s", nat.udp_s, 300),
        ("udp_unanswered_s", nat.udp_unanswered_s, 120),
        ("icmp_s", nat.icmp_s, 60),
        ("other_s", nat.other_s, 600),
    ];
    for (name, value, default) in times {
        if value == 0 {
            find(&format!("xdp.nat.{name}"), format!("0 is not possible: write {default}"));
        }
    }
}

fn is_node_id(id: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    id.parse::<std::net::IpAddr>().is_ok() || id.len() <= 253 && id.split('.').all(label)
}

fn check_pools(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut seen: Vec<(String, Pool)> = Vec::new();
    for (d, dnn) in config.dnns.iter().enumerate() {
        if dnn.name.is_empty() {
            findings.push(Finding::new(
                format!("dnns[{d}].name"),
                "a data network needs a name: write internet",
            ));
        }
        for (p, text) in dnn.pools.iter().enumerate() {
            let path = format!("dnns[{d}].pools[{p}]");
            let pool = match Pool::parse(text) {
                Ok(pool) => pool,
                Err(error) => {
                    findings.push(Finding::new(path, error.to_string()));
                    continue;
                }
            };
            let overlaps = |other: &Pool| {
                let mask = u32::MAX << (32 - u32::from(other.prefix.min(pool.prefix)));
                (other.network.to_bits() ^ pool.network.to_bits()) & mask == 0
            };
            if let Some((other, _)) = seen.iter().find(|(_, other)| overlaps(other)) {
                findings.push(Finding::new(
                    path,
                    format!("{text} overlaps {other}: give each its own addresses"),
                ));
            }
            seen.push((text.clone(), pool));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DatapathChoice, DnnConfig, EthernetConfig, UpfConfig, XdpMode};

    fn internet() -> DnnConfig {
        DnnConfig { name: "internet".into(), ..DnnConfig::default() }
    }

    #[test]
    fn a_network_without_pools_leaves_the_default_one() {
        let mut config = UpfConfig::default();
        let default = config.pools();
        config.dnns = vec![DnnConfig { ue_to_ue: crate::UeToUe::Deny, ..internet() }];
        assert_eq!((config.pools(), config.check()), (default, vec![]));
        let name = martlet_pfcp::ie::NetworkInstance::new("internet").0;
        assert_eq!(config.ue_to_ue().of(Some(&name)), crate::UeToUe::Deny);
        assert_eq!(config.ue_to_ue().of(None), crate::UeToUe::Allow);
    }

    #[test]
    fn n3_allow_needs_a_source_check() {
        let mut config = UpfConfig::default();
        config.n3.allow = vec!["10.0.0.0/24".parse().unwrap()];
        config.n3.source_check = crate::SourceCheck::Off;
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["n3.source_check"]);
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(UpfConfig::default().check(), []);
    }

    #[test]
    fn findings_name_unsupported_xdp_settings() {
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        assert_eq!(config.check(), []);
        config.n3.address = "[::1]:2153".parse().unwrap();
        config.n6.netns = Some("other".into());
        (config.xdp.ring, config.xdp.sockets) = (1000, 500);
        config.n6.mtu = 3455;
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["xdp.ring", "xdp.sockets", "n6.mtu", "n6.netns", "n3.address"]);
        config.datapath = DatapathChoice::Kernel;
        assert!(!config.check().iter().any(|finding| finding.path == "n6.mtu"));
    }

    #[test]
    fn several_uplink_cpus_need_native_mode() {
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        let mut check = |mode, cpus| {
            (config.xdp.mode, config.xdp.uplink_cpus) = (mode, cpus);
            config.check().into_iter().map(|finding| finding.path).collect::<Vec<String>>()
        };
        for (mode, cpus) in [(XdpMode::Auto, 0), (XdpMode::Native, 32), (XdpMode::Generic, 1)] {
            assert!(check(mode, cpus).is_empty(), "{mode:?}, {cpus}");
        }
        for (mode, cpus) in [(XdpMode::Auto, 33), (XdpMode::Generic, 0), (XdpMode::Generic, 2)] {
            assert_eq!(check(mode, cpus), ["xdp.uplink_cpus"], "{mode:?}, {cpus}");
        }
    }

    #[test]
    fn findings_name_wrong_nat_settings() {
        let mut config = UpfConfig { datapath: DatapathChoice::Xdp, ..UpfConfig::default() };
        config.xdp.nat.addresses = vec![[203, 0, 113, 1].into()];
        config.xdp.interfaces = vec!["n3".into(), "n6".into()];
        assert_eq!(config.check(), []);
        config.xdp.nat.addresses.push([224, 0, 0, 1].into());
        config.xdp.interfaces.clear();
        (config.xdp.nat.first_port, config.xdp.nat.udp_s) = (0, 0);
        config.n6.mode = crate::N6Mode::Routing;
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        let nat = |name: &str| format!("xdp.nat.{name}");
        let due = [
            &nat("addresses"),
            "xdp.interfaces",
            &nat("addresses"),
            &nat("first_port"),
            &nat("udp_s"),
        ];
        assert_eq!(paths, due);
    }

    #[test]
    fn findings_name_gateways_that_are_no_addresses() {
        let gateways = |texts: &[&str]| {
            let gateways = texts.iter().map(|text| text.to_string()).collect();
            let (dnn, interface) = ("lan".into(), "lan0".into());
            let mut config = UpfConfig::default();
            config.n6.ethernet = vec![EthernetConfig { dnn, interface, gateways }];
            config.check().into_iter().map(|finding| finding.path).collect::<Vec<String>>()
        };
        assert!(gateways(&["02:00:00:00:0a:F1"]).is_empty());
        for wrong in ["01:00:5e:00:00:01", "02:00:00:00:01", "2:0:0:0:0:1", "10.0.0.1", ""] {
            assert_eq!(gateways(&[wrong]), ["n6.ethernet[0].gateways"], "{wrong}");
        }
    }

    #[test]
    fn findings_name_their_keys() {
        let mut config = UpfConfig::default();
        config.n3.address = "0.0.0.0:2152".parse().unwrap();
        config.n6.interface = "a name that is far too long".into();
        config.n4.n1 = 0;
        let pools =
            vec!["10.45.0.0/16".into(), "10.45.1.0/24".into(), "10.46.0.1/16".into(), "x".into()];
        config.dnns = vec![DnnConfig { pools, ..internet() }];
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(
            paths,
            [
                "n3.address",
                "n4.n1",
                "n6.interface",
                "dnns[0].pools[1]",
                "dnns[0].pools[2]",
                "dnns[0].pools[3]"
            ]
        );
    }
}
