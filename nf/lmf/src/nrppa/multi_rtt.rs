//! Multi-RTT, the network's part (TS 38.305, 8.10.3): the serving gNB configures the UE's SRS, and
//! the gNBs measure it.
use super::trp_table::Trp;
use super::{gnb_failure, unexpected_message};
use crate::Shared;
use crate::lpp::{MAX_CELLS, RoundTrip, Transactions, multi_rtt, positioning_failed};
use crate::user_plane::Supi;
use martlet_lcs_position::{RangeMeasurement, TangentPlane, metres_of_quality, metres_of_rstd};
use martlet_nrppa::{
    AbortTransmission, GnbRxTxTimeDiffMeas, MeasurementRequest, Message, Pdu, PosResourceSetType,
    PositioningActivationRequest, PositioningDeactivation, PositioningInformationRequest,
    ReportCharacteristics, SemipersistentSrs, SrsConfiguration, SrsType, TrpMeasuredResultsValue,
    TrpMeasurementQuality, TrpMeasurementQuantitiesListItem, TrpMeasurementRequestItem,
    TrpMeasurementResponseItem, TrpMeasurementTimingQualityResolution, TrpMeasurementType,
};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{GlobalRanNodeId, Ncgi};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// Timing reporting granularity factor of the gNBs' reports: 2^2 T_c, 0.6 m.
const K: u8 = 2;

/// A UE whose SRS is active. Dropping it deactivates the SRS.
pub(crate) struct MultiRtt {
    shared: Arc<Shared>,
    ue: Supi,
    correlation: String,
    signal: SrsConfiguration,
}

impl Drop for MultiRtt {
    /// POSITIONING DEACTIVATION (TS 38.455, 8.4.4), which has no answer.
    fn drop(&mut self) {
        let (shared, ue, correlation) =
            (self.shared.clone(), self.ue.clone(), std::mem::take(&mut self.correlation));
        martlet_nf::spawn(async move {
            let message =
                PositioningDeactivation { abort_transmission: AbortTransmission::ReleaseAll };
            let pdu =
                Pdu { transaction: 0, message: Message::PositioningDeactivation(message.into()) };
            if let Err(problem) = shared.send_to_gnb_of(&ue, &correlation, &pdu).await {
                tracing::info!(supi = %ue, %problem, "POSITIONING DEACTIVATION was not sent");
            }
        });
    }
}

impl MultiRtt {
    /// Performs the procedure. Returns the distances to the TRPs that both ends measured.
    pub(crate) async fn run(
        shared: &Arc<Shared>,
        lpp: &mut Transactions,
        serving: Option<&Ncgi>,
    ) -> Result<Vec<RangeMeasurement>, Problem> {
        let (ue, correlation) = (lpp.session().ue().clone(), lpp.session().identity().to_owned());
        // A gNB without NRPPa may not answer. Another method may succeed without it.
        let failed = |problem: Problem| match problem.cause() == "POSITIONING_FAILED" {
            true => problem,
            false => positioning_failed(problem),
        };
        let prepared = MultiRtt::prepare(shared, &ue, correlation, serving).await;
        let (it, trps) = prepared.map_err(failed)?;
        let pcis: Vec<u16> = trps.iter().map(|trp| trp.pci).collect();
        // Both ends measure at the same time.
        let (by_ue, by_gnbs) = tokio::join!(multi_rtt(lpp, &pcis), it.measure(&trps));
        let (by_ue, by_gnbs) = (by_ue?, by_gnbs?);
        let both = |(at, ue): &(usize, RoundTrip)| {
            let (_, gnb) = by_gnbs.iter().find(|(of, _)| of == at)?;
            Some(RangeMeasurement {
                to: trps.get(*at)?.position,
                from: None,
                metres: (ue.metres + gnb.metres) / 2.0,
                deviation: ue.deviation.hypot(gnb.deviation) / 2.0,
            })
        };
        Ok(by_ue.iter().filter_map(both).collect())
    }

    /// Finds the TRPs and activates the UE's SRS.
    async fn prepare(
        shared: &Arc<Shared>,
        ue: &Supi,
        correlation: String,
        serving: Option<&Ncgi>,
    ) -> Result<(Self, Vec<Trp>), Problem> {
        shared.subscribe_to_gnbs(ue).await?;
        let trps = nearest(&shared.trps(ue).await?, serving);
        if trps.len() < 3 {
            let known = trps.len();
            return Err(positioning_failed(format!(
                "multi-RTT needs three TRPs, and {known} are known"
            )));
        }
        shared.subscribe_to_gnb_of(ue).await?;
        Ok((MultiRtt::activate(shared, ue, correlation).await?, trps))
    }

    /// POSITIONING INFORMATION REQUEST and POSITIONING ACTIVATION REQUEST (TS 38.455, 8.4.1 and
    /// 8.4.3).
    async fn activate(
        shared: &Arc<Shared>,
        ue: &Supi,
        correlation: String,
    ) -> Result<Self, Problem> {
        let request =
            Message::PositioningInformationRequest(PositioningInformationRequest::default().into());
        let response = match shared.request_from_gnb_of(ue, &correlation, request).await? {
            Message::PositioningInformationResponse(response) => response,
            Message::PositioningInformationFailure(it) => {
                return Err(gnb_failure("configure the UE's SRS", &it.cause));
            }
            other => return Err(unexpected_message("configure the UE's SRS", &other)),
        };
        let signal = response
            .srsconfiguration
            .ok_or_else(|| positioning_failed("the gNB's answer has no SRS configuration"))?;
        let set = semi_persistent(&signal);
        let it = MultiRtt { shared: shared.clone(), ue: ue.clone(), correlation, signal };
        // A periodic SRS needs no activation.
        let Some(set) = set else { return Ok(it) };
        let srstype = SrsType::SemipersistentSrs(SemipersistentSrs {
            s_rsresource_set_id: set,
            i_e_extensions: None,
        });
        let request = PositioningActivationRequest { srstype, relative_time1900: None };
        let request = Message::PositioningActivationRequest(request.into());
        match shared.request_from_gnb_of(ue, &it.correlation, request).await? {
            Message::PositioningActivationResponse(_) => Ok(it),
            Message::PositioningActivationFailure(failure) => {
                Err(gnb_failure("activate the UE's SRS", &failure.cause))
            }
            other => Err(unexpected_message("activate the UE's SRS", &other)),
        }
    }

    /// MEASUREMENT REQUEST to each gNB (TS 38.455, 8.5.1). Returns the measurements by index of the
    /// TRP.
    async fn measure(&self, trps: &[Trp]) -> Result<Vec<(usize, RoundTrip)>, Problem> {
        let mut gnbs: Vec<&GlobalRanNodeId> = Vec::new();
        for trp in trps {
            if !gnbs.contains(&&trp.gnb) {
                gnbs.push(&trp.gnb);
            }
        }
        let asked: Vec<_> = gnbs
            .into_iter()
            .map(|gnb| {
                let (shared, ue, gnb) = (self.shared.clone(), self.ue.clone(), gnb.clone());
                let ids: Vec<i64> =
                    trps.iter().filter(|trp| trp.gnb == gnb).map(|trp| trp.id).collect();
                let request = Message::MeasurementRequest(self.request(&ids).into());
                let limit = shared.nrppa_timeout();
                martlet_nf::spawn(async move {
                    let asked = Some(vec![gnb.clone()]);
                    (gnb, shared.request_from_gnbs(&ue, asked, request, 1, limit).await)
                })
            })
            .collect();
        let mut measured = Vec::new();
        for answer in asked {
            let Ok((gnb, received)) = answer.await else { continue };
            let response = match received.map(|mut received| received.pop().map(|it| it.message)) {
                Ok(Some(Message::MeasurementResponse(response))) => response,
                Ok(Some(Message::MeasurementFailure(it))) => {
                    tracing::info!(?gnb, cause = ?it.cause, "MEASUREMENT FAILURE from a gNB");
                    continue;
                }
                Ok(_) => continue,
                Err(problem) => {
                    tracing::info!(?gnb, %problem, "measurement request to a gNB failed");
                    continue;
                }
            };
            for item in response.trp_measurement_response_list.iter().flatten() {
                let at = trps.iter().position(|trp| trp.gnb == gnb && trp.id == item.t_rp_id);
                measured.extend(at.zip(round_trip(item)));
            }
        }
        Ok(measured)
    }

    fn request(&self, ids: &[i64]) -> MeasurementRequest {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        MeasurementRequest {
            // 1 to 65,536.
            measurement_id: i64::from(NEXT.fetch_add(1, Ordering::Relaxed)) + 1,
            trp_measurement_request_list: ids
                .iter()
                .map(|id| TrpMeasurementRequestItem { t_rp_id: *id, ..Default::default() })
                .collect(),
            report_characteristics: ReportCharacteristics::OnDemand,
            trpmeasurement_quantities: vec![TrpMeasurementQuantitiesListItem {
                t_rpmeasurement_quantities_item: TrpMeasurementType::GNbRxTxTimeDiff,
                timing_reporting_granularity_factor: Some(K),
                i_e_extensions: None,
            }],
            srsconfiguration: Some(self.signal.clone()),
            ..Default::default()
        }
    }
}

/// The TRPs nearest to the UE's cell, as many as assistance data can hold.
fn nearest(trps: &[Trp], serving: Option<&Ncgi>) -> Vec<Trp> {
    let mut trps = trps.to_vec();
    let serving = serving.and_then(|ncgi| u64::from_str_radix(ncgi.nr_cell_id.as_ref(), 16).ok());
    if let Some(at) =
        trps.iter().find(|trp| Some(trp.cell) == serving).map(|trp| TangentPlane::at(trp.position))
    {
        trps.sort_by(|a, b| {
            at.offset(&a.position).length().total_cmp(&at.offset(&b.position).length())
        });
    }
    trps.truncate(MAX_CELLS);
    trps
}

/// The SRS resource set that has to be activated.
fn semi_persistent(signal: &SrsConfiguration) -> Option<i64> {
    let sets = signal.s_rscarrier_list.iter();
    let mut sets = sets.flat_map(|carrier| {
        carrier.active_ulbwp.s_rsconfig.pos_srsresource_set_list.iter().flatten()
    });
    let set =
        sets.find(|set| matches!(set.posresource_set_type, PosResourceSetType::SemiPersistent(_)))?;
    Some(set.possrs_resource_set_id.into())
}

/// The measurement of a TRP.
fn round_trip(item: &TrpMeasurementResponseItem) -> Option<RoundTrip> {
    use TrpMeasurementTimingQualityResolution as Resolution;
    item.measurement_result.iter().find_map(|result| {
        let TrpMeasuredResultsValue::GNbRxTxTimeDiff(difference) = &result.measured_results_value
        else {
            return None;
        };
        let metres = match difference.rx_tx_time_diff {
            GnbRxTxTimeDiffMeas::K0(value) => metres_of_rstd(value, 0),
            GnbRxTxTimeDiffMeas::K1(value) => metres_of_rstd(value, 1),
            GnbRxTxTimeDiffMeas::K2(value) => metres_of_rstd(value, 2),
            GnbRxTxTimeDiffMeas::K3(value) => metres_of_rstd(value, 3),
            GnbRxTxTimeDiffMeas::K4(value) => metres_of_rstd(value, 4),
            GnbRxTxTimeDiffMeas::K5(value) => metres_of_rstd(value.into(), 5),
            GnbRxTxTimeDiffMeas::ChoiceExtension(_) => None,
        }?;
        let deviation = match &result.measurement_quality {
            Some(TrpMeasurementQuality::TimingMeasQuality(it)) => {
                let step = match it.resolution {
                    Resolution::M0Dot1 => 0,
                    Resolution::M1 => 1,
                    Resolution::M10 => 2,
                    _ => 3,
                };
                metres_of_quality(it.measurement_quality, step)
            }
            // No quality reported.
            _ => 10.0,
        };
        // At least half a step of the report.
        Some(RoundTrip { metres, deviation: deviation.max(0.3) })
    })
}
