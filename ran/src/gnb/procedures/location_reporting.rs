//! Location reporting (TS 38.413, 8.12): the AMF requests the location of a UE once, or at each
//! change of its cell or of its presence in an area of interest.
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, extract_ngap_ies};

/// LOCATION REPORTING CONTROL.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, LocationReportingControl,
        req asked: LocationReportingRequestType = LocationReportingRequestType(asked) => asked,
    );
    match asked.event_type {
        EventType::direct => report(ue, asked).await,
        EventType::change_of_serve_cell
        | EventType::ue_presence_in_area_of_interest
        | EventType::change_of_serving_cell_and_UE_presence_in_the_Area_of_Interest => {
            ue.reporting = Some(asked.clone());
            // The presence in areas of interest is reported at once.
            match asked.area_of_interest_list.is_some() {
                true => report(ue, asked).await,
                false => Ok(()),
            }
        }
        _ => {
            ue.reporting = None;
            Ok(())
        }
    }
}

/// Reports a change of the UE's cell if the AMF requested it.
pub(crate) async fn cell_changed(ue: &mut UeContext, cell: u16) -> Result<(), Fault> {
    ue.cell = cell;
    match ue.reporting.clone() {
        Some(asked) => report(ue, asked).await,
        None => Ok(()),
    }
}

/// LOCATION REPORT.
async fn report(ue: &mut UeContext, asked: LocationReportingRequestType) -> Result<(), Fault> {
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(()) };
    let location = ue.location();
    let presence = asked.area_of_interest_list.as_ref().map(|list| {
        let item = |item: &AreaOfInterestItem| {
            let presence = if is_in(&item.area_of_interest, &location) {
                UEPresence::R_in
            } else {
                UEPresence::out
            };
            UEPresenceInAreaOfInterestItem::new(
                item.location_reporting_reference_id,
                presence,
                None,
            )
        };
        UEPresenceInAreaOfInterestList(list.0.iter().map(item).collect())
    });
    let report = match presence {
        Some(presence) => build_ngap!(
            InitiatingMessage,
            LocationReport,
            LocationReport,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            UserLocationInformation(location),
            UEPresenceInAreaOfInterestList(presence),
            LocationReportingRequestType(asked),
        )?,
        None => build_ngap!(
            InitiatingMessage,
            LocationReport,
            LocationReport,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            UserLocationInformation(location),
            LocationReportingRequestType(asked),
        )?,
    };
    ue.transmit(report.encode()?).await?;
    Ok(())
}

fn is_in(area: &AreaOfInterest, location: &UserLocationInformation<'_>) -> bool {
    let UserLocationInformation::userLocationInformationNR(location) = location else {
        return false;
    };
    let by_tai = area
        .area_of_interest_tai_list
        .iter()
        .flat_map(|list| &list.0)
        .any(|item| item.tai == location.tai);
    // The identity of a gNB is the first bits of the identities of its cells (TS 38.413, 9.3.1.7).
    let cell = location.nr_cgi.nr_cell_identity.0;
    let is_of = |node: &GlobalRANNodeID| match node {
        GlobalRANNodeID::globalGNB_ID(GlobalGNBID {
            plmn_identity,
            gnb_id: GNBID::gNB_ID(gnb),
            ..
        }) => {
            let other_bits = cell.len().saturating_sub(gnb.len());
            *plmn_identity == location.nr_cgi.plmn_identity
                && gnb.value() == cell.value() >> other_bits
        }
        _ => false,
    };
    let nodes = area.area_of_interest_ran_node_list.iter().flat_map(|list| &list.0);
    let by_node = nodes.map(|item| &item.global_ran_node_id).any(is_of);
    let mut cells = area.area_of_interest_cell_list.iter().flat_map(|list| &list.0);
    by_tai
        || by_node
        || cells.any(
            |item| matches!(&item.ngran_cgi, NGRANCGI::nR_CGI(cell) if *cell == location.nr_cgi),
        )
}
