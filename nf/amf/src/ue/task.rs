//! A UE's task: one thing after the other, each by its procedure.
use super::inbox::Came;
use super::{Event, Idle, InitialMessage, Stop, Ue, Work};
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::procedures::connection::{
    an_release, n1_n2_message_transfer, nas_transport, service_request, ue_context_release,
};
use crate::procedures::handover::{inter_amf_target, n2_handover, xn_handover};
use crate::procedures::positioning::{event_exposure, location_reporting, positioning_transport};
use crate::procedures::registration::{
    amf_reallocation, amf_set_takeover, deregistration, general_registration,
    implicit_deregistration, nas_rekeying, ue_context_transfer,
};
use crate::procedures::session::{
    pdu_session_resource_modify_indication, pdu_session_resource_notify, sm_context_status,
};
use martlet_nas::inbound::{self, Assurance, Inbound};
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_ngap::ngap::{Cause, CauseNas, CauseRadioNetwork};
use martlet_sbi::trace::{self, Origin};
use martlet_sbi_api::nsmf_pdusession;
use std::time::Instant;

impl Ue {
    /// Runs until nothing of the UE is worth keeping.
    pub async fn run(mut self) {
        while !self.is_finished() {
            let Some(work) = self.next_work().await else { continue };
            // On the heap while it lasts, so that the task of an idle UE is small.
            Box::pin(self.act(work)).await;
            if self.waiting.is_empty() && nas_rekeying::is_due(&self) {
                Box::pin(nas_rekeying::run(&mut self)).await;
            }
            (self.began_with, self.began_as) = (None, None);
            event_exposure::check(&mut self).await;
            self.rest();
            self.publish();
            self.keep();
        }
        Box::pin(self.leave()).await;
    }

    /// Nothing of the UE is worth keeping. A task that has just begun waits for the message for
    /// which it was made.
    fn is_finished(&self) -> bool {
        self.begun
            && self.connection.is_none()
            && !self.registered
            && self.idle.is_none()
            && self.waiting.is_empty()
    }

    async fn next_work(&mut self) -> Option<Work> {
        if let Some(work) = self.waiting.pop_front() {
            return Some(work);
        }
        if let Some(nas) = self.set_aside.pop_front() {
            return self.open(&nas).await.map(|inbound| Work::Nas(inbound.into()));
        }
        let until = self.idle.map(Idle::until);
        Some(match self.next(until).await {
            Came::Event(event) => Work::Event(event),
            Came::Lost => Work::ConnectionLost,
            Came::TargetLost => return None,
            Came::Nothing => Work::Expired,
        })
    }

    async fn act(&mut self, work: Work) {
        self.begun = true;
        Origin::default().adopt();
        if self.supi.is_some() {
            trace::about(|| self.label());
        }
        match work {
            Work::ConnectionLost => self.connection_lost().await,
            Work::Expired => implicit_deregistration::timer_expired(self).await,
            Work::Nas(inbound) => self.nas(*inbound).await,
            Work::Event(Event::Initial(message)) => self.initial(*message).await,
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
                // One that has given up would not know how to end it.
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
                    self.conclude(stop).await;
                }
            }
            Work::Event(Event::PolicyUpdate(update)) => self.policy_updated(*update),
            Work::Event(Event::PolicyTerminated) => self.policy_terminated().await,
            Work::Event(Event::Deregister(reason)) => deregistration::by_udm(self, reason).await,
            Work::Event(Event::SubscriptionChanged) => self.subscription_changed().await,
            Work::Event(Event::Replaced(answer)) => {
                let sessions = std::mem::take(&mut self.sessions).into_iter().collect();
                let _ = answer.send(sessions);
                implicit_deregistration::replaced(self).await;
            }
            Work::Event(Event::Locate(asked, answer)) => {
                let located = location_reporting::run(self, &asked).await;
                let _ = answer.send(located);
            }
            // Who has given up by now does not have the context: it stays, as if nothing had been
            // asked.
            Work::Event(Event::ContextTransfer(.., answer)) if answer.is_closed() => {}
            Work::Event(Event::ContextTransfer(asked, nas, answer)) => {
                let before = (self.given, self.idle);
                if answer.send(ue_context_transfer::give(self, &asked, nas.as_ref())).is_err() {
                    (self.given, self.idle) = before;
                }
            }
            Work::Event(Event::ContextTransferred(update, answer)) => {
                ue_context_transfer::concluded(self, *update).await;
                let _ = answer.send(());
            }
            Work::Event(Event::HandoverFromAmf(body, answer)) => {
                inter_amf_target::run(self, *body, answer).await
            }
            Work::Event(Event::Rerouted(body, answer)) => {
                amf_reallocation::taken(self, *body, answer).await
            }
            // What follows from it is looked at after everything that a task has done.
            Work::Event(
                Event::HandoverGivenUp | Event::Arrived | Event::Watched | Event::Taken,
            ) => {}
            Work::Event(Event::Evicted) => {
                if matches!(self.idle, Some(Idle::Deregistered(_))) {
                    self.idle = Some(Idle::Deregistered(Instant::now()));
                }
            }
        }
    }

    /// A procedure did not reach its end: what comes next.
    pub async fn conclude(&mut self, stop: Stop) {
        match stop {
            Stop::ConnectionLost => self.connection_lost().await,
            Stop::Preempted(work) => self.waiting.push_front(work),
            _ => {}
        }
    }

    /// A UE that says it is this one. Only a message that passes the integrity check proves it;
    /// anybody else is taken for a UE that is not known, and changes nothing here.
    async fn initial(&mut self, message: InitialMessage) {
        let context = self.security.as_mut().map(|security| &mut security.nas);
        let opened = inbound::from_ue(context, false, &message.nas);
        let proved = opened.as_ref().is_ok_and(Inbound::is_verified);
        let unknown = self.is_new() && self.connection.is_none();
        if !proved && !unknown {
            return self.hand_over(message);
        }
        if self.connection.is_some() {
            // The UE has come back by another way: the old one is released (TS 23.502, 4.2.2.2.2,
            // step 3).
            self.deactivate_all(None).await;
            let cause = CauseRadioNetwork::release_due_to_cn_detected_mobility;
            ue_context_release::run(self, Cause::radioNetwork(cause));
        }
        self.connection = Some(message.connection);
        self.secured = proved;
        self.idle = None;
        (self.began_with, self.began_as) = (Some(message.nas.clone()), Some(message.whole));
        (self.stays, self.sent_on) = (message.sent_on, None);
        self.publish();
        let mut opened = opened;
        if unknown
            && let Some(inbound) = Box::pin(amf_set_takeover::by_ue(self, &message.nas)).await
        {
            self.secured = true;
            self.publish();
            opened = Ok(inbound);
        }
        match opened {
            Ok(inbound) => self.nas(inbound).await,
            Err(refused) => {
                metrics::nas_error(refused.reason.label());
                tracing::warn!(supi = self.label(), gnb = self.gnb(), %refused, "an initial NAS message is not acted on");
                if let Some(answer) = refused.answer {
                    let _ = self.send_nas(&answer).await;
                }
                ue_context_release::run(self, Cause::nas(CauseNas::unspecified));
            }
        }
    }

    /// Gives a connection to the task of a UE that is not known.
    fn hand_over(&mut self, message: InitialMessage) {
        tracing::info!(
            supi = self.label(),
            gnb = message.connection.gnb.label(),
            "a UE names this one's 5G-GUTI and does not prove it: it is taken for another"
        );
        let Some(handle) = self.amf.new_ue() else { return metrics::dropped("initial_ue_message") };
        self.amf.tables.redirect(message.connection.amf_id, &handle);
        let _ = handle.sender.try_send(Event::Initial(message.into()));
    }

    /// A NAS message while no procedure is at work.
    async fn nas(&mut self, inbound: Inbound) {
        use Nas5gmmMessage::*;
        let Nas5gsMessage::Gmm(_, message) = &inbound.message else {
            return metrics::nas_error("state");
        };
        match message {
            RegistrationRequest(_) => general_registration::run(self, inbound).await,
            ServiceRequest(_) => service_request::run(self, inbound).await,
            DeregistrationRequestUeOriginating(_) => deregistration::by_ue(self, inbound).await,
            UlNasTransport(_) if inbound.is_verified() && self.registered => {
                nas_transport::uplink(self, inbound).await
            }
            FiveGmmStatus(status) => self.status_received(status.fgmm_cause.cause_raw()),
            _ => {
                metrics::nas_error("state");
                let text = inbound.message.to_string();
                tracing::warn!(
                    supi = self.label(),
                    gnb = self.gnb(),
                    message = text,
                    "a NAS message that fits nowhere"
                );
                if inbound.is_verified() {
                    let cause = martlet_nas::GmmCause::MessageTypeNotCompatibleWithTheProtocolState;
                    let _ = self.send_status(cause).await;
                }
                // What an unknown UE begins with that is no beginning leads nowhere.
                if !self.registered && inbound.assurance != Assurance::Plain || self.is_new() {
                    ue_context_release::run(self, Cause::nas(CauseNas::unspecified));
                }
            }
        }
    }

    /// What the gNB says while no procedure is at work.
    async fn uplink(&mut self, message: Uplink) {
        match message {
            Uplink::Nas { nas, location } => {
                self.moved(location);
                if let Some(inbound) = self.open(&nas).await {
                    self.nas(inbound).await;
                }
            }
            Uplink::ReleaseRequest { cause, sessions } => {
                an_release::run(self, cause, sessions).await
            }
            Uplink::SessionNotify { changed, released } => {
                pdu_session_resource_notify::run(self, changed, released).await;
            }
            Uplink::SessionModifyIndication(sessions) => {
                pdu_session_resource_modify_indication::run(self, sessions).await;
            }
            Uplink::HandoverRequired(required) => n2_handover::run(self, *required).await,
            Uplink::HandoverCancel(_) => n2_handover::acknowledge_cancel(self).await,
            other => {
                if let Err(stop) = self.note(other) {
                    self.conclude(stop).await;
                }
            }
        }
    }

    /// The connection, or its gNB, is gone: a registered UE is idle, another is forgotten.
    pub async fn connection_lost(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let (supi, gnb) = (self.label(), connection.gnb.label());
        tracing::info!(supi, gnb, registered = self.registered, "the UE's connection is lost");
        self.last_location = Some(connection.location);
        drop(connection);
        self.secured = false;
        self.set_aside.clear();
        self.publish();
        let radio_lost = Cause::radioNetwork(CauseRadioNetwork::radio_connection_with_ue_lost);
        self.deactivate_all(crate::served::cause_to_sbi(&radio_lost)).await;
    }

    /// Starts the timer that an idle UE has.
    pub fn rest(&mut self) {
        let timers = &self.amf.config.timers;
        self.idle = match self.idle {
            _ if self.connection.is_some() => None,
            None if self.registered && self.t3512 == 0 => None,
            None if self.registered => {
                Some(Idle::Reachable(Instant::now() + timers.mobile_reachable(self.t3512)))
            }
            Some(Idle::Reachable(_) | Idle::Unreachable(_)) | None if !self.registered => {
                let worth_keeping =
                    self.security.is_some() && self.guti.is_some() && timers.deregistered_s > 0;
                worth_keeping.then(|| Idle::Deregistered(Instant::now() + timers.deregistered()))
            }
            idle => idle,
        };
    }

    /// The task ends: what still comes is for others.
    async fn leave(mut self) {
        self.inbox.close();
        while let Ok(event) = self.inbox.try_recv() {
            match event {
                Event::Initial(message) => self.hand_over(*message),
                Event::Replaced(answer) => {
                    let _ = answer.send(std::mem::take(&mut self.sessions).into_iter().collect());
                }
                Event::PathSwitch(gnb, request) => {
                    let cause = CauseRadioNetwork::unknown_local_UE_NGAP_ID;
                    xn_handover::refuse(&gnb, &request, cause).await;
                }
                _ => {}
            }
        }
        self.release_all_sessions(Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
        implicit_deregistration::purge(&mut self).await;
        self.erase();
    }
}
