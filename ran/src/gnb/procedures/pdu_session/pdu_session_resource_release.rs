//! PDU session resource release (TS 38.413, 8.2.2).
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::ReleaseResponse;
use martlet_ngap::{build_ngap, extract_ngap_ies};

/// Releases tunnels, answers, and passes the NAS message to the UE.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceReleaseCommand,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        opt nas: NASPDU = NAS_PDU(nas) => nas,
        req sessions: PDUSessionResourceToReleaseListRelCmd =
            PDUSessionResourceToReleaseListRelCmd(list) => list,
    );
    // Reconfiguration, and its completion.
    ue.downlink_radio(1).await;
    ue.uplink_radio(1).await;
    let transfer = ReleaseResponse.encode()?;
    let mut released = Vec::with_capacity(sessions.0.len());
    for item in &sessions.0 {
        ue.deactivate(item.pdu_session_id.0);
        released.push(PDUSessionResourceReleasedItemRelRes::new(
            item.pdu_session_id,
            transfer.clone().into(),
            None,
        ));
    }
    let response = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceRelease,
        PDUSessionResourceReleaseResponse,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        PDUSessionResourceReleasedListRelRes(PDUSessionResourceReleasedListRelRes(released)),
        UserLocationInformation(ue.location()),
    )?;
    ue.transmit(response.encode()?).await?;
    if let Some(nas) = nas {
        ue.nas_received(&nas.0);
    }
    Ok(())
}
