//! Rules of nftables or iptables that drop packets of N2, N3, N4 or N6.
use super::nftables::{Obstacle, Packet, Path, Ruleset};
use super::{Check, ProgramFailed, enter, interface_of, output_of, starts};
use martlet::config::Config;
use martlet_upf::config::{DatapathChoice, N6Mode};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const SUBJECT: &str = "firewall";

/// Packets of one interface of the core.
struct Traffic {
    /// The interface and its protocol.
    what: String,
    /// Network namespace, as `ip netns` has it.
    netns: Option<String>,
    packet: Packet,
    /// How `nft` and `iptables` select these packets.
    nft: String,
    iptables: String,
}

/// The checks of all namespaces.
pub fn checks(config: &Config) -> Vec<Check> {
    let traffic = traffic(config);
    if traffic.is_empty() {
        return Vec::new();
    }
    let mut spaces: Vec<&Option<String>> = traffic.iter().map(|it| &it.netns).collect();
    spaces.dedup();
    let mut found = Vec::new();
    for netns in &spaces {
        let listed = output_of(netns.as_deref(), "nft", &["-j", "list", "ruleset"]);
        let its = traffic.iter().filter(|it| it.netns == **netns);
        match listed {
            Some(Ok(json)) => match Ruleset::parse(&json) {
                Ok(rules) => found.extend(its.filter_map(|it| blocked(&rules, it))),
                Err(error) => found.push(unknown(&error.to_string())),
            },
            Some(Err(ProgramFailed(error))) => {
                found.push(unknown(error.lines().next().unwrap_or_default()));
            }
            None => found.extend(iptables(config, netns.as_deref())),
        }
    }
    if found.is_empty() {
        let names: Vec<&str> = ["N2", "N3", "N4", "N6"]
            .into_iter()
            .filter(|name| traffic.iter().any(|it| it.what.starts_with(name)))
            .collect();
        found.push(Check::good(SUBJECT, format!("no rule drops packets of {}", names.join(", "))));
    }
    found
}

fn unknown(why: &str) -> Check {
    let remedy = "run `martlet doctor` as root, since only root may list the rules";
    Check::note(SUBJECT, format!("unknown: {why}"), remedy)
}

/// What the core has to receive, send and forward. Programs of XDP see packets before the rules do,
/// so N3 and N6 are left out with them.
fn traffic(config: &Config) -> Vec<Traffic> {
    let upf = &config.upf;
    let mut all = Vec::new();
    if starts(config, "amf") {
        for ip in &config.amf.n2.bind {
            all.extend(served("N2", "sctp", SocketAddr::new(*ip, config.amf.n2.port), None));
        }
    }
    if !starts(config, "upf") {
        return all;
    }
    all.extend(served("N4", "udp", upf.n4.address, None));
    let is_xdp = upf.datapath == DatapathChoice::Xdp
        || upf.datapath == DatapathChoice::Switch && upf.switch.native == DatapathChoice::Xdp;
    if !is_xdp {
        all.extend(served("N3", "udp", upf.n3.address, upf.n3.netns.clone()));
        if matches!(upf.n6.mode, N6Mode::Nat | N6Mode::Routing) {
            all.extend(forwarded(config));
        }
    }
    // Those of one namespace together.
    all.sort_by(|a, b| a.netns.cmp(&b.netns));
    all
}

/// Requests to a server of the core, and its answers.
fn served(
    name: &str,
    protocol: &'static str,
    address: SocketAddr,
    netns: Option<String>,
) -> [Traffic; 2] {
    let (ip, port) = (address.ip(), address.port());
    let interface = match ip.is_loopback() {
        true => Some("lo".to_string()),
        false => interface_of(netns.as_deref(), ip),
    };
    let request = Packet {
        path: Path::In,
        protocol: Some(protocol),
        source: None,
        destination: Some(ip),
        source_port: None,
        destination_port: Some(port),
        received_on: interface.clone(),
        sent_on: None,
        state: "new",
        is_ipv6: ip.is_ipv6(),
    };
    let answer = Packet {
        path: Path::Out,
        source: Some(ip),
        destination: None,
        source_port: Some(port),
        destination_port: None,
        received_on: None,
        sent_on: interface,
        state: "established",
        ..request.clone()
    };
    let family = if ip.is_ipv6() { "ip6" } else { "ip" };
    let upper = protocol.to_uppercase();
    [
        Traffic {
            what: format!("{name}, {upper} to {address}"),
            netns: netns.clone(),
            packet: request,
            nft: format!("{family} daddr {ip} {protocol} dport {port}"),
            iptables: format!("-d {ip} -p {protocol} --dport {port}"),
        },
        Traffic {
            what: format!("{name}, {upper} from {address}"),
            netns,
            packet: answer,
            nft: format!("{family} saddr {ip} {protocol} sport {port}"),
            iptables: format!("-s {ip} -p {protocol} --sport {port}"),
        },
    ]
}

/// Packets of UEs to the data network, and answers to them.
fn forwarded(config: &Config) -> [Traffic; 2] {
    let upf = &config.upf;
    let netns = &upf.n6.netns;
    let tun = &upf.n6.interface;
    // Where most packets of UEs leave.
    let outside = output_of(netns.as_deref(), "ip", &["-o", "route", "show", "default"])
        .and_then(Result::ok)
        .and_then(|route| Some(route.split_once(" dev ")?.1.split_whitespace().next()?.into()));
    let ue = upf
        .pools()
        .first()
        .map(|pool| IpAddr::V4(Ipv4Addr::from_bits(pool.network.to_bits().saturating_add(2))));
    let uplink = Packet {
        path: Path::Through,
        protocol: None,
        source: ue,
        destination: None,
        source_port: None,
        destination_port: None,
        received_on: Some(tun.clone()),
        sent_on: outside,
        state: "new",
        is_ipv6: false,
    };
    let downlink = Packet {
        source: None,
        destination: ue,
        received_on: uplink.sent_on.clone(),
        sent_on: uplink.received_on.clone(),
        state: "established",
        ..uplink.clone()
    };
    [
        Traffic {
            what: format!("N6, packets of UEs from {tun}"),
            netns: netns.clone(),
            packet: uplink,
            nft: format!("iifname \"{tun}\""),
            iptables: format!("-i {tun}"),
        },
        Traffic {
            what: format!("N6, answers to UEs into {tun}"),
            netns: netns.clone(),
            packet: downlink,
            nft: format!("oifname \"{tun}\""),
            iptables: format!("-o {tun}"),
        },
    ]
}

/// What drops the packets, and the rule that would let them pass.
fn blocked(rules: &Ruleset, traffic: &Traffic) -> Option<Check> {
    let obstacle = rules.obstacle(&traffic.packet)?;
    let netns = traffic.netns.as_deref();
    let what = &traffic.what;
    let by = match &obstacle.rule {
        None => format!("the policy of chain {}", obstacle.base),
        Some((chain, handle)) => {
            let rule = rule_text(netns, chain, *handle);
            format!("{rule} in chain {chain}")
        }
    };
    let remedy = remedy(&obstacle, traffic);
    Some(match obstacle.is_certain {
        true => Check::fault(SUBJECT, format!("{what}: dropped by {by}"), remedy),
        false => {
            let depends = "unless an earlier rule accepts them, by their sender or another field";
            Check::note(SUBJECT, format!("{what}: dropped by {by}, {depends}"), remedy)
        }
    })
}

/// The rule as `nft` prints it.
fn rule_text(netns: Option<&str>, chain: &str, handle: u64) -> String {
    let arguments: Vec<&str> =
        ["-a", "list", "chain"].into_iter().chain(chain.split(' ')).collect();
    let listed = output_of(netns, "nft", &arguments).and_then(Result::ok).unwrap_or_default();
    let end = format!(" # handle {handle}");
    let rule = listed.lines().find_map(|line| line.trim().strip_suffix(&end));
    rule.map_or_else(|| format!("the rule with handle {handle}"), |rule| format!("`{rule}`"))
}

/// A rule before all others of the base chain. Chains of iptables are changed by it, so that it can
/// still list them.
fn remedy(obstacle: &Obstacle, traffic: &Traffic) -> String {
    let enter = enter(traffic.netns.as_deref());
    let mut words = obstacle.base.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some(family @ ("ip" | "ip6")), Some("filter"), Some(chain))
            if ["INPUT", "FORWARD", "OUTPUT"].contains(&chain) =>
        {
            let program = if family == "ip6" { "ip6tables" } else { "iptables" };
            format!("{enter}{program} -I {chain} {} -j ACCEPT", traffic.iptables)
        }
        _ => format!(
            "{enter}nft insert rule {} {} accept, and the same in /etc/nftables.conf",
            obstacle.base, traffic.nft
        ),
    }
}

/// Without `nft`: a firewall that drops what it forwards, as Docker's does.
fn iptables(config: &Config, netns: Option<&str>) -> Option<Check> {
    let upf = &config.upf;
    if !matches!(upf.n6.mode, N6Mode::Nat | N6Mode::Routing) || upf.n6.netns.as_deref() != netns {
        return None;
    }
    let rules = output_of(netns, "iptables", &["-S", "FORWARD"])?.ok()?;
    forward_policy(&rules, &upf.n6.interface)
}

fn forward_policy(rules: &str, interface: &str) -> Option<Check> {
    let accepts = rules.lines().any(|rule| rule.contains(interface) && rule.ends_with("ACCEPT"));
    (rules.contains("-P FORWARD DROP") && !accepts).then(|| {
        Check::note(
            SUBJECT,
            "drops forwarded packets by default, and no rule names the interface of N6",
            format!(
                "iptables -I FORWARD -i {interface} -j ACCEPT, and the same with -o, if UEs get no \
                 answers"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_has_its_packets_and_those_of_xdp_are_not_filtered() {
        let mut config = Config::default();
        let names = |config: &Config| -> Vec<String> {
            traffic(config).iter().map(|it| it.what.clone()).collect()
        };
        let all = names(&config);
        let n2 = format!("N2, SCTP to {}:38412", config.amf.n2.bind[0]);
        assert!(all.contains(&n2), "{all:?}");
        for name in ["N3", "N4", "N6"] {
            assert_eq!(all.iter().filter(|it| it.starts_with(name)).count(), 2, "{name}: {all:?}");
        }
        config.upf.datapath = DatapathChoice::Xdp;
        assert!(!names(&config).iter().any(|it| it.starts_with("N3") || it.starts_with("N6")));
        config.sbi.external = vec!["upf".into()];
        assert!(names(&config).iter().all(|it| it.starts_with("N2")));
    }

    #[test]
    fn the_remedy_is_for_the_program_that_made_the_chain() {
        let [request, _] = served("N4", "udp", "192.168.7.10:8805".parse().unwrap(), None);
        let obstacle = |base: &str| Obstacle { base: base.into(), rule: None, is_certain: true };
        assert_eq!(
            remedy(&obstacle("ip filter INPUT"), &request),
            "iptables -I INPUT -d 192.168.7.10 -p udp --dport 8805 -j ACCEPT"
        );
        assert_eq!(
            remedy(&obstacle("inet filter input"), &request),
            "nft insert rule inet filter input ip daddr 192.168.7.10 udp dport 8805 accept, and \
             the same in /etc/nftables.conf"
        );
        assert_eq!(forward_policy("-P FORWARD ACCEPT\n", "martlet-n6"), None);
        let accepted = "-P FORWARD DROP\n-A FORWARD -i martlet-n6 -j ACCEPT\n";
        assert_eq!(forward_policy(accepted, "martlet-n6"), None);
        assert!(forward_policy("-P FORWARD DROP\n", "martlet-n6").is_some());
    }
}
