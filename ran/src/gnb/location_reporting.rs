//! Location reporting (TS 38.413, 8.12): the AMF asks where a UE is.
use super::ue_task::{Fault, UeTask};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, extract_ngap_ies};

/// Report at once. Other kinds of reporting are not this gNB's.
pub(super) async fn run(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, LocationReportingControl,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req asked: LocationReportingRequestType = LocationReportingRequestType(asked) => asked,
    );
    if asked.event_type != EventType::direct {
        return Ok(());
    }
    let report = build_ngap!(
        InitiatingMessage,
        LocationReport,
        LocationReport,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UserLocationInformation(ue.location()),
        LocationReportingRequestType(asked),
    )?;
    ue.transmit(report.encode()?).await?;
    Ok(())
}
