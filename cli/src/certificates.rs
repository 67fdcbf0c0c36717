//! The certificates in use of this process: reads renewed files again, warns before a certificate
//! expires, and reports both in the status.
use crate::pki::{Certificate, Validity};
use martlet_nf::certificates::{self, CertificateFiles, InUse, Report};
use martlet_sbi_http::Tls;
use martlet_store::TlsClient;
use prometheus::{IntGaugeVec, register_int_gauge_vec};
use rustls_pki_types::CertificateDer;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of the checks for changed files.
const INTERVAL: Duration = Duration::from_secs(60);
/// Interval of the warnings about a certificate.
const WARNING_INTERVAL: Duration = Duration::from_secs(24 * 3600);

static EXPIRY: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    register_int_gauge_vec!(
        "martlet_certificate_expiry_timestamp_seconds",
        "End of the validity of a certificate in use, in seconds since 1970",
        &["certificate"]
    )
    .expect("registered once")
});

/// Whether the process has given up the rights of its start.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Checks the files of all certificates now and every minute. Called when the process has given up
/// the rights of its start. Needs a runtime.
pub fn start() {
    IS_STARTED.store(true, Ordering::Relaxed);
    let mut warnings = Warnings::default();
    check_all(false);
    warnings.warn();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(INTERVAL).await;
            check(false).await;
            warnings.warn();
        }
    });
}

/// Checks the files of all certificates on a thread that may wait for the file system.
/// `is_requested` logs known failures again. Before [`start`], which makes the first check, it does
/// nothing: the process has rights that it gives up.
pub async fn check(is_requested: bool) {
    if IS_STARTED.load(Ordering::Relaxed) {
        // It ends early if the runtime does.
        let _ = tokio::task::spawn_blocking(move || check_all(is_requested)).await;
    }
}

fn check_all(is_requested: bool) {
    watch_databases();
    certificates::check(is_requested);
}

/// Watches the certificate of a function on the SBI.
pub fn watch_sbi(name: &str, tls: &Tls) {
    let (reloaded, shown, own) = (tls.clone(), tls.clone(), name.to_string());
    certificates::watch(CertificateFiles {
        name: name.into(),
        files: tls.files(),
        reload: Box::new(move || Ok(reloaded.reload()?)),
        in_use: Box::new(move || {
            let all = [in_use(&own, shown.certificate()), in_use("authority", shown.authority())];
            all.into_iter().flatten().collect()
        }),
    });
}

/// Watches the certificate of the northbound API.
pub fn watch_api(tls: Arc<martlet_oam::server::ServerTls>) {
    const NAME: &str = "oam.api";
    let (files, reloaded) = (tls.files(), tls.clone());
    certificates::watch(CertificateFiles {
        name: NAME.into(),
        files,
        reload: Box::new(move || Ok(reloaded.reload()?)),
        in_use: Box::new(move || in_use(NAME, tls.certificate()).into_iter().collect()),
    });
}

/// Watches the authorities and the client secret of the identity provider.
pub fn watch_oidc(provider: Arc<martlet_oam::oidc::Provider>) {
    let files = provider.files();
    if files.is_empty() {
        return;
    }
    certificates::watch(CertificateFiles {
        name: "oam.api.oidc".into(),
        files,
        reload: Box::new(move || Ok(provider.reload()?)),
        in_use: Box::new(Vec::new),
    });
}

/// The name of the client certificate with a number: each has metrics and warnings of its own.
fn name_of_database(number: usize) -> String {
    match number {
        1 => "postgresql".into(),
        _ => format!("postgresql-{number}"),
    }
}

/// Watches the certificates of new connections to databases.
fn watch_databases() {
    static KNOWN: Mutex<Vec<Arc<TlsClient>>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    for client in martlet_store::tls_clients() {
        if known.iter().any(|known| Arc::ptr_eq(known, &client)) {
            continue;
        }
        known.push(client.clone());
        let (name, reloaded) = (name_of_database(known.len()), client.clone());
        certificates::watch(CertificateFiles {
            name: name.clone(),
            files: client.files(),
            reload: Box::new(move || Ok(reloaded.reload()?)),
            in_use: Box::new(move || in_use(&name, client.certificate()).into_iter().collect()),
        });
    }
}

fn in_use(name: &str, loaded: Option<(PathBuf, CertificateDer<'static>)>) -> Option<InUse> {
    loaded.map(|(file, der)| InUse { name: name.into(), file, der: der.to_vec() })
}

/// The certificates in use, for the status and its alarms.
pub fn status() -> Value {
    certificates::report().iter().flat_map(entries).collect()
}

fn entries(report: &Report) -> Vec<Value> {
    let file = |file: &PathBuf| file.display().to_string();
    let entry = |certificate: &InUse| {
        let days = Certificate::parse(&certificate.name, &certificate.der).ok();
        let days = days.map(|certificate| certificate.days_left());
        let needs_restart = report.needs_restart;
        json!({"file": file(&certificate.file), "days": days, "needsRestart": needs_restart})
    };
    let mut entries: Vec<_> = report.in_use.iter().map(entry).collect();
    if let Some(failure) = &report.failure {
        let needs_restart = report.needs_restart;
        let own = json!({"file": file(&report.file), "needsRestart": needs_restart});
        if entries.is_empty() {
            entries.push(own);
        }
        entries[0]["failure"] = json!(failure);
    }
    entries
}

/// The warnings about certificates that expire.
#[derive(Default)]
struct Warnings(HashMap<String, (Validity, Instant)>);

impl Warnings {
    /// Sets the metric of each certificate in use, and warns every day from
    /// [`WARNING_DAYS`](crate::pki::WARNING_DAYS) before its end, and when it expires.
    fn warn(&mut self) {
        for report in certificates::report() {
            for in_use in &report.in_use {
                match Certificate::parse(&in_use.name, &in_use.der) {
                    Ok(certificate) => self.look_at(&certificate, in_use, &report),
                    Err(error) => tracing::debug!("{error:#}"),
                }
            }
        }
    }

    fn look_at(&mut self, certificate: &Certificate, in_use: &InUse, report: &Report) {
        let (name, days) = (certificate.name.as_str(), certificate.days_left());
        let (file, expires) = (in_use.file.display(), certificate.expires);
        EXPIRY.with_label_values(&[name]).set(expires.as_second());
        let validity = certificate.validity();
        if !self.is_due(name, validity, Instant::now()) {
            return;
        }
        let what = match (&report.failure, report.needs_restart) {
            (Some(failure), _) => failure.as_str(),
            (None, true) => "renew it (`martlet pki renew`) and restart the function",
            (None, false) => "renew it (`martlet pki renew`), without a restart",
        };
        match validity {
            Validity::Valid => {}
            Validity::ExpiresSoon => tracing::warn!(
                certificate = name, %file, days, %expires,
                "certificate expires soon: {what}"
            ),
            Validity::Expired => tracing::error!(
                certificate = name, %file, %expires,
                "certificate has expired, and peers refuse it: {what}"
            ),
        }
    }

    fn is_due(&mut self, name: &str, validity: Validity, now: Instant) -> bool {
        if validity == Validity::Valid {
            self.0.remove(name);
            return false;
        }
        let last = self.0.get(name);
        let is_due = last.is_none_or(|(last, at)| {
            *last != validity || now.saturating_duration_since(*at) >= WARNING_INTERVAL
        });
        if is_due {
            self.0.insert(name.into(), (validity, now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::pki::{FUNCTION_DAYS, init, renew};
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_certificate_is_warned_about_each_day_and_when_it_expires() {
        let mut warnings = Warnings::default();
        let start = Instant::now();
        let hours = |hours: u64| start + Duration::from_secs(hours * 3600);
        let soon = Validity::ExpiresSoon;
        assert!(!warnings.is_due("amf", Validity::Valid, start));
        assert!(warnings.is_due("amf", soon, start) && warnings.is_due("smf", soon, start));
        assert!(!warnings.is_due("amf", soon, hours(23)));
        assert!(warnings.is_due("amf", soon, hours(24)));
        assert!(warnings.is_due("amf", Validity::Expired, hours(25)));
        assert!(!warnings.is_due("amf", Validity::Expired, hours(26)));
        // Renewed, for a short time.
        assert!(!warnings.is_due("amf", Validity::Valid, hours(27)));
        assert!(warnings.is_due("amf", soon, hours(28)));
    }

    /// The process may read more files then than later.
    #[tokio::test]
    async fn a_reload_during_the_start_checks_no_files() {
        let reloads = Arc::new(AtomicUsize::new(0));
        let counted = reloads.clone();
        certificates::watch(CertificateFiles {
            name: "during-start".into(),
            files: vec!["/proc/self/status".into()],
            reload: Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
            in_use: Box::new(Vec::new),
        });
        check(true).await;
        assert_eq!(reloads.load(Ordering::Relaxed), 0);
        start();
        assert_eq!(reloads.load(Ordering::Relaxed), 1, "the first check reads all files");
    }

    #[test]
    fn each_certificate_of_databases_has_a_name() {
        assert_eq!([1, 2, 3].map(name_of_database), ["postgresql", "postgresql-2", "postgresql-3"]);
    }

    #[test]
    fn the_certificate_in_use_is_that_of_the_last_reload() {
        let folder = std::env::temp_dir().join(format!("martlet-in-use-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut config = Config::default();
        config.sbi.pki = folder.display().to_string();
        init(&config, &folder, &[]).unwrap();
        renew(&folder, &["amf".into()], 20).unwrap();
        let tls = config.sbi.tls("amf").unwrap().unwrap();
        let days = || {
            let (_, der) = tls.certificate().unwrap();
            Certificate::parse("amf", &der).unwrap().days_left()
        };
        assert!(days() <= 21);
        let [own, key] = ["amf.pem", "amf-key.pem"].map(|name| folder.join(name));
        let former = std::fs::read(&key).unwrap();
        renew(&folder, &[], FUNCTION_DAYS).unwrap();
        assert!(days() <= 21, "the file is read at a reload");

        // The certificate is new, and the key is not.
        let renewed = std::fs::read(&key).unwrap();
        std::fs::write(&key, &former).unwrap();
        let error = tls.reload().unwrap_err().to_string();
        assert!(error.contains("does not fit the key") && error.contains("amf-key.pem"), "{error}");
        assert!(days() <= 21);
        std::fs::write(&key, &renewed).unwrap();
        tls.reload().unwrap();
        assert!(days() > 300);

        // A broken file, and one that is missing.
        let certificate = std::fs::read(&own).unwrap();
        std::fs::write(&own, "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert!(tls.reload().is_err());
        std::fs::remove_file(&own).unwrap();
        assert!(tls.reload().unwrap_err().to_string().contains("amf.pem"));
        assert!(days() > 300);
        std::fs::write(&own, certificate).unwrap();
        tls.reload().unwrap();

        // Of another function, and of another CA.
        for name in ["amf", "amf-key"] {
            let other = folder.join(format!("{}.pem", name.replace("amf", "smf")));
            std::fs::copy(other, folder.join(format!("{name}.pem"))).unwrap();
        }
        let error = tls.reload().unwrap_err().to_string();
        assert!(error.contains("restart the function"), "{error}");
        let smf = config.sbi.tls("smf").unwrap().unwrap();
        let others = folder.join("others");
        init(&config, &others, &[]).unwrap();
        std::fs::copy(others.join("authority.pem"), folder.join("authority.pem")).unwrap();
        let error = smf.reload().unwrap_err().to_string();
        assert!(error.contains("not valid with the authorities"), "{error}");
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn the_status_has_the_days_and_the_failure_of_each_file() {
        let in_use = InUse { name: "amf".into(), file: "amf.pem".into(), der: Vec::new() };
        let mut report = Report {
            file: "amf.pem".into(),
            in_use: vec![in_use],
            needs_restart: true,
            failure: Some("broken".into()),
        };
        let expected = json!([{
            "file": "amf.pem", "days": null, "needsRestart": true, "failure": "broken",
        }]);
        assert_eq!(json!(entries(&report)), expected);
        report.in_use.clear();
        let expected = json!([{"file": "amf.pem", "needsRestart": true, "failure": "broken"}]);
        assert_eq!(json!(entries(&report)), expected);
    }
}
