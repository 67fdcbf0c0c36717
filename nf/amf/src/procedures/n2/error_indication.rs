//! Error indication by a gNB (TS 38.413, 8.7.5): something that the AMF sent was wrong. The AMF's
//! own go out where a message of a gNB is wrong.
use crate::n2::{Gnb, uplink::Uplink};
use crate::tables::Route;
use crate::ue::Event;
use crate::{Amf, metrics};
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::{Cause, NGAP_PDU, NGAPPDU};
use martlet_ngap::{cause, ie};
use std::sync::Arc;

/// Logs it, and tells the UE that it is about. It is never answered (TS 38.413, 10.5).
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>) -> Vec<NGAP_PDU> {
    let ids = UeIds::of(pdu);
    let why: Option<Cause> = pdu.ie::<ie::Cause>().and_then(Result::ok);
    let text = why.as_ref().map(cause::text).unwrap_or_default();
    metrics::ngap_error("indicated_by_gnb");
    tracing::warn!(
        gnb = gnb.label(),
        amf_id = ids.amf,
        ran_id = ids.ran,
        cause = text,
        "the gNB indicates an error"
    );
    if let (Some(amf_id), Some(ran_id)) = (ids.amf, ids.ran)
        && let Route::To(handle) = amf.tables.route(gnb.number, amf_id, ran_id)
    {
        let _ = handle.sender.try_send(Event::Uplink { amf_id, message: Uplink::Error(why) });
    }
    Vec::new()
}
