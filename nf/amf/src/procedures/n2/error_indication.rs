//! Error indication from a gNB (TS 38.413, 8.7.5). The AMF's own error indications are sent by the
//! dispatcher.
//!
//! ```text
//! gNB -> AMF  ERROR INDICATION
//! ```
use crate::n2::{Gnb, uplink::Uplink};
use crate::ue::Event;
use crate::ue::tables::Route;
use crate::{Amf, metrics};
use martlet_interop::{N2Quirk, Quirk};
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::{Cause, NGAP_PDU, NGAPPDU};
use martlet_ngap::{cause, ie};
use std::sync::Arc;

/// Logs it and forwards it to the UE. It is never answered (TS 38.413, 10.5).
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>) -> Vec<NGAP_PDU> {
    let ids = UeIds::of(pdu);
    let why: Option<Cause> = pdu.ie::<ie::Cause>().and_then(Result::ok);
    let text = why.as_ref().map(cause::text).unwrap_or_default();
    metrics::ngap_error("indicated_by_gnb");
    if let Some(suppressed) = martlet_log_limit::line("indicated_by_gnb", gnb.address.ip()) {
        tracing::warn!(
            gnb = gnb.label(),
            amf_id = ids.amf,
            ran_id = ids.ran,
            cause = text,
            suppressed,
            "ERROR INDICATION received"
        );
    }
    if let Some((amf_id, Route::To(handle) | Route::InRelease(handle))) = route(amf, gnb, ids) {
        let _ = handle.sender.try_send(Event::Uplink { amf_id, message: Uplink::Error(why) });
    }
    Vec::new()
}

/// The UE that it is about. OCUDU's gNB names a UE that it does not know by the AMF UE NGAP ID
/// alone.
fn route(amf: &Amf, gnb: &Gnb, ids: UeIds) -> Option<(u64, Route)> {
    let amf_id = ids.amf?;
    let Some(ran_id) = ids.ran else {
        let route = amf.tables.route_without_ran_id(gnb.number, amf_id);
        if amf.config.n2.strict || !matches!(route, Route::To(_) | Route::InRelease(_)) {
            return None;
        }
        N2Quirk::AmfUeNgapIdAlone.met("amf", gnb.label());
        return Some((amf_id, route));
    };
    Some((amf_id, amf.tables.route(gnb.number, amf_id, ran_id)))
}
