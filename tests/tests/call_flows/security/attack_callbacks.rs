//! A consumer has requests sent to an address of its choice, by naming it in a subscription.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Problem};
use martlet_sbi_api::namf_communication::{AmfCommunicationClient, SubscriptionData};
use martlet_sbi_api::namf_event_exposure::*;
use martlet_sbi_api::nudm_sdm::{SdmSubscription, UdmSubscriberDataManagementClient};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{GATEWAY, MetricDelta, TestCore, in_namespace, reaches};
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
        ensure!(refused.get() == 6.0, "{} refused", refused.get());
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
