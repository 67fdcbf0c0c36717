//! The task that owns a session: what it does with each event, and when none comes.
mod update_sm_context;

use crate::procedures::branching::anchor_relocation;
use crate::procedures::branching::intermediate_upf;
use crate::procedures::charging::converged_charging;
use crate::procedures::handover::n2_handover;
use crate::procedures::modification::network_requested_modification;
use crate::procedures::release::orphaned_session_release;
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::downlink_data_notification;
use crate::procedures::user_plane::n4_session_establishment;
use crate::session::{Session, SessionEvent};
use martlet_nas::GsmCause;
use martlet_pfcp::ie::ReportType;
use martlet_sbi::trace::Origin;
use std::time::Duration;

impl Session {
    /// Takes events until the session ends.
    pub async fn run(mut self: Box<Self>) {
        loop {
            let patience = match (self.is_releasing(), &self.modifying) {
                (true, _) => Duration::from_millis(self.smf.config.t3592_ms.into()),
                (false, Some(_)) => Duration::from_millis(self.smf.config.t3591_ms.into()),
                (false, None) => self.smf.config.audit(),
            };
            let event = tokio::time::timeout(patience, self.inbox.recv()).await;
            if !self.is_owned().await {
                return self.drop_taken_over();
            }
            // On the heap while it lasts, so that the task of a session at rest is small.
            if !Box::pin(self.act(event.ok())).await {
                break;
            }
            self.persist();
        }
        self.forget();
    }

    /// Acts on an event, or on the end of the session's patience: false where the session has
    /// ended.
    async fn act(&mut self, event: Option<Option<SessionEvent>>) -> bool {
        Origin::default().adopt();
        let goes_on = match event {
            Some(Some(SessionEvent::Update(body, reply))) => {
                let (body, origin) = *body;
                origin.adopt();
                let (answer, goes_on) = update_sm_context::run(self, body).await;
                let _ = reply.send(answer);
                goes_on
            }
            Some(Some(SessionEvent::Release(reply))) => {
                pdu_session_release::finish(self, false).await;
                let _ = reply.send(());
                false
            }
            Some(Some(SessionEvent::Report(report))) => {
                let silent = report.report_type.has(ReportType::UPIR);
                downlink_data_notification::report(self, *report).await
                    && (!silent || orphaned_session_release::run(self).await)
            }
            Some(Some(SessionEvent::UpfLost(upf))) => anchor_relocation::upf_lost(self, *upf).await,
            Some(Some(SessionEvent::Relocate)) => anchor_relocation::run(self).await,
            Some(Some(SessionEvent::RelocationOver)) => anchor_relocation::over(self).await,
            Some(Some(SessionEvent::ChargingAsked)) => converged_charging::asked_anew(self).await,
            Some(Some(SessionEvent::TransferFailed)) => {
                downlink_data_notification::not_reached(self).await;
                true
            }
            // The UE makes it anew, at another UPF if there is one.
            Some(Some(SessionEvent::UpfLeaves(upf)))
                if self.place().is_some_and(|place| place.is_at(*upf)) =>
            {
                pdu_session_release::by_network(self, GsmCause::ReactivationRequested).await
            }
            Some(Some(SessionEvent::UpfLeaves(_))) => true,
            Some(Some(SessionEvent::AssociatedAnew(upf))) => {
                n4_session_establishment::associated_anew(self, *upf).await;
                true
            }
            Some(Some(SessionEvent::ForwardingOver)) => {
                n2_handover::forwarding_over(self).await;
                true
            }
            Some(Some(SessionEvent::OutOfArea)) => {
                intermediate_upf::follow(self).await;
                true
            }
            Some(Some(SessionEvent::Policy(decision))) => {
                network_requested_modification::by_policy(self, *decision).await;
                true
            }
            Some(Some(SessionEvent::SubscriptionChanged)) => {
                network_requested_modification::by_subscription(self).await
            }
            // TS 23.502, 4.3.2.2.1, step 16: there is no session then.
            Some(Some(SessionEvent::Unprotected)) => {
                pdu_session_release::by_network(self, GsmCause::RequestRejectedUnspecified).await
            }
            Some(Some(SessionEvent::PolicyEnded)) => {
                pdu_session_release::by_network(self, GsmCause::ReactivationRequested).await
            }
            Some(Some(SessionEvent::Taken)) => true,
            Some(None) => false,
            None if self.is_releasing() => pdu_session_release::command_again(self).await,
            None if self.modifying.is_some() => {
                network_requested_modification::command_again(self).await;
                true
            }
            None => orphaned_session_release::run(self).await,
        };
        if goes_on && self.lost {
            pdu_session_release::finish(self, true).await;
        }
        goes_on && !self.lost
    }
}
