//! `martlet-lab console`: the cost of the northbound API and the console for a core, and their
//! speed.
//!
//! | part | how it is measured |
//! | --- | --- |
//! | memory | cores with the API and without start in turn; the difference of the medians, at rest and after use |
//! | pages | a client reads all subscribers, page by page, over the unix socket |
//! | update | CPU time of the core's process with ten viewers of the overview, and with none, in turn |
//! | first paint | Chromium loads the overview of a user who is signed in, without a cache |
//! | registration | blocks of registrations with ten viewers and with none, in random order |
mod client;
mod viewers;

pub use viewers::{ViewersArgs, view};

use crate::control_plane::testbed::{connect_gnb, new_ue};
use crate::core::{CORES, CoreArgs, CoreProcess, CoreSetup, Variant, wait_for_association};
use crate::progress::Progress;
use crate::stats::{median, quantile};
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use client::Client;
use futures_util::{StreamExt, TryStreamExt};
use martlet_ran::{Gnb, PduSessionRequest, Samples, Ue};
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use viewers::Viewers;

/// Viewers at the same time.
const VIEWERS: u32 = 10;
/// UEs whose procedures run at the same time while the core is filled.
const CONCURRENCY: usize = 16;
/// Time until a core has unmapped the code of its start and is at rest.
const SETTLE_TIME: Duration = Duration::from_secs(8);
/// Time of a block of the update part.
const BLOCK: Duration = Duration::from_secs(10);
/// Registrations of a block, and the time from one to the next.
const REGISTRATIONS: usize = 100;
const PACE: Duration = Duration::from_millis(20);
/// Sizes of pages.
const PAGES: [usize; 2] = [100, 1000];

/// Measures the northbound API and the console.
#[derive(Debug, Clone, Args)]
pub struct ConsoleArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of subscribers
    #[arg(long, default_value_t = 100_000)]
    pub subscribers: u64,
    /// Number of UEs
    #[arg(long, default_value_t = 10_000)]
    pub ues: u64,
    /// Pairs of blocks of registrations, and of starts of cores
    #[arg(long)]
    pub pairs: Option<usize>,
    /// Folder with playwright-core, for the first paint (`make console-tools`)
    #[arg(long, value_name = "DIR", default_value = "target/console-tools")]
    pub tools: PathBuf,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or the API does not
/// answer.
pub fn run(args: &ConsoleArgs) -> Result<String> {
    let (subscribers, ues) = match args.run.quick {
        true => (2000, 100),
        false => (args.subscribers, args.ues),
    };
    ensure!(ues > 0 && ues < subscribers, "--ues must be between 1 and --subscribers");
    namespace::enter_new()?;
    let header = "part,variant,sample,value";
    let mut output = Output::create("console", &args.run, header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Some parts block their thread for minutes. The gNB answers heartbeats on another one.
    let handle = runtime.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let driver = std::thread::spawn(move || runtime.block_on(ended));
    let measured = handle.block_on(async {
        memory(args, &mut output).await.context("memory")?;
        let setup = CoreSetup::prepare(&args.core, 92, "console", subscribers, output.folder())?;
        let setup = setup.with_api();
        let core = setup.start(Variant::Local)?;
        wait_for_association(&core).await?;
        let gnb = connect_gnb(&setup, Samples::default(), 1).await?;
        let registered = fill(&gnb, ues).await?;
        let mut client = Client::connect(&setup.api_socket())?;
        pages(&mut client, subscribers, &mut output).context("pages")?;
        let mut viewers = Viewers::start(&setup.api_socket())?;
        update(args, &core, &mut viewers, &mut output).context("update")?;
        first_paint(args, &setup, &mut output).context("first paint")?;
        let ue = new_ue(&gnb, ues)?;
        registration(args, &ue, &mut viewers, &mut output).await.context("registration")?;
        drop(registered);
        gnb.shutdown().await;
        core.stop()
    });
    drop(end);
    let _ = driver.join();
    measured?;
    report(&mut output, subscribers, ues);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// Brings UEs into the core, each with a PDU session, and lets them become idle.
async fn fill(gnb: &Gnb, count: u64) -> Result<Vec<Ue>> {
    let mut progress = Progress::new("UEs", count);
    let one = async |n| {
        let ue = new_ue(gnb, n)?;
        attach(&ue).await?;
        ue.release_to_idle().await?;
        anyhow::Ok(ue)
    };
    let mut ready = futures_util::stream::iter(0..count).map(one).buffer_unordered(CONCURRENCY);
    let mut ues = Vec::new();
    while let Some(ue) = ready.try_next().await? {
        ues.push(ue);
        progress.step("registered");
    }
    progress.done();
    Ok(ues)
}

async fn attach(ue: &Ue) -> Result<()> {
    ue.register().await.with_context(|| ue.supi().to_string())?;
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
    Ok(())
}

/// Starts cores with the API and without in turn, and reads their memory at rest, and after use.
async fn memory(args: &ConsoleArgs, output: &mut Output) -> Result<()> {
    let pairs = args.pairs.unwrap_or(if args.run.quick { 1 } else { 5 });
    let mut progress = Progress::new("cores", 2 * pairs as u64);
    let names = ["off", "on"];
    let setup = |n: usize| {
        let name = format!("console-{}", names[n]);
        CoreSetup::prepare(&args.core, 90 + n as u8, &name, 100, output.folder())
    };
    let setups = [setup(0)?, setup(1)?.with_api()];
    // Proportional set size and resident size, at rest and after use, without the API and with it.
    let mut readings: [[Vec<[f64; 2]>; 2]; 2] = Default::default();
    for pair in 0..pairs {
        for (n, setup) in setups.iter().enumerate() {
            let core = setup.start(Variant::Local)?;
            wait_for_association(&core).await?;
            let gnb = connect_gnb(setup, Samples::default(), 1).await?;
            for n in 0..4 {
                attach(&new_ue(&gnb, n)?).await?;
            }
            for (state, into) in ["rest", "use"].into_iter().zip(&mut readings[n]) {
                if state == "use" && n == 1 {
                    use_api(setup)?;
                }
                tokio::time::sleep(SETTLE_TIME).await;
                let usage = core.usage();
                let [proportional, resident] =
                    [usage.proportional_kb, usage.resident_kb].map(|kb| kb as f64 / 1e3);
                let variant = format!("{}.{state}", names[n]);
                output.row(format_args!("memory_pss,{variant},{pair},{proportional}"))?;
                output.row(format_args!("memory_rss,{variant},{pair},{resident}"))?;
                into.push([proportional, resident]);
            }
            gnb.shutdown().await;
            core.stop()?;
            progress.step(names[n]);
        }
    }
    progress.done();
    for (state, name) in ["rest", "use"].into_iter().enumerate() {
        for (which, size) in ["proportional", "resident"].into_iter().enumerate() {
            let of = |n: usize| readings[n][state].iter().map(|values| values[which]);
            let growth: Vec<f64> = of(1).zip(of(0)).map(|(on, off)| on - off).collect();
            let growth = median(&growth).context("no samples")?;
            output.figure(Figure::of(format!("console.memory.{name}.{size}"), "MB", growth));
        }
    }
    Ok(())
}

/// The work of an administrator in a minute: signs in, opens all pages, has viewers.
fn use_api(setup: &CoreSetup) -> Result<()> {
    let mut client = Client::connect(&setup.api_socket())?;
    for path in [
        "/overview",
        "/ues",
        "/gnbs",
        "/subscribers?limit=1000",
        "/user-plane",
        "/alarms",
        "/functions",
        "/configuration",
        "/users",
        "/audit",
        "/openapi.json",
    ] {
        client.get(path)?;
    }
    let user = json!({"name": "eva", "role": "viewer", "password": "a long passphrase"});
    // It exists from the second round on.
    let _ = client.request("POST", "/users", Some(&user));
    let mut viewers = Viewers::start(&setup.api_socket())?;
    viewers.open(VIEWERS)?;
    std::thread::sleep(Duration::from_secs(5));
    viewers.open(0)
}

/// Goes through all subscribers.
fn pages(client: &mut Client, subscribers: u64, output: &mut Output) -> Result<()> {
    for size in PAGES {
        let (mut cursor, mut seen, mut times) = (String::new(), 0, Vec::new());
        loop {
            let (page, elapsed) = client.get(&format!("/subscribers?limit={size}{cursor}"))?;
            let items = page["items"].as_array().context("items")?;
            seen += items.len() as u64;
            let ms = elapsed.as_secs_f64() * 1e3;
            output.row(format_args!("page,{size},{},{ms:.3}", times.len()))?;
            times.push(ms);
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        ensure!(seen == subscribers, "{seen} of {subscribers} subscribers on the pages");
        for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
            let estimate = quantile(&times, q).context("no samples")?;
            output.figure(Figure::of(format!("console.page.rows{size}.{name}"), "ms", estimate));
        }
    }
    Ok(())
}

/// CPU time of the core with viewers and without, in turn.
fn update(
    args: &ConsoleArgs,
    core: &CoreProcess,
    viewers: &mut Viewers,
    output: &mut Output,
) -> Result<()> {
    let blocks = if args.run.quick { 1 } else { 6 };
    let block = if args.run.quick { BLOCK / 5 } else { BLOCK };
    let mut shares: [Vec<f64>; 2] = Default::default();
    for n in 0..blocks {
        for (count, into) in [0, VIEWERS].into_iter().zip(&mut shares) {
            viewers.open(count)?;
            let (before, start) = (core.usage().cpu_ns, Instant::now());
            std::thread::sleep(block);
            let used = core.usage().cpu_ns - before;
            let share = used as f64 / start.elapsed().as_nanos() as f64 * 100.0;
            output.row(format_args!("update,viewers{count},{n},{share:.3}"))?;
            into.push(share);
        }
    }
    viewers.open(0)?;
    let [none, ten] = &shares;
    let more: Vec<f64> = ten.iter().zip(none).map(|(ten, none)| ten - none).collect();
    let of = |sample: &[f64]| median(sample).context("no samples");
    output.figure(Figure::of("console.update.viewers0.cpu", "%", of(none)?));
    output.figure(Figure::of("console.update.viewers10.cpu", "%", of(ten)?));
    output.figure(Figure::of("console.update.viewers10.more", "%", of(&more)?));
    Ok(())
}

/// The script for Chromium.
const SCRIPT: &str = include_str!("first_paint.mjs");

/// Loads the overview in Chromium. Without it, there is no figure.
fn first_paint(args: &ConsoleArgs, setup: &CoreSetup, output: &mut Output) -> Result<()> {
    let has_tools = args.tools.join("node_modules/playwright-core").is_dir();
    if !has_tools || !std::path::Path::new("/usr/bin/chromium").exists() {
        eprintln!("no first paint: `make console-tools` and Debian's chromium are needed");
        return Ok(());
    }
    let user = json!({"name": "vera", "role": "viewer", "password": "first passphrase"});
    // The API closes connections that are idle.
    Client::connect(&setup.api_socket())?.request("POST", "/users", Some(&user))?;
    let script = output.folder().join("first_paint.mjs");
    std::fs::write(&script, SCRIPT)?;
    let tools = std::fs::canonicalize(&args.tools)?;
    let rounds = if args.run.quick { "2" } else { "20" };
    let ran = Command::new("node")
        .arg(&script)
        .arg(tools)
        .args([&format!("http://{}", setup.api_address()), "vera", "first passphrase", rounds])
        .output();
    std::fs::remove_file(&script)?;
    let ran = ran.context("node does not start")?;
    let text = String::from_utf8_lossy(&ran.stdout);
    ensure!(ran.status.success(), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    let times: Value = serde_json::from_str(text.lines().last().unwrap_or_default())?;
    for what in ["first_paint", "figures"] {
        let times: Vec<f64> =
            times[what].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        for (n, ms) in times.iter().enumerate() {
            output.row(format_args!("{what},chromium,{n},{ms:.1}"))?;
        }
        let estimate = median(&times).context("no samples")?;
        output.figure(Figure::of(format!("console.overview.{what}.p50"), "ms", estimate));
    }
    Ok(())
}

/// Registers a UE again and again, with viewers and without, in pairs of blocks.
async fn registration(
    args: &ConsoleArgs,
    ue: &Ue,
    viewers: &mut Viewers,
    output: &mut Output,
) -> Result<()> {
    let pairs = args.pairs.unwrap_or(if args.run.quick { 2 } else { 30 });
    let count = if args.run.quick { REGISTRATIONS / 5 } else { REGISTRATIONS };
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut progress = Progress::new("pairs", pairs as u64);
    let (mut ratios, mut all): (Vec<f64>, [Vec<f64>; 2]) = Default::default();
    let mut order = [0, VIEWERS];
    // Connections and code are warm.
    registrations(ue, count).await?;
    for pair in 0..pairs {
        order.shuffle(&mut random);
        let mut medians = [0.0; 2];
        for viewing in order {
            viewers.open(viewing)?;
            let times = registrations(ue, count).await?;
            for (n, us) in times.iter().enumerate() {
                output.row(format_args!("registration,viewers{viewing},{pair}-{n},{us:.1}"))?;
            }
            medians[usize::from(viewing > 0)] = median(&times).context("no samples")?.value;
            all[usize::from(viewing > 0)].extend(times);
        }
        ratios.push(medians[1] / medians[0]);
        progress.step("registration");
    }
    viewers.open(0)?;
    progress.done();
    for (times, name) in all.iter().zip(["viewers0", "viewers10"]) {
        for (statistic, q) in [("p50", 0.5), ("p99", 0.99)] {
            let estimate = quantile(times, q).context("no samples")?;
            let id = format!("console.registration.{name}.{statistic}");
            output.figure(Figure::of(id, "us", estimate));
        }
    }
    let ratio = median(&ratios).context("no samples")?;
    output.figure(Figure::of("console.registration.ratio.p50", "", ratio));
    Ok(())
}

/// Latencies of registrations in microseconds.
async fn registrations(ue: &Ue, count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    let mut ticks = tokio::time::interval(PACE);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for _ in 0..count {
        ticks.tick().await;
        ue.forget_registration().await?;
        let start = Instant::now();
        ue.register().await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        ue.deregister().await?;
    }
    Ok(times)
}

fn report(output: &mut Output, subscribers: u64, ues: u64) {
    let mut text = format!(
        "A core in one process with {subscribers} subscribers and {ues} registered UEs, which are \
         idle and have a session. Viewers read what the console's overview reads, in a process of \
         their own. Memory is the difference between a core with the API and one without: at rest, \
         and after each page was read, a password was hashed, and ten viewers were there.\n\n\
         | figure | value | 95 % |\n| --- | --- | --- |\n"
    );
    let all: Vec<Figure> = [
        "console.overview.first_paint.p50",
        "console.overview.figures.p50",
        "console.update.viewers0.cpu",
        "console.update.viewers10.cpu",
        "console.update.viewers10.more",
        "console.page.rows100.p50",
        "console.page.rows100.p99",
        "console.page.rows1000.p50",
        "console.page.rows1000.p99",
        "console.registration.viewers0.p50",
        "console.registration.viewers10.p50",
        "console.registration.viewers0.p99",
        "console.registration.viewers10.p99",
        "console.registration.ratio.p50",
        "console.memory.rest.proportional",
        "console.memory.rest.resident",
        "console.memory.use.proportional",
        "console.memory.use.resident",
    ]
    .iter()
    .filter_map(|id| output.find(id).cloned())
    .collect();
    for figure in &all {
        let (Figure { id, value, unit, .. }, interval) = (figure, figure.interval(3));
        let _ = writeln!(text, "| {id} | {value:.3} {unit} | {interval} |");
    }
    output.text(&text);
}
