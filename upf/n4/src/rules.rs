//! Rules of a request put into a session (TS 29.244, 7.5.2 and 7.5.4).
use super::by_peer::cp_address;
use super::settings::Settings;
use super::teid::Choice;
use martlet_interop::{N4Quirk, Quirk};
use martlet_pfcp::ie::*;
use martlet_pfcp::{IeValue, SessionEstablishmentRequest, SessionModificationRequest};
use martlet_upf_rules::{
    Bar, Far, LocalTunnel, Pdr, PredefinedRule, Qer, RuleError, Session, Tunnel, Urr, shared,
};
use std::sync::Arc;

/// New rules, as both requests have them.
pub(super) struct Creation<'a> {
    pub pdrs: &'a [CreatePdr],
    pub fars: &'a [CreateFar],
    pub urrs: &'a [CreateUrr],
    pub qers: &'a [CreateQer],
    pub bar: Option<&'a CreateBar>,
    pub endpoints: &'a [CreateTrafficEndpoint],
}

impl<'a> From<&'a SessionEstablishmentRequest> for Creation<'a> {
    fn from(r: &'a SessionEstablishmentRequest) -> Self {
        let bar = r.create_bar.as_ref();
        Creation {
            pdrs: &r.create_pdrs,
            fars: &r.create_fars,
            urrs: &r.create_urrs,
            qers: &r.create_qers,
            bar,
            endpoints: &r.create_traffic_endpoints,
        }
    }
}

impl<'a> From<&'a SessionModificationRequest> for Creation<'a> {
    fn from(r: &'a SessionModificationRequest) -> Self {
        let bar = r.create_bar.as_ref();
        Creation {
            pdrs: &r.create_pdrs,
            fars: &r.create_fars,
            urrs: &r.create_urrs,
            qers: &r.create_qers,
            bar,
            endpoints: &r.create_traffic_endpoints,
        }
    }
}

/// Adds new rules; returns the PDRs and endpoints for which a TEID or UE address was allocated.
pub(super) fn create(
    session: &mut Session,
    new: &Creation<'_>,
    choice: &mut Choice<'_>,
) -> Result<Created, RuleError> {
    let mut created = Created::default();
    for ie in new.endpoints {
        let (endpoint, created_endpoint) = choice.endpoint(ie)?;
        if session.endpoints.insert(endpoint.id, endpoint).is_some() {
            let why = format!("traffic endpoint {} exists already", ie.id.0);
            return Err(endpoint_error(why));
        }
        created.endpoints.extend(created_endpoint);
    }
    for ie in new.fars {
        let mut far = Far::create(ie)?;
        follow_policy(&mut far, choice.settings())?;
        add(session.fars.insert(ie.far_id.0, far), FailedRuleId::Far(ie.far_id.0))?;
    }
    for ie in new.urrs {
        add(session.urrs.insert(ie.urr_id.0, Urr::create(ie)?), FailedRuleId::Urr(ie.urr_id.0))?;
    }
    for ie in new.qers {
        check_qfi(session, ie.qer_id, ie.qfi, choice.settings())?;
        add(session.qers.insert(ie.qer_id.0, Qer::from(ie)), FailedRuleId::Qer(ie.qer_id.0))?;
    }
    if let Some(ie) = new.bar {
        add(session.bars.insert(ie.bar_id.0, Bar::from(ie)), FailedRuleId::Bar(ie.bar_id.0))?;
    }
    for ie in new.pdrs {
        let whole;
        let ie = match completed(session, ie.pdr_id, &ie.pdi)? {
            Some(pdi) => {
                whole = CreatePdr { pdi, ..ie.clone() };
                &whole
            }
            None => ie,
        };
        let uplink = uplink_tunnel(session, ie);
        let (mut found, created_pdr) = choice.find(ie.pdr_id, Some(&ie.pdi), uplink)?;
        created.pdrs.extend(created_pdr);
        found.predefined = predefined(choice.settings(), ie.pdr_id, &ie.activate_predefined_rules)?;
        let pdr = Pdr::create(ie, found)?;
        add(session.pdrs.insert(pdr.id, pdr), FailedRuleId::Pdr(ie.pdr_id.0))?;
    }
    Ok(created)
}

/// The tunnel in which a session's packets for the data network arrive, if a new PDR is for such
/// packets, too. `None` if the session has several.
fn uplink_tunnel(session: &Session, new: &CreatePdr) -> Option<LocalTunnel> {
    let leaves = |far: u32| {
        let destination = session.fars.get(&far).and_then(|far| far.destination);
        matches!(destination, Some(Interface::Core | Interface::SgiLan))
    };
    let source = new.pdi.source_interface.0;
    new.far_id.filter(|far| source == Interface::Access && leaves(far.0))?;
    let of_uplink = session.pdrs.values().filter(|pdr| pdr.source == source && leaves(pdr.far));
    let mut tunnels = of_uplink.filter_map(|pdr| pdr.local);
    let first = tunnels.next()?;
    tunnels.all(|other| other == first).then_some(first)
}

fn add<V>(before: Option<V>, failed: FailedRuleId) -> Result<(), RuleError> {
    match before {
        None => Ok(()),
        Some(_) => Err(RuleError::failure(failed, format!("{failed:?} exists already"))),
    }
}

fn missing(failed: FailedRuleId) -> RuleError {
    RuleError::failure(failed, format!("{failed:?} does not exist"))
}

/// What was allocated for new rules.
#[derive(Default)]
pub(super) struct Created {
    pub pdrs: Vec<CreatedPdr>,
    pub endpoints: Vec<CreatedTrafficEndpoint>,
}

fn endpoint_error(why: String) -> RuleError {
    let offending = Some(TrafficEndpointId::TYPE);
    RuleError { offending, ..RuleError::other(Cause::RULE_CREATION_FAILURE, why) }
}

/// The detection information of a PDR with the elements of its traffic endpoints; `None` if it
/// names none.
fn completed(session: &Session, pdr: PdrId, pdi: &Pdi) -> Result<Option<Pdi>, RuleError> {
    let mut whole: Option<Pdi> = None;
    for id in &pdi.traffic_endpoints {
        let endpoint = session.endpoints.get(&id.0).ok_or_else(|| {
            let why = format!("PDR {} names traffic endpoint {}, which is not there", pdr.0, id.0);
            RuleError::incorrect::<TrafficEndpointId>(FailedRuleId::Pdr(pdr.0), why)
        })?;
        whole = Some(endpoint.complete(whole.as_ref().unwrap_or(pdi)));
    }
    Ok(whole)
}

/// The predefined rules of these names.
fn predefined(
    settings: &Settings,
    pdr: PdrId,
    names: &[ActivatePredefinedRules],
) -> Result<Vec<Arc<PredefinedRule>>, RuleError> {
    let find = |name: &ActivatePredefinedRules| {
        let known = settings.predefined_rules.iter().find(|r| r.name.as_bytes() == name.0);
        known.cloned().ok_or_else(|| {
            let why = format!(
                "PDR {} activates {}, which is not in upf.predefined_rules",
                pdr.0,
                name.text()
            );
            RuleError::incorrect::<ActivatePredefinedRules>(FailedRuleId::Pdr(pdr.0), why)
        })
    };
    names.iter().map(find).collect()
}

/// Counts a QER with QFI 0, which is no QoS flow ([`N4Quirk::ZeroQfi`]).
///
/// # Errors
/// With `n4.strict`, it is rejected.
fn check_qfi(
    session: &Session,
    id: QerId,
    qfi: Option<Qfi>,
    settings: &Settings,
) -> Result<(), RuleError> {
    if qfi.is_none_or(|qfi| qfi.0 & 0x3f != 0) {
        return Ok(());
    }
    if settings.strict {
        let why = format!("QER {} has QFI 0, which is no QoS flow", id.0);
        return Err(RuleError::incorrect::<Qfi>(FailedRuleId::Qer(id.0), why));
    }
    N4Quirk::ZeroQfi.met("upf", cp_address(&session.cp));
    Ok(())
}

/// Replaces the network instance of a FAR by that of its forwarding policy.
fn follow_policy(far: &mut Far, settings: &Settings) -> Result<(), RuleError> {
    let Some(policy) = &far.policy else { return Ok(()) };
    let known = settings.forwarding_policies.iter().find(|(name, _)| **name == **policy);
    let Some((_, instance)) = known else {
        let why = format!(
            "FAR {} has the forwarding policy {}, which is not in upf.n6.forwarding_policies",
            far.id,
            String::from_utf8_lossy(policy)
        );
        let rule = FailedRuleId::Far(far.id);
        return Err(RuleError {
            cause: Cause::INVALID_FORWARDING_POLICY,
            ..RuleError::incorrect::<ForwardingPolicy>(rule, why)
        });
    };
    far.network_instance = instance.as_ref().map(|name| shared(name.as_slice().into()));
    Ok(())
}

/// Side effects of a modification: end markers and flags.
#[derive(Default)]
pub(super) struct Updated {
    pub created: Created,
    pub end_markers: Vec<Tunnel>,
    /// A FAR was set to buffer and notify again.
    pub renotify: bool,
}

/// Removes, adds and changes rules.
pub(super) fn modify(
    session: &mut Session,
    request: &SessionModificationRequest,
    choice: &mut Choice<'_>,
) -> Result<Updated, RuleError> {
    remove(session, request)?;
    let mut changed = Vec::new();
    for ie in &request.update_traffic_endpoints {
        changed.extend(update_endpoint(session, ie, choice)?);
    }
    let mut updated =
        Updated { created: create(session, &request.into(), choice)?, ..Updated::default() };
    updated.created.endpoints.extend(changed);
    for ie in &request.update_fars {
        let failed = FailedRuleId::Far(ie.far_id.0);
        let far = session.fars.get_mut(&ie.far_id.0).ok_or_else(|| missing(failed))?;
        updated.end_markers.extend(far.update(ie)?);
        follow_policy(far, choice.settings())?;
        updated.renotify |= ie.apply_action.is_some_and(|action| action.has(ApplyAction::NOCP));
    }
    for ie in &request.update_urrs {
        let failed = FailedRuleId::Urr(ie.urr_id.0);
        session.urrs.get_mut(&ie.urr_id.0).ok_or_else(|| missing(failed))?.update(ie)?;
    }
    for ie in &request.update_qers {
        let failed = FailedRuleId::Qer(ie.qer_id.0);
        check_qfi(session, ie.qer_id, ie.qfi, choice.settings())?;
        session.qers.get_mut(&ie.qer_id.0).ok_or_else(|| missing(failed))?.update(ie);
    }
    if let Some(ie) = &request.update_bar {
        let failed = FailedRuleId::Bar(ie.bar_id.0);
        session.bars.get_mut(&ie.bar_id.0).ok_or_else(|| missing(failed))?.update(ie);
    }
    for ie in &request.update_pdrs {
        let id = ie.pdr_id.0;
        let whole;
        let completed = match &ie.pdi {
            Some(pdi) => completed(session, ie.pdr_id, pdi)?,
            None => None,
        };
        let ie = match completed {
            Some(pdi) => {
                whole = UpdatePdr { pdi: Some(pdi), ..ie.clone() };
                &whole
            }
            None => ie,
        };
        let pdr = session.pdrs.get_mut(&id).ok_or_else(|| missing(FailedRuleId::Pdr(id)))?;
        let (mut found, created_pdr) = choice.find(ie.pdr_id, ie.pdi.as_ref(), None)?;
        updated.created.pdrs.extend(created_pdr);
        found.predefined = predefined(choice.settings(), ie.pdr_id, &ie.activate_predefined_rules)?;
        pdr.update(ie, found)?;
    }
    Ok(updated)
}

/// Changes a traffic endpoint, and with it the PDRs that name it.
fn update_endpoint(
    session: &mut Session,
    ie: &UpdateTrafficEndpoint,
    choice: &mut Choice<'_>,
) -> Result<Option<CreatedTrafficEndpoint>, RuleError> {
    let id = ie.id.0;
    let known = session.endpoints.get(&id).cloned();
    let known =
        known.ok_or_else(|| endpoint_error(format!("traffic endpoint {id} is not there")))?;
    let new = CreateTrafficEndpoint {
        id: ie.id,
        local_fteid: ie.local_fteid,
        network_instance: ie.network_instance.clone().or(known.network_instance),
        ue_ip_addresses: if ie.ue_ip_addresses.is_empty() {
            known.ue
        } else {
            ie.ue_ip_addresses.clone()
        },
        ethernet: known.ethernet.map(EthernetPduSessionInformation),
        framed_routes: if ie.framed_routes.is_empty() {
            known.framed_routes
        } else {
            ie.framed_routes.clone()
        },
        framed_ipv6_routes: if ie.framed_ipv6_routes.is_empty() {
            known.framed_ipv6_routes
        } else {
            ie.framed_ipv6_routes.clone()
        },
        qfis: if ie.qfis.is_empty() {
            known.qfis.iter().map(|qfi| Qfi(*qfi)).collect()
        } else {
            ie.qfis.clone()
        },
    };
    let (mut endpoint, created) = choice.endpoint(&new)?;
    endpoint.local = endpoint.local.or(known.local);
    for pdr in session.pdrs.values_mut().filter(|pdr| pdr.endpoints().contains(&id)) {
        pdr.follow(&endpoint)?;
    }
    session.endpoints.insert(id, endpoint);
    Ok(created)
}

fn remove(session: &mut Session, request: &SessionModificationRequest) -> Result<(), RuleError> {
    fn one<V>(gone: Option<V>, failed: FailedRuleId) -> Result<(), RuleError> {
        gone.map(|_| ()).ok_or_else(|| missing(failed))
    }
    for ie in &request.remove_pdrs {
        one(session.pdrs.remove(&ie.pdr_id.0), FailedRuleId::Pdr(ie.pdr_id.0))?;
    }
    for ie in &request.remove_traffic_endpoints {
        let id = ie.id.0;
        if session.endpoints.remove(&id).is_none() {
            return Err(endpoint_error(format!("traffic endpoint {id} is not there")));
        }
        // Its PDRs end with it (7.5.4.14).
        session.pdrs.retain(|_, pdr| !pdr.endpoints().contains(&id));
    }
    for ie in &request.remove_fars {
        one(session.fars.remove(&ie.far_id.0), FailedRuleId::Far(ie.far_id.0))?;
    }
    for ie in &request.remove_urrs {
        one(session.urrs.remove(&ie.urr_id.0), FailedRuleId::Urr(ie.urr_id.0))?;
        for pdr in session.pdrs.values_mut() {
            pdr.urrs.retain(|urr| *urr != ie.urr_id.0);
        }
        for urr in session.urrs.values_mut_if(|urr| urr.linked.contains(&ie.urr_id.0)) {
            urr.linked.retain(|id| *id != ie.urr_id.0);
        }
    }
    for ie in &request.remove_qers {
        one(session.qers.remove(&ie.qer_id.0), FailedRuleId::Qer(ie.qer_id.0))?;
        for pdr in session.pdrs.values_mut() {
            pdr.qers.retain(|qer| *qer != ie.qer_id.0);
        }
    }
    if let Some(ie) = &request.remove_bar {
        one(session.bars.remove(&ie.bar_id.0), FailedRuleId::Bar(ie.bar_id.0))?;
    }
    Ok(())
}
