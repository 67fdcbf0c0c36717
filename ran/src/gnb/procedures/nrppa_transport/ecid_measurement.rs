//! E-CID measurement (TS 38.455, 8.2.1 to 8.2.4).
use super::lmf_address::LmfAddress;
use super::messages::{cgi, not_available, not_supported, plmn_identity};
use crate::gnb::node::Gnb;
use crate::gnb::ue::context::UeContext;
use crate::radio_environment::{Cell, RadioEnvironment};
use martlet_nrppa::*;
use std::time::{Duration, Instant};

/// Cells of a report.
const MAX_CELLS: usize = 9;
/// Concurrent measurements of a UE: the range of the LMF UE Measurement ID (9.2.13).
const MAX_MEASUREMENTS: usize = 15;

/// E-CID MEASUREMENT INITIATION REQUEST (8.2.1): answers with a first result and starts periodic
/// reports if the LMF requests them.
pub(super) fn initiation(
    ue: &mut UeContext,
    lmf: &LmfAddress,
    request: &ECidMeasurementInitiationRequest,
) -> Message {
    let id = request.ue_measurement_id;
    let failure = |cause| {
        let failure = ECidMeasurementInitiationFailure {
            ue_measurement_id: id,
            cause,
            criticality_diagnostics: None,
        };
        Message::ECidMeasurementInitiationFailure(failure.into())
    };
    use ECidMeasurementInitiationRequestMeasurementQuantitiesItem as Quantity;
    let wanted: Vec<_> = request
        .measurement_quantities
        .iter()
        .filter_map(|it| {
            if let Quantity::MeasurementQuantitiesItem(it) = it {
                Some(it.measurement_quantities_value)
            } else {
                None
            }
        })
        .collect();
    let has = |quantity| wanted.contains(&quantity);
    let (cell, rsrp_wanted) =
        (has(MeasurementQuantitiesValue::CellId), has(MeasurementQuantitiesValue::SSRsrp));
    let Some(environment) = ue.measurements.environment.clone().filter(|_| cell || rsrp_wanted)
    else {
        return failure(not_supported());
    };
    let Some(first) = result(&lmf.gnb, &environment, rsrp_wanted, Instant::now()) else {
        return failure(not_available());
    };
    let mut response = ECidMeasurementInitiationResponse {
        ue_measurement_id: id,
        // The RAN UE Measurement ID equals the LMF UE Measurement ID.
        ue_measurement_id_: id,
        ..Default::default()
    };
    if request.report_characteristics == ReportCharacteristics::OnDemand {
        response.e_cid_measurement_result = Some(first.into());
        return Message::ECidMeasurementInitiationResponse(response.into());
    }
    let Some(period) = request.measurement_periodicity.and_then(period) else {
        return failure(not_supported());
    };
    if ue.measurements.reports.len() >= MAX_MEASUREMENTS
        && !ue.measurements.reports.contains_key(&id)
    {
        return failure(not_available());
    }
    let work =
        tokio::spawn(report(lmf.clone(), id, environment, rsrp_wanted, period)).abort_handle();
    if let Some(before) = ue.measurements.reports.insert(id, work) {
        before.abort();
    }
    Message::ECidMeasurementInitiationResponse(response.into())
}

fn period(periodicity: MeasurementPeriodicity) -> Option<Duration> {
    use MeasurementPeriodicity::*;
    Some(Duration::from_millis(match periodicity {
        Ms120 => 120,
        Ms240 => 240,
        Ms480 => 480,
        Ms640 => 640,
        Ms1024 => 1024,
        Ms2048 => 2048,
        Ms5120 => 5120,
        Ms10240 => 10_240,
        _ => return None,
    }))
}

/// E-CID MEASUREMENT REPORT (8.2.3) in every period, until the UE leaves or the LMF terminates it.
async fn report(
    lmf: LmfAddress,
    id: i64,
    environment: RadioEnvironment,
    rsrp_wanted: bool,
    period: Duration,
) {
    let mut ticks = tokio::time::interval(period);
    ticks.tick().await;
    for transaction in (0u16..32_768).cycle() {
        ticks.tick().await;
        if !lmf.gnb.serves(lmf.ids.1) {
            return;
        }
        let message = match result(&lmf.gnb, &environment, rsrp_wanted, Instant::now()) {
            Some(result) => Message::ECidMeasurementReport(
                ECidMeasurementReport {
                    ue_measurement_id: id,
                    ue_measurement_id_: id,
                    e_cid_measurement_result: result,
                    cell_portion_id: None,
                }
                .into(),
            ),
            None => Message::ECidMeasurementFailureIndication(
                ECidMeasurementFailureIndication {
                    ue_measurement_id: id,
                    ue_measurement_id_: id,
                    cause: not_available(),
                }
                .into(),
            ),
        };
        let ended = matches!(message, Message::ECidMeasurementFailureIndication(_));
        let Some(uplink) = lmf.uplink_message(&Pdu { transaction, message }) else {
            return;
        };
        let stream = lmf.gnb.stream_of(lmf.ids.1);
        if lmf.gnb.send_raw_ngap(stream, uplink).await.is_err() || ended {
            return;
        }
    }
}

/// The UE's measurement reports of the cells that it receives; `None` if it receives none.
fn result(
    gnb: &Gnb,
    environment: &RadioEnvironment,
    rsrp_wanted: bool,
    now: Instant,
) -> Option<ECidMeasurementResult> {
    let received = environment.measure(now);
    let (serving, _) = received.first()?;
    let plmn = gnb.config().plmn;
    let item = |(cell, rsrp): &(Cell, u8)| ResultSsRsrpItem {
        n_r_pci: cell.pci,
        n_r_arfcn: cell.arfcn,
        c_gi_nr: Some(cgi(plmn, cell)),
        value_ss_rsrp_cell: Some(*rsrp),
        s_s_rsrp_per_ssb: None,
    };
    let list = received.iter().take(MAX_CELLS).map(item).collect();
    let loud = MeasuredResultsValue::ChoiceExtension(
        MeasuredResultsValueChoiceExtension::ResultSsRsrp(list),
    );
    let [_, tac @ ..] = gnb.config().tac.to_be_bytes();
    Some(ECidMeasurementResult {
        serving_cell_id: NgRanCgi {
            p_lmn_identity: plmn_identity(plmn),
            n_g_rancell: NgRanCell::NRCellId(BitString::from_number(serving.identity, 36)),
        },
        serving_cell_tac: tac.to_vec(),
        n_g_ranaccess_point_position: None,
        measured_results: rsrp_wanted.then(|| vec![loud]),
        i_e_extensions: None,
    })
}

/// E-CID MEASUREMENT TERMINATION COMMAND (8.2.4).
pub(super) fn termination(ue: &mut UeContext, command: &ECidMeasurementTerminationCommand) {
    if let Some(report) = ue.measurements.reports.remove(&command.ue_measurement_id) {
        report.abort();
    }
}
