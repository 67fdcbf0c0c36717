//! All rules of a session, and their consistency.
use super::predefined::{ALLOCATED, far_id, far_of};
use super::{
    Action, Bar, ById, Direction, Endpoint, Far, LocalTunnel, Pdr, Prefix, Qer, RuleError, SdfRule,
    SharedById, Tunnel, UeAddress, Urr,
};
use martlet_pfcp::ie::{
    FSeid, FailedRuleId, FarId, Interface, LinkedUrrId, NodeId, PdnType, SdfFilter,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Limits of rules per session. Further rules are rejected with "No resources available".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleLimits {
    /// Packet detection rules.
    pub pdrs: usize,
    /// Forwarding action rules.
    pub fars: usize,
    /// QoS enforcement rules.
    pub qers: usize,
    /// Usage reporting rules.
    pub urrs: usize,
    /// Buffering action rules.
    pub bars: usize,
    /// SDF filters of one packet detection rule.
    pub filters: usize,
}

impl Default for RuleLimits {
    fn default() -> Self {
        RuleLimits { pdrs: 64, fars: 64, qers: 64, urrs: 64, bars: 8, filters: 32 }
    }
}

/// The rules of one PFCP session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// Session endpoint identifier that we chose.
    pub seid: u64,
    /// The CP function's end.
    pub cp: FSeid,
    /// The CP function.
    pub node: NodeId,
    /// Packet detection rules by PDR ID.
    pub pdrs: ById<u16, Pdr>,
    /// Forwarding action rules by FAR ID.
    pub fars: SharedById<u32, Far>,
    /// QoS enforcement rules by QER ID.
    pub qers: SharedById<u32, Qer>,
    /// Usage reporting rules by URR ID.
    pub urrs: SharedById<u32, Urr>,
    /// Buffering action rules by BAR ID.
    pub bars: ById<u8, Bar>,
    /// Inactivity after which the CP function is notified.
    pub inactivity: Option<Duration>,
    /// The PDU session type.
    pub kind: SessionKind,
    /// Traffic endpoints by ID.
    pub endpoints: ById<u8, Endpoint>,
}

/// The PDU session type (TS 29.244, 8.2.79).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum SessionKind {
    /// IPv4 and IPv6.
    #[default]
    Ip,
    /// Ethernet frames, without their check sequence.
    Ethernet,
    /// Unstructured data.
    Unstructured,
}

impl From<Option<PdnType>> for SessionKind {
    fn from(kind: Option<PdnType>) -> Self {
        match kind.map(|kind| kind.0 & 0x07) {
            Some(4) => SessionKind::Unstructured,
            Some(5) => SessionKind::Ethernet,
            _ => SessionKind::Ip,
        }
    }
}

impl Session {
    /// A session without rules.
    pub fn new(seid: u64, cp: FSeid, node: NodeId) -> Self {
        Session {
            seid,
            cp,
            node,
            pdrs: ById::new(),
            fars: SharedById::new(),
            qers: SharedById::new(),
            urrs: SharedById::new(),
            bars: ById::new(),
            inactivity: None,
            kind: SessionKind::Ip,
            endpoints: ById::new(),
        }
    }

    /// Shares equal values with other sessions, and frees spare memory.
    pub fn share(&mut self) {
        self.fars.share();
        self.qers.share();
        self.urrs.share();
        for pdr in self.pdrs.values_mut() {
            pdr.ue.shrink_to_fit();
            pdr.qers.shrink_to_fit();
            pdr.urrs.shrink_to_fit();
        }
    }

    /// Replaces the rules of predefined rules by those of the activated ones.
    fn resolve_predefined(&mut self) {
        let is_ours = |id: &u32| id & ALLOCATED != 0;
        let old: Vec<u32> = self.fars.keys().copied().filter(is_ours).collect();
        old.iter().for_each(|id| drop(self.fars.remove(id)));
        let old: Vec<u32> = self.qers.keys().copied().filter(is_ours).collect();
        for id in &old {
            self.qers.remove(id);
        }
        let (mut fars, mut qers) = (Vec::new(), Vec::new());
        for pdr in self.pdrs.values_mut() {
            pdr.qers.retain(|id| !is_ours(id));
            let active = !pdr.predefined().is_empty();
            if active && pdr.far == far_id(pdr.id) && pdr.source == Interface::Access {
                fars.push(far_of(pdr.id, pdr.network_instance.clone()));
            }
            for qer in pdr.predefined().to_vec().iter().filter_map(|rule| rule.qer()) {
                pdr.qers.push(qer.id);
                qers.push(qer);
            }
        }
        fars.into_iter().for_each(|far| drop(self.fars.insert(far.id, far)));
        for qer in qers {
            self.qers.insert(qer.id, qer);
        }
    }

    /// Whether some rule has a rare feature, which not every datapath supports itself: copies,
    /// redirection, marks of outer headers, packet rates, paging policies, rates that sessions
    /// share, or applications with URLs.
    pub fn is_rare(&self) -> bool {
        let rare = |far: &Far| far.redirect.is_some() || far.duplicates || far.marking.is_some();
        self.fars.values().any(rare)
            || self.qers.values().any(|qer| qer.is_rare())
            || self.detects_urls()
    }

    /// Whether it detects an application by URLs, so that requests of the UE are read.
    pub fn detects_urls(&self) -> bool {
        self.pdrs
            .values()
            .any(|pdr| pdr.application.as_ref().is_some_and(|known| !known.urls.is_empty()))
    }

    /// Checks consistency and limits, and prepares the PDRs' filters for matching.
    pub fn resolve(&mut self, limits: &RuleLimits) -> Result<(), RuleError> {
        self.resolve_predefined();
        let counts = [
            ("PDRs", self.pdrs.len(), limits.pdrs),
            ("FARs", self.fars.len(), limits.fars),
            ("QERs", self.qers.len(), limits.qers),
            ("URRs", self.urrs.len(), limits.urrs),
            ("BARs", self.bars.len(), limits.bars),
        ];
        for (what, count, limit) in counts {
            if count > limit {
                return Err(RuleError::no_resources(format!(
                    "{count} {what} in a session, {limit} are allowed"
                )));
            }
        }
        for pdr in self.pdrs.values() {
            let failure = |why: String| {
                RuleError::failure(FailedRuleId::Pdr(pdr.id), format!("PDR {} {why}", pdr.id))
            };
            if pdr.far & ALLOCATED != 0 && !self.fars.contains_key(&pdr.far) {
                let why = format!("PDR {} to the UE has no FAR ID", pdr.id);
                return Err(RuleError::conditional::<FarId>(why));
            }
            if !self.fars.contains_key(&pdr.far) {
                return Err(failure(format!("names FAR {}, which does not exist", pdr.far)));
            }
            if let Some(qer) = pdr.qers.iter().find(|id| !self.qers.contains_key(id)) {
                return Err(failure(format!("names QER {qer}, which does not exist")));
            }
            if let Some(urr) = pdr.urrs.iter().find(|id| !self.urrs.contains_key(id)) {
                return Err(failure(format!("names URR {urr}, which does not exist")));
            }
            if pdr.filters.len() > limits.filters {
                return Err(RuleError::no_resources(format!(
                    "{} SDF filters in PDR {}",
                    pdr.filters.len(),
                    pdr.id
                )));
            }
        }
        for urr in self.urrs.values() {
            let rule = FailedRuleId::Urr(urr.id);
            if let Some(other) = urr.linked.iter().find(|id| !self.urrs.contains_key(id)) {
                let why = format!("URR {} is linked to URR {other}, which does not exist", urr.id);
                return Err(RuleError::incorrect::<LinkedUrrId>(rule, why));
            }
            let quota_far = urr.quota_far.map(|id| (id, self.fars.get(&id)));
            match quota_far {
                None => {}
                Some((id, None)) => {
                    let why = format!("URR {} names FAR {id}, which does not exist", urr.id);
                    return Err(RuleError::failure(rule, why));
                }
                // Beyond a quota packets are dropped.
                Some((_, Some(far))) if far.action == Action::Drop => {}
                Some((id, Some(_))) => {
                    let why = format!("beyond the quota of URR {}, FAR {id} does not drop", urr.id);
                    return Err(RuleError::not_supported::<FarId>(rule, why));
                }
            }
        }
        for far in self.fars.values() {
            if let Some(bar) = far.bar.filter(|id| !self.bars.contains_key(id)) {
                let why = format!("FAR {} names BAR {bar}, which does not exist", far.id);
                return Err(RuleError::failure(FailedRuleId::Far(far.id), why));
            }
        }
        for pdr in self.pdrs.values_mut() {
            let back = self
                .fars
                .get(&pdr.far)
                .is_some_and(|far| far.destination == Some(Interface::Access));
            // In a PDR of the access interface, the UE's address is the source.
            pdr.returns =
                back && pdr.source == Interface::Access && pdr.local.is_some() && pdr.ue.is_empty();
        }
        self.resolve_filters()
    }

    /// PDRs of default QoS flows: in each tunnel from the access network the last one by
    /// precedence, if it matches QFIs. PDRs of other flows come first (TS 23.501, 5.7.1.4).
    pub fn default_flows(&self) -> BTreeSet<u16> {
        let mut last: BTreeMap<u32, &Pdr> = BTreeMap::new();
        let mut by_precedence: Vec<&Pdr> = self.pdrs.values().collect();
        by_precedence.sort_by_key(|pdr| (pdr.precedence, pdr.id));
        for pdr in by_precedence {
            if let Some(local) = pdr.local.filter(|_| pdr.direction() == Direction::Uplink) {
                last.insert(local.teid, pdr);
            }
        }
        last.into_values().filter(|pdr| !pdr.qfis.is_empty()).map(|pdr| pdr.id).collect()
    }

    /// Local tunnels whose packets are forwarded into another tunnel, as are their end markers (TS
    /// 23.501, 5.8.2.9).
    pub fn relays(&self) -> BTreeMap<u32, Tunnel> {
        let forwards = |pdr: &Pdr| {
            let far = self.fars.get(&pdr.far).filter(|far| far.action == Action::Forward)?;
            Some((pdr.local?.teid, far.tunnel?))
        };
        self.pdrs.values().filter_map(forwards).collect()
    }

    /// A filter with an SDF Filter ID alone stands for the filter that has the ID and a description
    /// (8.2.5).
    fn resolve_filters(&mut self) -> Result<(), RuleError> {
        let mut named = BTreeMap::new();
        for filter in self.pdrs.values().flat_map(|pdr| &pdr.filters) {
            if let (Some(id), Some(_)) = (filter.filter_id, &filter.flow_description) {
                named.insert(id, filter.clone());
            }
        }
        for pdr in self.pdrs.values_mut() {
            let id = pdr.id;
            let failure =
                |why: String| RuleError::failure(FailedRuleId::Pdr(id), format!("PDR {id}: {why}"));
            pdr.rules.clear();
            if let Some(application) = &pdr.application {
                pdr.rules.clone_from(&application.rules);
                continue;
            }
            for filter in &pdr.filters {
                let filter = match (filter.filter_id, &filter.flow_description) {
                    (Some(filter_id), None) => named.get(&filter_id).ok_or_else(|| {
                        failure(format!("SDF filter {filter_id} has no description anywhere"))
                    })?,
                    _ => filter,
                };
                pdr.rules.push(SdfRule::tolerant(filter).map_err(|error| {
                    RuleError::incorrect::<SdfFilter>(FailedRuleId::Pdr(id), error.to_string())
                })?);
            }
            for rule in pdr.predefined().to_vec() {
                // One that names no flow is for all packets of the PDR.
                if rule.filters.is_empty() {
                    pdr.rules.clear();
                    break;
                }
                pdr.rules.extend(rule.rules(id)?);
            }
        }
        Ok(())
    }

    /// Networks behind the UE whose packets are received from the data network.
    pub fn routes(&self) -> BTreeSet<Prefix> {
        let untunnelled = self.pdrs.values().filter(|pdr| pdr.local.is_none());
        untunnelled.flat_map(|pdr| pdr.routes().iter().copied()).collect()
    }

    /// The network instance of the data network, where its rules name one.
    pub fn network(&self) -> Option<&[u8]> {
        let untunnelled = self.pdrs.values().find(|pdr| pdr.local.is_none());
        untunnelled.and_then(|pdr| pdr.network_instance.as_deref())
    }

    /// Whether it detects an application by domain names, so that DNS responses to the UE are
    /// copied.
    pub fn asks_for_dns(&self) -> bool {
        self.pdrs
            .values()
            .any(|pdr| pdr.application.as_ref().is_some_and(|known| !known.names.is_empty()))
    }

    /// Our ends of its tunnels.
    pub fn local_tunnels(&self) -> impl Iterator<Item = LocalTunnel> + '_ {
        self.pdrs.values().filter_map(|pdr| pdr.local)
    }

    /// TEIDs that it holds, whether a PDR has them or only a traffic endpoint.
    pub fn allocated_teids(&self) -> BTreeSet<u32> {
        let of_endpoints = self.endpoints.values().filter_map(|endpoint| endpoint.local);
        self.local_tunnels().chain(of_endpoints).map(|tunnel| tunnel.teid).collect()
    }

    /// TEIDs of our ends of its tunnels.
    pub fn teids(&self) -> BTreeSet<u32> {
        self.local_tunnels().map(|tunnel| tunnel.teid).collect()
    }

    /// Addresses whose packets are received from the data network: those of PDRs without a tunnel.
    pub fn ue_addresses(&self) -> BTreeSet<UeAddress> {
        let untunnelled = self.pdrs.values().filter(|pdr| pdr.local.is_none());
        untunnelled.flat_map(|pdr| pdr.ue.iter().copied()).collect()
    }

    /// Where packets are forwarded in tunnels to the access: the gNBs of the UE.
    pub fn access_peers(&self) -> BTreeSet<std::net::IpAddr> {
        let to_access = self.fars.values().filter(|far| {
            far.action == Action::Forward && far.destination == Some(Interface::Access)
        });
        to_access.filter_map(|far| Some(far.tunnel?.peer)).collect()
    }

    /// Our ends of tunnels in which gNBs send what they forward in a handover, and of tunnels with
    /// other UPFs: their senders are not the gNB of the UE.
    pub fn tunnels_of_others(&self) -> BTreeSet<u32> {
        let others = self.pdrs.values().filter(|pdr| pdr.direction() == Direction::Downlink);
        others.filter_map(|pdr| Some(pdr.local?.teid)).collect()
    }

    /// The remote endpoints of its tunnels, with the PDRs that forward to them.
    pub fn remote_tunnels(&self) -> BTreeSet<(std::net::IpAddr, u32)> {
        self.fars
            .values()
            .filter_map(|far| far.tunnel)
            .map(|Tunnel { teid, peer }| (peer, teid))
            .collect()
    }
}
