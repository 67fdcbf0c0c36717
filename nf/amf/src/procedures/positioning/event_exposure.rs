//! Namf_EventExposure: location and area-of-interest reports (TS 29.518, 5.3; TS 23.502, 4.10 and
//! 4.15.4). The gNB reports cell changes that the UE makes without NAS signalling (TS 38.413,
//! 8.12).
//!
//! ```text
//! NF -> AMF   Namf_EventExposure_Subscribe
//! AMF -> gNB  LOCATION REPORTING CONTROL
//! gNB -> AMF  LOCATION REPORT
//! AMF -> NF   Namf_EventExposure_Notify
//! ```
use crate::Amf;
use crate::n2::{Connection, Gnb, Location, Reporting, downlink};
use crate::served::{Tai, plmn_to_ngap};
use crate::ue::{Event, Reported, Ue};
use martlet_nas::Plmn;
use martlet_nf::callbacks::check_share;
use martlet_ngap::helpers;
use martlet_ngap::ngap::*;
use martlet_sbi::Problem;
use martlet_sbi_api::common::{
    DateTime, GlobalRanNodeId, PlmnId, PresenceInfo, PresenceState, Supi,
};
use martlet_sbi_api::namf_event_exposure::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Areas of interest of one UE at a gNB (TS 38.413, 9.3.1.66).
const MAX_AREAS: usize = 64;
/// Notifications in flight.
const MAX_CONCURRENT_NOTIFICATIONS: usize = 256;
/// Time limit of a notification.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// One event of a subscription.
pub(crate) struct EventSubscription {
    /// Identity of the subscription, and index of the event in it.
    id: (u64, usize),
    supi: Supi,
    uri: String,
    correlation: String,
    event: AmfEvent,
    areas: Vec<PresenceInfo>,
    /// Remaining reports.
    left: AtomicU64,
    /// None: it does not expire.
    expires: Option<Instant>,
}

impl EventSubscription {
    fn is_valid(&self, now: Instant) -> bool {
        self.expires.is_none_or(|at| now < at)
    }
}

/// All event subscriptions.
pub(crate) struct EventSubscriptions {
    list: Mutex<(u64, Vec<Arc<EventSubscription>>)>,
    notification_permits: Arc<Semaphore>,
}

impl Default for EventSubscriptions {
    fn default() -> Self {
        EventSubscriptions {
            list: Mutex::default(),
            notification_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_NOTIFICATIONS)),
        }
    }
}

impl EventSubscriptions {
    fn list(&self) -> MutexGuard<'_, (u64, Vec<Arc<EventSubscription>>)> {
        self.list.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The valid subscriptions to events of a UE.
    fn of(&self, supi: &Supi, now: Instant) -> Vec<Arc<EventSubscription>> {
        let list = self.list();
        list.1.iter().filter(|it| it.supi == *supi && it.is_valid(now)).cloned().collect()
    }

    fn is_empty(&self) -> bool {
        self.list().1.is_empty()
    }
}

fn not_supported(detail: &str) -> Problem {
    Problem::new(403, "SUBSCRIPTION_CANNOT_BE_SERVED").detail(detail)
}

/// The areas of an event. Each names tracking areas, NR cells or gNBs, for which a gNB can report
/// the presence.
fn areas(event: &AmfEvent) -> Result<Vec<PresenceInfo>, Problem> {
    let listed = event.area_list.iter().flatten().filter_map(|area| area.presence_info.clone());
    let named = event.presence_info_list.iter().flatten().map(|(id, area)| {
        let own = area.pra_id.clone().or_else(|| Some(id.clone()));
        PresenceInfo { pra_id: own, ..area.clone() }
    });
    let all: Vec<_> = listed.chain(named).collect();
    let known =
        |area: &PresenceInfo| area_to_ngap(area) != AreaOfInterest::new(None, None, None, None);
    match (all.is_empty() || all.len() > MAX_AREAS, all.iter().all(known)) {
        (false, true) => Ok(all),
        (true, _) => Err(Problem::mandatory_ie_incorrect(
            "/subscription/eventList",
            "1 to 64 areas are needed",
        )),
        (false, false) => Err(not_supported("an area needs tracking areas, NR cells or gNBs")),
    }
}

impl Amf {
    /// Creates a subscription (TS 29.518, 5.3.2.2).
    pub(crate) fn subscribe_events(&self, asked: &AmfEventSubscription) -> Result<u64, Problem> {
        let missing =
            |name: &str| Problem::new(400, "MANDATORY_IE_MISSING").detail(name.to_string());
        let supi = asked
            .supi
            .clone()
            .ok_or_else(|| not_supported("only events of a single SUPI are supported"))?;
        let trigger = asked.options.as_ref().map(|options| &options.trigger);
        if trigger == Some(&AmfEventTrigger::Periodic) {
            return Err(not_supported("periodic reports are not supported"));
        }
        if asked.event_list.is_empty() {
            return Err(missing("eventList"));
        }
        let mut events = Vec::new();
        for event in &asked.event_list {
            events.push(match &event.kind {
                AmfEventType::LocationReport => (event.clone(), Vec::new()),
                AmfEventType::PresenceInAoiReport => (event.clone(), areas(event)?),
                other => {
                    return Err(not_supported(&format!(
                        "event {} is not supported",
                        other.as_str()
                    )));
                }
            });
        }
        let ue = self.tables.by_supi(&supi).ok_or_else(|| {
            Problem::new(403, "UE_NOT_SERVED_BY_AMF")
                .detail(format!("the AMF does not serve {supi}"))
        })?;
        let (now, options) = (Instant::now(), asked.options.as_ref());
        let lifetime = options.and_then(|options| options.expiry.as_ref()).map(DateTime::remaining);
        if lifetime.is_some_and(|lifetime| lifetime.is_zero()) {
            return Err(Problem::new(400, "OPTIONAL_IE_INCORRECT")
                .detail("options.expiry has passed: name a later time"));
        }
        let expires = lifetime.and_then(|lifetime| now.checked_add(lifetime));
        let mut list = self.event_subscriptions.list();
        list.1.retain(|it| it.is_valid(now));
        if list.1.len() + events.len() > self.config.limits.max_ues {
            // Those of UEs that have left report nothing.
            list.1.retain(|it| self.tables.by_supi(&it.supi).is_some());
        }
        if list.1.len() + events.len() > self.config.limits.max_ues {
            return Err(Problem::new(503, "NF_CONGESTION")
                .detail("too many subscriptions; raise amf.limits.max_ues"));
        }
        let others = list.1.iter().map(|other| other.uri.as_str());
        check_share(&asked.event_notify_uri, others, self.config.limits.max_ues)?;
        list.0 += 1;
        let id = list.0;
        let max = asked.options.as_ref().and_then(|options| options.max_reports);
        for (n, (event, areas)) in events.into_iter().enumerate() {
            let once = trigger == Some(&AmfEventTrigger::OneTime);
            let left = if once { Some(1) } else { event.max_reports.or(max) };
            list.1.push(Arc::new(EventSubscription {
                id: (id, n),
                supi: supi.clone(),
                uri: asked.event_notify_uri.clone(),
                correlation: asked.notify_correlation_id.clone(),
                event,
                areas,
                left: AtomicU64::new(left.map_or(u64::MAX, u64::from)),
                expires,
            }));
        }
        drop(list);
        // If the queue is full, the task checks after its next event.
        let _ = ue.send(Event::SubscriptionsChanged);
        Ok(id)
    }

    /// Deletes a subscription (TS 29.518, 5.3.2.3).
    pub(crate) fn unsubscribe_events(&self, id: &str) -> Result<(), Problem> {
        let number: u64 = id.parse().unwrap_or_default();
        let mut list = self.event_subscriptions.list();
        let (gone, left) = std::mem::take(&mut list.1)
            .into_iter()
            .partition::<Vec<_>, _>(|subscription| subscription.id.0 == number);
        list.1 = left;
        drop(list);
        let Some(first) = gone.first() else {
            return Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND"));
        };
        if let Some(ue) = self.tables.by_supi(&first.supi) {
            let _ = ue.send(Event::SubscriptionsChanged);
        }
        Ok(())
    }
}

/// Whether the UE has event subscriptions, or had some.
pub(crate) fn is_due(ue: &Ue) -> bool {
    let reported = ue
        .connection
        .as_ref()
        .is_some_and(|connection| connection.reporting != Reporting::default());
    !ue.amf.event_subscriptions.is_empty() || reported || !ue.last_reports.is_empty()
}

/// Updates the location reporting at the UE's gNB and sends due reports.
pub(crate) async fn check(ue: &mut Ue) {
    let Some(supi) = ue.identity.supi.clone().filter(|_| ue.is_registered()) else { return };
    let subscriptions = ue.amf.event_subscriptions.of(&supi, Instant::now());
    update_gnb(ue, &subscriptions).await;
    ue.last_reports.retain(|id, _| subscriptions.iter().any(|it| it.id == *id));
    let gnb = ue.connection.as_ref().map(|connection| connection.gnb.clone());
    let Some(location) =
        ue.connection.as_ref().map(|connection| connection.location).or(ue.last_location)
    else {
        return;
    };
    for subscription in subscriptions {
        let now = match subscription.event.kind {
            AmfEventType::PresenceInAoiReport => Reported::Presence(
                subscription
                    .areas
                    .iter()
                    .map(|area| is_in(area, location, gnb.as_deref()))
                    .collect(),
            ),
            _ => Reported::At(location),
        };
        let before = ue.last_reports.insert(subscription.id, now.clone());
        // An area report is sent at once; a location report at the first change, unless an
        // immediate one is requested.
        let first = subscription.event.kind == AmfEventType::PresenceInAoiReport
            || subscription.event.immediate_flag == Some(true);
        if before.as_ref() != Some(&now) && (before.is_some() || first) {
            notify(ue, &subscription, location, &now);
        }
    }
}

/// Whether a location is in an area.
fn is_in(area: &PresenceInfo, location: Location, gnb: Option<&Gnb>) -> bool {
    let (tai, cell) = (location.tai.to_sbi(), location.ncgi());
    let by_node = || {
        let setup = gnb.and_then(Gnb::setup);
        area.global_ran_node_id_list.iter().flatten().any(|node| match &setup {
            Some(setup) => setup.global == *node,
            // The UE is in CM-IDLE.
            None => is_cell_of(node, location),
        })
    };
    area.tracking_area_list.iter().flatten().any(|own| *own == tai)
        || area.ncgi_list.iter().flatten().any(|own| *own == cell)
        || by_node()
}

/// Whether a cell belongs to a RAN node: the identity of a gNB is the first bits of the identities
/// of its cells (TS 38.413, 9.3.1.7).
fn is_cell_of(node: &GlobalRanNodeId, location: Location) -> bool {
    let Some(gnb) = &node.g_nb_id else { return false };
    let Some(other_bits) = 36u32.checked_sub(gnb.bit_length.into()) else { return false };
    let of_gnb = u64::from_str_radix(&gnb.gnb_value, 16);
    node.plmn_id == location.ncgi().plmn_id && of_gnb == Ok(location.cell >> other_bits)
}

/// Sends one report (TS 29.518, 5.3.2.4).
fn notify(ue: &Ue, subscription: &Arc<EventSubscription>, location: Location, reported: &Reported) {
    let spend = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
    let Ok(before) = subscription.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
    else {
        return;
    };
    let remain = (before != u64::MAX).then(|| u32::try_from(before - 1).unwrap_or(u32::MAX));
    let root = ue.amf.context.api_root();
    let mut report = AmfEventReport {
        kind: subscription.event.kind.clone(),
        state: AmfEventState { active: remain != Some(0), remain_reports: remain },
        time_stamp: DateTime::now(),
        subscription_id: Some(format!("{root}/namf-evts/v1/subscriptions/{}", subscription.id.0)),
        supi: Some(subscription.supi.clone()),
        area_list: None,
        location: None,
    };
    match reported {
        Reported::At(_) => report.location = Some(location.to_sbi()),
        Reported::Presence(inside) => {
            let state = |inside: &bool| {
                if *inside { PresenceState::InArea } else { PresenceState::OutOfArea }
            };
            let area = |(area, inside): (&PresenceInfo, &bool)| AmfEventArea {
                presence_info: Some(PresenceInfo {
                    presence_state: Some(state(inside)),
                    ..area.clone()
                }),
            };
            report.area_list = Some(subscription.areas.iter().zip(inside).map(area).collect());
        }
    }
    let (subscriptions, peer) = (
        &ue.amf.event_subscriptions,
        ue.amf.context.callback_peer().about(&subscription.supi).within(ANSWER_TIMEOUT),
    );
    if remain == Some(0) {
        subscriptions.list().1.retain(|other| !Arc::ptr_eq(other, subscription));
    }
    let Ok(permit) = subscriptions.notification_permits.clone().try_acquire_owned() else {
        return crate::metrics::dropped("event_report");
    };
    let body = AmfEventNotification {
        notify_correlation_id: Some(subscription.correlation.clone()),
        report_list: Some(vec![report]),
    };
    let (uri, supi) = (subscription.uri.clone(), subscription.supi.clone());
    martlet_nf::spawn(async move {
        if let Err(problem) = AmfEventCallbackClient::new(peer).event_notify(&uri, body).await {
            tracing::info!(%supi, uri, %problem, "event notification failed");
        }
        drop(permit);
    });
}

/// Sends LOCATION REPORTING CONTROL if the wanted reporting has changed.
async fn update_gnb(ue: &mut Ue, subscriptions: &[Arc<EventSubscription>]) {
    let wanted = wanted(subscriptions);
    let Some(connection) = ue.connection.as_mut().filter(|connection| connection.context_is_set_up)
    else {
        return;
    };
    if connection.reporting == wanted {
        return;
    }
    // A new request does not replace the old one, which is cancelled first.
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

fn wanted(subscriptions: &[Arc<EventSubscription>]) -> Reporting {
    let cell = subscriptions
        .iter()
        .any(|subscription| subscription.event.kind == AmfEventType::LocationReport);
    let areas = subscriptions
        .iter()
        .flat_map(|subscription| subscription.areas.iter().cloned())
        .take(MAX_AREAS);
    Reporting { cell, areas: areas.collect() }
}

/// The location reporting for HANDOVER REQUEST (TS 38.413, 9.2.3.4).
pub(crate) fn of_handover(ue: &Ue) -> Option<(Reporting, LocationReportingRequestType)> {
    let supi = ue.identity.supi.as_ref()?;
    let wanted = wanted(&ue.amf.event_subscriptions.of(supi, Instant::now()));
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
        // gNB ID and cell ID are one 36-bit number.
        let cgi = helpers::nr_cgi(
            plmn(&cell.plmn_id)?,
            (identity >> 4) as u32,
            32,
            (identity & 0xf) as u16,
        )
        .ok()?;
        Some(AreaOfInterestCellItem::new(NGRANCGI::nR_CGI(cgi), None))
    };
    let node = |node: &GlobalRanNodeId| {
        let gnb = node.g_nb_id.as_ref()?;
        let id = u32::from_str_radix(&gnb.gnb_value, 16).ok()?;
        let id = helpers::global_gnb_id(plmn(&node.plmn_id)?, id, gnb.bit_length.into()).ok()?;
        Some(AreaOfInterestRANNodeItem::new(GlobalRANNodeID::globalGNB_ID(id), None))
    };
    let tais: Vec<_> = area.tracking_area_list.iter().flatten().filter_map(tai).take(16).collect();
    let cells: Vec<_> = area.ncgi_list.iter().flatten().filter_map(cell).take(256).collect();
    let nodes = area.global_ran_node_id_list.iter().flatten().filter_map(node);
    let nodes: Vec<_> = nodes.take(64).collect();
    AreaOfInterest::new(
        (!tais.is_empty()).then_some(AreaOfInterestTAIList(tais)),
        (!cells.is_empty()).then_some(AreaOfInterestCellList(cells)),
        (!nodes.is_empty()).then_some(AreaOfInterestRANNodeList(nodes)),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::GNbId;

    fn area_of(node: GlobalRanNodeId) -> AmfEvent {
        let area = PresenceInfo { global_ran_node_id_list: Some(vec![node]), ..Default::default() };
        let mut event = AmfEvent::new(AmfEventType::PresenceInAoiReport);
        event.area_list = Some(vec![AmfEventArea { presence_info: Some(area) }]);
        event
    }

    #[test]
    fn an_expired_subscription_has_no_reports() {
        let (all, now) = (EventSubscriptions::default(), Instant::now());
        let supi: Supi = "imsi-001010000000001".parse().unwrap();
        let second = Duration::from_secs(1);
        for (id, expires) in [(1, None), (2, Some(now + 10 * second))] {
            all.list().1.push(Arc::new(EventSubscription {
                id: (id, 0),
                supi: supi.clone(),
                uri: "http://127.0.0.78:7777/events".into(),
                correlation: "one".into(),
                event: AmfEvent::new(AmfEventType::LocationReport),
                areas: Vec::new(),
                left: AtomicU64::new(u64::MAX),
                expires,
            }));
        }
        let ids = |now| all.of(&supi, now).iter().map(|it| it.id.0).collect::<Vec<_>>();
        assert_eq!(ids(now + 9 * second), [1, 2]);
        assert_eq!(ids(now + 10 * second), [1]);
    }

    #[test]
    fn an_area_of_gnbs_has_their_identities_for_the_gnb() {
        let mut node = GlobalRanNodeId::new("00101".parse().unwrap());
        node.g_nb_id = Some(GNbId { bit_length: 24, gnb_value: "000008".into() });
        let areas = areas(&area_of(node)).unwrap();
        let asked = request(&Reporting { cell: false, areas }).unwrap();
        let list = asked.area_of_interest_list.unwrap();
        let nodes = list.0[0].area_of_interest.area_of_interest_ran_node_list.clone().unwrap();
        let plmn = helpers::plmn("001", "01").unwrap();
        let gnb = helpers::global_gnb_id(plmn, 8, 24).unwrap();
        let item = AreaOfInterestRANNodeItem::new(GlobalRANNodeID::globalGNB_ID(gnb), None);
        assert_eq!(nodes.0, [item]);
    }

    #[test]
    fn an_area_that_a_gnb_cannot_report_is_refused() {
        let mut node = GlobalRanNodeId::new("00101".parse().unwrap());
        node.n3_iwf_id = Some("0001".into());
        assert_eq!(areas(&area_of(node.clone())).unwrap_err().status(), 403);
        // 24 bits, and no length that a gNB identity has.
        for (bit_length, value) in [(24, "1000000"), (40, "000008"), (24, "gnb")] {
            node.g_nb_id = Some(GNbId { bit_length, gnb_value: value.into() });
            assert_eq!(areas(&area_of(node.clone())).unwrap_err().status(), 403, "{value}");
        }
    }
}
