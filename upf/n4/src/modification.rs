//! PFCP session modification (TS 29.244, 6.3.3).
use super::advertisement::is_advertised;
use super::by_peer::cp_address;
use super::establishment::{other_fseid, rejected};
use super::filters;
use super::headers;
use super::peers::introduce;
use super::rejection::Rejection;
use super::rules::{self, Updated};
use super::teid::Choice;
use super::ue_address::Leasing;
use super::{Moment, N4};
use crate::metrics;
use martlet_interop::{N4Quirk, Quirk};
use martlet_pfcp::ie::{Cause, UsageReportInModification, UsageReportTrigger};
use martlet_pfcp::{Message, SessionModificationRequest, SessionModificationResponse};
use martlet_upf_datapath::Change;
use martlet_upf_rules::{Session, Urr};
use std::net::IpAddr;

/// Flags of the request (8.2.34).
const DROBU: u8 = 0x01;
const SNDEM: u8 = 0x02;
const QAURR: u8 = 0x04;

impl N4 {
    pub(super) fn modify(
        &mut self,
        from: IpAddr,
        seid: u64,
        request: SessionModificationRequest,
        now: Moment,
    ) -> (Option<u64>, Message) {
        // Another associated SMF may take over a session with a new F-SEID (5.22.2).
        let takes_over = request.cp_fseid.is_some() && self.is_known(from);
        let Some(context) = self.session_of(from, seid).or(self
            .sessions
            .get(&seid)
            .filter(|_| takes_over)
            .map(Box::as_ref))
        else {
            let rejection = Rejection::from(Cause::SESSION_CONTEXT_NOT_FOUND);
            return (Some(0), modification_rejection(&rejection).into());
        };
        // The session now belongs to the new SMF's association, and survives the release of the
        // previous one.
        let before = context.association;
        let after = self
            .associations
            .keys()
            .copied()
            .find(|id| self.is_peer(*id, from))
            .filter(|_| takes_over);
        // The response is sent to the CP F-SEID after the request.
        let cp = request.cp_fseid.unwrap_or(context.cp());
        let answer = match self.try_modify(seid, request, now) {
            Ok((updated, usage_reports)) => {
                if let Some(after) = after.filter(|after| *after != before) {
                    self.move_session(seid, before, after);
                }
                SessionModificationResponse {
                    created_pdrs: updated.created.pdrs,
                    created_traffic_endpoints: updated.created.endpoints,
                    usage_reports,
                    ..modification_rejection(&Rejection::from(Cause::ACCEPTED))
                }
            }
            Err(rejection) => {
                if let Some(suppressed) = martlet_log_limit::line("modification", from) {
                    tracing::warn!(
                        seid,
                        cause = rejection.cause.0,
                        why = rejection.why,
                        suppressed,
                        "session modification rejected"
                    );
                }
                modification_rejection(&rejection)
            }
        };
        metrics::N4_SESSIONS.with_label_values(&["modification", rejected(answer.cause)]).inc();
        (Some(cp.seid), answer.into())
    }

    fn move_session(&mut self, seid: u64, before: u64, after: u64) {
        if let Some(context) = self.sessions.get_mut(&seid) {
            context.association = after;
        }
        if let Some(association) = self.associations.get_mut(&before) {
            association.sessions.remove(&seid);
        }
        if let Some(association) = self.associations.get_mut(&after) {
            association.sessions.insert(seid);
        }
    }

    fn try_modify(
        &mut self,
        seid: u64,
        request: SessionModificationRequest,
        now: Moment,
    ) -> Result<(Updated, Vec<UsageReportInModification>), Rejection> {
        // Counters of PDRs that the change removes end with it.
        self.count_volumes(&[seid]);
        let context =
            self.sessions.get(&seid).ok_or(Rejection::from(Cause::SESSION_CONTEXT_NOT_FOUND))?;
        if let Some(cp) = request.cp_fseid
            && self.by_cp.get(cp_address(&cp), &cp.seid).is_some_and(|other| other != seid)
        {
            return Err(other_fseid("another session has this CP F-SEID"));
        }
        let old = context.session();
        let was_advertised = is_advertised(&old);
        let mut session = old.clone();
        session.cp = request.cp_fseid.unwrap_or(session.cp);
        if request.inactivity_timer.is_some() {
            session.inactivity = super::usage::inactivity(request.inactivity_timer);
        }
        let flags = request.flags.map_or(0, |flags| flags.0);
        if let Some(query) =
            request.query_urrs.iter().find(|query| !old.urrs.contains_key(&query.urr_id.0))
        {
            return Err(Rejection::no_rule(martlet_pfcp::ie::FailedRuleId::Urr(query.urr_id.0)));
        }
        let leasing = Leasing::new(&mut self.addresses, &self.settings, context.leases.clone());
        let mut choice = Choice::new(
            &mut self.teids,
            &self.settings,
            old.allocated_teids(),
            leasing,
            &self.applications,
            &context.chosen,
        );
        let outcome = rules::modify(&mut session, &request, &mut choice)
            .and_then(|updated| session.resolve(&self.settings.rules).map(|()| updated))
            .and_then(|updated| headers::check(&session, &self.settings).map(|()| updated))
            .and_then(|updated| filters::check(&session, &self.settings).map(|()| updated))
            .map_err(Rejection::from);
        let mut updated = match outcome {
            Ok(updated) => updated,
            Err(rejection) => {
                choice.release();
                return Err(rejection);
            }
        };
        if flags & SNDEM != 0 {
            updated.end_markers.extend(changed_tunnels(&old, &session));
        }
        updated.end_markers.sort_by_key(|tunnel| (tunnel.peer, tunnel.teid));
        updated.end_markers.dedup();
        // Usage of removed rules is read first. If the datapath then rejects the change, the rules
        // remain, and that usage is reported by itself.
        let gone: Vec<Urr> =
            old.urrs.values().filter(|urr| !session.urrs.contains_key(&urr.id)).cloned().collect();
        let gone_ids: Vec<u32> = gone.iter().map(|urr| urr.id).collect();
        let final_usage =
            if gone.is_empty() { Vec::new() } else { self.datapath.take_usage(seid, &gone_ids) };
        let change = Change {
            session: &session,
            end_markers: &updated.end_markers,
            drop_buffered: flags & DROBU != 0,
            renotify: updated.renotify,
        };
        introduce(&mut self.known_peers, &session, self.datapath.as_mut());
        if let Err(error) = self.datapath.apply(&change) {
            choice.release();
            self.report_taken(seid, &final_usage, &gone, |_| UsageReportTrigger::IMMER, now);
            return Err(error.into());
        }
        if choice.is_reused() {
            N4Quirk::ChooseIdOfSession.met("upf", cp_address(&session.cp));
        }
        let (leases, chosen) = choice.keep(&session.allocated_teids());
        self.report_shared_tunnels(Some(&old), &session);
        self.unindex_remote(&old);
        self.index_remote(&session);
        self.change_lines(seid, &session);
        let is_advertised = is_advertised(&session);
        if let Some(context) = self.sessions.get_mut(&seid) {
            if old.cp != session.cp {
                self.by_cp.remove(cp_address(&old.cp), &old.cp.seid);
                self.by_cp.insert(cp_address(&session.cp), session.cp.seid, seid);
            }
            context.set(session);
            context.leases = leases;
            context.chosen = chosen;
            context.join(&request.fq_csids);
            context.silent_reports = 0;
        }
        self.confirm(seid);
        self.schedule(seid, Some(&old), now);
        self.follow_prefix(seid, was_advertised, is_advertised, now);
        let mut reports = self.reports(seid, &final_usage, &gone, UsageReportTrigger::TERMR, now);
        for urr in &gone_ids {
            self.forget_urr(seid, *urr);
        }
        let all = flags & QAURR != 0;
        let asked = |id: &u32| all || request.query_urrs.iter().any(|query| query.urr_id.0 == *id);
        let unchanged: Vec<Urr> = old
            .urrs
            .values()
            .filter(|urr| asked(&urr.id) && !gone_ids.contains(&urr.id))
            .cloned()
            .collect();
        if !unchanged.is_empty() {
            let ids: Vec<u32> = unchanged.iter().map(|urr| urr.id).collect();
            let usage = self.datapath.take_usage(seid, &ids);
            reports.extend(self.reports(seid, &usage, &unchanged, UsageReportTrigger::IMMER, now));
        }
        Ok((updated, reports.into_iter().map(UsageReportInModification::from).collect()))
    }
}

/// Tunnels that a FAR no longer uses and that get an end marker.
fn changed_tunnels(old: &Session, new: &Session) -> Vec<martlet_upf_rules::Tunnel> {
    let unchanged = new.remote_tunnels();
    let gone = old.fars.values().filter_map(|far| far.tunnel);
    gone.filter(|tunnel| !unchanged.contains(&(tunnel.peer, tunnel.teid))).collect()
}

pub(super) fn modification_rejection(rejection: &Rejection) -> SessionModificationResponse {
    SessionModificationResponse {
        cause: rejection.cause,
        offending_ie: rejection.offending_ie(),
        created_pdrs: Vec::new(),
        load: None,
        overload: None,
        usage_reports: Vec::new(),
        failed_rule: rejection.failed,
        created_traffic_endpoints: Vec::new(),
    }
}
