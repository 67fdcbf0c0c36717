//! The F-TEIDs of one request: allocated before it is sent, and in use or held after its response.
use super::table::Use;
use crate::n4::{N4, N4Error};
use crate::user_plane_path::SECOND_SEID;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{Cause, CreatedPdr, FTeid, OuterHeaderRemoval, Pdi, PdrId};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// What a request changes.
enum Change {
    Establishment { reference: u64 },
    Modification { seid: u64, removed: Vec<PdrId> },
    Deletion { seid: u64 },
}

/// The F-TEIDs of a request, until its response.
pub(in crate::n4) struct Allocation<'a> {
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

impl N4 {
    /// Gives the PDRs of a request F-TEIDs in place of CHOOSE. `None` if the UPF allocates them, or
    /// the request is about no session.
    ///
    /// # Errors
    /// As if the UPF had rejected the F-TEIDs.
    pub(in crate::n4) fn allocate_fteids(
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
}
