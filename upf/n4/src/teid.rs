//! Allocation of TEIDs by the UP function (TS 29.244, 5.5.3).
use super::pfd::{self, Applications};
use super::settings::Settings;
use super::ue_address::{Lease, Leasing};
use martlet_pfcp::IeValue;
use martlet_pfcp::ie::{
    Cause, CreateTrafficEndpoint, CreatedPdr, CreatedTrafficEndpoint, FTeid, FailedRuleId,
    Interface, Pdi, PdrId, UeIpAddress,
};
use martlet_upf_datapath::TeidFilter;
use martlet_upf_rules::{Endpoint, Found, LocalTunnel, RuleError};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Attempts to draw a TEID that the datapath finds without a slow lookup.
const TRIES: usize = 8;

/// The TEIDs in use. They are drawn at random, so that one cannot be guessed from another.
#[derive(Default)]
pub(super) struct Teids {
    used: HashSet<u32>,
    fast_teids: Option<TeidFilter>,
}

impl Teids {
    /// Creates an allocator without TEIDs in use. `fast_teids` are those that the datapath looks up
    /// fastest.
    pub fn new(fast_teids: Option<TeidFilter>) -> Self {
        Teids { used: HashSet::new(), fast_teids }
    }

    fn draw(&mut self) -> Option<u32> {
        let used = &self.used;
        // With any sensible number of sessions the first one is free.
        let drawn = (0..64).map(|_| rand::random::<u32>());
        let mut free =
            drawn.filter(|teid| *teid != 0 && !used.contains(teid)).take(TRIES).peekable();
        let first = free.peek().copied()?;
        let teid = match &self.fast_teids {
            Some(fast_teids) => free.find(|teid| fast_teids(*teid)).unwrap_or(first),
            None => first,
        };
        self.used.insert(teid);
        Some(teid)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.used.len()
    }

    pub fn release(&mut self, teids: impl IntoIterator<Item = u32>) {
        for teid in teids {
            self.used.remove(&teid);
        }
    }
}

/// An allocated tunnel, with what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChosenTunnel {
    /// The CHOOSE ID, if there was one.
    id: Option<u8>,
    /// The source interface of the PDR; `None` for a traffic endpoint.
    source: Option<Interface>,
    tunnel: LocalTunnel,
}

/// The tunnels and addresses of one request, until it is carried out or refused.
pub(super) struct Choice<'a> {
    teids: &'a mut Teids,
    settings: &'a Settings,
    /// The TEIDs that the session has already.
    own: BTreeSet<u32>,
    /// One for each CHOOSE ID of the request.
    chosen: HashMap<u8, LocalTunnel>,
    /// Those of all requests of the session.
    of_session: Vec<ChosenTunnel>,
    /// A CHOOSE ID stands for the tunnel of an earlier request.
    is_reused: bool,
    /// TEIDs allocated for this request.
    taken: Vec<u32>,
    leasing: Leasing<'a>,
    applications: &'a Applications,
}

/// A tunnel for a PDR.
struct Local {
    tunnel: LocalTunnel,
    /// Chosen here: included in the response.
    chosen: bool,
}

impl<'a> Choice<'a> {
    pub fn new(
        teids: &'a mut Teids,
        settings: &'a Settings,
        own: BTreeSet<u32>,
        leasing: Leasing<'a>,
        applications: &'a Applications,
        of_session: &[ChosenTunnel],
    ) -> Self {
        Choice {
            teids,
            settings,
            own,
            chosen: HashMap::new(),
            of_session: of_session.to_vec(),
            is_reused: false,
            taken: Vec::new(),
            leasing,
            applications,
        }
    }

    /// The rules' form of a PDR's detection information, and the allocated values for the response.
    /// `uplink` is the tunnel of the session's uplink, if the PDR is for packets in it.
    pub fn find(
        &mut self,
        pdr_id: PdrId,
        pdi: Option<&Pdi>,
        uplink: Option<LocalTunnel>,
    ) -> Result<(Found, Option<CreatedPdr>), RuleError> {
        let Some(pdi) = pdi else { return Ok(Default::default()) };
        let application = pfd::find(self.applications, pdr_id.0, pdi.application_id.as_ref())?;
        let rule = Some((FailedRuleId::Pdr(pdr_id.0), pdi.source_interface.0));
        let local = self.tunnel(rule, pdi.local_fteid, uplink)?;
        let (ue, ue_ip_addresses) = self.leasing.choose(pdr_id.0, pdi)?;
        let chosen = local.as_ref().filter(|local| local.chosen).map(|local| local.tunnel.into());
        let has_allocated = chosen.is_some() || !ue_ip_addresses.is_empty();
        let created =
            has_allocated.then_some(CreatedPdr { pdr_id, local_fteid: chosen, ue_ip_addresses });
        let local = local.map(|local| local.tunnel);
        Ok((Found { local, ue, application, ..Found::default() }, created))
    }

    /// A new traffic endpoint with its tunnel and addresses, and the allocated ones for the
    /// response.
    pub fn endpoint(
        &mut self,
        ie: &CreateTrafficEndpoint,
    ) -> Result<(Endpoint, Option<CreatedTrafficEndpoint>), RuleError> {
        let id = ie.id.0;
        let local = self.tunnel(None, ie.local_fteid, None)?;
        let asked = Pdi {
            ue_ip_addresses: ie.ue_ip_addresses.clone(),
            network_instance: ie.network_instance.clone(),
            ..Pdi::default()
        };
        let (_, allocated) = self.leasing.choose(0, &asked)?;
        let given = |ie: &&UeIpAddress| !ie.choose_ipv4 && !ie.choose_ipv6;
        let given = ie.ue_ip_addresses.iter().filter(given).copied();
        let endpoint = Endpoint {
            id,
            local: local.as_ref().map(|local| local.tunnel),
            network_instance: ie.network_instance.clone(),
            ue: given.chain(allocated.iter().copied()).collect(),
            ethernet: ie.ethernet.map(|information| information.0),
            framed_routes: ie.framed_routes.clone(),
            framed_ipv6_routes: ie.framed_ipv6_routes.clone(),
            qfis: ie.qfis.iter().map(|qfi| qfi.0).collect(),
        };
        let local_fteid = local.filter(|local| local.chosen).map(|local| local.tunnel.into());
        let created =
            (local_fteid.is_some() || !allocated.is_empty()).then_some(CreatedTrafficEndpoint {
                id: ie.id,
                local_fteid,
                ue_ip_addresses: allocated,
            });
        Ok((endpoint, created))
    }

    /// The settings of N4.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Whether a CHOOSE ID stands for the tunnel of an earlier request.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// The tunnel that a local F-TEID stands for. `rule` is a PDR with its source interface; `None`
    /// for a traffic endpoint.
    fn tunnel(
        &mut self,
        rule: Option<(FailedRuleId, Interface)>,
        fteid: Option<FTeid>,
        uplink: Option<LocalTunnel>,
    ) -> Result<Option<Local>, RuleError> {
        let (rule, source) = (rule.map(|(rule, _)| rule), rule.map(|(_, source)| source));
        match fteid {
            None => Ok(None),
            Some(FTeid::Choose { ipv4, ipv6, choose_id }) => {
                let tunnel = self.choose((ipv4, ipv6), choose_id, source, uplink)?;
                Ok(Some(Local { tunnel, chosen: true }))
            }
            Some(FTeid::Given { teid, ipv4, ipv6 }) => {
                let tunnel = LocalTunnel { teid, ipv4, ipv6 };
                self.claim(rule, tunnel)?;
                Ok(Some(Local { tunnel, chosen: false }))
            }
        }
    }

    /// The tunnel of an earlier request with a CHOOSE ID, for the same source interface. A CHOOSE
    /// ID is about one request (8.2.3), but Open5GS's SMF asks with it for the session's F-TEID
    /// when it adds QoS flows: the gNB has only that one.
    fn of_earlier_request(&self, id: u8, source: Option<Interface>) -> Option<LocalTunnel> {
        if self.settings.strict || source.is_none() {
            return None;
        }
        let same = |known: &&ChosenTunnel| known.id == Some(id) && known.source == source;
        let known = self.of_session.iter().find(same)?;
        self.own.contains(&known.tunnel.teid).then_some(known.tunnel)
    }

    /// The tunnel of the session's uplink for a CHOOSE ID that is new in the session. Open5GS's SMF
    /// restores a session with the F-TEID that it was given, so that no CHOOSE ID stands for it,
    /// and asks for it by CHOOSE ID when it adds QoS flows. A tunnel that was allocated here in
    /// this session is none of these.
    fn of_restored_session(
        &self,
        source: Option<Interface>,
        uplink: Option<LocalTunnel>,
    ) -> Option<LocalTunnel> {
        if self.settings.strict || source.is_none() {
            return None;
        }
        let is_given = |tunnel: &LocalTunnel| {
            self.own.contains(&tunnel.teid)
                && self.of_session.iter().all(|known| known.tunnel != *tunnel)
        };
        uplink.filter(is_given)
    }

    fn choose(
        &mut self,
        (ipv4, ipv6): (bool, bool),
        choose_id: Option<u8>,
        source: Option<Interface>,
        uplink: Option<LocalTunnel>,
    ) -> Result<LocalTunnel, RuleError> {
        if let Some(id) = choose_id {
            if let Some(tunnel) = self.chosen.get(&id) {
                return Ok(*tunnel);
            }
            if let Some(tunnel) = self.of_earlier_request(id, source) {
                self.is_reused = true;
                self.chosen.insert(id, tunnel);
                return Ok(tunnel);
            }
            if let Some(tunnel) = self.of_restored_session(source, uplink) {
                self.is_reused = true;
                self.chosen.insert(id, tunnel);
                self.of_session.push(ChosenTunnel { id: Some(id), source, tunnel });
                return Ok(tunnel);
            }
        }
        let ipv4 = self.settings.n3_ipv4.filter(|_| ipv4);
        let ipv6 = self.settings.n3_ipv6.filter(|_| ipv6);
        if ipv4.is_none() && ipv6.is_none() {
            return Err(RuleError {
                offending: Some(FTeid::TYPE),
                ..RuleError::other(
                    Cause::INVALID_FTEID_ALLOCATION_OPTION,
                    "an F-TEID of an IP version that N3 has not",
                )
            });
        }
        let teid = self.teids.draw().ok_or_else(|| RuleError::no_resources("no TEID is free"))?;
        self.taken.push(teid);
        let tunnel = LocalTunnel { teid, ipv4, ipv6 };
        if let Some(id) = choose_id {
            self.chosen.insert(id, tunnel);
        }
        self.of_session.push(ChosenTunnel { id: choose_id, source, tunnel });
        Ok(tunnel)
    }

    /// An F-TEID chosen by the CP function must have our address, and be free or the session's own.
    fn claim(&mut self, rule: Option<FailedRuleId>, tunnel: LocalTunnel) -> Result<(), RuleError> {
        let ours = tunnel.ipv4.is_none_or(|ip| self.settings.n3_ipv4 == Some(ip))
            && tunnel.ipv6.is_none_or(|ip| self.settings.n3_ipv6 == Some(ip));
        if !ours {
            return Err(RuleError {
                offending: Some(FTeid::TYPE),
                ..RuleError::other(
                    Cause::INVALID_FTEID_ALLOCATION_OPTION,
                    "an F-TEID at an address that is not ours",
                )
            });
        }
        if self.own.contains(&tunnel.teid) || self.taken.contains(&tunnel.teid) {
            return Ok(());
        }
        if !self.teids.used.insert(tunnel.teid) {
            let why = format!("{rule:?} has TEID {:#010x}, which is in use", tunnel.teid);
            return Err(match rule {
                Some(rule) => RuleError::failure(rule, why),
                None => RuleError {
                    offending: Some(CreateTrafficEndpoint::TYPE),
                    ..RuleError::other(Cause::RULE_CREATION_FAILURE, why)
                },
            });
        }
        self.taken.push(tunnel.teid);
        Ok(())
    }

    /// The request is refused.
    pub fn release(self) {
        let Choice { teids, taken, leasing, .. } = self;
        teids.release(taken);
        leasing.release();
    }

    /// Commits the request: tunnels that the session no longer uses are free again. Returns the
    /// session's addresses, and its allocated tunnels.
    pub fn keep(self, now: &BTreeSet<u32>) -> (Vec<Lease>, Box<[ChosenTunnel]>) {
        let Choice { teids, taken, own, leasing, mut of_session, .. } = self;
        teids.release(own.into_iter().chain(taken).filter(|teid| !now.contains(teid)));
        of_session.retain(|known| now.contains(&known.tunnel.teid));
        (leasing.keep(), of_session.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_that_the_datapath_finds_at_once_is_taken_where_there_is_one() {
        let mut teids = Teids::new(Some(Box::new(|teid| teid.is_multiple_of(2))));
        let even = (0..1000).filter(|_| teids.draw().unwrap().is_multiple_of(2)).count();
        // Of eight that are drawn none is with one of 256.
        assert!(even > 950 && teids.len() == 1000, "{even}");
        assert!(Teids::new(Some(Box::new(|_| false))).draw().is_some());
        assert!(Teids::default().draw().is_some());
    }
}
