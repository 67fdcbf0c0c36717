//! 5G AKA over AUSF, UDM and UDR, as an AMF and a UE perform it (TS 33.501, 6.1.3.2).
#[path = "../../udm/tests/home_network/mod.rs"]
mod home_network;

use home_network::*;
use martlet_ausf::AusfConfig;
use martlet_sbi::Problem;
use martlet_sbi_api::common::{Hex, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::*;
use martlet_sbi_api::nudm_ueau::ResynchronizationInfo;
use martlet_sbi_api::nudm_uecm::FeaturesQuery;
use martlet_sbi_api::nudr_dr::{FieldsQuery, UdrDataRepositoryClient};
use martlet_security::aka::{self, SubscriberKey};
use martlet_security::nas_5gs::{HomeNetworkPublicKey, HxresStar};
use martlet_security::sidf::{Concealment, conceal};
use martlet_security::usim::{Challenge, Usim};
use martlet_security::{Autn, Plmn, Rand, sqn};
use martlet_udm::{HomeNetworkKey, Scheme, UdmConfig, generate_key_pair};

const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";

fn key() -> SubscriberKey {
    SubscriberKey::new(&K, &OPC)
}

/// The challenge as the AMF receives it.
struct FiveGAkaChallenge {
    id: String,
    link: String,
    rand: Rand,
    autn: Autn,
    hxres_star: HxresStar,
}

async fn request_challenge(
    ausf: &AusfUeAuthenticationClient,
    info: AuthenticationInfo,
) -> Result<FiveGAkaChallenge, Problem> {
    let created = ausf.ue_authentications_post(info).await?;
    assert_eq!(created.body.auth_type, AuthType::FiveGAka);
    let link = serde_json::to_value(&created.body.links[LINK_5G_AKA]).unwrap();
    let AuthData::FiveGAka(av) = created.body.five_g_auth_data else {
        panic!("no 5G-AKA challenge")
    };
    Ok(FiveGAkaChallenge {
        id: created.location.rsplit('/').next().unwrap().to_string(),
        link: link["href"].as_str().unwrap().to_string(),
        rand: Rand::new(&av.rand.0),
        autn: Autn::new(&av.autn.0),
        hxres_star: HxresStar::new(&av.hxres_star.0),
    })
}

fn info(subscriber: &str) -> AuthenticationInfo {
    AuthenticationInfo::new(subscriber.parse().unwrap(), NETWORK.into())
}

fn confirmation(res_star: [u8; 16]) -> ConfirmationData {
    ConfirmationData { res_star: Some(SecretHex(res_star)), ..Default::default() }
}

/// A complete authentication, after which the AMF and the UE have the same K_AMF.
async fn authenticate(
    ausf: &AusfUeAuthenticationClient,
    usim: &mut Usim,
    info: AuthenticationInfo,
    supi: &str,
) {
    let challenge = request_challenge(ausf, info).await.unwrap();
    assert!(challenge.link.ends_with(&format!(
        "/nausf-auth/v1/ue-authentications/{}/5g-aka-confirmation",
        challenge.id
    )));
    let Challenge::Accepted(ue) = usim.challenge(&challenge.rand, &challenge.autn, NETWORK) else {
        panic!("refused")
    };
    let res_star = *ue.res_star.as_octets();
    assert!(aka::hres_star_matches(&challenge.rand, &res_star, &challenge.hxres_star));
    let confirmed = ausf.confirm_5g_aka(&challenge.id, confirmation(res_star)).await.unwrap();
    assert_eq!(confirmed.auth_result, AuthResult::AuthenticationSuccess);
    assert_eq!(confirmed.supi.as_deref(), Some(supi));
    let k_seaf = martlet_security::nas_5gs::KSeaf::new(&confirmed.kseaf.unwrap().0);
    let k_amf = aka::k_amf(&k_seaf, supi).unwrap();
    assert_eq!(ue.k_amf(NETWORK, supi).unwrap().as_octets(), k_amf.as_octets());
}

async fn complete_authentication(binding: Binding) {
    let network = HomeNetwork::start(binding).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let udr = UdrDataRepositoryClient::new(network.udr());
    let mut usim = Usim::new(key());
    for _ in 0..3 {
        authenticate(&ausf, &mut usim, info(SUPI), SUPI).await;
    }
    // The UDM stores the result while the UE goes on.
    let event = loop {
        let stored = udr.query_authentication_status(SUPI, FieldsQuery::default()).await;
        match stored {
            Ok(event) => break event,
            Err(problem) => assert_eq!(problem.status(), 404, "{problem}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    assert!(event.success && event.serving_network_name == NETWORK);
    // Each vector uses one sequence number.
    let data = udr.query_auth_subs_data(SUPI, FeaturesQuery::default()).await.unwrap();
    let last = data.sequence_number.unwrap().sqn.unwrap();
    assert_eq!(sqn::from_text(&last), Some(usim.sqn()));
    assert_eq!(usim.sqn(), sqn::next(sqn::next(sqn::next(0))));
}

#[tokio::test]
async fn complete_authentication_locally() {
    complete_authentication(Binding::Local).await;
}

#[tokio::test]
async fn complete_authentication_over_http() {
    complete_authentication(Binding::Http).await;
}

/// Who can derive the identity of an authentication can end it with a wrong response.
#[tokio::test]
async fn one_authentication_does_not_show_the_identity_of_the_next() {
    let network = HomeNetwork::start(Binding::Local).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = request_challenge(&ausf, info(SUPI)).await.unwrap().id;
        ids.push(u128::from_str_radix(&id, 16).unwrap());
    }
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[1] - pair[0] > u64::MAX.into()), "{ids:x?}");
}

async fn resynchronisation(binding: Binding) {
    let network = HomeNetwork::start(binding).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    // The USIM is far ahead of the home network, as after a database restore.
    let mut usim = Usim::at(key(), 9000 << 5 | 7);
    let first = request_challenge(&ausf, info(SUPI)).await.unwrap();
    let Challenge::SyncFailure(auts) = usim.challenge(&first.rand, &first.autn, NETWORK) else {
        panic!("fresh")
    };

    // A forged AUTS changes nothing: the next vector follows the first.
    let with = |rand: &Rand, auts: [u8; 14]| {
        let mut again = info(SUPI);
        again.resynchronization_info =
            Some(ResynchronizationInfo { rand: Hex(*rand.as_octets()), auts: Hex(auts) });
        again
    };
    let mut forged = auts;
    forged[13] ^= 1;
    let second = request_challenge(&ausf, with(&first.rand, forged)).await.unwrap();
    assert!(matches!(
        usim.challenge(&second.rand, &second.autn, NETWORK),
        Challenge::SyncFailure(_)
    ));
    assert_eq!(network.store.subscriber(SUPI).unwrap().unwrap().sqn, sqn::next(sqn::next(0)));

    authenticate(&ausf, &mut usim, with(&first.rand, auts), SUPI).await;
    authenticate(&ausf, &mut usim, info(SUPI), SUPI).await;
    assert_eq!(network.store.subscriber(SUPI).unwrap().unwrap().sqn, usim.sqn());
}

/// TS 33.514, 4.2.2.1: the UDM's handling of a synchronisation failure.
#[tokio::test]
async fn ts_33_514_4_2_2_1_resynchronisation_locally() {
    resynchronisation(Binding::Local).await;
}

#[tokio::test]
async fn ts_33_514_4_2_2_1_resynchronisation_over_http() {
    resynchronisation(Binding::Http).await;
}

async fn wrong_responses_are_rejected(binding: Binding) {
    let network = HomeNetwork::start(binding).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let udr = UdrDataRepositoryClient::new(network.udr());
    // Another key: the USIM rejects the network.
    let mut other = Usim::new(SubscriberKey::new(&[1; 16], &OPC));
    let first = request_challenge(&ausf, info(SUPI)).await.unwrap();
    assert!(matches!(other.challenge(&first.rand, &first.autn, NETWORK), Challenge::MacFailure));
    // A wrong response, then the right one: each challenge is answered once.
    let refused = ausf.confirm_5g_aka(&first.id, confirmation([7; 16])).await.unwrap();
    assert_eq!(
        (refused.auth_result, refused.kseaf, refused.supi),
        (AuthResult::AuthenticationFailure, None, None)
    );
    assert!(!udr.query_authentication_status(SUPI, FieldsQuery::default()).await.unwrap().success);
    assert_eq!(
        failure(ausf.confirm_5g_aka(&first.id, confirmation([7; 16])).await),
        (404, "CONTEXT_NOT_FOUND".into())
    );
    // No response.
    let second = request_challenge(&ausf, info(SUPI)).await.unwrap();
    let refused = ausf.confirm_5g_aka(&second.id, ConfirmationData::default()).await.unwrap();
    assert_eq!(refused.auth_result, AuthResult::AuthenticationFailure);
    // An unknown subscriber, and a malformed serving network name.
    let output = "0a".repeat(45);
    let causes = [
        (info("imsi-001019999999999"), (404, "USER_NOT_FOUND")),
        (
            AuthenticationInfo::new(SUPI.parse().unwrap(), "5G:here".into()),
            (403, "SERVING_NETWORK_NOT_AUTHORIZED"),
        ),
        (
            info(&format!("suci-0-001-01-0000-1-27-{output}")),
            (403, "INVALID_HN_PUBLIC_KEY_IDENTIFIER"),
        ),
        (info("suci-0-001-01-0000-1-27-00112233"), (403, "INVALID_SCHEME_OUTPUT")),
        (info("suci-0-001-01-0000-0-0-12x4"), (400, "MANDATORY_IE_INCORRECT")),
        (
            info(&format!("suci-0-001-01-0000-9-27-{output}")),
            (501, "UNSUPPORTED_PROTECTION_SCHEME"),
        ),
    ];
    for (info, (status, cause)) in causes {
        let who = info.supi_or_suci.to_string();
        assert_eq!(
            failure(ausf.ue_authentications_post(info).await),
            (status, cause.to_string()),
            "{who}"
        );
    }
}

#[tokio::test]
async fn wrong_responses_are_rejected_locally() {
    wrong_responses_are_rejected(Binding::Local).await;
}

#[tokio::test]
async fn wrong_responses_are_rejected_over_http() {
    wrong_responses_are_rejected(Binding::Http).await;
}

/// TS 33.514, 4.2.1.1, TC_DE_CONCEAL_SUPI_from_SUCI_UDM.
#[tokio::test]
async fn ts_33_514_4_2_1_1_concealed_subscribers_of_every_scheme_authenticate() {
    let pairs = [Scheme::A, Scheme::B].map(|scheme| (scheme, generate_key_pair(scheme).unwrap()));
    let keys = pairs.iter().enumerate().map(|(n, (scheme, pair))| HomeNetworkKey {
        id: n as u8 + 1,
        scheme: *scheme,
        private: pair.private.clone(),
    });
    let udm = UdmConfig { home_network_keys: keys.collect(), ..Default::default() };
    let network = HomeNetwork::start_with(Binding::Local, udm).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let octets = |n: usize| {
        let (_, pair) = &pairs[n];
        (0..pair.public.len() / 2)
            .map(|i| u8::from_str_radix(&pair.public[2 * i..2 * i + 2], 16).unwrap())
    };
    let a = HomeNetworkPublicKey::profile_a(
        octets(0).collect::<Vec<_>>().as_slice().try_into().unwrap(),
    );
    let b = HomeNetworkPublicKey::profile_b(&octets(1).collect::<Vec<_>>()).unwrap();
    let concealments = [
        Concealment::Null,
        Concealment::Ecies { key_id: 1, key: a },
        Concealment::Ecies { key_id: 2, key: b },
    ];
    let mut usim = Usim::new(key());
    for concealment in concealments {
        let suci = conceal(Plmn::new("001", "01").unwrap(), "0000000001", "0", &concealment)
            .unwrap()
            .to_string();
        authenticate(&ausf, &mut usim, info(&suci), SUPI).await;
        if !matches!(concealment, Concealment::Null) {
            let broken = format!(
                "{}{}",
                &suci[..suci.len() - 1],
                if suci.ends_with('0') { "1" } else { "0" }
            );
            let refused = ausf.ue_authentications_post(info(&broken)).await;
            assert_eq!(failure(refused), (403, "INVALID_SCHEME_OUTPUT".into()));
        }
    }
}

#[tokio::test]
async fn concurrent_authentications_never_share_a_sequence_number() {
    let network = HomeNetwork::start(Binding::Local).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let begin = |_| {
        let ausf = ausf.clone();
        tokio::spawn(async move { request_challenge(&ausf, info(SUPI)).await.unwrap() })
    };
    let under_way: Vec<_> = (0..20).map(begin).collect();
    let mut seen = std::collections::BTreeSet::new();
    for task in under_way {
        let challenge = task.await.unwrap();
        let response = key().check_autn(&challenge.rand, &challenge.autn).unwrap();
        assert!(seen.insert(response.sqn), "the same sequence number twice");
    }
    assert_eq!(seen.len(), 20);
}

/// The AMFs of Open5GS and OAI read a link that is an object, and free5GC's one that is a list.
async fn links_have_the_form_that_the_consumer_reads(binding: Binding) {
    let network = HomeNetwork::start(binding).await;
    for (user_agent, is_list) in [("AMF", false), ("OpenAPI-Generator/1.0.0/go", true)] {
        let ausf = AusfUeAuthenticationClient::new(network.ausf_of(user_agent));
        let created = ausf.ue_authentications_post(info(SUPI)).await.unwrap();
        let link = serde_json::to_value(&created.body.links[LINK_5G_AKA]).unwrap();
        assert_eq!((link.is_array(), link.is_object()), (is_list, !is_list), "{user_agent}");
        let uri = created.body.links[LINK_5G_AKA].uri().unwrap();
        assert_eq!(uri, format!("{}/5g-aka-confirmation", created.location));
    }
}

#[tokio::test]
async fn links_have_the_form_that_the_consumer_reads_locally() {
    links_have_the_form_that_the_consumer_reads(Binding::Local).await;
}

#[tokio::test]
async fn links_have_the_form_that_the_consumer_reads_over_http() {
    links_have_the_form_that_the_consumer_reads(Binding::Http).await;
}

#[tokio::test]
async fn authentications_in_progress_are_limited() {
    let few = AusfConfig { max_pending: 2, ..Default::default() };
    let network = HomeNetwork::start_as(Binding::Local, UdmConfig::default(), few).await;
    let ausf = AusfUeAuthenticationClient::new(network.ausf());
    let first = request_challenge(&ausf, info(SUPI)).await.unwrap();
    request_challenge(&ausf, info(SUPI)).await.unwrap();
    let refused = ausf.ue_authentications_post(info(SUPI)).await.expect_err("no room");
    assert_eq!(
        (refused.status(), refused.cause(), refused.retry_after),
        (503, "NF_CONGESTION", Some(1))
    );
    ausf.confirm_5g_aka(&first.id, confirmation([0; 16])).await.unwrap();
    request_challenge(&ausf, info(SUPI)).await.unwrap();
}
