//! Requests and profiles as NFs of others need them, and requests as they send them.
use crate::security::scas::{peer, problem};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{JsonPatch, PatchItem};
use martlet_sbi_api::common::{AccessType, RatType};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use martlet_sbi_api::nudm_uecm::FeaturesQuery;
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use martlet_tests::{TestCore, in_namespace};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};

fn at(address: SocketAddr) -> Result<martlet_sbi::Peer> {
    let IpAddr::V4(ip) = address.ip() else { anyhow::bail!("the tests use IPv4") };
    peer(ip.octets()[3])
}

/// free5GC's PCF looks up the AM policy association by access type and serving network (TS 29.512,
/// 4.2.2.2), and stores equipment and location.
#[test]
fn pcf_gets_access_location_and_equipment_of_the_ue() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let _ue = core.ue_with_session(&gnb, 1).await?;
        let pcf = PcfSmPolicyControlClient::new(at(core.config().sbi.pcf)?);
        let context = pcf.get_sm_policy("1").await.map_err(problem)?.context;
        ensure!(context.access_type == Some(AccessType::ThreeGppAccess), "{context:?}");
        ensure!(context.rat_type == Some(RatType::Nr), "{context:?}");
        let network = context.serving_network.as_ref().context("servingNetwork")?;
        ensure!(network.plmn_id.mcc() == "001", "{context:?}");
        let location = context.user_location_info.as_ref().context("userLocationInfo")?;
        ensure!(location.nr_location.is_some(), "{context:?}");
        ensure!(context.pei.is_some() && context.smf_id.is_some(), "{context:?}");
        let amf = context.serv_nf_id.as_ref().context("servNfId")?;
        ensure!(amf.guami.is_some() && amf.serv_nf_inst_id.is_some(), "{context:?}");
        Ok(())
    });
}

/// free5GC's NRF keeps `nfServices`, and its consumers read it; those that know the feature
/// Service-Map read `nfServiceList` (TS 29.510, 6.2.9).
#[test]
fn profiles_have_services_as_array_and_as_map() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let nrf = NfDiscoveryClient::new(at(core.config().sbi.nrf.first())?);
        for target in [NfType::Amf, NfType::Smf, NfType::Udm] {
            let query = SearchQuery {
                target_nf_type: Some(target.clone()),
                requester_nf_type: Some(NfType::Amf),
                requester_features: Some("20".into()),
                ..SearchQuery::default()
            };
            let found = nrf.search_nf_instances(query).await.map_err(problem)?.nf_instances;
            let profile = found.first().with_context(|| format!("no {target:?}"))?;
            let map = profile.nf_service_list.as_ref().context("nfServiceList")?;
            let array = profile.nf_services.as_ref().context("nfServices")?;
            ensure!(!array.is_empty() && array.len() == map.len(), "{target:?}: {profile:?}");
            ensure!(array.iter().eq(map.values()), "{target:?}: {profile:?}");
        }
        Ok(())
    });
}

/// free5GC's UDM replaces `/sequenceNumber` as a whole; Martlet's replaces its `sqn` (RFC 6902).
#[test]
fn udr_takes_the_sequence_number_whole_or_its_member() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let udr = UdrDataRepositoryClient::new(at(core.config().sbi.udr)?);
        let supi = "imsi-001010000000001";
        let patches = [
            ("/sequenceNumber", json!({"sqn": "000000001000"}), "000000001000"),
            ("/sequenceNumber/sqn", json!("000000002000"), "000000002000"),
        ];
        for (path, value, sqn) in patches {
            let item = PatchItem {
                op: "replace".into(),
                path: path.into(),
                from: None,
                value: Some(value),
            };
            udr.modify_authentication_subscription(supi, JsonPatch(vec![item]))
                .await
                .map_err(problem)?;
            let read = udr.query_auth_subs_data(supi, FeaturesQuery::default()).await;
            let stored = read.map_err(problem)?.sequence_number.and_then(|number| number.sqn);
            ensure!(stored.as_deref() == Some(sqn), "{path}: {stored:?}");
        }
        // The subscriber is authenticated with the next one.
        let gnb = core.gnb(1).await?;
        gnb.new_ue(core.ue_config(1))?.register().await?;
        Ok(())
    });
}
