//! The task of a session: it dispatches events to the procedures, one after the other.
mod n4_report;
mod update_sm_context;

use crate::procedures::branching::{anchor_relocation, intermediate_upf};
use crate::procedures::charging::quota_management;
use crate::procedures::establishment::pdu_session_establishment::{self, Establishment};
use crate::procedures::handover::forwarding_release;
use crate::procedures::modification::network_requested_modification;
use crate::procedures::release::{
    address_loss, address_reclaim, orphaned_session_release, pdu_session_release,
};
use crate::procedures::user_plane::{
    downlink_data_notification, n4_session_modification, restoration, upf_failover,
    upf_graceful_release, upf_return,
};
use crate::session::{GsmState, Session};
use crate::session_event::SessionEvent;
use crate::set::lease;
use crate::shared::Smf;
use martlet_nas::GsmCause;
use martlet_sbi::trace::{self, Origin};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts the task of a session that is being established.
pub fn establish(establishment: Establishment) {
    // Boxed, so that its memory is freed after the establishment: sessions live for long.
    let establishing = Box::pin(establishment.run());
    trace::spawn(Origin::here(), async move {
        let session = establishing.await;
        if let Some(session) = session {
            session.run().await;
        }
    });
}

/// Removes a session whose task panics. Its stored context may cause the same panic.
struct EndedByPanic {
    smf: Arc<Smf>,
    reference: u64,
}

impl Drop for EndedByPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.smf.contexts.remove(self.reference.to_string());
            self.smf.sessions.remove(self.reference);
        }
    }
}

/// What wakes a session's task.
enum Wakeup {
    Event(SessionEvent),
    /// The timer of the current state has expired.
    Timeout,
    /// The SMF ends.
    Closed,
}

impl Session {
    /// Handles events until the session ends.
    pub async fn run(mut self: Box<Self>) {
        let _ended = EndedByPanic { smf: self.smf.clone(), reference: self.reference };
        // A restored session may have left a UPF that is associated again.
        upf_return::schedule(&mut self);
        loop {
            let wakeup = match self.next_postponed() {
                Some(event) => Wakeup::Event(event),
                None => match tokio::time::timeout(self.timer(), self.inbox.recv()).await {
                    Ok(Some(event)) => Wakeup::Event(event),
                    Ok(None) => Wakeup::Closed,
                    Err(_) => Wakeup::Timeout,
                },
            };
            if !self.is_owned().await {
                return lease::drop_session(&self);
            }
            // Boxed, so that the task of an idle session is small.
            if !Box::pin(self.handle(wakeup)).await {
                break;
            }
            self.persist();
        }
        self.end();
    }

    /// The time that is left of the timer of the current 5GSM state. Events restart that of an
    /// audit alone.
    fn timer(&self) -> Duration {
        let config = &self.smf.config;
        let left = |timer_ms: u32, sent: Instant| {
            Duration::from_millis(timer_ms.into()).saturating_sub(sent.elapsed())
        };
        match &self.gsm {
            GsmState::InactivePending { sent, .. } => left(config.t3592_ms, *sent),
            GsmState::ModificationPending(modification) => left(config.t3591_ms, modification.sent),
            GsmState::Active | GsmState::Inactive if self.amf.denies_session => {
                config.audit_interval().min(orphaned_session_release::CONFIRMATION)
            }
            GsmState::Active | GsmState::Inactive => config.audit_interval(),
        }
    }

    /// Handles a wakeup. Returns `false` if the session has ended.
    async fn handle(&mut self, wakeup: Wakeup) -> bool {
        Origin::default().adopt();
        self.record_identities();
        let is_alive = match wakeup {
            Wakeup::Event(event) => {
                self.amf.denies_session = false;
                self.handle_event(event).await
            }
            Wakeup::Timeout => self.handle_timeout().await,
            Wakeup::Closed => false,
        };
        let is_lost = self.user_plane.is_lost();
        if is_alive && is_lost {
            pdu_session_release::finish(self, true).await;
        }
        is_alive && !is_lost
    }

    async fn handle_timeout(&mut self) -> bool {
        match self.gsm {
            GsmState::InactivePending { .. } => pdu_session_release::retransmit_command(self).await,
            GsmState::ModificationPending(_) => {
                network_requested_modification::retransmit_command(self).await;
                true
            }
            GsmState::Active | GsmState::Inactive => orphaned_session_release::run(self).await,
        }
    }

    async fn handle_event(&mut self, event: SessionEvent) -> bool {
        match event {
            SessionEvent::Update(body, reply) => {
                let (body, origin) = *body;
                origin.adopt();
                let (response, is_alive) = update_sm_context::run(self, body).await;
                let _ = reply.send(response);
                return is_alive;
            }
            SessionEvent::Release(reported, reply) => {
                pdu_session_release::by_amf(self, reported.as_deref(), reply).await;
                return false;
            }
            SessionEvent::Replaced(reply) => {
                pdu_session_release::finish(self, false).await;
                let _ = reply.send(());
                return false;
            }
            SessionEvent::Report(report) => return n4_report::run(self, *report).await,
            SessionEvent::UpfFailed(upf) => return upf_failover::run(self, *upf).await,
            SessionEvent::RelocateAnchor => return anchor_relocation::run(self).await,
            SessionEvent::RelocationTimeout => {
                return anchor_relocation::release_old_session(self).await;
            }
            SessionEvent::Reauthorize => return quota_management::reauthorize(self).await,
            SessionEvent::SubscriptionChanged => {
                return network_requested_modification::by_subscription(self).await;
            }
            SessionEvent::UpfReleasing(upf) => return upf_graceful_release::run(self, *upf).await,
            SessionEvent::ReturnToUpf => return upf_return::run(self).await,
            SessionEvent::PolicyTerminated => {
                let cause = GsmCause::ReactivationRequested;
                return pdu_session_release::by_network(self, cause).await;
            }
            SessionEvent::AddressesLost => return address_loss::run(self).await,
            SessionEvent::AddressesReclaimed(reclaim) => {
                return address_reclaim::run(self, *reclaim).await;
            }
            // TS 23.502, 4.3.2.2.1, step 16.
            SessionEvent::SecurityNotEnforced => {
                let cause = GsmCause::RequestRejectedUnspecified;
                return pdu_session_release::by_network(self, cause).await;
            }
            // TS 23.502, 4.3.2.2.1, step 15.
            SessionEvent::RefusedByGnb(cause) => {
                pdu_session_establishment::refused_by_gnb(self, cause).await;
                return false;
            }
            SessionEvent::PolicyDecision(decision) => {
                network_requested_modification::by_policy(self, *decision).await;
            }
            SessionEvent::FlowsNotSetUp(qfis) => {
                network_requested_modification::not_set_up(self, &qfis).await;
            }
            SessionEvent::FlowsNotModified(qfis) => {
                network_requested_modification::not_modified(self, &qfis).await;
            }
            SessionEvent::SetUpOutdated => {
                network_requested_modification::update_gnb(self).await;
            }
            SessionEvent::ModificationNotAnswered => {
                network_requested_modification::repeat(self).await;
            }
            SessionEvent::TransferFailed => downlink_data_notification::transfer_failed(self).await,
            SessionEvent::UpfRestarted(upf) => restoration::upf_restarted(self, *upf).await,
            SessionEvent::UpfReturned => upf_return::schedule(self),
            SessionEvent::DownlinkUnchanged => {
                n4_session_modification::modify_downlink_again(self).await;
            }
            SessionEvent::QosUnchanged => {
                network_requested_modification::update_upf_again(self).await;
            }
            SessionEvent::ForwardingTimeout => forwarding_release::timeout(self).await,
            SessionEvent::OutOfServiceArea => intermediate_upf::follow_ue(self).await,
            // The session was dropped before, or is released after the event.
            SessionEvent::TakenOver | SessionEvent::UserPlaneLost => {}
        }
        true
    }
}
