//! Nlmf_Location_DetermineLocation (TS 29.572, 5.2.2.2; TS 23.273, 6.1 and 6.18).
use crate::Shared;
use crate::config::CellConfig;
use crate::lpp::{Conversation, HeardCell, capabilities, dl_tdoa, failed, gnss, nr_ecid};
use crate::metrics;
use crate::nrppa::{MultiRtt, ecid};
use crate::owner::Supi;
use crate::session::{Carrier, Session, next_identity};
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

/// Determines where a UE is: by what it measures, asked over the user plane where the UE has that,
/// else over NAS; by its cell where it has neither.
pub(crate) async fn run(shared: &Arc<Shared>, input: InputData) -> Result<LocationData, Problem> {
    let supi = input
        .supi
        .as_ref()
        .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("supi"))?;
    let ue: Supi = supi.as_str().into();
    let limit = input.max_resp_time.map_or(u64::MAX, |seconds| u64::from(seconds) * 1000);
    let limit = Duration::from_millis(limit.min(shared.config.lpp_ms.into()));
    let (carrier, outcome) = match session(shared, &ue, &input).await {
        Ok(Some(session)) => {
            (session.carrier().name(), measured(shared, session, limit, &input).await)
        }
        Ok(None) => ("none", by_network(shared, &ue, &input).await),
        Err(problem) => ("none", Err(problem)),
    };
    let result = outcome.as_ref().err().map_or("ok", Problem::cause).to_string();
    metrics::request(carrier, &result);
    outcome
}

/// A session with the UE, over the user plane where that works.
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
        match shared.connect(ue).await {
            Ok(()) => return Session::open(shared, ue, Carrier::UserPlane).await.map(Some),
            Err(problem) if lpp => {
                tracing::info!(supi = %ue, %problem, "the UE is asked over the control plane");
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

/// How a position was found.
enum Found {
    Gnss,
    By(PositioningMethod),
}

/// Where the UE is by what it has: satellites, else round trips, else differences of times, else
/// how loud it hears cells. What a method gives that fails is the next one's to give.
async fn measured(
    shared: &Arc<Shared>,
    session: Session,
    limit: Duration,
    input: &InputData,
) -> Result<LocationData, Problem> {
    let mut conversation = Conversation::new(session, limit);
    let able = capabilities(&mut conversation).await?;
    let mut outcome = Err(failed("the UE has no method of positioning that this LMF has"));
    for method in METHODS {
        let tried = match method {
            Method::Gnss if able.gnss => gnss(&mut conversation).await.map(|it| (it, Found::Gnss)),
            Method::MultiRtt if able.multi_rtt => {
                let found = by_round_trips(shared, &mut conversation, input).await;
                found.map(|it| (it, Found::By(PositioningMethod::MultiRtt)))
            }
            Method::DlTdoa if able.dl_tdoa && shared.config.cells.len() > 2 => {
                by_times(shared, &mut conversation)
                    .await
                    .map(|it| (it, Found::By(PositioningMethod::DlTdoa)))
            }
            Method::NrEcid if able.nr_ecid => by_loudness(shared, &mut conversation)
                .await
                .map(|it| (it, Found::By(PositioningMethod::NrEcid))),
            _ => continue,
        };
        match tried {
            Ok(found) => {
                outcome = Ok(found);
                break;
            }
            // A UE that does not answer does not answer the next question either.
            Err(problem) if problem.cause() != "POSITIONING_FAILED" => return Err(problem),
            Err(problem) => {
                tracing::info!(?method, %problem, "a method of positioning gave nothing");
                outcome = Err(problem);
            }
        }
    }
    let carrier = conversation.session().carrier();
    drop(conversation);
    let (estimate, found) = outcome?;
    tracing::info!(supi = ?input.supi.as_deref(), carrier = carrier.name(), "a UE was located");
    let mut data = match found {
        Found::By(method) => data(shared, &estimate, Some((method, PositioningMode::UeAssisted))),
        Found::Gnss => {
            let mut data = data(shared, &estimate, None);
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

/// Methods, the best first.
const METHODS: [Method; 4] = [Method::Gnss, Method::MultiRtt, Method::DlTdoa, Method::NrEcid];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Gnss,
    MultiRtt,
    DlTdoa,
    NrEcid,
}

async fn by_round_trips(
    shared: &Arc<Shared>,
    conversation: &mut Conversation,
    input: &InputData,
) -> Result<Estimate, Problem> {
    let timed = MultiRtt::run(shared, conversation, input.ncgi.as_ref()).await?;
    if timed.len() < 3 {
        let count = timed.len();
        return Err(failed(format!(
            "round trips were measured at both ends with {count} places, and three fix a position"
        )));
    }
    solve_ranges(&timed).map_err(failed)
}

async fn by_times(shared: &Shared, conversation: &mut Conversation) -> Result<Estimate, Problem> {
    let timed = dl_tdoa(conversation, &shared.config.cells).await?;
    solve_ranges(&timed).map_err(failed)
}

async fn by_loudness(
    shared: &Shared,
    conversation: &mut Conversation,
) -> Result<Estimate, Problem> {
    position(shared, &nr_ecid(conversation).await?)
}

/// Where a UE is that hears cells so loud.
fn position(shared: &Shared, cells: &[HeardCell]) -> Result<Estimate, Problem> {
    let known = |pci: u16, identity: Option<u64>| {
        let by = |cell: &&CellConfig| match identity {
            Some(identity) => cell.identity() == Some(identity),
            None => cell.pci == pci,
        };
        shared.config.cells.iter().find(by)
    };
    let heard: Vec<CellMeasurement> = cells
        .iter()
        .filter_map(|it| {
            known(it.pci, it.identity)
                .map(|cell| CellMeasurement { cell: cell.position, dbm: it.dbm })
        })
        .collect();
    solve_signal_strengths(&heard, &shared.config.path_loss).map_err(failed)
}

/// Where the UE is by what its gNB knows of it: what the UE has told it that it hears, else its
/// cell.
async fn by_network(
    shared: &Arc<Shared>,
    ue: &Supi,
    input: &InputData,
) -> Result<LocationData, Problem> {
    let measured =
        ecid(shared, ue, &next_identity()).await.and_then(|cells| position(shared, &cells));
    match measured {
        Ok(estimate) => {
            let how = (PositioningMethod::NrEcid, PositioningMode::Conventional);
            let mut data = data(shared, &estimate, Some(how));
            data.ncgi = input.ncgi.clone();
            Ok(data)
        }
        Err(problem) => {
            tracing::info!(supi = %ue, %problem, "the gNB has no measurements of the UE: its cell is all that is known");
            by_cell(shared, input)
        }
    }
}

/// Where the UE's cell is.
fn by_cell(shared: &Shared, input: &InputData) -> Result<LocationData, Problem> {
    let unknown = |why: &str| Problem::new(500, "POSITIONING_FAILED").detail(why.to_string());
    let ncgi =
        input.ncgi.as_ref().ok_or_else(|| unknown("the UE is idle, and has no LPP to ask it"))?;
    let cells = &shared.config.cells;
    let cell =
        cells.iter().find(|cell| cell.nr_cell_id.eq_ignore_ascii_case(ncgi.nr_cell_id.as_ref()));
    let cell = cell
        .ok_or_else(|| unknown("the place of the UE's cell is not known: add it to lmf.cells"))?;
    let ellipse = martlet_lcs_position::Ellipse {
        semi_major: cell.radius_m,
        semi_minor: cell.radius_m,
        orientation: 0.0,
    };
    let estimate = Estimate { point: cell.position, ellipse };
    let mut data =
        data(shared, &estimate, Some((PositioningMethod::Cellid, PositioningMode::Conventional)));
    data.ncgi = Some(ncgi.clone());
    Ok(data)
}

fn data(
    shared: &Shared,
    estimate: &Estimate,
    how: Option<(PositioningMethod, PositioningMode)>,
) -> LocationData {
    let point = GeographicalCoordinates { lon: estimate.point.lon, lat: estimate.point.lat };
    let ellipse = UncertaintyEllipse {
        semi_major: estimate.ellipse.semi_major,
        semi_minor: estimate.ellipse.semi_minor,
        // 0 to less than 180.
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
