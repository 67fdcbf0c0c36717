//! Handover resource allocation at the target gNB (TS 38.413, 8.4.2).
use super::{ran_status_transfer, source_release, transparent_containers};
use crate::gnb::handover_plan::HandoverScript;
use crate::gnb::node::{Downlink, Gnb, UeInput, amf_ue_ngap_id};
use crate::gnb::procedures::pdu_session::resources::{flows_of, protect, reported};
use crate::gnb::ue::context::{Connection, Fault, SourceContext, TargetContext, UeContext};
use crate::ue::Security;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    HandoverRequestAcknowledge as AcknowledgeTransfer, HandoverResourceAllocationUnsuccessful,
    SetupRequest,
};
use martlet_ngap::{
    Error, Message, NgapPduKind as Kind, build_ngap, build_ngap_ie, extract_ngap_ies,
};
use std::time::Instant;

/// HANDOVER REQUEST: passes it to the UE that the source announced.
pub(crate) async fn request(gnb: &Gnb, pdu: NGAP_PDU, at: Instant) -> Result<(), Error> {
    let container = container(&pdu)?;
    // A cell identity begins with its gNB's identifier (TS 38.413, 9.3.1.7).
    let announced = transparent_containers::announced_ue(&container).map(|(cell, ran_id)| {
        let bits = 36 - u32::from(gnb.config().gnb_id_bits);
        ((cell >> bits) as u32, ran_id)
    });
    let inbox = announced.and_then(|announced| gnb.announced().remove(&announced));
    match inbox {
        Some(inbox) => {
            gnb.deliver(&inbox, UeInput::Downlink(Box::new(Downlink { pdu, at, gnb: gnb.clone() })))
        }
        None => {
            tracing::warn!(gnb = gnb.name(), "HANDOVER REQUEST for an unknown UE");
            if let Some(amf_id) = amf_ue_ngap_id(&pdu) {
                let cause = CauseRadioNetwork::no_radio_resources_available_in_target_cell;
                fail(gnb, amf_id, cause).await?;
            }
        }
    }
    Ok(())
}

fn container(pdu: &NGAP_PDU) -> Result<Vec<u8>, Error> {
    extract_ngap_ies!(pdu, HandoverRequest,
        req container: SourceToTargetTransparentContainer =
            SourceToTarget_TransparentContainer(it) => it,
    );
    Ok(container.0.to_vec())
}

/// HANDOVER FAILURE.
async fn fail(gnb: &Gnb, amf_id: u64, cause: CauseRadioNetwork) -> Result<(), Error> {
    let failure = build_ngap!(
        UnsuccessfulOutcome,
        HandoverResourceAllocation,
        HandoverFailure,
        AMF_UE_NGAP_ID(amf_id),
        Cause(Cause::radioNetwork(cause)),
    )?;
    source_release::send(gnb, &Connection::default(), failure.encode()?).await;
    Ok(())
}

/// A message about a UE that has not arrived at the target yet.
pub(crate) async fn downlink(ue: &mut UeContext, downlink: Downlink) {
    let outcome = match downlink.pdu.kind() {
        Kind::Initiating_HandoverResourceAllocation => {
            admit(ue, &downlink.pdu, &downlink.gnb).await
        }
        Kind::Initiating_DownlinkRANStatusTransfer => {
            ran_status_transfer::downlink(ue, &downlink.gnb, &downlink.pdu).map_err(Fault::from)
        }
        Kind::Initiating_UEContextRelease => {
            if let Some(at) = ue.handover.as_mut().and_then(|handover| handover.at_target.take()) {
                source_release::complete(&downlink.gnb, &at.connection).await;
                SourceContext {
                    gnb: downlink.gnb.clone(),
                    connection: at.connection,
                    ports: at.ports,
                    outcome: None,
                }
                .release();
            }
            Ok(())
        }
        kind => {
            tracing::warn!(supi = ue.supi(), ?kind, "NGAP message before the UE has arrived");
            Ok(())
        }
    };
    if let Err(error) = outcome {
        tracing::warn!(
            supi = ue.supi(),
            gnb = downlink.gnb.name(),
            %error,
            "handover failed at the target"
        );
    }
}

/// Allocates resources for the sessions of a HANDOVER REQUEST and answers it.
async fn admit(ue: &mut UeContext, pdu: &NGAP_PDU, gnb: &Gnb) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req security: SecurityContext = SecurityContext(it) => it,
        lax new_context: Vec<u8> = NASC(it) => it.0.to_vec(),
        lax reporting: LocationReportingRequestType = LocationReportingRequestType(asked) => asked,
        req sessions: PDUSessionResourceSetupListHOReq =
            PDUSessionResourceSetupListHOReq(list) => list,
    );
    let Some(plan) = ue.handover.as_ref().filter(|it| it.target.is(gnb)).map(|it| it.plan.clone())
    else {
        return Ok(fail(
            gnb,
            amf_id,
            CauseRadioNetwork::no_radio_resources_available_in_target_cell,
        )
        .await?);
    };
    match plan.script {
        HandoverScript::TargetSilent => return Ok(()),
        HandoverScript::TargetRejects => {
            return Ok(fail(
                gnb,
                amf_id,
                CauseRadioNetwork::no_radio_resources_available_in_target_cell,
            )
            .await?);
        }
        _ => {}
    }
    let (ncc, nh) =
        (security.next_hop_chaining_count.0, security.next_hop_nh.0.as_octets().to_vec());
    let new_key = new_context.map(|mut container| {
        if plan.script == HandoverScript::NasContainerDamaged {
            container.iter_mut().take(1).for_each(|byte| *byte ^= 1);
        }
        ue.nas.security_mut().changed_key(&container).map(Box::new)
    });
    let keys_agree = !gnb.config().check_k_gnb
        || match &new_key {
            Some(Some(new)) => Security::begins_with(new, ncc, &nh),
            // The UE detects the wrong MAC.
            Some(None) => true,
            None => ue.nas.security_mut().take_next_hop(ncc, &nh),
        };
    if !keys_agree {
        tracing::warn!(
            supi = ue.supi(),
            gnb = gnb.name(),
            ncc,
            "NH mismatch between AMF and UE (TS 33.501, annex A.10)"
        );
        return Ok(
            fail(gnb, amf_id, CauseRadioNetwork::failure_in_radio_interface_procedure).await?
        );
    }
    let ran_id = gnb.ues().connect(ue.inbox.clone());
    gnb.ues().set_amf_id(ran_id, amf_id);
    let connection = Connection {
        ran_id: Some(ran_id),
        amf_id: Some(amf_id),
        stream: gnb.stream_of(ran_id),
        early: Vec::new(),
    };
    let mut at = TargetContext { connection, reporting, new_key, ..TargetContext::default() };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for item in &sessions.0 {
        let psi = item.pdu_session_id.0;
        let request = SetupRequest::decode(&item.handover_request_transfer);
        let no_room = || Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let protected = request.map_err(|error| error.cause()).and_then(|request| {
            let asked = request.security;
            let security = asked
                .map(|asked| protect(gnb.config(), asked).map(|done| (done, asked)))
                .transpose()?;
            Ok((request, security))
        });
        let (request, security) = match protected {
            Ok(taken) if !plan.refused.contains(&psi) => taken,
            refused => {
                let cause = refused.err().unwrap_or_else(no_room);
                let transfer = HandoverResourceAllocationUnsuccessful { cause }.encode()?;
                failed.push(PDUSessionResourceFailedToSetupItemHOAck::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
                continue;
            }
        };
        let (qfis, failed_flows) = flows_of(gnb.config(), &request);
        let forwards = !plan.without_forwarding;
        let (downlink, forwarding) =
            at.set_up_session(ue, gnb, psi, (request.uplink, &qfis), forwards);
        if let Some(session) = at.sessions.get_mut(&psi) {
            session.security = security;
        }
        let transfer = AcknowledgeTransfer {
            downlink,
            forwarding,
            security: security.and_then(reported),
            flows: qfis.iter().map(|qfi| (*qfi, forwarding.is_some())).collect(),
            failed_flows,
        };
        done.push(PDUSessionResourceAdmittedItem::new(
            item.pdu_session_id,
            transfer.encode()?.into(),
            None,
        ));
    }
    let mut ies = vec![
        build_ngap_ie!(HandoverRequestAcknowledge, AMF_UE_NGAP_ID(amf_id))?,
        build_ngap_ie!(HandoverRequestAcknowledge, RAN_UE_NGAP_ID(ran_id))?,
        build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceAdmittedList(PDUSessionResourceAdmittedList(done))
        )?,
    ];
    if !failed.is_empty() {
        let list = PDUSessionResourceFailedToSetupListHOAck(failed);
        ies.push(build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceFailedToSetupListHOAck(list)
        )?);
    }
    let container = transparent_containers::target_to_source()?;
    ies.push(build_ngap_ie!(
        HandoverRequestAcknowledge,
        TargetToSource_TransparentContainer(container)
    )?);
    type Acknowledge<'a> = HandoverRequestAcknowledge<'a>;
    let acknowledge = HandoverRequestAcknowledge::new(ProtocolIEContainer(ies));
    let acknowledge = NGAP_PDU::of_message(&acknowledge, Acknowledge::CRITICALITY)?.encode()?;
    source_release::send(gnb, &at.connection, acknowledge).await;
    if let Some(handover) = &mut ue.handover {
        handover.at_target = Some(at);
    }
    Ok(())
}
