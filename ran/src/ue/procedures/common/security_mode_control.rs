//! Security mode control (TS 24.501, 5.4.2).
use crate::ue::action::Abort;
use crate::ue::nas::UeNas;
use crate::ue::timers::Timer;
use martlet_nas::{
    CipheringAlgorithm, Direction, GmmCause, IntegrityAlgorithm, Nas5gmmMessage, Nas5gsMessage,
    NasFGmmCause, NasFGsMobileIdentity, NasMessageContainer, NasSecurityModeCommand,
    NasSecurityModeComplete, NasSecurityModeReject,
};

impl UeNas {
    /// A message with security header type 3, which only SECURITY MODE COMMAND has. Its MAC is
    /// checked with the new context, which is activated only if the whole message is acceptable.
    pub(crate) fn security_mode_command(&mut self, nas: &[u8]) {
        let command = match Nas5gsMessage::decode(nas) {
            Ok(Nas5gsMessage::SecurityProtected(_, inner)) => match *inner {
                Nas5gsMessage::Gmm(_, Nas5gmmMessage::SecurityModeCommand(command)) => command,
                other => return self.discard(format!("under security header type 3: {other}")),
            },
            Ok(_) => return self.discard("security header type 3 without a message"),
            Err(error) => return self.discard(format!("SECURITY MODE COMMAND: {error}")),
        };
        if let Err(cause) = self.accept_security_mode(nas, &command) {
            self.security_mode_reject(cause);
        }
    }

    fn accept_security_mode(
        &mut self,
        nas: &[u8],
        command: &NasSecurityModeCommand,
    ) -> Result<(), GmmCause> {
        const UNSPECIFIED: GmmCause = GmmCause::SecurityModeRejectedUnspecified;
        let algorithms = &command.selected_nas_security_algorithms;
        let (Some(nea), Some(nia)) = (algorithms.ciphering(), algorithms.integrity()) else {
            return Err(UNSPECIFIED);
        };
        self.check_algorithms(nea, nia)?;
        let derived =
            command.additional_5g_security_information.as_ref().is_some_and(|info| info.hdp());
        let candidate = self.security.candidate(command.ngksi.ksi(), nea, nia, derived);
        let Ok(Some(mut candidate)) = candidate else { return Err(UNSPECIFIED) };
        if candidate.context.unprotect(nas, Direction::Downlink).is_err() {
            return Err(UNSPECIFIED);
        }
        if !self.replayed_as_sent(&command.replayed_ue_security_capabilities.value) {
            return Err(GmmCause::UeSecurityCapabilitiesMismatch);
        }
        if !self.eap_is_complete(command.eap_message.as_ref()) {
            return Err(UNSPECIFIED);
        }
        self.awaits_eap_success = false;
        self.timers.stop(Timer::T3516);
        self.challenge = None;
        self.security.activate(candidate);
        let complete = self.security_mode_complete(command).map_err(|_| UNSPECIFIED)?;
        match self.security.protect_security_mode_complete(&complete) {
            Ok(nas) => self.push_send(nas, None),
            Err(error) => self.discard(format!("SECURITY MODE COMPLETE not sent: {error}")),
        }
        Ok(())
    }

    /// Checks that the UE supports the algorithms. NIA0 is for emergency services only (TS 24.501,
    /// 5.4.2.3 and 4.4.4.1).
    fn check_algorithms(
        &self,
        nea: CipheringAlgorithm,
        nia: IntegrityAlgorithm,
    ) -> Result<(), GmmCause> {
        let (nea, nia) = (nea as u8, nia as u8);
        let null_integrity = nia == 0 && !self.config.null_integrity_allowed;
        if null_integrity
            || !self.security_capability.supports_ia(nia)
            || !self.security_capability.supports_ea(nea)
        {
            return Err(GmmCause::SecurityModeRejectedUnspecified);
        }
        Ok(())
    }

    /// Whether the replayed security capability equals the sent one. Octets that only one of them
    /// has must be zero.
    fn replayed_as_sent(&self, replayed: &[u8]) -> bool {
        let sent: &[u8] = &self.security_capability.value;
        (0..sent.len().max(replayed.len()))
            .all(|i| sent.get(i).copied().unwrap_or(0) == replayed.get(i).copied().unwrap_or(0))
    }

    fn security_mode_complete(
        &mut self,
        command: &NasSecurityModeCommand,
    ) -> Result<Nas5gsMessage, martlet_nas::NasError> {
        let mut complete = NasSecurityModeComplete::new();
        if command.imeisv_request.as_ref().is_some_and(|request| request.is_requested()) {
            complete.set_imeisv(NasFGsMobileIdentity::from_imeisv(&self.config.imeisv)?);
        }
        let asked =
            command.additional_5g_security_information.as_ref().is_some_and(|info| info.rinmr());
        let container = match (&self.registration, &self.service_request) {
            (Some(registration), _) if registration.only_cleartext_sent || asked => {
                Some(&registration.complete)
            }
            (None, Some(service)) if asked => Some(&service.complete),
            _ => None,
        };
        if let Some(initial) = container {
            complete.set_nas_message_container(NasMessageContainer::from_nas_message(initial)?);
        }
        Ok(Nas5gsMessage::new_5gmm(complete))
    }

    /// Sends SECURITY MODE REJECT with the previous context, or plain without one (5.4.2.5).
    fn security_mode_reject(&mut self, cause: GmmCause) {
        let reject = NasSecurityModeReject::new(NasFGmmCause::from_cause(cause));
        self.send(&Nas5gsMessage::new_5gmm(reject));
        self.abort_registration(Abort::SecurityModeRejected(cause.as_u8()));
        self.abort_service_request(Abort::SecurityModeRejected(cause.as_u8()));
    }
}
