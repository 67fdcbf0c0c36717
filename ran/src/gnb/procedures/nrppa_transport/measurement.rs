//! Measurement at transmission and reception points (TS 38.455, 8.5.1).
use super::messages::{not_available, not_supported};
use crate::gnb::node::Gnb;
use crate::gnb::sounding_reference_signals;
use martlet_lcs_position::{quality_of_metres, rstd_of_metres};
use martlet_nrppa::{
    GnbRxTxTimeDiff, MeasurementFailure, MeasurementRequest, MeasurementResponse, Message,
    ReportCharacteristics, SrsConfiguration, TimeStamp, TimeStampSlotIndex,
    TrpMeasuredResultsValue, TrpMeasurementQuality, TrpMeasurementResponseItem,
    TrpMeasurementResultItem, TrpMeasurementTimingQuality, TrpMeasurementTimingQualityResolution,
    TrpMeasurementType,
};
use std::time::Instant;

/// Granularity factor k if the LMF requests none: steps of 2^2 T_c, 0.6 m.
const K: u8 = 2;

/// MEASUREMENT REQUEST (8.5.1).
pub(super) fn measurement(gnb: &Gnb, request: &MeasurementRequest) -> Message {
    let failure = |cause| {
        let failure = MeasurementFailure {
            measurement_id: request.measurement_id,
            cause,
            criticality_diagnostics: None,
        };
        Message::MeasurementFailure(failure.into())
    };
    let round_trip = request
        .trpmeasurement_quantities
        .iter()
        .find(|it| it.t_rpmeasurement_quantities_item == TrpMeasurementType::GNbRxTxTimeDiff);
    let Some(wanted) =
        round_trip.filter(|_| request.report_characteristics == ReportCharacteristics::OnDemand)
    else {
        return failure(not_supported());
    };
    let k = wanted.timing_reporting_granularity_factor.unwrap_or(K);
    let Some(sender) = request
        .srsconfiguration
        .as_ref()
        .and_then(sequence)
        .and_then(sounding_reference_signals::sender)
    else {
        // No UE sends this signal.
        return failure(not_available());
    };
    let now = Instant::now();
    let received = sender.round_trips_of_gnb(now);
    let quality = quality_of_metres(sender.timing_deviation_m);
    let measured = |id: i64| {
        let trp = gnb.config().trps.iter().find(|trp| i64::from(trp.id) == id)?;
        let (_, metres) = received.iter().find(|(cell, _)| cell.identity == trp.cell.identity)?;
        let frame = sender.milliseconds(now) / 10 % 1024;
        let item = TrpMeasurementResultItem {
            measured_results_value: TrpMeasuredResultsValue::GNbRxTxTimeDiff(
                GnbRxTxTimeDiff { rx_tx_time_diff: report(*metres, k), ..Default::default() }
                    .into(),
            ),
            time_stamp: TimeStamp {
                system_frame_number: frame as u16,
                slot_index: TimeStampSlotIndex::SCs30(0),
                measurement_time: None,
                i_e_extension: None,
            },
            measurement_quality: Some(TrpMeasurementQuality::TimingMeasQuality(
                TrpMeasurementTimingQuality {
                    measurement_quality: quality.0,
                    resolution: match quality.1 {
                        0 => TrpMeasurementTimingQualityResolution::M0Dot1,
                        1 => TrpMeasurementTimingQualityResolution::M1,
                        2 => TrpMeasurementTimingQualityResolution::M10,
                        _ => TrpMeasurementTimingQualityResolution::M30,
                    },
                },
            )),
            measurement_beam_info: None,
            i_e_extensions: None,
        };
        Some(TrpMeasurementResponseItem {
            t_rp_id: id,
            measurement_result: vec![item],
            i_e_extensions: None,
        })
    };
    let list: Vec<_> =
        request.trp_measurement_request_list.iter().filter_map(|it| measured(it.t_rp_id)).collect();
    if list.is_empty() {
        return failure(not_available());
    }
    let response = MeasurementResponse {
        measurement_id: request.measurement_id,
        // The RAN Measurement ID equals the LMF Measurement ID.
        measurement_id_: request.measurement_id,
        trp_measurement_response_list: Some(list),
        criticality_diagnostics: None,
    };
    Message::MeasurementResponse(response.into())
}

/// The sequence of a configuration's signal.
fn sequence(configuration: &SrsConfiguration) -> Option<u16> {
    let carrier = configuration.s_rscarrier_list.first()?;
    let resources = carrier.active_ulbwp.s_rsconfig.pos_srsresource_list.as_ref()?;
    resources.first().map(|it| it.sequence_id)
}

/// A reported value in steps of 2^k T_c.
fn report(metres: f64, k: u8) -> martlet_nrppa::GnbRxTxTimeDiffMeas {
    use martlet_nrppa::GnbRxTxTimeDiffMeas as Report;
    let value = rstd_of_metres(metres, k);
    match k {
        0 => Report::K0(value),
        1 => Report::K1(value),
        2 => Report::K2(value),
        3 => Report::K3(value),
        4 => Report::K4(value),
        // Up to 61,565.
        _ => Report::K5(value as u16),
    }
}
