//! Settings of N4.
use martlet_pfcp::ie::{NetworkInstance, NodeId};
use martlet_pfcp::transaction::Limits;
use martlet_upf_config::TelemetryConfig;
use martlet_upf_config::{Pool, UpfConfig};
use martlet_upf_rules::{PredefinedRule, Prefix, RuleLimits};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

/// Settings of N4.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our Node ID.
    pub node_id: NodeId,
    /// Our IP address on N4, for F-SEIDs.
    pub address: IpAddr,
    /// Our IPv4 address on N3, for F-TEIDs.
    pub n3_ipv4: Option<Ipv4Addr>,
    /// Our IPv6 address on N3, for F-TEIDs.
    pub n3_ipv6: Option<Ipv6Addr>,
    /// Networks of gNBs and UPFs. Tunnels to others are rejected, unless it is empty.
    pub n3_allow: Vec<Prefix>,
    /// Networks of UEs, to which no tunnel leads.
    pub ue_networks: Vec<Prefix>,
    /// Networks of SMFs. Requests of others are dropped.
    pub allow: Vec<Prefix>,
    /// Port of SMFs to which requests go.
    pub peer_port: u16,
    /// Retransmission.
    pub transactions: Limits,
    /// Interval of heartbeats to SMFs.
    pub heartbeat: Option<Duration>,
    /// How long sessions of an unreachable SMF are retained.
    pub retention: Duration,
    /// SMFs at a time.
    pub associations: usize,
    /// Sessions at a time.
    pub sessions: usize,
    /// Maximum number of rules of a session.
    pub rules: RuleLimits,
    /// Telemetry.
    pub telemetry: TelemetryConfig,
    /// Applications at a time.
    pub applications: usize,
    /// Flow descriptions of one application.
    pub flows_per_application: usize,
    /// Refuse deviations of SMFs.
    pub strict: bool,
    /// Trusted DNS servers.
    pub name_servers: Vec<IpAddr>,
    /// Learned addresses of one application.
    pub addresses_per_application: usize,
    /// How long they hold at least.
    pub dns_min_hold: Duration,
    /// Load in per cent from which SMFs are requested to send fewer new sessions; at 100 none.
    pub overload_percent: u8,
    /// For how long.
    pub overload: Duration,
    /// How long the end waits for SMFs to move their sessions away.
    pub release: Duration,
    /// Data networks whose UE addresses the UPF allocates: the name, and IPv4 pools.
    pub pools: Vec<(String, Vec<Pool>)>,
    /// IPv6 networks for UEs: an address of it, and the length of the prefix.
    pub pools6: Vec<(Ipv6Addr, u8)>,
    /// Forwarding policies: names, and the network instances that they stand for.
    pub forwarding_policies: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Predefined rules.
    pub predefined_rules: Vec<Arc<PredefinedRule>>,
    /// How long no packet passes before traffic has stopped.
    pub traffic_stop: Duration,
}

impl From<&UpfConfig> for Settings {
    fn from(config: &UpfConfig) -> Self {
        let address = config.n4.address.ip();
        let node_id = match &config.n4.node_id {
            None => NodeId::Ip(address),
            Some(id) => id.parse().map_or_else(|_| NodeId::Fqdn(id.clone()), NodeId::Ip),
        };
        let (n3_ipv4, n3_ipv6) = config.n3.addresses();
        let pools = config.pools().into_iter().map(|pool| (IpAddr::V4(pool.network), pool.prefix));
        let pools6 = config.pools6().into_iter().map(|(own, prefix)| (IpAddr::V6(own), prefix));
        Settings {
            node_id,
            address,
            n3_ipv4,
            n3_ipv6,
            n3_allow: config.n3.allow.iter().map(|network| network.0).collect(),
            ue_networks: pools.chain(pools6).map(|(ip, prefix)| Prefix::of(ip, prefix)).collect(),
            allow: match config.n4.allow.is_empty() {
                true => super::peers::loopback(),
                false => config.n4.allow.iter().map(|network| network.0).collect(),
            },
            peer_port: config.n4.peer_port,
            transactions: Limits {
                t1: Duration::from_millis(config.n4.t1_ms),
                n1: config.n4.n1,
                max: config.n4.transactions,
            },
            heartbeat: (config.n4.heartbeat_s > 0)
                .then(|| Duration::from_secs(config.n4.heartbeat_s)),
            retention: Duration::from_secs(config.n4.retention_s),
            associations: config.n4.associations,
            sessions: config.n4.sessions,
            rules: config.rules.clone(),
            telemetry: config.telemetry.clone(),
            applications: config.n4.applications,
            flows_per_application: config.n4.flows_per_application,
            strict: config.n4.strict,
            name_servers: config.n4.name_servers.clone(),
            addresses_per_application: config.n4.addresses_per_application,
            dns_min_hold: Duration::from_secs(config.n4.dns_min_hold_s),
            overload_percent: config.n4.overload_percent,
            overload: Duration::from_secs(config.n4.overload_s),
            release: Duration::from_secs(config.n4.graceful_release_s),
            pools: config
                .dnns
                .iter()
                .filter(|dnn| dnn.allocate)
                .map(|dnn| {
                    (
                        dnn.name.clone(),
                        dnn.pools.iter().filter_map(|text| Pool::parse(text).ok()).collect(),
                    )
                })
                .collect(),
            pools6: config.pools6(),
            forwarding_policies: config
                .n6
                .forwarding_policies
                .iter()
                .map(|policy| {
                    let instance = policy.network_instance.as_ref();
                    let instance = instance.map(|name| NetworkInstance::new(name).0);
                    (policy.name.clone().into_bytes(), instance)
                })
                .collect(),
            predefined_rules: config
                .predefined_rules
                .iter()
                .enumerate()
                .map(|(number, rule)| Arc::new(rule.rule(number)))
                .collect(),
            traffic_stop: Duration::from_secs(config.n4.traffic_stop_s),
        }
    }
}
