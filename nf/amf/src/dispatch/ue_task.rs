//! The task of a UE: it takes one event after the other and runs the procedure for it.
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::operator;
use crate::procedures::connection::{
    an_release, initial_ue_message, n1_n2_message_transfer, rrc_inactive, service_request,
    ue_context_release, ul_nas_transport,
};
use crate::procedures::handover::{handover_cancel, inter_amf_target, n2_handover, xn_handover};
use crate::procedures::n2::planned_removal;
use crate::procedures::positioning::{event_exposure, location_reporting, positioning_transport};
use crate::procedures::registration::{
    amf_load_rebalancing, amf_reallocation, deregistration, general_registration,
    implicit_deregistration, nas_rekeying, subscription_change, ue_context_transfer,
};
use crate::procedures::session::{
    pdu_session_resource_modify_indication, pdu_session_resource_notify, sm_context_status,
};
use crate::ue::{
    Awaited, Event, Idle, InitialMessages, ProcedureLayer, Reallocation, Ue, Work, signalling,
    unverified,
};
use martlet_nas::inbound::{Assurance, Inbound};
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_ngap::ngap::{Cause, CauseNas, CauseRadioNetwork};
use martlet_sbi::trace::{self, Origin};
use martlet_sbi_api::nsmf_pdusession;
use std::time::Instant;

impl Ue {
    /// Runs until the context is no longer needed.
    pub(super) async fn take_events(mut self: Box<Self>) {
        while !self.is_finished() {
            let Some(work) = self.next_work().await else { continue };
            // Boxed, so that the task of an idle UE stays small.
            Box::pin(self.act(work)).await;
            if self.task.deferred.is_empty() && nas_rekeying::is_due(&self) {
                Box::pin(nas_rekeying::run(&mut self)).await;
            }
            self.initial = InitialMessages::default();
            if event_exposure::is_due(&self) {
                Box::pin(event_exposure::check(&mut self)).await;
            }
            if self.task.deferred.is_empty() && rrc_inactive::is_due(&self) {
                Box::pin(rrc_inactive::update(&mut self)).await;
            }
            signalling::of_ue(&self);
            self.start_idle_timer();
            self.publish();
            self.persist();
        }
        Box::pin(self.shut_down()).await;
    }

    /// Whether the context is no longer needed. A new task first waits for the event that it was
    /// made for.
    fn is_finished(&self) -> bool {
        self.task.started
            && self.connection.is_none()
            && !self.is_registered()
            && self.idle.is_none()
            && self.task.deferred.is_empty()
    }

    async fn next_work(&mut self) -> Option<Work> {
        if let Some(work) = self.task.deferred.pop_front() {
            return Some(work);
        }
        if let Some(nas) = self.nas_queues.received.pop_front() {
            // Boxed, so that the task of an idle UE stays small.
            return Box::pin(self.open(&nas)).await.map(|inbound| Work::Nas(inbound.into()));
        }
        let until = self.idle.map(Idle::until);
        Some(match self.next(until).await {
            Awaited::Event(event) => Work::Event(event),
            Awaited::Lost => Work::ConnectionLost,
            Awaited::TargetLost => return None,
            Awaited::Nothing => Work::Expired,
        })
    }

    async fn act(&mut self, work: Work) {
        self.task.started = true;
        Origin::default().adopt();
        if self.identity.supi.is_some() {
            trace::about(|| self.label());
        }
        signalling::of_ue(self);
        match work {
            Work::ConnectionLost => self.connection_lost().await,
            Work::Expired => implicit_deregistration::timer_expired(self).await,
            Work::Nas(inbound) => self.nas(*inbound).await,
            Work::Event(Event::Initial(message)) => {
                if let Some(inbound) = initial_ue_message::run(self, message).await {
                    self.nas(inbound).await;
                }
            }
            Work::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                self.uplink(message).await
            }
            Work::Event(Event::Uplink { .. }) => {}
            Work::Event(Event::PathSwitch(gnb, request)) => {
                xn_handover::run(self, gnb, *request).await
            }
            Work::Event(Event::Transfer(transfer)) => {
                transfer.origin.clone().adopt();
                n1_n2_message_transfer::run(self, *transfer).await;
            }
            Work::Event(Event::Subscribe(data, answer)) => {
                // A consumer that has timed out cannot end the subscription, so it is removed.
                if let Err(Ok(made)) = answer.send(positioning_transport::subscribe(self, *data)) {
                    let _ =
                        positioning_transport::unsubscribe(self, &made.n1n2_notify_subscription_id);
                }
            }
            Work::Event(Event::Unsubscribe(id, answer)) => {
                let _ = answer.send(positioning_transport::unsubscribe(self, &id));
            }
            Work::Event(Event::SessionStatus { psi, number, notification }) => {
                if let Err(stop) = sm_context_status::run(self, psi, number, &notification).await {
                    self.handle_stop(stop).await;
                }
            }
            Work::Event(Event::PolicyUpdate(update)) => self.policy_updated(*update),
            Work::Event(Event::PolicyTerminated) => self.policy_terminated().await,
            Work::Event(Event::Deregister(reason, done)) => {
                deregistration::by_udm(self, reason).await;
                self.persist();
                let _ = done.map(|done| done.send(()));
            }
            Work::Event(Event::SubscriptionChanged) => subscription_change::run(self).await,
            Work::Event(Event::Replaced(answer)) => {
                self.give_sessions(answer).await;
                implicit_deregistration::replaced(self).await;
            }
            Work::Event(Event::Locate(asked, answer)) => {
                let located = location_reporting::run(self, &asked).await;
                let _ = answer.send(located);
            }
            // The requesting AMF has timed out: the context stays here unchanged.
            Work::Event(Event::ContextTransfer(.., answer)) if answer.is_closed() => {}
            Work::Event(Event::ContextTransfer(asked, nas, answer)) => {
                let before = (self.context_transfer, self.idle);
                let given = match amf_load_rebalancing::before_transfer(self, &asked).await {
                    Ok(()) => ue_context_transfer::transfer_to(self, &asked, nas.as_ref()),
                    Err(problem) => Err(problem),
                };
                if answer.send(given).is_err() {
                    (self.context_transfer, self.idle) = before;
                }
            }
            Work::Event(Event::ContextTransferred(update, answer)) => {
                let concluded = ue_context_transfer::concluded(self, *update).await;
                let _ = answer.send(concluded);
            }
            Work::Event(Event::HandoverFromAmf(body, answer)) => {
                inter_amf_target::run(self, *body, answer).await
            }
            Work::Event(Event::RegistrationFromAmf(body, answer)) => {
                if let Some(inbound) = amf_reallocation::accept(self, *body, answer).await {
                    general_registration::run(self, inbound).await;
                    self.reallocation = Reallocation::None;
                }
            }
            // The task acts on these after each event.
            Work::Event(
                Event::HandoverReleased
                | Event::HandoverCompleted
                | Event::SubscriptionsChanged
                | Event::Taken,
            ) => {}
            Work::Event(Event::Operator(request, answer)) => {
                // A caller that has timed out is not served any more.
                if !answer.is_closed() {
                    operator::run(self, request, answer).await;
                }
            }
            Work::Event(Event::Rebalance) => amf_load_rebalancing::of_ue(self).await,
            Work::Event(Event::PlannedRemoval) => planned_removal::of_ue(self).await,
            Work::Event(Event::Evicted) => {
                if matches!(self.idle, Some(Idle::Deregistered(_))) {
                    self.idle = Some(Idle::Deregistered(Instant::now()));
                }
            }
        }
    }

    /// A NAS message while no procedure runs.
    async fn nas(&mut self, inbound: Inbound) {
        use Nas5gmmMessage::*;
        let Nas5gsMessage::Gmm(_, message) = &inbound.message else {
            return metrics::nas_error("state");
        };
        let may_start = unverified::may_start(&inbound, self.is_exchange_secure());
        if let Some(case) = unverified::case(&inbound.message).filter(|_| !inbound.is_verified()) {
            let (gnb, clause, then) = (self.gnb(), case.clause, case.then);
            tracing::debug!(gnb, clause, then, may_start, "unverified NAS message");
        }
        if inbound.is_verified() {
            initial_ue_message::confirm_guti(self, message);
        }
        match message {
            RegistrationRequest(_) if may_start => general_registration::run(self, inbound).await,
            ServiceRequest(_) if may_start => service_request::run(self, inbound).await,
            DeregistrationRequestUeOriginating(_) if may_start => {
                deregistration::by_ue(self, inbound).await
            }
            UlNasTransport(_) if inbound.is_verified() && self.is_registered() => {
                ul_nas_transport::run(self, inbound).await
            }
            FiveGmmStatus(status) => self.log_5gmm_status(status.fgmm_cause.cause_raw()),
            ConfigurationUpdateComplete(_)
                if inbound.is_verified() && self.is_registered() && self.tolerates_complete() => {}
            _ => {
                metrics::nas_error("state");
                if let Some(suppressed) = martlet_log_limit::line("nas_state", self.gnb_address()) {
                    let text = inbound.message.to_string();
                    tracing::warn!(
                        supi = self.label(),
                        gnb = self.gnb(),
                        nas = text,
                        suppressed,
                        "unexpected NAS message"
                    );
                }
                if inbound.is_verified() {
                    let cause = martlet_nas::GmmCause::MessageTypeNotCompatibleWithTheProtocolState;
                    let _ = self.send_5gmm_status(cause).await;
                }
                // An unknown UE cannot start with this message.
                if !self.is_registered() && inbound.assurance != Assurance::Plain || self.is_new() {
                    ue_context_release::run(self, Cause::nas(CauseNas::unspecified));
                }
            }
        }
    }

    /// An NGAP message while no procedure runs.
    async fn uplink(&mut self, message: Uplink) {
        match message {
            Uplink::Nas { nas, location } => {
                self.update_location(location);
                if let Some(inbound) = self.open(&nas).await {
                    self.nas(inbound).await;
                }
            }
            Uplink::ReleaseRequest { cause, sessions } => {
                let is_inactive = cause == Cause::radioNetwork(CauseRadioNetwork::user_inactivity);
                if is_inactive && self.amf.rebalancing.is_running() {
                    // Without a connection after it, nothing is released.
                    amf_load_rebalancing::prepare(self).await;
                }
                an_release::run(self, cause, sessions).await;
                amf_load_rebalancing::released(self);
            }
            Uplink::SessionNotify { changed, released } => {
                pdu_session_resource_notify::run(self, changed, released).await;
            }
            Uplink::SessionModifyIndication(sessions) => {
                pdu_session_resource_modify_indication::run(self, sessions).await;
            }
            Uplink::HandoverRequired(required) => {
                if let Err(stop) = n2_handover::run(self, *required).await {
                    self.handle_stop(stop).await;
                }
            }
            Uplink::HandoverCancel(_) => handover_cancel::acknowledge(self).await,
            other => {
                if let Err(stop) = self.handle_unsolicited_ngap(other) {
                    self.handle_stop(stop).await;
                }
            }
        }
    }

    /// Ends the task; remaining events go to a new context.
    async fn shut_down(mut self: Box<Self>) {
        self.task.inbox.close();
        while let Some(event) = self.task.inbox.try_recv() {
            match event {
                Event::Initial(message) => initial_ue_message::move_to_new_context(&self, *message),
                Event::Replaced(answer) => self.give_sessions(answer).await,
                Event::PathSwitch(gnb, request) => {
                    let cause = CauseRadioNetwork::unknown_local_UE_NGAP_ID;
                    xn_handover::reject(&gnb, &request, cause).await;
                }
                _ => {}
            }
        }
        self.release_all_sessions(Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
        implicit_deregistration::purge(&mut self).await;
        self.remove_persisted();
    }
}
