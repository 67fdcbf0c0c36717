//! AMF status indication (TS 38.413, 8.7.6; TS 23.501, 5.21.2.2): before it stops, the AMF makes
//! its GUAMIs unavailable, so that gNBs select another AMF of the set.
//!
//! ```text
//! AMF -> gNB  AMF STATUS INDICATION (Unavailable GUAMI List)
//! ```
use crate::Amf;
use crate::n2::Gnb;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;

/// Sends all GUAMIs of this AMF as unavailable.
pub(crate) async fn unavailable(amf: &Amf, gnb: &Gnb) {
    if gnb.setup().is_none() {
        return;
    }
    let guamis = amf.served.guamis.iter().filter_map(|guami| guami.to_ngap().ok());
    let list = UnavailableGUAMIList(
        guamis.map(|guami| UnavailableGUAMIItem::new(guami, None, None, None)).collect(),
    );
    match build_ngap!(
        InitiatingMessage,
        AMFStatusIndication,
        AMFStatusIndication,
        UnavailableGUAMIList(list)
    ) {
        Ok(message) => drop(gnb.send(0, &message).await),
        Err(error) => tracing::error!(%error, "AMF STATUS INDICATION not encodable"),
    }
}
