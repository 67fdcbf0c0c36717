//! PDU session resource setup (TS 38.413, 8.2.1).
use crate::gnb::procedures::pdu_session::resources::{self, Outcome, set_up};
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, build_ngap_ie, extract_ngap_ies};

/// Sets up tunnels, answers, and passes NAS messages to the UE.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceSetupRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        opt nas: NASPDU = NAS_PDU(nas) => nas,
        req sessions: PDUSessionResourceSetupListSUReq =
            PDUSessionResourceSetupListSUReq(list) => list,
    );
    // Reconfiguration, and its completion.
    ue.downlink_radio(1).await;
    ue.uplink_radio(1).await;
    let (mut done, mut failed, mut set_up_psis) = (Vec::new(), Vec::new(), Vec::new());
    for item in &sessions.0 {
        let psi = item.pdu_session_id.0;
        // An existing session is not set up again (8.2.1.4).
        let outcome = match ue.sessions.contains_key(&psi) {
            true => resources::failed(Cause::radioNetwork(
                CauseRadioNetwork::multiple_PDU_session_ID_instances,
            ))?,
            false => set_up(ue, psi, &item.pdu_session_resource_setup_request_transfer)?,
        };
        match outcome {
            Outcome::Done(transfer) => {
                set_up_psis.push(psi);
                done.push(PDUSessionResourceSetupItemSURes::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
            }
            Outcome::Failed(transfer) => {
                failed.push(PDUSessionResourceFailedToSetupItemSURes::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
            }
        }
    }
    let mut response = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceSetup,
        PDUSessionResourceSetupResponse,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
    )?;
    let mut ies = response.protocol_ies()?.into_owned();
    if !done.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceSetupResponse,
            PDUSessionResourceSetupListSURes(PDUSessionResourceSetupListSURes(done))
        )?);
    }
    if !failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceSetupResponse,
            PDUSessionResourceFailedToSetupListSURes(PDUSessionResourceFailedToSetupListSURes(
                failed
            ))
        )?);
    }
    response.set_protocol_ies(ies)?;
    ue.transmit(response.encode()?).await?;
    if let Some(nas) = nas {
        ue.nas_received(&nas.0);
    }
    // The NAS message of a session that is not set up is not passed on (8.2.1.2).
    for item in sessions.0.iter().filter(|item| set_up_psis.contains(&item.pdu_session_id.0)) {
        if let Some(nas) = &item.pdu_session_nas_pdu {
            ue.nas_received(&nas.0);
        }
    }
    Ok(())
}
