//! The process of a core: started with `martlet up`, observed through `/proc` and its OAM endpoint,
//! stopped by signals.
use crate::process_usage::{cpu_ns, proportional_kb, resident_kb};
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Timeouts for the start and the shutdown of a core. In valgrind, both take long.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running core.
pub struct CoreProcess {
    child: Child,
    /// The OAM socket of the core.
    oam: PathBuf,
    /// Time from the start of the process until every function was ready.
    pub ready: Duration,
}

/// What the processes of a core use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Resident kilobytes; shared pages are counted in each process.
    pub resident_kb: u64,
    /// Proportional set size in kilobytes; shared pages are counted once.
    pub proportional_kb: u64,
    /// CPU time since the start, in milliseconds.
    pub cpu_ms: u64,
    /// CPU time since the start, in nanoseconds.
    pub cpu_ns: u64,
    /// Number of processes.
    pub processes: usize,
}

impl CoreProcess {
    /// Starts `martlet up` with a configuration and waits until `functions` network functions are
    /// ready. The log goes to `core.log` in the folder; `MARTLET_CORE_LOG` is its level (warn).
    ///
    /// # Errors
    /// The program cannot be started, ends, or is not ready in time.
    pub fn start(
        binary: &Path,
        config: &Path,
        folder: &Path,
        arguments: &[&str],
        oam: &Path,
        functions: usize,
    ) -> Result<Self> {
        let log = std::fs::File::create(folder.join("core.log"))?;
        let level = std::env::var("MARTLET_CORE_LOG").unwrap_or_else(|_| "warn".into());
        let started = Instant::now();
        let child = Command::new(binary)
            .args(["--log", &level, "up", "-c"])
            .arg(config)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut core = CoreProcess { child, oam: oam.to_path_buf(), ready: Duration::ZERO };
        while core.functions() < functions {
            if let Some(status) = core.child.try_wait()? {
                let log = std::fs::read_to_string(folder.join("core.log")).unwrap_or_default();
                bail!("the core failed to start ({status}):\n{log}");
            }
            if started.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(folder.join("core.log")).unwrap_or_default();
                bail!("the core was not ready within {START_TIMEOUT:?}:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        core.ready = started.elapsed();
        Ok(core)
    }

    /// Number of functions that the OAM endpoint lists and that are registered with the NRF; 0
    /// while the endpoint does not answer.
    fn functions(&self) -> usize {
        let status = self.status().unwrap_or_default();
        let nfs = status["nfs"].as_array().map_or(&[][..], Vec::as_slice);
        let nrf = nfs.iter().find(|nf| nf["name"] == "nrf");
        let registered = nrf
            .and_then(|nrf| nrf["status"]["registered"].as_array())
            .map_or(&[][..], Vec::as_slice);
        let is_ready = |nf: &&serde_json::Value| {
            // The UPF has no SBI services, and the NRF does not register with itself.
            nf["name"] == "nrf"
                || nf["name"] == "upf"
                || registered.iter().any(|entry| entry["id"] == nf["instanceId"])
        };
        nfs.iter().filter(is_ready).count()
    }

    /// The status of the core, from its OAM endpoint.
    ///
    /// # Errors
    /// The endpoint does not answer.
    pub fn status(&self) -> Result<serde_json::Value> {
        status_at(&self.oam)
    }

    /// The status of the process of one function.
    ///
    /// # Errors
    /// The endpoint does not answer.
    pub fn status_of(&self, function: &str) -> Result<serde_json::Value> {
        let stem = self.oam.file_stem().and_then(|stem| stem.to_str()).unwrap_or("oam");
        status_at(&self.oam.with_file_name(format!("{stem}-{function}.sock")))
    }

    /// What the core uses now, all processes together.
    pub fn usage(&self) -> Usage {
        usage(&family(self.child.id()))
    }

    /// What the network functions use now: without the supervisor, where they have processes of
    /// their own.
    pub fn usage_of_functions(&self) -> Usage {
        let mut family = family(self.child.id());
        if family.len() > 1 {
            family.remove(0);
            // A part of the supervisor.
            let fork_server = self.process_of("fork-server");
            family.retain(|pid| Some(*pid) != fork_server);
        }
        usage(&family)
    }

    /// The first process of the core whose command line contains the text.
    pub fn process_of(&self, text: &str) -> Option<u32> {
        family(self.child.id()).into_iter().find(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        })
    }

    /// The ID of the process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The IDs of the started process and its children.
    pub fn family(&self) -> Vec<u32> {
        family(self.child.id())
    }

    /// Kills all processes of the core with SIGKILL.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn kill(mut self) -> Result<()> {
        for pid in family(self.child.id()) {
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
        self.child.wait()?;
        Ok(())
    }

    /// Stops the core with SIGTERM and waits for its end.
    ///
    /// # Errors
    /// The core did not end in time and was killed.
    pub fn stop(mut self) -> Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let signalled = Instant::now();
        while self.child.try_wait()?.is_none() {
            if signalled.elapsed() > STOP_TIMEOUT {
                self.child.kill()?;
                self.child.wait()?;
                bail!("the core did not end within {STOP_TIMEOUT:?} and was killed");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for CoreProcess {
    fn drop(&mut self) {
        let _ = self.shut_down();
    }
}

/// The status that a process gives at its OAM socket.
///
/// # Errors
/// The endpoint does not answer.
pub fn status_at(socket: &Path) -> Result<serde_json::Value> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(stream, "GET /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("the answer has no body")?;
    Ok(serde_json::from_str(body)?)
}

pub(super) fn usage(pids: &[u32]) -> Usage {
    let mut usage = Usage { processes: pids.len(), ..Usage::default() };
    for pid in pids {
        usage.resident_kb += resident_kb(*pid);
        usage.proportional_kb += proportional_kb(*pid);
        usage.cpu_ns += cpu_ns(*pid);
    }
    usage.cpu_ms = usage.cpu_ns / 1_000_000;
    usage
}

/// The IDs of a process, its children, and theirs.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut pids = vec![ancestor];
    let mut at = 0;
    while let Some(pid) = pids.get(at).copied() {
        at += 1;
        pids.extend(children(pid));
    }
    pids
}

/// The IDs of the children that the threads of a process have started.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let mut pids = Vec::new();
    // Each thread has a list of its own.
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
    for thread in threads.flatten() {
        let children = std::fs::read_to_string(thread.path().join("children"));
        let children = children.unwrap_or_default();
        pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    pids
}

/// The IDs of a process and its children.
pub(crate) fn family(parent: u32) -> Vec<u32> {
    let mut pids = vec![parent];
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
        .unwrap_or_default();
    pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    pids
}
