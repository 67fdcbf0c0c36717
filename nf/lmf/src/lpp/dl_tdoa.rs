//! DL-TDOA: the UE measures differences of arrival times (TS 38.305, 8.12). The cells' clocks are
//! assumed to be synchronous, as in a TDD network synchronised by GNSS.
use super::assistance_data::{assistance, deviation};
use super::transaction::{Transactions, positioning_failed};
use crate::config::CellConfig;
use martlet_lcs_position::{RangeMeasurement, metres_of_rstd};
use martlet_lpp::*;
use martlet_sbi::Problem;

/// The difference in metres of a report, in the UE's choice of steps.
fn difference(report: &NrDlTdoaMeasElementR16NrRstdR16) -> Option<f64> {
    use NrDlTdoaMeasElementR16NrRstdR16 as Rstd;
    match report {
        Rstd::K0R16(value) => metres_of_rstd(*value, 0),
        Rstd::K1R16(value) => metres_of_rstd(*value, 1),
        Rstd::K2R16(value) => metres_of_rstd(*value, 2),
        Rstd::K3R16(value) => metres_of_rstd(*value, 3),
        Rstd::K4R16(value) => metres_of_rstd(*value, 4),
        Rstd::K5R16(value) => metres_of_rstd((*value).into(), 5),
        // Finer steps, which were not requested.
        _ => None,
    }
}

/// Provides the cells' signals as assistance data and requests the RSTD measurements.
pub(crate) async fn dl_tdoa(
    lpp: &mut Transactions,
    cells: &[CellConfig],
) -> Result<Vec<RangeMeasurement>, Problem> {
    let pcis: Vec<u16> = cells.iter().map(|cell| cell.pci).collect();
    let signals = NrDlTdoaProvideAssistanceDataR16 {
        nr_dl_prs_assistance_data_r16: Some(assistance(&pcis).into()),
        ..Default::default()
    };
    let data = ProvideAssistanceDataR9IEs {
        nr_dl_tdoa_provide_assistance_data_r16: Some(signals.into()),
        ..Default::default()
    };
    lpp.send(Body::ProvideAssistanceData(data.into())).await?;
    let common = CommonIEsRequestLocationInformation {
        location_information_type: LocationInformationType::LocationMeasurementsRequired,
        qos: Some(lpp.qos()),
        ..Default::default()
    };
    let tdoa = NrDlTdoaRequestLocationInformationR16 {
        // `prsrsrpReq` and others. RSTD is always measured.
        nr_requested_measurements_r16: BitString::from_ones(1, &[]),
        nr_assistance_availability_r16: true,
        ..Default::default()
    };
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(common.into()),
        nr_dl_tdoa_request_location_information_r16: Some(tdoa.into()),
        ..Default::default()
    };
    let answer = lpp.request(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(positioning_failed(
            "unexpected answer of the UE to RequestLocationInformation",
        ));
    };
    let measured = provided.nr_dl_tdoa_provide_location_information_r16;
    let measured = measured.and_then(|it| it.nr_dl_tdoa_signal_measurement_information_r16);
    let measured =
        measured.ok_or_else(|| positioning_failed("the UE's answer has no RSTD measurements"))?;
    let position = |id: u8| cells.get(usize::from(id)).map(|cell| cell.position);
    let reference = position(measured.dl_prs_reference_info_r16.dl_prs_id_r16);
    let reference = reference
        .ok_or_else(|| positioning_failed("the UE's reference is not in the assistance data"))?;
    let range = |it: &NrDlTdoaMeasElementR16| {
        Some(RangeMeasurement {
            to: position(it.dl_prs_id_r16)?,
            from: Some(reference),
            metres: difference(&it.nr_rstd_r16)?,
            deviation: deviation(&it.nr_timing_quality_r16),
        })
    };
    Ok(measured.nr_dl_tdoa_meas_list_r16.iter().filter_map(range).collect())
}
