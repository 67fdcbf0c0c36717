//! A consumer has requests sent to an address of its choice, by naming it in a subscription.
use super::scas::problem;
use crate::charging::{SUPI, account};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Problem, Request, Transport};
use martlet_sbi_api::namf_communication::{AmfCommunicationClient, SubscriptionData};
use martlet_sbi_api::namf_event_exposure::*;
use martlet_sbi_api::nchf_converged_charging::{ChargingDataRequest, ChfConvergedChargingClient};
use martlet_sbi_api::nudm_sdm::{SdmSubscription, UdmSubscriberDataManagementClient};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{GATEWAY, MetricDelta, TestCore, in_namespace, reaches};
use serde_json::{Value, json};
use std::sync::Arc;

fn peer(at: &str) -> Result<Peer> {
    let (root, _) = ApiRoot::split(at).context("not an API root")?;
    let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
    Ok(Peer::new(binding, root, "NEF", CallPolicy::default()))
}

fn expect_refusal<T: std::fmt::Debug>(answer: Result<T, Problem>) -> Result<()> {
    let is_refused =
        answer.as_ref().is_err_and(|it| it.status() == 403 && it.cause() == "REQUEST_NOT_ALLOWED");
    ensure!(is_refused, "403 expected, not {answer:?}");
    Ok(())
}

#[test]
fn attack_subscriptions_send_requests_to_the_oam_port() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (amf, udm) = (peer("http://127.0.0.17:7777")?, peer("http://127.0.0.12:7777")?);
        let refused = MetricDelta::of("martlet_sbi_callbacks_refused_total", &[]);
        let supi = "imsi-001010000000001";
        for uri in ["http://127.0.0.1:9090/stop", "http://127.0.0.17:9090/stop"] {
            let event = AmfEvent::new(AmfEventType::LocationReport);
            let subscription = AmfCreateEventSubscription {
                subscription: AmfEventSubscription {
                    event_list: vec![event],
                    event_notify_uri: uri.into(),
                    notify_correlation_id: "one".into(),
                    nf_id: "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78".parse().expect("an identity"),
                    supi: Some(supi.parse().expect("a SUPI")),
                    any_ue: None,
                    options: None,
                },
                supported_features: None,
            };
            let events = AmfEventExposureClient::new(amf.clone());
            expect_refusal(events.create_subscription(subscription).await)?;
            let status = SubscriptionData { amf_status_uri: uri.into(), guami_list: None };
            let communication = AmfCommunicationClient::new(amf.clone());
            expect_refusal(communication.amf_status_change_subscribe(status).await)?;
            let subscription: SdmSubscription = serde_json::from_value(serde_json::json!({
                "nfInstanceId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78",
                "callbackReference": uri,
                "monitoredResourceUris": [format!("{supi}/am-data")],
            }))?;
            let sdm = UdmSubscriberDataManagementClient::new(udm.clone());
            expect_refusal(sdm.subscribe(supi, subscription).await)?;
        }
        // Other tests of this process may count, too.
        ensure!(refused.get() >= 6.0, "{} refused", refused.get());
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// What consumers name in sessions, policies, charging and data subscriptions, too.
#[test]
fn attack_sessions_and_policies_send_requests_to_the_oam_port() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.chf.enabled = true).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let refused = MetricDelta::of("martlet_sbi_callbacks_refused_total", &[]);
        let (supi, uri) = ("imsi-001010000000001", "http://127.0.0.17:9090/stop");
        let slice = json!({"sst": 1, "sd": "010203"});
        let network = json!({"mcc": "001", "mnc": "01"});
        let chargeable = json!({"pduSessionInformation": {
            "pduSessionID": 1, "dnnId": "internet",
            "networkSlicingInfo": {"sNSSAI": slice},
        }});
        let requests = [
            (
                "127.0.0.11",
                "/nudr-dr/v2/subscription-data/subs-to-notify",
                json!({
                    "callbackReference": uri, "monitoredResourceUris": [format!("{supi}/am-data")],
                }),
            ),
            (
                "127.0.0.11",
                "/nudr-dr/v2/policy-data/subs-to-notify",
                json!({
                    "notificationUri": uri, "monitoredResourceUris": [format!("{supi}/am-data")],
                }),
            ),
            (
                "127.0.0.14",
                "/npcf-am-policy-control/v1/policies",
                json!({
                    "notificationUri": uri, "supi": supi, "suppFeat": "0",
                }),
            ),
            (
                "127.0.0.14",
                "/npcf-smpolicycontrol/v1/sm-policies",
                json!({
                    "notificationUri": uri, "supi": supi, "pduSessionId": 2, "dnn": "internet",
                    "pduSessionType": "IPV4", "sliceInfo": slice,
                }),
            ),
            (
                "127.0.0.19",
                "/nchf-convergedcharging/v3/chargingdata",
                json!({
                    "notifyUri": uri, "subscriberIdentifier": supi,
                    "nfConsumerIdentification": {"nodeFunctionality": "SMF"},
                    "invocationTimeStamp": "2026-01-01T00:00:00Z", "invocationSequenceNumber": 1,
                    "pDUSessionChargingInformation": chargeable,
                }),
            ),
            (
                "127.0.0.16",
                "/nsmf-pdusession/v1/sm-contexts",
                json!({
                    "supi": supi, "pduSessionId": 2, "dnn": "internet", "sNssai": slice,
                    "servingNfId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78",
                    "servingNetwork": network, "anType": "3GPP_ACCESS",
                    "smContextStatusUri": uri,
                }),
            ),
        ];
        let count = requests.len() as f64;
        for (at, target, body) in requests {
            let answer = post(&format!("http://{at}:7777"), target, &body).await?;
            let cause = answer.1["cause"].as_str().unwrap_or_default();
            ensure!((answer.0, cause) == (403, "REQUEST_NOT_ALLOWED"), "{target}: {answer:?}");
        }
        ensure!(refused.get() >= count, "{} refused", refused.get());
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// What a consumer names when it reports usage: the usage counts, the address does not.
#[test]
fn attack_usage_reports_send_requests_to_the_oam_port() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.chf.enabled = true).await?;
        let refused = MetricDelta::of("martlet_sbi_callbacks_refused_total", &[]);
        let request = |sequence: u32, uri: Option<&str>, uplink: u64| {
            serde_json::from_value::<ChargingDataRequest>(json!({
                "notifyUri": uri, "subscriberIdentifier": SUPI,
                "nfConsumerIdentification": {"nodeFunctionality": "SMF"},
                "invocationTimeStamp": "2026-01-01T00:00:00Z",
                "invocationSequenceNumber": sequence,
                "multipleUnitUsage": [{"ratingGroup": 1, "usedUnitContainer": [
                    {"uplinkVolume": uplink, "localSequenceNumber": sequence},
                ]}],
                "pDUSessionChargingInformation": {"pduSessionInformation": {
                    "pduSessionID": 1, "dnnId": "internet",
                }},
            }))
        };
        let chf = ChfConvergedChargingClient::new(peer("http://127.0.0.19:7777")?);
        let created = chf.post_chargingdata(request(1, None, 3)?).await.map_err(problem)?;
        let id = created.location.rsplit('/').next().context("no identity")?;
        let uri = Some("http://127.0.0.17:9090/stop");
        chf.update_chargingdata(id, request(2, uri, 40)?).await.map_err(problem)?;
        ensure!(account(&core, SUPI).await? == (43, 0), "{}", core.query("charging").await?);
        // Other tests of this process may count, too.
        ensure!(refused.get() >= 1.0, "{} refused", refused.get());
        Ok(())
    });
}

/// What a consumer names in subscriptions to the messages of a UE, and another AMF in a UE context.
#[test]
fn attack_subscriptions_to_messages_of_a_ue_send_requests_to_the_oam_port() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let refused = MetricDelta::of("martlet_sbi_callbacks_refused_total", &[]);
        let (supi, uri) = ("imsi-001010000000001", "http://127.0.0.1:9090/stop");
        let slice = json!({"sst": 1, "sd": "010203"});
        let network = json!({"mcc": "001", "mnc": "01"});
        let subscriptions =
            format!("/namf-comm/v1/ue-contexts/{supi}/n1-n2-messages/subscriptions");
        // A handover from another AMF, with an address of its own and a session elsewhere.
        let content = json!({"ngapData": {"contentId": "container"}});
        let handover = |context: Value, notify: &str| {
            json!({
                "ueContext": context, "sourceToTargetData": content, "pduSessionList": [],
                "n2NotifyUri": notify,
                "targetId": {
                    "ranNodeId": {
                        "plmnId": network, "gNbId": {"bitLength": 24, "gNBValue": "000001"},
                    },
                    "tai": {"plmnId": network, "tac": "000001"},
                },
            })
        };
        let elsewhere = json!({
            "supi": "imsi-001010000000002",
            "sessionContextList": [{
                "pduSessionId": 1,
                "smContextRef": format!("{uri}/nsmf-pdusession/v1/sm-contexts/1"),
                "sNssai": slice, "dnn": "internet", "accessType": "3GPP_ACCESS",
            }],
        });
        let context = "/namf-comm/v1/ue-contexts/imsi-001010000000002";
        let registration = json!({
            "amfInstanceId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78", "deregCallbackUri": uri,
            "guami": {"plmnId": network, "amfId": "cafe00"}, "ratType": "NR",
        });
        let requests = [
            (
                "POST",
                17,
                subscriptions.clone(),
                json!({"n1MessageClass": "LPP", "n1NotifyCallbackUri": uri}),
            ),
            (
                "POST",
                17,
                subscriptions,
                json!({"n2InformationClass": "NRPPa", "n2NotifyCallbackUri": uri}),
            ),
            (
                "POST",
                17,
                "/namf-comm/v1/non-ue-n2-messages/subscriptions".into(),
                json!({"n2InformationClass": "NRPPa", "n2NotifyCallbackUri": uri}),
            ),
            (
                "POST",
                17,
                format!("/namf-comm/v1/ue-contexts/{supi}/n1-n2-messages"),
                json!({"n1n2FailureTxfNotifURI": uri, "pduSessionId": 1}),
            ),
            ("PUT", 17, context.into(), handover(json!({"supi": "imsi-001010000000002"}), uri)),
            ("PUT", 17, context.into(), handover(elsewhere, "http://127.0.0.17:7777/x")),
            (
                "PUT",
                12,
                format!("/nudm-uecm/v1/{supi}/registrations/amf-3gpp-access"),
                registration.clone(),
            ),
            (
                "PUT",
                11,
                format!("/nudr-dr/v2/subscription-data/{supi}/context-data/amf-3gpp-access"),
                registration,
            ),
            (
                "POST",
                11,
                "/nudr-dr/v2/application-data/influenceData/subs-to-notify".into(),
                json!({"notificationUri": uri, "supis": [supi]}),
            ),
        ];
        let count = requests.len() as f64;
        for (method, host, target, body) in requests {
            let at = format!("http://127.0.0.{host}:7777");
            let answer = send(method, &at, &target, &body).await?;
            let cause = answer.1["cause"].as_str().unwrap_or_default();
            let is_refused = (answer.0, cause) == (403, "REQUEST_NOT_ALLOWED");
            ensure!(is_refused, "{method} {target} {body}: {answer:?}");
        }
        ensure!(refused.get() >= count, "{} refused", refused.get());
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// One consumer takes half of the subscriptions to the state of the AMF, and others get the rest.
#[test]
fn attack_consumer_takes_all_subscriptions() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.sbi.callbacks.allow = vec!["127.0.0.90".into(), "127.0.0.91".into()];
        })
        .await?;
        let communication = AmfCommunicationClient::new(peer("http://127.0.0.17:7777")?);
        let subscribe = async |host: &str, n: usize| {
            let amf_status_uri = format!("http://{host}:80/{n}");
            let status = SubscriptionData { amf_status_uri, guami_list: None };
            communication.amf_status_change_subscribe(status).await
        };
        let mut served = 0;
        for n in 0..100 {
            match subscribe("127.0.0.90", n).await {
                Ok(_) => served += 1,
                Err(problem) => ensure!(problem.cause() == "QUOTA_EXCEEDED", "{problem}"),
            }
        }
        ensure!(served == 32, "{served} of 100");
        let other = subscribe("127.0.0.91", 0).await;
        ensure!(other.is_ok(), "{other:?}");

        // The subscriptions to the data of one subscriber: the AMF's finds room.
        let supi = "imsi-001010000000001";
        let subscribe = async |host: &str, n: usize| {
            let body = json!({
                "nfInstanceId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78",
                "callbackReference": format!("http://{host}:80/x"),
                "monitoredResourceUris": [format!("{supi}/am-data?{n}")],
            });
            let target = format!("/nudm-sdm/v2/{supi}/sdm-subscriptions");
            post("http://127.0.0.12:7777", &target, &body).await
        };
        let mut served = 0;
        for n in 0..20 {
            match subscribe("127.0.0.90", n).await? {
                (201, _) => served += 1,
                (_, problem) => ensure!(problem["cause"] == "QUOTA_EXCEEDED", "{problem}"),
            }
        }
        ensure!(served == 8, "{served} of 20");
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (status, problem) = subscribe("127.0.0.91", 0).await?;
        ensure!(status == 201, "{problem}");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// Posts JSON to a service. Returns the status and the answer.
async fn post(at: &str, target: &str, body: &Value) -> Result<(u16, Value)> {
    send("POST", at, target, body).await
}

/// Sends JSON to a service. Returns the status and the answer.
async fn send(method: &str, at: &str, target: &str, body: &Value) -> Result<(u16, Value)> {
    let (root, _) = ApiRoot::split(at).context("not an API root")?;
    let request = Request {
        operation: None,
        method: method.parse()?,
        target: target.into(),
        headers: http::HeaderMap::new(),
        body: martlet_sbi::Body::encoded("application/json", body.to_string().into()),
        deadline: None,
    };
    let answer = HttpBinding::new(ClientLimits::default()).send(&root, request).await;
    let answer = answer.map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let encoded = answer.body.to_encoded().ok().flatten();
    let json = encoded.and_then(|encoded| serde_json::from_slice(&encoded.bytes).ok());
    Ok((answer.status, json.unwrap_or_default()))
}
