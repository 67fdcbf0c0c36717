//! Nausf_UEAuthentication_Authenticate: obtains a vector and returns the challenge (TS 29.509,
//! 5.2.2.2; TS 33.501, 6.1.3).
use crate::Ausf;
use crate::pending::{Authentication, Method};
use martlet_eap::keys::identity_of;
use martlet_eap::server::{Server, Vector};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::common::{Base64, Hex, Links, Supi};
use martlet_sbi_api::nausf_ueauthentication::{
    AuthData, AuthType, AuthenticationInfo, Av5gAka, LINK_5G_AKA, LINK_EAP_SESSION,
    UeAuthenticationCtx,
};
use martlet_sbi_api::nudm_ueau::{
    AuthenticationInfoRequest, AuthenticationVector, Av5GHeAka, AvEapAkaPrime,
};
use martlet_security::nas_5gs::{KAusf, XresStar};
use martlet_security::{Rand, aka};
use rand::TryRngCore;
use std::collections::BTreeMap;
use std::time::Instant;

impl Ausf {
    /// Requests a vector from the UDM, stores the expected response and returns the challenge.
    pub(crate) async fn authenticate(
        &self,
        info: AuthenticationInfo,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        let network = info.serving_network_name;
        if !is_serving_network_name(&network) {
            let detail = format!("{network:?} is not a serving network name (TS 33.501, 6.1.1.4)");
            return Err(Problem::new(403, "SERVING_NETWORK_NOT_AUTHORIZED").detail(detail));
        }
        let mut request = AuthenticationInfoRequest::new(network.clone(), self.instance_id.clone());
        request.resynchronization_info = info.resynchronization_info;
        let result = self.udm().await?.generate_auth_data(&info.supi_or_suci, request).await?;
        let Some(supi) = result.supi.or_else(|| info.supi_or_suci.supi()) else {
            return Err(failed("the UDM's answer has no SUPI for the SUCI"));
        };
        match result.authentication_vector {
            Some(AuthenticationVector::FiveGHeAka(vector)) => {
                self.five_g_aka(vector, supi, network)
            }
            Some(AuthenticationVector::EapAkaPrime(vector)) => {
                self.eap_aka_prime(&vector, supi, network)
            }
            None => Err(failed("the UDM's answer has no authentication vector")),
        }
    }

    fn five_g_aka(
        &self,
        vector: Av5GHeAka,
        supi: Supi,
        network: String,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        let xres_star = XresStar::new(&vector.xres_star.0);
        let k_seaf = aka::k_seaf(&KAusf::new(&vector.kausf.0), &network)
            .map_err(|e| failed(&e.to_string()))?;
        let hxres_star = aka::hxres_star(&Rand::new(&vector.rand.0), &xres_star);
        let method = Method::FiveGAka { xres_star, k_seaf };
        let (id, location) =
            self.begin(Authentication { method, supi, serving_network_name: network.clone() })?;
        let link = Links::to(format!("{location}/5g-aka-confirmation"));
        tracing::debug!(id, "5G-AKA challenge sent");
        let challenge = Av5gAka {
            rand: vector.rand,
            hxres_star: Hex(*hxres_star.as_octets()),
            autn: vector.autn,
        };
        let links = BTreeMap::from([(LINK_5G_AKA.to_string(), link)]);
        let mut body =
            UeAuthenticationCtx::new(AuthType::FiveGAka, AuthData::FiveGAka(challenge), links);
        body.serving_network_name = Some(network);
        Ok(Created { location, body })
    }

    fn eap_aka_prime(
        &self,
        vector: &AvEapAkaPrime,
        supi: Supi,
        network: String,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        // The first identifier is arbitrary; each later request has another one (RFC 3748, 4.1).
        let (server, packet) = eap_challenge(vector, &supi, &network, 1)?;
        let method = Method::EapAkaPrime { server: server.into(), resynchronised: false };
        let (id, location) =
            self.begin(Authentication { method, supi, serving_network_name: network.clone() })?;
        tracing::debug!(id, "EAP-AKA' challenge sent");
        let links = BTreeMap::from([(
            LINK_EAP_SESSION.to_string(),
            Links::to(format!("{location}/eap-session")),
        )]);
        let mut body = UeAuthenticationCtx::new(
            AuthType::EapAkaPrime,
            AuthData::Eap(Base64(packet.into())),
            links,
        );
        body.serving_network_name = Some(network);
        Ok(Created { location, body })
    }

    /// Stores an authentication context. Returns its identity and its URI.
    fn begin(&self, authentication: Authentication) -> Result<(String, String), Problem> {
        // Random, since who knows the identity can end the authentication with a wrong response.
        let mut random = [0; 16];
        rand::rngs::OsRng.try_fill_bytes(&mut random).map_err(|error| {
            let detail = format!("the system's random number generator failed: {error}");
            Problem::system_failure(detail)
        })?;
        let id = hex::encode(random);
        if !self.pending.add(&id, authentication, Instant::now()) {
            let mut problem = Problem::new(503, "NF_CONGESTION")
                .detail("too many authentications in progress: raise ausf.max_pending");
            problem.retry_after = Some(1);
            return Err(problem);
        }
        let location = format!("{}/nausf-auth/v1/ue-authentications/{id}", self.context.api_root());
        Ok((id, location))
    }
}

pub(crate) fn failed(detail: &str) -> Problem {
    Problem::new(500, "AV_GENERATION_PROBLEM").detail(detail)
}

/// The EAP-AKA' challenge of a vector, and the EAP server that verifies the response.
pub(crate) fn eap_challenge(
    vector: &AvEapAkaPrime,
    supi: &str,
    network: &str,
    identifier: u8,
) -> Result<(Server, Vec<u8>), Problem> {
    let xres = hex::decode(&vector.xres).ok().filter(|xres| (4..=16).contains(&xres.len()));
    let vector = Vector {
        rand: vector.rand.0,
        autn: vector.autn.0,
        xres: xres
            .ok_or_else(|| failed("the UDM's XRES is not 4 to 16 octets in hexadecimal digits"))?,
        ck_prime: vector.ck_prime.0.into(),
        ik_prime: vector.ik_prime.0.into(),
        network,
        identity: identity_of(supi),
    };
    Ok(Server::challenge(&vector, identifier))
}

/// `5G:mncNNN.mccNNN.3gppnetwork.org`, followed by `:` and the network identifier for a stand-alone
/// non-public network.
fn is_serving_network_name(name: &str) -> bool {
    let digits = |text: Option<&str>| {
        text.is_some_and(|t| t.len() == 3 && t.bytes().all(|b| b.is_ascii_digit()))
    };
    let Some(rest) = name.strip_prefix("5G:mnc") else { return false };
    let Some((mnc, rest)) = rest.split_once(".mcc") else { return false };
    let (mcc, rest) = rest.split_once('.').unwrap_or((rest, ""));
    let tail = rest.strip_prefix("3gppnetwork.org");
    digits(Some(mnc))
        && digits(Some(mcc))
        && tail.is_some_and(|tail| tail.is_empty() || tail.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::is_serving_network_name;

    #[test]
    fn serving_network_names_are_checked() {
        assert!(is_serving_network_name("5G:mnc001.mcc001.3gppnetwork.org"));
        assert!(is_serving_network_name("5G:mnc070.mcc999.3gppnetwork.org:000007ed9d5"));
        for wrong in [
            "",
            "5G:",
            "5G:mnc01.mcc001.3gppnetwork.org",
            "mnc001.mcc001.3gppnetwork.org",
            "5G:mnc001.mcc001",
        ] {
            assert!(!is_serving_network_name(wrong), "{wrong}");
        }
    }
}
