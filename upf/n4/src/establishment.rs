//! PFCP session establishment (TS 29.244, 6.3.2).
use super::advertisement::is_advertised;
use super::by_peer::cp_address;
use super::context::Context;
use super::filters;
use super::headers;
use super::peers::introduce;
use super::rejection::Rejection;
use super::report::Pending;
use super::rules::{self, Created};
use super::teid::Choice;
use super::ue_address::Leasing;
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::{Cause, FSeid};
use martlet_pfcp::{IeValue, Message, SessionEstablishmentRequest, SessionEstablishmentResponse};
use martlet_upf_datapath::Change;
use martlet_upf_rules::{RuleError, Session};
use std::net::IpAddr;

impl N4 {
    pub(super) fn establish(
        &mut self,
        from: IpAddr,
        request: SessionEstablishmentRequest,
        now: Moment,
    ) -> (Option<u64>, Message) {
        let cp = request.cp_fseid;
        let answer = match self.try_establish(from, request, now) {
            Ok((seid, created)) => SessionEstablishmentResponse {
                up_fseid: Some(FSeid::new(seid, self.settings.address)),
                created_pdrs: created.pdrs,
                created_traffic_endpoints: created.endpoints,
                ..self.establishment_refusal(&Rejection::from(Cause::ACCEPTED))
            },
            Err(rejection) => {
                if let Some(suppressed) = martlet_log_limit::line("establishment", from) {
                    tracing::warn!(
                        cp_seid = cp.seid,
                        cause = rejection.cause.0,
                        why = rejection.why,
                        suppressed,
                        "session establishment rejected"
                    );
                }
                self.establishment_refusal(&rejection)
            }
        };
        metrics::N4_SESSIONS.with_label_values(&["establishment", rejected(answer.cause)]).inc();
        (Some(cp.seid), answer.into())
    }

    fn try_establish(
        &mut self,
        from: IpAddr,
        request: SessionEstablishmentRequest,
        now: Moment,
    ) -> Result<(u64, Created), Rejection> {
        let association = self.association_from(&request.node_id, from);
        let association = association.ok_or(Rejection::from(Cause::NO_ESTABLISHED_ASSOCIATION))?;
        if self.is_releasing(association) {
            let why = "the association is about to be released";
            return Err(RuleError::other(Cause::REJECTED, why).into());
        }
        let peer = cp_address(&request.cp_fseid);
        // Otherwise an SMF could take the CP F-SEIDs of another one, which then has no sessions.
        if peer != from && self.associations.keys().any(|id| self.is_peer(*id, peer)) {
            return Err(other_fseid("the CP F-SEID has the address of another SMF"));
        }
        let same = self.by_cp.get(peer, &request.cp_fseid.seid);
        let is_own = |seid: &u64| {
            self.sessions.get(seid).is_some_and(|context| context.association == association)
        };
        let stale = same.filter(|seid| is_own(seid) && self.is_stale(*seid));
        // A session that replaces a stale one is not an additional session.
        if stale.is_none() && self.sessions.len() >= self.settings.sessions {
            return Err(RuleError::no_resources("the limit n4.sessions is reached").into());
        }
        // A late retransmission does not create a second session.
        let mut unreported = Vec::new();
        if let Some(stale) = stale {
            // The SMF restores it after it has set the association up again.
            unreported = self.remove_stale(stale, now);
        } else if same.is_some() {
            return Err(other_fseid("there is a session with this CP F-SEID"));
        }
        if request.create_pdrs.is_empty() {
            return Err(Rejection::missing::<martlet_pfcp::ie::CreatePdr>());
        }
        if request.create_fars.is_empty() {
            return Err(Rejection::missing::<martlet_pfcp::ie::CreateFar>());
        }
        let mut session = Session::new(self.free_seid(), request.cp_fseid, request.node_id.clone());
        session.kind = request.pdn_type.into();
        session.inactivity = super::usage::inactivity(request.inactivity_timer);
        let leasing = Leasing::new(&mut self.addresses, &self.settings, Vec::new());
        let mut choice = Choice::new(
            &mut self.teids,
            &self.settings,
            Default::default(),
            leasing,
            &self.applications,
            &[],
        );
        let outcome = rules::create(&mut session, &(&request).into(), &mut choice)
            .and_then(|created| session.resolve(&self.settings.rules).map(|()| created))
            .and_then(|created| headers::check(&session, &self.settings).map(|()| created))
            .and_then(|created| filters::check(&session, &self.settings).map(|()| created))
            .map_err(Rejection::from)
            .and_then(|created| {
                introduce(&mut self.known_peers, &session, self.datapath.as_mut());
                self.datapath
                    .apply(&Change::to(&session))
                    .map_err(Rejection::from)
                    .map(|()| created)
            });
        let (created, (leases, chosen)) = match outcome {
            Ok(created) => (created, choice.keep(&session.allocated_teids())),
            Err(rejection) => {
                choice.release();
                return Err(rejection);
            }
        };
        let seid = session.seid;
        tracing::debug!(
            seid,
            cp_seid = session.cp.seid,
            pdrs = session.pdrs.len(),
            "session established"
        );
        self.report_shared_tunnels(None, &session);
        self.index_remote(&session);
        self.by_cp.insert(peer, session.cp.seid, seid);
        let lines = self.volumes.begin(&session);
        let is_advertised = is_advertised(&session);
        let mut context = Box::new(Context::new(session, association, leases, now));
        context.lines = lines;
        context.chosen = chosen;
        context.join(&request.fq_csids);
        self.sessions.insert(seid, context);
        if let Some(association) = self.associations.get_mut(&association) {
            association.sessions.insert(seid);
        }
        self.confirm(seid);
        metrics::SESSIONS.set(self.sessions.len() as i64);
        self.schedule(seid, None, now);
        if is_advertised {
            self.advertise_later(seid, now);
        }
        self.retain_usage(Pending::Usage { seid }, unreported);
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

    pub(super) fn establishment_refusal(
        &self,
        rejection: &Rejection,
    ) -> SessionEstablishmentResponse {
        SessionEstablishmentResponse {
            node_id: self.settings.node_id.clone(),
            cause: rejection.cause,
            offending_ie: rejection.offending_ie(),
            up_fseid: None,
            created_pdrs: Vec::new(),
            load: None,
            overload: None,
            failed_rule: rejection.failed,
            created_traffic_endpoints: Vec::new(),
        }
    }

    /// Indexes the peers of a session's tunnels.
    pub(super) fn index_remote(&mut self, session: &Session) {
        for tunnel in session.remote_tunnels() {
            self.remote.insert(tunnel, session.seid);
        }
    }

    pub(super) fn unindex_remote(&mut self, session: &Session) {
        for tunnel in session.remote_tunnels() {
            self.remote.remove(tunnel, session.seid);
        }
    }
}

/// The CP F-SEID is that of another session, or another SMF's.
pub(super) fn other_fseid(why: &str) -> Rejection {
    let offending = Some(FSeid::TYPE);
    RuleError { offending, ..RuleError::other(Cause::REJECTED, why) }.into()
}

/// A metric's label.
pub(super) fn rejected(cause: Cause) -> &'static str {
    if cause.is_accepted() { "accepted" } else { "refused" }
}
