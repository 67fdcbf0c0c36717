//! DL-TDOA: the UE says how much later it hears one cell than another (TS 38.305, 8.12). The cells'
//! clocks are taken to be the same, as they are in a network with TDD to within what GNSS receivers
//! at its sites give.
use super::prs::{assistance, deviation};
use super::transaction::{Conversation, failed};
use crate::config::CellConfig;
use martlet_lcs_position::{RangeMeasurement, metres_of_rstd};
use martlet_lpp::*;
use martlet_sbi::Problem;

/// Metres of a report, in whatever steps the UE chose, and the half of a step.
fn difference(report: &NrDlTdoaMeasElementR16NrRstdR16) -> Option<f64> {
    use NrDlTdoaMeasElementR16NrRstdR16 as Rstd;
    match report {
        Rstd::K0R16(value) => metres_of_rstd(*value, 0),
        Rstd::K1R16(value) => metres_of_rstd(*value, 1),
        Rstd::K2R16(value) => metres_of_rstd(*value, 2),
        Rstd::K3R16(value) => metres_of_rstd(*value, 3),
        Rstd::K4R16(value) => metres_of_rstd(*value, 4),
        Rstd::K5R16(value) => metres_of_rstd((*value).into(), 5),
        // Finer steps, which were not asked for.
        _ => None,
    }
}

/// Tells a UE of the cells' signals, and asks it how their times differ.
pub(crate) async fn dl_tdoa(
    conversation: &mut Conversation,
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
    conversation.tell(Body::ProvideAssistanceData(data.into())).await?;
    let common = CommonIEsRequestLocationInformation {
        location_information_type: LocationInformationType::LocationMeasurementsRequired,
        ..Default::default()
    };
    let tdoa = NrDlTdoaRequestLocationInformationR16 {
        // `prsrsrpReq` and others: RSTD is measured anyhow.
        nr_requested_measurements_r16: BitString::from_ones(1, &[]),
        nr_assistance_availability_r16: true,
        ..Default::default()
    };
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(common.into()),
        nr_dl_tdoa_request_location_information_r16: Some(tdoa.into()),
        ..Default::default()
    };
    let answer = conversation.ask(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(failed("the UE answers a request for measurements with something else"));
    };
    let measured = provided.nr_dl_tdoa_provide_location_information_r16;
    let measured = measured.and_then(|it| it.nr_dl_tdoa_signal_measurement_information_r16);
    let measured = measured.ok_or_else(|| failed("the UE has measured no differences of times"))?;
    let position = |id: u8| cells.get(usize::from(id)).map(|cell| cell.position);
    let reference = position(measured.dl_prs_reference_info_r16.dl_prs_id_r16);
    let reference =
        reference.ok_or_else(|| failed("the UE's reference is a signal that nobody told it of"))?;
    let timed = |it: &NrDlTdoaMeasElementR16| {
        Some(RangeMeasurement {
            to: position(it.dl_prs_id_r16)?,
            from: Some(reference),
            metres: difference(&it.nr_rstd_r16)?,
            deviation: deviation(&it.nr_timing_quality_r16),
        })
    };
    Ok(measured.nr_dl_tdoa_meas_list_r16.iter().filter_map(timed).collect())
}
