//! Location reporting (TS 38.413, 8.12; TS 23.502, 4.10) for Namf_Location_ProvideLocationInfo: the
//! gNB reports the current location of a connected UE. An idle UE has its last known location.
//!
//! ```text
//! AMF -> gNB  LOCATION REPORTING CONTROL (direct)
//! gNB -> AMF  LOCATION REPORT
//! ```
use crate::n2::downlink;
use crate::n2::uplink::Uplink;
use crate::ue::Ue;
use martlet_sbi::Problem;
use martlet_sbi_api::common::RatType;
use martlet_sbi_api::namf_location::{ProvideLocInfo, RequestLocInfo};
use std::time::Instant;

/// The requested location information.
pub(crate) async fn run(ue: &mut Ue, asked: &RequestLocInfo) -> Result<ProvideLocInfo, Problem> {
    if !ue.is_registered() {
        return Err(Problem::new(403, "UNSPECIFIED").detail("the UE is not registered"));
    }
    let rat_type = (asked.req_rat_type == Some(true)).then_some(RatType::Nr);
    let mut info = ProvideLocInfo { rat_type, ..Default::default() };
    let current = asked.req_current_loc == Some(true) && reported(ue).await;
    let location = ue.connection.as_ref().map(|connection| connection.location);
    if asked.req5gs_loc == Some(true) {
        info.location = location.or(ue.last_location).map(|location| location.to_sbi());
        info.current_loc = Some(current);
    }
    Ok(info)
}

/// Requests a report; returns whether it has arrived.
async fn reported(ue: &mut Ue) -> bool {
    let Some(connection) = &ue.connection else { return false };
    if !connection.send(downlink::location_reporting_control(connection)).await {
        return false;
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let report = ue.next_ngap(until, |message| match message {
        Uplink::Location(location) => Ok(location),
        other => Err(other),
    });
    match report.await {
        Ok(Some(location)) => {
            ue.update_location(location);
            location.is_some()
        }
        Ok(None) => {
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "location reporting: no report from the gNB"
            );
            false
        }
        Err(stop) => {
            Box::pin(ue.handle_stop(stop)).await;
            false
        }
    }
}
