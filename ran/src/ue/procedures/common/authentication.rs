//! Primary authentication: 5G AKA (TS 24.501, 5.4.1.3; TS 33.501, 6.1.3.2), and what EAP-AKA'
//! shares with it.
use crate::ue::action::{Abort, Event};
use crate::ue::mm_state::{AnsweredChallenge, MmState};
use crate::ue::nas::UeNas;
use crate::ue::timers::Timer;
use crate::ue::usim::Challenge;
use martlet_nas::{
    GmmCause, Nas5gsMessage, NasAuthenticationFailure, NasAuthenticationFailureParameter,
    NasAuthenticationRequest, NasAuthenticationResponse, NasAuthenticationResponseParameter,
    NasFGmmCause,
};
use martlet_security::aka::Response;
use martlet_security::nas_5gs::{KAusf, Supi, derive_kamf, derive_kseaf};
use martlet_security::{Autn, Rand, SecurityError};
use std::time::Instant;

impl UeNas {
    pub(crate) fn authentication_request(
        &mut self,
        request: &NasAuthenticationRequest,
        now: Instant,
    ) {
        let challenge = (
            request.authentication_parameter_rand.as_ref().and_then(|p| p.rand()),
            request.authentication_parameter_autn.as_ref().and_then(|p| p.autn()),
        );
        if let Some(packet) = &request.eap_message {
            return self.eap_request(&packet.value, request.ngksi.ksi(), &request.abba.value, now);
        }
        let (Some(rand), Some(autn)) = challenge else {
            self.discard("AUTHENTICATION REQUEST with neither RAND and AUTN nor an EAP message");
            return self.send_mm_status(GmmCause::ConditionalIeError);
        };
        // A repeated challenge is answered with the stored RES*, not by the USIM (5.4.1.3.2).
        if self.timers.is_running(Timer::T3516)
            && let Some(answered) =
                self.challenge.as_ref().filter(|answered| answered.rand == *rand)
        {
            let res_star = answered.res_star;
            return self.authentication_response(res_star, now);
        }
        let ngksi = request.ngksi.ksi();
        if self.security.current.as_ref().is_some_and(|current| current.ngksi == ngksi) {
            return self.authentication_failure(GmmCause::NgKsiAlreadyInUse, None, now);
        }
        let (rand, autn) = (Rand::new(rand), Autn::new(autn));
        match self.usim.authenticate(&rand, &autn) {
            Challenge::MacFailure => self.authentication_failure(GmmCause::MacFailure, None, now),
            Challenge::SynchFailure(auts) => {
                self.authentication_failure(GmmCause::SynchFailure, Some(auts), now)
            }
            Challenge::NotFor5g => {
                self.authentication_failure(GmmCause::NonFiveGAuthenticationUnacceptable, None, now)
            }
            Challenge::Accepted(response) => {
                match self.derive_keys(&rand, &response, &autn, ngksi, &request.abba.value) {
                    Ok(res_star) => {
                        self.challenge =
                            Some(AnsweredChallenge { rand: *rand.as_octets(), res_star });
                        self.authentication_response(res_star, now);
                    }
                    Err(error) => self.discard(format!("key derivation failed: {error}")),
                }
            }
        }
    }

    /// Derives RES* and stores the partial context with the K_AMF of the challenge.
    fn derive_keys(
        &mut self,
        rand: &Rand,
        response: &Response,
        autn: &Autn,
        ngksi: u8,
        abba: &[u8],
    ) -> Result<[u8; 16], SecurityError> {
        let res_star = *response.res_star(rand, &self.serving_network_name)?.as_octets();
        let kausf = response.k_ausf(autn, &self.serving_network_name)?;
        self.store_k_amf(&kausf, ngksi, abba)?;
        self.awaits_eap_success = false;
        Ok(res_star)
    }

    /// Stores the partial context with the K_AMF that follows from K_AUSF.
    pub(crate) fn store_k_amf(
        &mut self,
        kausf: &KAusf,
        ngksi: u8,
        abba: &[u8],
    ) -> Result<(), SecurityError> {
        let kseaf = derive_kseaf(kausf, self.serving_network_name.as_bytes())?;
        let supi = Supi::parse(&self.supi).map_err(SecurityError::Identity)?;
        self.security.partial = Some((ngksi, derive_kamf(&kseaf, &supi, abba)?));
        Ok(())
    }

    fn authentication_response(&mut self, res_star: [u8; 16], now: Instant) {
        self.resume(now);
        self.timers.start(Timer::T3516, now + self.config.timers.t3516);
        let parameter = NasAuthenticationResponseParameter::from_res_star(res_star);
        let response =
            NasAuthenticationResponse::new().with_authentication_response_parameter(parameter);
        self.send(&Nas5gsMessage::new_5gmm(response));
    }

    fn authentication_failure(&mut self, cause: GmmCause, auts: Option<[u8; 14]>, now: Instant) {
        let mut failure = NasAuthenticationFailure::new(NasFGmmCause::from_cause(cause));
        if let Some(auts) = auts {
            failure.set_authentication_failure_parameter(
                NasAuthenticationFailureParameter::from_auts(auts),
            );
        }
        self.suspend(now);
        self.timers.stop(Timer::T3516);
        self.challenge = None;
        self.send(&Nas5gsMessage::new_5gmm(failure));
        self.event(Event::AuthenticationFailureSent { cause: cause.as_u8() });
    }

    /// Stops the timers of the procedure in progress and starts T3520. A network that sends no
    /// valid challenge before it expires is not authentic (5.4.1.2.4.5, 5.4.1.3.7).
    pub(crate) fn suspend(&mut self, now: Instant) {
        for timer in [Timer::T3510, Timer::T3517, Timer::T3521] {
            if self.timers.stop(timer) {
                self.suspended.push(timer);
            }
        }
        self.timers.start(Timer::T3520, now + self.config.timers.t3520);
    }

    /// Restarts the timers of the procedure after a valid challenge.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.timers.stop(Timer::T3520);
        for timer in std::mem::take(&mut self.suspended) {
            let period = match timer {
                Timer::T3510 => self.config.timers.t3510,
                Timer::T3517 => self.config.timers.t3517,
                _ => self.config.timers.t3521,
            };
            self.timers.start(timer, now + period);
        }
    }

    pub(crate) fn t3520_expired(&mut self) {
        self.suspended.clear();
        self.abort_registration(Abort::NetworkNotAuthentic);
        self.abort_service_request(Abort::NetworkNotAuthentic);
        self.release_connection();
    }

    /// AUTHENTICATION REJECT: the USIM is invalid and the registration is deleted (5.4.1.3.5).
    pub(crate) fn authentication_reject(&mut self) {
        self.timers.stop(Timer::T3516);
        self.timers.stop(Timer::T3520);
        self.timers.stop(Timer::T3521);
        self.suspended.clear();
        self.challenge = None;
        self.abort_registration(Abort::AuthenticationRejected);
        self.abort_service_request(Abort::AuthenticationRejected);
        self.deregistration = None;
        self.leave_registered();
        self.guti = None;
        self.security.delete();
        self.enter(MmState::Deregistered);
    }
}
