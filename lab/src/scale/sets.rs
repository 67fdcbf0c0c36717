//! Sets of AMFs and SMFs over PostgreSQL: CPU time of a registration with its PDU session by the
//! number of members, the law that fits, and latency by the distance of the database.
//!
//! The load grows with the members, since a rate that CPU time bounds is that of busy members: each
//! member has the same registrations, as many at a time. Sets of all sizes are measured in turn,
//! and a round compares those that ran within a minute.
//!
//! A function works on one thread. The function that uses most CPU time for a registration bounds
//! the rate, on a machine with a CPU for each function. So the bound is known from CPU times, even
//! on a machine with fewer CPUs.
use super::usl::Usl;
use super::{CONCURRENCY, FLUSH_TIME, ScaleArgs, delay_proxy, establish_session};
use crate::core::{CoreProcess, family, status_at, ue_config, wait_for_association};
use crate::process_usage::cpu_ns;
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::{Context, Result, bail, ensure};
use futures_util::StreamExt;
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_store::testing::TestPostgres;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is measured.
struct Plan {
    /// Members of the AMF set, which are those of the SMF set, and UDRs.
    sizes: &'static [(u8, u8)],
    /// Round trips to the database, added by a proxy.
    delays_ms: &'static [u64],
    /// Measurements of each size of the sets.
    rounds: usize,
    load: Load,
}

/// The registrations at a core, for each member.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Before those that are measured: discovery, connections, prepared statements, and memory that
    /// is touched for the first time.
    warm_up: u64,
    measured: u64,
    at_a_time: usize,
}

impl Plan {
    fn new(quick: bool, ues: u64) -> Plan {
        if !quick {
            let load = Load { warm_up: 64, measured: ues.min(400), at_a_time: CONCURRENCY };
            let sizes = &[(1, 1), (2, 1), (4, 1), (4, 2)];
            return Plan { sizes, delays_ms: &[0, 1, 2, 5], rounds: 5, load };
        }
        let load = Load { warm_up: 8, measured: ues.min(40), at_a_time: 8 };
        Plan { sizes: &[(1, 1), (2, 1), (2, 2)], delays_ms: &[5], rounds: 1, load }
    }
}

/// Last lines of logs in an error.
const LOG_LINES: usize = 8;
/// Timeout for the start of all members.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A core of the experiment.
#[derive(Debug, Clone, Copy)]
struct Deployment {
    /// Its gNBs have addresses of their own: those of the last deployment may still be in use.
    number: u8,
    /// AMFs, and SMFs.
    members: u8,
    udrs: u8,
    /// Round trip to the database that the proxy adds; without the proxy if `None`.
    delay: Option<Duration>,
}

impl Deployment {
    /// Whether the other one has the same members and the same distance of the database.
    fn is_like(&self, other: &Self) -> bool {
        (self.members, self.udrs, self.delay) == (other.members, other.udrs, other.delay)
    }
}

/// What was measured at a core.
struct Measured {
    /// CPU milliseconds for a registration with its session, by function and instance.
    functions: BTreeMap<String, f64>,
    /// CPU milliseconds at the database.
    database: f64,
    /// One UE at a time: the registrations in milliseconds.
    alone: Vec<f64>,
    /// Registrations with sessions per second, as measured on this machine.
    rate: f64,
}

impl Measured {
    /// The medians of several measurements of the same deployment.
    fn median_of(all: &[Measured]) -> Result<Self> {
        let of = |value: &dyn Fn(&Measured) -> f64| {
            let values: Vec<f64> = all.iter().map(value).collect();
            median(&values).map(|estimate| estimate.value).context("nothing was measured")
        };
        let first = all.first().context("nothing was measured")?;
        let mut functions = BTreeMap::new();
        for name in first.functions.keys() {
            let cpu = of(&|measured| measured.functions.get(name).copied().unwrap_or(f64::NAN))?;
            functions.insert(name.clone(), cpu);
        }
        Ok(Self {
            functions,
            database: of(&|measured| measured.database)?,
            alone: all.iter().flat_map(|measured| measured.alone.iter().copied()).collect(),
            rate: of(&|measured| measured.rate)?,
        })
    }

    /// The median of the registrations one at a time, with its interval.
    fn latency(&self) -> Result<Estimate> {
        median(&self.alone).context("no registration was measured")
    }

    /// Registrations per second when the busiest of these functions uses a CPU wholly.
    fn bound(&self, of: impl Fn(&str) -> bool) -> f64 {
        1000.0 / self.busiest(of).map_or(f64::NAN, |(_, cpu)| cpu)
    }

    fn busiest(&self, of: impl Fn(&str) -> bool) -> Option<(&str, f64)> {
        let all = self.functions.iter().filter(|(name, _)| of(name));
        all.max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, cpu)| (name.as_str(), *cpu))
    }

    /// The rate that AMFs and SMFs bound.
    fn set_rate(&self) -> f64 {
        self.bound(|name| name.starts_with("amf") || name.starts_with("smf"))
    }
}

/// A function beside the core's own.
struct Member {
    name: String,
    child: Child,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the experiment and returns its report.
pub(super) fn run(args: &ScaleArgs) -> Result<String> {
    let mut output = Output::create("scale", &args.run, "members,udrs,database_ms,what,value")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The default of `--ues` is for the experiment without sets.
    let plan = Plan::new(args.run.quick, args.ues);
    runtime.block_on(measure_all(&args.core.program()?, &plan, &mut output))?;
    output.finish()
}

/// The last lines of the logs in a folder.
fn last_lines(folder: &Path) -> String {
    let mut text = String::new();
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "log") {
            let log = std::fs::read_to_string(file.path()).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                let _ = writeln!(text, "{}: {line}", file.file_name().to_string_lossy());
            }
        }
    }
    text
}

async fn measure_all(program: &Path, plan: &Plan, output: &mut Output) -> Result<()> {
    let of_members = |members, udrs| Deployment { number: 0, members, udrs, delay: None };
    let sizes: Vec<Deployment> =
        plan.sizes.iter().map(|(members, udrs)| of_members(*members, *udrs)).collect();
    let with_delay =
        |ms: &u64| Deployment { delay: Some(Duration::from_millis(*ms)), ..of_members(1, 1) };
    let delayed: Vec<Deployment> = plan.delays_ms.iter().map(with_delay).collect();
    let in_turn = std::iter::repeat_n(sizes.as_slice(), plan.rounds).flatten().chain(&delayed);
    let count = plan.rounds * sizes.len() + delayed.len();
    let mut progress = Progress::new("deployments", count as u64);
    let mut all: Vec<(Deployment, Vec<Measured>)> = Vec::new();
    for (number, deployment) in (0..).zip(in_turn.copied()) {
        let deployment = Deployment { number, ..deployment };
        let folder = output.folder().join(format!("deployment-{number}"));
        let measured =
            measure(program, &folder, deployment, plan.load).await.with_context(|| {
                format!("{deployment:?}; logs: {}\n{}", folder.display(), last_lines(&folder))
            })?;
        std::fs::remove_dir_all(&folder)?;
        record(output, deployment, &measured)?;
        match all.iter_mut().find(|(known, _)| known.is_like(&deployment)) {
            Some((_, earlier)) => earlier.push(measured),
            None => all.push((deployment, vec![measured])),
        }
        progress.step(&format!("{} members", deployment.members));
    }
    progress.done();
    let ratios: Vec<f64> = all[0].1.iter().zip(&all[1].1).map(second_member).collect();
    let medians = all
        .into_iter()
        .map(|(deployment, measured)| Ok((deployment, Measured::median_of(&measured)?)))
        .collect::<Result<Vec<_>>>()?;
    for (deployment, measured) in &medians {
        figures(output, *deployment, measured)?;
    }
    report(output, &medians, &ratios, plan.load)
}

/// The rate of two members to that of one, measured in the same round.
fn second_member((one, two): (&Measured, &Measured)) -> f64 {
    two.set_rate() / one.set_rate()
}

/// The database's server and a file with its process ID.
fn database_processes(server: &TestPostgres) -> Result<Vec<u32>> {
    let file = std::fs::read_to_string(server.folder().join("data/postmaster.pid"))?;
    Ok(family(file.lines().next().context("no process ID")?.trim().parse()?))
}

/// The address of a member, from 0, of functions of a kind.
fn host(kind: u8, member: u8) -> String {
    format!("127.0.{kind}.{}", 10 + member)
}

/// The configuration of the core's functions (`member` 0) or of one beside them.
fn yaml(folder: &Path, database: &str, members: u8, member: u8, name: &str) -> String {
    let file = |name: &str| folder.join(name);
    let oam = if member == 0 { "oam.sock".into() } else { format!("oam-{name}-{member}.sock") };
    let mut text = format!(
        "fabric: {{ socket: {:?} }}\nudr: {{ path: {database:?}, key_file: {:?} }}\noam: {{ \
         socket: {:?}, history: {{ path: {:?} }}, api: {{ enabled: false }} }}\n",
        file("sbi.sock"),
        file("operator.key"),
        file(&oam),
        file("martlet.history"),
    );
    text += &format!(
        "smf:\n  set: {{ id: \"1\", member: {}, priority: 1 }}\n  dnns: [{{ name: internet, pool: \
         10.45.{}.0/19 }}]\n",
        member + 1,
        u32::from(member) * 32
    );
    if member == 0 {
        let others: Vec<String> =
            (1..members).map(|member| format!("{}/32", host(1, member))).collect();
        let allowed = [vec!["127.0.0.7/32".to_string()], others].concat().join(", ");
        return text + &format!("upf:\n  n4: {{ allow: [{allowed}] }}\n");
    }
    if name == "smf" {
        text += &format!("  n4: {{ bind: {} }}\n", host(1, member));
    }
    if name == "amf" {
        text += &format!(
            "amf:\n  guamis: [{{ plmn: \"00101\", region: 1, set: 1, pointer: {} }}]\n  n2: {{ \
             bind: [{}] }}\n",
            member + 1,
            host(2, member)
        );
    }
    let kind = match name {
        "amf" => 3,
        "smf" => 4,
        _ => 5,
    };
    text + &format!("sbi: {{ {name}: \"{}:7777\" }}\n", host(kind, member))
}

/// A core with members beside it.
struct Running {
    core: CoreProcess,
    members: Vec<Member>,
    gnbs: Vec<Gnb>,
    /// A UE for each subscriber, at each gNB in turn.
    next: u64,
}

async fn start(
    program: &Path,
    folder: &Path,
    database: &str,
    deployment: Deployment,
    subscribers: u64,
) -> Result<Running> {
    let config = folder.join("martlet.yaml");
    std::fs::write(&config, yaml(folder, database, deployment.members, 0, ""))?;
    let added = Command::new(program)
        .args(["subscriber", "add", "-c"])
        .arg(&config)
        .args(["imsi-001010000000001", "--key", &"46".repeat(16), "--opc", &"cd".repeat(16)])
        .args(["--count", &subscribers.to_string()])
        .output()?;
    ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let arguments = ["--split", "--sbi", "http"];
    let oam = folder.join("oam.sock");
    let core = CoreProcess::start(program, &config, folder, &arguments, &oam, 10)?;
    wait_for_association(&core).await?;
    let mut members = Vec::new();
    for (name, count) in
        [("amf", deployment.members), ("smf", deployment.members), ("udr", deployment.udrs)]
    {
        for member in 1..count {
            let config = folder.join(format!("{name}-{member}.yaml"));
            std::fs::write(&config, yaml(folder, database, deployment.members, member, name))?;
            let log = std::fs::File::create(folder.join(format!("{name}-{member}.log")))?;
            let child = Command::new(program)
                .args(["--log", "warn", "nf", name, "-c"])
                .arg(&config)
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()?;
            members.push(Member { name: format!("{name}{}", member + 1), child });
        }
    }
    let deadline = Instant::now() + START_TIMEOUT;
    while !is_complete(&core, folder, deployment) {
        for member in &mut members {
            if let Some(status) = member.child.try_wait()? {
                bail!("{} ended ({status})", member.name);
            }
        }
        ensure!(Instant::now() < deadline, "not all members are registered: {}", core.status()?);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut gnbs = Vec::new();
    for member in 0..deployment.members {
        let amf = if member == 0 { "127.0.0.5".into() } else { host(2, member) };
        let plmn = martlet_security::Plmn::new("001", "01")?;
        let mut config =
            GnbConfig::new("lab-gnb", plmn, u32::from(member) + 1, format!("{amf}:38412").parse()?);
        config.n2_local = Some(host(20 + deployment.number, member).parse()?);
        config.n3 = config.n2_local;
        config.procedure_timeout = Duration::from_secs(30);
        gnbs.push(Gnb::connect(config).await?);
    }
    Ok(Running { core, members, gnbs, next: 0 })
}

/// Whether the NRF has all members, and all SMFs are associated with the UPF.
fn is_complete(core: &CoreProcess, folder: &Path, deployment: Deployment) -> bool {
    let status = core.status().unwrap_or_default();
    let nfs = status["nfs"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| {
        nfs.iter().find(|nf| nf["name"] == name).map(|nf| nf["status"].clone()).unwrap_or_default()
    };
    let registered = of("nrf")["registered"].as_array().cloned().unwrap_or_default();
    let count = |kind: &str| {
        registered.iter().filter(|nf| nf["type"] == kind && nf["status"] == "REGISTERED").count()
    };
    // As the SMFs see it, which have no session before the UPF's response.
    let is_associated = |member: u8| {
        let of_smf = match member {
            0 => core.status_of("smf"),
            _ => status_at(&folder.join(format!("oam-smf-{member}-smf.sock"))),
        };
        let of_smf = of_smf.unwrap_or_default();
        let upfs = of_smf["nfs"][0]["status"]["upfs"].as_array().cloned().unwrap_or_default();
        upfs.iter().any(|upf| upf["associated"] == true)
    };
    let members = usize::from(deployment.members);
    count("AMF") >= members
        && count("SMF") >= members
        && count("UDR") >= usize::from(deployment.udrs)
        && (0..deployment.members).all(is_associated)
}

impl Running {
    fn new_ues(&mut self, count: u64) -> Result<Vec<Ue>> {
        let all = self.next..self.next + count;
        self.next = all.end;
        let gnb = |n: u64| &self.gnbs[n as usize % self.gnbs.len()];
        all.map(|n| Ok(gnb(n).new_ue(ue_config(n)?)?)).collect()
    }

    /// CPU milliseconds of each function's process.
    fn cpu(&self) -> BTreeMap<String, f64> {
        let of = |pid: u32| cpu_ns(pid) as f64 / 1e6;
        let mut all: BTreeMap<String, f64> =
            self.members.iter().map(|m| (m.name.clone(), of(m.child.id()))).collect();
        for pid in self.core.family() {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if let Some((_, name)) = line.split_once(" nf ") {
                let name = name.split(' ').next().unwrap_or_default();
                all.insert(name.to_string(), of(pid));
            }
        }
        all
    }
}

async fn attach(ue: &Ue) -> Result<()> {
    ue.register().await.with_context(|| ue.supi().to_string())?;
    establish_session(ue).await
}

async fn attach_all(ues: &[Ue], at_a_time: usize) -> Result<()> {
    let mut all = futures_util::stream::iter(ues).map(attach).buffer_unordered(at_a_time);
    while let Some(outcome) = all.next().await {
        outcome?;
    }
    Ok(())
}

async fn measure(
    program: &Path,
    folder: &Path,
    deployment: Deployment,
    load: Load,
) -> Result<Measured> {
    std::fs::create_dir_all(folder)?;
    // Sockets are named with their whole path.
    let folder: PathBuf = folder.canonicalize()?;
    let Some(server) = TestPostgres::start("scale")? else {
        bail!("PostgreSQL is missing: install the package postgresql, and run the lab as root");
    };
    let database = match deployment.delay {
        None => server.url(),
        Some(delay) => {
            let proxy = delay_proxy::start(&server.folder().join(".s.PGSQL.5432"), delay)?;
            format!("postgresql://martlet@{proxy}/postgres?sslmode=disable")
        }
    };
    let alone = load.measured / 2;
    let members = u64::from(deployment.members);
    let (warm_up, ues) = (load.warm_up * members, load.measured * members);
    let at_a_time = load.at_a_time * usize::from(deployment.members);
    let mut running = start(program, &folder, &database, deployment, warm_up + ues + alone).await?;
    attach_all(&running.new_ues(warm_up)?, at_a_time).await?;
    let measured = running.new_ues(ues)?;
    tokio::time::sleep(FLUSH_TIME).await;
    let of_database = || -> Result<f64> {
        Ok(database_processes(&server)?.into_iter().map(|pid| cpu_ns(pid) as f64 / 1e6).sum())
    };
    let (before, database_before, begun) = (running.cpu(), of_database()?, Instant::now());
    attach_all(&measured, at_a_time).await?;
    let rate = ues as f64 / begun.elapsed().as_secs_f64();
    // Contexts that are written later belong to the registrations, too.
    tokio::time::sleep(FLUSH_TIME).await;
    let (after, database_after) = (running.cpu(), of_database()?);
    let since = |(name, cpu): (String, f64)| {
        let used = cpu - before.get(&name).copied().unwrap_or_default();
        (name, used / ues as f64)
    };
    let functions = after.into_iter().map(since).collect();
    let mut times = Vec::new();
    for ue in running.new_ues(alone)? {
        let begun = Instant::now();
        ue.register().await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    for gnb in &running.gnbs {
        gnb.shutdown().await;
    }
    drop(running.members);
    running.core.stop()?;
    Ok(Measured {
        functions,
        database: (database_after - database_before) / ues as f64,
        alone: times,
        rate,
    })
}

/// What is reported of a deployment: name, unit and value.
fn values(measured: &Measured) -> Result<[(&'static str, &'static str, f64); 6]> {
    Ok([
        ("function_cpu", "ms", measured.functions.values().sum()),
        ("database_cpu", "ms", measured.database),
        ("set_rate", "1/s", measured.set_rate()),
        ("core_rate", "1/s", measured.bound(|_| true)),
        ("machine_rate", "1/s", measured.rate),
        ("registration", "ms", measured.latency()?.value),
    ])
}

/// Writes a measurement to the raw data.
fn record(output: &mut Output, deployment: Deployment, measured: &Measured) -> Result<()> {
    let Deployment { members, udrs, delay, .. } = deployment;
    let ms = delay.map_or(String::new(), |delay| delay.as_millis().to_string());
    for (name, cpu) in &measured.functions {
        output.row(format_args!("{members},{udrs},{ms},cpu_{name},{cpu}"))?;
    }
    for (what, _, value) in values(measured)? {
        output.row(format_args!("{members},{udrs},{ms},{what},{value}"))?;
    }
    output.flush()
}

/// Adds the medians of a deployment to the figures.
fn figures(output: &mut Output, deployment: Deployment, measured: &Measured) -> Result<()> {
    let Deployment { members, udrs, delay, .. } = deployment;
    if let Some(delay) = delay {
        let id = |what: &str| format!("sets.database_ms{}.{what}", delay.as_millis());
        output.figure(Figure::of(id("registration"), "ms", measured.latency()?));
        output.figure(Figure::once(id("machine_rate"), "1/s", measured.rate));
        return Ok(());
    }
    for (what, unit, value) in values(measured)? {
        let id = format!("sets.members{members}.udrs{udrs}.{what}");
        output.figure(Figure::once(id, unit, value));
    }
    Ok(())
}

fn report(
    output: &mut Output,
    all: &[(Deployment, Measured)],
    ratios: &[f64],
    load: Load,
) -> Result<()> {
    let Load { measured, at_a_time, .. } = load;
    let mut text = format!(
        "For each member {measured} registrations with a PDU session, {at_a_time} at a time; one \
         process for each function, HTTP/2, PostgreSQL; medians of {} rounds. CPU times are per \
         registration with its session. The rate of the set is that at which its busiest AMF or \
         SMF uses one CPU; the rate of the core is that of its busiest function.\n\n\
         | AMFs, SMFs | UDRs | CPU of functions | of the database | rate of the set | of the core \
         | stops first |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        ratios.len()
    );
    let of_members = || all.iter().filter(|(deployment, _)| deployment.delay.is_none());
    for (deployment, measured) in of_members() {
        let (first, cpu) = measured.busiest(|_| true).context("no function")?;
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} ms | {:.2} ms | {:.0}/s | {:.0}/s | {first}, {cpu:.2} ms |",
            deployment.members,
            deployment.udrs,
            measured.functions.values().sum::<f64>(),
            measured.database,
            measured.set_rate(),
            measured.bound(|_| true)
        );
    }
    let points: Vec<(f64, f64)> = of_members()
        .filter(|(deployment, _)| deployment.udrs == 1)
        .map(|(deployment, measured)| (deployment.members.into(), measured.set_rate()))
        .collect();
    let law = Usl::fit(&points).context("no law fits")?;
    let second = median(ratios).context("no round")?;
    output.figure(Figure::of("sets.usl.second_member", "", second));
    for (what, unit, value) in [
        ("rate", "1/s", law.rate),
        ("contention", "", law.contention),
        ("coherency", "", law.coherency),
    ] {
        output.figure(Figure::once(format!("sets.usl.{what}"), unit, value));
    }
    let _ = writeln!(
        text,
        "\nThe Universal Scalability Law of the set's rate, by least squares over {} numbers of \
         members: λ = {:.0}/s, σ = {:.3}, κ = {:.4}; {}. A second member gives {:.2} times the \
         rate ({:.2} to {:.2}; target 1.7).\n\n| added round trip to the \
         database | registration alone, median \
         (95 %) | rate of this machine |\n| --- | --- | --- |",
        points.len(),
        law.rate,
        law.contention,
        law.coherency,
        law.peak().map_or("it has no peak".into(), |n| format!("its peak is at {n:.1} members")),
        second.value,
        second.low,
        second.high
    );
    for (deployment, measured) in all {
        let Some(delay) = deployment.delay else { continue };
        let Estimate { value, low, high, .. } = measured.latency()?;
        let _ = writeln!(
            text,
            "| {} ms | {value:.1} ms ({low:.1} to {high:.1}) | {:.0}/s |",
            delay.as_millis(),
            measured.rate
        );
    }
    text += "\n![Rate by members, CPU time, latency](sets.svg)\n";
    output.text(&text);
    let line = |name: &str, points: &[(f64, f64)]| Series {
        name: name.into(),
        points: points.iter().map(|(x, y)| (*x, *y, *y, *y)).collect(),
    };
    let fitted: Vec<(f64, f64)> =
        (4..=32).map(|n| f64::from(n) / 4.0).map(|n| (n, law.rate_of(n))).collect();
    let linear: Vec<(f64, f64)> = [1.0, 8.0].map(|n| (n, n * law.rate)).to_vec();
    let delayed = all.iter().filter_map(|(deployment, measured)| {
        let alone = measured.latency().ok()?;
        Some((deployment.delay?.as_secs_f64() * 1e3, alone.value, alone.low, alone.high))
    });
    draw(
        output.folder(),
        "sets",
        &[
            Panel {
                title: "rate that the CPU time bounds".into(),
                x_label: "AMFs and SMFs".into(),
                y_label: "registrations/s".into(),
                series: vec![
                    line("measured", &points),
                    line("fitted law", &fitted),
                    line("linear", &linear),
                ],
            },
            Panel {
                title: "one UE at a time".into(),
                x_label: "ms added to the database".into(),
                y_label: "registration in ms".into(),
                series: vec![Series { name: "median".into(), points: delayed.collect() }],
            },
        ],
    )
}
