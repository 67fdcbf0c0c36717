//! Results that are reported after the answer, and a UDM that does not store them (TS 33.501,
//! 6.1.4.1a).
#[path = "../../udm/tests/home_network/mod.rs"]
mod home_network;

use home_network::*;
use martlet_ausf::AusfConfig;
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::common::SecretHex;
use martlet_sbi_api::nausf_ueauthentication::*;
use martlet_sbi_api::nudm_ueau::{
    AuthEvent, AuthenticationInfoRequest, AuthenticationInfoResult, NUDM_UEAU, UdmUeAuthentication,
};
use martlet_security::aka::SubscriberKey;
use martlet_security::usim::{Challenge, Usim};
use martlet_security::{Autn, Rand};
use martlet_udm::UdmConfig;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOME: &str = "5G:mnc001.mcc001.3gppnetwork.org";
const VISITED: &str = "5G:mnc002.mcc001.3gppnetwork.org";
const SECOND_SUPI: &str = "imsi-001010000000002";

/// A UDM that stores results only while it is available.
#[derive(Default)]
struct ScriptedUdm {
    available: AtomicBool,
    stored: Mutex<BTreeSet<String>>,
}

impl UdmUeAuthentication for ScriptedUdm {
    async fn generate_auth_data(
        &self,
        _: &str,
        _: AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        Err(Problem::system_failure("no vectors"))
    }

    async fn confirm_auth(
        &self,
        supi: &str,
        body: AuthEvent,
    ) -> Result<Created<AuthEvent>, Problem> {
        if !self.available.load(Ordering::Relaxed) {
            return Err(Problem::system_failure("the database is not available"));
        }
        self.stored.lock().unwrap().insert(supi.to_string());
        Ok(Created { location: format!("http://udm/nudm-ueau/v1/{supi}/auth-events/1"), body })
    }

    async fn delete_auth(&self, _: &str, _: &str, _: AuthEvent) -> Result<(), Problem> {
        Err(Problem::system_failure("not scripted"))
    }
}

impl ScriptedUdm {
    async fn until_stored(&self, supi: &str) {
        for _ in 0..1000 {
            if self.stored.lock().unwrap().contains(supi) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the result of {supi} was not reported again");
    }
}

/// Authentications that wait for the UE's correct response.
async fn challenges(
    ausf: &AusfUeAuthenticationClient,
    supi: &str,
    network: &str,
    number: usize,
) -> Vec<(String, ConfirmationData)> {
    let mut usim = Usim::new(SubscriberKey::new(&K, &OPC));
    let mut challenges = Vec::new();
    for _ in 0..number {
        let info = AuthenticationInfo::new(supi.parse().unwrap(), network.into());
        let created = ausf.ue_authentications_post(info).await.unwrap();
        let AuthData::FiveGAka(av) = created.body.five_g_auth_data else {
            panic!("no 5G-AKA challenge")
        };
        let (rand, autn) = (Rand::new(&av.rand.0), Autn::new(&av.autn.0));
        let Challenge::Accepted(ue) = usim.challenge(&rand, &autn, network) else {
            panic!("challenge rejected")
        };
        let response = ConfirmationData {
            res_star: Some(SecretHex(*ue.res_star.as_octets())),
            ..Default::default()
        };
        challenges.push((created.location.rsplit('/').next().unwrap().to_string(), response));
    }
    challenges
}

/// The UDM of a network is replaced by one that is not available.
fn without_udm(network: &HomeNetwork) -> Arc<ScriptedUdm> {
    let udm = Arc::new(ScriptedUdm::default());
    network.replace_udm(NUDM_UEAU.routes(udm.clone()));
    udm
}

#[tokio::test]
async fn after_a_result_that_is_not_stored_authentications_wait_for_the_udm() {
    let network = HomeNetwork::start(Binding::Local).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let first = challenges(&ausf, SUPI, HOME, 1).await.remove(0);
    let mut others = challenges(&ausf, SECOND_SUPI, HOME, 50).await;
    let udm = without_udm(&network);

    // The UE goes on while its result is reported.
    let confirmed = ausf.confirm_5g_aka(&first.0, first.1).await.unwrap();
    assert_eq!(confirmed.auth_result, AuthResult::AuthenticationSuccess);
    // The failure follows. From then on each authentication fails as one that waits for the UDM.
    let mut confirm_next = async || {
        let (id, response) = others.pop().expect("no authentication failed");
        ausf.confirm_5g_aka(&id, response).await
    };
    while confirm_next().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for _ in 0..3 {
        assert_eq!(failure(confirm_next().await), (500, "SYSTEM_FAILURE".into()));
    }
    // The UDM recovers: the first result is reported again, and authentications succeed.
    udm.available.store(true, Ordering::Relaxed);
    confirm_next().await.unwrap();
    udm.until_stored(SUPI).await;
}

#[tokio::test]
async fn a_visited_network_gets_no_key_before_the_result_is_stored() {
    let network = HomeNetwork::start(Binding::Local).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let (id, response) = challenges(&ausf, SUPI, VISITED, 1).await.remove(0);
    without_udm(&network);
    let refused = ausf.confirm_5g_aka(&id, response).await;
    assert_eq!(failure(refused), (500, "SYSTEM_FAILURE".into()));
}

#[tokio::test]
async fn await_result_answers_after_the_result_is_stored() {
    let ausf = AusfConfig { await_result: true, ..Default::default() };
    let network = HomeNetwork::start_as(Binding::Local, UdmConfig::default(), ausf).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let (id, response) = challenges(&ausf, SUPI, HOME, 1).await.remove(0);
    without_udm(&network);
    let refused = ausf.confirm_5g_aka(&id, response).await;
    assert_eq!(failure(refused), (500, "SYSTEM_FAILURE".into()));
}
