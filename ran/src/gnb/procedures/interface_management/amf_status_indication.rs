//! AMF status indication (TS 38.413, 8.7.6): the AMF reports GUAMIs that it no longer serves.
use crate::gnb::node::Gnb;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ngap::{Error, ie};

pub(crate) fn run(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    let list = pdu.ie::<ie::UnavailableGUAMIList>().transpose()?;
    let guamis = list.map_or(0, |list| list.0.len() as u64);
    tracing::info!(gnb = gnb.name(), guamis, "AMF status indication");
    gnb.count_unavailable_guamis(guamis);
    Ok(())
}
