//! Changes of subscriber data (TS 23.502, 4.5.1 and 4.5.2): of sessions, and of the registration.
use crate::session::{session, until};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_store::SubscribedDnn;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};

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
