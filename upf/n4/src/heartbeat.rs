//! Heartbeats, and restart or failure of an SMF
use super::deadlines::Deadline;
use super::report::Pending;
use super::{Moment, N4};
use martlet_pfcp::ie::RecoveryTimeStamp;
use martlet_pfcp::{HeartbeatRequest, HeartbeatResponse, Message};
use std::net::SocketAddr;

impl N4 {
    /// Heartbeats are answered without an association, too.
    pub(super) fn heartbeat(
        &mut self,
        from: SocketAddr,
        request: HeartbeatRequest,
        now: Moment,
    ) -> Message {
        let known: Vec<u64> = self
            .associations
            .iter()
            .filter(|(_, a)| a.peer.ip() == from.ip())
            .map(|(id, _)| *id)
            .collect();
        for association in known {
            self.peer_responded(association, request.recovery, now);
        }
        HeartbeatResponse { recovery: self.recovery }.into()
    }

    /// A changed recovery time stamp means that the SMF restarted and lost its sessions.
    pub(super) fn peer_responded(&mut self, id: u64, recovery: RecoveryTimeStamp, now: Moment) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        if association.recovery != recovery {
            tracing::warn!(
                smf = %association.peer.ip(),
                "SMF restarted: association and sessions removed"
            );
            return self.end_association(id);
        }
        if !association.reachable {
            association.reachable = true;
            tracing::info!(smf = %association.peer.ip(), "SMF reachable again");
        }
        self.deadlines.cancel(Deadline::Retention { association: id });
        if let Some(interval) = self.settings.heartbeat {
            self.deadlines.set(Deadline::Heartbeat { association: id }, now.instant + interval);
        }
        self.report_again(id, now);
    }

    pub(super) fn send_heartbeat(&mut self, association: u64, now: Moment) {
        let Some(peer) = self.associations.get(&association).map(|association| association.peer)
        else {
            return;
        };
        let request = HeartbeatRequest { recovery: self.recovery };
        if !self.send(peer, None, request.into(), Pending::Heartbeat { association }, now)
            && let Some(interval) = self.settings.heartbeat
        {
            self.deadlines.set(Deadline::Heartbeat { association }, now.instant + interval);
        }
    }

    /// No transmission of a heartbeat was answered. Sessions continue to forward traffic until the
    /// retention time is over.
    pub(super) fn heartbeat_failed(&mut self, id: u64, now: Moment) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        if association.reachable {
            association.reachable = false;
            let retention = self.settings.retention;
            tracing::warn!(smf = %association.peer.ip(), ?retention, "SMF: heartbeat timeout");
            self.deadlines.set(Deadline::Retention { association: id }, now.instant + retention);
        }
        if let Some(interval) = self.settings.heartbeat {
            self.deadlines.set(Deadline::Heartbeat { association: id }, now.instant + interval);
        }
    }

    /// The retention is over.
    pub(super) fn give_up(&mut self, id: u64) {
        if let Some(association) = self.associations.get(&id) {
            tracing::warn!(
                smf = %association.peer.ip(),
                "SMF unreachable: association and sessions removed"
            );
        }
        self.end_association(id);
    }
}
