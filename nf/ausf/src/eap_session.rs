//! EAP-AKA' after its challenge (TS 29.509, 5.2.2.2.3; TS 33.501, 6.1.3.1, steps 7 to 12).
use crate::authenticate::{eap_challenge, failed};
use crate::confirm::unknown;
use crate::pending::{Awaited, Method};
use crate::{Ausf, metrics};
use martlet_eap::server::{Outcome, Server};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{Base64, Hex, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::{AuthResult, EapSession, LINK_EAP_SESSION};
use martlet_sbi_api::nudm_ueau::{
    AuthType, AuthenticationInfoRequest, AuthenticationVector, ResynchronizationInfo,
};
use martlet_security::aka;
use std::collections::BTreeMap;
use std::time::Instant;

impl Ausf {
    /// Takes an answer of the UE on. An authentication whose end was told is known no longer.
    pub(crate) async fn eap_session(
        &self,
        id: &str,
        session: EapSession,
    ) -> Result<EapSession, Problem> {
        let awaited = self.pending.take(id).ok_or_else(|| unknown(id))?;
        let Awaited {
            method: Method::EapAkaPrime { mut server, synchronised },
            supi,
            serving_network_name,
        } = awaited
        else {
            return Err(unknown(id));
        };
        // No payload is an answer that is no packet.
        let answer = session.eap_payload.map(|payload| payload.0).unwrap_or_default();
        let outcome = server.answer(&answer);
        let keep = |server: Box<Server>, synchronised| Awaited {
            method: Method::EapAkaPrime { server, synchronised },
            supi: supi.clone(),
            serving_network_name: serving_network_name.clone(),
        };
        match outcome {
            Outcome::Success(packet) => {
                let k_seaf = aka::k_seaf(&server.keys().k_ausf(), &serving_network_name);
                let k_seaf = k_seaf.map_err(|e| failed(&e.to_string()))?;
                // The home network has to know of the authentication before the serving network may
                // act on it.
                self.tell_outcome(&keep(server, synchronised), true, AuthType::EapAkaPrime).await?;
                Ok(EapSession {
                    k_seaf: Some(SecretHex(*k_seaf.as_octets())),
                    supi: Some(supi),
                    ..ended(packet, AuthResult::AuthenticationSuccess)
                })
            }
            Outcome::Failure(packet) => {
                metrics::refused();
                tracing::warn!(%supi, "the UE's answer to the challenge is wrong, or it refuses the challenge");
                let told = self
                    .tell_outcome(&keep(server, synchronised), false, AuthType::EapAkaPrime)
                    .await;
                if let Err(problem) = told {
                    tracing::warn!(%supi, %problem, "the UDM is not told of the failure");
                }
                Ok(ended(packet, AuthResult::AuthenticationFailure))
            }
            Outcome::Request(packet) => {
                self.pending.go_on(id, keep(server, synchronised), Instant::now());
                Ok(self.goes_on(id, packet))
            }
            Outcome::Synchronise(_) if synchronised => {
                tracing::warn!(%supi, "the USIM wants its sequence number taken over once more");
                let packet = martlet_eap::packet::Packet::end(
                    martlet_eap::packet::Code::Failure,
                    server.identifier(),
                );
                self.tell_outcome(&keep(server, true), false, AuthType::EapAkaPrime).await?;
                Ok(ended(packet.encode(), AuthResult::AuthenticationFailure))
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
                    return Err(failed("the UDM gave no vector for EAP-AKA'"));
                };
                let identifier = server.identifier().wrapping_add(1);
                let (server, packet) =
                    eap_challenge(&vector, &supi, &serving_network_name, identifier)?;
                self.pending.go_on(id, keep(server.into(), true), Instant::now());
                Ok(self.goes_on(id, packet))
            }
        }
    }

    /// One more request.
    fn goes_on(&self, id: &str, packet: Vec<u8>) -> EapSession {
        let link = format!(
            "{}/nausf-auth/v1/ue-authentications/{id}/eap-session",
            self.context.api_root()
        );
        EapSession {
            links: Some(BTreeMap::from([(
                LINK_EAP_SESSION.to_string(),
                crate::authenticate::links_to(link),
            )])),
            ..ended(packet, AuthResult::AuthenticationOngoing)
        }
    }
}

fn ended(packet: Vec<u8>, result: AuthResult) -> EapSession {
    EapSession {
        eap_payload: Some(Base64(packet.into())),
        auth_result: Some(result),
        ..EapSession::default()
    }
}
