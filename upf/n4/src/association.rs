//! PFCP association setup, update and release (TS 29.244, 6.2.6 to 6.2.8).
use super::context::Context;
use super::deadlines::Deadline;
use super::graceful_release::GracefulRelease;
use super::load::ReportedLoad;
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::{
    Cause, CpFunctionFeatures, NodeId, PfcpAsRspFlags, RecoveryTimeStamp, UpFunctionFeatures,
};
use martlet_pfcp::{
    AssociationReleaseRequestMessage, AssociationReleaseResponse, AssociationSetupRequest,
    AssociationSetupResponse, AssociationUpdateRequest, AssociationUpdateResponse, Message,
};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

/// Flag of an update (8.2.112).
const PARPS: u8 = 0x01;

/// An SMF that may have sessions here.
pub(super) struct Association {
    pub node: NodeId,
    /// The address to which requests are sent.
    pub peer: SocketAddr,
    /// Its recovery time stamp.
    pub recovery: RecoveryTimeStamp,
    pub since: SystemTime,
    /// The SMF answers heartbeats.
    pub reachable: bool,
    pub sessions: BTreeSet<u64>,
    /// How often it was set up again with its sessions in place.
    pub setups: u64,
    /// Its CP function features.
    pub features: CpFunctionFeatures,
    /// The load last reported to it.
    pub reported: ReportedLoad,
    /// It is about to be released: usage of its sessions is reported.
    pub graceful_release: Option<GracefulRelease>,
}

impl N4 {
    pub(super) fn set_up_association(
        &mut self,
        from: SocketAddr,
        request: AssociationSetupRequest,
        now: Moment,
    ) -> Message {
        let old = self.association_of(&request.node_id);
        if let Some(refusal) = old.and_then(|old| self.refuse_other_address(old, from, &request)) {
            return refusal;
        }
        // Session retention (6.2.6.2.2).
        if let Some(old) = old
            && request.retention.is_some()
            && let Some(association) = self.associations.get_mut(&old)
        {
            let sessions = association.sessions.len();
            if let Some(suppressed) = martlet_log_limit::line("association_replaced", from.ip()) {
                tracing::info!(
                    smf = %from.ip(), sessions, suppressed,
                    "association replaced, sessions retained"
                );
            }
            association.recovery = request.recovery;
            association.peer = SocketAddr::new(from.ip(), self.settings.peer_port);
            self.peer_responded(old, request.recovery, now);
            let flags = Some(PfcpAsRspFlags(1));
            return AssociationSetupResponse { flags, ..self.setup_response(Cause::ACCEPTED) }
                .into();
        }
        // A new recovery time stamp shows that the SMF has lost its sessions. Without it they
        // continue to forward traffic, until the SMF restores them or the retention time ends.
        if let Some(id) = old
            && self.associations.get(&id).is_some_and(|a| a.recovery == request.recovery)
        {
            self.set_up_again(id, request, now);
            return self.setup_response(Cause::ACCEPTED).into();
        }
        if let Some(old) = old {
            tracing::info!(smf = %from.ip(), "association replaced");
            self.end_association(old);
        }
        if self.is_leaving() {
            if let Some(suppressed) = martlet_log_limit::line("association_stopping", from.ip()) {
                tracing::info!(
                    smf = %from.ip(), suppressed,
                    "association rejected: UPF drained or stopping"
                );
            }
            return self.setup_response(Cause::REJECTED).into();
        }
        if self.associations.len() >= self.settings.associations {
            if let Some(suppressed) = martlet_log_limit::line("associations", from.ip()) {
                tracing::warn!(
                    smf = %from.ip(), suppressed,
                    "association rejected: n4.associations reached"
                );
            }
            return self.setup_response(Cause::NO_RESOURCES_AVAILABLE).into();
        }
        self.last_association += 1;
        let id = self.last_association;
        let association = Association {
            node: request.node_id,
            peer: SocketAddr::new(from.ip(), self.settings.peer_port),
            recovery: request.recovery,
            since: now.wall,
            reachable: true,
            sessions: BTreeSet::new(),
            setups: 0,
            features: request.cp_features.unwrap_or_default(),
            reported: ReportedLoad::default(),
            graceful_release: None,
        };
        self.associations.insert(id, association);
        metrics::ASSOCIATIONS.set(self.associations.len() as i64);
        if let Some(interval) = self.settings.heartbeat {
            self.deadlines.set(Deadline::Heartbeat { association: id }, now.instant + interval);
        }
        tracing::info!(smf = %from.ip(), "association set up");
        self.setup_response(Cause::ACCEPTED).into()
    }

    /// An association belongs to the address that set it up, for as long as that answers.
    fn refuse_other_address(
        &self,
        id: u64,
        from: SocketAddr,
        request: &AssociationSetupRequest,
    ) -> Option<Message> {
        let old = self.associations.get(&id)?;
        let moved = !old.reachable && old.recovery != request.recovery;
        if self.is_peer(id, from.ip()) || moved {
            return None;
        }
        metrics::N4_DROPPED.with_label_values(&["other_address"]).inc();
        if let Some(suppressed) = martlet_log_limit::line("other_address", from.ip()) {
            tracing::warn!(
                peer = %from, suppressed, smf = %old.peer.ip(),
                "association rejected: its node ID belongs to another address"
            );
        }
        Some(self.setup_response(Cause::REJECTED).into())
    }

    /// The same SMF sets its association up again and may have forgotten some of its sessions.
    fn set_up_again(&mut self, id: u64, request: AssociationSetupRequest, now: Moment) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        let sessions = association.sessions.len();
        tracing::info!(smf = %association.peer.ip(), sessions, "association set up again");
        association.setups += 1;
        association.features = request.cp_features.unwrap_or_default();
        (association.reported, association.graceful_release) = (ReportedLoad::default(), None);
        if sessions > 0 {
            let due = now.instant + self.settings.retention;
            self.deadlines.set(Deadline::Stale { association: id }, due);
        }
        self.peer_responded(id, request.recovery, now);
    }

    /// Whether a session is of before the last setup of its association.
    pub(super) fn is_stale(&self, seid: u64) -> bool {
        self.sessions.get(&seid).is_some_and(|context| {
            self.associations.get(&context.association).is_some_and(|a| context.setup < a.setups)
        })
    }

    /// The SMF uses a session after the last setup of its association.
    pub(super) fn confirm(&mut self, seid: u64) {
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        if let Some(association) = self.associations.get(&context.association) {
            context.setup = association.setups;
        }
    }

    /// The retention time of sessions that the SMF has not restored is over.
    pub(super) fn end_stale_sessions(&mut self, id: u64) {
        let Some(association) = self.associations.get(&id) else { return };
        let stale: Vec<u64> =
            association.sessions.iter().copied().filter(|seid| self.is_stale(*seid)).collect();
        if !stale.is_empty() {
            tracing::info!(
                smf = %association.peer.ip(), sessions = stale.len(),
                "sessions removed: the SMF has not restored them"
            );
            self.forget_sessions(&stale);
        }
    }

    /// The response to an association setup, accepted or not.
    pub(super) fn setup_response(&self, cause: Cause) -> AssociationSetupResponse {
        let own = UpFunctionFeatures::FTUP
            | UpFunctionFeatures::DDND
            | UpFunctionFeatures::PFDM
            | UpFunctionFeatures::PFDE
            | UpFunctionFeatures::PDIU
            | UpFunctionFeatures::FRRT
            | UpFunctionFeatures::VTIME
            | UpFunctionFeatures::EPFAR;
        let allocates = if self.settings.pools.is_empty() { 0 } else { UpFunctionFeatures::UEIP.0 };
        let features = own | UpFunctionFeatures(allocates) | self.datapath.features();
        AssociationSetupResponse {
            node_id: self.settings.node_id.clone(),
            cause,
            recovery: self.recovery,
            up_features: Some(features),
            cp_features: None,
            ip_resources: vec![],
            flags: None,
        }
    }

    pub(super) fn update_association(
        &mut self,
        from: SocketAddr,
        request: AssociationUpdateRequest,
        now: Moment,
    ) -> Message {
        let known = self.association_from(&request.node_id, from.ip());
        let cause =
            if known.is_some() { Cause::ACCEPTED } else { Cause::NO_ESTABLISHED_ASSOCIATION };
        if let Some(id) = known {
            if let (Some(association), Some(features)) =
                (self.associations.get_mut(&id), request.cp_features)
            {
                association.features = features;
            }
            if request.flags.is_some_and(|flags| flags.0 & PARPS != 0) {
                self.prepare_release(id, now);
            }
        }
        AssociationUpdateResponse { node_id: self.settings.node_id.clone(), cause }.into()
    }

    pub(super) fn release_association(
        &mut self,
        from: SocketAddr,
        request: AssociationReleaseRequestMessage,
    ) -> Message {
        let known = self.association_from(&request.node_id, from.ip());
        let cause = match known {
            Some(id) => {
                tracing::info!(node = ?request.node_id, "association released");
                self.end_association(id);
                Cause::ACCEPTED
            }
            None => Cause::NO_ESTABLISHED_ASSOCIATION,
        };
        AssociationReleaseResponse { node_id: self.settings.node_id.clone(), cause }.into()
    }

    pub(super) fn association_of(&self, node: &NodeId) -> Option<u64> {
        self.associations
            .iter()
            .find(|(_, association)| association.node == *node)
            .map(|(id, _)| *id)
    }

    /// Whether messages from an address are those of an association: it was set up from there.
    pub(super) fn is_peer(&self, id: u64, from: IpAddr) -> bool {
        self.associations.get(&id).is_some_and(|a| a.peer.ip() == from)
    }

    /// The association of a node, by source address.
    pub(super) fn association_from(&self, node: &NodeId, from: IpAddr) -> Option<u64> {
        let known = self.association_of(node).filter(|id| self.is_peer(*id, from));
        if known.is_none() {
            unknown_peer(from);
        }
        known
    }

    /// Whether an association with an address exists.
    pub(super) fn is_known(&self, from: IpAddr) -> bool {
        let known = self.associations.keys().any(|id| self.is_peer(*id, from));
        if !known {
            unknown_peer(from);
        }
        known
    }

    /// A session of the peer; other peers get "session context not found".
    pub(super) fn session_of(&self, from: IpAddr, seid: u64) -> Option<&Context> {
        let context = self.sessions.get(&seid)?;
        let owns = self.is_peer(context.association, from);
        if !owns {
            unknown_peer(from);
        }
        owns.then_some(context)
    }

    /// Removes an association with all its sessions, without signalling.
    pub(super) fn end_association(&mut self, id: u64) {
        let Some(association) = self.associations.remove(&id) else { return };
        let sessions: Vec<u64> = association.sessions.iter().copied().collect();
        self.forget_sessions(&sessions);
        self.deadlines.cancel(Deadline::Heartbeat { association: id });
        self.deadlines.cancel(Deadline::Retention { association: id });
        self.deadlines.cancel(Deadline::Stale { association: id });
        metrics::ASSOCIATIONS.set(self.associations.len() as i64);
        if !association.sessions.is_empty() {
            tracing::info!(
                smf = %association.peer.ip(), sessions = association.sessions.len(),
                "sessions removed"
            );
        }
    }
}

fn unknown_peer(from: IpAddr) {
    metrics::N4_DROPPED.with_label_values(&["unknown_peer"]).inc();
    if let Some(suppressed) = martlet_log_limit::line("unknown_peer", from) {
        tracing::warn!(
            peer = %from, suppressed,
            "PFCP message without an association or for a session of another SMF"
        );
    }
}
