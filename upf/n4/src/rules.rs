//! Rules of a request put into a session (TS 29.244, 7.5.2 and 7.5.4).
use super::teid::Choice;
use martlet_pfcp::ie::*;
use martlet_pfcp::{SessionEstablishmentRequest, SessionModificationRequest};
use martlet_upf_rules::{Bar, Far, Pdr, Qer, RuleError, Session, Tunnel, Urr};

/// New rules, as both requests have them.
pub(super) struct Creation<'a> {
    pub pdrs: &'a [CreatePdr],
    pub fars: &'a [CreateFar],
    pub urrs: &'a [CreateUrr],
    pub qers: &'a [CreateQer],
    pub bar: Option<&'a CreateBar>,
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
        }
    }
}

/// Adds new rules; returns the PDRs for which a TEID or UE address was allocated.
pub(super) fn create(
    session: &mut Session,
    new: &Creation<'_>,
    choice: &mut Choice<'_>,
) -> Result<Vec<CreatedPdr>, RuleError> {
    for ie in new.fars {
        add(session.fars.insert(ie.far_id.0, Far::create(ie)?), FailedRuleId::Far(ie.far_id.0))?;
    }
    for ie in new.urrs {
        add(session.urrs.insert(ie.urr_id.0, Urr::create(ie)?), FailedRuleId::Urr(ie.urr_id.0))?;
    }
    for ie in new.qers {
        add(session.qers.insert(ie.qer_id.0, Qer::from(ie)), FailedRuleId::Qer(ie.qer_id.0))?;
    }
    if let Some(ie) = new.bar {
        add(session.bars.insert(ie.bar_id.0, Bar::from(ie)), FailedRuleId::Bar(ie.bar_id.0))?;
    }
    let mut created = Vec::new();
    for ie in new.pdrs {
        let (found, created_pdr) = choice.find(ie.pdr_id, Some(&ie.pdi))?;
        created.extend(created_pdr);
        let pdr = Pdr::create(ie, found)?;
        add(session.pdrs.insert(pdr.id, pdr), FailedRuleId::Pdr(ie.pdr_id.0))?;
    }
    Ok(created)
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

/// Side effects of a modification: end markers and flags.
#[derive(Default)]
pub(super) struct Updated {
    pub created: Vec<CreatedPdr>,
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
    let mut updated =
        Updated { created: create(session, &request.into(), choice)?, ..Updated::default() };
    for ie in &request.update_fars {
        let failed = FailedRuleId::Far(ie.far_id.0);
        let far = session.fars.get_mut(&ie.far_id.0).ok_or_else(|| missing(failed))?;
        updated.end_markers.extend(far.update(ie)?);
        updated.renotify |= ie.apply_action.is_some_and(|action| action.has(ApplyAction::NOCP));
    }
    for ie in &request.update_urrs {
        let failed = FailedRuleId::Urr(ie.urr_id.0);
        session.urrs.get_mut(&ie.urr_id.0).ok_or_else(|| missing(failed))?.update(ie)?;
    }
    for ie in &request.update_qers {
        let failed = FailedRuleId::Qer(ie.qer_id.0);
        session.qers.get_mut(&ie.qer_id.0).ok_or_else(|| missing(failed))?.update(ie);
    }
    if let Some(ie) = &request.update_bar {
        let failed = FailedRuleId::Bar(ie.bar_id.0);
        session.bars.get_mut(&ie.bar_id.0).ok_or_else(|| missing(failed))?.update(ie);
    }
    for ie in &request.update_pdrs {
        let id = ie.pdr_id.0;
        let pdr = session.pdrs.get_mut(&id).ok_or_else(|| missing(FailedRuleId::Pdr(id)))?;
        let (found, created_pdr) = choice.find(ie.pdr_id, ie.pdi.as_ref())?;
        updated.created.extend(created_pdr);
        pdr.update(ie, found)?;
    }
    Ok(updated)
}

fn remove(session: &mut Session, request: &SessionModificationRequest) -> Result<(), RuleError> {
    fn one<V>(gone: Option<V>, failed: FailedRuleId) -> Result<(), RuleError> {
        gone.map(|_| ()).ok_or_else(|| missing(failed))
    }
    for ie in &request.remove_pdrs {
        one(session.pdrs.remove(&ie.pdr_id.0), FailedRuleId::Pdr(ie.pdr_id.0))?;
    }
    for ie in &request.remove_fars {
        one(session.fars.remove(&ie.far_id.0), FailedRuleId::Far(ie.far_id.0))?;
    }
    for ie in &request.remove_urrs {
        one(session.urrs.remove(&ie.urr_id.0), FailedRuleId::Urr(ie.urr_id.0))?;
        for pdr in session.pdrs.values_mut() {
            pdr.urrs.retain(|urr| *urr != ie.urr_id.0);
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
