//! Handover cancellation by the source gNB (TS 38.413, 8.4.5).
use crate::gnb::error::UeError;
use crate::gnb::link::LinkError;
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use std::time::Instant;

/// HANDOVER CANCEL.
pub(crate) async fn cancel(ue: &mut UeContext) -> Result<Instant, LinkError> {
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(Instant::now()) };
    let message = build_ngap!(
        InitiatingMessage,
        HandoverCancel,
        HandoverCancel,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        Cause(Cause::radioNetwork(CauseRadioNetwork::handover_cancelled)),
    )
    .and_then(|pdu| pdu.encode());
    match message {
        Ok(message) => ue.transmit(message).await,
        Err(error) => {
            tracing::error!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                %error,
                "HANDOVER CANCEL not encoded"
            );
            Ok(Instant::now())
        }
    }
}

/// HANDOVER CANCEL ACKNOWLEDGE.
pub(crate) fn acknowledge(ue: &mut UeContext) -> Result<(), Fault> {
    ue.abort_handover(UeError::Handover("cancelled".into()));
    Ok(())
}
