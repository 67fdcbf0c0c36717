//! Alarms, and the conditions that raise them.
use super::State;
use super::figures::{Overview, gnb_name};
use crate::core_status::of;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

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

/// The alarms that a status raises.
pub(super) fn raised(
    state: &State,
    status: &Value,
    now: &Overview,
    certificates: &[Value],
) -> Vec<Alarm> {
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
    for (file, certificate) in certificate_states(status, certificates) {
        if let Some(failure) = &certificate.failure {
            raise(
                format!("certificate-not-used:{file}"),
                Severity::Warning,
                format!("the former certificate of {file} stays in use: {failure}"),
                match certificate.needs_restart {
                    true => "restart its function",
                    false => "replace the files that do not fit; they are read once a minute",
                },
            );
        }
        let Some(days) = certificate.days().filter(|days| *days < CERTIFICATE_ALARM_DAYS) else {
            continue;
        };
        let (severity, what) = match days < 0 {
            true => (Severity::Critical, format!("the certificate {file} has expired")),
            false => {
                (Severity::Warning, format!("the certificate {file} is valid for {days} days"))
            }
        };
        raise(format!("certificate-expires:{file}"), severity, what, certificate.remedy());
    }
    raised
}

/// What is known about the certificate of a file.
#[derive(Debug, Default)]
struct CertificateState {
    /// Days that the one in the file is valid.
    in_file: Option<i64>,
    /// Days that those in use by functions are valid.
    in_use: Option<i64>,
    /// Whether a function uses a renewed one after a restart alone.
    needs_restart: bool,
    /// Why a renewed one is not in use.
    failure: Option<String>,
}

impl CertificateState {
    fn days(&self) -> Option<i64> {
        self.in_file.into_iter().chain(self.in_use).min()
    }

    fn remedy(&self) -> &'static str {
        let is_renewed = self.in_file.is_some_and(|days| days >= CERTIFICATE_ALARM_DAYS);
        match (is_renewed, self.needs_restart) {
            (true, true) => "restart its function, which uses the certificate from its start",
            (true, false) => "it is renewed, and its function uses the new one within a minute",
            (false, true) => {
                "renew it: `martlet pki renew`, or the certificate of oam.api; then restart its \
                 function, which may not read the files after its start"
            }
            (false, false) => {
                "renew it: `martlet pki renew`, or the certificate of oam.api; its function uses \
                 the new one within a minute"
            }
        }
    }
}

/// The certificates by file: those in files, and those that functions report to use.
fn certificate_states(
    status: &Value,
    certificates: &[Value],
) -> BTreeMap<String, CertificateState> {
    let mut states = BTreeMap::<String, CertificateState>::new();
    let file = |value: &Value| value["file"].as_str().unwrap_or_default().to_string();
    for certificate in certificates {
        states.entry(file(certificate)).or_default().in_file = certificate["days"].as_i64();
    }
    let of_process = |nf: &Value| nf["process"]["certificates"].clone();
    let functions = status["nfs"].as_array().into_iter().flatten().map(of_process);
    for list in functions.chain([status["certificates"].clone()]) {
        for certificate in list.as_array().into_iter().flatten() {
            let state = states.entry(file(certificate)).or_default();
            let days = certificate["days"].as_i64();
            state.in_use = state.in_use.into_iter().chain(days).min();
            state.needs_restart |= certificate["needsRestart"] == true;
            let failure = certificate["failure"].as_str().map(String::from);
            state.failure = state.failure.take().or(failure);
        }
    }
    states
}
