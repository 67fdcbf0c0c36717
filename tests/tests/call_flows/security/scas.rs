//! Security assurance test cases (SCAS) by their numbers: TS 33.512 (AMF), 33.513 (UPF), 33.514
//! (UDM), 33.515 (SMF), 33.516 (AUSF), 33.518 (NRF). CONFORMANCE.md lists all of them.
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
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

/// A client of the function at `127.0.0.LAST`.
pub fn peer(last: u8) -> Result<Peer> {
    let binding = HttpBinding::new(ClientLimits::default());
    let (root, _) =
        ApiRoot::split(&format!("http://127.0.0.{last}:7777")).context("not an API root")?;
    Ok(Peer::new(Arc::new(binding), root, "AMF", CallPolicy::default()))
}

pub fn problem(problem: martlet_sbi::Problem) -> anyhow::Error {
    anyhow::anyhow!("{problem}")
}

/// Receives AUTHENTICATION REQUEST with RAND (0x21). Returns the AMF UE NGAP ID and RAND.
pub async fn challenge(gnb: &RawGnb) -> Result<(u64, Vec<u8>)> {
    let (amf_id, nas) = gnb.next_nas().await?;
    ensure!(
        nas.starts_with(&[0x7e, 0x00, 0x56]) && nas[7] == 0x21,
        "expected AUTHENTICATION REQUEST: {nas:02x?}"
    );
    Ok((amf_id, nas[8..24].to_vec()))
}

/// TS 33.512, 4.2.2.1.1, TC_SYNC_FAIL_SEAF_AMF: the AUSF created the next challenge after the
/// failure was reported.
#[test]
fn ts_33_512_4_2_2_1_1_synchronisation_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (amf_id, first) = challenge(&gnb).await?;
        let before = core.stored_sqn(1)?;
        let mut failure = vec![0x7e, 0x00, 0x59, 21, 0x30, 14];
        failure.extend([0x5a; 14]);
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &failure)).await?;
        let (_, second) = challenge(&gnb).await?;
        ensure!(
            first != second && core.stored_sqn(1)? > before,
            "the vector is older than the failure"
        );
        core.sbi_record.check(&["nausf-auth Authenticate"]).await
    });
}

/// TS 33.512, 4.2.2.1.2, TC_RES*_VERIFICATION_FAILURE: a UE identified by SUCI is rejected; a UE
/// identified by 5G-GUTI is first asked for its SUCI.
#[test]
fn ts_33_512_4_2_2_1_2_res_star_verification_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let mut response = vec![0x7e, 0x00, 0x57, 0x2d, 16];
        response.extend([0x5a; 16]);
        gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&gnb).await?;
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &response)).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == [0x7e, 0x00, 0x58], "expected AUTHENTICATION REJECT: {nas:02x?}");
        gnb.complete_next_release().await?;
        // An unknown 5G-GUTI: IDENTITY REQUEST for the SUCI precedes any challenge.
        gnb.send(
            gnb.initial_ue_message(2, &from_hex("7e004179000bf200f1100101010badcafe2e04f0f0f0f0")),
        )
        .await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == [0x7e, 0x00, 0x5b, 0x01], "expected IDENTITY REQUEST: {nas:02x?}");
        core.sbi_record.check(&["nausf-auth Confirm5gAka"]).await
    });
}

/// TS 33.512, 4.2.2.3.1, TC_NAS_REPLAY_AMF.
#[test]
fn ts_33_512_4_2_2_3_1_replayed_nas() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // The replayed session request establishes no second session.
        for _ in 0..3 {
            ue.replay_last_nas().await?;
        }
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.counts().sessions == 1, "{:?}", core.counts());
        ue.establish_pdu_session(internet()).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// TS 33.512, 4.2.2.3.2, TC_NAS_NULL_INT_AMF, and 4.2.2.3.3, TC_NAS_INT_SELECTION_USE_AMF: SECURITY
/// MODE COMMAND selects the most preferred integrity algorithm that the UE supports, never NIA0,
/// and is protected with it.
#[test]
fn ts_33_512_4_2_2_3_2_and_4_2_2_3_3_integrity_is_not_null_and_the_most_preferred() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.security.integrity =
                vec![IntegrityName::NIA0, IntegrityName::NIA3, IntegrityName::NIA1];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        // The algorithm that the UE verifies with. This UE would accept NIA0.
        for (nia, chosen) in [(0xf0, 3), (0xc0, 1), (0x90, 3)] {
            let mut config = core.ue_config(1);
            (config.nia, config.null_integrity_allowed) = (nia, true);
            let ue = gnb.new_ue(config)?;
            let algorithms = ue.register().await?.algorithms;
            ensure!(
                algorithms.is_some_and(|(_, nia)| nia == chosen),
                "expected NIA{chosen}: {algorithms:?}"
            );
            ue.deregister().await?;
        }
        Ok(())
    });
}

/// TS 33.512, 4.2.2.4.2, TC_NAS_ALG_AMF_CHANGE_AMF: the new AMF selects its own algorithms.
#[test]
fn ts_33_512_4_2_2_4_2_algorithms_after_amf_change_with_derived_kamf() {
    in_namespace(|| algorithms_of_another_amf(true));
}

/// The same without horizontal key derivation: the key is not used with other algorithms, so the UE
/// is authenticated again.
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
    let (ue, _) = core.ue_with_session(&here, 1).await?;
    ensure!(ue.status().await?.algorithms == Some((2, 2)), "what the first AMF likes best");
    let authenticated = core.stored_sqn(1)?;
    ue.release_to_idle().await?;
    ue.move_to(&there).await?;
    ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
    let algorithms = ue.status().await?.algorithms;
    ensure!(algorithms == Some((1, 1)), "not the preference of the second AMF: {algorithms:?}");
    ensure!(
        (core.stored_sqn(1)? == authenticated) == derive,
        "authentication despite a derived key"
    );
    reaches(&ue, 1, GATEWAY).await?;
    Ok(ue.deregister().await?)
}

/// TS 33.512, 4.2.2.5.1, TC_5G_GUTI_ALLOCATION_AMF: a new 5G-GUTI with an initial, a mobility and a
/// periodic registration, and after a service request that answers paging.
#[test]
fn ts_33_512_4_2_2_5_1_5g_guti_is_reallocated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&gnb, 2).await?;
        let mut seen = BTreeSet::new();
        let mut is_new = |tmsi: u32| seen.insert(tmsi);
        let tmsi = async || {
            Ok::<u32, anyhow::Error>(ue.status().await?.guti.context("no 5G-GUTI")?.tmsi())
        };
        ensure!(is_new(tmsi().await?), "initial registration");
        for kind in [
            RegistrationType::MobilityRegistrationUpdating,
            RegistrationType::PeriodicRegistrationUpdating,
            RegistrationType::InitialRegistration,
        ] {
            ue.release_to_idle().await?;
            ue.register_as(kind).await?;
            ensure!(is_new(tmsi().await?), "{kind:?}");
        }
        let to = ue.establish_pdu_session(internet()).await?.ipv4.context("no IPv4 address")?;
        ue.release_to_idle().await?;
        let before = tmsi().await?;
        peer_ue.send_ip(1, ping(from, to, 1)).await?;
        ue.recv_ip().await?;
        for _ in 0..1500 {
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
/// algorithm, only NIA0, or a missing mandatory algorithm lead to a rejection.
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
            let mut config = core.ue_config(1);
            (config.nea, config.nia) = (nea, nia);
            let refused = gnb
                .new_ue(config)?
                .register()
                .await
                .err()
                .with_context(|| format!("({nea:02x}, {nia:02x})"))?;
            ensure!(refused.cause() == Some(23), "({nea:02x}, {nia:02x}): {refused}");
        }
        gnb.new_ue(core.ue_config(1))?.register().await?;
        Ok(())
    });
}

/// TS 33.514, 4.2.3, TC_AUTH_STATUS_STORE_UDM: the UDM stores SUPI, result, time and serving
/// network of an authentication.
#[test]
fn ts_33_514_4_2_3_authentication_status_is_stored() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let udr = UdrDataRepositoryClient::new(peer(11)?);
        let supi = "imsi-001010000000001";
        let none = udr.query_authentication_status(supi, FieldsQuery::default()).await;
        ensure!(
            none.is_err_and(|problem| problem.status() == 404),
            "a status exists before the authentication"
        );
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        // The UDM stores it while the UE goes on.
        let status = loop {
            match udr.query_authentication_status(supi, FieldsQuery::default()).await {
                Ok(status) => break status,
                Err(missing) if missing.status() == 404 => {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                Err(other) => return Err(problem(other)),
            }
        };
        ensure!(
            status.success && status.serving_network_name == "5G:mnc001.mcc001.3gppnetwork.org",
            "{status:?}"
        );
        // A failure replaces it.
        let raw = RawGnb::set_up(&core, 2).await?;
        raw.send(raw.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&raw).await?;
        let mut response = vec![0x7e, 0x00, 0x57, 0x2d, 16];
        response.extend([0x5a; 16]);
        raw.send(raw.uplink_nas_transport(amf_id, 1, &response)).await?;
        raw.complete_next_release().await?;
        let after =
            udr.query_authentication_status(supi, FieldsQuery::default()).await.map_err(problem)?;
        ensure!(!after.success, "{after:?}");
        Ok(())
    });
}

/// TS 33.513, 4.2.2.6, TC_TEID_ID_UNIQUENESS_UPF: concurrent tunnels have different TEIDs.
#[test]
fn ts_33_513_4_2_2_6_tunnel_identifiers_are_unique() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut ues = Vec::new();
        for n in 1..=10 {
            let (ue, _) = core.ue_with_session(&gnb, n).await?;
            ue.establish_pdu_session(internet()).await?;
            ues.push(ue);
        }
        let status = core.status("upf").to_string();
        let upf: serde_json::Value = serde_json::from_str(&status)?;
        let mut teids = Vec::new();
        collect(&upf, "localTeids", &mut teids);
        ensure!(teids.len() >= 20, "too few tunnels: {teids:?}");
        let distinct: BTreeSet<_> = teids.iter().collect();
        ensure!(distinct.len() == teids.len(), "{teids:?}");
        Ok(())
    });
}

/// Collects all strings in arrays of this name.
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

/// TS 33.518, 4.2.2.2.1, TC_DISC_AUTHORIZATION_SLICE_NRF: a function of another slice does not
/// discover an instance.
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
        ensure!(
            search(Some(1)).await?.nf_instances.len() == 1,
            "a function of the slice finds the instance"
        );
        let refused = search(Some(2)).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.to_string().contains("403")),
            "{refused:?}"
        );
        Ok(())
    });
}

/// TS 33.117, 4.3.6.3: a JSON body with a duplicate name is rejected.
#[test]
fn ts_33_117_4_3_6_3_names_in_json_are_unique() {
    in_namespace(|| async {
        let _core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        if !martlet_tests::is_installed("curl") {
            return Ok(());
        }
        let url = "http://127.0.0.12:7777/nudm-ueau/v1/imsi-001010000000001/security-information/\
                   generate-auth-data";
        let body = r#"{"servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org",
            "servingNetworkName":"5G:mnc002.mcc001.3gppnetwork.org",
            "ausfInstanceId":"22222222-2222-4222-8222-222222222222"}"#;
        let arguments = [
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
        let status = martlet_tests::run("curl", &arguments).await?;
        ensure!(status.trim() == "400", "{status}");
        Ok(())
    });
}

/// TS 33.512, 4.2.2.3.1 for idle UEs: a replayed service request is rejected.
#[test]
fn replayed_service_request_is_ignored() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ue.replay_last_nas().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// TS 33.512, 4.2.2.4.1, TC_BIDDING_DOWN_XN_AMF: a target gNB that reports weaker UE security
/// capabilities receives those stored in the AMF.
#[test]
fn ts_33_512_4_2_2_4_1_bidding_down_at_an_xn_handover() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        // Only NEA1 and NIA1, then the correct capabilities.
        let differs =
            || metric("martlet_amf_ngap_errors_total", &[("reason", "security_capabilities")]);
        for (gnb, capability) in [(&other, Some((0x80, 0x80))), (&one, None)] {
            let before = differs();
            let mut messages = gnb.subscribe();
            ue.xn_handover(gnb, XnHandoverPlan { capability, ..XnHandoverPlan::default() }).await?;
            let indicated = loop {
                let message = messages.recv().await?;
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
            // The UE has NEA1 to NEA3 and NIA1 to NIA3.
            ensure!(
                indicated == Some((0xe0, 0xe0)),
                "PATH SWITCH REQUEST ACKNOWLEDGE: {indicated:02x?}"
            );
            ensure!(capability.is_none() || differs() > before, "the mismatch is not counted");
            reaches(&ue, 1, GATEWAY).await?;
        }
        Ok(())
    });
}

/// TS 33.512, 4.2.2.1.4 (since Release 18), TC_AMF_NAS_INTEGRITY_FAILURE: with NAS security active,
/// messages with a wrong MAC or without protection are dropped and do not affect the UE. A
/// registration request with a wrong MAC needs a new authentication.
#[test]
fn ts_33_512_4_2_2_1_4_nas_integrity_failure() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let guti = ue.status().await?.guti.context("no 5G-GUTI")?;
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let kind =
            NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess);
        let identity = NasFGsMobileIdentity::from_guti(guti);
        let leave = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
            kind, ngksi, identity,
        ));
        let dropped = || metric("martlet_amf_nas_errors_total", &[]);
        let before = (core.counts(), dropped());
        ue.send_with_wrong_mac(leave.clone()).await?;
        ue.send_raw_nas(leave.encode()?).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let both = || (dropped() >= before.1 + 2.0).then_some(());
        eventually("both messages are counted", both, || {
            format!("{} counted", dropped() - before.1)
        })
        .await?;
        ensure!(core.counts() == before.0, "the counts changed: {:?}", core.counts());
        // As an initial message: a registration request with a wrong MAC is from an unknown UE.
        let raw = RawGnb::set_up(&core, 2).await?;
        let mut request =
            vec![0x7e, 0x01, 0x12, 0x34, 0x56, 0x78, 0x00, 0x7e, 0x00, 0x41, 0x01, 0x00, 0x0b];
        request.extend_from_slice(&NasFGsMobileIdentity::from_guti(guti).value);
        raw.send(raw.initial_ue_message(1, &request)).await?;
        let (_, nas) = raw.next_nas().await?;
        ensure!(
            nas == [0x7e, 0x00, 0x5b, 0x01],
            "expected an unprotected IDENTITY REQUEST: {nas:02x?}"
        );
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        Ok(())
    });
}

/// TS 33.512, 4.2.2.6.2, TC_UE_SEC_CAP_AS_CONTEXT_SETUP: the gNB receives the capabilities of the
/// registration request.
#[test]
fn ts_33_512_4_2_2_6_2_security_capabilities_for_the_access_stratum() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        for (nea, nia) in [(0xf0, 0x70), (0xa0, 0x60), (0xe0, 0x20)] {
            let mut config = core.ue_config(1);
            (config.nea, config.nia) = (nea, nia);
            let mut messages = gnb.subscribe();
            let ue = gnb.new_ue(config)?;
            ue.register().await?;
            let indicated = loop {
                let message = messages.recv().await?;
                let pdu = NGAP_PDU::decode(&message)?;
                if pdu.kind() == NgapPduKind::Initiating_InitialContextSetup {
                    let indicated = pdu
                        .ie::<ie::UESecurityCapabilities>()
                        .transpose()?
                        .context("UE Security Capabilities")?;
                    let integrity = indicated.nr_integrity_protection_algorithms.0.as_octets()[0];
                    break (indicated.nr_encryption_algorithms.0.as_octets()[0], integrity);
                }
            };
            // The bitmap of NGAP begins with algorithm 1.
            ensure!(
                indicated == (nea << 1, nia << 1),
                "the UE sent ({nea:02x}, {nia:02x}), the gNB received {indicated:02x?}"
            );
            ue.deregister().await?;
        }
        Ok(())
    });
}
