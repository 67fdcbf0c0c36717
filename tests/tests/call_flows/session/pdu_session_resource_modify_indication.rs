//! PDU session resource modify indication (TS 38.413, 8.2.5).
use crate::n2::ue_ngap_ids;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    FlowTunnel, GtpTunnel, ModifyConfirm, ModifyIndication, ModifyIndicationUnsuccessful,
};
use martlet_ngap::{build_ngap, ie};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches};

/// The message for a session, whose downlink tunnel moves to another address.
fn indication(amf_id: u64, ran_id: u32, psi: u8) -> Result<Vec<u8>> {
    let tunnel = GtpTunnel { address: "127.0.0.98".parse()?, second_address: None, teid: 0xbeef };
    let tunnel = FlowTunnel::new(tunnel, vec![1]);
    let transfer =
        ModifyIndication { downlink: tunnel, additional_downlink: Vec::new() }.encode()?;
    let item = PDUSessionResourceModifyItemModInd::new(PDUSessionID(psi), transfer.into(), None);
    let indication = build_ngap!(
        InitiatingMessage,
        PDUSessionResourceModifyIndication,
        PDUSessionResourceModifyIndication,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        PDUSessionResourceModifyListModInd(PDUSessionResourceModifyListModInd(vec![item])),
    )?;
    Ok(indication.encode()?)
}

/// TS 38.413, 8.2.5.2: the confirmation lists a session whose tunnel is not moved.
#[test]
fn a_modification_of_an_unknown_session_has_failed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (_ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (amf_id, ran_id) = ue_ngap_ids(&mut messages).await?;
        gnb.send_raw_ngap(1, indication(amf_id, ran_id, 9)?).await?;
        let (psi, cause) = loop {
            let message = messages.recv().await?;
            let pdu = NGAP_PDU::decode(&message)?;
            if pdu.kind() == Kind::Successful_PDUSessionResourceModifyIndication {
                let list = pdu
                    .ie::<ie::PDUSessionResourceFailedToModifyListModCfm>()
                    .transpose()?
                    .context("a session")?;
                let item = list.0.first().context("a session")?;
                let transfer = &item.pdu_session_resource_modify_indication_unsuccessful_transfer;
                let transfer = ModifyIndicationUnsuccessful::decode(transfer)?;
                break (item.pdu_session_id.0, transfer.cause);
            }
        };
        ensure!(psi == 9, "{psi}");
        let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_PDU_session_ID);
        ensure!(cause == unknown, "{cause:?}");
        Ok(())
    });
}

/// The message moves the downlink tunnel to another address.
#[test]
fn gnb_moves_the_tunnel_of_a_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (ue, own) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&core.gnb(2).await?, 2).await?;
        let (amf_id, ran_id) = ue_ngap_ids(&mut messages).await?;
        let end = tokio::net::UdpSocket::bind("127.0.0.98:2152").await?;
        let indication = indication(amf_id, ran_id, 1)?;
        gnb.send_raw_ngap(1, indication).await?;
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
            tokio::time::timeout(std::time::Duration::from_secs(30), end.recv(&mut bytes)).await;
        let length = received.context("no packet at the new tunnel end")??;
        ensure!(length > 36 && bytes[4..8] == [0, 0, 0xbe, 0xef], "{:02x?}", &bytes[..length]);
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
    });
}
