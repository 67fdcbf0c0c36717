//! Who has asked is told where UEs are (TS 29.518, 5.3; TS 23.502, 4.10 and 4.15.4): when a UE has
//! changed its cell, and when it has come into an area or left it. gNBs are asked to say when a UE
//! changes its cell, since it may do so without a word to the core (TS 38.413, 8.12).
use crate::Amf;
use crate::n2::{Connection, Gnb, Location, Reporting, downlink};
use crate::served::{Tai, plmn_to_ngap};
use crate::ue::{Event, Told, Ue};
use martlet_nas::Plmn;
use martlet_ngap::helpers;
use martlet_ngap::ngap::*;
use martlet_sbi::Problem;
use martlet_sbi_api::common::{DateTime, PlmnId, PresenceInfo, PresenceState, Supi};
use martlet_sbi_api::namf_event_exposure::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Areas of one UE that a gNB can be asked for (TS 38.413, 9.3.1.66).
const MOST_AREAS: usize = 64;
/// Notifications that may be under way at a time.
const UNDER_WAY: usize = 256;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// One event of a subscription.
pub(crate) struct Watch {
    /// Of the subscription.
    id: u64,
    supi: Supi,
    uri: String,
    correlation: String,
    event: AmfEvent,
    areas: Vec<PresenceInfo>,
    /// Reports that are still to come.
    left: AtomicU64,
}

/// All subscriptions.
pub(crate) struct Watches {
    list: Mutex<(u64, Vec<Arc<Watch>>)>,
    under_way: Arc<Semaphore>,
}

impl Default for Watches {
    fn default() -> Self {
        Watches { list: Mutex::default(), under_way: Arc::new(Semaphore::new(UNDER_WAY)) }
    }
}

impl Watches {
    fn list(&self) -> MutexGuard<'_, (u64, Vec<Arc<Watch>>)> {
        self.list.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn of(&self, supi: &Supi) -> Vec<Arc<Watch>> {
        self.list().1.iter().filter(|watch| watch.supi == *supi).cloned().collect()
    }

    fn is_empty(&self) -> bool {
        self.list().1.is_empty()
    }
}

fn unserved(detail: &str) -> Problem {
    Problem::new(403, "SUBSCRIPTION_CANNOT_BE_SERVED").detail(detail)
}

/// The areas of an event; a cell or a tracking area at least is in each.
fn areas(event: &AmfEvent) -> Result<Vec<PresenceInfo>, Problem> {
    let listed = event.area_list.iter().flatten().filter_map(|area| area.presence_info.clone());
    let named = event.presence_info_list.iter().flatten().map(|(id, area)| {
        let own = area.pra_id.clone().or_else(|| Some(id.clone()));
        PresenceInfo { pra_id: own, ..area.clone() }
    });
    let all: Vec<_> = listed.chain(named).collect();
    let known = |area: &PresenceInfo| {
        let lists = [
            area.tracking_area_list.is_some(),
            area.ncgi_list.is_some(),
            area.global_ran_node_id_list.is_some(),
        ];
        lists.contains(&true)
    };
    match (all.is_empty() || all.len() > MOST_AREAS, all.iter().all(known)) {
        (false, true) => Ok(all),
        (true, _) => Err(Problem::mandatory_ie_incorrect(
            "/subscription/eventList",
            "1 to 64 areas are needed",
        )),
        (false, false) => {
            Err(unserved("an area is known by tracking areas, NR cells or RAN nodes"))
        }
    }
}

impl Amf {
    /// Takes a subscription (TS 29.518, 5.3.2.2).
    pub(crate) fn watch(&self, asked: &AmfEventSubscription) -> Result<u64, Problem> {
        let missing =
            |name: &str| Problem::new(400, "MANDATORY_IE_MISSING").detail(name.to_string());
        let supi = asked
            .supi
            .clone()
            .ok_or_else(|| unserved("events of one UE at a time are told: name its SUPI"))?;
        let trigger = asked.options.as_ref().map(|options| &options.trigger);
        if trigger == Some(&AmfEventTrigger::Periodic) {
            return Err(unserved("what changes is told, and not at intervals"));
        }
        if asked.event_list.is_empty() {
            return Err(missing("eventList"));
        }
        let mut events = Vec::new();
        for event in &asked.event_list {
            events.push(match &event.kind {
                AmfEventType::LocationReport => (event.clone(), Vec::new()),
                AmfEventType::PresenceInAoiReport => (event.clone(), areas(event)?),
                other => return Err(unserved(&format!("{} is not told", other.as_str()))),
            });
        }
        let ue = self.find(&supi).map_err(|_| {
            Problem::new(403, "UE_NOT_SERVED_BY_AMF")
                .detail(format!("the AMF does not serve {supi}"))
        })?;
        let mut list = self.watches.list();
        if list.1.len() + events.len() > self.config.limits.max_ues {
            return Err(Problem::new(503, "NF_CONGESTION")
                .detail("there are enough subscriptions: see amf.limits.max_ues"));
        }
        list.0 += 1;
        let id = list.0;
        let most = asked.options.as_ref().and_then(|options| options.max_reports);
        for (event, areas) in events {
            let once = trigger == Some(&AmfEventTrigger::OneTime);
            let left = if once { Some(1) } else { event.max_reports.or(most) };
            list.1.push(Arc::new(Watch {
                id,
                supi: supi.clone(),
                uri: asked.event_notify_uri.clone(),
                correlation: asked.notify_correlation_id.clone(),
                event,
                areas,
                left: AtomicU64::new(left.map_or(u64::MAX, u64::from)),
            }));
        }
        drop(list);
        // A task that has too much to do finds it with the next thing that it does.
        let _ = self.tell(&ue, Event::Watched);
        Ok(id)
    }

    /// Ends a subscription (TS 29.518, 5.3.2.3).
    pub(crate) fn unwatch(&self, id: &str) -> Result<(), Problem> {
        let number: u64 = id.parse().unwrap_or_default();
        let mut list = self.watches.list();
        let (gone, left) = std::mem::take(&mut list.1)
            .into_iter()
            .partition::<Vec<_>, _>(|watch| watch.id == number);
        list.1 = left;
        drop(list);
        let Some(first) = gone.first() else {
            return Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND"));
        };
        if let Ok(ue) = self.find(&first.supi) {
            let _ = self.tell(&ue, Event::Watched);
        }
        Ok(())
    }
}

/// The gNB of a UE gets to know what is to be reported, and who has asked is told what has changed.
pub(crate) async fn check(ue: &mut Ue) {
    let reported = ue
        .connection
        .as_ref()
        .is_some_and(|connection| connection.reporting != Reporting::default());
    if ue.amf.watches.is_empty() && !reported && ue.watched.is_empty() {
        return;
    }
    let Some(supi) = ue.supi.clone().filter(|_| ue.registered) else { return };
    let watches = ue.amf.watches.of(&supi);
    ask_gnb(ue, &watches).await;
    ue.watched.retain(|(id, event), _| {
        watches.iter().any(|watch| watch.id == *id && watch.event.kind == *event)
    });
    let gnb = ue.connection.as_ref().map(|connection| connection.gnb.clone());
    let Some(place) =
        ue.connection.as_ref().map(|connection| connection.location).or(ue.last_location)
    else {
        return;
    };
    for watch in watches {
        let now = match watch.event.kind {
            AmfEventType::PresenceInAoiReport => Told::Presence(
                watch.areas.iter().map(|area| is_in(area, place, gnb.as_deref())).collect(),
            ),
            _ => Told::At(place),
        };
        let before = ue.watched.insert((watch.id, watch.event.kind.clone()), now.clone());
        // Whether a UE is in an area is told at once; where it is, when it has changed, unless more
        // is asked for.
        let first = watch.event.kind == AmfEventType::PresenceInAoiReport
            || watch.event.immediate_flag == Some(true);
        if before.as_ref() != Some(&now) && (before.is_some() || first) {
            tell(ue, &watch, place, &now);
        }
    }
}

/// Whether a place is in an area.
fn is_in(area: &PresenceInfo, place: Location, gnb: Option<&Gnb>) -> bool {
    let (tai, cell) = (place.tai.to_sbi(), place.ncgi());
    let by_node = || {
        let setup = gnb.and_then(Gnb::setup);
        area.global_ran_node_id_list
            .iter()
            .flatten()
            .any(|node| setup.as_ref().is_some_and(|setup| setup.global == *node))
    };
    area.tracking_area_list.iter().flatten().any(|own| *own == tai)
        || area.ncgi_list.iter().flatten().any(|own| *own == cell)
        || by_node()
}

/// One report (TS 29.518, 5.3.2.4).
fn tell(ue: &Ue, watch: &Arc<Watch>, place: Location, told: &Told) {
    let spend = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
    let Ok(before) = watch.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) else {
        return;
    };
    let remain = (before != u64::MAX).then(|| u32::try_from(before - 1).unwrap_or(u32::MAX));
    let root = ue.amf.context.api_root();
    let mut report = AmfEventReport {
        kind: watch.event.kind.clone(),
        state: AmfEventState { active: remain != Some(0), remain_reports: remain },
        time_stamp: DateTime::now(),
        subscription_id: Some(format!("{root}/namf-evts/v1/subscriptions/{}", watch.id)),
        supi: Some(watch.supi.clone()),
        area_list: None,
        location: None,
    };
    match told {
        Told::At(_) => report.location = Some(place.to_sbi()),
        Told::Presence(inside) => {
            let state = |inside: &bool| {
                if *inside { PresenceState::InArea } else { PresenceState::OutOfArea }
            };
            let area = |(area, inside): (&PresenceInfo, &bool)| AmfEventArea {
                presence_info: Some(PresenceInfo {
                    presence_state: Some(state(inside)),
                    ..area.clone()
                }),
            };
            report.area_list = Some(watch.areas.iter().zip(inside).map(area).collect());
        }
    }
    let (watches, peer) =
        (&ue.amf.watches, ue.amf.context.callback_peer().about(&watch.supi).within(PATIENCE));
    if remain == Some(0) {
        watches.list().1.retain(|other| !Arc::ptr_eq(other, watch));
    }
    let Ok(turn) = watches.under_way.clone().try_acquire_owned() else {
        return crate::metrics::dropped("event_report");
    };
    let body = AmfEventNotification {
        notify_correlation_id: Some(watch.correlation.clone()),
        report_list: Some(vec![report]),
    };
    let (uri, supi) = (watch.uri.clone(), watch.supi.clone());
    tokio::spawn(async move {
        if let Err(problem) = AmfEventCallbackClient::new(peer).event_notify(&uri, body).await {
            tracing::info!(%supi, uri, %problem, "an event was not told");
        }
        drop(turn);
    });
}

/// LOCATION REPORTING CONTROL, where the gNB has been asked for something else than what is wanted.
async fn ask_gnb(ue: &mut Ue, watches: &[Arc<Watch>]) {
    let wanted = wanted(watches);
    let Some(connection) = ue.connection.as_mut().filter(|connection| connection.context_is_set_up)
    else {
        return;
    };
    if connection.reporting == wanted {
        return;
    }
    // What was asked for before may not be a part of what is asked for now.
    if connection.reporting != Reporting::default() {
        connection.send(control(connection, cancel())).await;
    }
    if let Some(asked) = request(&wanted) {
        connection.send(control(connection, asked)).await;
    }
    connection.reporting = wanted;
}

fn control(connection: &Connection, asked: LocationReportingRequestType) -> downlink::Built {
    downlink::location_reporting(connection, asked)
}

fn wanted(watches: &[Arc<Watch>]) -> Reporting {
    let cell = watches.iter().any(|watch| watch.event.kind == AmfEventType::LocationReport);
    let areas = watches.iter().flat_map(|watch| watch.areas.iter().cloned()).take(MOST_AREAS);
    Reporting { cell, areas: areas.collect() }
}

/// What the target gNB of a handover is to report (TS 38.413, 9.2.3.4), with what that is.
pub(crate) fn of_handover(ue: &Ue) -> Option<(Reporting, LocationReportingRequestType)> {
    let wanted = wanted(&ue.amf.watches.of(ue.supi.as_ref()?));
    request(&wanted).map(|asked| (wanted, asked))
}

fn cancel() -> LocationReportingRequestType {
    LocationReportingRequestType::new(
        EventType::cancel_location_reporting_for_the_ue,
        ReportArea::cell,
        None,
        None,
        None,
    )
}

fn request(wanted: &Reporting) -> Option<LocationReportingRequestType> {
    let event = match (wanted.cell, wanted.areas.is_empty()) {
        (false, true) => return None,
        (true, true) => EventType::change_of_serve_cell,
        (false, false) => EventType::ue_presence_in_area_of_interest,
        (true, false) => EventType::change_of_serving_cell_and_UE_presence_in_the_Area_of_Interest,
    };
    let item = |(n, area): (usize, &PresenceInfo)| {
        AreaOfInterestItem::new(
            area_to_ngap(area),
            LocationReportingReferenceID(n as u64 + 1),
            None,
        )
    };
    let areas: Vec<_> = wanted.areas.iter().enumerate().map(item).collect();
    let areas = (!areas.is_empty()).then_some(AreaOfInterestList(areas));
    Some(LocationReportingRequestType::new(event, ReportArea::cell, areas, None, None))
}

fn area_to_ngap(area: &PresenceInfo) -> AreaOfInterest {
    let plmn = |plmn: &PlmnId| Plmn::new(plmn.mcc(), plmn.mnc()).ok().map(plmn_to_ngap);
    let tai = |tai: &martlet_sbi_api::common::Tai| {
        let own = Tai {
            plmn: Plmn::new(tai.plmn_id.mcc(), tai.plmn_id.mnc()).ok()?,
            tac: tai.tac.to_u32(),
        };
        Some(AreaOfInterestTAIItem::new(own.to_ngap(), None))
    };
    let cell = |cell: &martlet_sbi_api::common::Ncgi| {
        let identity = cell.nr_cell_id.to_u64();
        // gNB identifier and cell are one number of 36 bits.
        let cgi = helpers::nr_cgi(
            plmn(&cell.plmn_id)?,
            (identity >> 4) as u32,
            32,
            (identity & 0xf) as u16,
        )
        .ok()?;
        Some(AreaOfInterestCellItem::new(NGRANCGI::nR_CGI(cgi), None))
    };
    let tais: Vec<_> = area.tracking_area_list.iter().flatten().filter_map(tai).take(16).collect();
    let cells: Vec<_> = area.ncgi_list.iter().flatten().filter_map(cell).take(256).collect();
    AreaOfInterest::new(
        (!tais.is_empty()).then_some(AreaOfInterestTAIList(tais)),
        (!cells.is_empty()).then_some(AreaOfInterestCellList(cells)),
        None,
        None,
    )
}
