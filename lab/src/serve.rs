//! `martlet-lab serve`: quick runs for the console. The core may not start programs, so that it
//! asks this process, which has the rights of its own and starts nothing but experiments.
//!
//! A request is a line of JSON on a unix socket: `{"show": true}`, or `{"run": "sbi"}`. A run
//! answers with lines `{"progress": TEXT}`, and ends with `{"report": NAME}` or `{"failed": WHY}`.
//! It ends, too, when its client is gone.
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

/// Experiments that a client may start: each has a namespace of its own, and takes a minute.
const EXPERIMENTS: [&str; 4] = ["sbi", "idle", "memory", "control-plane"];
/// Maximum length of a request in bytes.
const MAX_REQUEST: u64 = 1024;
/// Longest time until a request is complete.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts quick runs that the console requests.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Socket for the core: `oam.api.lab_socket`
    #[arg(long, value_name = "FILE", default_value = "/run/martlet/lab.sock")]
    pub socket: PathBuf,
    /// Folder for reports: `oam.api.lab_reports`
    #[arg(long, value_name = "DIR", default_value = "/var/lib/martlet/lab")]
    pub out: PathBuf,
    /// User ID of the core, besides root and the own one
    #[arg(long, value_name = "UID")]
    pub user: Vec<u32>,
    /// Minutes after which a run is ended
    #[arg(long, default_value_t = 10)]
    pub limit_min: u64,
    /// Nice value of a run: with 19 it takes only CPU time that is left over
    #[arg(long, default_value_t = 19, value_parser = clap::value_parser!(u8).range(0..=19))]
    pub nice: u8,
    /// The program that runs experiments; this one if absent
    #[arg(long, value_name = "FILE", hide = true)]
    pub program: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    show: bool,
    #[serde(default)]
    run: Option<String>,
}

struct Server {
    args: ServeArgs,
    program: PathBuf,
    running: Mutex<Option<String>>,
}

/// Ends a run with all its processes when it is dropped.
struct Group(Option<i32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

/// The experiment that runs, until it is dropped.
struct Turn(Arc<Server>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Serves until the process ends.
///
/// # Errors
/// The socket cannot be made.
pub fn run(args: &ServeArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(args.clone()))
}

/// The same on the present runtime.
///
/// # Errors
/// As [`run`].
pub async fn serve(args: ServeArgs) -> Result<()> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().context("the path of this program")?,
    };
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let _ = std::fs::remove_file(&args.socket);
    let listener = UnixListener::bind(&args.socket)
        .with_context(|| format!("cannot listen at {}", args.socket.display()))?;
    // The kernel names who connects, and others are refused.
    std::fs::set_permissions(&args.socket, std::fs::Permissions::from_mode(0o666))?;
    tracing::info!(socket = %args.socket.display(), out = %args.out.display(), "lab ready");
    let server = Arc::new(Server { args, program, running: Mutex::default() });
    loop {
        let (stream, _) = listener.accept().await?;
        let server = server.clone();
        tokio::spawn(async move {
            if let Err(error) = server.answer(stream).await {
                tracing::warn!(%error, "lab request failed");
            }
        });
    }
}

async fn send(to: &mut OwnedWriteHalf, value: Value) -> Result<()> {
    Ok(to.write_all(format!("{value}\n").as_bytes()).await?)
}

impl Server {
    async fn answer(self: Arc<Self>, stream: UnixStream) -> Result<()> {
        let uid = stream.peer_cred()?.uid();
        let own = nix::unistd::getuid().as_raw();
        let is_admitted = uid == 0 || uid == own || self.args.user.contains(&uid);
        let (from, mut to) = stream.into_split();
        if !is_admitted {
            let why = format!("user {uid} may start no runs: start martlet-lab serve --user {uid}");
            return send(&mut to, json!({"failed": why})).await;
        }
        let mut line = String::new();
        let mut from = BufReader::new(from);
        let mut bounded = (&mut from).take(MAX_REQUEST);
        let read = bounded.read_line(&mut line);
        tokio::time::timeout(REQUEST_TIMEOUT, read).await.context("no request in time")??;
        let outcome = match serde_json::from_str::<Request>(&line) {
            Ok(Request { run: Some(name), .. }) => self.run(&name, from, &mut to).await,
            Ok(Request { show: true, .. }) => Ok(self.show()),
            _ => Ok(json!({"failed": "the request is neither show nor run"})),
        };
        let last = outcome.unwrap_or_else(|error| json!({"failed": format!("{error:#}")}));
        send(&mut to, last).await
    }

    fn show(&self) -> Value {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        json!({"experiments": EXPERIMENTS, "running": running, "out": self.args.out})
    }

    async fn run(
        self: &Arc<Self>,
        name: &str,
        from: BufReader<OwnedReadHalf>,
        to: &mut OwnedWriteHalf,
    ) -> Result<Value> {
        ensure!(EXPERIMENTS.contains(&name), "there is no quick run {name:?}");
        let _turn = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(other) = &*running {
                bail!("{other} runs already");
            }
            *running = Some(name.to_string());
            Turn(self.clone())
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let report = format!("{name}-{now}");
        let folder = self.args.out.join(&report);
        let limit = Duration::from_secs(self.args.limit_min * 60);
        let outcome = tokio::select! {
            outcome = self.experiment(name, &folder, to) => outcome,
            () = tokio::time::sleep(limit) => {
                Err(anyhow::anyhow!("not done within {} minutes", self.args.limit_min))
            }
            () = gone(from) => Err(anyhow::anyhow!("the client is gone")),
        };
        if outcome.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        outcome.map(|()| json!({"report": report}))
    }

    /// Runs an experiment with its nice value, and without the environment of this process.
    async fn experiment(&self, name: &str, folder: &Path, to: &mut OwnedWriteHalf) -> Result<()> {
        send(to, json!({"progress": format!("{name} begins")})).await?;
        let mut child = tokio::process::Command::new("nice")
            .args(["-n", &self.args.nice.to_string()])
            .arg(&self.program)
            .args(["--log", "warn", name, "--quick", "--out"])
            .arg(folder)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("martlet-lab does not start")?;
        let mut group = Group(child.id().map(|id| id as i32));
        let lines = child.stderr.take().context("standard error")?;
        let mut lines = BufReader::new(lines).lines();
        let mut last = String::new();
        while let Some(line) = lines.next_line().await? {
            send(to, json!({"progress": line})).await?;
            last = line;
        }
        let status = child.wait().await?;
        group.0 = None;
        ensure!(status.success(), "{name} failed: {last}");
        Ok(())
    }
}

/// Waits until the client closes the connection.
async fn gone(mut from: BufReader<OwnedReadHalf>) {
    let mut rest = [0; 64];
    while from.read(&mut rest).await.is_ok_and(|n| n > 0) {}
}
