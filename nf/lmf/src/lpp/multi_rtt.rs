//! Multi-RTT, the UE's part: its Rx-Tx time differences (TS 38.305, 8.10; TS 37.355, 6.5.12).
use super::assistance_data::{assistance, deviation};
use super::transaction::{Transactions, positioning_failed};
use martlet_lcs_position::metres_of_rstd;
use martlet_lpp::*;
use martlet_sbi::Problem;

/// The Rx-Tx time difference of one end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundTrip {
    /// The time as a distance, metres.
    pub metres: f64,
    /// Standard deviation, metres.
    pub deviation: f64,
}

/// Provides the signals of cells with these PCIs as assistance data and requests the Rx-Tx time
/// differences. Returns them by index of the cell.
pub(crate) async fn multi_rtt(
    lpp: &mut Transactions,
    pcis: &[u16],
) -> Result<Vec<(usize, RoundTrip)>, Problem> {
    let signals = NrMultiRttProvideAssistanceDataR16 {
        nr_dl_prs_assistance_data_r16: Some(assistance(pcis).into()),
        ..Default::default()
    };
    let data = ProvideAssistanceDataR9IEs {
        nr_multi_rtt_provide_assistance_data_r16: Some(signals.into()),
        ..Default::default()
    };
    lpp.send(Body::ProvideAssistanceData(data.into())).await?;
    let common = CommonIEsRequestLocationInformation {
        location_information_type: LocationInformationType::LocationMeasurementsRequired,
        qos: Some(lpp.qos()),
        ..Default::default()
    };
    let rtt = NrMultiRttRequestLocationInformationR16 {
        nr_ue_rx_tx_time_diff_measurement_info_request_r16: Some(()),
        // `prsrsrpReq` and others. The time differences are always measured.
        nr_requested_measurements_r16: BitString::from_ones(1, &[]),
        nr_assistance_availability_r16: true,
        ..Default::default()
    };
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(common.into()),
        nr_multi_rtt_request_location_information_r16: Some(rtt.into()),
        ..Default::default()
    };
    let answer = lpp.request(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(positioning_failed(
            "unexpected answer of the UE to RequestLocationInformation",
        ));
    };
    let measured = provided.nr_multi_rtt_provide_location_information_r16;
    let measured = measured.and_then(|it| it.nr_multi_rtt_signal_measurement_information_r16);
    let measured = measured
        .ok_or_else(|| positioning_failed("the UE's answer has no Rx-Tx time differences"))?;
    let one = |it: &NrMultiRttMeasElementR16| {
        let metres = difference(&it.nr_ue_rx_tx_time_diff_r16)?;
        let at = usize::from(it.dl_prs_id_r16);
        (at < pcis.len())
            .then_some((at, RoundTrip { metres, deviation: deviation(&it.nr_timing_quality_r16) }))
    };
    Ok(measured.nr_multi_rtt_meas_list_r16.iter().filter_map(one).collect())
}

/// The difference in metres of a report, in the UE's choice of steps (TS 38.133, 10.1.25.3.1: as
/// for RSTD).
fn difference(report: &NrMultiRttMeasElementR16NrUeRxTxTimeDiffR16) -> Option<f64> {
    use NrMultiRttMeasElementR16NrUeRxTxTimeDiffR16 as Report;
    match report {
        Report::K0R16(value) => metres_of_rstd(*value, 0),
        Report::K1R16(value) => metres_of_rstd(*value, 1),
        Report::K2R16(value) => metres_of_rstd(*value, 2),
        Report::K3R16(value) => metres_of_rstd(*value, 3),
        Report::K4R16(value) => metres_of_rstd(*value, 4),
        Report::K5R16(value) => metres_of_rstd((*value).into(), 5),
        // Finer steps, which were not requested.
        _ => None,
    }
}
