//! Handover resource allocation (TS 38.413, 8.4.2): the target gNB's response goes to the UE whose
//! handover it prepares. The request is sent by
//! [`handover_preparation`](super::handover_preparation).
//!
//! ```text
//! AMF -> target gNB  HANDOVER REQUEST
//! target gNB -> AMF  HANDOVER REQUEST ACKNOWLEDGE or HANDOVER FAILURE
//! ```
use crate::n2::uplink::Uplink;
use crate::n2::{Gnb, Handled, handover_uplink};
use crate::ue::Event;
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::{Fault, UeIds};
use martlet_ngap::ngap::*;
use std::sync::Arc;

/// Gives the response to the UE's task.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Gnb, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
    let ids = UeIds::of(pdu);
    let Some(amf_id) = ids.amf else {
        return Err(Fault::state(pdu, "the AMF UE NGAP ID is missing").into());
    };
    let message = match (pdu.kind(), ids.ran) {
        (Kind::Successful_HandoverResourceAllocation, Some(ran_id)) => {
            let admitted = handover_uplink::handover_admitted(pdu, data)
                .map_err(|error| Fault::of(pdu, &error))?;
            Uplink::HandoverAdmitted { ran_id, admitted: admitted.into() }
        }
        (Kind::Unsuccessful_HandoverResourceAllocation, _) => {
            let cause =
                handover_uplink::handover_failure(pdu).map_err(|error| Fault::of(pdu, &error))?;
            Uplink::HandoverFailed(cause)
        }
        _ => return Err(Fault::state(pdu, "the RAN UE NGAP ID is missing").into()),
    };
    let ran_id = ids.ran.filter(|_| matches!(message, Uplink::HandoverAdmitted { .. }));
    let Some(handle) = amf.tables.connect_target_response(gnb.number, amf_id, ran_id) else {
        metrics::ngap_error("ue_ngap_id");
        if let Some(suppressed) = martlet_log_limit::line("handover_response", gnb.address.ip()) {
            tracing::warn!(
                gnb = gnb.label(),
                amf_id,
                message_name = message.name(),
                suppressed,
                "handover response without a handover"
            );
        }
        let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
        return Ok(error_indication(ids, Some(unknown), None).into_iter().collect());
    };
    if handle.sender.try_send(Event::Uplink { amf_id, message }).is_err() {
        metrics::dropped("ngap");
    }
    Ok(Vec::new())
}
