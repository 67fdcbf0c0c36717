//! Error indication (TS 38.413, 8.7.5), sent and received.
use crate::gnb::node::{Gnb, UeInput};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};

/// Reports an unusable message to the AMF. `ids` are the identifiers that the message has.
pub(crate) async fn send(gnb: &Gnb, cause: Cause, ids: (Option<u64>, Option<u32>)) {
    match message(cause, ids) {
        Ok(message) => {
            if let Err(error) = gnb.send(0, message.into()).await {
                tracing::debug!(gnb = gnb.name(), %error, "ERROR INDICATION was not sent");
            }
        }
        Err(error) => {
            tracing::error!(gnb = gnb.name(), %error, "ERROR INDICATION cannot be encoded")
        }
    }
}

fn message(cause: Cause, (amf_id, ran_id): (Option<u64>, Option<u32>)) -> Result<Vec<u8>, Error> {
    let mut pdu = build_ngap!(InitiatingMessage, ErrorIndication, ErrorIndication, Cause(cause))?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(ran_id) = ran_id {
        ies.0.insert(0, build_ngap_ie!(ErrorIndication, RAN_UE_NGAP_ID(ran_id))?);
    }
    if let Some(amf_id) = amf_id {
        ies.0.insert(0, build_ngap_ie!(ErrorIndication, AMF_UE_NGAP_ID(amf_id))?);
    }
    pdu.set_protocol_ies(ies)?;
    pdu.encode()
}

/// ERROR INDICATION from the AMF. If the AMF does not know the UE's identifiers, the UE's
/// connection is released.
pub(crate) fn received(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, ErrorIndication,
        opt amf_id: u64 = AMF_UE_NGAP_ID(id),
        opt ran_id: u32 = RAN_UE_NGAP_ID(id),
        lax cause: Cause = Cause(cause) => cause,
    );
    tracing::warn!(gnb = gnb.name(), ?amf_id, ?ran_id, ?cause, "ERROR INDICATION from the AMF");
    gnb.count_error_indication();
    let unknown = matches!(
        cause,
        Some(Cause::radioNetwork(
            CauseRadioNetwork::unknown_local_UE_NGAP_ID
                | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID
        ))
    );
    if let Some(inbox) = ran_id.and_then(|id| gnb.ues().by_ran_id(id))
        && unknown
    {
        gnb.deliver(
            &inbox,
            UeInput::ContextLost(gnb.clone(), "the AMF does not know the UE's connection"),
        );
    }
    Ok(())
}
