//! Whether a process hangs that owes an answer. Some requests take a minute, such as positioning.
//! A process that hangs does not answer a second, short request either, so that its caller need not
//! wait that long.
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

/// Time without an answer after which the process is probed, and between two probes.
const INTERVAL: Duration = Duration::from_secs(2);
/// Time limit of a probe. Together, a process that hangs is known after 5 s.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// The process hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hangs;

/// Waits for an answer while `probe` ends in time, however it ends.
///
/// # Errors
/// A probe did not end in time.
pub async fn unless_hung<T, P: Future>(
    answer: impl Future<Output = T>,
    probe: impl Fn() -> P,
) -> Result<T, Hangs> {
    unless_hung_for(answer, probe, INTERVAL, PROBE_TIMEOUT).await
}

async fn unless_hung_for<T, P: Future>(
    answer: impl Future<Output = T>,
    probe: impl Fn() -> P,
    interval: Duration,
    limit: Duration,
) -> Result<T, Hangs> {
    let hangs = async {
        loop {
            tokio::time::sleep(interval).await;
            if tokio::time::timeout(limit, probe()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        answer = answer => Ok(answer),
        () = hangs => Err(Hangs),
    }
}

/// A process that hangs, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct HungProcess {
    /// Its number, where the kernel reports it.
    pub pid: Option<i32>,
    /// Whether a signal stopped it (SIGSTOP).
    pub is_stopped: bool,
}

impl HungProcess {
    /// The process that listens at a unix socket.
    pub async fn at(socket: &Path) -> HungProcess {
        let stream = UnixStream::connect(socket).await;
        let pid = stream.ok().and_then(|stream| stream.peer_cred().ok()?.pid());
        // 0: it is in another namespace.
        let pid = pid.filter(|pid| *pid > 0);
        HungProcess { pid, is_stopped: pid.is_some_and(is_stopped) }
    }
}

impl fmt::Display for HungProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.is_stopped) {
            (Some(pid), true) => write!(
                f,
                "process {pid} is stopped by a signal: let it continue with `kill -CONT {pid}`"
            ),
            (Some(pid), false) => write!(
                f,
                "process {pid} hangs: end it with `kill -KILL {pid}`, and start it again unless \
                 its supervisor or systemd does"
            ),
            (None, _) => write!(f, "its process hangs: end it, and start it again"),
        }
    }
}

/// Whether a signal has stopped a process: state `T` of proc_pid_stat(5).
fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use std::future::{pending, ready};
    use std::process::Command;

    const SHORT: Duration = Duration::from_millis(5);

    #[tokio::test]
    async fn an_answer_is_waited_for_while_probes_end() {
        let late = async {
            tokio::time::sleep(10 * SHORT).await;
            7
        };
        let answer = unless_hung_for(late, || ready(()), SHORT, SHORT).await;
        assert_eq!(answer, Ok(7));
        let answer = unless_hung_for(pending::<u8>(), pending::<()>, SHORT, SHORT).await;
        assert_eq!(answer, Err(Hangs));
    }

    #[tokio::test]
    async fn a_process_that_hangs_is_reported_with_the_command_that_helps() {
        let socket = std::env::temp_dir().join(format!("martlet-hung-{}", std::process::id()));
        let _listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let pid = std::process::id() as i32;
        let hung = HungProcess::at(&socket).await;
        std::fs::remove_file(&socket).unwrap();
        assert_eq!(hung, HungProcess { pid: Some(pid), is_stopped: false });
        assert!(hung.to_string().contains(&format!("kill -KILL {pid}")), "{hung}");

        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        kill(nix::unistd::Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
        let give_up = std::time::Instant::now() + Duration::from_secs(10);
        while !is_stopped(pid) {
            assert!(std::time::Instant::now() < give_up, "it is not stopped");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(pid));
        let hung = HungProcess { pid: Some(pid), is_stopped: true };
        assert!(hung.to_string().contains(&format!("kill -CONT {pid}")), "{hung}");
    }
}
