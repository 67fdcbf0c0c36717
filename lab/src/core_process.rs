//! A core of its own for an experiment: started from this program's binary, observed through
//! `/proc`, ended by signal.
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a core may take to come up, and to end.
const START: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(20);

/// A core at work.
pub struct CoreProcess {
    child: Child,
    oam: SocketAddr,
    /// From the start of the process until every function answered.
    pub ready: Duration,
}

/// What the processes of a core use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Resident kilobytes, pages that processes share counted in each.
    pub resident_kb: u64,
    /// Resident kilobytes, shared pages counted once.
    pub proportional_kb: u64,
    /// Processor time since the start, in milliseconds.
    pub cpu_ms: u64,
    /// The same in nanoseconds.
    pub cpu_ns: u64,
    /// Processes.
    pub processes: usize,
}

impl CoreProcess {
    /// Starts `martlet up` with a configuration and waits until `functions` network functions
    /// answer. The log goes to `core.log` in the folder, in the detail of `MARTLET_CORE_LOG`
    /// (warn).
    pub fn start(
        binary: &Path,
        config: &Path,
        folder: &Path,
        arguments: &[&str],
        oam: SocketAddr,
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
        let mut core = CoreProcess { child, oam, ready: Duration::ZERO };
        while core.functions() < functions {
            if let Some(status) = core.child.try_wait()? {
                let log = std::fs::read_to_string(folder.join("core.log")).unwrap_or_default();
                bail!("the core ended at its start ({status}):\n{log}");
            }
            if started.elapsed() > START {
                let log = std::fs::read_to_string(folder.join("core.log")).unwrap_or_default();
                bail!("the core did not come up within {START:?}:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        core.ready = started.elapsed();
        Ok(core)
    }

    /// The functions that its status endpoint lists and that others find through the NRF; 0 while
    /// it does not answer.
    fn functions(&self) -> usize {
        let status = self.status().unwrap_or_default();
        let nfs = status["nfs"].as_array().map_or(&[][..], Vec::as_slice);
        let nrf = nfs.iter().find(|nf| nf["name"] == "nrf");
        let known = nrf
            .and_then(|nrf| nrf["status"]["registered"].as_array())
            .map_or(&[][..], Vec::as_slice);
        let is_found = |nf: &&serde_json::Value| {
            // The UPF has no services, and the NRF is configured.
            nf["name"] == "nrf"
                || nf["name"] == "upf"
                || known.iter().any(|entry| entry["id"] == nf["instanceId"])
        };
        nfs.iter().filter(is_found).count()
    }

    /// What its status endpoint says.
    pub fn status(&self) -> Result<serde_json::Value> {
        self.status_at(0)
    }

    /// What the endpoint of one of its processes says, so many ports after the core's own: a
    /// function's place among those that are started, from 1.
    pub fn status_at(&self, offset: u16) -> Result<serde_json::Value> {
        let oam = SocketAddr::new(self.oam.ip(), self.oam.port() + offset);
        let mut stream = TcpStream::connect_timeout(&oam, Duration::from_millis(200))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        write!(stream, "GET /status HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.oam)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("an answer without a body")?;
        Ok(serde_json::from_str(body)?)
    }

    /// What it uses at the moment, its children included.
    pub fn usage(&self) -> Usage {
        usage(&family(self.child.id()))
    }

    /// What its network functions use at the moment: without the process that started them, unless
    /// they are in it.
    pub fn usage_of_functions(&self) -> Usage {
        let mut family = family(self.child.id());
        if family.len() > 1 {
            family.remove(0);
        }
        usage(&family)
    }

    /// The process among the core's own whose command line contains the text.
    pub fn process_of(&self, text: &str) -> Option<u32> {
        family(self.child.id()).into_iter().find(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        })
    }

    /// The process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// It and its children.
    pub fn family(&self) -> Vec<u32> {
        family(self.child.id())
    }

    /// Kills it with all its processes, as a loss of power would.
    pub fn kill(mut self) -> Result<()> {
        for pid in family(self.child.id()) {
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
        self.child.wait()?;
        Ok(())
    }

    /// Ends it in order.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > END {
                self.child.kill()?;
                self.child.wait()?;
                bail!("the core did not end within {END:?} and was killed");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for CoreProcess {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn usage(pids: &[u32]) -> Usage {
    let mut usage = Usage::default();
    for pid in pids {
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        usage.resident_kb += field_kb(&read("status"), "VmRSS:");
        usage.proportional_kb += field_kb(&read("smaps_rollup"), "Pss:");
        let time = ClockId::pid_cpu_clock_id(Pid::from_raw(*pid as i32)).and_then(clock_gettime);
        usage.cpu_ns +=
            time.map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64);
        usage.processes += 1;
    }
    usage.cpu_ms = usage.cpu_ns / 1_000_000;
    usage
}

/// A process and its children.
fn family(parent: u32) -> Vec<u32> {
    let mut pids = vec![parent];
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
        .unwrap_or_default();
    pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    pids
}

fn field_kb(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
