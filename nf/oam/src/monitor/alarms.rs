//! Alarms, and the conditions that raise them.
use super::State;
use super::figures::{Overview, gnb_name};
use crate::core_status::of;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    for certificate in certificates {
        let days = certificate["days"].as_i64().unwrap_or(i64::MAX);
        let file = certificate["file"].as_str().unwrap_or_default();
        if days < CERTIFICATE_ALARM_DAYS {
            let (severity, what) = match days < 0 {
                true => (Severity::Critical, format!("the certificate {file} has expired")),
                false => {
                    (Severity::Warning, format!("the certificate {file} is valid for {days} days"))
                }
            };
            raise(
                format!("certificate-expires:{file}"),
                severity,
                what,
                "renew it: `martlet pki renew`, or the certificate of oam.api; then restart its \
                 function, which uses the one of its start",
            );
        }
    }
    raised
}
