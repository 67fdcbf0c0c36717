//! Sets of AMFs and SMFs over PostgreSQL: CPU time of a registration with its PDU session by the
//! number of members, the law that fits, and latency by the distance of the database.
//!
//! The load grows with the members, since a rate that CPU time bounds is that of busy members: each
//! member has the same registrations, as many at a time. Sets of all sizes are measured in turn,
//! and a round compares those that ran within a minute.
//!
//! A function works on one thread. The function that uses most CPU time for a registration bounds
//! the rate, on a machine with a CPU for each function. So the bound is known from CPU times, even
//! on a machine with fewer CPUs. There, processes that wait for a CPU evict each other's data from
//! its caches, and each of more members has a lower rate, so that fewer messages and writes share
//! what a wakeup and a commit cost. So there are two loads: as many registrations as the machine
//! takes, and the same rate at each member, which leaves CPU time unused.
use super::deployment::{
    Database, Deployment, attach_all, attach_at_rate, database_cpu, last_lines, start,
};
use super::usl::Usl;
use super::{FLUSH_TIME, ScaleArgs};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
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
    /// Registrations at a constant rate.
    paced: u64,
    /// Their rate in registrations per second.
    rate: u32,
}

impl Plan {
    fn new(quick: bool, ues: u64, at_a_time: usize) -> Plan {
        if !quick {
            let load =
                Load { warm_up: 64, measured: ues.min(400), at_a_time, paced: 200, rate: 50 };
            let sizes = &[(1, 1), (2, 1), (4, 1), (4, 2)];
            return Plan { sizes, delays_ms: &[0, 1, 2, 5], rounds: 5, load };
        }
        let load = Load { warm_up: 8, measured: ues.min(40), at_a_time: 8, paced: 10, rate: 25 };
        Plan { sizes: &[(1, 1), (2, 1), (2, 2)], delays_ms: &[5], rounds: 1, load }
    }
}

/// What was measured at a core.
struct Measured {
    /// CPU milliseconds for a registration with its session, by function and instance.
    functions: CpuTimes,
    /// The same at a constant rate.
    paced: CpuTimes,
    /// Context switches for a registration with its session, by function and instance.
    switches: BTreeMap<String, f64>,
    /// CPU milliseconds at the database.
    database: f64,
    /// One UE at a time: the registrations in milliseconds.
    alone: Vec<f64>,
    /// Registrations with sessions per second, as measured on this machine.
    rate: f64,
}

/// CPU milliseconds of each function.
#[derive(Debug)]
struct CpuTimes(BTreeMap<String, f64>);

impl CpuTimes {
    /// Registrations per second when the busiest of these functions uses a CPU wholly.
    fn bound(&self, of: impl Fn(&str) -> bool) -> f64 {
        1000.0 / self.busiest(of).map_or(f64::NAN, |(_, cpu)| cpu)
    }

    fn busiest(&self, of: impl Fn(&str) -> bool) -> Option<(&str, f64)> {
        let all = self.0.iter().filter(|(name, _)| of(name));
        all.max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, cpu)| (name.as_str(), *cpu))
    }

    /// The rate that AMFs and SMFs bound.
    fn set_rate(&self) -> f64 {
        self.bound(|name| name.starts_with("amf") || name.starts_with("smf"))
    }
}

impl Measured {
    /// The medians of several measurements of the same deployment.
    fn median_of(all: &[Measured]) -> Result<Self> {
        let of = |value: &dyn Fn(&Measured) -> f64| {
            let values: Vec<f64> = all.iter().map(value).collect();
            median(&values).map(|estimate| estimate.value).context("nothing was measured")
        };
        let first = all.first().context("nothing was measured")?;
        let of_functions = |values: &dyn Fn(&Measured) -> &BTreeMap<String, f64>| {
            let of_one = |name: &String| {
                let value = of(&|measured| values(measured).get(name).copied().unwrap_or(f64::NAN));
                Ok((name.clone(), value?))
            };
            values(first).keys().map(of_one).collect::<Result<BTreeMap<String, f64>>>()
        };
        Ok(Self {
            functions: CpuTimes(of_functions(&|measured| &measured.functions.0)?),
            paced: CpuTimes(of_functions(&|measured| &measured.paced.0)?),
            switches: of_functions(&|measured| &measured.switches)?,
            database: of(&|measured| measured.database)?,
            alone: all.iter().flat_map(|measured| measured.alone.iter().copied()).collect(),
            rate: of(&|measured| measured.rate)?,
        })
    }

    /// The median of the registrations one at a time, with its interval.
    fn latency(&self) -> Result<Estimate> {
        median(&self.alone).context("no registration was measured")
    }

    /// CPU milliseconds of all functions for a registration with its session.
    fn function_cpu(&self) -> f64 {
        self.functions.0.values().sum()
    }
}

/// Runs the experiment and returns its report.
pub(super) fn run(args: &ScaleArgs) -> Result<String> {
    let mut output =
        Output::create("scale", &args.run, "members,udrs,store,database_ms,what,value")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The default of `--ues` is for the experiment without sets.
    let plan = Plan::new(args.run.quick, args.ues, args.at_a_time);
    runtime.block_on(measure_all(&args.core.program()?, &plan, &mut output))?;
    output.finish()
}

async fn measure_all(program: &Path, plan: &Plan, output: &mut Output) -> Result<()> {
    let of_members = |members, udrs| Deployment {
        number: 0,
        members,
        udrs,
        database: Database::Postgres(None),
        ues: 0,
    };
    let mut sizes: Vec<Deployment> =
        plan.sizes.iter().map(|(members, udrs)| of_members(*members, *udrs)).collect();
    sizes.push(Deployment { database: Database::Sqlite, ..of_members(1, 1) });
    let with_delay = |ms: &u64| Deployment {
        database: Database::Postgres(Some(Duration::from_millis(*ms))),
        ..of_members(1, 1)
    };
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
    let one = of_rounds(&all, of_members(1, 1))?;
    let two = of_rounds(&all, of_members(2, 1))?;
    let second = SecondMember {
        at_the_limit: paired(one, two, |measured| measured.functions.set_rate())?,
        paced: paired(one, two, |measured| measured.paced.set_rate())?,
    };
    let sqlite = of_rounds(&all, Deployment { database: Database::Sqlite, ..of_members(1, 1) })?;
    let to_sqlite = paired(sqlite, one, Measured::function_cpu)?;
    let medians = all
        .into_iter()
        .map(|(deployment, measured)| Ok((deployment, Measured::median_of(&measured)?)))
        .collect::<Result<Vec<_>>>()?;
    for (deployment, measured) in &medians {
        figures(output, *deployment, measured)?;
    }
    output.figure(Figure::of("sets.usl.second_member", "", second.at_the_limit));
    output.figure(Figure::of("sets.paced.second_member", "", second.paced));
    output.figure(Figure::of("sets.postgresql_to_sqlite", "", to_sqlite));
    report(output, &medians, second, to_sqlite, plan)
}

/// The rate of a set of two members to that of one.
#[derive(Debug, Clone, Copy)]
struct SecondMember {
    /// With as many registrations as the machine takes.
    at_the_limit: Estimate,
    /// With the same rate at each member.
    paced: Estimate,
}

/// What was measured of a deployment, by round.
fn of_rounds(all: &[(Deployment, Vec<Measured>)], like: Deployment) -> Result<&[Measured]> {
    let found = all.iter().find(|(deployment, _)| deployment.is_like(&like));
    Ok(&found.with_context(|| format!("{like:?} was not measured"))?.1)
}

/// The ratio of a value to that of the base, measured in the same round: its median.
fn paired(
    base: &[Measured],
    other: &[Measured],
    value: impl Fn(&Measured) -> f64,
) -> Result<Estimate> {
    let ratios: Vec<f64> =
        base.iter().zip(other).map(|(base, other)| value(other) / value(base)).collect();
    median(&ratios).context("no round")
}

async fn measure(
    program: &Path,
    folder: &Path,
    deployment: Deployment,
    load: Load,
) -> Result<Measured> {
    let alone = load.measured / 2;
    let members = u64::from(deployment.members);
    let (warm_up, ues) = (load.warm_up * members, load.measured * members);
    let (paced, paced_rate) = (load.paced * members, load.rate * u32::from(deployment.members));
    let at_a_time = load.at_a_time * usize::from(deployment.members);
    let deployment = Deployment { ues: warm_up + ues + alone + paced, ..deployment };
    let (mut running, server) = start(program, folder, deployment).await?;
    attach_all(&running.new_ues(warm_up)?, at_a_time).await?;
    let measured = running.new_ues(ues)?;
    tokio::time::sleep(FLUSH_TIME).await;
    let of_database = || server.as_ref().map_or(Ok(0.0), database_cpu);
    let switches_before = running.switches();
    let (before, database_before, begun) = (running.cpu(), of_database()?, Instant::now());
    attach_all(&measured, at_a_time).await?;
    let rate = ues as f64 / begun.elapsed().as_secs_f64();
    // Contexts that are written later belong to the registrations, too.
    tokio::time::sleep(FLUSH_TIME).await;
    let (after, database_after) = (running.cpu(), of_database()?);
    let functions = CpuTimes(of_each(after, &before, ues));
    let switches = of_each(running.switches(), &switches_before, ues);
    let before = running.cpu();
    attach_at_rate(&running.new_ues(paced)?, paced_rate).await?;
    tokio::time::sleep(FLUSH_TIME).await;
    let at_rate = CpuTimes(of_each(running.cpu(), &before, paced));
    let mut times = Vec::new();
    for ue in running.new_ues(alone)? {
        let begun = Instant::now();
        ue.register().await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    running.stop().await?;
    Ok(Measured {
        functions,
        paced: at_rate,
        switches,
        database: (database_after - database_before) / ues as f64,
        alone: times,
        rate,
    })
}

/// What each function used for a UE, from its values before and after.
fn of_each(
    after: BTreeMap<String, f64>,
    before: &BTreeMap<String, f64>,
    ues: u64,
) -> BTreeMap<String, f64> {
    let since = |(name, value): (String, f64)| {
        let used = value - before.get(&name).copied().unwrap_or_default();
        (name, used / ues as f64)
    };
    after.into_iter().map(since).collect()
}

/// What is reported of a deployment: name, unit and value.
fn values(measured: &Measured) -> Result<[(&'static str, &'static str, f64); 7]> {
    Ok([
        ("function_cpu", "ms", measured.function_cpu()),
        ("database_cpu", "ms", measured.database),
        ("set_rate", "1/s", measured.functions.set_rate()),
        ("paced_set_rate", "1/s", measured.paced.set_rate()),
        ("core_rate", "1/s", measured.functions.bound(|_| true)),
        ("machine_rate", "1/s", measured.rate),
        ("registration", "ms", measured.latency()?.value),
    ])
}

/// Writes a measurement to the raw data.
fn record(output: &mut Output, deployment: Deployment, measured: &Measured) -> Result<()> {
    let Deployment { members, udrs, database, .. } = deployment;
    let (store, ms) = match database {
        Database::Sqlite => ("sqlite", String::new()),
        Database::Postgres(delay) => {
            ("postgresql", delay.map_or(String::new(), |delay| delay.as_millis().to_string()))
        }
    };
    for (load, times) in [("cpu", &measured.functions), ("paced_cpu", &measured.paced)] {
        for (name, cpu) in &times.0 {
            output.row(format_args!("{members},{udrs},{store},{ms},{load}_{name},{cpu}"))?;
        }
    }
    for (name, switches) in &measured.switches {
        output.row(format_args!("{members},{udrs},{store},{ms},switches_{name},{switches}"))?;
    }
    for (what, _, value) in values(measured)? {
        output.row(format_args!("{members},{udrs},{store},{ms},{what},{value}"))?;
    }
    output.flush()
}

/// Adds the medians of a deployment to the figures.
fn figures(output: &mut Output, deployment: Deployment, measured: &Measured) -> Result<()> {
    let Deployment { members, udrs, database, .. } = deployment;
    if let Database::Postgres(Some(delay)) = database {
        let id = |what: &str| format!("sets.database_ms{}.{what}", delay.as_millis());
        output.figure(Figure::of(id("registration"), "ms", measured.latency()?));
        output.figure(Figure::once(id("machine_rate"), "1/s", measured.rate));
        return Ok(());
    }
    for (what, unit, value) in values(measured)? {
        let id = match database {
            Database::Sqlite => format!("sets.sqlite.{what}"),
            Database::Postgres(_) => format!("sets.members{members}.udrs{udrs}.{what}"),
        };
        output.figure(Figure::once(id, unit, value));
    }
    Ok(())
}

fn report(
    output: &mut Output,
    all: &[(Deployment, Measured)],
    second: SecondMember,
    to_sqlite: Estimate,
    plan: &Plan,
) -> Result<()> {
    let Load { measured, at_a_time, paced, rate, .. } = plan.load;
    let mut text = format!(
        "For each member {measured} registrations with a PDU session, {at_a_time} at a time; one \
         process for each function, HTTP/2; medians of {} rounds. CPU times are per registration \
         with its session. The rate of the set is that at which its busiest AMF or SMF uses one \
         CPU; the rate of the core is that of its busiest function. Paced: {paced} registrations \
         for each member, {rate} a second.\n\n\
         | store | AMFs, SMFs | UDRs | CPU of functions | of the database | rate of the set \
         | paced | of the core | stops first |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        plan.rounds
    );
    let is_near = |deployment: &Deployment| {
        matches!(deployment.database, Database::Sqlite | Database::Postgres(None))
    };
    for (deployment, measured) in all.iter().filter(|(deployment, _)| is_near(deployment)) {
        let (first, cpu) = measured.functions.busiest(|_| true).context("no function")?;
        let (store, of_database) = match deployment.database {
            Database::Sqlite => ("SQLite", "–".into()),
            Database::Postgres(_) => ("PostgreSQL", format!("{:.2} ms", measured.database)),
        };
        let _ = writeln!(
            text,
            "| {store} | {} | {} | {:.2} ms | {of_database} | {:.0}/s | {:.0}/s | {:.0}/s \
             | {first}, {cpu:.2} ms |",
            deployment.members,
            deployment.udrs,
            measured.function_cpu(),
            measured.functions.set_rate(),
            measured.paced.set_rate(),
            measured.functions.bound(|_| true)
        );
    }
    let of_members =
        || all.iter().filter(|(deployment, _)| deployment.database == Database::Postgres(None));
    let by_members = |of: fn(&Measured) -> &CpuTimes| -> Vec<(f64, f64)> {
        let with_one_udr = of_members().filter(|(deployment, _)| deployment.udrs == 1);
        let point = |(deployment, measured): &(Deployment, Measured)| {
            (deployment.members.into(), of(measured).set_rate())
        };
        with_one_udr.map(point).collect()
    };
    let points = by_members(|measured| &measured.functions);
    let law = Usl::fit(&points).context("no law fits")?;
    for (what, unit, value) in [
        ("rate", "1/s", law.rate),
        ("contention", "", law.contention),
        ("coherency", "", law.coherency),
    ] {
        output.figure(Figure::once(format!("sets.usl.{what}"), unit, value));
    }
    let _ = writeln!(
        text,
        "\nOver PostgreSQL, the functions use {:.2} times the CPU time of SQLite ({:.2} to {:.2}; \
         target 1.5).\n\nThe Universal Scalability Law of the set's rate, by least squares over {} \
         numbers of members: λ = {:.0}/s, σ = {:.3}, κ = {:.4}; {}. A second member gives {:.2} \
         times the rate ({:.2} to {:.2}); paced, {:.2} times ({:.2} to {:.2}; target 1.7).\n\n\
         | added round trip to the \
         database | registration alone, median \
         (95 %) | rate of this machine |\n| --- | --- | --- |",
        to_sqlite.value,
        to_sqlite.low,
        to_sqlite.high,
        points.len(),
        law.rate,
        law.contention,
        law.coherency,
        law.peak().map_or("it has no peak".into(), |n| format!("its peak is at {n:.1} members")),
        second.at_the_limit.value,
        second.at_the_limit.low,
        second.at_the_limit.high,
        second.paced.value,
        second.paced.low,
        second.paced.high
    );
    for (deployment, measured) in all {
        let Database::Postgres(Some(delay)) = deployment.database else { continue };
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
    // A point for each number: a series of two has no line.
    let paced = by_members(|measured| &measured.paced);
    let linear: Vec<(f64, f64)> = (1..=8).map(f64::from).map(|n| (n, n * law.rate)).collect();
    let delayed = all.iter().filter_map(|(deployment, measured)| {
        let Database::Postgres(Some(delay)) = deployment.database else { return None };
        let alone = measured.latency().ok()?;
        Some((delay.as_secs_f64() * 1e3, alone.value, alone.low, alone.high))
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
                    line("as many as the machine takes", &points),
                    line("the same rate at each member", &paced),
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
