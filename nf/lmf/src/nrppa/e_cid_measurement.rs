//! E-CID measurement: the gNB reports the signal strengths that the UE measured (TS 38.305, 8.9; TS
//! 38.455, 8.2).
use super::{gnb_failure, unexpected_message};
use crate::Shared;
use crate::deadline::Deadline;
use crate::lpp::MeasuredCell;
use crate::user_plane::Supi;
use martlet_lcs_position::dbm_of_rsrp;
use martlet_nrppa::{
    ECidMeasurementInitiationRequest,
    ECidMeasurementInitiationRequestMeasurementQuantitiesItem as Item, ECidMeasurementResult,
    ECidMeasurementTerminationCommand, MeasuredResultsValue,
    MeasuredResultsValueChoiceExtension as Extension, MeasurementPeriodicity,
    MeasurementQuantitiesItem, MeasurementQuantitiesValue, Message, Pdu, ReportCharacteristics,
    ResultSsRsrpItem,
};
use martlet_sbi::Problem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Requests the measurements from the UE's gNB; averages `lmf.ecid_reports` reports.
pub(crate) async fn e_cid_measurement(
    shared: &Arc<Shared>,
    ue: &Supi,
    correlation: &str,
) -> Result<Vec<MeasuredCell>, Problem> {
    shared.subscribe_to_gnb_of(ue).await?;
    let reports = shared.config.ecid_reports.max(1);
    let (id, mut pending) = shared.nrppa.begin_measurement(ue)?;
    let quantity = |value| {
        Item::MeasurementQuantitiesItem(MeasurementQuantitiesItem {
            measurement_quantities_value: value,
        })
    };
    let request = ECidMeasurementInitiationRequest {
        ue_measurement_id: id,
        report_characteristics: match reports {
            1 => ReportCharacteristics::OnDemand,
            _ => ReportCharacteristics::Periodic,
        },
        measurement_periodicity: (reports > 1).then_some(MeasurementPeriodicity::Ms120),
        measurement_quantities: vec![quantity(MeasurementQuantitiesValue::SSRsrp)],
        ..Default::default()
    };
    let message = Message::ECidMeasurementInitiationRequest(request.into());
    let response = match shared.request_from_gnb_of(ue, correlation, message).await? {
        Message::ECidMeasurementInitiationResponse(response) => response,
        Message::ECidMeasurementInitiationFailure(it) => {
            return Err(gnb_failure("measure the UE", &it.cause));
        }
        other => return Err(unexpected_message("measure the UE", &other)),
    };
    if let Some(result) = response.e_cid_measurement_result {
        return Ok(average(&[*result]));
    }
    let command = ECidMeasurementTerminationCommand {
        ue_measurement_id: id,
        ue_measurement_id_: response.ue_measurement_id_,
    };
    let measurement = PeriodicMeasurement {
        shared: shared.clone(),
        ue: ue.clone(),
        correlation: correlation.into(),
        command: Some(command),
    };
    // The periods, and the time limit for a response.
    let periods = Duration::from_millis(120) * reports;
    let mut deadline = Deadline::new(Instant::now() + shared.nrppa_timeout() + periods);
    let (mut results, mut outcome) = (Vec::new(), Ok(()));
    while results.len() < reports as usize && outcome.is_ok() {
        match pending.next(&mut deadline).await.map(|received| received.message) {
            Ok(Message::ECidMeasurementReport(report)) => {
                results.push(report.e_cid_measurement_result)
            }
            Ok(Message::ECidMeasurementFailureIndication(it)) => {
                outcome = Err(gnb_failure("measure the UE", &it.cause))
            }
            Ok(_) => {}
            Err(problem) => outcome = Err(problem),
        }
    }
    measurement.terminate().await;
    match outcome {
        Err(problem) if results.is_empty() => Err(problem),
        _ => Ok(average(&results)),
    }
}

/// A measurement that the gNB reports periodically. Dropping it ends it at the gNB, as when the
/// location request is cancelled.
struct PeriodicMeasurement {
    shared: Arc<Shared>,
    ue: Supi,
    correlation: String,
    /// None once it is being sent.
    command: Option<ECidMeasurementTerminationCommand>,
}

impl PeriodicMeasurement {
    /// E-CID MEASUREMENT TERMINATION COMMAND (TS 38.455, 8.2.4), which has no answer.
    async fn terminate(mut self) {
        if let Some(sent) = self.send_command() {
            let _ = sent.await;
        }
    }

    /// Sends the command in a task that a cancelled request does not end.
    fn send_command(&mut self) -> Option<JoinHandle<()>> {
        let command = self.command.take()?;
        let (shared, ue, correlation) =
            (self.shared.clone(), self.ue.clone(), std::mem::take(&mut self.correlation));
        Some(martlet_nf::spawn(async move {
            let message = Message::ECidMeasurementTerminationCommand(command.into());
            let pdu = Pdu { transaction: 0, message };
            if let Err(problem) = shared.send_to_gnb_of(&ue, &correlation, &pdu).await {
                tracing::info!(supi = %ue, %problem, "measurement not terminated at the gNB");
            }
        }))
    }
}

impl Drop for PeriodicMeasurement {
    fn drop(&mut self) {
        drop(self.send_command());
    }
}

/// The cells of results, each as loud as it was on average, the loudest first.
fn average(results: &[ECidMeasurementResult]) -> Vec<MeasuredCell> {
    let mut cells: BTreeMap<(u16, Option<u64>), (f64, f64)> = BTreeMap::new();
    let lists =
        results.iter().flat_map(|it| it.measured_results.iter().flatten()).filter_map(|value| {
            match value {
                MeasuredResultsValue::ChoiceExtension(Extension::ResultSsRsrp(list)) => Some(list),
                _ => None,
            }
        });
    for item in lists.flatten() {
        let ResultSsRsrpItem { n_r_pci, c_gi_nr, value_ss_rsrp_cell: Some(rsrp), .. } = item else {
            continue;
        };
        let identity = c_gi_nr.as_ref().and_then(|it| it.n_rcell_identifier.number());
        let (sum, count) = cells.entry((*n_r_pci, identity)).or_default();
        *sum += dbm_of_rsrp(*rsrp);
        *count += 1.0;
    }
    let measured_cell =
        |((pci, identity), (sum, count))| MeasuredCell { pci, identity, dbm: sum / count };
    let mut measured_cell: Vec<MeasuredCell> = cells.into_iter().map(measured_cell).collect();
    measured_cell.sort_by(|a, b| b.dbm.total_cmp(&a.dbm));
    measured_cell
}
