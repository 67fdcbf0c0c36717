//! The security assurance tests of 3GPP by their numbers (TS 33.512 for the AMF, 33.513 UPF, 33.514
//! UDM, 33.515 SMF, 33.516 AUSF, 33.518 NRF). Those that do not apply here, and those that other
//! tests are, stand in CONFORMANCE.md.
use crate::security::five_g_aka::{REGISTRATION_REQUEST, octets};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::{CipheringName, IntegrityName};
use martlet_nas::{
    AccessTypeValue, KeySetIdentifier, Nas5gsMessage, NasDeRegistrationType,
    NasDeregistrationRequestUeOriginating, NasFGsMobileIdentity, NasKeySetIdentifier,
};
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ngap::{NgapPduKind, ie};
use martlet_ran::ue::ServicePurpose;
use martlet_ran::{RegistrationType, XnHandoverPlan};
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{ExtSnssai, Snssai};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfStatus, NfType};
use martlet_sbi_api::nudr_dr::{FieldsQuery, UdrDataRepositoryClient};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{
    GATEWAY, RawGnb, TestCore, eventually, in_namespace, internet, metric, ping, reaches,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A consumer of services of the function at `127.0.0.LAST`.
pub fn peer(last: u8) -> Result<Peer> {
    let binding = HttpBinding::new(ClientLimits::default());
    let (root, _) = ApiRoot::split(&format!("http://127.0.0.{last}:7777")).context("a root")?;
    Ok(Peer::new(Arc::new(binding), root, "AMF", CallPolicy::default()))
}

pub fn problem(problem: martlet_sbi::Problem) -> anyhow::Error {
    anyhow::anyhow!("{problem}")
}

/// AUTHENTICATION REQUEST with RAND (0x21): the AMF UE NGAP ID, and RAND.
pub async fn challenge(gnb: &RawGnb) -> Result<(u64, Vec<u8>)> {
    let (amf_id, nas) = gnb.next_nas().await?;
    ensure!(
        nas.starts_with(&[0x7e, 0x00, 0x56]) && nas[7] == 0x21,
        "AUTHENTICATION REQUEST is due: {nas:02x?}"
    );
    Ok((amf_id, nas[8..24].to_vec()))
}

/// TS 33.512, 4.2.2.1.1, TC_SYNC_FAIL_SEAF_AMF: the next challenge is one that the AUSF gave after
/// it learnt of the failure.
#[test]
fn ts_33_512_4_2_2_1_1_synchronisation_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let (amf_id, first) = challenge(&gnb).await?;
        let before = core.store_sqn(1)?;
        let mut failure = vec![0x7e, 0x00, 0x59, 21, 0x30, 14];
        failure.extend([0x5a; 14]);
        gnb.send(gnb.uplink(amf_id, 1, &failure)).await?;
        let (_, second) = challenge(&gnb).await?;
        ensure!(
            first != second && core.store_sqn(1)? > before,
            "a vector of the home network's, made after the failure"
        );
        core.bodies.check(&["nausf-auth Authenticate"]).await
    });
}

/// TS 33.512, 4.2.2.1.2, TC_RES*_VERIFICATION_FAILURE: a UE known by its SUCI is rejected, one
/// known by a 5G-GUTI is asked for its SUCI before that.
#[test]
fn ts_33_512_4_2_2_1_2_res_star_verification_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let mut response = vec![0x7e, 0x00, 0x57, 0x2d, 16];
        response.extend([0x5a; 16]);
        gnb.send(gnb.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&gnb).await?;
        gnb.send(gnb.uplink(amf_id, 1, &response)).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == [0x7e, 0x00, 0x58], "AUTHENTICATION REJECT is due: {nas:02x?}");
        gnb.next_release().await?;
        // A 5G-GUTI that nobody has: IDENTITY REQUEST for the SUCI comes before any challenge.
        gnb.send(gnb.initial(2, &octets("7e004179000bf200f1100101010badcafe2e04f0f0f0f0"))).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == [0x7e, 0x00, 0x5b, 0x01], "IDENTITY REQUEST is due: {nas:02x?}");
        core.bodies.check(&["nausf-auth Confirm5gAka"]).await
    });
}

/// TS 33.512, 4.2.2.3.1, TC_NAS_REPLAY_AMF.
#[test]
fn ts_33_512_4_2_2_3_1_replayed_nas() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        // The request for its session once more: no second session, and the UE goes on.
        for _ in 0..3 {
            phone.replay_last_nas().await?;
        }
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(core.counts().sessions == 1, "{:?}", core.counts());
        phone.establish_pdu_session(internet()).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 33.512, 4.2.2.3.2, TC_NAS_NULL_INT_AMF, and 4.2.2.3.3, TC_NAS_INT_SELECTION_USE_AMF: SECURITY
/// MODE COMMAND has the integrity algorithm that the operator likes best of those that the UE has,
/// never NIA0, and is protected with it.
#[test]
fn ts_33_512_4_2_2_3_2_and_4_2_2_3_3_integrity_is_not_null_and_the_most_preferred() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.security.integrity =
                vec![IntegrityName::NIA0, IntegrityName::NIA3, IntegrityName::NIA1];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        // What the phone verifies with; it takes NIA0, if it were asked to.
        for (nia, chosen) in [(0xf0, 3), (0xc0, 1), (0x90, 3)] {
            let mut config = core.phone(1);
            (config.nia, config.null_integrity_allowed) = (nia, true);
            let phone = gnb.new_ue(config)?;
            let algorithms = phone.register().await?.algorithms;
            ensure!(
                algorithms.is_some_and(|(_, nia)| nia == chosen),
                "NIA{chosen} is due: {algorithms:?}"
            );
            phone.deregister().await?;
        }
        Ok(())
    });
}

/// TS 33.512, 4.2.2.4.2, TC_NAS_ALG_AMF_CHANGE_AMF: another AMF has algorithms of its own choice,
/// and takes them into use.
#[test]
fn ts_33_512_4_2_2_4_2_algorithms_after_amf_change_with_derived_kamf() {
    in_namespace(|| algorithms_of_another_amf(true));
}

/// The same where the key in use moves: it is not used with other algorithms, but a new one is.
#[test]
fn ts_33_512_4_2_2_4_2_algorithms_after_amf_change_with_same_kamf() {
    in_namespace(|| algorithms_of_another_amf(false));
}

async fn algorithms_of_another_amf(derive: bool) -> Result<()> {
    let core =
        TestCore::start(Sbi::Local, |config| config.amf.security.derive_k_amf = derive).await?;
    let second = core
        .second_amf(|config| {
            config.amf.security.integrity = vec![IntegrityName::NIA1];
            config.amf.security.ciphering = vec![CipheringName::NEA1];
        })
        .await?;
    let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
    let (phone, _) = core.phone_with_session(&here, 1).await?;
    ensure!(phone.status().await?.algorithms == Some((2, 2)), "what the first AMF likes best");
    let authenticated = core.store_sqn(1)?;
    phone.release_to_idle().await?;
    phone.move_to(&there).await?;
    phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
    let algorithms = phone.status().await?.algorithms;
    ensure!(algorithms == Some((1, 1)), "what the second AMF likes best: {algorithms:?}");
    ensure!(
        (core.store_sqn(1)? == authenticated) == derive,
        "a derived key needs no authentication"
    );
    reaches(&phone, 1, GATEWAY).await?;
    Ok(phone.deregister().await?)
}

/// TS 33.512, 4.2.2.5.1, TC_5G_GUTI_ALLOCATION_AMF: a new 5G-GUTI with an initial, a mobility and a
/// periodic registration, and after the service request that answers to paging.
#[test]
fn ts_33_512_4_2_2_5_1_5g_guti_is_reallocated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&gnb, 2).await?;
        let mut seen = BTreeSet::new();
        let mut is_new = |tmsi: u32| seen.insert(tmsi);
        let tmsi = async || {
            Ok::<u32, anyhow::Error>(phone.status().await?.guti.context("a 5G-GUTI")?.tmsi())
        };
        ensure!(is_new(tmsi().await?), "initial registration");
        for kind in [
            RegistrationType::MobilityRegistrationUpdating,
            RegistrationType::PeriodicRegistrationUpdating,
            RegistrationType::InitialRegistration,
        ] {
            phone.release_to_idle().await?;
            phone.register_as(kind).await?;
            ensure!(is_new(tmsi().await?), "{kind:?}");
        }
        let to = phone.establish_pdu_session(internet()).await?.ipv4.context("an address")?;
        phone.release_to_idle().await?;
        let before = tmsi().await?;
        friend.send_ip(1, ping(from, to, 1)).await?;
        phone.recv_ip().await?;
        for _ in 0..100 {
            if tmsi().await? != before {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        ensure!(is_new(tmsi().await?), "after paging");
        Ok(())
    });
}

/// TS 33.512, 4.2.2.6.1, TC_UE_SEC_CAP_HANDLING_AMF: no encryption algorithm, no integrity
/// algorithm, NIA0 alone, and a mandatory algorithm that is missing lead to a rejection.
#[test]
fn ts_33_512_4_2_2_6_1_invalid_security_capabilities_are_rejected() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.security.mandatory_algorithms = true)
                .await?;
        let gnb = core.gnb(1).await?;
        let none = [(0x00, 0xf0), (0xf0, 0x00), (0x80, 0x80), (0xf0, 0x80), (0x80, 0x00)];
        let mandatory = [(0x10, 0xf0), (0xb0, 0xf0), (0xf0, 0x10), (0xf0, 0xb0)];
        for (nea, nia) in none.into_iter().chain(mandatory) {
            let mut config = core.phone(1);
            (config.nea, config.nia) = (nea, nia);
            let refused = gnb
                .new_ue(config)?
                .register()
                .await
                .err()
                .with_context(|| format!("({nea:02x}, {nia:02x})"))?;
            ensure!(refused.cause() == Some(23), "({nea:02x}, {nia:02x}): {refused}");
        }
        gnb.new_ue(core.phone(1))?.register().await?;
        Ok(())
    });
}

/// TS 33.514, 4.2.3 (TC_AUTH_STATUS_STORE_UDM): SUPI, outcome, time and serving network of an
/// authentication are kept.
#[test]
fn ts_33_514_4_2_3_authentication_status_is_stored() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let udr = UdrDataRepositoryClient::new(peer(11)?);
        let supi = "imsi-001010000000001";
        let none = udr.query_authentication_status(supi, FieldsQuery::default()).await;
        ensure!(none.is_err_and(|problem| problem.status() == 404), "nobody has authenticated yet");
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        let status =
            udr.query_authentication_status(supi, FieldsQuery::default()).await.map_err(problem)?;
        ensure!(
            status.success && status.serving_network_name == "5G:mnc001.mcc001.3gppnetwork.org",
            "{status:?}"
        );
        // A failure takes its place.
        let raw = RawGnb::set_up(&core, 2).await?;
        raw.send(raw.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&raw).await?;
        let mut response = vec![0x7e, 0x00, 0x57, 0x2d, 16];
        response.extend([0x5a; 16]);
        raw.send(raw.uplink(amf_id, 1, &response)).await?;
        raw.next_release().await?;
        let after =
            udr.query_authentication_status(supi, FieldsQuery::default()).await.map_err(problem)?;
        ensure!(!after.success, "{after:?}");
        Ok(())
    });
}

/// TS 33.513, 4.2.2.6 (TC_TEID_ID_UNIQUENESS_UPF): no two tunnels at once have one identifier.
#[test]
fn ts_33_513_4_2_2_6_tunnel_identifiers_are_unique() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut phones = Vec::new();
        for n in 1..=10 {
            let (phone, _) = core.phone_with_session(&gnb, n).await?;
            phone.establish_pdu_session(internet()).await?;
            phones.push(phone);
        }
        let status = core.status("upf").to_string();
        let upf: serde_json::Value = serde_json::from_str(&status)?;
        let mut teids = Vec::new();
        collect(&upf, "localTeids", &mut teids);
        ensure!(teids.len() >= 20, "each session has a tunnel: {teids:?}");
        let distinct: BTreeSet<_> = teids.iter().collect();
        ensure!(distinct.len() == teids.len(), "{teids:?}");
        Ok(())
    });
}

/// Every text in the lists of this name.
fn collect(value: &serde_json::Value, name: &str, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                match member.as_array().filter(|_| key == name) {
                    Some(list) => into
                        .extend(list.iter().filter_map(|text| text.as_str().map(str::to_string))),
                    None => collect(member, name, into),
                }
            }
        }
        serde_json::Value::Array(list) => {
            list.iter().for_each(|member| collect(member, name, into))
        }
        _ => {}
    }
}

/// TS 33.518, 4.2.2.2.1, TC_DISC_AUTHORIZATION_SLICE_NRF: who is of another slice does not discover
/// an instance.
#[test]
fn ts_33_518_4_2_2_2_1_discovery_is_authorised_by_slice() {
    in_namespace(|| async {
        let _core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let slice = |sst| ExtSnssai::from(Snssai::new(sst, None));
        let id: martlet_sbi_api::common::NfInstanceId =
            "22222222-2222-4222-8222-222222222222".parse().expect("a UUID");
        let mut profile = NfProfile::new(id.clone(), NfType::Gmlc, NfStatus::Registered);
        profile.ipv4_addresses = Some(vec![[127, 0, 0, 99].into()]);
        profile.allowed_nssais = Some(vec![slice(1)]);
        NfManagementClient::new(peer(10)?)
            .register_nf_instance(id.as_ref(), profile)
            .await
            .map_err(problem)?;
        let search = |sst: Option<u8>| {
            let query = SearchQuery {
                target_nf_type: Some(NfType::Gmlc),
                requester_nf_type: Some(NfType::Amf),
                requester_snssais: sst.map(|sst| Json(vec![slice(sst)])),
                ..SearchQuery::default()
            };
            async move {
                NfDiscoveryClient::new(peer(10)?).search_nf_instances(query).await.map_err(problem)
            }
        };
        ensure!(search(Some(1)).await?.nf_instances.len() == 1, "one of the slice");
        let refused = search(Some(2)).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.to_string().contains("403")),
            "{refused:?}"
        );
        Ok(())
    });
}

/// TS 33.117, 4.3.6.3: a body with one name twice is refused.
#[test]
fn ts_33_117_4_3_6_3_names_in_json_are_unique() {
    in_namespace(|| async {
        let _core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        if !martlet_tests::has("curl") {
            return Ok(());
        }
        let url = "http://127.0.0.12:7777/nudm-ueau/v1/imsi-001010000000001/security-information/generate-auth-data";
        let body = r#"{"servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org","servingNetworkName":"5G:mnc002.mcc001.3gppnetwork.org","ausfInstanceId":"22222222-2222-4222-8222-222222222222"}"#;
        let words = [
            "--silent",
            "--max-time",
            "5",
            "--http2-prior-knowledge",
            "--request",
            "POST",
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            body,
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
            url,
        ];
        let status = martlet_tests::run("curl", &words).await?;
        ensure!(status.trim() == "400", "{status}");
        Ok(())
    });
}

/// TS 33.512, 4.2.2.3.1 for idle UEs: a service request that was heard before is not accepted.
#[test]
fn replayed_service_request_is_ignored() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.release_to_idle().await?;
        phone.service_request_for(ServicePurpose::Data, &[1]).await?;
        phone.replay_last_nas().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 33.512, 4.2.2.4.1, TC_BIDDING_DOWN_XN_AMF: a target gNB that names lesser security
/// capabilities of the UE gets those that the AMF has.
#[test]
fn ts_33_512_4_2_2_4_1_bidding_down_at_an_xn_handover() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        // NEA1 and NIA1 alone; and then the truth.
        let differs =
            || metric("martlet_amf_ngap_errors_total", &[("reason", "security_capabilities")]);
        for (gnb, capability) in [(&other, Some((0x80, 0x80))), (&one, None)] {
            let before = differs();
            let mut heard = gnb.subscribe();
            phone
                .xn_handover(gnb, XnHandoverPlan { capability, ..XnHandoverPlan::default() })
                .await?;
            let told = loop {
                let message = heard.recv().await?;
                let pdu = NGAP_PDU::decode(&message)?;
                if pdu.kind() == NgapPduKind::Successful_PathSwitchRequest {
                    break pdu.ie::<ie::UESecurityCapabilities>().transpose()?.map(|own| {
                        (
                            own.nr_encryption_algorithms.0.as_octets()[0],
                            own.nr_integrity_protection_algorithms.0.as_octets()[0],
                        )
                    });
                }
            };
            // The phone has NEA1 to NEA3 and NIA1 to NIA3.
            ensure!(told == Some((0xe0, 0xe0)), "PATH SWITCH REQUEST ACKNOWLEDGE: {told:02x?}");
            ensure!(capability.is_none() || differs() > before, "what differs is counted");
            reaches(&phone, 1, GATEWAY).await?;
        }
        Ok(())
    });
}

/// TS 33.512, 4.2.2.1.4 (since Release 18), TC_AMF_NAS_INTEGRITY_FAILURE: what is protected
/// wrongly, or not at all, is dropped once NAS security is there, and does nothing to the UE; a
/// registration request that is protected wrongly lets nobody in.
#[test]
fn ts_33_512_4_2_2_1_4_nas_integrity_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let guti = phone.status().await?.guti.context("a 5G-GUTI")?;
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let kind =
            NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess);
        let identity = NasFGsMobileIdentity::from_guti(guti);
        let leave = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
            kind, ngksi, identity,
        ));
        let dropped = || metric("martlet_amf_nas_errors_total", &[]);
        let before = (core.counts(), dropped());
        phone.send_with_wrong_mac(leave.clone()).await?;
        phone.send_raw_nas(leave.encode()?).await?;
        reaches(&phone, 1, GATEWAY).await?;
        let both = || (dropped() >= before.1 + 2.0).then_some(());
        eventually("both are counted", both, || format!("{} of them", dropped() - before.1))
            .await?;
        ensure!(core.counts() == before.0, "and nothing more: {:?}", core.counts());
        // As an initial message: its registration request with another MAC is of nobody that the
        // AMF knows.
        let raw = RawGnb::set_up(&core, 2).await?;
        let mut request =
            vec![0x7e, 0x01, 0x12, 0x34, 0x56, 0x78, 0x00, 0x7e, 0x00, 0x41, 0x01, 0x00, 0x0b];
        request.extend_from_slice(&NasFGsMobileIdentity::from_guti(guti).value);
        raw.send(raw.initial(1, &request)).await?;
        let (_, nas) = raw.next_nas().await?;
        ensure!(
            nas == [0x7e, 0x00, 0x5b, 0x01],
            "IDENTITY REQUEST, not protected, is due: {nas:02x?}"
        );
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        Ok(())
    });
}

/// TS 33.512, 4.2.2.6.2, TC_UE_SEC_CAP_AS_CONTEXT_SETUP: the gNB gets the capabilities that the UE
/// has said in its registration request.
#[test]
fn ts_33_512_4_2_2_6_2_security_capabilities_for_the_access_stratum() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        for (nea, nia) in [(0xf0, 0x70), (0xa0, 0x60), (0xe0, 0x20)] {
            let mut config = core.phone(1);
            (config.nea, config.nia) = (nea, nia);
            let mut heard = gnb.subscribe();
            let phone = gnb.new_ue(config)?;
            phone.register().await?;
            let told = loop {
                let message = heard.recv().await?;
                let pdu = NGAP_PDU::decode(&message)?;
                if pdu.kind() == NgapPduKind::Initiating_InitialContextSetup {
                    let told = pdu
                        .ie::<ie::UESecurityCapabilities>()
                        .transpose()?
                        .context("UE Security Capabilities")?;
                    let integrity = told.nr_integrity_protection_algorithms.0.as_octets()[0];
                    break (told.nr_encryption_algorithms.0.as_octets()[0], integrity);
                }
            };
            // NGAP begins with algorithm 1.
            ensure!(
                told == (nea << 1, nia << 1),
                "({nea:02x}, {nia:02x}) was said, and the gNB was told {told:02x?}"
            );
            phone.deregister().await?;
        }
        Ok(())
    });
}
