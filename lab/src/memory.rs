//! `martlet-lab memory`: the memory that each further UE takes at each network function, by its
//! state.
//!
//! The first UEs also bring in code and tables. So the experiment registers a first part of the
//! UEs, reads the proportional set size of each process without files, registers the rest, and
//! reads it again: the difference is what these UEs cost.
use crate::control_plane::testbed::{AfterRegistration, bring, connect_gnb};
use crate::core::{CORES, CoreArgs, CoreProcess, CoreSetup, Variant, wait_for_association};
use crate::process_usage::proportional_data_kb;
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use martlet_ran::{Gnb, Samples, Ue};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// One of this many UEs belongs to the first part.
const FIRST_PART: u64 = 4;
/// Time until a function has unmapped the code of its start.
const START_TIME: Duration = Duration::from_secs(3);
/// Longer than the flush interval, so that nothing waits to be stored.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// The functions that a session's UE is counted at, and the target for all three in kilobytes.
const COUNTED: [&str; 3] = ["amf", "smf", "upf"];
const TARGET_KB: f64 = 10.0;

/// The state in which UEs rest while memory is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UeState {
    /// Registered, CM-CONNECTED, with a PDU session
    Connected,
    /// Registered, CM-IDLE, with a PDU session
    Idle,
    /// Registered, CM-IDLE, without a session
    Registered,
}

impl UeState {
    fn name(self) -> &'static str {
        match self {
            UeState::Connected => "connected",
            UeState::Idle => "idle",
            UeState::Registered => "registered",
        }
    }

    fn title(self) -> &'static str {
        match self {
            UeState::Connected => "CM-CONNECTED with a session",
            UeState::Idle => "CM-IDLE with a session",
            UeState::Registered => "CM-IDLE without a session",
        }
    }
}

/// Measures the memory of a UE; with --quick with 200 connected UEs.
#[derive(Debug, Clone, Args)]
pub struct MemoryArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of UEs
    #[arg(long, default_value_t = 8_000)]
    pub ues: u64,
    /// States to compare
    #[arg(long, value_delimiter = ',', default_value = "connected,idle,registered")]
    pub state: Vec<UeState>,
    /// Variants to compare
    #[arg(long, value_delimiter = ',', default_value = "fabric,local")]
    pub sbi: Vec<Variant>,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a UE is lost.
pub fn run(args: &MemoryArgs) -> Result<String> {
    let ues = if args.run.quick { 200 } else { args.ues };
    let states = if args.run.quick { vec![UeState::Connected] } else { args.state.clone() };
    ensure!(ues >= 2 * FIRST_PART, "--ues must be at least {}", 2 * FIRST_PART);
    ensure!(!args.sbi.is_empty() && !states.is_empty(), "--sbi and --state must not be empty");
    namespace::enter_new()?;
    let header = "sbi,state,ues,process,proportional_kb";
    let mut output = Output::create("memory", &args.run, header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let runs = args.sbi.iter().flat_map(|sbi| states.iter().map(move |state| (*sbi, *state)));
    let runs: Vec<_> = (80..).zip(runs).collect();
    let mut progress = Progress::new("UEs", ues * runs.len() as u64);
    for (number, (sbi, state)) in runs {
        let name = format!("memory-{}-{}", sbi.name(), state.name());
        let setup = CoreSetup::prepare(&args.core, number, &name, ues, output.folder())?;
        let run = Run { sbi, state, setup };
        runtime.block_on(run.measure(ues, &mut progress, &mut output)).context(name)?;
    }
    progress.done();
    report(&mut output, args, &states, ues);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// One core and the state in which its UEs rest.
struct Run {
    sbi: Variant,
    state: UeState,
    setup: CoreSetup,
}

impl Run {
    async fn measure(&self, ues: u64, progress: &mut Progress, output: &mut Output) -> Result<()> {
        let core = self.setup.start(self.sbi)?;
        wait_for_association(&core).await?;
        let gnb = connect_gnb(&self.setup, Samples::default(), 1).await?;
        tokio::time::sleep(START_TIME).await;
        let first_part = ues / FIRST_PART;
        let started = self.read(&core, 0, output).await?;
        let mut all = self.bring(&gnb, 0..first_part, progress).await?;
        let first = self.read(&core, first_part, output).await?;
        all.extend(self.bring(&gnb, first_part..ues, progress).await?);
        let last = self.read(&core, ues, output).await?;
        let mut figure = |what: &str, kb: f64| {
            let id = format!("memory.{}.{}.{what}", self.sbi.name(), self.state.name());
            output.figure(Figure::once(id, "KB", kb));
        };
        let per_ue = |process: &String| {
            let of = |at: &Reading| at.get(process).copied().unwrap_or(0) as f64;
            (of(&last) - of(&first)) / (ues - first_part) as f64
        };
        let counted = |process: &&String| COUNTED.contains(&process.as_str());
        for process in last.keys() {
            figure(process, per_ue(process));
        }
        figure("amf_smf_upf", last.keys().filter(counted).map(per_ue).sum());
        figure("all", last.keys().map(per_ue).sum());
        let sum = |at: &Reading| at.values().sum::<u64>() as f64;
        figure("started", sum(&started));
        figure("first_part", (sum(&first) - sum(&started)) / first_part as f64);
        drop(all);
        gnb.shutdown().await;
        core.stop()
    }

    /// Brings UEs into the state.
    async fn bring(
        &self,
        gnb: &Gnb,
        numbers: std::ops::Range<u64>,
        progress: &mut Progress,
    ) -> Result<Vec<Ue>> {
        let then = AfterRegistration {
            session: self.state != UeState::Registered,
            idle: self.state != UeState::Connected,
            forgotten: false,
        };
        bring(gnb, numbers, then, (progress, self.sbi.title())).await
    }

    /// The proportional set size of each process by its function, once the core is at rest.
    async fn read(&self, core: &CoreProcess, ues: u64, output: &mut Output) -> Result<Reading> {
        tokio::time::sleep(SETTLE_TIME).await;
        let (sbi, state) = (self.sbi.name(), self.state.name());
        let mut reading = Reading::new();
        for pid in core.family() {
            let kb = proportional_data_kb(pid);
            *reading.entry(function_of(pid)).or_default() += kb;
        }
        for (process, kb) in &reading {
            output.row(format_args!("{sbi},{state},{ues},{process},{kb}"))?;
        }
        output.flush()?;
        Ok(reading)
    }
}

/// Kilobytes by function.
type Reading = BTreeMap<String, u64>;

/// The function that a process of `martlet up` runs: `core` for all of them or the supervisor.
fn function_of(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let named = words.iter().skip_while(|word| *word != "nf").nth(1);
    named.map_or_else(|| "core".into(), |name| name.to_string())
}

fn report(output: &mut Output, args: &MemoryArgs, states: &[UeState], ues: u64) {
    let mut text = format!(
        "What each further UE costs, from {} to {ues} UEs: growth of the proportional set size \
         without files, in KB. The first UEs also bring in code and tables: the last \
         column has their share.\n\n\
         | | state | AMF | SMF | UPF | AMF, SMF and UPF | all functions | the first {} |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        ues / FIRST_PART,
        ues / FIRST_PART
    );
    for (variant, state) in
        args.sbi.iter().flat_map(|sbi| states.iter().map(move |state| (*sbi, *state)))
    {
        let figure = |what: &str| {
            let id = format!("memory.{}.{}.{what}", variant.name(), state.name());
            output.find(&id).map_or_else(|| "–".into(), |figure| format!("{:.1}", figure.value))
        };
        let counted = if variant == Variant::Local { "–".into() } else { figure("amf_smf_upf") };
        let [amf, smf, upf] = COUNTED.map(figure);
        let (all, first) = (figure("all"), figure("first_part"));
        let (sbi, state) = (variant.title(), state.title());
        let _ = writeln!(
            text,
            "| {sbi} | {state} | {amf} | {smf} | {upf} | {counted} | {all} | {first} |"
        );
    }
    text += "\n## Targets\n\n| figure | target | measured | |\n| --- | --- | --- | --- |\n";
    let id = "memory.fabric.connected.amf_smf_upf";
    if let Some(figure) = output.find(id) {
        let verdict = if figure.value <= TARGET_KB { "met" } else { "**missed**" };
        let _ = writeln!(text, "| {id} | ≤ {TARGET_KB} KB | {:.2} | {verdict} |", figure.value);
    }
    output.text(&text);
}
