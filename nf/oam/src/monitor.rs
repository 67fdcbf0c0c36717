//! Figures of the core, alarms, and events from their differences. One poll serves all viewers.
use crate::accounts;
use crate::backups::LastRestore;
use crate::core_status::of;
use crate::traffic::{LineFigures, LineInterface, Sampler, Traffic, ip_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use utoipa::ToSchema;

/// Points of the series: five minutes at one a second.
const POINTS: usize = 300;
/// Share of an address pool from which an alarm is raised.
const POOL_ALARM: f64 = 0.9;
/// Days before the end of a certificate from which an alarm is raised.
const CERTIFICATE_ALARM_DAYS: i64 = 30;

/// Identity of the alarm of a restore that the start did not carry out.
pub const RESTORE_FAILED: &str = "restore-failed";

/// How serious an alarm is (ITU-T X.733).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// May become a fault.
    Warning,
    /// Concerns a part, without loss of service.
    Minor,
    /// Service is impaired.
    Major,
    /// Service is lost.
    Critical,
}

/// An alarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alarm {
    /// Identity; the same while the cause lasts.
    #[schema(example = "gnb-lost:00101-000001")]
    pub id: String,
    /// How serious it is.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
    /// Seconds since 1970.
    pub since: u64,
    /// Who has acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
}

/// Throughput and usage of a data network.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct DataNetworkFigures {
    /// Name.
    pub name: String,
    /// Addresses in use.
    pub used: u64,
    /// Addresses of the pool.
    pub of: u64,
    /// Bits per second from UEs. Null if no UPF of it reports figures.
    #[serde(default)]
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs. Null if no UPF of it reports figures.
    #[serde(default)]
    pub downlink_bps: Option<f64>,
}

/// A UPF in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct UpfFigures {
    /// N4 address.
    pub n4: String,
    /// Whether it is associated.
    pub associated: bool,
    /// Bits per second from UEs, without tunnel headers. Null, like all rates here, if the UPF does
    /// not report figures to this core, as one of another vendor.
    #[serde(default)]
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs.
    #[serde(default)]
    pub downlink_bps: Option<f64>,
    /// Packets per second from UEs.
    #[serde(default)]
    pub uplink_pps: Option<f64>,
    /// Packets per second to UEs.
    #[serde(default)]
    pub downlink_pps: Option<f64>,
    /// Dropped packets per second.
    #[serde(default)]
    pub drops_per_s: Option<f64>,
    /// Sessions.
    #[serde(default)]
    pub sessions: Option<u64>,
}

/// Whether a gNB is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GnbState {
    /// Associated with the AMF.
    #[default]
    Connected,
    /// Associated; its messages deviate from the specification.
    Deviates,
    /// It was associated, and is not any more.
    Lost,
}

/// A gNB in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct GnbFigures {
    /// Name, or identity if it has none.
    pub name: String,
    /// Global RAN node ID.
    #[schema(example = "00101-000001")]
    pub id: String,
    /// Whether it is there.
    pub state: GnbState,
    /// Connected UEs.
    pub ues_connected: u64,
    /// Bits per second from UEs, at the UPFs that report figures. Null if there is none.
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs, at the UPFs that report figures. Null if there is none.
    pub downlink_bps: Option<f64>,
}

/// The switch of a UPF that offloads sessions to one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct SwitchFigures {
    /// Whether it is connected.
    pub connected: bool,
    /// Sessions whose packets it forwards.
    pub sessions: u64,
    /// Sessions that were moved to it since the start.
    pub moved_on: u64,
    /// Sessions that were moved back.
    pub moved_off: u64,
}

/// A function in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct FunctionFigures {
    /// Name, such as `amf`.
    #[schema(example = "amf")]
    pub name: String,
    /// Whether it answers.
    pub running: bool,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Authority of its services.
    pub authority: String,
}

/// The figures of the core at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// Seconds since 1970.
    pub at: u64,
    /// gNBs after NG setup.
    pub gnbs: u64,
    /// UE contexts.
    pub ue_contexts: u64,
    /// Registered UEs.
    pub ues_registered: u64,
    /// Connected UEs.
    pub ues_connected: u64,
    /// PDU sessions.
    pub sessions: u64,
    /// Bits per second from UEs.
    pub uplink_bps: f64,
    /// Bits per second to UEs.
    pub downlink_bps: f64,
    /// Dropped packets per second.
    pub drops_per_s: f64,
    /// Dropped packets by reason, since the start of the UPF.
    pub drops: BTreeMap<String, u64>,
    /// The UPF's datapath in this core; empty if there is none.
    pub datapath: String,
    /// The switch, if the UPF has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchFigures>,
    /// Functions.
    pub functions: Vec<FunctionFigures>,
    /// UPFs of the SMF.
    pub upfs: Vec<UpfFigures>,
    /// Data networks.
    pub data_networks: Vec<DataNetworkFigures>,
    /// Names and identities of the first 64 gNBs.
    pub gnb_names: Vec<String>,
    /// The first gNBs, at most 256, with those that were lost.
    #[serde(default)]
    pub gnb_figures: Vec<GnbFigures>,
    /// Throughput of the lines between gNBs, UPFs and data networks. Lines of a UPF that does not
    /// report figures are left out.
    #[serde(default)]
    pub lines: Vec<LineFigures>,
    /// Subscribers.
    pub subscribers: u64,
    /// Raised alarms.
    pub alarms: u64,
}

/// A point of the series.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// Seconds since 1970.
    pub at: u64,
    /// Registered UEs.
    pub registered: u64,
    /// Connected UEs.
    pub connected: u64,
    /// PDU sessions.
    pub sessions: u64,
    /// Bits per second from UEs.
    pub uplink_bps: f64,
    /// Bits per second to UEs.
    pub downlink_bps: f64,
    /// Dropped packets per second.
    pub drops_per_s: f64,
}

#[derive(Default)]
struct State {
    overview: Overview,
    series: VecDeque<Point>,
    alarms: BTreeMap<String, Alarm>,
    /// gNBs that were there once, by identity.
    known_gnbs: BTreeMap<String, String>,
    /// The last restore, if it failed and no user has acknowledged that.
    failed_restore: Option<LastRestore>,
    sampler: Sampler,
}

/// Figures and alarms.
#[derive(Default)]
pub struct Monitor(Mutex<State>);

impl Monitor {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest figures.
    pub fn overview(&self) -> Overview {
        self.state().overview.clone()
    }

    /// The series of the last minutes.
    pub fn series(&self) -> Vec<Point> {
        self.state().series.iter().cloned().collect()
    }

    /// The raised alarms, the most serious first.
    pub fn alarms(&self) -> Vec<Alarm> {
        let mut alarms: Vec<_> = self.state().alarms.values().cloned().collect();
        alarms.sort_by_key(|alarm| (std::cmp::Reverse(alarm.severity), alarm.since));
        alarms
    }

    /// Acknowledges an alarm. Returns it as it was before, and as it is now.
    pub fn acknowledge(&self, id: &str, by: &str) -> Option<(Alarm, Alarm)> {
        let mut state = self.state();
        // A gNB that was removed permanently has no alarm any more.
        if let Some(gnb) = id.strip_prefix("gnb-lost:") {
            state.known_gnbs.remove(gnb);
        }
        if id == RESTORE_FAILED {
            state.failed_restore = None;
        }
        let alarm = state.alarms.get_mut(id)?;
        let before = alarm.clone();
        alarm.acknowledged_by = Some(by.to_string());
        Some((before, alarm.clone()))
    }

    /// Notes the last restore, whose failure is an alarm.
    pub fn note_restore(&self, last: Option<LastRestore>) {
        self.state().failed_restore = last.filter(LastRestore::is_open_failure);
    }

    /// Takes a status. Returns the events that it causes.
    pub fn take(&self, status: &Value, certificates: &[Value]) -> Vec<(&'static str, Value)> {
        let mut state = self.state();
        let mut events = Vec::new();
        let before = std::mem::take(&mut state.overview);
        let mut now = figures(status);
        let traffic = state.sampler.take(status);
        gnb_events(&mut state, status, &mut events);
        now.gnb_figures = gnb_figures(&state, status);
        rates(&traffic, &mut now);
        for function in &now.functions {
            let was = before.functions.iter().find(|f| f.name == function.name);
            if was.is_some_and(|was| was.running != function.running) {
                events.push((
                    "function",
                    json!({
                        "name": function.name, "running": function.running,
                    }),
                ));
            }
        }
        let raised = alarms(&state, status, &now, certificates);
        let ids: BTreeSet<_> = raised.iter().map(|alarm| alarm.id.clone()).collect();
        for alarm in raised {
            if !state.alarms.contains_key(&alarm.id) {
                events.push(("alarm", json!({"raised": true, "alarm": alarm})));
                state.alarms.insert(alarm.id.clone(), alarm);
            }
        }
        let cleared: Vec<_> =
            state.alarms.keys().filter(|id| !ids.contains(*id)).cloned().collect();
        for id in cleared {
            if let Some(alarm) = state.alarms.remove(&id) {
                events.push(("alarm", json!({"raised": false, "alarm": alarm})));
            }
        }
        now.alarms = state.alarms.len() as u64;
        if state.series.len() >= POINTS {
            state.series.pop_front();
        }
        state.series.push_back(Point {
            at: now.at,
            registered: now.ues_registered,
            connected: now.ues_connected,
            sessions: now.sessions,
            uplink_bps: now.uplink_bps,
            downlink_bps: now.downlink_bps,
            drops_per_s: now.drops_per_s,
        });
        state.overview = now;
        events
    }
}

fn figures(status: &Value) -> Overview {
    let mut now = Overview { at: accounts::now(), ..Overview::default() };
    for nf in status["nfs"].as_array().into_iter().flatten() {
        let name = nf["name"].as_str().unwrap_or_default();
        // Further UPFs are not functions of this core.
        if now.functions.iter().any(|function| function.name == name) {
            continue;
        }
        now.functions.push(FunctionFigures {
            name: name.into(),
            running: true,
            restarts: 0,
            authority: nf["authority"].as_str().unwrap_or_default().into(),
        });
    }
    for process in status["processes"].as_array().into_iter().flatten() {
        let name = process["name"].as_str().unwrap_or_default();
        let running = process["state"] == "running";
        let restarts = process["restarts"].as_u64().unwrap_or(0);
        match now.functions.iter_mut().find(|function| function.name == name) {
            Some(function) => (function.running, function.restarts) = (running, restarts),
            None => now.functions.push(FunctionFigures {
                name: name.into(),
                running,
                restarts,
                authority: String::new(),
            }),
        }
    }
    if let Some(amf) = of(status, "amf") {
        let gnbs = amf["gnbs"].as_array().cloned().unwrap_or_default();
        now.gnbs = gnbs.len() as u64;
        now.gnb_names = gnbs.iter().take(64).map(gnb_name).collect();
        let number = |name: &str| amf["ues"][name].as_u64().unwrap_or(0);
        now.ue_contexts = number("contexts");
        (now.ues_registered, now.ues_connected) = (number("registered"), number("connected"));
    }
    if let Some(smf) = of(status, "smf") {
        now.sessions = smf["sessions"].as_u64().unwrap_or(0);
        let upf = |upf: &Value| UpfFigures {
            n4: upf["n4"].as_str().unwrap_or_default().into(),
            associated: upf["associated"] == true,
            ..UpfFigures::default()
        };
        now.upfs = smf["upfs"].as_array().into_iter().flatten().map(upf).collect();
        let network = |(name, usage): (&String, &Value)| DataNetworkFigures {
            name: name.clone(),
            used: usage["used"].as_u64().unwrap_or(0),
            of: usage["of"].as_u64().unwrap_or(0),
            ..DataNetworkFigures::default()
        };
        now.data_networks =
            smf["addresses"].as_object().into_iter().flatten().map(network).collect();
    }
    if let Some(upf) = of(status, "upf") {
        now.datapath = upf["datapath"].as_str().unwrap_or_default().into();
        let switch = &upf["datapathDetails"]["switch"];
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        now.switch = switch.is_object().then(|| SwitchFigures {
            connected: switch["connected"] == true,
            sessions: number(&switch["sessions"]["onSwitch"]),
            moved_on: number(&switch["movedOn"]),
            moved_off: number(&switch["movedOff"]),
        });
        let drop = |(name, n): (&String, &Value)| Some((name.clone(), n.as_u64()?));
        now.drops = upf["drops"].as_object().into_iter().flatten().filter_map(drop).collect();
    }
    now.subscribers =
        of(status, "udr").and_then(|udr| udr["subscribers"].as_u64()).unwrap_or_default();
    now
}

fn gnb_name(gnb: &Value) -> String {
    gnb["name"].as_str().or(gnb["id"].as_str()).unwrap_or_default().to_string()
}

/// gNBs whose figures are shown.
const MAX_GNBS: usize = 256;

/// The gNBs, those that were lost first.
fn gnb_figures(state: &State, status: &Value) -> Vec<GnbFigures> {
    let empty = Vec::new();
    let amf = of(status, "amf");
    let connected = amf.and_then(|amf| amf["gnbs"].as_array()).unwrap_or(&empty);
    let is_lost = |id: &&String| !connected.iter().any(|gnb| gnb["id"] == id.as_str());
    let lost = state.known_gnbs.keys().filter(is_lost).map(|id| GnbFigures {
        name: state.known_gnbs.get(id).cloned().unwrap_or_default(),
        id: id.clone(),
        state: GnbState::Lost,
        ..GnbFigures::default()
    });
    let present = connected.iter().map(|gnb| GnbFigures {
        name: gnb_name(gnb),
        id: gnb["id"].as_str().unwrap_or_default().into(),
        state: if gnb["deviates"] == true { GnbState::Deviates } else { GnbState::Connected },
        ues_connected: gnb["connectedUes"].as_u64().unwrap_or(0),
        ..GnbFigures::default()
    });
    lost.chain(present).take(MAX_GNBS).collect()
}

/// The rates of all parts.
fn rates(traffic: &Traffic, now: &mut Overview) {
    [now.uplink_bps, now.downlink_bps] = traffic.bps;
    now.drops_per_s = traffic.drops_per_s;
    for upf in &mut now.upfs {
        let Some(rates) = traffic.upfs.get(&ip_of(&upf.n4)) else { continue };
        (upf.uplink_bps, upf.downlink_bps) = (Some(rates.bps[0]), Some(rates.bps[1]));
        (upf.uplink_pps, upf.downlink_pps) = (Some(rates.pps[0]), Some(rates.pps[1]));
        (upf.drops_per_s, upf.sessions) = (Some(rates.drops_per_s), Some(rates.sessions));
    }
    // Without a UPF that reports figures the rates are unknown, and not zero.
    let of_peer = |interface: LineInterface, peer: &str| {
        let of_it = |line: &&LineFigures| line.interface == interface && line.peer == peer;
        let lines = traffic.lines.iter().filter(of_it);
        let sum = lines.fold([0.0; 2], |sum: [f64; 2], line| {
            [sum[0] + line.uplink_bps, sum[1] + line.downlink_bps]
        });
        (!traffic.upfs.is_empty()).then_some(sum)
    };
    for gnb in &mut now.gnb_figures {
        let bps = of_peer(LineInterface::N3, &gnb.id);
        (gnb.uplink_bps, gnb.downlink_bps) = (bps.map(|bps| bps[0]), bps.map(|bps| bps[1]));
    }
    for network in &mut now.data_networks {
        let bps = of_peer(LineInterface::N6, &network.name);
        (network.uplink_bps, network.downlink_bps) = (bps.map(|bps| bps[0]), bps.map(|bps| bps[1]));
    }
    now.lines.clone_from(&traffic.lines);
}

/// Which gNBs were added and which were lost.
fn gnb_events(state: &mut State, status: &Value, events: &mut Vec<(&'static str, Value)>) {
    let Some(amf) = of(status, "amf") else { return };
    let mut present = BTreeSet::new();
    for gnb in amf["gnbs"].as_array().into_iter().flatten() {
        let Some(id) = gnb["id"].as_str() else { continue };
        present.insert(id.to_string());
        let is_lost = state.alarms.contains_key(&format!("gnb-lost:{id}"));
        if state.known_gnbs.insert(id.into(), gnb_name(gnb)).is_none() || is_lost {
            events.push(("gnb", json!({"id": id, "name": gnb_name(gnb), "connected": true})));
        }
    }
    for (id, name) in &state.known_gnbs {
        if !present.contains(id) && !state.alarms.contains_key(&format!("gnb-lost:{id}")) {
            events.push(("gnb", json!({"id": id, "name": name, "connected": false})));
        }
    }
}

fn alarms(state: &State, status: &Value, now: &Overview, certificates: &[Value]) -> Vec<Alarm> {
    let mut raised = Vec::new();
    let mut raise = |id: String, severity, what: String, remedy: &str| {
        raised.push(Alarm {
            id,
            severity,
            what,
            remedy: remedy.into(),
            since: now.at,
            acknowledged_by: None,
        });
    };
    for function in now.functions.iter().filter(|function| !function.running) {
        raise(
            format!("function-down:{}", function.name),
            Severity::Critical,
            format!("the process of the {} does not run", function.name.to_uppercase()),
            "the supervisor restarts it; see its log for the reason",
        );
    }
    for upf in now.upfs.iter().filter(|upf| !upf.associated) {
        raise(
            format!("upf-lost:{}", upf.n4),
            Severity::Critical,
            format!("the SMF has no association with the UPF at {}", upf.n4),
            "check that the UPF runs, and that smf.upfs has its address",
        );
    }
    if now.switch.as_ref().is_some_and(|switch| !switch.connected) {
        raise(
            "switch-lost".into(),
            Severity::Major,
            "the UPF has no connection to its switch, and forwards all packets itself".into(),
            "check that the switch runs, and upf.switch",
        );
    }
    let amf = of(status, "amf").cloned().unwrap_or_default();
    let gnbs = amf["gnbs"].as_array().cloned().unwrap_or_default();
    for (id, name) in &state.known_gnbs {
        if !gnbs.iter().any(|gnb| gnb["id"] == id.as_str()) {
            raise(
                format!("gnb-lost:{id}"),
                Severity::Major,
                format!("the gNB {name} ({id}) has no association any more"),
                "check its power and its link; acknowledge the alarm if it was taken away",
            );
        }
    }
    for gnb in gnbs.iter().filter(|gnb| gnb["deviates"] == true) {
        let id = gnb["id"].as_str().unwrap_or_default();
        raise(
            format!("gnb-deviates:{id}"),
            Severity::Warning,
            format!("messages of the gNB {} deviate from the specification", gnb_name(gnb)),
            "see the log of the AMF for the message; update the gNB",
        );
    }
    for network in &now.data_networks {
        if network.of > 0 && network.used as f64 >= POOL_ALARM * network.of as f64 {
            raise(
                format!("pool-full:{}", network.name),
                Severity::Major,
                format!(
                    "{} of {} addresses of {} are used",
                    network.used, network.of, network.name
                ),
                "enlarge smf.dnns.pool of the data network",
            );
        }
    }
    if let Some(failure) = of(status, "udr").and_then(|udr| udr["failure"].as_str()) {
        raise(
            "store-failed".into(),
            Severity::Critical,
            format!("the subscriber database does not answer: {failure}"),
            "check the disk or the PostgreSQL server",
        );
    }
    if let Some(failed) = &state.failed_restore {
        let (folder, error) = (&failed.staged.folder, failed.error.as_deref().unwrap_or_default());
        let remedy = failed.remedy.as_deref().unwrap_or("see the log of the start");
        raise(
            RESTORE_FAILED.into(),
            Severity::Major,
            format!("the restore of {folder} failed, and the core has its old data: {error}"),
            &format!("{remedy}; then stage the restore again, or acknowledge the alarm"),
        );
    }
    for certificate in certificates {
        let days = certificate["days"].as_i64().unwrap_or(i64::MAX);
        let file = certificate["file"].as_str().unwrap_or_default();
        if days < CERTIFICATE_ALARM_DAYS {
            raise(
                format!("certificate-expires:{file}"),
                if days < 0 { Severity::Critical } else { Severity::Warning },
                format!("the certificate {file} is valid for {days} days"),
                "renew it: `martlet pki renew`, or the certificate of oam.api",
            );
        }
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(gnbs: Value, used: u64) -> Value {
        json!({"nfs": [
            {"name": "amf", "status": {"gnbs": gnbs,
                "ues": {"contexts": 3, "registered": 2, "connected": 1}}},
            {"name": "smf", "status": {"sessions": 2, "addresses":
                {"internet": {"used": used, "of": 100}},
                "upfs": [{"n4": "127.0.0.8:8805", "associated": true}]}},
        ]})
    }

    #[test]
    fn a_lost_gnb_is_an_event_and_an_alarm_until_it_is_back() {
        let monitor = Monitor::default();
        let gnb = json!([{"id": "00101-000001", "name": "roof"}]);
        let kinds = |events: Vec<(&'static str, Value)>| -> Vec<&'static str> {
            events.into_iter().map(|(kind, _)| kind).collect()
        };
        assert_eq!(kinds(monitor.take(&status(gnb.clone(), 1), &[])), ["gnb"]);
        assert_eq!(kinds(monitor.take(&status(gnb.clone(), 1), &[])), [""; 0]);
        assert_eq!(kinds(monitor.take(&status(json!([]), 1), &[])), ["gnb", "alarm"]);
        assert_eq!(monitor.alarms()[0].id, "gnb-lost:00101-000001");
        assert_eq!(kinds(monitor.take(&status(json!([]), 1), &[])), [""; 0], "told once");
        assert_eq!(kinds(monitor.take(&status(gnb, 1), &[])), ["gnb", "alarm"]);
        assert!(monitor.alarms().is_empty());
        let overview = monitor.overview();
        assert_eq!((overview.gnbs, overview.ues_registered, overview.sessions), (1, 2, 2));
    }

    #[test]
    fn a_switch_is_shown_and_its_loss_is_an_alarm() {
        let with = |connected: bool| {
            let switch = json!({"connected": connected, "sessions": {"onSwitch": 4},
                "movedOn": 6, "movedOff": 2});
            json!({"nfs": [{"name": "upf", "status": {"datapath": "switch",
                "datapathDetails": {"switch": switch}}}]})
        };
        let monitor = Monitor::default();
        monitor.take(&with(true), &[]);
        assert!(monitor.alarms().is_empty());
        assert_eq!(monitor.overview().switch.map(|s| (s.sessions, s.moved_on)), Some((4, 6)));
        monitor.take(&with(false), &[]);
        assert_eq!(monitor.alarms()[0].id, "switch-lost");
    }

    #[test]
    fn a_failed_restore_is_an_alarm_until_one_succeeds_or_it_is_acknowledged() {
        let failed: LastRestore = serde_json::from_value(json!({
            "staged": {"folder": "/b1", "made": 1, "subscribers": 2, "by": "eva", "staged": 3,
                "files": []},
            "at": 4, "error": "amf.db is damaged", "remedy": "use another backup",
        }))
        .unwrap();
        let monitor = Monitor::default();
        let raised = |last: &LastRestore| {
            monitor.note_restore(Some(last.clone()));
            monitor.take(&status(json!([]), 1), &[]);
            monitor.alarms()
        };
        let alarm = raised(&failed).remove(0);
        assert_eq!((alarm.id.as_str(), alarm.severity), (RESTORE_FAILED, Severity::Major));
        assert!(alarm.what.contains("/b1") && alarm.what.contains("amf.db is damaged"));
        assert!(alarm.remedy.starts_with("use another backup; "), "{}", alarm.remedy);
        let succeeded = LastRestore { error: None, ..failed.clone() };
        assert!(raised(&succeeded).is_empty());
        assert_eq!(raised(&failed).len(), 1);
        let acknowledged = LastRestore { acknowledged_by: Some("ida".into()), ..failed.clone() };
        assert!(raised(&acknowledged).is_empty());
        assert_eq!(raised(&failed).len(), 1);
        monitor.acknowledge(RESTORE_FAILED, "ida").unwrap();
        monitor.take(&status(json!([]), 1), &[]);
        assert!(monitor.alarms().is_empty(), "it ends with the acknowledgement");
    }

    #[test]
    fn a_full_pool_and_a_certificate_are_alarms() {
        let monitor = Monitor::default();
        let certificate = json!({"file": "amf.pem", "days": 3});
        monitor.take(&status(json!([]), 95), &[certificate]);
        let ids: Vec<_> = monitor.alarms().into_iter().map(|alarm| alarm.id).collect();
        assert_eq!(ids, ["pool-full:internet", "certificate-expires:amf.pem"]);
        let (before, after) = monitor.acknowledge("pool-full:internet", "eva").unwrap();
        assert_eq!(before.acknowledged_by, None);
        assert_eq!(after.acknowledged_by.as_deref(), Some("eva"));
    }
}
