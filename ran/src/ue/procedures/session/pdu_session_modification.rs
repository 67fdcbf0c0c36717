//! PDU session modification: ordered by the network (TS 24.501, 6.3.2), and asked for by the UE
//! (6.4.2).
use crate::ue::action::{Event, SessionCause};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::procedures::common::nas_transport::ul_nas_transport;
use crate::ue::procedures::session::pdu_session::SessionState;
use crate::ue::procedures::session::pdu_session_establishment::{take_flows, take_rules};
use crate::ue::timers::Timer;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasAlwaysOnPduSessionRequested, NasPduSessionModificationCommand,
    NasPduSessionModificationComplete, NasPduSessionModificationReject,
    NasPduSessionModificationRequest, NasQosFlowDescriptions, NasQosRules, QosFlowDescription,
    QosRule,
};
use std::time::Instant;

/// What a UE asks to have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModificationRequest {
    /// Operations on QoS rules; a new rule has the identifier 0.
    pub rules: Vec<QosRule>,
    /// Operations on QoS flows; a new flow has the identifier 0.
    pub flows: Vec<QosFlowDescription>,
    /// Whether it asks for the session to be always on.
    pub always_on: bool,
}

/// A request that is not answered yet.
pub(crate) struct Modifying {
    pti: u8,
    request: Nas5gsMessage,
    sent: u8,
}

impl UeNas {
    /// Ask the network to change a session. An idle UE asks for service first.
    ///
    /// # Errors
    /// There is no such session, a procedure for it is underway, or a rule does not encode.
    pub fn modify_session(
        &mut self,
        psi: u8,
        wanted: &ModificationRequest,
        now: Instant,
    ) -> Result<(), NasRefused> {
        let pti = self.next_pti();
        let Some(session) = self.session_mut(psi) else { return Err(NasRefused::NoSession(psi)) };
        if !matches!(session.state, SessionState::Active) || session.modifying.is_some() {
            return Err(NasRefused::Busy("another procedure for the PDU session"));
        }
        let wrong = |error: martlet_nas::ValueError| NasRefused::Message(error.to_string());
        let mut request = NasPduSessionModificationRequest::new();
        if !wanted.rules.is_empty() {
            request.set_requested_qos_rules(NasQosRules::from_rules(&wanted.rules).map_err(wrong)?);
        }
        if !wanted.flows.is_empty() {
            let flows = NasQosFlowDescriptions::from_descriptions(&wanted.flows).map_err(wrong)?;
            request.set_requested_qos_flow_descriptions(flows);
        }
        if wanted.always_on {
            request.set_always_on_pdu_session_requested(NasAlwaysOnPduSessionRequested::from_apsr(
                true,
            ));
        }
        let transport = ul_nas_transport(&Nas5gsMessage::new_5gsm(request, psi, pti), psi)?;
        let transport = Nas5gsMessage::new_5gmm(transport);
        self.send_when_connected(&transport, now)?;
        if let Some(session) = self.session_mut(psi) {
            session.modifying = Some(Modifying { pti, request: transport, sent: 1 });
        }
        self.timers.start(Timer::T3581(psi), now + self.config.timers.t3581);
        Ok(())
    }

    pub(crate) fn modification_command(
        &mut self,
        psi: u8,
        pti: u8,
        command: &NasPduSessionModificationCommand,
    ) {
        if self.config.modifications_lost > 0 {
            self.config.modifications_lost -= 1;
            return self.discard("PDU SESSION MODIFICATION COMMAND, which is lost on its way");
        }
        let Some(session) = self.session_mut(psi) else {
            self.discard(format!(
                "PDU SESSION MODIFICATION COMMAND for session {psi}, which does not exist"
            ));
            return self.send_sm_status(psi, pti, GsmCause::InvalidPduSessionIdentity);
        };
        // The network's own change ends what the UE asked for (6.3.2.5 c).
        let own = session.modifying.take();
        let collided = own.as_ref().is_some_and(|own| own.pti != pti);
        if let Some(ambr) = &command.session_ambr {
            session.info.ambr_kbps = ambr.downlink_kbps().zip(ambr.uplink_kbps());
        }
        if let Some(rules) = &command.authorized_qos_rules {
            take_rules(&mut session.info, rules);
        }
        if let Some(descriptions) = &command.authorized_qos_flow_descriptions {
            take_flows(&mut session.info, descriptions);
        }
        if let Some(indication) = &command.always_on_pdu_session_indication {
            session.info.always_on = indication.apsi();
        }
        if let Some(rules) = &command.authorized_qos_rules
            && let Some(qfi) = rules.rules().iter().find(|rule| rule.dqr).and_then(|rule| rule.qfi)
        {
            session.info.default_qfi = Some(qfi);
        }
        let complete = Nas5gsMessage::new_5gsm(NasPduSessionModificationComplete::new(), psi, pti);
        self.send_sm(&complete, psi);
        if own.is_some() {
            self.timers.stop(Timer::T3581(psi));
        }
        if collided {
            self.event(Event::SessionModificationRejected { psi, cause: SessionCause::Collision });
        }
        self.event(Event::SessionModified { psi, asked: own.is_some() && !collided });
    }

    pub(crate) fn modification_reject(
        &mut self,
        psi: u8,
        pti: u8,
        reject: &NasPduSessionModificationReject,
    ) {
        let cause = reject.fgsm_cause.cause_raw();
        let asked = self
            .session_mut(psi)
            .filter(|s| s.modifying.as_ref().is_some_and(|own| own.pti == pti));
        let Some(session) = asked else {
            self.discard(format!(
                "PDU SESSION MODIFICATION REJECT for session {psi} with PTI {pti}, not in use"
            ));
            return self.send_sm_status(psi, pti, GsmCause::PtiMismatch);
        };
        session.modifying = None;
        self.timers.stop(Timer::T3581(psi));
        self.event(Event::SessionModificationRejected { psi, cause: SessionCause::Sm(cause) });
        // The network has no such session (6.4.2.4.1).
        if cause == GsmCause::InvalidPduSessionIdentity.as_u8()
            && self.remove_session(psi).is_some()
        {
            self.event(Event::SessionReleased { psi, cause: SessionCause::Sm(cause) });
        }
    }

    pub(crate) fn t3581_expired(&mut self, psi: u8, now: Instant) {
        let (retransmissions, t3581) =
            (self.config.timers.retransmissions, self.config.timers.t3581);
        let Some(session) = self.session_mut(psi) else { return };
        let Some(own) = &mut session.modifying else { return };
        if own.sent > retransmissions {
            session.modifying = None;
            return self
                .event(Event::SessionModificationRejected { psi, cause: SessionCause::Timeout });
        }
        own.sent += 1;
        let request = own.request.clone();
        self.timers.start(Timer::T3581(psi), now + t3581);
        if let Err(error) = self.send_when_connected(&request, now) {
            self.discard(format!("PDU SESSION MODIFICATION REQUEST was not sent again: {error}"));
        }
    }
}
