//! 5G AKA at the UE (TS 24.501, 5.4.1.3; TS 33.501, 6.1.3.2).
use super::action::{Abort, Event};
use super::nas::{AnsweredChallenge, MmState, UeNas};
use super::timers::Timer;
use super::usim::Challenge;
use martlet_nas::{
    GmmCause, Nas5gsMessage, NasAuthenticationFailure, NasAuthenticationFailureParameter, NasAuthenticationRequest,
    NasAuthenticationResponse, NasAuthenticationResponseParameter, NasFGmmCause,
};
use martlet_security::milenage::UsimResponse;
use martlet_security::nas_5gs::{Supi, derive_kamf, derive_kausf, derive_kseaf};
use martlet_security::{Autn, Rand, SecurityError};
use std::time::Instant;

impl UeNas {
    pub(super) fn authentication_request(&mut self, request: &NasAuthenticationRequest, now: Instant) {
        let challenge = (
            request.authentication_parameter_rand.as_ref().and_then(|p| p.rand()),
            request.authentication_parameter_autn.as_ref().and_then(|p| p.autn()),
        );
        let (Some(rand), Some(autn)) = challenge else {
            self.discard("AUTHENTICATION REQUEST without RAND and AUTN (EAP-AKA' is not supported)");
            return self.send_mm_status(GmmCause::ConditionalIeError);
        };
        // The same challenge again: its RES* is still known, and the USIM must not be asked twice (5.4.1.3.2).
        if self.timers.is_running(Timer::T3516)
            && let Some(answered) = self.challenge.as_ref().filter(|answered| answered.rand == *rand)
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
            Challenge::SynchFailure(auts) => self.authentication_failure(GmmCause::SynchFailure, Some(auts), now),
            Challenge::NotFor5g => self.authentication_failure(GmmCause::NonFiveGAuthenticationUnacceptable, None, now),
            Challenge::Accepted(response) => match self.take_keys(&response, &autn, ngksi, &request.abba.value) {
                Ok(res_star) => {
                    self.challenge = Some(AnsweredChallenge { rand: *rand.as_octets(), res_star });
                    self.authentication_response(res_star, now);
                }
                Err(error) => self.discard(format!("the keys of the challenge cannot be derived: {error}")),
            },
        }
    }

    /// RES*, and the partial context with K_AMF of the challenge.
    fn take_keys(
        &mut self,
        response: &UsimResponse,
        autn: &Autn,
        ngksi: u8,
        abba: &[u8],
    ) -> Result<[u8; 16], SecurityError> {
        let network = self.serving_network_name.as_bytes();
        let res_star = *response.res_star(network)?.as_octets();
        let kausf = derive_kausf(response.ck(), response.ik(), network, autn)?;
        let kseaf = derive_kseaf(&kausf, network)?;
        let supi = Supi::imsi(self.config.imsi.as_str()).map_err(SecurityError::Identity)?;
        let kamf = derive_kamf(&kseaf, &supi, abba)?;
        self.security.partial = Some((ngksi, kamf));
        Ok(res_star)
    }

    fn authentication_response(&mut self, res_star: [u8; 16], now: Instant) {
        self.timers.stop(Timer::T3520);
        for timer in std::mem::take(&mut self.suspended) {
            let period = match timer {
                Timer::T3510 => self.config.timers.t3510,
                Timer::T3517 => self.config.timers.t3517,
                _ => self.config.timers.t3521,
            };
            self.timers.start(timer, now + period);
        }
        self.timers.start(Timer::T3516, now + self.config.timers.t3516);
        let parameter = NasAuthenticationResponseParameter::from_res_star(res_star);
        let response = NasAuthenticationResponse::new().with_authentication_response_parameter(parameter);
        self.send(&Nas5gsMessage::new_5gmm(response));
    }

    fn authentication_failure(&mut self, cause: GmmCause, auts: Option<[u8; 14]>, now: Instant) {
        let mut failure = NasAuthenticationFailure::new(NasFGmmCause::from_cause(cause));
        if let Some(auts) = auts {
            failure.set_authentication_failure_parameter(NasAuthenticationFailureParameter::from_auts(auts));
        }
        // The procedure stands still until the network has mended its challenge; one that does not do so in time is not
        // the home network's (5.4.1.3.7).
        for timer in [Timer::T3510, Timer::T3517, Timer::T3521] {
            if self.timers.stop(timer) {
                self.suspended.push(timer);
            }
        }
        self.timers.start(Timer::T3520, now + self.config.timers.t3520);
        self.timers.stop(Timer::T3516);
        self.challenge = None;
        self.send(&Nas5gsMessage::new_5gmm(failure));
        self.event(Event::AuthenticationFailureSent { cause: cause.as_u8() });
    }

    pub(super) fn t3520_expired(&mut self) {
        self.suspended.clear();
        self.abort_registration(Abort::NetworkNotAuthentic);
        self.abort_service_request(Abort::NetworkNotAuthentic);
        self.release_connection();
    }

    /// The USIM counts as invalid: nothing of the registration is kept (5.4.1.3.5).
    pub(super) fn authentication_reject(&mut self) {
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
        self.state = MmState::Deregistered;
    }
}
