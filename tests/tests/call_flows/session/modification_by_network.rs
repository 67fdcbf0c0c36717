//! PDU session modification by the network (TS 23.502, 4.3.3.2; TS 24.501, 6.3.2).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_pcf::FlowConfig;
use martlet_ran::Ue;
use martlet_ran::ue::{PduSession, ServicePurpose};
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};
use std::time::Duration;

async fn session(phone: &Ue, psi: u8) -> Result<PduSession> {
    let status = phone.status().await?;
    status.sessions.into_iter().find(|session| session.psi == psi).context("the session is there")
}

/// Waits until a phone's session is as wanted.
async fn until(
    phone: &Ue,
    psi: u8,
    what: &str,
    is: impl Fn(&PduSession) -> bool,
) -> Result<PduSession> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let now = session(phone, psi).await?;
        if is(&now) {
            return Ok(now);
        }
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn voice(supi: &str) -> FlowConfig {
    FlowConfig {
        name: "voice".into(),
        dnn: "internet".into(),
        supis: vec![supi.into()],
        five_qi: 1,
        arp: 2,
        filters: vec!["permit out 17 from 10.45.0.0/16 5000-5010 to assigned".into()],
        precedence: 10,
        guaranteed_uplink: Some("128 Kbps".into()),
        guaranteed_downlink: Some("128 Kbps".into()),
        ..FlowConfig::default()
    }
}

#[test]
fn dedicated_flows_follow_the_policy() {
    in_namespace(|| async {
        let (supi, video) = ("imsi-001010000000001", "permit out 6 from any 443 to assigned");
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let (other, _) = core.phone_with_session(&gnb, 2).await?;
        let now = session(&phone, 1).await?;
        ensure!(
            (now.flows.as_slice(), now.rules.as_slice())
                == (&[(1, 9), (2, 1)][..], &[(1, 1), (2, 2)][..]),
            "{now:?}"
        );
        ensure!(session(&other, 1).await?.flows == [(1, 9)], "the flow is one subscriber's");
        reaches(&phone, 1, GATEWAY).await?;

        // The policy changes: another flow, without a guarantee, beside the first.
        let mut policy = martlet_pcf::PcfConfig { flows: vec![voice(supi)], ..Default::default() };
        policy.flows.push(FlowConfig {
            name: "video".into(),
            five_qi: 7,
            filters: vec![video.into()],
            precedence: 20,
            maximum_downlink: Some("5 Mbps".into()),
            ..FlowConfig::default()
        });
        core.reload("pcf", policy.clone())?;
        let both =
            until(&phone, 1, "the phone has three flows", |session| session.flows.len() == 3)
                .await?;
        ensure!(
            both.flows == [(1, 9), (2, 1), (3, 7)] && both.rules == [(1, 1), (2, 2), (3, 3)],
            "{both:?}"
        );
        until(&other, 1, "the other one has two", |session| session.flows == [(1, 9), (2, 7)])
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        // They outlive idleness.
        phone.release_to_idle().await?;
        phone.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&phone, 1, GATEWAY).await?;

        // The first goes, also for an idle phone, which is paged for it.
        other.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        policy.flows.clear();
        core.reload("pcf", policy)?;
        until(&phone, 1, "the flows are gone", |session| {
            session.flows == [(1, 9)] && session.rules == [(1, 1)]
        })
        .await?;
        until(&other, 1, "the flow is gone", |session| session.flows == [(1, 9)]).await?;
        reaches(&phone, 1, GATEWAY).await?;
        core.bodies.check(&["nsmf-callback SmPolicyUpdateNotify"]).await
    });
}

#[test]
fn subscription_changes_apply_to_sessions_and_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let before = session(&phone, 1).await?;
        ensure!(before.ambr_kbps == Some((1_000_000, 1_000_000)), "{before:?}");
        core.subscribe(1, |subscriber| {
            let dnn = &mut subscriber.slices[0].dnns[0];
            (dnn.ambr_downlink, dnn.ambr_uplink, dnn.five_qi) =
                ("20 Mbps".into(), "5 Mbps".into(), 6);
        })?;
        let now = until(&phone, 1, "the phone has its new bit rate", |now| {
            now.ambr_kbps == Some((20_000, 5_000))
        })
        .await?;
        ensure!(now.flows == [(1, 6)], "{now:?}");
        reaches(&phone, 1, GATEWAY).await?;
        // The data network goes, and with it the session.
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns = vec![SubscribedDnn::new("other")]
        })?;
        core.until("the session is gone", |counts| (counts.sessions, counts.addresses) == (0, 0))
            .await?;
        // The subscriber goes, and with it the registration.
        core.unsubscribe(1)?;
        let gone = || (core.status("amf")["ues"]["registered"] == 0).then_some(());
        eventually("the phone is deregistered", gone, || core.status("amf").to_string()).await?;
        core.bodies
            .check(&["nudr-data-callback DataChangeNotify", "namf-callback SdmChangeNotify"])
            .await
    });
}
