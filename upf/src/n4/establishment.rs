//! PFCP session establishment (TS 29.244, 6.3.2).
use super::context::Context;
use super::refusal::Refusal;
use super::rules;
use super::teid::Choice;
use super::{Moment, N4};
use crate::datapath::Change;
use crate::metrics;
use crate::rules::{RuleError, Session};
use martlet_pfcp::ie::{Cause, CreatedPdr, FSeid};
use martlet_pfcp::{Message, SessionEstablishmentRequest, SessionEstablishmentResponse};

impl N4 {
    pub(super) fn establish(&mut self, request: SessionEstablishmentRequest, now: Moment) -> (Option<u64>, Message) {
        let cp = request.cp_fseid;
        let answer = match self.try_establish(request, now) {
            Ok((seid, created_pdrs)) => SessionEstablishmentResponse {
                up_fseid: Some(FSeid::new(seid, self.settings.address)),
                created_pdrs,
                ..self.establishment_refusal(&Refusal::from(Cause::ACCEPTED))
            },
            Err(refusal) => {
                tracing::warn!(cp_seid = cp.seid, cause = refusal.cause.0, why = refusal.why, "session refused");
                self.establishment_refusal(&refusal)
            }
        };
        metrics::N4_SESSIONS.with_label_values(&["establishment", refused(answer.cause)]).inc();
        (Some(cp.seid), answer.into())
    }

    fn try_establish(
        &mut self,
        request: SessionEstablishmentRequest,
        now: Moment,
    ) -> Result<(u64, Vec<CreatedPdr>), Refusal> {
        let association =
            self.association_of(&request.node_id).ok_or(Refusal::from(Cause::NO_ESTABLISHED_ASSOCIATION))?;
        if self.sessions.len() >= self.settings.sessions {
            return Err(RuleError::no_resources("there are as many sessions as n4.sessions allows").into());
        }
        if request.create_pdrs.is_empty() {
            return Err(Refusal::missing::<martlet_pfcp::ie::CreatePdr>());
        }
        if request.create_fars.is_empty() {
            return Err(Refusal::missing::<martlet_pfcp::ie::CreateFar>());
        }
        let mut session = Session::new(self.free_seid(), request.cp_fseid, request.node_id.clone());
        session.kind = request.pdn_type.into();
        session.inactivity = super::usage::inactivity(request.inactivity_timer);
        let mut choice = Choice::new(&mut self.teids, &self.settings, Default::default());
        let outcome = rules::create(&mut session, &(&request).into(), &mut choice)
            .and_then(|created| session.resolve(&self.settings.rules).map(|()| created))
            .map_err(Refusal::from)
            .and_then(|created| self.datapath.apply(&Change::to(&session)).map_err(Refusal::from).map(|()| created));
        let created = match outcome {
            Ok(created) => {
                choice.keep(&session.teids());
                created
            }
            Err(refusal) => {
                choice.give_back();
                return Err(refusal);
            }
        };
        let seid = session.seid;
        tracing::debug!(seid, cp_seid = session.cp.seid, pdrs = session.pdrs.len(), "session established");
        self.index_remote(&session);
        self.sessions.insert(seid, Context::new(session, association, now));
        if let Some(association) = self.associations.get_mut(&association) {
            association.sessions.insert(seid);
        }
        metrics::SESSIONS.set(self.sessions.len() as i64);
        self.schedule(seid, None, now);
        Ok((seid, created))
    }

    /// Drawn at random, so that one cannot be guessed from another.
    fn free_seid(&self) -> u64 {
        loop {
            let seid = rand::random::<u64>();
            if seid != 0 && !self.sessions.contains_key(&seid) {
                return seid;
            }
        }
    }

    pub(super) fn establishment_refusal(&self, refusal: &Refusal) -> SessionEstablishmentResponse {
        SessionEstablishmentResponse {
            node_id: self.settings.node_id.clone(),
            cause: refusal.cause,
            offending_ie: refusal.offending_ie(),
            up_fseid: None,
            created_pdrs: Vec::new(),
            load: None,
            overload: None,
            failed_rule: refusal.failed,
        }
    }

    /// Notes where the tunnels of a session lead.
    pub(super) fn index_remote(&mut self, session: &Session) {
        for tunnel in session.remote_tunnels() {
            self.remote.entry(tunnel).or_default().insert(session.seid);
        }
    }

    pub(super) fn unindex_remote(&mut self, session: &Session) {
        for tunnel in session.remote_tunnels() {
            if let Some(sessions) = self.remote.get_mut(&tunnel) {
                sessions.remove(&session.seid);
                if sessions.is_empty() {
                    self.remote.remove(&tunnel);
                }
            }
        }
    }
}

/// A metric's label.
pub(super) fn refused(cause: Cause) -> &'static str {
    if cause.is_accepted() { "accepted" } else { "refused" }
}
