//! Initial context setup (TS 38.413, 8.3.1).
use crate::gnb::procedures::pdu_session::resources::{Outcome, set_up};
use crate::gnb::procedures::ue_radio_capability_info_indication;
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, build_ngap_ie, extract_ngap_ies};

/// Sets up the UE context, answers, and passes NAS messages to the UE.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, InitialContextSetupRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req key: SecurityKey = SecurityKey(key) => key,
        opt sessions: PDUSessionResourceSetupListCxtReq =
            PDUSessionResourceSetupListCxtReq(list) => list,
        opt nas: NASPDU = NAS_PDU(nas) => nas,
        opt radio: UERadioCapability = UERadioCapability(radio) => radio,
    );
    ue.set_amf_id(amf_id);
    if !ue.k_gnb_agrees(key.0.as_octets()) {
        tracing::warn!(
            supi = ue.supi(),
            gnb = ue.gnb_name(),
            "K_gNB mismatch between AMF and UE: access stratum security would fail (TS 33.501, \
             annex A.9)"
        );
        return fail(ue, amf_id, ran_id).await;
    }
    // Security mode command and its completion, the reconfiguration, and its completion.
    ue.downlink_radio(3).await;
    ue.uplink_radio(1).await;
    let (mut done, mut failed, mut set_up_psis) = (Vec::new(), Vec::new(), Vec::new());
    let items = sessions.map(|list| list.0).unwrap_or_default();
    for item in &items {
        match set_up(ue, item.pdu_session_id.0, &item.pdu_session_resource_setup_request_transfer)?
        {
            Outcome::Done(transfer) => {
                set_up_psis.push(item.pdu_session_id.0);
                done.push(PDUSessionResourceSetupItemCxtRes::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
            }
            Outcome::Failed(transfer) => {
                failed.push(PDUSessionResourceFailedToSetupItemCxtRes::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
            }
        }
    }
    ue.nas.security_mut().begin_access(key.0.as_octets());
    let mut response = build_ngap!(
        SuccessfulOutcome,
        InitialContextSetup,
        InitialContextSetupResponse,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
    )?;
    if !done.is_empty() || !failed.is_empty() {
        let mut ies = response.protocol_ies()?.into_owned();
        if !done.is_empty() {
            ies.0.push(build_ngap_ie!(
                InitialContextSetupResponse,
                PDUSessionResourceSetupListCxtRes(PDUSessionResourceSetupListCxtRes(done))
            )?);
        }
        if !failed.is_empty() {
            ies.0.push(build_ngap_ie!(
                InitialContextSetupResponse,
                PDUSessionResourceFailedToSetupListCxtRes(
                    PDUSessionResourceFailedToSetupListCxtRes(failed)
                )
            )?);
        }
        response.set_protocol_ies(ies)?;
    }
    ue.transmit(response.encode()?).await?;
    if radio.is_none() && !ue.nas.config().radio_capability.is_empty() {
        ue_radio_capability_info_indication::send(ue, (amf_id, ran_id)).await?;
    }
    if let Some(nas) = nas {
        ue.nas_received(&nas.0);
    }
    // The NAS message of a session that is not set up is not passed on (8.3.1.2).
    for item in items.iter().filter(|item| set_up_psis.contains(&item.pdu_session_id.0)) {
        if let Some(nas) = &item.nas_pdu {
            ue.nas_received(&nas.0);
        }
    }
    Ok(())
}

/// INITIAL CONTEXT SETUP FAILURE.
async fn fail(ue: &mut UeContext, amf_id: u64, ran_id: u32) -> Result<(), Fault> {
    let failure = build_ngap!(
        UnsuccessfulOutcome,
        InitialContextSetup,
        InitialContextSetupFailure,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        Cause(Cause::radioNetwork(CauseRadioNetwork::failure_in_radio_interface_procedure)),
    )?;
    ue.transmit(failure.encode()?).await?;
    Ok(())
}
