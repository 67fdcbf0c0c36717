//! PDU session modification by the network (TS 23.502, 4.3.3.2; TS 24.501, 6.3.2).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_pcf::FlowConfig;
use martlet_ran::Ue;
use martlet_ran::ue::{PduSession, ServicePurpose};
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};
use std::time::Duration;

async fn session(ue: &Ue, psi: u8) -> Result<PduSession> {
    let status = ue.status().await?;
    status.sessions.into_iter().find(|session| session.psi == psi).context("no such session")
}

/// Waits until a session of a UE matches.
async fn until(
    ue: &Ue,
    psi: u8,
    what: &str,
    is: impl Fn(&PduSession) -> bool,
) -> Result<PduSession> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let now = session(ue, psi).await?;
        if is(&now) {
            return Ok(now);
        }
        ensure!(tokio::time::Instant::now() < deadline, "{what}: {now:?}");
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
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (other, _) = core.ue_with_session(&gnb, 2).await?;
        let now = session(&ue, 1).await?;
        ensure!(
            (now.flows.as_slice(), now.rules.as_slice())
                == (&[(1, 9), (2, 1)][..], &[(1, 1), (2, 2)][..]),
            "{now:?}"
        );
        ensure!(session(&other, 1).await?.flows == [(1, 9)], "the flow belongs to one subscriber");
        reaches(&ue, 1, GATEWAY).await?;

        // The policy adds a non-GBR flow.
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
            until(&ue, 1, "the UE has three flows", |session| session.flows.len() == 3).await?;
        ensure!(
            both.flows == [(1, 9), (2, 1), (3, 7)] && both.rules == [(1, 1), (2, 2), (3, 3)],
            "{both:?}"
        );
        until(&other, 1, "the other UE has two flows", |session| session.flows == [(1, 9), (2, 7)])
            .await?;
        reaches(&ue, 1, GATEWAY).await?;
        // The flows remain after CM-IDLE.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&ue, 1, GATEWAY).await?;

        // The flows are removed. An idle UE is paged for it.
        other.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        policy.flows.clear();
        core.reload("pcf", policy)?;
        until(&ue, 1, "the flows are removed", |session| {
            session.flows == [(1, 9)] && session.rules == [(1, 1)]
        })
        .await?;
        until(&other, 1, "the flow is removed", |session| session.flows == [(1, 9)]).await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.sbi_record.check(&["nsmf-callback SmPolicyUpdateNotify"]).await
    });
}

#[test]
fn subscription_changes_apply_to_sessions_and_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let before = session(&ue, 1).await?;
        ensure!(before.ambr_kbps == Some((1_000_000, 1_000_000)), "{before:?}");
        core.subscribe(1, |subscriber| {
            let dnn = &mut subscriber.slices[0].dnns[0];
            (dnn.ambr_downlink, dnn.ambr_uplink, dnn.five_qi) =
                ("20 Mbps".into(), "5 Mbps".into(), 6);
        })?;
        let now = until(&ue, 1, "the UE has its new bit rate", |now| {
            now.ambr_kbps == Some((20_000, 5_000))
        })
        .await?;
        ensure!(now.flows == [(1, 6)], "{now:?}");
        reaches(&ue, 1, GATEWAY).await?;
        // The data network is removed from the subscription: the session is released.
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns = vec![SubscribedDnn::new("other")]
        })?;
        core.until("the session is released", |counts| {
            (counts.sessions, counts.addresses) == (0, 0)
        })
        .await?;
        // The subscription is removed: the UE is deregistered.
        core.unsubscribe(1)?;
        let gone = || (core.status("amf")["ues"]["registered"] == 0).then_some(());
        eventually("the UE is deregistered", gone, || core.status("amf").to_string()).await?;
        core.sbi_record
            .check(&["nudr-data-callback DataChangeNotify", "namf-callback SdmChangeNotify"])
            .await
    });
}
