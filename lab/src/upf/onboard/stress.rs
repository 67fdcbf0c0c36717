//! Background load on another CPU: `stress-ng`, or where it is not installed a process of this
//! program, with or without memory accesses.
use anyhow::{Context, Result, ensure};
use clap::Args;
use nix::sched::{CpuSet, sched_setaffinity};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Kinds of load, and the arguments of `stress-ng`. `computing` has no memory accesses; it shows
/// whether memory matters, or that two CPUs share a core.
pub const KINDS: [(&str, &[&str]); 4] = [
    ("none", &[]),
    ("computing", &["--cpu", "1", "--cpu-method", "loop"]),
    ("sparse", &["--vm", "1", "--vm-bytes", "64M", "--vm-hang", "1"]),
    ("frequent", &["--stream", "1", "--stream-l3-size", "16M"]),
];

/// A running `stress-ng`, which is stopped on drop.
pub struct Stress(Option<Child>);

impl Stress {
    /// Starts the load on the first CPU.
    ///
    /// # Errors
    /// Neither `stress-ng` nor this program can be started.
    pub fn start(name: &str, arguments: &[&str]) -> Result<Stress> {
        if arguments.is_empty() {
            return Ok(Stress(None));
        }
        let mut command = Command::new("stress-ng");
        command.args(arguments).args(["--taskset", "0", "--timeout", "300"]);
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let child = quiet(&mut command)
            .or_else(|_| quiet(Command::new(std::env::current_exe()?).args(["memory-load", name])));
        let mut child = child.context("`stress-ng` is missing: install the package stress-ng")?;
        std::thread::sleep(Duration::from_millis(500));
        ensure!(child.try_wait()?.is_none(), "the background load has ended");
        Ok(Stress(Some(child)))
    }
}

/// Loads the first CPU for 300 seconds, as `stress-ng` would.
#[derive(Debug, Clone, Args)]
pub struct MemoryLoadArgs {
    /// computing, sparse or frequent
    kind: String,
}

/// Words of the array of the frequent load: 16 MB, more than most caches.
const WORDS: usize = 2 << 20;

/// Runs a background load.
///
/// # Errors
/// The kind is unknown.
pub fn use_memory(args: &MemoryLoadArgs) -> Result<()> {
    ensure!(KINDS.iter().any(|(kind, _)| *kind == args.kind), "no load {:?}", args.kind);
    let mut first = CpuSet::new();
    first.set(0)?;
    sched_setaffinity(nix::unistd::Pid::from_raw(0), &first)?;
    let end = std::time::Instant::now() + Duration::from_secs(300);
    let (from, mut to) = (vec![1u64; WORDS], vec![0u64; WORDS]);
    let mut sum = 0u64;
    while std::time::Instant::now() < end {
        match args.kind.as_str() {
            "computing" => (0..1_000_000u64).for_each(|n| sum = std::hint::black_box(sum ^ n)),
            "sparse" => {
                to.fill(std::hint::black_box(sum));
                std::thread::sleep(Duration::from_secs(1));
            }
            // The triad of STREAM.
            _ => to.iter_mut().zip(&from).for_each(|(to, from)| *to += *from * 3),
        }
        std::hint::black_box(&mut to);
    }
    Ok(())
}

impl Drop for Stress {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // On SIGTERM it ends its own children too.
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(child.id() as i32),
                nix::sys::signal::SIGTERM,
            );
            let _ = child.wait();
        }
    }
}
