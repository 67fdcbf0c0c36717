//! Nlmf_Location_DetermineLocation (TS 29.572, 5.2.2.2; TS 23.273, 6.1 and 6.18).
use crate::Shared;
use crate::config::CellConfig;
use crate::lpp::{
    Carrier, MAX_CELLS, MeasuredCell, Session, Transactions, dl_tdoa, gnss, late, next_identity,
    nr_ecid, positioning_failed, request_capabilities,
};
use crate::metrics;
use crate::nrppa::{MultiRtt, e_cid_measurement};
use crate::procedures::user_plane_connection;
use crate::user_plane::Supi;
use martlet_lcs_position::{CellMeasurement, Estimate, solve_ranges, solve_signal_strengths};
use martlet_sbi::Problem;
use martlet_sbi_api::common::Ncgi;
use martlet_sbi_api::namf_communication::N1MessageClass;
use martlet_sbi_api::nlmf_location::{
    AccuracyFulfilmentIndicator, GeographicArea, GeographicalCoordinates, GnssId,
    GnssPositioningMethodAndUsage, InputData, LcsQosClass, LocationData, PositioningMethod,
    PositioningMethodAndUsage, PositioningMode, ResponseTime, UeUpPositioningCapabilities,
    UncertaintyEllipse, Usage,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum distance between the serving cell and another cell that its UE measures, metres.
const NEIGHBOUR_RANGE: f64 = 100_000.0;

/// Determines a UE's position from its measurements, requested over the user plane if the UE
/// supports that, else over NAS. Without LPP, or if that fails, from the gNB's measurements or the
/// cell.
pub(crate) async fn run(shared: &Arc<Shared>, input: InputData) -> Result<LocationData, Problem> {
    let supi = input
        .supi
        .as_ref()
        .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("supi"))?;
    let ue: Supi = supi.as_str().into();
    shared.set_serving_amf(&ue, input.amf_id.clone());
    let (carrier, outcome) = locate(shared, &ue, &input).await;
    let outcome = outcome.and_then(|data| assured(&input, data));
    let result = outcome.as_ref().err().map_or("ok", Problem::cause).to_string();
    metrics::request(carrier, &result);
    outcome
}

/// Locates the UE in the requested time. Returns the carrier of the LPP messages, too.
async fn locate(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
) -> (&'static str, Result<LocationData, Problem>) {
    // "No delay": what is known without a measurement (TS 22.071, 4.3).
    let qos = input.location_qos.as_ref();
    if qos.is_some_and(|qos| qos.response_time == Some(ResponseTime::NoDelay)) {
        return ("none", cell_id_position(shared, input));
    }
    let until =
        input.max_resp_time.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    match session(shared, ue, input, until).await {
        Ok(Some(session)) => {
            let carrier = session.carrier().name();
            let outcome = ue_assisted(shared, session, until, input).await;
            or_network_based(shared, ue, input, until, carrier, outcome).await
        }
        Ok(None) => ("none", network_based(shared, ue, input, until).await),
        Err(problem) => or_network_based(shared, ue, input, until, "none", Err(problem)).await,
    }
}

/// A location of the QoS class Assured is returned only with the requested accuracy (TS 23.273,
/// 4.1b).
fn assured(input: &InputData, data: LocationData) -> Result<LocationData, Problem> {
    use AccuracyFulfilmentIndicator::RequestedAccuracyNotFulfilled;
    let class = input.location_qos.as_ref().and_then(|qos| qos.lcs_qos_class.as_ref());
    let missed = data.accuracy_fulfilment_indicator == Some(RequestedAccuracyNotFulfilled);
    match missed && class == Some(&LcsQosClass::Assured) {
        true => Err(positioning_failed(
            "no method reached hAccuracy, and lcsQosClass is ASSURED: request BEST_EFFORT to get \
             a less accurate position",
        )),
        false => Ok(data),
    }
}

/// Opens a session with the UE, over the user plane if possible. None: the UE does not support LPP.
async fn session(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
    until: Option<Instant>,
) -> Result<Option<Session>, Problem> {
    let capabilities = input.ue_up_pos_caps.as_deref().unwrap_or_default();
    let user_plane = shared.config.user_plane.enabled
        && capabilities.contains(&UeUpPositioningCapabilities::LcsUpp);
    let lpp = input.ue_lcs_cap.as_ref().and_then(|it| it.lpp_support).unwrap_or(true);
    if user_plane {
        let establish = user_plane_connection::establish(shared, ue, false);
        let established = match until {
            Some(until) => {
                let established = tokio::time::timeout_at(until.into(), establish).await;
                established.unwrap_or_else(|_| Err(late()))
            }
            None => establish.await,
        };
        match established {
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

/// The position by the first of [`METHODS`] that the UE supports and that reaches the requested
/// accuracy, else the most accurate one.
async fn ue_assisted(
    shared: &Arc<Shared>,
    session: Session,
    until: Option<Instant>,
    input: &InputData,
) -> Result<LocationData, Problem> {
    let limit = Duration::from_millis(shared.config.lpp_timeout_ms.into());
    let mut lpp = Transactions::new(session, limit, until);
    let capabilities = request_capabilities(&mut lpp).await?;
    let wanted = input.location_qos.as_ref().and_then(|qos| qos.h_accuracy).unwrap_or(f64::MAX);
    let mut outcome: Result<(Estimate, UsedMethod), Problem> =
        Err(positioning_failed("the UE supports no positioning method of this LMF"));
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
                dl_tdoa_position(shared, &mut lpp, input)
                    .await
                    .map(|it| (it, UsedMethod::Other(PositioningMethod::DlTdoa)))
            }
            Method::NrEcid if capabilities.nr_ecid => nr_ecid_position(shared, &mut lpp, input)
                .await
                .map(|it| (it, UsedMethod::Other(PositioningMethod::NrEcid))),
            _ => continue,
        };
        match result {
            Ok(found) => {
                let within = found.0.ellipse.semi_major;
                let worse = |(known, _): &(Estimate, UsedMethod)| known.ellipse.semi_major > within;
                if outcome.as_ref().map_or(true, worse) {
                    outcome = Ok(found);
                }
                if within <= wanted {
                    break;
                }
            }
            Err(problem) => {
                tracing::info!(?method, %problem, "positioning method failed");
                // Otherwise the UE does not answer, so the next method would fail as well.
                let next_may_succeed = problem.cause() == "POSITIONING_FAILED";
                if outcome.is_err() {
                    outcome = Err(problem);
                }
                if !next_may_succeed {
                    break;
                }
            }
        }
    }
    let carrier = lpp.session().carrier();
    drop(lpp);
    let (estimate, used) = outcome?;
    tracing::info!(supi = input.supi.as_deref(), carrier = carrier.name(), "position determined");
    Ok(match used {
        UsedMethod::Other(method) => {
            location_data(shared, input, &estimate, Some((method, PositioningMode::UeAssisted)))
        }
        UsedMethod::Gnss => {
            let mut data = location_data(shared, input, &estimate, None);
            let usage = Usage::SuccessResultsUsedToGenerateLocation;
            let gps = GnssPositioningMethodAndUsage {
                mode: PositioningMode::UeBased,
                gnss: GnssId::Gps,
                usage,
            };
            data.gnss_positioning_data_list = Some(vec![gps]);
            data
        }
    })
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

async fn dl_tdoa_position(
    shared: &Shared,
    lpp: &mut Transactions,
    input: &InputData,
) -> Result<Estimate, Problem> {
    let cells = cells_near(&shared.config.cells, input.ncgi.as_ref());
    let ranges = dl_tdoa(lpp, &cells).await?;
    solve_ranges(&ranges).map_err(positioning_failed)
}

/// The cells whose signals the UE may receive, the nearest to its serving cell first, as many as
/// assistance data can hold. A UE cannot tell cells with the same physical cell identity apart, so
/// the nearest of them counts. All, if the serving cell is not configured.
fn cells_near(configured: &[CellConfig], serving: Option<&Ncgi>) -> Vec<CellConfig> {
    let identity = serving.map(|it| it.nr_cell_id.to_u64());
    let serving = configured.iter().find(|it| identity.is_some() && it.identity() == identity);
    let Some(serving) = serving else { return configured.to_vec() };
    let distance = |it: &CellConfig| serving.position.distance(&it.position);
    let near = configured.iter().filter(|it| distance(it) <= NEIGHBOUR_RANGE);
    let mut cells: Vec<CellConfig> = near.cloned().collect();
    cells.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let mut identities = HashSet::new();
    cells.retain(|it| identities.insert(it.pci));
    cells.truncate(MAX_CELLS);
    cells
}

async fn nr_ecid_position(
    shared: &Shared,
    lpp: &mut Transactions,
    input: &InputData,
) -> Result<Estimate, Problem> {
    position_from_signal_strengths(shared, input, &nr_ecid(lpp).await?)
}

/// The position from the signal strengths of cells.
fn position_from_signal_strengths(
    shared: &Shared,
    input: &InputData,
    measured: &[MeasuredCell],
) -> Result<Estimate, Problem> {
    let measured = measurements(&shared.config.cells, input.ncgi.as_ref(), measured);
    solve_signal_strengths(&measured, &shared.config.path_loss).map_err(positioning_failed)
}

/// The measurements of configured cells. Cells far from each other share physical cell identities.
/// So a cell that is reported without its NR cell identity is the nearest one to the serving cell.
fn measurements(
    configured: &[CellConfig],
    serving: Option<&Ncgi>,
    measured: &[MeasuredCell],
) -> Vec<CellMeasurement> {
    let identified = |identity: u64| configured.iter().find(|it| it.identity() == Some(identity));
    let of_pci = |pci: u16| configured.iter().filter(move |it| it.pci == pci);
    let unambiguous = |it: &MeasuredCell| match it.identity {
        Some(identity) => identified(identity),
        None => {
            let mut cells = of_pci(it.pci);
            cells.next().filter(|_| cells.next().is_none())
        }
    };
    // If the serving cell is not known, another measured cell is near the UE as well.
    let serving = serving
        .and_then(|it| identified(it.nr_cell_id.to_u64()))
        .or_else(|| measured.iter().find_map(unambiguous));
    let Some(serving) = serving else { return Vec::new() };
    let distance = |it: &CellConfig| serving.position.distance(&it.position);
    let known = |it: &MeasuredCell| match it.identity {
        Some(identity) => identified(identity),
        None => of_pci(it.pci)
            .filter(|cell| distance(cell) <= NEIGHBOUR_RANGE)
            .min_by(|a, b| distance(a).total_cmp(&distance(b))),
    };
    let measurement = |it: &MeasuredCell| {
        known(it).map(|cell| CellMeasurement { cell: cell.position, dbm: it.dbm })
    };
    measured.iter().filter_map(measurement).collect()
}

/// The outcome with the UE, or a network-based position if the UE does not answer or its
/// measurements give none. Returns the carrier of the LPP messages that gave it, too.
async fn or_network_based(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
    until: Option<Instant>,
    carrier: &'static str,
    outcome: Result<LocationData, Problem>,
) -> (&'static str, Result<LocationData, Problem>) {
    let problem = match outcome {
        Err(problem) if UE_FAILURES.contains(&problem.cause()) => problem,
        other => return (carrier, other),
    };
    tracing::info!(supi = %ue, %problem, "no position with the UE, asking its gNB");
    match network_based(shared, ue, input, until).await {
        Ok(data) => ("none", Ok(data)),
        // The reason why the UE's own methods failed says more.
        Err(_) => (carrier, Err(problem)),
    }
}

/// Causes of failures of the UE, which may have a known cell nevertheless.
const UE_FAILURES: [&str; 3] = ["POSITIONING_FAILED", "PEER_NOT_RESPONDING", "UNREACHABLE_USER"];

/// Network-based positioning: from the gNB's measurements of the UE if there is time for them, else
/// from its cell.
async fn network_based(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
    until: Option<Instant>,
) -> Result<LocationData, Problem> {
    if until.is_some_and(|until| until <= Instant::now()) {
        return cell_id_position(shared, input);
    }
    let measured = e_cid_measurement(shared, ue, &next_identity())
        .await
        .and_then(|cells| position_from_signal_strengths(shared, input, &cells));
    match measured {
        Ok(estimate) => {
            let how = (PositioningMethod::NrEcid, PositioningMode::Conventional);
            Ok(location_data(shared, input, &estimate, Some(how)))
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
    let how = (PositioningMethod::Cellid, PositioningMode::Conventional);
    Ok(location_data(shared, input, &estimate, Some(how)))
}

fn location_data(
    shared: &Shared,
    input: &InputData,
    estimate: &Estimate,
    how: Option<(PositioningMethod, PositioningMode)>,
) -> LocationData {
    let point = GeographicalCoordinates { lon: estimate.point.lon, lat: estimate.point.lat };
    let ellipse = UncertaintyEllipse {
        semi_major: estimate.ellipse.semi_major,
        semi_minor: estimate.ellipse.semi_minor,
        orientation_major: estimate.ellipse.orientation.round().rem_euclid(180.0) as u8,
    };
    let area = GeographicArea::ellipse(point, ellipse, Estimate::CONFIDENCE);
    let mut data = LocationData::new(area.in_one_of(input.supported_gad_shapes.as_deref()));
    data.ncgi = input.ncgi.clone();
    let wanted = input.location_qos.as_ref().and_then(|qos| qos.h_accuracy);
    data.accuracy_fulfilment_indicator =
        wanted.map(|metres| match estimate.ellipse.semi_major <= metres {
            true => AccuracyFulfilmentIndicator::RequestedAccuracyFulfilled,
            false => AccuracyFulfilmentIndicator::RequestedAccuracyNotFulfilled,
        });
    data.age_of_location_estimate = Some(0);
    data.serving_lmf_identification = Some(shared.context.instance_id().to_string());
    let usage = Usage::SuccessResultsUsedToGenerateLocation;
    data.positioning_data_list =
        how.map(|(method, mode)| vec![PositioningMethodAndUsage { method, mode, usage }]);
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_lcs_position::{GeoPoint, Offset, TangentPlane};
    use martlet_sbi_api::common::NrCellId;

    fn position(east: f64) -> GeoPoint {
        TangentPlane::at(GeoPoint { lat: 54.09, lon: 12.1 }).point(&Offset { east, north: 0.0 })
    }

    fn cell(identity: u64, pci: u16, east: f64) -> CellConfig {
        let nr_cell_id = format!("{identity:09x}");
        CellConfig { nr_cell_id, pci, position: position(east), radius_m: 500.0 }
    }

    fn ncgi(identity: u64) -> Ncgi {
        let plmn_id = "00101".parse().unwrap();
        Ncgi { plmn_id, nr_cell_id: NrCellId::from_u64(identity), nid: None }
    }

    #[test]
    fn signals_of_the_cells_near_the_ue_are_requested() {
        // A town of 100 cells, in which the UE is, behind another one with the same identities.
        let town = |first: u64, east: f64| {
            (0..100).map(move |n| cell(first + n, n as u16, east + 10.0 * n as f64))
        };
        let configured: Vec<CellConfig> = town(0x100, 50_000.0).chain(town(0x200, 0.0)).collect();
        let identities = |serving: Option<u64>| -> Vec<u64> {
            let serving = serving.map(ncgi);
            let near = cells_near(&configured, serving.as_ref());
            near.iter().filter_map(CellConfig::identity).collect()
        };
        let near = identities(Some(0x220));
        assert_eq!((near.len(), near[0]), (MAX_CELLS, 0x220));
        assert!(near.iter().all(|it| (0x200..=0x240).contains(it)), "{near:x?}");
        assert_eq!(identities(Some(0x999)).len(), 200);
        assert_eq!(identities(None).len(), 200);
    }

    #[test]
    fn a_cell_without_identity_is_the_nearest_one_to_the_serving_cell() {
        // Two towns, and one far from both.
        let configured = [
            cell(0x11, 1, 0.0),
            cell(0x12, 2, 400.0),
            cell(0x21, 1, 30_000.0),
            cell(0x22, 2, 30_400.0),
            cell(0x32, 3, 300_000.0),
        ];
        let measured = |pci: u16, identity: Option<u64>| MeasuredCell { pci, identity, dbm: -80.0 };
        let found = |serving: Option<u64>, cells: &[MeasuredCell]| -> Vec<GeoPoint> {
            let serving = serving.map(ncgi);
            let found = measurements(&configured, serving.as_ref(), cells);
            found.into_iter().map(|it| it.cell).collect()
        };
        let neighbours = [measured(1, None), measured(2, None), measured(3, None)];
        assert_eq!(found(Some(0x11), &neighbours), [position(0.0), position(400.0)]);
        assert_eq!(found(Some(0x21), &neighbours), [position(30_000.0), position(30_400.0)]);
        // The LMF does not know the serving cell: a measured cell has an identity, or none has one.
        let identified = [measured(2, None), measured(1, Some(0x21))];
        assert_eq!(found(Some(0x99), &identified), [position(30_400.0), position(30_000.0)]);
        assert_eq!(found(None, &identified), [position(30_400.0), position(30_000.0)]);
        assert_eq!(found(None, &neighbours[..2]), []);
        // A cell that is not configured is not another one with its PCI.
        assert_eq!(found(Some(0x11), &[measured(2, Some(0x99))]), []);
    }
}
