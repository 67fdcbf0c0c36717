//! NR E-CID: the UE measures the signal strengths of its cell and its neighbours (TS 38.305, 8.9).
use super::transaction::{Transactions, positioning_failed};
use martlet_lcs_position::dbm_of_rsrp;
use martlet_lpp::{
    BitString, Body, CommonIEsRequestLocationInformation, LocationInformationType, NcgiR15,
    NrEcidRequestLocationInformationR16, NrMeasuredResultsElementR16,
    RequestLocationInformationR9IEs,
};
use martlet_sbi::Problem;

/// `ssrsrpReq` (TS 37.355, 6.5.9).
const SS_RSRP: usize = 0;

/// The signal strength of a cell at the UE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeasuredCell {
    /// Physical cell identity.
    pub pci: u16,
    /// NR cell identity, if reported.
    pub identity: Option<u64>,
    /// SS-RSRP, dBm.
    pub dbm: f64,
}

/// Requests the measurements of a UE. The first cell is the serving cell.
pub(crate) async fn nr_ecid(lpp: &mut Transactions) -> Result<Vec<MeasuredCell>, Problem> {
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(Box::new(
            CommonIEsRequestLocationInformation {
                location_information_type: LocationInformationType::LocationMeasurementsRequired,
                qos: Some(lpp.qos()),
                ..Default::default()
            },
        )),
        nr_ecid_request_location_information_r16: Some(NrEcidRequestLocationInformationR16 {
            requested_measurements_r16: BitString::from_ones(4, &[SS_RSRP]),
        }),
        ..Default::default()
    };
    let answer = lpp.request(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(positioning_failed(
            "unexpected answer of the UE to RequestLocationInformation",
        ));
    };
    let measured = provided.nr_ecid_provide_location_information_r16;
    let measured = measured.and_then(|it| it.nr_ecid_signal_measurement_information_r16);
    let measured =
        measured.ok_or_else(|| positioning_failed("the UE's answer has no E-CID measurements"))?;
    let others = measured.nr_measured_results_list_r16.unwrap_or_default();
    let all = std::iter::once(measured.nr_primary_cell_measured_results_r16).chain(others);
    Ok(all.filter_map(|cell| measured_cell(&cell)).collect())
}

fn measured_cell(cell: &NrMeasuredResultsElementR16) -> Option<MeasuredCell> {
    let rsrp = cell.results_ssb_cell_r16.as_ref()?.nr_rsrp_r16?;
    let identity = |ncgi: &NcgiR15| ncgi.nr_cellidentity_r15.number();
    Some(MeasuredCell {
        pci: cell.nr_phys_cell_id_r16,
        identity: cell.nr_cell_global_id_r16.as_ref().and_then(identity),
        dbm: dbm_of_rsrp(rsrp),
    })
}
