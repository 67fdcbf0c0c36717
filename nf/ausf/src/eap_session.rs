//! EAP session: the EAP-AKA' messages after the challenge (TS 29.509, 5.2.2.2.3; TS 33.501,
//! 6.1.3.1, steps 7 to 12).
use crate::authenticate::{eap_challenge, failed};
use crate::five_g_aka_confirmation::unknown;
use crate::pending::{Authentication, Method};
use crate::{Ausf, metrics};
use martlet_eap::packet::{Attribute, Packet};
use martlet_eap::server::{Outcome, Server};
use martlet_interop::{N1Quirk, Quirk};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{Base64, Hex, Links, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::{AuthResult, EapSession, LINK_EAP_SESSION};
use martlet_sbi_api::nudm_ueau::{
    AuthType, AuthenticationInfoRequest, AuthenticationVector, ResynchronizationInfo,
};
use martlet_security::aka;
use std::collections::BTreeMap;
use std::time::Instant;

impl Ausf {
    /// Processes an EAP response of the UE. The context is removed with the final result.
    pub(crate) async fn eap_session(
        &self,
        id: &str,
        session: EapSession,
    ) -> Result<EapSession, Problem> {
        let authentication = self.pending.take(id, Method::is_eap, Instant::now());
        let authentication = authentication.ok_or_else(|| unknown(id))?;
        let Authentication {
            method: Method::EapAkaPrime { mut server, resynchronised },
            supi,
            serving_network_name,
        } = authentication
        else {
            return Err(unknown(id));
        };
        // A missing payload is handled as a malformed packet.
        let answer = session.eap_payload.map(|payload| payload.0).unwrap_or_default();
        let outcome = match accepts_with_kdf(&answer) {
            true if self.strict => server.refuse(),
            deviates => {
                if deviates {
                    N1Quirk::EapResponseWithKdf.met("ausf", &supi);
                }
                server.answer(&answer)
            }
        };
        let context = |server: Box<Server>, resynchronised| Authentication {
            method: Method::EapAkaPrime { server, resynchronised },
            supi: supi.clone(),
            serving_network_name: serving_network_name.clone(),
        };
        match outcome {
            Outcome::Success(packet) => {
                let k_seaf = aka::k_seaf(&server.keys().k_ausf(), &serving_network_name);
                let k_seaf = k_seaf.map_err(|e| failed(&e.to_string()))?;
                self.results
                    .report_success(&supi, &serving_network_name, AuthType::EapAkaPrime)
                    .await?;
                Ok(EapSession {
                    k_seaf: Some(SecretHex(*k_seaf.as_octets())),
                    supi: Some(supi),
                    ..final_result(packet, AuthResult::AuthenticationSuccess)
                })
            }
            Outcome::Failure(packet) => {
                metrics::authentication_failed();
                if let Some(suppressed) = martlet_log_limit::line("wrong_res", 0) {
                    tracing::warn!(
                        %supi, suppressed,
                        "authentication failed: wrong RES, or the UE rejected the challenge"
                    );
                }
                let reported = self
                    .results
                    .report(&supi, &serving_network_name, false, AuthType::EapAkaPrime)
                    .await;
                if let Err(problem) = reported
                    && let Some(suppressed) = martlet_log_limit::line("result_not_reported", 0)
                {
                    tracing::warn!(
                        %supi, %problem, suppressed,
                        "authentication result was not reported to the UDM"
                    );
                }
                Ok(final_result(packet, AuthResult::AuthenticationFailure))
            }
            Outcome::Request(packet) => {
                self.pending.update(id, context(server, resynchronised), Instant::now());
                Ok(self.continued(id, packet))
            }
            Outcome::Synchronise(_) if resynchronised => {
                if let Some(suppressed) = martlet_log_limit::line("second_resynchronisation", 0) {
                    tracing::warn!(
                        %supi, suppressed,
                        "authentication failed: second resynchronisation requested"
                    );
                }
                let packet = martlet_eap::packet::Packet::end(
                    martlet_eap::packet::Code::Failure,
                    server.identifier(),
                );
                self.results
                    .report(&supi, &serving_network_name, false, AuthType::EapAkaPrime)
                    .await?;
                Ok(final_result(packet.encode(), AuthResult::AuthenticationFailure))
            }
            Outcome::Synchronise(auts) => {
                let mut request = AuthenticationInfoRequest::new(
                    serving_network_name.clone(),
                    self.instance_id.clone(),
                );
                request.resynchronization_info =
                    Some(ResynchronizationInfo { rand: Hex(server.rand()), auts: Hex(auts) });
                let result =
                    self.udm().await?.about(&supi).generate_auth_data(&supi, request).await?;
                let Some(AuthenticationVector::EapAkaPrime(vector)) = result.authentication_vector
                else {
                    return Err(failed("the UDM's answer has no EAP-AKA' vector"));
                };
                let identifier = server.identifier().wrapping_add(1);
                let (server, packet) =
                    eap_challenge(&vector, &supi, &serving_network_name, identifier)?;
                self.pending.update(id, context(server.into(), true), Instant::now());
                Ok(self.continued(id, packet))
            }
        }
    }

    /// The answer that carries one more EAP request.
    fn continued(&self, id: &str, packet: Vec<u8>) -> EapSession {
        let link = format!(
            "{}/nausf-auth/v1/ue-authentications/{id}/eap-session",
            self.context.api_root()
        );
        EapSession {
            links: Some(BTreeMap::from([(LINK_EAP_SESSION.to_string(), Links::to(link))])),
            ..final_result(packet, AuthResult::AuthenticationOngoing)
        }
    }
}

/// Whether a response has both RES and a key derivation function
/// ([`N1Quirk::EapResponseWithKdf`]).
fn accepts_with_kdf(response: &[u8]) -> bool {
    let Ok(packet) = Packet::decode(response) else { return false };
    let has = |wanted: fn(&Attribute) -> bool| packet.attributes().iter().any(wanted);
    has(|attribute| matches!(attribute, Attribute::Res(_)))
        && has(|attribute| matches!(attribute, Attribute::Kdf(_)))
}

fn final_result(packet: Vec<u8>, result: AuthResult) -> EapSession {
    EapSession {
        eap_payload: Some(Base64(packet.into())),
        auth_result: Some(result),
        ..EapSession::default()
    }
}
