//! F-TEIDs that the SMF allocates (TS 29.244, 5.5.2), for a UPF without the feature FTUP.
//!
//! Rules ask for an F-TEID with CHOOSE. Before such a UPF gets them, each CHOOSE becomes an F-TEID
//! of this SMF, and the response gets these as if the UPF had allocated them. So procedures do not
//! depend on who allocates.
//!
//! A TEID is in use until the UPF confirms that the session is deleted or its PDR removed. Without
//! a response it is held for [`HOLD_TIME`], and so are those of a session whose deletion the UPF
//! rejects, or that has ended at another member of the SMF set. TEIDs are stored with the session.
//! The members of an SMF set draw from separate ranges; other SMFs at the same UPF do not know each
//! other's TEIDs, so that such a UPF has to serve one SMF or one set.
use super::session_rules::UPLINK;
use super::{N4, N4Error};
use crate::config::UpfConfig;
use crate::user_plane_path::{SECOND_SEID, UpfSession};
use martlet_pfcp::ie::{
    Cause, CreatedPdr, FTeid, Interface, NetworkInstance, OuterHeaderRemoval, Pdi, PdrId,
    UpFunctionFeatures, UserPlaneIpResource,
};
use martlet_pfcp::{AssociationSetupResponse, Message};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// How long a TEID is not allocated again that the UPF may still have: the restoration of sessions
/// and the deletion of unknown ones take less.
const HOLD_TIME: Duration = Duration::from_secs(600);

/// Bits of a TEID that name the member of an SMF set.
const MEMBER_BITS: u8 = 7;

/// Attempts to draw a TEID that is not in use.
const TRIES: usize = 64;

/// PDRs and their TEIDs.
type PdrTeids = Vec<(u16, u32)>;

/// The TEIDs that the SMF allocated for an N4 session: N4 address of the UPF, its session endpoint
/// identifier, and the PDRs with their TEIDs. Part of the stored format.
pub type SessionTeids = (SocketAddr, u64, Vec<(u16, u32)>);

/// Those of a session that was stored without them: that of its N3 endpoint.
pub fn n3_teid(at: &UpfSession) -> SessionTeids {
    (at.upf, at.seid, vec![(UPLINK, at.teid)])
}

/// The use of a TEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Of a request without a response.
    Requested,
    /// The UPF may still have it, until then.
    Held(Instant),
    /// Of a session, by its reference here and the UPF's session endpoint identifier.
    Session { reference: u64, seid: u64 },
}

/// The TEIDs of one UPF.
#[derive(Default)]
pub(super) struct UpfTeids {
    /// Addresses and ranges from which the SMF allocates; empty if the UPF allocates.
    resources: Vec<UserPlaneIpResource>,
    /// Whether the UPF has announced who allocates.
    is_known: bool,
    used: HashMap<u32, Use>,
    of_sessions: HashMap<u64, PdrTeids>,
    /// In the order in which their time ends.
    held: VecDeque<(Instant, u32)>,
}

impl UpfTeids {
    /// The best resource for the packets of a PDR: the one for its source interface, then the one
    /// for its network instance.
    fn resource(&self, pdi: &Pdi, ipv4: bool, ipv6: bool) -> Option<&UserPlaneIpResource> {
        let rank = |asked: bool, has: bool| match (has, asked) {
            (true, true) => 0,
            (false, _) => 1,
            (true, false) => 2,
        };
        let interface: Interface = pdi.source_interface.0;
        let name = pdi.network_instance.as_ref().map(NetworkInstance::name);
        let has_family = |resource: &&UserPlaneIpResource| {
            ipv4 && resource.ipv4.is_some() || ipv6 && resource.ipv6.is_some()
        };
        let fits = self.resources.iter().filter(has_family);
        fits.min_by_key(|resource| {
            let instance = resource.network_instance.as_ref();
            let is_its_name = instance.is_some_and(|instance| Some(instance.name()) == name);
            (
                rank(
                    resource.source_interface == Some(interface),
                    resource.source_interface.is_some(),
                ),
                rank(is_its_name, instance.is_some()),
            )
        })
    }

    /// Whether the UPF has an address.
    fn has(&self, address: IpAddr) -> bool {
        self.resources.iter().any(|resource| match address {
            IpAddr::V4(ip) => resource.ipv4 == Some(ip),
            IpAddr::V6(ip) => resource.ipv6 == Some(ip),
        })
    }

    /// Draws a TEID that is not in use, at random, so that one cannot be guessed from another.
    fn draw(&mut self, member: Option<u8>, (bits, range): (u8, u8)) -> Option<u32> {
        let now = Instant::now();
        while let Some((until, teid)) = self.held.front().copied() {
            if until > now {
                break;
            }
            self.held.pop_front();
            if self.used.get(&teid) == Some(&Use::Held(until)) {
                self.used.remove(&teid);
            }
        }
        let teid = (0..TRIES)
            .map(|_| teid_within(rand::random(), member, (bits, range)))
            .find(|teid| *teid != 0 && !self.used.contains_key(teid))?;
        self.used.insert(teid, Use::Requested);
        Some(teid)
    }

    /// Requests the TEID that a session has, for its restoration. Returns `false` if another one
    /// has it.
    fn claim(&mut self, reference: u64, teid: u32) -> bool {
        match self.used.get(&teid).copied() {
            None | Some(Use::Held(_)) => {}
            Some(Use::Session { reference: owner, seid }) if owner == reference => {
                self.forget(seid, teid);
            }
            Some(Use::Session { .. } | Use::Requested) => return false,
        }
        self.used.insert(teid, Use::Requested);
        true
    }

    fn hold(&mut self, teid: u32) {
        let until = Instant::now() + HOLD_TIME;
        self.used.insert(teid, Use::Held(until));
        self.held.push_back((until, teid));
    }

    /// A session has these TEIDs.
    fn keep(&mut self, reference: u64, seid: u64, teids: &[(PdrId, u32)]) {
        for (pdr, teid) in teids {
            let before = self.used.insert(*teid, Use::Session { reference, seid });
            if let Some(Use::Session { seid: former, .. }) = before
                && former != seid
            {
                self.forget(former, *teid);
            }
            let of_session = self.of_sessions.entry(seid).or_default();
            if !of_session.contains(&(pdr.0, *teid)) {
                of_session.push((pdr.0, *teid));
            }
        }
    }

    fn forget(&mut self, seid: u64, teid: u32) {
        if let Some(of_session) = self.of_sessions.get_mut(&seid) {
            of_session.retain(|(_, known)| *known != teid);
            if of_session.is_empty() {
                self.of_sessions.remove(&seid);
            }
        }
    }

    /// The UPF has established a session. Another one that had its identifier is lost.
    fn established(&mut self, reference: u64, seid: u64, teids: &[(PdrId, u32)]) {
        self.abandoned(seid);
        self.keep(reference, seid, teids);
    }

    /// This SMF no longer has a session, which the UPF may still have.
    fn abandoned(&mut self, seid: u64) {
        for (_, teid) in self.of_sessions.remove(&seid).unwrap_or_default() {
            if matches!(self.used.get(&teid), Some(Use::Session { seid: of, .. }) if *of == seid) {
                self.hold(teid);
            }
        }
    }

    /// The UPF has changed a session.
    fn modified(&mut self, seid: u64, teids: &[(PdrId, u32)], removed: &[PdrId]) {
        let reference = self.of_sessions.get(&seid).into_iter().flatten().find_map(|(_, teid)| {
            match self.used.get(teid) {
                Some(Use::Session { reference, .. }) => Some(*reference),
                _ => None,
            }
        });
        if let Some(of_session) = self.of_sessions.get_mut(&seid) {
            let is_removed = |pdr: u16| removed.contains(&PdrId(pdr));
            let gone: Vec<u32> =
                of_session.iter().filter(|(pdr, _)| is_removed(*pdr)).map(|(_, t)| *t).collect();
            of_session.retain(|(pdr, _)| !is_removed(*pdr));
            for teid in gone {
                let is_its = matches!(
                    self.used.get(&teid),
                    Some(Use::Session { seid: of, .. }) if *of == seid
                );
                if is_its && of_session.iter().all(|(_, other)| *other != teid) {
                    self.used.remove(&teid);
                }
            }
        }
        self.keep(reference.unwrap_or_default(), seid, teids);
    }

    /// The UPF has deleted a session.
    fn deleted(&mut self, seid: u64) {
        for (_, teid) in self.of_sessions.remove(&seid).unwrap_or_default() {
            if matches!(self.used.get(&teid), Some(Use::Session { seid: of, .. }) if *of == seid) {
                self.used.remove(&teid);
            }
        }
    }

    /// Sessions with these references have ended at another member of the SMF set.
    fn ended(&mut self, references: &HashSet<u64>) {
        let of_ended = self.used.iter().filter_map(|(teid, of)| match of {
            Use::Session { reference, seid } if references.contains(reference) => {
                Some((*seid, *teid))
            }
            _ => None,
        });
        let of_ended: Vec<(u64, u32)> = of_ended.collect();
        for (seid, teid) in of_ended {
            self.forget(seid, teid);
            self.hold(teid);
        }
    }

    /// The UPF has lost its sessions, and each may be restored with its TEID.
    fn lost(&mut self) {
        self.of_sessions.clear();
        let of_session = |of: &Use| matches!(of, Use::Session { .. });
        let used = self.used.iter().filter(|(_, of)| of_session(of));
        let teids: Vec<u32> = used.map(|(teid, _)| *teid).collect();
        teids.into_iter().for_each(|teid| self.hold(teid));
    }
}

/// A TEID of a UPF's range, which has the given leading bits, and within it of an SMF's.
fn teid_within(random: u32, member: Option<u8>, (bits, range): (u8, u8)) -> u32 {
    let bits = u32::from(bits.min(7));
    let with = |teid: u32, after: u32, length: u32, value: u8| {
        let mask = (u32::MAX >> (32 - length)) << (32 - after - length);
        teid & !mask | (u32::from(value) << (32 - after - length)) & mask
    };
    let teid = if bits > 0 { with(random, 0, bits, range) } else { random };
    member.map_or(teid, |member| with(teid, bits, MEMBER_BITS.into(), member))
}

/// What a request changes.
enum Change {
    Establishment { reference: u64 },
    Modification { seid: u64, removed: Vec<PdrId> },
    Deletion { seid: u64 },
}

/// The F-TEIDs of a request, until its response.
pub(super) struct Allocation<'a> {
    n4: &'a N4,
    upf: SocketAddr,
    change: Change,
    /// Those that were allocated here.
    chosen: Vec<(PdrId, FTeid)>,
    /// All of them.
    teids: Vec<(PdrId, u32)>,
}

impl Allocation<'_> {
    /// Gives each PDR of a request its F-TEID.
    fn fill<'p>(
        &mut self,
        pdrs: impl Iterator<Item = (PdrId, &'p mut Pdi)>,
    ) -> Result<(), N4Error> {
        const NOT_POSSIBLE: N4Error = N4Error::Rejected(Cause::INVALID_FTEID_ALLOCATION_OPTION.0);
        let n4 = self.n4;
        let member = n4.member;
        let mut tables = n4.fteids();
        let upf = tables.entry(self.upf).or_default();
        // One for each CHOOSE ID of the request (8.2.3).
        let mut by_id: HashMap<u8, (u32, FTeid)> = HashMap::new();
        for (pdr_id, pdi) in pdrs {
            match pdi.local_fteid {
                None => {}
                Some(FTeid::Given { teid, ipv4, ipv6 }) => {
                    let Change::Establishment { reference } = self.change else { continue };
                    if self.teids.iter().all(|(_, other)| *other != teid) {
                        let own = ipv4.map(IpAddr::V4).or(ipv6.map(IpAddr::V6));
                        // The UPF has another address now, or the TEID another session.
                        if !own.is_some_and(|ip| upf.has(ip)) || !upf.claim(reference, teid) {
                            return Err(NOT_POSSIBLE);
                        }
                    }
                    self.teids.push((pdr_id, teid));
                }
                Some(FTeid::Choose { ipv4, ipv6, choose_id }) => {
                    let known = choose_id.and_then(|id| by_id.get(&id).copied());
                    let (teid, fteid) = match known {
                        Some(known) => known,
                        None => {
                            let resource = upf.resource(pdi, ipv4, ipv6).ok_or(NOT_POSSIBLE)?;
                            let (v4, v6) = (resource.ipv4, resource.ipv6);
                            let range = (resource.teid_bits, resource.teid_range);
                            let teid = upf
                                .draw(member, range)
                                .ok_or(N4Error::Rejected(Cause::NO_RESOURCES_AVAILABLE.0))?;
                            let (ipv4, ipv6) = (v4.filter(|_| ipv4), v6.filter(|_| ipv6));
                            (teid, FTeid::Given { teid, ipv4, ipv6 })
                        }
                    };
                    by_id.extend(choose_id.map(|id| (id, (teid, fteid))));
                    pdi.local_fteid = Some(fteid);
                    self.chosen.push((pdr_id, fteid));
                    self.teids.push((pdr_id, teid));
                }
            }
        }
        Ok(())
    }

    /// The response has arrived, or will not. It gets the F-TEIDs.
    pub fn answered(mut self, answer: &mut Result<Message, N4Error>) {
        let n4 = self.n4;
        let mut tables = n4.fteids();
        let upf = tables.entry(self.upf).or_default();
        let teids = &self.teids;
        match (&self.change, answer) {
            (
                Change::Establishment { reference },
                Ok(Message::SessionEstablishmentResponse(response)),
            ) if response.cause.is_accepted() => {
                complete(&mut response.created_pdrs, &self.chosen);
                let Some(fseid) = response.up_fseid else { return };
                upf.established(*reference, fseid.seid, teids);
            }
            (
                Change::Modification { seid, removed },
                Ok(Message::SessionModificationResponse(response)),
            ) if response.cause.is_accepted() => {
                complete(&mut response.created_pdrs, &self.chosen);
                upf.modified(*seid, teids, removed);
            }
            // The UPF may have changed it. The response is unexpected if it has no cause.
            (
                Change::Modification { seid, .. },
                Err(N4Error::Timeout(_) | N4Error::Unexpected(_)),
            ) => {
                upf.modified(*seid, teids, &[]);
            }
            (Change::Deletion { seid }, answer) => {
                let cause = match answer {
                    Ok(Message::SessionDeletionResponse(response)) => Some(response.cause),
                    Err(N4Error::Rejected(cause)) => Some(Cause(*cause)),
                    Ok(_) => None,
                    // It is requested again.
                    Err(_) => return,
                };
                let is_deleted =
                    |cause: Cause| cause.is_accepted() || cause == Cause::SESSION_CONTEXT_NOT_FOUND;
                match cause.is_some_and(is_deleted) {
                    true => upf.deleted(*seid),
                    false => upf.abandoned(*seid),
                }
            }
            _ => return,
        }
        drop(tables);
        self.teids.clear();
    }
}

impl Drop for Allocation<'_> {
    /// Without an answer, or with a rejection, the UPF may have the TEIDs or not.
    fn drop(&mut self) {
        if self.teids.is_empty() {
            return;
        }
        let mut tables = self.n4.fteids();
        let upf = tables.entry(self.upf).or_default();
        for (_, teid) in &self.teids {
            if upf.used.get(teid) == Some(&Use::Requested) {
                upf.hold(*teid);
            }
        }
    }
}

/// A response gets the F-TEIDs that it lacks.
fn complete(created: &mut Vec<CreatedPdr>, chosen: &[(PdrId, FTeid)]) {
    for (pdr_id, fteid) in chosen {
        match created.iter_mut().find(|created| created.pdr_id == *pdr_id) {
            Some(created) if matches!(created.local_fteid, Some(FTeid::Given { .. })) => {}
            Some(created) => created.local_fteid = Some(*fteid),
            None => created.push(CreatedPdr {
                pdr_id: *pdr_id,
                local_fteid: Some(*fteid),
                ue_ip_addresses: vec![],
            }),
        }
    }
}

/// Outer header removal of GTP-U over IPv4, and over IPv6 (8.2.64).
const GTPU_IPV4: u8 = 0;
const GTPU_IPV6: u8 = 1;

/// Names the IP version of the outer headers to remove: that of the F-TEID.
fn name_outer_headers(message: &mut Message) {
    let name = |pdi: &Pdi, removal: &mut Option<OuterHeaderRemoval>| {
        let is_ipv6 = matches!(pdi.local_fteid, Some(FTeid::Given { ipv4: None, .. }));
        if let Some(removal) = removal.as_mut().filter(|it| it.description == GTPU_IPV4)
            && is_ipv6
        {
            removal.description = GTPU_IPV6;
        }
    };
    let created = match message {
        Message::SessionEstablishmentRequest(request) => &mut request.create_pdrs,
        Message::SessionModificationRequest(request) => {
            for pdr in &mut request.update_pdrs {
                if let Some(pdi) = &pdr.pdi {
                    name(pdi, &mut pdr.outer_header_removal);
                }
            }
            &mut request.create_pdrs
        }
        _ => return,
    };
    created.iter_mut().for_each(|pdr| name(&pdr.pdi, &mut pdr.outer_header_removal));
}

/// From where the SMF allocates F-TEIDs of a UPF that has sent this response: from what the UPF
/// says, else from the configuration. Nowhere if the UPF allocates them.
fn resources(config: &UpfConfig, response: &AssociationSetupResponse) -> Vec<UserPlaneIpResource> {
    let features = response.up_features.unwrap_or_default();
    if features.has(UpFunctionFeatures::FTUP) && !config.allocate_fteids {
        return Vec::new();
    }
    let has_address =
        |resource: &&UserPlaneIpResource| resource.ipv4.is_some() || resource.ipv6.is_some();
    let announced: Vec<_> = response.ip_resources.iter().filter(has_address).cloned().collect();
    if !announced.is_empty() {
        return announced;
    }
    let configured = config.n3_address.map(|address| match address {
        IpAddr::V4(ip) => UserPlaneIpResource { ipv4: Some(ip), ..Default::default() },
        IpAddr::V6(ip) => UserPlaneIpResource { ipv6: Some(ip), ..Default::default() },
    });
    configured.into_iter().collect()
}

impl N4 {
    fn fteids(&self) -> MutexGuard<'_, HashMap<SocketAddr, UpfTeids>> {
        self.fteids.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A UPF has accepted the association, and has lost its sessions or not.
    pub(super) fn set_fteid_resources(
        &self,
        config: &UpfConfig,
        response: &AssociationSetupResponse,
        lost: bool,
    ) {
        let upf = config.n4;
        let resources = resources(config, response);
        let features = response.up_features.unwrap_or_default();
        let is_due = !features.has(UpFunctionFeatures::FTUP) || config.allocate_fteids;
        let address = |resource: &UserPlaneIpResource| {
            resource.ipv4.map(IpAddr::V4).or(resource.ipv6.map(IpAddr::V6))
        };
        if let Some(address) = resources.iter().find_map(address) {
            tracing::info!(%upf, %address, "SMF allocates the F-TEIDs of the UPF");
        } else if is_due && let Some(suppressed) = martlet_log_limit::line("upf_ftup", upf) {
            tracing::error!(
                %upf, suppressed,
                "UPF does not allocate F-TEIDs (FTUP) and does not say its address: set \
                 smf.upfs[].n3_address, or sessions fail there"
            );
        }
        let mut tables = self.fteids();
        let teids = tables.entry(upf).or_default();
        if resources.is_empty() {
            *teids = UpfTeids { is_known: true, ..UpfTeids::default() };
            return;
        }
        (teids.resources, teids.is_known) = (resources, true);
        if lost {
            teids.lost();
        }
    }

    /// Gives the PDRs of a request F-TEIDs in place of CHOOSE. `None` if the UPF allocates them, or
    /// the request is about no session.
    ///
    /// # Errors
    /// As if the UPF had rejected the F-TEIDs.
    pub(super) fn allocate_fteids(
        &self,
        upf: SocketAddr,
        seid: Option<u64>,
        message: &mut Message,
    ) -> Result<Option<Box<Allocation<'_>>>, N4Error> {
        if self.fteids().get(&upf).is_none_or(|teids| teids.resources.is_empty()) {
            return Ok(None);
        }
        let seid = seid.unwrap_or_default();
        let (change, pdrs) = match message {
            Message::SessionEstablishmentRequest(request) => {
                let reference = request.cp_fseid.seid & !SECOND_SEID;
                (Change::Establishment { reference }, request.create_pdrs.as_mut_slice())
            }
            Message::SessionModificationRequest(request) => {
                let removed = request.remove_pdrs.iter().map(|pdr| pdr.pdr_id).collect();
                (Change::Modification { seid, removed }, request.create_pdrs.as_mut_slice())
            }
            Message::SessionDeletionRequest(_) => (Change::Deletion { seid }, Default::default()),
            _ => return Ok(None),
        };
        // Boxed, so that the future of a request stays small.
        let allocation = Allocation { n4: self, upf, change, chosen: vec![], teids: vec![] };
        let mut allocation = Box::new(allocation);
        allocation.fill(pdrs.iter_mut().map(|pdr| (pdr.pdr_id, &mut pdr.pdi)))?;
        name_outer_headers(message);
        Ok(Some(allocation))
    }

    /// The TEIDs that the SMF allocated for an N4 session, if any.
    pub fn allocated_teids(&self, upf: SocketAddr, seid: u64) -> Option<SessionTeids> {
        let tables = self.fteids();
        let teids = tables.get(&upf)?.of_sessions.get(&seid)?;
        (!teids.is_empty()).then(|| (upf, seid, teids.clone()))
    }

    /// An N4 session is not deleted: the UPF may keep it.
    pub(super) fn session_abandoned(&self, upf: SocketAddr, seid: u64) {
        if let Some(of_upf) = self.fteids().get_mut(&upf) {
            of_upf.abandoned(seid);
        }
    }

    /// Sessions of which this SMF may know TEIDs have ended at another member of the set, which has
    /// requested their deletion.
    pub fn sessions_ended(&self, references: &[u64]) {
        if references.is_empty() {
            return;
        }
        let references: HashSet<u64> = references.iter().copied().collect();
        self.fteids().values_mut().for_each(|of_upf| of_upf.ended(&references));
    }

    /// An N4 session of a former process, or of another member of the set, has these TEIDs.
    pub fn restore_teids(&self, reference: u64, (upf, seid, teids): &SessionTeids) {
        let mut tables = self.fteids();
        let of_upf = tables.entry(*upf).or_default();
        if !of_upf.is_known || !of_upf.resources.is_empty() {
            let teids: Vec<_> = teids.iter().map(|(pdr, teid)| (PdrId(*pdr), *teid)).collect();
            of_upf.keep(reference, *seid, &teids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addresses::Addresses;
    use crate::config::SmfConfig;
    use crate::n4::{
        Downlink, RuleParameters, SessionTraffic, access_rules, access_tunnels, deletion,
        establishment, forward, forwarding_tunnel, stop_forwarding,
    };
    use crate::user_plane_path::Tunnel;
    use martlet_pfcp::ie::{FSeid, NodeId, RecoveryTimeStamp};
    use martlet_pfcp::{
        SessionDeletionResponse, SessionEstablishmentRequest, SessionEstablishmentResponse,
        SessionModificationResponse,
    };
    use martlet_sbi_api::common::PduSessionType;
    use std::net::Ipv4Addr;

    const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 8);
    const N9: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

    fn upf() -> UpfConfig {
        UpfConfig {
            n3_address: Some(N3.into()),
            ..UpfConfig::at(SocketAddr::from(([127, 0, 0, 8], 8805)))
        }
    }

    fn association(features: UpFunctionFeatures) -> AssociationSetupResponse {
        AssociationSetupResponse {
            node_id: NodeId::Ip(N3.into()),
            cause: Cause::ACCEPTED,
            recovery: RecoveryTimeStamp(1),
            up_features: Some(features),
            cp_features: None,
            ip_resources: vec![],
            flags: None,
        }
    }

    /// The SMF, associated with a UPF that does not allocate F-TEIDs.
    async fn smf() -> N4 {
        let mut config = SmfConfig { upfs: vec![upf()], ..SmfConfig::default() };
        (config.n4.bind, config.n4.port) = (Ipv4Addr::LOCALHOST.into(), 0);
        let n4 = N4::open(&config, None, false).await.unwrap();
        n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::EMPU), false);
        n4
    }

    fn parameters(cp_seid: u64, restored: Option<Tunnel>) -> RuleParameters<'static> {
        RuleParameters {
            node: NodeId::Ip(N3.into()),
            cp_address: N3.into(),
            cp_seid,
            traffic: SessionTraffic {
                kind: &PduSessionType::Ipv4,
                ue: Addresses { ipv4: Some([10, 45, 0, 2].into()), prefix: None },
                dnn: "internet",
                framed_routes: &[],
            },
            unstructured_server: None,
            qfi: 1,
            uplink: 1000,
            downlink: 1000,
            flows: &[],
            quota: None,
            groups: vec![],
            restored,
            inactivity_s: None,
            downlink_action: Downlink::Buffer,
        }
    }

    fn pdrs_of(message: &Message) -> Vec<FTeid> {
        let pdrs = match message {
            Message::SessionEstablishmentRequest(request) => &request.create_pdrs,
            Message::SessionModificationRequest(request) => &request.create_pdrs,
            other => panic!("{other:?}"),
        };
        pdrs.iter().filter_map(|pdr| pdr.pdi.local_fteid).collect()
    }

    /// The UPF establishes the session with this identifier, without any F-TEID in its response.
    fn established(n4: &N4, request: SessionEstablishmentRequest, seid: u64) -> Vec<CreatedPdr> {
        let mut message = Message::from(request);
        let allocation = n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().unwrap();
        assert!(pdrs_of(&message).iter().all(|fteid| matches!(fteid, FTeid::Given { .. })));
        let mut answer = Ok(Message::from(SessionEstablishmentResponse {
            node_id: NodeId::Ip(N3.into()),
            cause: Cause::ACCEPTED,
            offending_ie: None,
            up_fseid: Some(FSeid::new(seid, N3.into())),
            created_pdrs: vec![],
            load: None,
            overload: None,
            failed_rule: None,
            created_traffic_endpoints: vec![],
        }));
        allocation.answered(&mut answer);
        let Ok(Message::SessionEstablishmentResponse(response)) = answer else { panic!() };
        response.created_pdrs
    }

    fn modified(n4: &N4, request: impl Into<Message>, seid: u64) -> Vec<CreatedPdr> {
        let mut message = request.into();
        let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message).unwrap().unwrap();
        let mut answer = Ok(Message::from(SessionModificationResponse {
            cause: Cause::ACCEPTED,
            offending_ie: None,
            created_pdrs: vec![],
            load: None,
            overload: None,
            usage_reports: vec![],
            failed_rule: None,
            created_traffic_endpoints: vec![],
        }));
        allocation.answered(&mut answer);
        let Ok(Message::SessionModificationResponse(response)) = answer else { panic!() };
        response.created_pdrs
    }

    fn deleted(n4: &N4, seid: u64) {
        let mut message = Message::from(deletion());
        let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message).unwrap().unwrap();
        let response = SessionDeletionResponse {
            cause: Cause::ACCEPTED,
            offending_ie: None,
            load: None,
            overload: None,
            usage_reports: vec![],
        };
        allocation.answered(&mut Ok(response.into()));
    }

    fn teid(created: &[CreatedPdr]) -> u32 {
        match created[0].local_fteid {
            Some(FTeid::Given { teid, ipv4: Some(ip), ipv6: None }) if ip == N3 => teid,
            other => panic!("{other:?}"),
        }
    }

    /// The TEIDs that are in use, or may be.
    fn used(n4: &N4) -> usize {
        n4.fteids().get(&upf().n4).map_or(0, |upf| upf.used.len())
    }

    #[test]
    fn a_teid_is_within_the_range_of_the_upf_and_of_the_member_of_the_set() {
        for random in [0, u32::MAX, 0x1234_5678] {
            assert_eq!(teid_within(random, None, (0, 0)), random);
            assert_eq!(teid_within(random, None, (4, 9)) >> 28, 9);
            assert_eq!(teid_within(random, Some(5), (0, 0)) >> 25, 5);
            let both = teid_within(random, Some(127), (7, 3));
            assert_eq!((both >> 25, (both >> 18) & 0x7f), (3, 127));
            assert_eq!(both & 0x3_ffff, random & 0x3_ffff);
        }
    }

    #[test]
    fn the_smf_allocates_where_the_upf_does_not() {
        let (ftup, without) = (UpFunctionFeatures::FTUP, UpFunctionFeatures::default());
        assert_eq!(resources(&upf(), &association(ftup)), []);
        let configured = UserPlaneIpResource { ipv4: Some(N3), ..Default::default() };
        assert_eq!(resources(&upf(), &association(without)), std::slice::from_ref(&configured));
        let forced = UpfConfig { allocate_fteids: true, ..upf() };
        assert_eq!(resources(&forced, &association(ftup)), [configured]);
        assert_eq!(resources(&UpfConfig::at(upf().n4), &association(without)), []);
        // What the UPF says counts.
        let own = UserPlaneIpResource { ipv4: Some(N9), ..Default::default() };
        let announced = AssociationSetupResponse {
            ip_resources: vec![UserPlaneIpResource::default(), own.clone()],
            ..association(without)
        };
        assert_eq!(resources(&upf(), &announced), [own]);
    }

    #[tokio::test]
    async fn f_teids_are_unique_and_free_with_the_end_of_their_session() {
        let n4 = smf().await;
        let sessions: Vec<u32> = (1..=100)
            .map(|n| teid(&established(&n4, establishment(&parameters(n, None)), n)))
            .collect();
        let mut unique = sessions.clone();
        unique.sort_unstable();
        unique.dedup();
        assert!(unique.len() == 100 && !unique.contains(&0) && used(&n4) == 100);
        // A tunnel for indirect forwarding has one of its own.
        let created = modified(&n4, forward(7, N9.into()), 5);
        let (forwarding, address) = forwarding_tunnel(&created).unwrap();
        assert!(!sessions.contains(&forwarding) && address == N3 && used(&n4) == 101);
        let stored = n4.allocated_teids(upf().n4, 5).unwrap();
        assert_eq!(stored.2.len(), 2);
        assert_eq!(modified(&n4, stop_forwarding(), 5), []);
        assert_eq!(n4.allocated_teids(upf().n4, 5), Some((upf().n4, 5, vec![(1, sessions[4])])));
        (1..=100).for_each(|seid| deleted(&n4, seid));
        assert_eq!((used(&n4), n4.allocated_teids(upf().n4, 5)), (0, None));
    }

    #[tokio::test]
    async fn n3_and_n9_have_f_teids_of_their_own_at_the_address_of_their_interface() {
        let n4 = smf().await;
        let of = |ip, interface| UserPlaneIpResource {
            ipv4: Some(ip),
            source_interface: Some(interface),
            ..Default::default()
        };
        let announced = AssociationSetupResponse {
            ip_resources: vec![of(N9, Interface::Core), of(N3, Interface::Access)],
            ..association(UpFunctionFeatures::default())
        };
        n4.set_fteid_resources(&upf(), &announced, false);
        let local = ["permit out ip from 10.98.0.0/16 to assigned".to_string()];
        let request = access_rules(&parameters(1, None), (9, N9.into()), &local);
        let created = established(&n4, request, 1);
        let ((n3, address, _), n9) = access_tunnels(&created).unwrap();
        assert_eq!((address, n9.1), (N3.into(), N9.into()));
        // The PDRs of the gNB's packets share a CHOOSE ID.
        assert!(n3 != n9.0 && used(&n4) == 2 && created.len() == 3);
    }

    #[tokio::test]
    async fn the_outer_header_to_remove_has_the_ip_version_of_the_f_teid() {
        let n4 = smf().await;
        for (address, description) in [(IpAddr::V4(N3), 0), ("2001:db8::8".parse().unwrap(), 1)] {
            let upf = UpfConfig { n3_address: Some(address), ..upf() };
            n4.set_fteid_resources(&upf, &association(UpFunctionFeatures::default()), true);
            let mut message = establishment(&parameters(1, None)).into();
            let allocation = n4.allocate_fteids(upf.n4, Some(0), &mut message).unwrap();
            assert!(allocation.is_some());
            let Message::SessionEstablishmentRequest(request) = message else { panic!() };
            let removals = request.create_pdrs.iter().map(|pdr| pdr.outer_header_removal);
            let uplink = Some(OuterHeaderRemoval { description });
            assert_eq!(removals.collect::<Vec<_>>(), [uplink, None]);
        }
    }

    #[tokio::test]
    async fn f_teids_are_restored_with_their_sessions() {
        let n4 = smf().await;
        let at = upf().n4;
        let first = teid(&established(&n4, establishment(&parameters(1, None)), 11));
        let second = teid(&established(&n4, establishment(&parameters(2, None)), 12));
        let stored = [11, 12].map(|seid| n4.allocated_teids(at, seid).unwrap());
        // Another process.
        let n4 = smf().await;
        n4.restore_teids(1, &stored[0]);
        n4.restore_teids(2, &stored[1]);
        // The UPF has lost its sessions. One is restored with the identifier that the other had.
        n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::EMPU), true);
        assert_eq!((used(&n4), n4.allocated_teids(at, 11)), (2, None));
        let restored = |n4: &N4, reference, teid, seid| {
            let request = establishment(&parameters(reference, Some((teid, N3.into()))));
            established(n4, request, seid);
        };
        restored(&n4, 1, first, 12);
        restored(&n4, 2, second, 13);
        let teids = |seid| n4.allocated_teids(at, seid).unwrap().2;
        assert_eq!((teids(12), teids(13)), (vec![(1, first)], vec![(1, second)]));
        // A UPF that has lost one session alone gets it again.
        restored(&n4, 2, second, 14);
        assert_eq!((teids(14), n4.allocated_teids(at, 13)), (vec![(1, second)], None));
        // No other session gets the TEID, and none an address that the UPF no longer has.
        for (reference, tunnel) in [(3, (first, N3)), (1, (first, N9))] {
            let tunnel = (tunnel.0, IpAddr::from(tunnel.1));
            let mut request = establishment(&parameters(reference, Some(tunnel))).into();
            let refused = n4.allocate_fteids(at, Some(0), &mut request).err();
            let cause = Cause::INVALID_FTEID_ALLOCATION_OPTION.0;
            assert!(matches!(refused, Some(N4Error::Rejected(of)) if of == cause));
        }
        deleted(&n4, 12);
        deleted(&n4, 14);
        assert_eq!(used(&n4), 0);
    }

    #[tokio::test]
    async fn a_teid_is_held_while_the_upf_may_have_it() {
        let n4 = smf().await;
        let mut message = establishment(&parameters(1, None)).into();
        let allocation = n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().unwrap();
        allocation.answered(&mut Err(N4Error::Timeout(upf().n4)));
        assert_eq!(used(&n4), 1);
        let held = n4.fteids().get(&upf().n4).and_then(|upf| upf.used.values().next().copied());
        assert!(matches!(held, Some(Use::Held(_))), "{held:?}");
        // A UPF that allocates gets what the rules ask for.
        n4.set_fteid_resources(&upf(), &association(UpFunctionFeatures::FTUP), true);
        let mut message = establishment(&parameters(1, None)).into();
        assert!(n4.allocate_fteids(upf().n4, Some(0), &mut message).unwrap().is_none());
        assert!(matches!(pdrs_of(&message)[..], [FTeid::Choose { .. }]) && used(&n4) == 0);
    }

    #[tokio::test]
    async fn the_teids_of_a_session_that_is_not_deleted_are_held() {
        let n4 = smf().await;
        (1..=4).for_each(|n| drop(established(&n4, establishment(&parameters(n, None)), n)));
        let answered = |seid, answer: Result<Message, N4Error>| {
            let mut message = Message::from(deletion());
            let allocation = n4.allocate_fteids(upf().n4, Some(seid), &mut message);
            allocation.unwrap().unwrap().answered(&mut { answer });
        };
        let is_held = |of: &&Use| matches!(of, Use::Held(_));
        let held = || n4.fteids()[&upf().n4].used.values().filter(is_held).count();
        // The deletion is requested again after a timeout, and not after a rejection.
        answered(1, Err(N4Error::Timeout(upf().n4)));
        assert_eq!((used(&n4), held()), (4, 0));
        answered(1, Err(N4Error::Rejected(Cause::SYSTEM_FAILURE.0)));
        let response = SessionDeletionResponse {
            cause: Cause::SYSTEM_FAILURE,
            offending_ie: None,
            load: None,
            overload: None,
            usage_reports: vec![],
        };
        answered(2, Ok(response.into()));
        assert_eq!((used(&n4), held()), (4, 2));
        // The UPF does not know the session.
        answered(3, Err(N4Error::Rejected(Cause::SESSION_CONTEXT_NOT_FOUND.0)));
        assert_eq!((used(&n4), held()), (3, 2));
        // Another member of the set had the last one.
        n4.sessions_ended(&[4, 5]);
        assert_eq!((used(&n4), held()), (3, 3));
        assert!((1..=4).all(|seid| n4.allocated_teids(upf().n4, seid).is_none()));
    }

    #[tokio::test]
    async fn a_session_has_the_teids_of_a_change_with_a_malformed_response() {
        let n4 = smf().await;
        established(&n4, establishment(&parameters(1, None)), 5);
        let mut message = forward(7, N9.into()).into();
        let allocation = n4.allocate_fteids(upf().n4, Some(5), &mut message).unwrap().unwrap();
        allocation.answered(&mut Err(N4Error::Unexpected("a malformed response")));
        assert_eq!(n4.allocated_teids(upf().n4, 5).unwrap().2.len(), 2);
        deleted(&n4, 5);
        assert_eq!(used(&n4), 0);
    }
}
