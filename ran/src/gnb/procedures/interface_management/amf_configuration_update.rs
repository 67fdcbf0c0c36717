//! AMF configuration update (TS 38.413, 8.7.3): only acknowledged.
use crate::gnb::node::Gnb;
use martlet_ngap::Error;
use martlet_ngap::build_ngap;

pub(crate) async fn run(gnb: &Gnb) -> Result<(), Error> {
    let acknowledge =
        build_ngap!(SuccessfulOutcome, AMFConfigurationUpdate, AMFConfigurationUpdateAcknowledge,)?;
    if let Err(error) = gnb.link().send(0, acknowledge.encode()?.into()).await {
        tracing::debug!(
            gnb = gnb.name(),
            %error,
            "AMF CONFIGURATION UPDATE ACKNOWLEDGE was not sent"
        );
    }
    Ok(())
}
