//! PDU session modification, initiated by the network (TS 24.501, 6.3.2) or the UE (6.4.2).
use crate::ue::action::{Event, SessionCause};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::procedures::common::nas_transport::ul_nas_transport;
use crate::ue::procedures::session::pdu_session_establishment::{apply_flows, apply_rules};
use crate::ue::sm_state::{ModificationRequest, PendingRequest, SessionState};
use crate::ue::timers::Timer;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasAlwaysOnPduSessionRequested, NasPduSessionModificationCommand,
    NasPduSessionModificationComplete, NasPduSessionModificationReject,
    NasPduSessionModificationRequest, NasQosFlowDescriptions, NasQosRules,
};
use std::time::Instant;

impl UeNas {
    /// Requests the modification of a session. An idle UE requests service first.
    ///
    /// # Errors
    /// The session does not exist or has a pending procedure, or a rule does not encode.
    pub fn modify_session(
        &mut self,
        psi: u8,
        wanted: &ModificationRequest,
        now: Instant,
    ) -> Result<(), NasRefused> {
        let pti = self.next_pti();
        let Some(session) = self.session_mut(psi) else { return Err(NasRefused::NoSession(psi)) };
        if !matches!(session.state, SessionState::Active) {
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
            session.pti = pti;
            session.state = SessionState::ModificationPending(PendingRequest::new(transport));
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
            return self
                .discard("PDU SESSION MODIFICATION COMMAND, which is lost by configuration");
        }
        let Some(session) = self.session_mut(psi) else {
            self.discard(format!(
                "PDU SESSION MODIFICATION COMMAND for session {psi}, which does not exist"
            ));
            return self.send_sm_status(psi, pti, GsmCause::InvalidPduSessionIdentity);
        };
        // A network-requested modification aborts the UE's request (6.3.2.5 c).
        let requested = matches!(session.state, SessionState::ModificationPending(_));
        let collided = requested && session.pti != pti;
        if requested {
            session.state = SessionState::Active;
        }
        if let Some(ambr) = &command.session_ambr {
            session.info.ambr_kbps = ambr.downlink_kbps().zip(ambr.uplink_kbps());
        }
        if let Some(rules) = &command.authorized_qos_rules {
            apply_rules(&mut session.info, rules);
        }
        if let Some(descriptions) = &command.authorized_qos_flow_descriptions {
            apply_flows(&mut session.info, descriptions);
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
        if requested {
            self.timers.stop(Timer::T3581(psi));
        }
        if collided {
            self.event(Event::SessionModificationRejected { psi, cause: SessionCause::Collision });
        }
        self.event(Event::SessionModified { psi, asked: requested && !collided });
    }

    pub(crate) fn modification_reject(
        &mut self,
        psi: u8,
        pti: u8,
        reject: &NasPduSessionModificationReject,
    ) {
        let cause = reject.fgsm_cause.cause_raw();
        let requested = self
            .session_mut(psi)
            .filter(|s| s.pti == pti && matches!(s.state, SessionState::ModificationPending(_)));
        let Some(session) = requested else {
            self.discard(format!(
                "PDU SESSION MODIFICATION REJECT for session {psi} with PTI {pti}, not in use"
            ));
            return self.send_sm_status(psi, pti, GsmCause::PtiMismatch);
        };
        session.state = SessionState::Active;
        self.timers.stop(Timer::T3581(psi));
        self.event(Event::SessionModificationRejected { psi, cause: SessionCause::Sm(cause) });
        // The network does not have the session (6.4.2.4.1).
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
        let SessionState::ModificationPending(pending) = &mut session.state else { return };
        if pending.sent > retransmissions {
            session.state = SessionState::Active;
            return self
                .event(Event::SessionModificationRejected { psi, cause: SessionCause::Timeout });
        }
        pending.sent += 1;
        let request = pending.message.clone();
        self.timers.start(Timer::T3581(psi), now + t3581);
        if let Err(error) = self.send_when_connected(&request, now) {
            self.discard(format!("PDU SESSION MODIFICATION REQUEST not retransmitted: {error}"));
        }
    }
}
