//! Certificates that are renewed while the process runs.
//!
//! Each TLS endpoint registers its files with [`watch`]. [`check`] reads files that changed again,
//! so that new connections use them. Files that do not fit together, or cannot be read, leave the
//! former ones in use. [`report`] is the state of all, for the status and the alarms.
use prometheus::{IntGaugeVec, register_int_gauge_vec};
use std::error::Error;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static OUTDATED: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Whether files of a certificate changed and cannot be used";
    register_int_gauge_vec!("martlet_certificate_outdated", help, &["certificate"])
        .expect("registered once")
});

/// Why files cannot be used.
pub type ReloadError = Box<dyn Error + Send + Sync>;

/// Reads the files again. An error leaves the former ones in use.
pub type ReloadFiles = Box<dyn Fn() -> Result<(), ReloadError> + Send + Sync>;

/// The certificates in use.
pub type ListInUse = Box<dyn Fn() -> Vec<InUse> + Send + Sync>;

/// A certificate in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InUse {
    /// Its name in metrics and in the log.
    pub name: String,
    /// The file that it was read from.
    pub file: PathBuf,
    /// The certificate, DER.
    pub der: Vec<u8>,
}

/// The files of a TLS endpoint.
pub struct CertificateFiles {
    /// Its name in metrics and in the log.
    pub name: String,
    /// Certificates, keys and authorities. One may be missing if `reload` does not need it.
    pub files: Vec<PathBuf>,
    /// Reads them again.
    pub reload: ReloadFiles,
    /// The certificates that were read from them.
    pub in_use: ListInUse,
}

/// The state of a TLS endpoint's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The first of its files.
    pub file: PathBuf,
    /// The certificates in use.
    pub in_use: Vec<InUse>,
    /// Whether a renewal needs a restart: the process may not read the files after its start.
    pub needs_restart: bool,
    /// Why changed files are not in use, if that is not because they are being replaced.
    pub failure: Option<String>,
}

/// What changes when a file is replaced or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file to which all symbolic links lead; `None` if there is none.
    fn of(file: &PathBuf) -> Option<Stamp> {
        let status = std::fs::metadata(file).ok()?;
        Some(Stamp {
            file: (status.dev(), status.ino()),
            size: status.size(),
            modified: (status.mtime(), status.mtime_nsec()),
            changed: (status.ctime(), status.ctime_nsec()),
        })
    }
}

/// Whether a file was replaced, as far as both stamps are known.
fn is_replaced(before: &[Option<Stamp>], now: &[Option<Stamp>]) -> bool {
    before.iter().zip(now).any(|pair| matches!(pair, (Some(one), Some(two)) if one != two))
}

#[derive(Default)]
struct State {
    /// Of the files in use.
    stamps: Vec<Option<Stamp>>,
    is_checked: bool,
    needs_restart: bool,
    /// Why changed files are not in use.
    reason: Option<String>,
    /// Whether that is more than files that are being replaced one after the other.
    is_failure: bool,
}

struct Watched {
    what: CertificateFiles,
    /// Held during a check.
    checking: Mutex<()>,
    /// Not held while files are read: the status waits for it.
    state: Mutex<State>,
}

static ALL: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<Watched>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files that the process may not open any more once they are replaced.
static READ_ONCE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Reports files that the process may not open any more once they are replaced: its sandbox has no
/// access to their folders.
pub fn read_once(files: Vec<PathBuf>) {
    *READ_ONCE.lock().unwrap_or_else(PoisonError::into_inner) = files;
}

/// Registers the files of an endpoint that has just read them. It replaces the former endpoint with
/// this name and these files, which a function had before its restart.
pub fn watch(what: CertificateFiles) {
    let mut all = all();
    all.retain(|one| (&one.what.name, &one.what.files) != (&what.name, &what.files));
    all.push(Arc::new(Watched::new(what)));
}

/// Compares all files with those in use, and reads changed ones again: it waits for them. The first
/// check is made when the process has given up the rights of its start. `is_requested` logs known
/// failures again.
pub fn check(is_requested: bool) {
    let watched = all().clone();
    watched.iter().for_each(|one| one.check(is_requested));
}

/// The state of all files.
pub fn report() -> Vec<Report> {
    let watched = all().clone();
    watched.iter().map(|one| one.report()).collect()
}

/// Whether the rights of this process do not suffice to read a file.
fn is_denied(file: &Path) -> bool {
    File::open(file).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

impl Watched {
    fn new(what: CertificateFiles) -> Watched {
        OUTDATED.with_label_values(&[&what.name]).set(0);
        let stamps = what.files.iter().map(Stamp::of).collect();
        let state = Mutex::new(State { stamps, ..State::default() });
        Watched { what, checking: Mutex::default(), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, is_requested: bool) {
        let _checking = self.checking.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps: Vec<_> = self.what.files.iter().map(Stamp::of).collect();
        let denied = self.what.files.iter().find(|file| is_denied(file));
        let mut state = self.state();
        let is_first = !std::mem::replace(&mut state.is_checked, true);
        if is_first {
            state.needs_restart = self.warn_of_restart(denied);
        }
        let Some(denied) = denied else {
            // An operator may have changed a mode meanwhile.
            state.needs_restart &= self.read_once().is_some();
            if !is_first && state.stamps == stamps && state.reason.is_none() {
                return;
            }
            drop(state);
            // They may change again while they are read: the stamps are from before.
            let read = (self.what.reload)();
            let mut state = self.state();
            return match read {
                Ok(()) => self.used(&mut state, stamps),
                Err(error) => self.not_used(&mut state, error.to_string(), is_requested),
            };
        };
        let file = denied.display();
        if !state.needs_restart {
            let user = nix::unistd::geteuid();
            let reason = format!("{file}: user {user} may not read it; change its group and mode");
            self.not_used(&mut state, reason, is_requested);
        } else if is_replaced(&state.stamps, &stamps) {
            let reason = format!("restart the function, which reads {file} at its start alone");
            self.not_used(&mut state, reason, is_requested);
        }
    }

    fn read_once(&self) -> Option<&PathBuf> {
        let files = READ_ONCE.lock().unwrap_or_else(PoisonError::into_inner);
        self.what.files.iter().find(|file| files.contains(*file))
    }

    /// Reports that a renewal needs a restart, if it does.
    fn warn_of_restart(&self, denied: Option<&PathBuf>) -> bool {
        let (certificate, user) = (&self.what.name, nix::unistd::geteuid());
        if let Some(file) = denied {
            let file = file.display();
            tracing::warn!(
                certificate,
                %file,
                "a renewed certificate needs a restart: user {user} may not read its file after \
                 the start; change its group and mode, and those of its folder"
            );
        } else if let Some(file) = self.read_once() {
            let file = file.display();
            tracing::warn!(
                certificate,
                %file,
                "a renewed certificate needs a restart: the sandbox has no access to its folder, \
                 where databases or keys are; move it to another folder"
            );
        } else {
            return false;
        }
        true
    }

    fn used(&self, state: &mut State, stamps: Vec<Option<Stamp>>) {
        if state.stamps != stamps || state.reason.is_some() {
            let certificate = &self.what.name;
            tracing::info!(certificate, "certificate files read again: new connections use them");
        }
        state.stamps = stamps;
        (state.reason, state.is_failure) = (None, false);
        OUTDATED.with_label_values(&[&self.what.name]).set(0);
    }

    /// Logs each reason once. Certificate and key are replaced one after the other, so that the
    /// first check may be between both.
    fn not_used(&self, state: &mut State, reason: String, is_requested: bool) {
        let is_known = state.reason.as_ref() == Some(&reason);
        state.is_failure |= state.reason.is_some() || is_requested;
        if !is_known || is_requested {
            let certificate = &self.what.name;
            tracing::warn!(
                certificate,
                reason,
                "changed certificate files not used, connections have the former ones: replace \
                 those that do not fit; they are read again within a minute"
            );
        }
        state.reason = Some(reason);
        OUTDATED.with_label_values(&[&self.what.name]).set(state.is_failure.into());
    }

    fn report(&self) -> Report {
        let in_use = (self.what.in_use)();
        let state = self.state();
        Report {
            file: self.what.files.first().cloned().unwrap_or_default(),
            in_use,
            needs_restart: state.needs_restart,
            failure: state.reason.clone().filter(|_| state.is_failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A certificate and a key, which fit together if they have the same text.
    struct Pair {
        folder: PathBuf,
        used: Arc<Mutex<String>>,
        watched: Watched,
    }

    impl Pair {
        fn new(name: &str) -> Pair {
            let folder =
                std::env::temp_dir().join(format!("martlet-pair-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            let files = [folder.join("own.pem"), folder.join("own-key.pem")];
            for file in &files {
                std::fs::write(file, "first").unwrap();
            }
            let used = Arc::new(Mutex::new("first".to_string()));
            let (in_use, read) = (used.clone(), files.clone());
            let reload: ReloadFiles = Box::new(move || {
                let [certificate, key] =
                    [std::fs::read_to_string(&read[0])?, std::fs::read_to_string(&read[1])?];
                if certificate.is_empty() || certificate != key {
                    return Err("the certificate does not fit the key".into());
                }
                *in_use.lock().unwrap() = certificate;
                Ok(())
            });
            let watched = Watched::new(CertificateFiles {
                name: format!("pair-{name}"),
                files: files.to_vec(),
                reload,
                in_use: Box::new(Vec::new),
            });
            watched.check(false);
            Pair { folder, used, watched }
        }

        /// Replaces a file as `martlet pki renew` does.
        fn replace(&self, file: &str, text: &str) {
            let new = self.folder.join("new");
            std::fs::write(&new, text).unwrap();
            std::fs::rename(&new, self.folder.join(file)).unwrap();
        }

        /// Checks. Returns the pair in use, the failure, and the metric.
        fn check(&self) -> (String, Option<String>, i64) {
            self.watched.check(false);
            let used = self.used.lock().unwrap().clone();
            let outdated = OUTDATED.with_label_values(&[&self.watched.what.name]).get();
            (used, self.watched.report().failure, outdated)
        }
    }

    impl Drop for Pair {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn a_renewed_pair_is_used_when_both_files_are_replaced() {
        let pair = Pair::new("renewed");
        assert_eq!(pair.check(), ("first".into(), None, 0));
        pair.replace("own.pem", "second");
        assert_eq!(pair.check(), ("first".into(), None, 0), "half of it is no failure yet");
        pair.replace("own-key.pem", "second");
        assert_eq!(pair.check(), ("second".into(), None, 0));
        // Also if both are replaced before a check.
        pair.replace("own-key.pem", "third");
        pair.replace("own.pem", "third");
        assert_eq!(pair.check(), ("third".into(), None, 0));
    }

    #[test]
    fn a_broken_file_leaves_the_former_pair_in_use_and_is_a_failure_until_it_is_replaced() {
        let pair = Pair::new("broken");
        pair.replace("own.pem", "");
        assert_eq!(pair.check(), ("first".into(), None, 0));
        for _ in 0..2 {
            let (used, failure, outdated) = pair.check();
            assert_eq!((used.as_str(), outdated), ("first", 1));
            assert!(failure.is_some_and(|reason| reason.contains("does not fit the key")));
        }
        std::fs::remove_file(pair.folder.join("own.pem")).unwrap();
        assert!(pair.check().1.is_some(), "a missing file");
        pair.replace("own-key.pem", "second");
        pair.replace("own.pem", "second");
        assert_eq!(pair.check(), ("second".into(), None, 0));
        // The operator asks: there is nothing to wait for.
        pair.replace("own.pem", "");
        pair.watched.check(true);
        assert!(pair.watched.report().failure.is_some());
        // The former file is back.
        pair.replace("own.pem", "second");
        assert_eq!(pair.check(), ("second".into(), None, 0));
    }

    /// Kubernetes and ACME clients replace a link to the files, or to their folder.
    #[test]
    fn symbolic_links_are_followed_at_each_check() {
        let pair = Pair::new("links");
        for text in ["one", "two"] {
            let folder = pair.folder.join(text);
            std::fs::create_dir(&folder).unwrap();
            for file in ["own.pem", "own-key.pem"] {
                std::fs::write(folder.join(file), text).unwrap();
            }
        }
        let link = |text: &str| {
            symlink(text, pair.folder.join("new")).unwrap();
            std::fs::rename(pair.folder.join("new"), pair.folder.join("..data")).unwrap();
        };
        link("one");
        for file in ["own.pem", "own-key.pem"] {
            std::fs::remove_file(pair.folder.join(file)).unwrap();
            symlink(format!("..data/{file}"), pair.folder.join(file)).unwrap();
        }
        assert_eq!(pair.check().0, "one");
        link("two");
        assert_eq!(pair.check(), ("two".into(), None, 0));
    }

    #[test]
    fn a_file_of_the_start_alone_needs_a_restart() {
        let pair = Pair::new("once");
        let report = pair.watched.report();
        assert!(!report.needs_restart && report.failure.is_none());
        *READ_ONCE.lock().unwrap() = vec![pair.folder.join("own-key.pem")];
        // As at the next start.
        *pair.watched.state() = State::default();
        pair.watched.check(false);
        let report = pair.watched.report();
        assert!(report.needs_restart && report.failure.is_none());
        *READ_ONCE.lock().unwrap() = Vec::new();
        pair.watched.check(false);
        assert!(!pair.watched.report().needs_restart);
    }

    #[test]
    fn a_file_counts_as_replaced_if_both_stamps_are_known() {
        let stamp = |size| Some(Stamp { file: (1, 2), size, modified: (3, 4), changed: (5, 6) });
        assert!(!is_replaced(&[stamp(1), stamp(2)], &[stamp(1), None]));
        assert!(!is_replaced(&[None], &[stamp(1)]));
        assert!(is_replaced(&[None, stamp(2)], &[None, stamp(3)]));
    }
}
