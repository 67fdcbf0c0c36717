//! PDU session release, initiated by the UE (TS 24.501, 6.4.3) or the network (6.3.3).
use crate::ue::action::{Event, SessionCause};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::procedures::common::nas_transport::ul_nas_transport;
use crate::ue::sm_state::{PendingRequest, SessionState};
use crate::ue::timers::Timer;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasPduSessionReleaseCommand, NasPduSessionReleaseComplete,
    NasPduSessionReleaseReject, NasPduSessionReleaseRequest,
};
use std::time::Instant;

impl UeNas {
    /// Requests the release of a session. An idle UE requests service first.
    ///
    /// # Errors
    /// The session does not exist or has a pending procedure.
    pub fn release_session(&mut self, psi: u8, now: Instant) -> Result<(), NasRefused> {
        let pti = self.next_pti();
        let Some(session) = self.session_mut(psi) else { return Err(NasRefused::NoSession(psi)) };
        match session.state {
            SessionState::Active | SessionState::ModificationPending(_) => {}
            SessionState::ActivePending(_) | SessionState::InactivePending(_) => {
                return Err(NasRefused::Busy("another procedure for the PDU session"));
            }
        }
        let request = Nas5gsMessage::new_5gsm(NasPduSessionReleaseRequest::new(), psi, pti);
        let transport = Nas5gsMessage::new_5gmm(ul_nas_transport(&request, psi)?);
        self.send_when_connected(&transport, now)?;
        self.modification_ended(psi, SessionCause::Collision);
        if let Some(session) = self.session_mut(psi) {
            session.pti = pti;
            session.state = SessionState::InactivePending(PendingRequest::new(transport));
        }
        self.timers.start(Timer::T3582(psi), now + self.config.timers.t3582);
        Ok(())
    }

    pub(crate) fn release_command(
        &mut self,
        psi: u8,
        pti: u8,
        command: &NasPduSessionReleaseCommand,
        _now: Instant,
    ) {
        if self.session_mut(psi).is_none() {
            self.discard(format!(
                "PDU SESSION RELEASE COMMAND for session {psi}, which does not exist"
            ));
            return self.send_sm_status(psi, pti, GsmCause::InvalidPduSessionIdentity);
        }
        let complete = Nas5gsMessage::new_5gsm(NasPduSessionReleaseComplete::new(), psi, pti);
        self.send_sm(&complete, psi);
        self.remove_session(psi);
        self.event(Event::SessionReleased {
            psi,
            cause: SessionCause::Sm(command.fgsm_cause.cause_raw()),
        });
    }

    pub(crate) fn release_reject(&mut self, psi: u8, pti: u8, reject: &NasPduSessionReleaseReject) {
        let cause = reject.fgsm_cause.cause_raw();
        let Some(session) = self.session_mut(psi).filter(|s| s.pti == pti) else {
            self.discard(format!(
                "PDU SESSION RELEASE REJECT for session {psi} with PTI {pti}, not in use"
            ));
            return self.send_sm_status(psi, pti, GsmCause::PtiMismatch);
        };
        session.state = SessionState::Active;
        self.timers.stop(Timer::T3582(psi));
        if cause == GsmCause::InvalidPduSessionIdentity.as_u8() {
            self.remove_session(psi);
            return self.event(Event::SessionReleased { psi, cause: SessionCause::Sm(cause) });
        }
        self.event(Event::SessionReleaseRejected { psi, cause: SessionCause::Sm(cause) });
    }

    pub(crate) fn t3582_expired(&mut self, psi: u8, now: Instant) {
        let (retransmissions, t3582) =
            (self.config.timers.retransmissions, self.config.timers.t3582);
        let Some(session) = self.session_mut(psi) else { return };
        let SessionState::InactivePending(pending) = &mut session.state else { return };
        if pending.sent > retransmissions {
            // The UE releases the session locally (6.4.3.6 a).
            self.remove_session(psi);
            return self.event(Event::SessionReleased { psi, cause: SessionCause::Timeout });
        }
        pending.sent += 1;
        let request = pending.message.clone();
        self.timers.start(Timer::T3582(psi), now + t3582);
        if let Err(error) = self.send_when_connected(&request, now) {
            self.discard(format!("PDU SESSION RELEASE REQUEST not retransmitted: {error}"));
        }
    }
}
