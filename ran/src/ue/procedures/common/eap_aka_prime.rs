//! EAP-AKA' at the UE (TS 24.501, 5.4.1.2; TS 33.501, 6.1.3.1).
use crate::ue::action::Event;
use crate::ue::mm_state::AnsweredEapRequest;
use crate::ue::nas::UeNas;
use crate::ue::usim::Challenge;
use martlet_eap::keys::identity_of;
use martlet_eap::peer::{self, Refusal, Reply, Verdict};
use martlet_nas::{
    GmmCause, Nas5gsMessage, NasAuthenticationFailure, NasAuthenticationResponse,
    NasAuthenticationResult, NasEapMessage, NasFGmmCause,
};
use std::time::Instant;

impl UeNas {
    /// An EAP request in AUTHENTICATION REQUEST.
    pub(crate) fn eap_request(&mut self, packet: &[u8], ngksi: u8, abba: &[u8], now: Instant) {
        // A repeated request is answered with the stored response (RFC 3748, 4.1).
        if let Some(answered) = self.eap.as_ref().filter(|answered| answered.request == packet) {
            let answer = answered.response.clone();
            return self.eap_response(answer);
        }
        if self.security.current.as_ref().is_some_and(|current| current.ngksi == ngksi) {
            let failure = NasAuthenticationFailure::new(NasFGmmCause::from_cause(
                GmmCause::NgKsiAlreadyInUse,
            ));
            self.send(&Nas5gsMessage::new_5gmm(failure));
            return self.event(Event::AuthenticationFailureSent {
                cause: GmmCause::NgKsiAlreadyInUse.as_u8(),
            });
        }
        let usim = &mut self.usim;
        let reply = peer::answer(
            packet,
            &self.serving_network_name,
            identity_of(&self.supi),
            |rand, autn| match usim.authenticate(rand, autn) {
                Challenge::Accepted(response) => Verdict::Accepted(response),
                Challenge::SynchFailure(auts) => Verdict::SynchronisationFailure(auts),
                Challenge::MacFailure | Challenge::NotFor5g => Verdict::Rejected,
            },
        );
        let answer = match reply {
            Reply::Accepted(answer, keys) => {
                if let Err(error) = self.store_k_amf(&keys.k_ausf(), ngksi, abba) {
                    return self.discard(format!("key derivation failed: {error}"));
                }
                self.awaits_eap_success = true;
                self.resume(now);
                answer
            }
            Reply::Other(answer, refusal) => {
                self.suspend(now);
                let cause = match refusal {
                    Refusal::Synchronisation => Some(GmmCause::SynchFailure),
                    Refusal::Notified | Refusal::Kdf => None,
                    Refusal::Network | Refusal::Token | Refusal::Packet => {
                        Some(GmmCause::MacFailure)
                    }
                };
                if let Some(cause) = cause {
                    self.event(Event::AuthenticationFailureSent { cause: cause.as_u8() });
                }
                answer
            }
            Reply::Ignored => return self.discard("EAP message that is not a request"),
        };
        self.eap = Some(AnsweredEapRequest { request: packet.to_vec(), response: answer.clone() });
        self.eap_response(answer);
    }

    fn eap_response(&mut self, answer: Vec<u8>) {
        let response =
            NasAuthenticationResponse::new().with_eap_message(NasEapMessage::new(answer));
        self.send(&Nas5gsMessage::new_5gmm(response));
    }

    /// AUTHENTICATION RESULT: EAP-Success or EAP-Failure.
    pub(crate) fn authentication_result(&mut self, result: &NasAuthenticationResult) {
        match peer::end(&result.eap_message.value) {
            Some(true) => self.awaits_eap_success = false,
            Some(false) => {
                self.security.partial = None;
                self.awaits_eap_success = false;
                self.eap = None;
            }
            None => self.discard("AUTHENTICATION RESULT without EAP-Success or EAP-Failure"),
        }
    }

    /// Whether SECURITY MODE COMMAND has the pending EAP-Success, or none is pending (5.4.2.3).
    pub(crate) fn eap_is_complete(&self, packet: Option<&NasEapMessage>) -> bool {
        match packet {
            Some(packet) => peer::end(&packet.value) == Some(true),
            None => !self.awaits_eap_success,
        }
    }
}
