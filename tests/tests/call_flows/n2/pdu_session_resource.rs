//! PDU session resource modify indication and notify (TS 38.413, 8.2.4 and 8.2.5).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    FlowTunnel, GtpTunnel, ModifyConfirm, ModifyIndication, NotifyReleased,
};
use martlet_ngap::{build_ngap, ie};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches};

/// The UE NGAP IDs (AMF, RAN) of the next INITIAL CONTEXT SETUP REQUEST.
async fn ue_ngap_ids(
    messages: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>,
) -> Result<(u64, u32)> {
    loop {
        let message = messages.recv().await?;
        let pdu = NGAP_PDU::decode(&message)?;
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?.context("AMF UE NGAP ID")?;
            let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().transpose()?.context("RAN UE NGAP ID")?;
            return Ok((amf_id.0, ran_id.0));
        }
    }
}

/// PDU SESSION RESOURCE MODIFY INDICATION (TS 38.413, 8.2.5) moves the downlink tunnel to another
/// address. After PDU SESSION RESOURCE NOTIFY (8.2.4) with a released session, downlink packets are
/// buffered and the session is set up again.
#[test]
fn gnb_moves_and_releases_the_tunnel_of_a_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (ue, own) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&core.gnb(2).await?, 2).await?;
        let (amf_id, ran_id) = ue_ngap_ids(&mut messages).await?;
        let end = tokio::net::UdpSocket::bind("127.0.0.98:2152").await?;
        let tunnel =
            GtpTunnel { address: "127.0.0.98".parse()?, second_address: None, teid: 0xbeef };
        let tunnel = FlowTunnel::new(tunnel, vec![1]);
        let transfer =
            ModifyIndication { downlink: tunnel, additional_downlink: Vec::new() }.encode()?;
        let item = PDUSessionResourceModifyItemModInd::new(PDUSessionID(1), transfer.into(), None);
        let indication = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceModifyIndication,
            PDUSessionResourceModifyIndication,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            PDUSessionResourceModifyListModInd(PDUSessionResourceModifyListModInd(vec![item])),
        )?;
        gnb.send_raw_ngap(1, indication.encode()?).await?;
        let flows = loop {
            let message = messages.recv().await?;
            let pdu = NGAP_PDU::decode(&message)?;
            if pdu.kind() == Kind::Successful_PDUSessionResourceModifyIndication {
                let list = pdu
                    .ie::<ie::PDUSessionResourceModifyListModCfm>()
                    .transpose()?
                    .context("a session")?;
                let transfer = &list
                    .0
                    .first()
                    .context("a session")?
                    .pdu_session_resource_modify_confirm_transfer;
                break ModifyConfirm::decode(transfer)?.flows;
            }
        };
        ensure!(flows == [1], "{flows:?}");
        peer_ue.send_ip(1, ping(from, own, 7)).await?;
        let mut bytes = [0; 2000];
        let received =
            tokio::time::timeout(std::time::Duration::from_secs(5), end.recv(&mut bytes)).await;
        let length = received.context("no packet at the new tunnel end")??;
        ensure!(length > 36 && bytes[4..8] == [0, 0, 0xbe, 0xef], "{:02x?}", &bytes[..length]);

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
        // The next packet is buffered and sets the session up again.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        peer_ue.send_ip(1, ping(from, own, 8)).await?;
        let set_up = async {
            loop {
                let message = messages.recv().await?;
                if NGAP_PDU::decode(&message)?.kind() == Kind::Initiating_PDUSessionResourceSetup {
                    return anyhow::Ok(());
                }
            }
        };
        let asked = tokio::time::timeout(std::time::Duration::from_secs(5), set_up).await;
        asked.context("the gNB is not asked to set the session up")??;
        ensure!(end.try_recv(&mut bytes).is_err(), "a packet was sent to the released tunnel");
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
    });
}
