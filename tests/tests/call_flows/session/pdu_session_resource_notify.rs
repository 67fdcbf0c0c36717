//! PDU session resource notify (TS 38.413, 8.2.4).
use crate::n2::ue_ngap_ids;
use anyhow::Context;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::NotifyReleased;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, ping, reaches};

/// After the message names a released session, downlink packets are buffered and the session is set
/// up again.
#[test]
fn session_that_a_gnb_releases_is_set_up_again() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (ue, own) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&core.gnb(2).await?, 2).await?;
        let (amf_id, ran_id) = ue_ngap_ids(&mut messages).await?;
        // The downlink tunnels of both are set up.
        reaches(&ue, 1, GATEWAY).await?;
        reaches(&peer_ue, 1, GATEWAY).await?;
        let cause = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let transfer = NotifyReleased { cause }.encode()?;
        let item = PDUSessionResourceReleasedItemNot::new(PDUSessionID(1), transfer.into(), None);
        let notify = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceNotify,
            PDUSessionResourceNotify,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            PDUSessionResourceReleasedListNot(PDUSessionResourceReleasedListNot(vec![item])),
        )?;
        gnb.send_raw_ngap(1, notify.encode()?).await?;
        let buffers = || {
            let status = core.status("upf");
            let mut sessions = status["sessions"].as_array().into_iter().flatten();
            let of_ue = |session: &&serde_json::Value| session["ue"][0] == own.to_string();
            (sessions.find(of_ue)?["buffers"] == true).then_some(())
        };
        eventually("downlink is buffered", buffers, || core.status("upf").to_string()).await?;
        // The next packet is buffered and sets the session up again.
        let mut messages = gnb.subscribe();
        peer_ue.send_ip(1, ping(from, own, 8)).await?;
        let set_up = async {
            loop {
                let message = messages.recv().await?;
                if NGAP_PDU::decode(&message)?.kind() == Kind::Initiating_PDUSessionResourceSetup {
                    return anyhow::Ok(());
                }
            }
        };
        let asked = tokio::time::timeout(std::time::Duration::from_secs(30), set_up).await;
        asked.context("the gNB is not asked to set the session up")??;
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
    });
}
