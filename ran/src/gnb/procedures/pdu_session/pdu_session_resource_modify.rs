//! PDU session resource modify (TS 38.413, 8.2.3).
use super::resources::supported;
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{ModifyRequest, ModifyResponse, ModifyUnsuccessful};
use martlet_ngap::{build_ngap, build_ngap_ie, extract_ngap_ies};

/// Modifies tunnels and QoS flows, answers, and passes NAS messages to the UE.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req sessions: PDUSessionResourceModifyListModReq =
            PDUSessionResourceModifyListModReq(list) => list,
    );
    // Reconfiguration, and its completion.
    ue.downlink_radio(1).await;
    ue.uplink_radio(1).await;
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for item in &sessions.0 {
        let psi = item.pdu_session_id;
        match modify(ue, psi.0, &item.pdu_session_resource_modify_request_transfer) {
            Ok(response) => {
                done.push(PDUSessionResourceModifyItemModRes::new(
                    psi,
                    response.encode()?.into(),
                    None,
                ));
            }
            Err(cause) => {
                let transfer = ModifyUnsuccessful::new(cause).encode()?;
                failed.push(PDUSessionResourceFailedToModifyItemModRes::new(
                    psi,
                    transfer.into(),
                    None,
                ));
            }
        }
    }
    let mut response = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceModify,
        PDUSessionResourceModifyResponse,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
    )?;
    let mut ies = response.protocol_ies()?.into_owned();
    if !done.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceModifyResponse,
            PDUSessionResourceModifyListModRes(PDUSessionResourceModifyListModRes(done))
        )?);
    }
    if !failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceModifyResponse,
            PDUSessionResourceFailedToModifyListModRes(PDUSessionResourceFailedToModifyListModRes(
                failed
            ))
        )?);
    }
    response.set_protocol_ies(ies)?;
    ue.transmit(response.encode()?).await?;
    for item in &sessions.0 {
        if let Some(nas) = &item.nas_pdu {
            ue.nas_received(&nas.0);
        }
    }
    Ok(())
}

fn modify(ue: &mut UeContext, psi: u8, transfer: &[u8]) -> Result<ModifyResponse, Cause> {
    let request = ModifyRequest::decode(transfer).map_err(|error| error.cause())?;
    let Some(session) = ue.sessions.get(&psi) else {
        return Err(Cause::radioNetwork(CauseRadioNetwork::unknown_PDU_session_ID));
    };
    let (mut uplink, mut qfis) = (session.uplink, session.qfis.clone());
    if let Some(change) = request.uplink_changes.first() {
        uplink = change.uplink;
    }
    let flows = request.flows.iter().map(|flow| {
        let five_qi = flow.qos.as_ref().and_then(|qos| qos.five_qi.five_qi());
        (flow.qfi, five_qi)
    });
    let (changed, failed_flows) = supported(ue.gnb.config(), flows);
    qfis.retain(|qfi| !request.released_flows.iter().any(|released| released.qfi == *qfi));
    for qfi in &changed {
        if !qfis.contains(qfi) {
            qfis.push(*qfi);
        }
    }
    ue.retarget(psi, uplink, &qfis);
    Ok(ModifyResponse { flows: changed, failed_flows, ..ModifyResponse::default() })
}
