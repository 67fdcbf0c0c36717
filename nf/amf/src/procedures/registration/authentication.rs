//! Authentication with 5G-AKA or EAP-AKA' (TS 33.501, 6.1.3; TS 24.501, 5.4.1.2 and 5.4.1.3). The
//! home network's AUSF selects the method.
//!
//! ```text
//! AMF -> AUSF  Nausf_UEAuthentication_Authenticate
//! AMF -> UE    AUTHENTICATION REQUEST
//! UE -> AMF    AUTHENTICATION RESPONSE or AUTHENTICATION FAILURE
//! AMF -> AUSF  5g-aka-confirmation or eap-session; their deletion without a response
//! ```
use super::{identification, implicit_deregistration};
use crate::procedures::connection::ue_context_release;
use crate::ue::{NasTimer, Protection, Reject, Stop, Ue};
use bytes::Bytes;
use martlet_nas::{
    GmmCause, KAmf, KeySetIdentifier, Nas5gmmMessage, Nas5gsMessage, NasAbba,
    NasAuthenticationParameterAutn, NasAuthenticationParameterRand, NasAuthenticationReject,
    NasAuthenticationRequest, NasAuthenticationResult, NasEapMessage, NasKeySetIdentifier, Plmn,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi::{ApiRoot, Problem, trace};
use martlet_sbi_api::common::{Base64, Hex, SecretHex, Supi};
use martlet_sbi_api::nausf_ueauthentication::{
    AusfUeAuthenticationClient, AuthData, AuthResult, AuthenticationInfo, Av5gAka,
    ConfirmationData, EapSession, LINK_5G_AKA, LINK_EAP_SESSION,
};
use martlet_sbi_api::nudm_ueau::ResynchronizationInfo;
use martlet_security::nas_5gs::{HxresStar, KSeaf};
use martlet_security::{Rand, aka};

/// Result of an authentication.
pub(crate) struct Keys {
    pub k_amf: KAmf,
    /// ngKSI, 0 to 6.
    pub ngksi: u8,
    /// EAP-Success, sent with SECURITY MODE COMMAND (TS 24.501, 5.4.1.2.2.8).
    pub eap_success: Option<Bytes>,
    /// K_AMF was derived by another AMF from the UE's K_AMF (TS 33.501, 6.9.3).
    pub derived: bool,
}

/// The authentication method, with the message for the UE.
enum Method {
    /// 5G-AKA.
    FiveGAka(Av5gAka),
    /// An EAP request.
    Eap(Bytes),
}

/// A challenge of the AUSF, and the resource for the response.
struct Challenge {
    method: Method,
    ausf: AusfUeAuthenticationClient,
    id: String,
}

impl Challenge {
    /// Deletes the authentication at the AUSF (TS 29.509, 6.1.3), in a task of its own. The UE has
    /// not responded to the challenge, and the AUSF would wait for its response.
    fn abandon(&self) {
        let (ausf, id) = (self.ausf.clone(), self.id.clone());
        let is_eap = matches!(self.method, Method::Eap(_));
        martlet_nf::spawn(async move {
            let deleted = match is_eap {
                true => ausf.delete_eap_authentication_result(&id).await,
                false => ausf.delete_5g_aka_authentication_result(&id).await,
            };
            if let Err(problem) = deleted {
                tracing::debug!(%problem, "authentication not deleted at the AUSF");
            }
        });
    }
}

/// The UE's response.
enum Answer {
    /// RES*, or the EAP response; `None` if its form is wrong.
    Response(Option<[u8; 16]>, Bytes),
    /// AUTHENTICATION FAILURE with its cause and AUTS.
    Failure(Option<GmmCause>, Option<[u8; 14]>),
}

/// Result of the RES* comparison.
enum Confirmed {
    Success(KSeaf),
    /// HRES* or RES* differs from the expected value.
    Wrong,
    /// The AUSF did not answer.
    Unknown(Problem),
}

/// The AUSF's answer to an EAP response.
enum EapOutcome {
    Request(Bytes),
    Success(Bytes, KSeaf),
    Failure(Bytes),
}

/// Authenticates the UE. Afterwards the SUPI is known and authenticated.
pub(crate) async fn run(ue: &mut Ue, ngksi_of_ue: KeySetIdentifier) -> Result<Keys, Stop> {
    let mut ngksi = next_ngksi(ue.security.as_ref().map(|security| security.ngksi), ngksi_of_ue);
    // A SUCI comes from this UE; a SUPI found by a 5G-GUTI may belong to another UE.
    let mut identified = ue.identity.suci.is_some();
    let mut challenge = challenge(ue, None).await?;
    let (mut asked_again, mut synchronised, mut unconfirmed, mut keys_in_use) =
        (false, false, false, 0);
    loop {
        let answer =
            ask(ue, &challenge.method, ngksi).await.inspect_err(|_| challenge.abandon())?;
        match (answer, &challenge.method) {
            (Answer::Response(res_star, _), Method::FiveGAka(vector)) => {
                match confirm(ue, &challenge, vector, res_star).await? {
                    Confirmed::Success(k_seaf) => return keys(ue, &k_seaf, ngksi, None),
                    // The 5G-GUTI may belong to another UE: ask for the SUCI (TS 24.501, 5.4.1.3.5;
                    // TS 33.501, 6.1.3.2.2).
                    Confirmed::Wrong if !identified => identified = true,
                    Confirmed::Wrong => return Err(Stop::NotAuthentic(None)),
                    // Not an error of the UE: identify it and repeat once (TS 33.501, 6.1.3.2.2).
                    Confirmed::Unknown(_) if !unconfirmed => unconfirmed = true,
                    Confirmed::Unknown(problem) => return Err(refused(ue, &problem)),
                }
                identification::ask(ue).await?;
                challenge = self::challenge(ue, None).await?;
            }
            (Answer::Response(_, packet), Method::Eap(_)) => {
                match step(ue, &challenge, packet).await? {
                    EapOutcome::Request(packet) => challenge.method = Method::Eap(packet),
                    EapOutcome::Success(packet, k_seaf) => {
                        return keys(ue, &k_seaf, ngksi, Some(packet));
                    }
                    EapOutcome::Failure(packet) if !identified => {
                        // The 5G-GUTI may belong to another UE: send the result, then ask for the
                        // SUCI (TS 24.501, 5.4.1.2.4.5).
                        identified = true;
                        let result = NasAuthenticationResult::new(
                            native(ngksi)?,
                            NasEapMessage::new(packet.to_vec()),
                        );
                        ue.send_nas(&Nas5gsMessage::new_5gmm(result)).await?;
                        identification::ask(ue).await?;
                        challenge = self::challenge(ue, None).await?;
                    }
                    EapOutcome::Failure(packet) => return Err(Stop::NotAuthentic(Some(packet))),
                }
            }
            (
                Answer::Failure(Some(GmmCause::SynchFailure), Some(auts)),
                Method::FiveGAka(vector),
            ) if !synchronised => {
                // The home network resynchronises to the UE's sequence number (TS 33.501,
                // 6.1.3.3.2).
                synchronised = true;
                challenge.abandon();
                let resynchronisation =
                    ResynchronizationInfo { rand: vector.rand, auts: Hex(auts) };
                challenge = self::challenge(ue, Some(resynchronisation)).await?;
            }
            (
                Answer::Failure(
                    Some(GmmCause::MacFailure | GmmCause::NonFiveGAuthenticationUnacceptable),
                    _,
                ),
                _,
            ) if !asked_again => {
                // The 5G-GUTI may belong to another UE: ask for the SUCI (TS 24.501, 5.4.1.3.7 c,
                // d).
                asked_again = true;
                challenge.abandon();
                identification::ask(ue).await?;
                challenge = self::challenge(ue, None).await?;
            }
            (Answer::Failure(Some(GmmCause::NgKsiAlreadyInUse), _), _) if keys_in_use < 6 => {
                keys_in_use += 1;
                ngksi = (ngksi + 1) % 7;
            }
            (Answer::Failure(cause, _), _) => {
                challenge.abandon();
                let cause = cause.map(GmmCause::as_u8);
                if let Some(suppressed) =
                    martlet_log_limit::line("challenge_refused", ue.gnb_address())
                {
                    tracing::warn!(
                        supi = ue.label(),
                        gnb = ue.gnb(),
                        cause,
                        suppressed,
                        "authentication failed: challenge refused again"
                    );
                }
                return Err(Stop::NotAuthentic(None));
            }
        }
    }
}

/// Rejects a UE that has failed the authentication, with EAP-Failure for EAP, and ends its
/// registration and its connection (TS 24.501, 5.4.1.2.4.5 and 5.4.1.3.5).
pub(crate) async fn reject(ue: &mut Ue, eap_failure: Option<Bytes>) {
    let mut reject = NasAuthenticationReject::new();
    if let Some(packet) = eap_failure {
        reject.set_eap_message(NasEapMessage::new(packet.to_vec()));
    }
    let _ = ue.send_nas(&Nas5gsMessage::new_5gmm(reject)).await;
    if ue.is_registered() {
        implicit_deregistration::locally(ue).await;
    }
    ue.security = None;
    ue_context_release::run(ue, Cause::nas(CauseNas::authentication_failure));
}

/// A key set identifier that neither side uses (TS 24.501, 5.4.1.3.2).
fn next_ngksi(ours: Option<u8>, of_ue: KeySetIdentifier) -> u8 {
    let theirs = match of_ue {
        KeySetIdentifier::Native(ngksi) => Some(ngksi),
        _ => None,
    };
    (0..7).find(|ngksi| Some(*ngksi) != ours && Some(*ngksi) != theirs).unwrap_or(0)
}

/// Gets a challenge from the AUSF (Nausf_UEAuthentication_Authenticate).
async fn challenge(
    ue: &Ue,
    resynchronisation: Option<ResynchronizationInfo>,
) -> Result<Challenge, Stop> {
    let known = ue
        .identity
        .suci
        .clone()
        .or_else(|| ue.identity.supi.as_ref().and_then(|supi| supi.parse().ok()));
    let Some(identity) = known else { return Err(Stop::Abandoned("no_identity")) };
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let Some(serving) = ue.amf.served.plmn(connection.location.tai.plmn) else {
        return Err(Stop::reject(GmmCause::PlmnNotAllowed));
    };
    let mut info = AuthenticationInfo::new(identity, serving.network_name.clone());
    info.resynchronization_info = resynchronisation;
    info.pei = ue.identity.pei.clone();
    let asked = async {
        let ausf = ue.amf.ausf(&ue.label()).await?;
        let context = ausf.ue_authentications_post(info).await?.body;
        let (method, link) = match context.five_g_auth_data {
            AuthData::FiveGAka(vector) => (Method::FiveGAka(vector), LINK_5G_AKA),
            AuthData::Eap(packet) => (Method::Eap(packet.0), LINK_EAP_SESSION),
        };
        let link = context.links.get(link).and_then(|link| link.uri());
        let (ausf, id) = link.and_then(|href| resource(ue, href)).ok_or_else(|| {
            Problem::system_failure("the AUSF's answer has no link for the response")
        })?;
        Ok(Challenge { method, ausf, id })
    };
    asked.await.map_err(|problem| refused(ue, &problem))
}

/// The AUSF and the identity of the authentication of a link.
fn resource(ue: &Ue, href: &str) -> Option<(AusfUeAuthenticationClient, String)> {
    let (mut root, path) = ApiRoot::split(href)?;
    let (before, rest) = path.split_once("/nausf-auth/")?;
    root.prefix = before.to_string();
    let id = rest.split('/').nth(2).filter(|id| !id.is_empty())?;
    let peer = ue.amf.context.peer_at(root).about(&ue.label());
    Some((AusfUeAuthenticationClient::new(peer), id.to_string()))
}

/// The reject after a failed request to the AUSF (TS 29.524, 5.2.2.2).
fn refused(ue: &Ue, problem: &Problem) -> Stop {
    if let Some(suppressed) = martlet_log_limit::line("authentication", ue.gnb_address()) {
        tracing::info!(
            supi = ue.label(), gnb = ue.gnb(), %problem, suppressed,
            "authentication request to the AUSF failed"
        );
    }
    match (problem.status(), problem.cause()) {
        (403, "SERVING_NETWORK_NOT_AUTHORIZED") => {
            Stop::reject(GmmCause::ServingNetworkNotAuthorized)
        }
        (403 | 404, _) | (501, "UNSUPPORTED_PROTECTION_SCHEME") => Stop::reject(unacceptable(ue)),
        _ => {
            let back_off = Some(ue.amf.config.limits.back_off_s);
            Stop::Reject(Reject { back_off, ..GmmCause::Congestion.into() })
        }
    }
}

/// The cause for an identity that is not accepted. A UE of another network is refused in this one
/// alone: with #3 its USIM is invalid in all networks (TS 24.501, 5.5.1.2.5).
fn unacceptable(ue: &Ue) -> GmmCause {
    let served = &ue.amf.served;
    let is_served = |home: Plmn| served.plmn(home).is_some() || served.equivalent.contains(&home);
    match ue.identity.suci.as_ref().and_then(|suci| home_network(suci.as_str())) {
        Some(home) if !is_served(home) => GmmCause::PlmnNotAllowed,
        _ => GmmCause::IllegalUe,
    }
}

/// The home network of a SUCI of an IMSI (TS 29.571, 5.3.2).
fn home_network(suci: &str) -> Option<Plmn> {
    let mut parts = suci.strip_prefix("suci-0-")?.split('-');
    Plmn::new(parts.next()?, parts.next()?).ok()
}

/// ngKSI of a native context, as NAS has it.
fn native(ngksi: u8) -> Result<NasKeySetIdentifier, Stop> {
    NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(ngksi))
        .map_err(|_| Stop::Abandoned("not_encodable"))
}

/// AUTHENTICATION REQUEST, and the UE's answer.
async fn ask(ue: &mut Ue, method: &Method, ngksi: u8) -> Result<Answer, Stop> {
    let mut request =
        NasAuthenticationRequest::new(native(ngksi)?, NasAbba::new(aka::ABBA.to_vec()));
    match method {
        Method::FiveGAka(vector) => {
            request.set_authentication_parameter_rand(NasAuthenticationParameterRand::from_rand(
                vector.rand.0,
            ));
            request.set_authentication_parameter_autn(NasAuthenticationParameterAutn::from_autn(
                vector.autn.0,
            ));
        }
        Method::Eap(packet) => {
            request.set_eap_message(NasEapMessage::new(packet.to_vec()));
        }
    }
    let timer = NasTimer { name: "T3560", duration: ue.amf.config.timers.t3560() };
    let request = Nas5gsMessage::new_5gmm(request);
    ue.exchange(&request, Protection::AsSecured, timer, |_, inbound| {
        let Nas5gsMessage::Gmm(_, message) = &inbound.message else { return None };
        match message {
            Nas5gmmMessage::AuthenticationResponse(response) => {
                let parameter = response.authentication_response_parameter.as_ref();
                let res_star = parameter.and_then(|parameter| parameter.res_star().copied());
                let packet = response
                    .eap_message
                    .as_ref()
                    .map(|packet| Bytes::copy_from_slice(&packet.value));
                Some(Answer::Response(res_star, packet.unwrap_or_default()))
            }
            Nas5gmmMessage::AuthenticationFailure(failure) => {
                let auts = failure.authentication_failure_parameter.as_ref();
                Some(Answer::Failure(
                    failure.fgmm_cause.cause(),
                    auts.and_then(|auts| auts.auts().copied()),
                ))
            }
            _ => None,
        }
    })
    .await
}

/// Compares HRES* with HXRES*, and has the AUSF compare RES* with XRES* (TS 33.501, 6.1.3.2.0,
/// steps 9 to 12).
async fn confirm(
    ue: &mut Ue,
    challenge: &Challenge,
    vector: &Av5gAka,
    res_star: Option<[u8; 16]>,
) -> Result<Confirmed, Stop> {
    let (rand, hxres_star) = (Rand::new(&vector.rand.0), HxresStar::new(&vector.hxres_star.0));
    let right = res_star.filter(|res_star| aka::hres_star_matches(&rand, res_star, &hxres_star));
    // A wrong RES* is reported to the home network as null (TS 29.509, 5.2.2.2.2).
    let data = ConfirmationData { res_star: right.map(SecretHex), supported_features: None };
    let confirmed = challenge.ausf.confirm_5g_aka(&challenge.id, data).await;
    if right.is_none() {
        return Ok(Confirmed::Wrong);
    }
    let response = match confirmed {
        Ok(response) => response,
        Err(problem) => return Ok(Confirmed::Unknown(problem)),
    };
    match (response.auth_result, response.supi, response.kseaf) {
        (AuthResult::AuthenticationSuccess, Some(supi), Some(k_seaf)) => {
            store_authenticated(ue, supi)?;
            Ok(Confirmed::Success(KSeaf::new(&k_seaf.0)))
        }
        _ => Ok(Confirmed::Wrong),
    }
}

/// Stores the authenticated SUPI.
fn store_authenticated(ue: &mut Ue, supi: Supi) -> Result<(), Stop> {
    if ue.identity.supi.as_ref().is_some_and(|known| *known != supi) {
        return Err(Stop::Abandoned("another_subscriber"));
    }
    ue.identity.supi = Some(supi);
    trace::about(|| ue.label());
    Ok(())
}

/// Sends an EAP response to the AUSF (TS 33.501, 6.1.3.1, steps 6 to 12). The AMF does not
/// interpret it.
async fn step(ue: &mut Ue, challenge: &Challenge, packet: Bytes) -> Result<EapOutcome, Stop> {
    let session = EapSession { eap_payload: Some(Base64(packet)), ..EapSession::default() };
    let answer = challenge
        .ausf
        .eap_auth_method(&challenge.id, session)
        .await
        .map_err(|problem| refused(ue, &problem))?;
    let Some(packet) =
        answer.eap_payload.map(|payload| payload.0).filter(|packet| packet.len() >= 4)
    else {
        return Err(Stop::NotAuthentic(None));
    };
    match (answer.auth_result, answer.supi, answer.k_seaf) {
        (Some(AuthResult::AuthenticationSuccess), Some(supi), Some(k_seaf)) => {
            store_authenticated(ue, supi)?;
            Ok(EapOutcome::Success(packet, KSeaf::new(&k_seaf.0)))
        }
        (Some(AuthResult::AuthenticationFailure | AuthResult::AuthenticationSuccess), _, _) => {
            Ok(EapOutcome::Failure(packet))
        }
        (Some(AuthResult::AuthenticationOngoing) | None, _, _) => Ok(EapOutcome::Request(packet)),
    }
}

fn keys(ue: &Ue, k_seaf: &KSeaf, ngksi: u8, eap_success: Option<Bytes>) -> Result<Keys, Stop> {
    let k_amf = ue.identity.supi.as_ref().and_then(|supi| aka::k_amf(k_seaf, supi).ok());
    Ok(Keys { k_amf: k_amf.ok_or(Stop::Abandoned("no_supi"))?, ngksi, eap_success, derived: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_network_is_read_from_the_suci_of_an_imsi() {
        let home = |suci| home_network(suci).map(|plmn| plmn.to_string());
        assert_eq!(home("suci-0-208-93-0000-0-0-0000000120"), home("suci-0-208-93-1-1-27-0a"));
        assert!(home("suci-0-208-93-0000-0-0-0000000120").is_some());
        assert_eq!(
            (home("suci-1-example.org-678-0-0-user"), home("imsi-208930000000001")),
            (None, None)
        );
    }

    #[test]
    fn a_new_key_set_identifier_is_unused_on_both_sides() {
        assert_eq!(next_ngksi(None, KeySetIdentifier::NoKey), 0);
        assert_eq!(next_ngksi(Some(0), KeySetIdentifier::Native(0)), 1);
        assert_eq!(next_ngksi(Some(1), KeySetIdentifier::Native(0)), 2);
        assert_eq!(next_ngksi(Some(6), KeySetIdentifier::Mapped(0)), 0);
    }
}
