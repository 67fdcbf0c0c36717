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

/// What AMF and gNB call the UE of the next INITIAL CONTEXT SETUP REQUEST.
async fn called(heard: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>) -> Result<(u64, u32)> {
    loop {
        let message = heard.recv().await?;
        let pdu = NGAP_PDU::decode(&message)?;
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?.context("AMF UE NGAP ID")?;
            let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().transpose()?.context("RAN UE NGAP ID")?;
            return Ok((amf_id.0, ran_id.0));
        }
    }
}

/// PDU SESSION RESOURCE MODIFY INDICATION (TS 38.413, 8.2.5): downlink goes to another end of the
/// gNB. PDU SESSION RESOURCE NOTIFY (8.2.4) that the gNB has let the session go: downlink waits,
/// and a service request brings it back.
#[test]
fn gnb_moves_and_releases_the_tunnel_of_a_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut heard = gnb.subscribe();
        let (phone, own) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&core.gnb(2).await?, 2).await?;
        let (amf_id, ran_id) = called(&mut heard).await?;
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
            let message = heard.recv().await?;
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
        friend.send_ip(1, ping(from, own, 7)).await?;
        let mut octets = [0; 2000];
        let come =
            tokio::time::timeout(std::time::Duration::from_secs(5), end.recv(&mut octets)).await;
        let length = come.context("nothing comes to the new end")??;
        ensure!(length > 36 && octets[4..8] == [0, 0, 0xbe, 0xef], "{:02x?}", &octets[..length]);

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
        // What comes now waits, and has the session set up once more.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        friend.send_ip(1, ping(from, own, 8)).await?;
        let again = async {
            loop {
                let message = heard.recv().await?;
                if NGAP_PDU::decode(&message)?.kind() == Kind::Initiating_PDUSessionResourceSetup {
                    return anyhow::Ok(());
                }
            }
        };
        let asked = tokio::time::timeout(std::time::Duration::from_secs(5), again).await;
        asked.context("the gNB is not asked to set the session up")??;
        ensure!(end.try_recv(&mut octets).is_err(), "nothing goes where the gNB has let go");
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}
