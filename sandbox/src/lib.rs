//! The rights of a process, reduced to what its network function needs.
//!
//! | part | what it takes away |
//! | --- | --- |
//! | `user` | root: the process runs as a user of its own |
//! | `capabilities` | capabilities(7) that the function does not need, in all threads |
//! | `file_access` | files and folders, by Landlock, where the kernel has it |
//! | `seccomp` | system calls that are not in the function's list |
//! | `limits` | core dumps, and unlimited files and threads |
//!
//! `memory` keeps the memory of functions that have keys from swap.
//!
//! A process calls [`enter`] before it starts a thread or opens a socket, then opens what it needs,
//! and calls [`Entered::seal`] when it is ready:
//!
//! ```
//! use martlet_sandbox::{Policy, SeccompMode, Settings, enter};
//! let policy = Policy { name: "nrf".into(), filters: vec!["nrf"], ..Policy::default() };
//! let settings = Settings { seccomp: SeccompMode::Off, landlock: false, ..Settings::default() };
//! let entered = enter(policy, &settings);
//! // Open databases, sockets and devices here.
//! let rights = entered.seal();
//! assert!(rights.no_new_privileges);
//! ```
//!
//! # Errors
//! None stops the process: in a container, some steps are not permitted. Rights that could not be
//! taken away are in [`Rights::kept`], and in one warning of the log.

mod capabilities;
mod error;
mod file_access;
mod handover;
mod limits;
mod memory;
mod process;
mod seccomp;
mod user;

pub use caps::{Capability, CapsHashSet};
use error::ReductionError;
pub use file_access::{FileAccess, has_landlock};
pub use handover::{
    HandoverError, JOURNALS, check_files, folder_of, give_file, hand_over, own_database, own_file,
    owner_of_new_files, private_folder, remove_stale_socket, share_folder, share_with_group,
};
pub use process::ProcessRights;
pub use seccomp::{FILTERS, FilterError, SeccompMode, compile};
pub use user::{User, UserError, is_mapped, is_root};

use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// What a process needs.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Name of the function, for the log.
    pub name: String,
    /// Capabilities until [`Entered::seal`].
    pub start: CapsHashSet,
    /// Capabilities from then on.
    pub runtime: CapsHashSet,
    /// Files and folders.
    pub files: FileAccess,
    /// Whether it runs other programs. They inherit its capabilities and system calls.
    pub executes: bool,
    /// Names of the lists of system calls. Empty: no filter.
    pub filters: Vec<&'static str>,
    /// Whether it remains root, to start processes of others. They inherit its filter: a call that
    /// is not in its lists fails with EPERM, and does not end the process.
    pub stays_root: bool,
    /// Whether its memory has keys, and must not be written to swap.
    pub locks_memory: bool,
    /// Why the process keeps all rights, if it does.
    pub exempt: Option<&'static str>,
}

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The user to become, if this process is root's.
    pub user: Option<User>,
    /// What happens at a system call that is not in the list.
    pub seccomp: SeccompMode,
    /// Whether to restrict file access, if the kernel can.
    pub landlock: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { user: None, seccomp: SeccompMode::Kill, landlock: true }
    }
}

/// The rights of this process as it knows them.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rights {
    /// The effective user.
    pub uid: u32,
    /// Effective capabilities, without `CAP_`, sorted.
    pub capabilities: Vec<String>,
    /// Whether programs that it runs can gain privileges.
    pub no_new_privileges: bool,
    /// `kill`, `errno`, `log`, or why there is no filter.
    pub seccomp: String,
    /// The version of Landlock, or why file access is not restricted.
    pub landlock: String,
    /// Whether its memory may be swapped out: `locked`, `locked at start`, `not locked`, or
    /// `swappable` without keys.
    pub memory: String,
    /// What could not be taken away, and why.
    pub kept: Vec<String>,
}

/// A forked process has other rights than its parent.
static RIGHTS: Mutex<Option<&'static Rights>> = Mutex::new(None);

/// The rights of this process after [`Entered::seal`].
pub fn rights() -> Option<&'static Rights> {
    *RIGHTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process between [`enter`] and [`Entered::seal`].
#[must_use = "the process keeps the rights of its start until `seal`"]
#[derive(Debug)]
pub struct Entered {
    policy: Policy,
    seccomp: SeccompMode,
    rights: Rights,
}

/// Takes away what the function needs neither for its start nor later. Must be called before
/// this process starts a thread: threads inherit the restrictions.
pub fn enter(policy: Policy, settings: &Settings) -> Entered {
    let mut rights = Rights::default();
    if let Some(why) = policy.exempt {
        rights.kept.push(why.into());
        rights.landlock = "off".into();
        return Entered { policy, seccomp: SeccompMode::Off, rights };
    }
    let mut keep = |what: &str, outcome: Result<(), ReductionError>| {
        if let Err(why) = outcome {
            rights.kept.push(format!("{what}: {why}"));
        }
    };
    keep("limits", limits::apply());
    if policy.locks_memory {
        memory::raise_limit();
    }
    keep("bounding set", capabilities::bound(&policy.start));
    if user::is_root() && !policy.stays_root {
        let outcome = match &settings.user {
            Some(user) => capabilities::keep_over_change_of_user().and_then(|()| user.assume()),
            None => Err(ReductionError::NoUser),
        };
        keep("user root", outcome);
    }
    keep("capabilities", capabilities::reduce(&policy.start, policy.executes));
    let no_new_privs = nix::sys::prctl::set_no_new_privs();
    let failed = |error| ReductionError::Call { call: "prctl", error };
    keep("no_new_privs", no_new_privs.map_err(failed));
    // The change of user made /proc/self unreadable, which the start still reads.
    let _ = nix::sys::prctl::set_dumpable(true);
    rights.landlock = match (settings.landlock, policy.stays_root) {
        (false, _) => "off".into(),
        (true, true) => "none".into(),
        (true, false) => policy.files.restrict(policy.executes),
    };
    Entered { policy, seccomp: settings.seccomp, rights }
}

impl Entered {
    /// Takes away what only the start needed, and applies the filter of system calls, in all
    /// threads. Logs what could not be taken away.
    pub fn seal(self) -> &'static Rights {
        let Entered { policy, seccomp, mut rights } = self;
        rights.memory = if policy.locks_memory { lock_memory(&policy) } else { "swappable".into() };
        if policy.exempt.is_none()
            && let Err(why) = capabilities::reduce_all_threads(&policy.runtime)
        {
            rights.kept.push(format!("capabilities of the start: {why}"));
        }
        let seccomp = match (seccomp, policy.stays_root) {
            (SeccompMode::Kill, true) => SeccompMode::Errno,
            (mode, _) => mode,
        };
        rights.seccomp = match (seccomp, policy.filters.is_empty()) {
            (SeccompMode::Off, _) => "off".into(),
            (_, true) => "none".into(),
            (mode, false) => match seccomp::apply(&policy.filters, mode, policy.executes) {
                Ok(()) => mode.to_string(),
                Err(error) => {
                    rights.kept.push(format!("system calls: {error}"));
                    "not permitted".into()
                }
            },
        };
        rights.uid = nix::unistd::geteuid().as_raw();
        rights.capabilities = capabilities::effective();
        rights.no_new_privileges = nix::sys::prctl::get_no_new_privs().unwrap_or(false);
        let (user, seccomp, landlock) = (rights.uid, &rights.seccomp, &rights.landlock);
        let capabilities = rights.capabilities.join(" ");
        let process = &policy.name;
        if rights.kept.is_empty() {
            tracing::info!(process, user, capabilities, %seccomp, %landlock, "rights reduced");
        } else {
            let kept = rights.kept.join("; ");
            tracing::warn!(process, user, capabilities, %seccomp, %landlock, kept,
                "process keeps rights that it does not need");
        }
        let rights: &Rights = Box::leak(Box::new(rights));
        *RIGHTS.lock().unwrap_or_else(PoisonError::into_inner) = Some(rights);
        rights
    }
}

/// Locks memory with keys, and warns where they may get to a swap space.
fn lock_memory(policy: &Policy) -> String {
    let locked = memory::lock();
    let process = &policy.name;
    match &locked {
        memory::Locked::All => {}
        memory::Locked::Start if memory::has_swap() => {
            tracing::warn!(process, "keys may be written to swap: set RLIMIT_MEMLOCK to unlimited");
        }
        memory::Locked::Nothing(reason) if memory::has_swap() => {
            tracing::warn!(process, %reason, "keys may be written to swap");
        }
        other => tracing::debug!(process, ?other, "memory not locked; the machine has no swap"),
    }
    locked.to_string()
}
