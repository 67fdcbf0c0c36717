//! Requests and profiles as NFs of others need them, and requests as they send them.
use crate::security::scas::{peer, problem};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{JsonPatch, MergePatch, PatchItem, Problem, Router};
use martlet_sbi_api::common::{AccessType, RatType};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::SmPolicyContextData;
use martlet_sbi_api::nudm_sdm::{DataSetName, DataSetsQuery, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudm_uecm::{FeaturesQuery, UdmUeContextManagementClient};
use martlet_sbi_api::nudr_callback::{NUDR_POLICY_CALLBACK, UdrPolicyCallback};
use martlet_sbi_api::nudr_dr::{
    InfluenceDataQuery, PolicyDataChangeNotification, TrafficInfluDataNotif,
    UdrDataRepositoryClient,
};
use martlet_sbi_api::{Repeated, TextList};
use martlet_sbi_http::HttpServer;
use martlet_smf::ChargingMode;
use martlet_tests::{TestCore, eventually, in_namespace};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

fn at(address: SocketAddr) -> Result<martlet_sbi::Peer> {
    let IpAddr::V4(ip) = address.ip() else { anyhow::bail!("the tests use IPv4") };
    peer(ip.octets()[3])
}

/// The other data sets of a UE are read that is not registered yet, or was purged: no AMF has it.
#[test]
fn udm_names_no_amf_before_the_registration_and_after_the_purge() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let udm = at(core.config().sbi.udm)?;
        let sdm = UdmSubscriberDataManagementClient::new(udm.clone());
        let uecm = UdmUeContextManagementClient::new(udm);
        let supi = "imsi-001010000000001";
        let sets = async || {
            let names = Some(TextList(vec![DataSetName::SmfSel, DataSetName::UecAmf]));
            let query = DataSetsQuery { dataset_names: names, ..Default::default() };
            sdm.get_data_sets(supi, query).await.map_err(problem)
        };
        let before = sets().await?;
        ensure!(before.smf_sel_data.is_some() && before.uec_amf_data.is_none(), "{before:?}");
        let guami = json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"});
        let registration = json!({
            "amfInstanceId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78",
            "deregCallbackUri": format!("http://{}/namf-callback/v1/x", core.config().sbi.amf),
            "guami": guami,
            "ratType": "NR",
        });
        let registration = serde_json::from_value(registration)?;
        uecm.registration_3gpp(supi, registration).await.map_err(problem)?;
        ensure!(sets().await?.uec_amf_data.is_some());
        let purge = serde_json::from_value(json!({"guami": guami, "purgeFlag": true}))?;
        uecm.update_3gpp_registration(supi, MergePatch(purge)).await.map_err(problem)?;
        let after = sets().await?;
        ensure!(after.smf_sel_data.is_some() && after.uec_amf_data.is_none(), "{after:?}");
        Ok(())
    });
}

/// free5GC's PCF looks up the AM policy association by access type and serving network (TS 29.512,
/// 4.2.2.2), and stores equipment and location. The table in `docs/interop.md` has what functions
/// of others send; here is what was missing.
#[test]
fn pcf_gets_access_location_and_equipment_of_the_ue() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.chf.enabled = true;
            config.smf.charging.mode = ChargingMode::Offline;
            config.amf.network_name.time_zone = Some("+02:00".into());
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let last = |operation: &str| {
            let requests = core.sbi_record.requests(operation).pop();
            requests.with_context(|| format!("{operation} was not requested"))
        };
        let (_, context) = last("npcf-smpolicycontrol CreateSMPolicy")?;
        let context: SmPolicyContextData = serde_json::from_value(context)?;
        ensure!(context.access_type == Some(AccessType::ThreeGppAccess), "{context:?}");
        ensure!(context.rat_type == Some(RatType::Nr), "{context:?}");
        let network = context.serving_network.as_ref().context("servingNetwork")?;
        ensure!(network.plmn_id.mcc() == "001", "{context:?}");
        let location = context.user_location_info.as_ref().context("userLocationInfo")?;
        ensure!(location.nr_location.is_some(), "{context:?}");
        ensure!(context.pei.is_some() && context.smf_id.is_some(), "{context:?}");
        let amf = context.serv_nf_id.as_ref().context("servNfId")?;
        ensure!(amf.guami.is_some() && amf.serv_nf_inst_id.is_some(), "{context:?}");
        ue.deregister().await?;
        let operation = "npcf-smpolicycontrol DeleteSMPolicy";
        let deleted = || core.sbi_record.requests(operation).pop();
        let (_, deleted) = eventually(operation, deleted, String::new).await?;
        let (query, _) = last("nudm-sdm GetSmData")?;
        ensure!(query["plmn-id"].as_str().is_some_and(|plmn| plmn.contains("\"001\"")), "{query}");
        ensure!(deleted["servingNetwork"]["mcc"] == "001", "{deleted}");
        ensure!(deleted["userLocationInfo"]["nrLocation"].is_object(), "{deleted}");
        let (_, released) = last("nsmf-pdusession ReleaseSmContext")?;
        for request in [&deleted, &released] {
            ensure!(request["ueTimeZone"] == "+02:00", "{request}");
        }
        let (_, charged) = last("nchf-convergedcharging Create")?;
        let charged = &charged["pDUSessionChargingInformation"];
        ensure!(charged["userInformation"]["servedPEI"].is_string(), "{charged}");
        ensure!(charged["userLocationinfo"]["nrLocation"].is_object(), "{charged}");
        let session = &charged["pduSessionInformation"];
        ensure!(session["ratType"] == "NR" && session["sscMode"] == "SSC_MODE_1", "{session}");
        ensure!(session["servingCNPlmnId"]["mcc"] == "001", "{session}");
        let serving = &session["servingNetworkFunctionID"]["servingNetworkFunctionInformation"];
        ensure!(
            serving["nodeFunctionality"] == "AMF" && serving["nFName"].is_string(),
            "{session}"
        );
        Ok(())
    });
}

/// OAI's AMF and SMF find binary parts by these content IDs alone, whatever the JSON part names.
#[test]
fn binary_parts_have_the_content_ids_of_oai() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let _session = core.ue_with_session(&gnb, 1).await?;
        for (operation, n1, n2) in [
            ("nsmf-pdusession PostSmContexts", Some("/n1SmMsg"), None),
            (
                "namf-comm N1N2MessageTransfer",
                Some("/n1MessageContainer/n1MessageContent"),
                Some("/n2InfoContainer/smInfo/n2InfoContent/ngapData"),
            ),
            ("nsmf-pdusession UpdateSmContext", None, Some("/n2SmInfo")),
        ] {
            let requested = || core.sbi_record.requests(operation).pop();
            let (_, body) = eventually(operation, requested, String::new).await?;
            for (pointer, expected) in [(n1, "n1SmMsg"), (n2, "n2msg")] {
                let Some(pointer) = pointer else { continue };
                let id = body.pointer(pointer).map(|part| &part["contentId"]);
                ensure!(id.is_some_and(|id| id == expected), "{operation}: {body}");
            }
        }
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

/// The notifications that a PCF received.
#[derive(Default)]
struct Pcf(Mutex<Vec<TrafficInfluDataNotif>>);

impl UdrPolicyCallback for Pcf {
    async fn policy_data_change_notification(
        &self,
        _: Vec<PolicyDataChangeNotification>,
    ) -> Result<(), Problem> {
        Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND"))
    }

    async fn influence_data_change_notification(
        &self,
        body: Vec<TrafficInfluDataNotif>,
    ) -> Result<(), Problem> {
        self.0.lock().unwrap().extend(body);
        Ok(())
    }
}

/// Where the PCF of the test is.
const PCF: &str = "127.0.0.78";

/// free5GC's PCF reads the influence data of each session and subscribes to their changes (TS
/// 29.519, 6.2.5 to 6.2.8).
#[test]
fn pcf_reads_influence_data_and_is_notified_of_changes() {
    in_namespace(|| async {
        let allow = |config: &mut martlet::config::Config| {
            config.sbi.callbacks.allow = vec![PCF.into()];
        };
        let core = TestCore::start_on(Sbi::Http, allow).await?;
        let pcf = Arc::new(Pcf::default());
        let router = Arc::new(Router::new().serve(NUDR_POLICY_CALLBACK.routes(pcf.clone())));
        let server =
            HttpServer::bind(format!("{PCF}:7777").parse()?, router, Default::default()).await?;
        tokio::spawn(server.run());
        let udr = UdrDataRepositoryClient::new(at(core.config().sbi.udr)?);
        let [supi, other] = ["imsi-001010000000001", "imsi-001010000000002"];
        let query = |supi: &str| InfluenceDataQuery {
            dnns: Some(Repeated(vec!["internet".parse().expect("a DNN")])),
            supis: Some(Repeated(vec![supi.parse().expect("a SUPI")])),
            ..Default::default()
        };
        ensure!(udr.read_influence_data(query(supi)).await.map_err(problem)?.is_empty());

        let uri = format!("http://{PCF}:7777/nudr-policy-callback/v1/influence-data-change");
        let subscription = json!({"dnns": ["internet"], "supis": [supi], "notificationUri": uri});
        let subscription = serde_json::from_value(subscription)?;
        let subscribed = udr.create_individual_influence_data_subscription(subscription).await;
        let subscribed = subscribed.map_err(problem)?;
        let id = subscribed.location.rsplit('/').next().context("a location")?;
        let read = udr.read_individual_influence_data_subscription(id).await.map_err(problem)?;
        ensure!(read == subscribed.body, "{read:?}");

        let influence = |supi: &str| {
            let json = json!({"afAppId": "edge", "supi": supi, "dnn": "internet",
                "trafficRoutes": [{"dnai": "edge", "routeProfId": "1"}]});
            serde_json::from_value::<martlet_sbi_api::nudr_dr::TrafficInfluData>(json)
        };
        let put = async |id: &str, supi: &str| {
            let data = influence(supi)?;
            let put = udr.create_or_replace_individual_influence_data(id, data).await;
            anyhow::Ok(put.map_err(problem)?.status)
        };
        ensure!(put("of-another", other).await? == 201);
        ensure!(put("one", supi).await? == 201);
        let found = udr.read_influence_data(query(supi)).await.map_err(problem)?;
        ensure!(found.len() == 1 && found[0].res_uri.is_some(), "{found:?}");
        ensure!(found[0].supi == influence(supi)?.supi, "{found:?}");
        ensure!(udr.read_influence_data(query(other)).await.map_err(problem)?.len() == 1);
        // The data apply to another UE now, and so no longer to the subscription's.
        ensure!(put("one", other).await? == 204);
        ensure!(put("one", supi).await? == 204);
        udr.delete_individual_influence_data("one").await.map_err(problem)?;
        ensure!(udr.delete_individual_influence_data("one").await.is_err());

        let received = || pcf.0.lock().unwrap().clone();
        let all = || (received().len() >= 4).then_some(());
        eventually("four notifications", all, || format!("{:?}", received())).await?;
        // Each leaves in a task of its own.
        let received = received();
        ensure!(received.iter().all(|one| one.res_uri.ends_with("/influenceData/one")));
        let with_data = received.iter().filter(|one| one.traffic_influ_data.is_some()).count();
        ensure!(received.len() == 4 && with_data == 2, "{received:?}");

        udr.delete_individual_influence_data_subscription(id).await.map_err(problem)?;
        ensure!(udr.delete_individual_influence_data_subscription(id).await.is_err());
        let unregistered = json!({"dnns": ["internet"], "notificationUri": "http://127.0.0.90/"});
        let refused = udr
            .create_individual_influence_data_subscription(serde_json::from_value(unregistered)?)
            .await;
        ensure!(refused.is_err_and(|problem| problem.status() == 403));
        Ok(())
    });
}
