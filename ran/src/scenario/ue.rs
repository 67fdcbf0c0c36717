//! A UE in a scenario.
use crate::gnb::{Ue, UeError};
use crate::positioning::Positioning;
use crate::user_plane::Namespace;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

/// A step that failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) cause: Option<u8>,
    pub(super) text: String,
}

impl From<UeError> for Failure {
    fn from(error: UeError) -> Self {
        // A cause with which the UE itself refused is no reject by the core.
        let cause = match &error {
            UeError::Aborted(_) => None,
            error => error.cause(),
        };
        Failure { cause, text: error.to_string() }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure { cause: None, text }
    }
}

pub(super) type Outcome = Result<(), Failure>;

/// The process group of a running program. Dropping it kills the program and all that it has
/// started, as when its time is over or the scenario is interrupted.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// The group that a child leads.
    fn of(child: &Child) -> Self {
        ProcessGroup(i32::try_from(child.id()).ok().map(Pid::from_raw))
    }

    /// The program has ended. Its identity may soon be that of another process.
    fn ended(mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

/// A UE of a scenario.
pub(super) struct ScenarioUe {
    pub(super) handle: Ue,
    pub(super) group: usize,
    pub(super) number: u32,
    pub(super) gnb: String,
    /// PDU session identity of each session of the group's list.
    pub(super) sessions: Mutex<BTreeMap<usize, u8>>,
    /// Runs until the UE is dropped.
    pub(super) _positioning: Option<Positioning>,
}

impl ScenarioUe {
    pub(super) fn set_session(&self, index: usize, psi: u8) {
        self.sessions.lock().unwrap_or_else(|e| e.into_inner()).insert(index, psi);
    }

    pub(super) fn psi(&self, index: usize) -> Result<u8, Failure> {
        let sessions = self.sessions.lock().unwrap_or_else(|e| e.into_inner());
        sessions
            .get(&index)
            .copied()
            .ok_or_else(|| Failure::from(format!("session {index} is not established")))
    }

    /// Runs a program inside or outside the UE's namespace. Exit code 0 is success.
    pub(super) async fn run(&self, command: Vec<String>, inside: bool, limit: Duration) -> Outcome {
        let status = self.handle.status().await?;
        let address = status.sessions.iter().find_map(|session| session.ipv4);
        let command: Vec<String> = command
            .into_iter()
            .map(|word| {
                let word = word.replace("{imsi}", self.handle.supi().trim_start_matches("imsi-"));
                let word = word.replace("{netns}", status.netns.as_deref().unwrap_or_default());
                word.replace("{ip}", &address.map(|ip| ip.to_string()).unwrap_or_default())
            })
            .collect();
        let netns = match (inside, status.netns) {
            (false, _) => None,
            (true, Some(netns)) => Some(netns),
            (true, None) => {
                let why = "the UE has no network namespace: it has no session, or `netns` is none";
                return Err(Failure::from(why.to_owned()));
            }
        };
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        let (program, arguments) = (program.clone(), arguments.to_vec());
        let what = command.join(" ");
        let start = move || {
            std::process::Command::new(&program)
                .args(&arguments)
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .process_group(0)
                .spawn()
        };
        // The program inherits the namespace of the thread that starts it.
        let started = tokio::task::spawn_blocking(move || {
            let child = match netns {
                Some(netns) => Namespace::open(&netns, false)?.run(start),
                None => start(),
            };
            child.map(|child| (ProcessGroup::of(&child), child))
        });
        let started = started.await.map_err(|e| Failure::from(e.to_string()))?;
        let (group, child) = started.map_err(|e| Failure::from(format!("`{what}`: {e}")))?;
        // The output is read while the program runs, so that the pipe does not fill.
        let mut output = tokio::task::spawn_blocking(move || child.wait_with_output());
        let output = match tokio::time::timeout(limit, &mut output).await {
            Ok(output) => output,
            Err(_) => {
                drop(group);
                let _ = output.await;
                return Err(Failure::from(format!("`{what}` did not end within {limit:?}")));
            }
        };
        group.ended();
        let output = output.map_err(|e| Failure::from(e.to_string()))?;
        let output = output.map_err(|e| Failure::from(format!("`{what}`: {e}")))?;
        if output.status.success() {
            return Ok(());
        }
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        let last = printed.trim().lines().last().unwrap_or_default();
        Err(Failure::from(format!("`{what}` ended with {}: {last}", output.status)))
    }
}
