//! Reads NGAP messages from the AMF. Passes messages about the gNB to their procedures, and
//! messages about a UE to the UE's task.
use super::node::{Downlink, Gnb, UeInput};
use super::procedures::handover::handover_resource_allocation;
use super::procedures::interface_management::{
    amf_configuration_update, amf_status_indication, error_indication, ng_reset, overload,
};
use super::procedures::{nrppa_transport, paging};
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::{
    AMFUENGAPID, Cause, CauseProtocol, CauseRadioNetwork, NGAP_PDU, RANUENGAPID, UENGAPIDs,
};
use martlet_ngap::{Error, ie};
use std::time::Instant;

/// Serves the link until it ends. Returns the reason.
pub(super) async fn run(gnb: &Gnb) -> String {
    loop {
        let message = match gnb.link().recv().await {
            Ok(Some(message)) => message,
            Ok(None) => return "the AMF closed the association".into(),
            Err(error) => return error.to_string(),
        };
        let at = Instant::now();
        gnb.tap(&message.data);
        let pdu = match NGAP_PDU::decode(&message.data) {
            Ok(pdu) => pdu,
            Err(error) => {
                tracing::warn!(gnb = gnb.name(), %error, "undecodable NGAP message");
                error_indication::send(
                    gnb,
                    Cause::protocol(CauseProtocol::transfer_syntax_error),
                    (None, None),
                )
                .await;
                continue;
            }
        };
        if let Err(error) = dispatch(gnb, pdu, at).await {
            tracing::warn!(gnb = gnb.name(), %error, "invalid NGAP information element");
            error_indication::send(
                gnb,
                Cause::protocol(CauseProtocol::abstract_syntax_error_reject),
                (None, None),
            )
            .await;
        }
    }
}

async fn dispatch(gnb: &Gnb, pdu: NGAP_PDU, at: Instant) -> Result<(), Error> {
    match pdu.kind() {
        Kind::Initiating_Paging => paging::run(gnb, &pdu, at),
        Kind::Initiating_NGReset => ng_reset::run(gnb, &pdu).await,
        Kind::Initiating_ErrorIndication => error_indication::received(gnb, &pdu),
        Kind::Initiating_AMFConfigurationUpdate => amf_configuration_update::run(gnb, &pdu).await,
        Kind::Initiating_OverloadStart => overload::start(gnb),
        Kind::Initiating_OverloadStop => overload::stop(gnb),
        Kind::Initiating_AMFStatusIndication => amf_status_indication::run(gnb, &pdu),
        Kind::Initiating_DownlinkNonUEAssociatedNRPPaTransport => {
            nrppa_transport::non_ue_associated::run(gnb, &pdu).await
        }
        Kind::Initiating_HandoverResourceAllocation => {
            handover_resource_allocation::request(gnb, pdu, at).await
        }
        Kind::Initiating_UEContextRelease => {
            let Some(ids) = pdu.ie::<ie::UE_NGAP_IDs>().transpose()? else {
                return to_ue(gnb, pdu, at).await;
            };
            let (inbox, ids) = match ids {
                UENGAPIDs::uE_NGAP_ID_pair(pair) => {
                    let (amf, ran) = (pair.amf_ue_ngap_id.0, pair.ran_ue_ngap_id.0);
                    (gnb.ues().by_ran_id(ran), (Some(amf), Some(ran)))
                }
                UENGAPIDs::aMF_UE_NGAP_ID(amf) => (gnb.ues().by_amf_id(amf.0), (Some(amf.0), None)),
                UENGAPIDs::choice_Extensions(_) => (None, (None, None)),
            };
            match inbox {
                Some(inbox) => gnb.deliver(
                    &inbox,
                    UeInput::Downlink(Box::new(Downlink { pdu, at, gnb: gnb.clone() })),
                ),
                None => unknown_ue(gnb, ids).await,
            }
            Ok(())
        }
        _ => to_ue(gnb, pdu, at).await,
    }
}

/// Passes a message on to the UE with its RAN UE NGAP ID.
async fn to_ue(gnb: &Gnb, pdu: NGAP_PDU, at: Instant) -> Result<(), Error> {
    let amf_id: Option<AMFUENGAPID> = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?;
    let ran_id: Option<RANUENGAPID> = pdu.ie::<ie::RAN_UE_NGAP_ID>().transpose()?;
    let Some(ran_id) = ran_id else {
        tracing::warn!(
            gnb = gnb.name(),
            message = pdu.procedure_name(),
            "unsupported NGAP message"
        );
        let cause = Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state);
        error_indication::send(gnb, cause, (amf_id.map(|id| id.0), None)).await;
        return Ok(());
    };
    // Another AMF of the set took the UE over: the UE is on another association (TS 38.413,
    // 8.3.1.2, IE Old AMF).
    let redirected = pdu.ie::<ie::OldAMF>().is_some();
    let inbox = gnb.ues().by_ran_id(ran_id.0);
    match inbox.or_else(|| redirected.then(|| gnb.ue_of_other_association(ran_id.0)).flatten()) {
        Some(inbox) => {
            gnb.deliver(&inbox, UeInput::Downlink(Box::new(Downlink { pdu, at, gnb: gnb.clone() })))
        }
        None => unknown_ue(gnb, (amf_id.map(|id| id.0), Some(ran_id.0))).await,
    }
    Ok(())
}

async fn unknown_ue(gnb: &Gnb, ids: (Option<u64>, Option<u32>)) {
    if gnb.ignores_unknown_ues() {
        return;
    }
    tracing::warn!(gnb = gnb.name(), ?ids, "NGAP message for an unknown UE");
    let cause = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
    error_indication::send(gnb, cause, ids).await;
}
