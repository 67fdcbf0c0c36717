//! Monitoring of the core: its figures, alarms, and events from their differences. One poll serves
//! all viewers.
use crate::backups::LastRestore;
use crate::core_status::of;
use crate::traffic::Sampler;
use figures::gnb_name;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

mod alarms;
mod figures;
pub use alarms::{Alarm, RESTORE_FAILED, Severity};
pub use figures::{
    DataNetworkFigures, FunctionFigures, GnbFigures, GnbState, Overview, Point, SwitchFigures,
    UpfFigures,
};

/// Points of the series: five minutes at one a second.
const POINTS: usize = 300;

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
        let mut now = figures::of_status(status);
        let traffic = state.sampler.take(status);
        gnb_events(&mut state, status, &mut events);
        now.gnb_figures = figures::of_gnbs(&state, status);
        figures::set_rates(&traffic, &mut now);
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
        let raised = alarms::raised(&state, status, &now, certificates);
        let ids: BTreeSet<_> = raised.iter().map(|alarm| alarm.id.clone()).collect();
        for alarm in raised {
            if let Some(known) = state.alarms.get_mut(&alarm.id) {
                (known.what, known.remedy) = (alarm.what, alarm.remedy);
                if known.severity != alarm.severity {
                    // Who has acknowledged it has seen the other severity.
                    (known.severity, known.acknowledged_by) = (alarm.severity, None);
                    events.push(("alarm", json!({"raised": true, "alarm": known.clone()})));
                }
                continue;
            }
            events.push(("alarm", json!({"raised": true, "alarm": alarm})));
            state.alarms.insert(alarm.id.clone(), alarm);
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
        assert_eq!(kinds(monitor.take(&status(json!([]), 1), &[])), [""; 0], "reported once");
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
        monitor.acknowledge("certificate-expires:amf.pem", "eva").unwrap();

        // Both become worse.
        let certificate = json!({"file": "amf.pem", "days": -1});
        let events = monitor.take(&status(json!([]), 100), &[certificate]);
        let alarms = monitor.alarms();
        assert_eq!(alarms[0].severity, Severity::Critical);
        assert_eq!(alarms[0].what, "the certificate amf.pem has expired");
        assert_eq!(alarms[0].acknowledged_by, None, "as a warning");
        assert_eq!(alarms[1].what, "100 of 100 addresses of internet are used");
        assert_eq!(alarms[1].since, after.since);
        assert_eq!(alarms[1].acknowledged_by.as_deref(), Some("eva"));
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].1["alarm"]["severity"], "critical");

        // The certificate is renewed.
        let certificate = json!({"file": "amf.pem", "days": 365});
        let events = monitor.take(&status(json!([]), 100), &[certificate]);
        let ids: Vec<_> = monitor.alarms().into_iter().map(|alarm| alarm.id).collect();
        assert_eq!(ids, ["pool-full:internet"]);
        assert_eq!((events.len(), &events[0].1["raised"]), (1, &json!(false)), "{events:?}");
    }

    #[test]
    fn a_certificate_that_is_not_used_after_its_renewal_is_an_alarm() {
        let monitor = Monitor::default();
        let alarms = |in_file: i64, in_use: Value| {
            let mut status = status(json!([]), 1);
            status["nfs"][0]["process"] = json!({"certificates": [in_use]});
            monitor.take(&status, &[json!({"file": "amf.pem", "days": in_file})]);
            let alarms = monitor.alarms().into_iter();
            alarms.map(|alarm| (alarm.id, alarm.what, alarm.remedy)).collect::<Vec<_>>()
        };
        let in_use = |days: i64| json!({"file": "amf.pem", "days": days, "needsRestart": false});
        let alarm = alarms(3, in_use(3)).remove(0);
        assert_eq!(alarm.0, "certificate-expires:amf.pem");
        assert!(alarm.2.contains("pki renew") && alarm.2.contains("within a minute"), "{alarm:?}");
        // Renewed, and not read yet.
        let alarm = alarms(365, in_use(3)).remove(0);
        assert!(alarm.2.starts_with("it is renewed"), "{alarm:?}");
        assert!(alarms(365, in_use(365)).is_empty());

        // Its files may be read at the start alone.
        let once = |days: i64| json!({"file": "amf.pem", "days": days, "needsRestart": true});
        let alarm = alarms(3, once(3)).remove(0);
        assert!(alarm.2.contains("then restart its function"), "{alarm:?}");
        assert!(alarms(365, once(3)).remove(0).2.starts_with("restart its function"));

        let mut broken = in_use(365);
        broken["failure"] = json!("amf.pem: the certificate does not fit the key amf-key.pem");
        let alarm = alarms(365, broken).remove(0);
        assert_eq!(alarm.0, "certificate-not-used:amf.pem");
        assert!(alarm.1.contains("does not fit") && alarm.2.contains("replace"), "{alarm:?}");
        assert!(alarms(365, in_use(365)).is_empty());
    }
}
