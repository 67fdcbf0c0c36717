//! Nlmf_Location_DetermineLocation (TS 29.572, 5.2.2.2; TS 23.273, 6.1 and 6.18).
use crate::Shared;
use crate::config::CellConfig;
use crate::lpp::{
    Carrier, MeasuredCell, Session, Transactions, dl_tdoa, gnss, next_identity, nr_ecid,
    positioning_failed, request_capabilities,
};
use crate::metrics;
use crate::nrppa::{MultiRtt, e_cid_measurement};
use crate::procedures::user_plane_connection;
use crate::user_plane::Supi;
use martlet_lcs_position::{CellMeasurement, Estimate, solve_ranges, solve_signal_strengths};
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::N1MessageClass;
use martlet_sbi_api::nlmf_location::{
    AccuracyFulfilmentIndicator, GeographicArea, GeographicalCoordinates, GnssId,
    GnssPositioningMethodAndUsage, InputData, LocationData, PositioningMethod,
    PositioningMethodAndUsage, PositioningMode, UeUpPositioningCapabilities, UncertaintyEllipse,
    Usage,
};
use std::sync::Arc;
use std::time::Duration;

/// Determines a UE's position from its measurements, requested over the user plane if the UE
/// supports that, else over NAS. Without LPP, from the gNB's measurements or the cell.
pub(crate) async fn run(shared: &Arc<Shared>, input: InputData) -> Result<LocationData, Problem> {
    let supi = input
        .supi
        .as_ref()
        .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("supi"))?;
    let ue: Supi = supi.as_str().into();
    shared.set_serving_amf(&ue, input.amf_id.clone());
    let limit = input.max_resp_time.map_or(u64::MAX, |seconds| u64::from(seconds) * 1000);
    let limit = Duration::from_millis(limit.min(shared.config.lpp_timeout_ms.into()));
    let (carrier, outcome) = match session(shared, &ue, &input).await {
        Ok(Some(session)) => {
            (session.carrier().name(), ue_assisted(shared, session, limit, &input).await)
        }
        Ok(None) => ("none", network_based(shared, &ue, &input).await),
        Err(problem) => ("none", Err(problem)),
    };
    let result = outcome.as_ref().err().map_or("ok", Problem::cause).to_string();
    metrics::request(carrier, &result);
    outcome
}

/// Opens a session with the UE, over the user plane if possible. None: the UE does not support LPP.
async fn session(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
) -> Result<Option<Session>, Problem> {
    let capabilities = input.ue_up_pos_caps.as_deref().unwrap_or_default();
    let user_plane = shared.config.user_plane.enabled
        && capabilities.contains(&UeUpPositioningCapabilities::LcsUpp);
    let lpp = input.ue_lcs_cap.as_ref().and_then(|it| it.lpp_support).unwrap_or(true);
    if user_plane {
        match user_plane_connection::establish(shared, ue).await {
            Ok(()) => return Session::open(shared, ue, Carrier::UserPlane).await.map(Some),
            Err(problem) if lpp => {
                tracing::info!(
                    supi = %ue,
                    %problem,
                    "user plane connection not established, using the control plane"
                );
            }
            Err(problem) => return Err(problem),
        }
    }
    if !lpp {
        return Ok(None);
    }
    shared.subscribe(ue, N1MessageClass::Lpp).await?;
    Session::open(shared, ue, Carrier::ControlPlane).await.map(Some)
}

/// The method that gave the position, as in the result.
enum UsedMethod {
    Gnss,
    Other(PositioningMethod),
}

/// The position by the first of [`METHODS`] that the UE supports and that succeeds.
async fn ue_assisted(
    shared: &Arc<Shared>,
    session: Session,
    limit: Duration,
    input: &InputData,
) -> Result<LocationData, Problem> {
    let mut lpp = Transactions::new(session, limit);
    let capabilities = request_capabilities(&mut lpp).await?;
    let mut outcome = Err(positioning_failed("the UE supports no positioning method of this LMF"));
    for method in METHODS {
        let result = match method {
            Method::Gnss if capabilities.gnss => {
                gnss(&mut lpp).await.map(|it| (it, UsedMethod::Gnss))
            }
            Method::MultiRtt if capabilities.multi_rtt => {
                let found = multi_rtt_position(shared, &mut lpp, input).await;
                found.map(|it| (it, UsedMethod::Other(PositioningMethod::MultiRtt)))
            }
            Method::DlTdoa if capabilities.dl_tdoa && shared.config.cells.len() > 2 => {
                dl_tdoa_position(shared, &mut lpp)
                    .await
                    .map(|it| (it, UsedMethod::Other(PositioningMethod::DlTdoa)))
            }
            Method::NrEcid if capabilities.nr_ecid => nr_ecid_position(shared, &mut lpp)
                .await
                .map(|it| (it, UsedMethod::Other(PositioningMethod::NrEcid))),
            _ => continue,
        };
        match result {
            Ok(found) => {
                outcome = Ok(found);
                break;
            }
            // The UE does not answer, so the next method would fail as well.
            Err(problem) if problem.cause() != "POSITIONING_FAILED" => return Err(problem),
            Err(problem) => {
                tracing::info!(?method, %problem, "positioning method failed");
                outcome = Err(problem);
            }
        }
    }
    let carrier = lpp.session().carrier();
    drop(lpp);
    let (estimate, used) = outcome?;
    tracing::info!(supi = input.supi.as_deref(), carrier = carrier.name(), "position determined");
    let mut data = match used {
        UsedMethod::Other(method) => {
            location_data(shared, &estimate, Some((method, PositioningMode::UeAssisted)))
        }
        UsedMethod::Gnss => {
            let mut data = location_data(shared, &estimate, None);
            let usage = Usage::SuccessResultsUsedToGenerateLocation;
            let gps = GnssPositioningMethodAndUsage {
                mode: PositioningMode::UeBased,
                gnss: GnssId::Gps,
                usage,
            };
            data.gnss_positioning_data_list = Some(vec![gps]);
            data
        }
    };
    data.ncgi = input.ncgi.clone();
    let wanted = input.location_qos.as_ref().and_then(|qos| qos.h_accuracy);
    data.accuracy_fulfilment_indicator =
        wanted.map(|metres| match estimate.ellipse.semi_major <= metres {
            true => AccuracyFulfilmentIndicator::RequestedAccuracyFulfilled,
            false => AccuracyFulfilmentIndicator::RequestedAccuracyNotFulfilled,
        });
    Ok(data)
}

/// The methods, the most accurate first.
const METHODS: [Method; 4] = [Method::Gnss, Method::MultiRtt, Method::DlTdoa, Method::NrEcid];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Gnss,
    MultiRtt,
    DlTdoa,
    NrEcid,
}

async fn multi_rtt_position(
    shared: &Arc<Shared>,
    lpp: &mut Transactions,
    input: &InputData,
) -> Result<Estimate, Problem> {
    let ranges = MultiRtt::run(shared, lpp, input.ncgi.as_ref()).await?;
    if ranges.len() < 3 {
        let count = ranges.len();
        return Err(positioning_failed(format!(
            "both ends measured the round trip to {count} TRPs, and a position needs three"
        )));
    }
    solve_ranges(&ranges).map_err(positioning_failed)
}

async fn dl_tdoa_position(shared: &Shared, lpp: &mut Transactions) -> Result<Estimate, Problem> {
    let ranges = dl_tdoa(lpp, &shared.config.cells).await?;
    solve_ranges(&ranges).map_err(positioning_failed)
}

async fn nr_ecid_position(shared: &Shared, lpp: &mut Transactions) -> Result<Estimate, Problem> {
    position_from_signal_strengths(shared, &nr_ecid(lpp).await?)
}

/// The position from the signal strengths of cells.
fn position_from_signal_strengths(
    shared: &Shared,
    cells: &[MeasuredCell],
) -> Result<Estimate, Problem> {
    let known = |pci: u16, identity: Option<u64>| {
        let by = |cell: &&CellConfig| match identity {
            Some(identity) => cell.identity() == Some(identity),
            None => cell.pci == pci,
        };
        shared.config.cells.iter().find(by)
    };
    let measured: Vec<CellMeasurement> = cells
        .iter()
        .filter_map(|it| {
            known(it.pci, it.identity)
                .map(|cell| CellMeasurement { cell: cell.position, dbm: it.dbm })
        })
        .collect();
    solve_signal_strengths(&measured, &shared.config.path_loss).map_err(positioning_failed)
}

/// Network-based positioning: from the gNB's measurements of the UE, else from its cell.
async fn network_based(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
) -> Result<LocationData, Problem> {
    let measured = e_cid_measurement(shared, ue, &next_identity())
        .await
        .and_then(|cells| position_from_signal_strengths(shared, &cells));
    match measured {
        Ok(estimate) => {
            let how = (PositioningMethod::NrEcid, PositioningMode::Conventional);
            let mut data = location_data(shared, &estimate, Some(how));
            data.ncgi = input.ncgi.clone();
            Ok(data)
        }
        Err(problem) => {
            tracing::info!(
                supi = %ue,
                %problem,
                "the gNB has no measurements of the UE, using its cell"
            );
            cell_id_position(shared, input)
        }
    }
}

/// The position of the UE's cell.
fn cell_id_position(shared: &Shared, input: &InputData) -> Result<LocationData, Problem> {
    let unknown = |why: &str| Problem::new(500, "POSITIONING_FAILED").detail(why.to_string());
    let ncgi =
        input.ncgi.as_ref().ok_or_else(|| unknown("the UE is idle and does not support LPP"))?;
    let cells = &shared.config.cells;
    let cell =
        cells.iter().find(|cell| cell.nr_cell_id.eq_ignore_ascii_case(ncgi.nr_cell_id.as_ref()));
    let cell = cell
        .ok_or_else(|| unknown("the position of the UE's cell is unknown: add it to lmf.cells"))?;
    let ellipse = martlet_lcs_position::Ellipse {
        semi_major: cell.radius_m,
        semi_minor: cell.radius_m,
        orientation: 0.0,
    };
    let estimate = Estimate { point: cell.position, ellipse };
    let mut data = location_data(
        shared,
        &estimate,
        Some((PositioningMethod::Cellid, PositioningMode::Conventional)),
    );
    data.ncgi = Some(ncgi.clone());
    Ok(data)
}

fn location_data(
    shared: &Shared,
    estimate: &Estimate,
    how: Option<(PositioningMethod, PositioningMode)>,
) -> LocationData {
    let point = GeographicalCoordinates { lon: estimate.point.lon, lat: estimate.point.lat };
    let ellipse = UncertaintyEllipse {
        semi_major: estimate.ellipse.semi_major,
        semi_minor: estimate.ellipse.semi_minor,
        orientation_major: estimate.ellipse.orientation.round().rem_euclid(180.0) as u8,
    };
    let mut data = LocationData::new(GeographicArea::ellipse(point, ellipse, Estimate::CONFIDENCE));
    data.age_of_location_estimate = Some(0);
    data.serving_lmf_identification = Some(shared.context.instance_id().to_string());
    let usage = Usage::SuccessResultsUsedToGenerateLocation;
    data.positioning_data_list =
        how.map(|(method, mode)| vec![PositioningMethodAndUsage { method, mode, usage }]);
    data
}
