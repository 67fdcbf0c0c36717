//! OVERLOAD START and OVERLOAD STOP (TS 38.413, 8.7.7 and 8.7.8).
use crate::gnb::node::Gnb;
use martlet_ngap::Error;

/// OVERLOAD START.
pub(crate) fn start(gnb: &Gnb) -> Result<(), Error> {
    tracing::info!(gnb = gnb.name(), "overload start");
    gnb.set_overloaded(true);
    Ok(())
}

/// OVERLOAD STOP.
pub(crate) fn stop(gnb: &Gnb) -> Result<(), Error> {
    tracing::info!(gnb = gnb.name(), "overload stop");
    gnb.set_overloaded(false);
    Ok(())
}
