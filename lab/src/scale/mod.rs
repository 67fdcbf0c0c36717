//! `martlet-lab scale`: many UEs. It measures a registration storm, registrations per second,
//! memory, and the recovery time after a crash of the core, its AMF or its SMF. With `--sets`: sets
//! of AMFs and SMFs over PostgreSQL. With `--registered`: many UEs with sessions at such sets.
mod delay_proxy;
mod deployment;
mod placement;
mod registered;
mod sets;
mod usl;

use crate::control_plane::testbed::{connect_gnb, new_ue};
use crate::core::{CORES, CoreArgs, CoreProcess, CoreSetup, Variant, wait_for_association};
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace, promises};
use anyhow::{Context, Result, ensure};
use clap::Args;
use futures_util::StreamExt;
use martlet_ran::{Gnb, PduSessionRequest, Samples, Ue};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Simultaneous registrations outside the storm.
const CONCURRENCY: usize = 32;
/// Timeout for a recovery.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than the flush interval, so that all contexts are persisted before the kill.
const FLUSH_TIME: Duration = Duration::from_millis(500);

/// Measures a core with many UEs; with --quick with 200, of which 50 register at the same time.
#[derive(Debug, Clone, Args)]
pub struct ScaleArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of UEs
    #[arg(long, default_value_t = 10_000)]
    pub ues: u64,
    /// How many of them register at the same time
    #[arg(long, default_value_t = 2_000)]
    pub storm: u64,
    /// Sets of AMFs, SMFs and UDRs over PostgreSQL instead: CPU time of a registration with its
    /// session by the number of members, and latency by the distance of the database
    #[arg(long)]
    pub sets: bool,
    /// Registrations at a time at each member of a set, with --sets
    #[arg(long, default_value_t = CONCURRENCY, value_name = "N")]
    pub at_a_time: usize,
    /// UEs that stay registered with a session at two AMFs and SMFs over PostgreSQL instead: cost
    /// of each by their number, takeover from a killed SMF, plans for one and for ten million UEs
    #[arg(long, conflicts_with = "sets")]
    pub registered: bool,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a UE is lost.
pub fn run(args: &ScaleArgs) -> Result<String> {
    namespace::enter_new()?;
    if args.sets {
        return sets::run(args);
    }
    if args.registered {
        return registered::run(args);
    }
    let mut output = Output::create("scale", &args.run, "variant,what,value")?
        // The promises are those of 10,000 UEs.
        .short(args.ues < 10_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ues, storm) =
        if args.run.quick { (200, 50) } else { (args.ues, args.storm.min(args.ues)) };
    runtime.block_on(measure(&args.core, ues, storm, &mut output))?;
    report(&mut output, ues, storm);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// A gNB with its registered UEs.
struct Ran {
    gnb: Gnb,
    ues: Vec<Ue>,
}

async fn establish_session(ue: &Ue) -> Result<()> {
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
    Ok(())
}

impl Ran {
    /// Registers UEs up to a total, each with a PDU session. Returns registrations per second; the
    /// time of the sessions is not included.
    async fn register_up_to(
        &mut self,
        total: u64,
        progress: &mut Progress,
        title: &str,
    ) -> Result<f64> {
        let from = self.ues.len() as u64;
        let new = (from..total).map(|n| new_ue(&self.gnb, n)).collect::<Result<Vec<_>>>()?;
        let started = Instant::now();
        let mut registered =
            futures_util::stream::iter(&new).map(|ue| ue.register()).buffer_unordered(CONCURRENCY);
        while let Some(outcome) = registered.next().await {
            outcome?;
        }
        drop(registered);
        let rate = new.len() as f64 / started.elapsed().as_secs_f64();
        let mut sessions =
            futures_util::stream::iter(&new).map(establish_session).buffer_unordered(CONCURRENCY);
        while let Some(outcome) = sessions.next().await {
            outcome?;
            progress.step(title);
        }
        drop(sessions);
        self.ues.extend(new);
        Ok(rate)
    }
}

async fn measure(program: &CoreArgs, ues: u64, storm: u64, output: &mut Output) -> Result<()> {
    let mut progress = Progress::new("UEs", 2 * ues);
    // One process: storm, rate, memory, restart of the core.
    let setup =
        CoreSetup::prepare(program, 70, "scale-local", ues, output.folder())?.for_sessions(ues);
    let core = setup.start(Variant::Local)?;
    wait_for_association(&core).await?;
    let mut ran = Ran { gnb: connect_gnb(&setup, Samples::default(), 1).await?, ues: Vec::new() };
    let new = (0..storm).map(|n| new_ue(&ran.gnb, n)).collect::<Result<Vec<_>>>()?;
    let started = Instant::now();
    let outcomes = futures_util::future::join_all(new.iter().map(Ue::register)).await;
    let seconds = started.elapsed().as_secs_f64();
    let registered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    // 5GMM cause #22: congestion, with a back-off timer.
    let backed_off = outcomes
        .iter()
        .filter(|outcome| outcome.as_ref().is_err_and(|error| error.cause() == Some(22)))
        .count();
    let mut figure = |id: &str, unit: &'static str, value: f64| -> Result<()> {
        output.row(format_args!("local,{id},{value}"))?;
        output.figure(Figure::once(format!("scale.local.{id}"), unit, value));
        Ok(())
    };
    figure("storm_registered", "UEs", registered as f64)?;
    figure("storm_backed_off", "UEs", backed_off as f64)?;
    figure("storm_lost", "UEs", (new.len() - registered - backed_off) as f64)?;
    figure("storm", "s", seconds)?;
    // UEs that backed off register now.
    for (ue, outcome) in new.iter().zip(&outcomes) {
        if outcome.is_err() {
            ue.forget_registration().await?;
            ue.register().await.with_context(|| ue.supi().to_string())?;
        }
        establish_session(ue).await?;
        progress.step("storm");
    }
    ran.ues = new;
    let rate = ran.register_up_to(ues, &mut progress, "one process").await?;
    figure("registrations", "1/s", rate)?;
    figure("resident", "MB", core.usage().resident_kb as f64 / 1e3)?;
    tokio::time::sleep(FLUSH_TIME).await;
    core.kill()?;
    ran.gnb.lost().await;
    let started = Instant::now();
    let core = setup.start(Variant::Local)?;
    let status = || core.status();
    let is_registered = |amf: &serde_json::Value| amf["ues"]["registered"] == ues;
    wait_for_status(status, "amf", RECOVERY_TIMEOUT, is_registered).await?;
    wait_for_status(status, "smf", RECOVERY_TIMEOUT, |smf| smf["sessions"] == ues).await?;
    figure("restart", "s", started.elapsed().as_secs_f64())?;
    drop(ran);
    core.stop()?;

    // One process each: SMF and AMF are killed one after the other.
    let setup =
        CoreSetup::prepare(program, 71, "scale-fabric", ues, output.folder())?.for_sessions(ues);
    let core = setup.start(Variant::Fabric)?;
    wait_for_association(&core).await?;
    let mut ran = Ran { gnb: connect_gnb(&setup, Samples::default(), 1).await?, ues: Vec::new() };
    ran.register_up_to(ues, &mut progress, "one process each").await?;
    tokio::time::sleep(FLUSH_TIME).await;
    for name in ["smf", "amf"] {
        let pid = core
            .process_of(&format!("nf {name}"))
            .with_context(|| format!("{name} has a process"))?;
        let started = Instant::now();
        kill(Pid::from_raw(pid as i32), Signal::SIGKILL)?;
        let is_complete = |nf: &serde_json::Value| match name {
            "amf" => nf["ues"]["registered"] == ues,
            _ => nf["sessions"] == ues,
        };
        wait_until(&core, name, RECOVERY_TIMEOUT, is_complete).await?;
        let seconds = started.elapsed().as_secs_f64();
        output.row(format_args!("fabric,restart_{name},{seconds}"))?;
        output.figure(Figure::once(format!("scale.fabric.restart_{name}"), "s", seconds));
    }
    drop(ran);
    core.stop()?;
    progress.done();
    Ok(())
}

/// Waits until the status of a function's own process is as wanted. The status that the supervisor
/// shows is up to a second old.
async fn wait_until(
    core: &CoreProcess,
    name: &str,
    timeout: Duration,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    wait_for_status(|| core.status_of(name), name, timeout, is).await
}

/// Waits until a function's part of a status is as wanted.
async fn wait_for_status(
    read: impl Fn() -> Result<serde_json::Value>,
    name: &str,
    timeout: Duration,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let status = read().unwrap_or_default();
        let nfs = status["nfs"].as_array().cloned().unwrap_or_default();
        let found = nfs
            .into_iter()
            .find(|nf| nf["name"] == name)
            .map(|nf| nf["status"].clone())
            .unwrap_or_default();
        if is(&found) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{name} did not recover within {timeout:?}: {found}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn report(output: &mut Output, ues: u64, storm: u64) {
    let mut text = format!(
        "{storm} UEs register at the same time, then more up to {ues}, {CONCURRENCY} at a time, \
         each with a PDU session. Then the core is killed and started again on its database. With \
         one process each, SMF and AMF are killed, and the supervisor restarts them.\n\n| figure \
         | target | measured |\n| --- | --- | --- |\n"
    );
    let ids = [
        "scale.local.storm_lost",
        "scale.local.registrations",
        "scale.local.resident",
        "scale.local.restart",
        "scale.fabric.restart_smf",
        "scale.fabric.restart_amf",
    ];
    for id in ids {
        let Some(figure) = output.find(id) else { continue };
        // That no UE is lost is not among the promised figures.
        let target = promises::bound("scale", id).unwrap_or_else(|| "0".into());
        let _ = writeln!(text, "| {id} | {target} {} | {:.2} |", figure.unit, figure.value);
    }
    let value = |id: &str| output.find(id).map_or(f64::NAN, |figure| figure.value);
    let _ = write!(
        text,
        "\nIn the storm, {} UEs registered within {:.2} s, and {} were rejected with a back-off \
         timer (5GMM \
         cause #22).\n",
        value("scale.local.storm_registered"),
        value("scale.local.storm"),
        value("scale.local.storm_backed_off")
    );
    output.text(&text);
}
