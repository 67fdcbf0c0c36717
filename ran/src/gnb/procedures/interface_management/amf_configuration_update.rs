//! AMF configuration update (TS 38.413, 8.7.3): the relative capacity applies, and all is
//! acknowledged.
use crate::gnb::node::Gnb;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ngap::{Error, build_ngap, ie};

pub(crate) async fn run(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    if let Some(capacity) = pdu.ie::<ie::RelativeAMFCapacity>().transpose()? {
        tracing::info!(gnb = gnb.name(), capacity = capacity.0, "relative AMF capacity changed");
        gnb.set_amf_capacity(capacity.0);
    }
    let acknowledge =
        build_ngap!(SuccessfulOutcome, AMFConfigurationUpdate, AMFConfigurationUpdateAcknowledge,)?;
    if let Err(error) = gnb.send(0, acknowledge.encode()?.into()).await {
        tracing::debug!(
            gnb = gnb.name(),
            %error,
            "AMF CONFIGURATION UPDATE ACKNOWLEDGE was not sent"
        );
    }
    Ok(())
}
