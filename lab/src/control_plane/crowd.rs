//! `martlet lab crowd`: many UEs. A storm of them at once, how many register in a second, what the
//! core then uses, and how soon it is there again when it, its AMF or its SMF is killed.
use super::Variant;
use super::bed::{CORES, Site, associated, phone};
use crate::progress::Progress;
use crate::{CoreArgs, CoreProcess, Figure, Output, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use futures_util::StreamExt;
use martlet_ran::{Gnb, PduSessionRequest, Samples, Ue};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where the processes of SMF and AMF are among those that are started.
const SMF: u16 = 8;
const AMF: u16 = 10;
/// UEs that register at the same time, outside the storm.
const AT_ONCE: usize = 32;
/// Until a restart has to be over.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than what a killed function may lose.
const SETTLE: Duration = Duration::from_millis(500);

/// Measures a core with many UEs.
#[derive(Debug, Clone, Args)]
pub struct CrowdArgs {
    /// Folder for raw data and report (lab-results/crowd-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// 200 UEs and a storm of 50, for a look
    #[arg(long)]
    pub quick: bool,
    /// Nothing here is random; taken as every lab takes it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// UEs
    #[arg(long, default_value_t = 10_000)]
    pub ues: u64,
    /// How many of them come at once
    #[arg(long, default_value_t = 2_000)]
    pub storm: u64,
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a UE is lost.
pub fn run(args: &CrowdArgs) -> Result<String> {
    namespace::enter_a_new_one()?;
    let mut output = Output::create("crowd", args.out.as_deref(), "variant,what,value")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ues, storm) = if args.quick { (200, 50) } else { (args.ues, args.storm.min(args.ues)) };
    runtime.block_on(measure(&args.core, ues, storm, &mut output))?;
    report(&mut output, ues, storm);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

struct Crowd {
    gnb: Gnb,
    phones: Vec<Ue>,
}

async fn session(phone: &Ue) -> Result<()> {
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    phone.establish_pdu_session(request).await.with_context(|| phone.supi().to_string())?;
    Ok(())
}

impl Crowd {
    /// Registers phones, so many at a time, each with a session; how many registered in a second of
    /// the registrations alone.
    async fn grow(&mut self, upto: u64, progress: &mut Progress, title: &str) -> Result<f64> {
        let from = self.phones.len() as u64;
        let new = (from..upto).map(|n| phone(&self.gnb, n)).collect::<Result<Vec<_>>>()?;
        let started = Instant::now();
        let mut registered = futures_util::stream::iter(&new)
            .map(|phone| phone.register())
            .buffer_unordered(AT_ONCE);
        while let Some(outcome) = registered.next().await {
            outcome?;
        }
        drop(registered);
        let rate = new.len() as f64 / started.elapsed().as_secs_f64();
        let mut sessions = futures_util::stream::iter(&new).map(session).buffer_unordered(AT_ONCE);
        while let Some(outcome) = sessions.next().await {
            outcome?;
            progress.step(title);
        }
        drop(sessions);
        self.phones.extend(new);
        Ok(rate)
    }
}

async fn measure(program: &CoreArgs, ues: u64, storm: u64, output: &mut Output) -> Result<()> {
    let mut progress = Progress::new("UEs", 2 * ues);
    // One process: storm, rate, size, restart of the whole.
    let site = Site::prepare(program, 70, "crowd-local", ues, output.folder())?;
    let core = site.start(Variant::Local)?;
    associated(&core).await?;
    let mut crowd = Crowd { gnb: site.gnb(Samples::default(), 1).await?, phones: Vec::new() };
    let new = (0..storm).map(|n| phone(&crowd.gnb, n)).collect::<Result<Vec<_>>>()?;
    let started = Instant::now();
    let outcomes = futures_util::future::join_all(new.iter().map(Ue::register)).await;
    let seconds = started.elapsed().as_secs_f64();
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    // #22: told to come back later.
    let told = outcomes
        .iter()
        .filter(|outcome| outcome.as_ref().is_err_and(|error| error.cause() == Some(22)))
        .count();
    let mut say = |id: &str, unit: &'static str, value: f64| -> Result<()> {
        output.row(format_args!("local,{id},{value}"))?;
        output.figure(Figure::once(format!("crowd.local.{id}"), unit, value));
        Ok(())
    };
    say("storm_registered", "UEs", done as f64)?;
    say("storm_told_to_back_off", "UEs", told as f64)?;
    say("storm_lost", "UEs", (new.len() - done - told) as f64)?;
    say("storm", "s", seconds)?;
    // Those that were told to come back do so now.
    for (phone, outcome) in new.iter().zip(&outcomes) {
        if outcome.is_err() {
            phone.forget_registration().await?;
            phone.register().await.with_context(|| phone.supi().to_string())?;
        }
        session(phone).await?;
        progress.step("storm");
    }
    crowd.phones = new;
    let rate = crowd.grow(ues, &mut progress, "one process").await?;
    say("registrations", "1/s", rate)?;
    say("resident", "MB", core.usage().resident_kb as f64 / 1e3)?;
    tokio::time::sleep(SETTLE).await;
    core.kill()?;
    crowd.gnb.lost().await;
    let started = Instant::now();
    let core = site.start(Variant::Local)?;
    until(&core, "amf", |amf| amf["ues"]["registered"] == ues).await?;
    until(&core, "smf", |smf| smf["sessions"] == ues).await?;
    say("restart", "s", started.elapsed().as_secs_f64())?;
    drop(crowd);
    core.stop()?;

    // One process each: AMF and SMF are killed alone.
    let site = Site::prepare(program, 71, "crowd-fabric", ues, output.folder())?;
    let core = site.start(Variant::Fabric)?;
    associated(&core).await?;
    let mut crowd = Crowd { gnb: site.gnb(Samples::default(), 1).await?, phones: Vec::new() };
    crowd.grow(ues, &mut progress, "one process each").await?;
    tokio::time::sleep(SETTLE).await;
    for name in ["smf", "amf"] {
        let pid = core
            .process_of(&format!("nf {name}"))
            .with_context(|| format!("{name} has a process"))?;
        let started = Instant::now();
        kill(Pid::from_raw(pid as i32), Signal::SIGKILL)?;
        // Asked itself: what the core shows of its processes is up to a second old.
        match name {
            "amf" => until_at(&core, AMF, name, |amf| amf["ues"]["registered"] == ues).await?,
            _ => until_at(&core, SMF, name, |smf| smf["sessions"] == ues).await?,
        }
        let seconds = started.elapsed().as_secs_f64();
        output.row(format_args!("fabric,restart_{name},{seconds}"))?;
        output.figure(Figure::once(format!("crowd.fabric.restart_{name}"), "s", seconds));
    }
    drop(crowd);
    core.stop()?;
    progress.done();
    Ok(())
}

/// Waits until a function says so.
async fn until(
    core: &CoreProcess,
    name: &str,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    until_at(core, 0, name, is).await
}

/// The same of one of its processes.
async fn until_at(
    core: &CoreProcess,
    offset: u16,
    name: &str,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let status = core.status_at(offset).unwrap_or_default();
        let nfs = status["nfs"].as_array().cloned().unwrap_or_default();
        let of = nfs
            .into_iter()
            .find(|nf| nf["name"] == name)
            .map(|nf| nf["status"].clone())
            .unwrap_or_default();
        if is(&of) {
            return Ok(());
        }
        ensure!(Instant::now() < give_up, "{name} is not as it should be: {of}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn report(output: &mut Output, ues: u64, storm: u64) {
    let mut text = format!(
        "{storm} UEs that register at once, then {ues} in all, {AT_ONCE} at a time, each with a \
         session. Then the core is killed and started again on its database; with one process \
         each, SMF and AMF are killed alone, and their watcher starts them.\n\n| figure | asked | \
         measured | |\n| --- | --- | --- | --- |\n"
    );
    let most = |id: &'static str, most: f64| (id, format!("≤ {most}"), most, true);
    let asked = [
        most("crowd.local.storm_lost", 0.0),
        ("crowd.local.registrations", "≥ 1000".into(), 1000.0, false),
        most("crowd.local.resident", 400.0),
        most("crowd.local.restart", 2.0),
        most("crowd.fabric.restart_smf", 2.0),
        most("crowd.fabric.restart_amf", 2.0),
    ];
    for (id, words, bound, is_most) in asked {
        let Some(figure) = output.find(id) else { continue };
        let kept = if is_most { figure.value <= bound } else { figure.value >= bound };
        let kept = if kept { "reached" } else { "**not reached**" };
        let _ = writeln!(text, "| {id} | {words} {} | {:.2} | {kept} |", figure.unit, figure.value);
    }
    let seen = |id: &str| output.find(id).map_or(f64::NAN, |figure| figure.value);
    let _ = write!(
        text,
        "\nOf the storm {} registered within {:.2} s and {} were told to come back later.\n",
        seen("crowd.local.storm_registered"),
        seen("crowd.local.storm"),
        seen("crowd.local.storm_told_to_back_off")
    );
    output.say(&text);
}
