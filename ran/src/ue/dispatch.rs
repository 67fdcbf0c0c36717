//! Dispatches NAS messages, timer expiries and the release of the connection to procedures.
use super::mm_state::{CmState, MmState};
use super::nas::UeNas;
use super::timers::Timer;
use martlet_nas::{
    Direction, MobileIdentityType, Nas5gmmMessage, Nas5gsMessage, Nas5gsSecurityHeaderType,
    NasError, RegistrationType,
};
use std::time::Instant;

impl UeNas {
    /// Deletes the 5G-GUTI and the security contexts, as a new USIM does: the next registration
    /// uses a SUCI.
    pub fn forget_registration(&mut self) {
        self.leave_registered();
        self.guti = None;
        self.security.delete();
        self.challenge = None;
        self.enter(MmState::Deregistered);
    }

    /// Handles every timer that has expired at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.expired(now) {
            match timer {
                Timer::T3510 => self.t3510_expired(now),
                Timer::T3511 => self.t3511_expired(now),
                Timer::T3512 => self.t3512_expired(now),
                Timer::T3516 => self.challenge = None,
                Timer::T3517 => self.t3517_expired(),
                Timer::T3520 => self.t3520_expired(),
                Timer::T3521 => self.t3521_expired(now),
                Timer::T3540 => self.release_connection(),
                Timer::T3580(psi) => self.t3580_expired(psi, now),
                Timer::T3581(psi) => self.t3581_expired(psi, now),
                Timer::T3582(psi) => self.t3582_expired(psi, now),
            }
        }
    }

    /// The lower layers have released the connection: the UE enters 5GMM-IDLE.
    pub fn connection_released(&mut self, now: Instant) {
        if !self.is_connected() {
            return;
        }
        self.cm_state = CmState::Idle;
        self.security.connection_released();
        self.timers.stop(Timer::T3540);
        self.timers.stop(Timer::T3520);
        self.registration_lost_connection();
        self.service_request_lost_connection();
        self.deregistration_lost_connection();
        self.sessions_lost_connection();
        if std::mem::take(&mut self.registration_requested)
            && self.mm_state.is_registered()
            && let Err(error) = self.register(RegistrationType::MobilityRegistrationUpdating, now)
        {
            self.discard(format!("requested registration not sent: {error}"));
        }
        if self.mm_state.is_registered()
            && let Some(period) = self.t3512
        {
            self.timers.start(Timer::T3512, now + period);
        }
    }

    /// Handles a NAS message from the AMF.
    pub fn receive(&mut self, nas: &[u8], now: Instant) {
        let Some(header) = nas.get(1) else { return self.discard("message of one byte") };
        match Nas5gsSecurityHeaderType::try_from(header & 0x0f) {
            Ok(Nas5gsSecurityHeaderType::PlainFiveGsNasMessageNotSecurityProtected) => {
                self.receive_plain(nas, now)
            }
            Ok(Nas5gsSecurityHeaderType::IntegrityProtectedWithNewFiveGNasSecurityContext) => {
                self.security_mode_command(nas);
            }
            Ok(
                Nas5gsSecurityHeaderType::IntegrityProtected
                | Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
            ) => self.receive_protected(nas, now),
            _ => self.discard(format!("security header type {}", header & 0x0f)),
        }
    }

    /// Handles a protected message. Once the exchange is secure, the network ciphers all messages
    /// (TS 24.501, 4.4.5).
    fn receive_protected(&mut self, nas: &[u8], now: Instant) {
        let secured = self.security.secured;
        match self.security.unprotect(nas) {
            Ok(verified) => {
                let header = verified.security_header_type;
                match secured && header == Nas5gsSecurityHeaderType::IntegrityProtected {
                    true => self.discard(format!("not ciphered: {}", verified.message)),
                    false => self.handle(verified.message, now),
                }
            }
            Err(error @ NasError::AuthenticMessageRefused { .. }) => {
                self.answer_refused(nas, &error)
            }
            Err(error) => self.discard(format!("protected message: {error}")),
        }
    }

    /// Handles an unprotected message: few are allowed, and none once messages are protected (TS
    /// 24.501, 4.4.4.2).
    fn receive_plain(&mut self, nas: &[u8], now: Instant) {
        let message = match Nas5gsMessage::decode(nas) {
            Ok(message) => message,
            Err(error) => return self.answer_refused(nas, &error),
        };
        let allowed = match &message {
            Nas5gsMessage::Gmm(_, inner) => match inner {
                Nas5gmmMessage::IdentityRequest(request) => {
                    request.identity_type.identity_type() == Some(MobileIdentityType::Suci)
                }
                Nas5gmmMessage::AuthenticationRequest(_)
                | Nas5gmmMessage::AuthenticationResult(_)
                | Nas5gmmMessage::AuthenticationReject(_)
                | Nas5gmmMessage::RegistrationReject(_)
                | Nas5gmmMessage::DeregistrationAcceptUeOriginating(_)
                | Nas5gmmMessage::ServiceReject(_) => true,
                _ => false,
            },
            _ => false,
        };
        match allowed && !self.security.secured {
            true => self.handle(message, now),
            false => self.discard(format!("not protected: {message}")),
        }
    }

    /// Passes a message to its procedure.
    fn handle(&mut self, message: Nas5gsMessage, now: Instant) {
        let Nas5gsMessage::Gmm(_, message) = message else {
            return self.discard("not a 5GMM message");
        };
        match message {
            Nas5gmmMessage::IdentityRequest(m) => self.identity_request(&m),
            Nas5gmmMessage::AuthenticationRequest(m) => self.authentication_request(&m, now),
            Nas5gmmMessage::AuthenticationReject(_) => self.authentication_reject(),
            Nas5gmmMessage::AuthenticationResult(result) => self.authentication_result(&result),
            Nas5gmmMessage::RegistrationAccept(m) => self.registration_accept(&m),
            Nas5gmmMessage::RegistrationReject(m) => self.registration_reject(&m, now),
            Nas5gmmMessage::DeregistrationAcceptUeOriginating(_) => self.deregistration_accept(now),
            Nas5gmmMessage::DeregistrationRequestUeTerminated(m) => {
                self.network_deregistration(&m, now)
            }
            Nas5gmmMessage::ServiceAccept(m) => self.service_accept(&m),
            Nas5gmmMessage::ServiceReject(m) => self.service_reject(&m, now),
            Nas5gmmMessage::ConfigurationUpdateCommand(m) => self.configuration_update_command(&m),
            Nas5gmmMessage::DlNasTransport(m) => self.dl_nas_transport(&m, now),
            Nas5gmmMessage::FiveGmmStatus(m) => self.mm_status(&m),
            other => {
                self.discard(format!("{:?} is not handled by this UE", other.message_type()));
                self.send_mm_status(martlet_nas::GmmCause::MessageTypeNonExistentOrNotImplemented);
            }
        }
    }

    /// Answers an undecodable message (TS 24.501, clause 7).
    fn answer_refused(&mut self, nas: &[u8], error: &NasError) {
        self.discard(format!("undecodable message: {error}"));
        if let Some(answer) = Nas5gsMessage::answer_to_refused(nas, error, Direction::Downlink) {
            self.send(&answer);
        }
    }
}
