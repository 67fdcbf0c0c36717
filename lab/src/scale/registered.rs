//! Many UEs that are registered with a session, at sets of two AMFs and SMFs over PostgreSQL.
//!
//! Measures what a UE costs in CPU time, memory and at the database, how that changes with their
//! number, and how long another SMF takes over the sessions of one that is killed. From that
//! follow a plan for ten million UEs, and one of the machines for one million.
use super::deployment::{
    Database, Deployment, Running, attach_all, database_cpu, last_lines, start,
};
use super::placement::{self, DATABASE, Need, PLANNED_LOAD};
use super::{CONCURRENCY, FLUSH_TIME, ScaleArgs, wait_until};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt};
use martlet_ran::Ue;
use martlet_store::testing::TestPostgres;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// AMFs, and SMFs.
const MEMBERS: u8 = 2;
/// UEs before those that are measured: they bring in code, connections and tables.
const WARM_UP: u64 = 128;
/// Parts in which the UEs register. Each part is measured.
const PARTS: u64 = 10;
/// Registered UEs of all parts that request service, and of those one at a time.
const SERVICE_REQUESTS: (usize, usize) = (2_000, 200);
/// Until memory is at rest.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// Longest takeover of the killed SMF's sessions.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(300);

/// The UEs of the plan.
const PLANNED_UES: f64 = 10e6;
/// The UEs and machines of the plan of machines.
const PLACED: (f64, usize) = (1e6, 10);
/// What a UE of the plan does in the busy hour: an assumption, and no measurement.
const REGISTRATIONS_PER_HOUR: f64 = 0.5;
const SERVICE_REQUESTS_PER_HOUR: f64 = 10.0;

/// A value of each kind of function, such as `amf`, and of the database.
type ByFunction = BTreeMap<String, f64>;

/// UEs that register one after the other.
struct Part {
    /// Registered UEs at its end.
    registered: u64,
    /// Registrations with a session per second.
    rate: f64,
    /// CPU milliseconds of a registration with its session.
    registration: ByFunction,
    /// CPU milliseconds of a release to CM-IDLE.
    release: ByFunction,
}

/// What was measured.
struct Measured {
    parts: Vec<Part>,
    /// CPU milliseconds of a service request.
    service_request: ByFunction,
    /// One service request at a time, in milliseconds.
    latency: Estimate,
    /// Kilobytes of a UE in CM-IDLE with a session.
    memory: ByFunction,
    /// Bytes of a UE in each table, with its indexes.
    tables: BTreeMap<String, f64>,
    /// Sessions of the killed SMF, and seconds until the other one has them.
    takeover: (u64, f64),
}

/// Runs the experiment and returns its report.
pub(super) fn run(args: &ScaleArgs) -> Result<String> {
    let mut output = Output::create("scale", &args.run, "registered,what,value")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ues = if args.run.quick { args.ues.min(200) } else { args.ues };
    ensure!(ues >= PARTS, "--ues must be at least {PARTS}");
    let program = args.core.program()?;
    let folder = output.folder().join("deployment");
    let database = Database::Postgres(None);
    let deployment =
        Deployment { number: 0, members: MEMBERS, udrs: 1, database, ues: ues + WARM_UP };
    let measured = runtime
        .block_on(async {
            let (mut running, server) = start(&program, &folder, deployment).await?;
            let server = server.context("the core has no database")?;
            let measured = measure(&mut running, &server, ues).await?;
            running.stop().await?;
            anyhow::Ok(measured)
        })
        .with_context(|| format!("logs: {}\n{}", folder.display(), last_lines(&folder)))?;
    std::fs::remove_dir_all(&folder)?;
    record(&mut output, &measured)?;
    report(&mut output, &measured, ues)?;
    output.finish()
}

/// CPU milliseconds since the start, by kind of function.
fn cpu(running: &Running, server: &TestPostgres) -> Result<ByFunction> {
    let mut cpu = of_kinds(running.cpu());
    cpu.insert(DATABASE.into(), database_cpu(server)?);
    Ok(cpu)
}

/// The sum over the members of each kind.
fn of_kinds(instances: BTreeMap<String, f64>) -> ByFunction {
    let mut kinds = ByFunction::new();
    for (name, value) in instances {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        *kinds.entry(kind.to_string()).or_default() += value;
    }
    kinds
}

/// The difference to an earlier reading, for each of these UEs.
fn per_ue(before: &ByFunction, after: &ByFunction, ues: u64) -> ByFunction {
    let earlier = |name: &str| before.get(name).copied().unwrap_or_default();
    after.iter().map(|(name, now)| (name.clone(), (now - earlier(name)) / ues as f64)).collect()
}

async fn release(ue: &Ue) -> Result<()> {
    ue.release_to_idle().await.with_context(|| format!("{} to CM-IDLE", ue.supi()))
}

async fn release_all(ues: impl Iterator<Item = &Ue>) -> Result<()> {
    let mut all = futures_util::stream::iter(ues).map(release).buffer_unordered(CONCURRENCY);
    while all.try_next().await?.is_some() {}
    Ok(())
}

async fn service_request(ue: &Ue) -> Result<()> {
    ue.service_request().await.with_context(|| format!("service request of {}", ue.supi()))
}

async fn measure(running: &mut Running, server: &TestPostgres, ues: u64) -> Result<Measured> {
    let mut progress = Progress::new("UEs", ues);
    let at_a_time = CONCURRENCY * usize::from(MEMBERS);
    let mut all = running.new_ues(WARM_UP)?;
    attach_all(&all, at_a_time).await?;
    release_all(all.iter()).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let (memory, tables) = (of_kinds(running.memory()), tables(server)?);
    let mut parts = Vec::new();
    for part in 0..PARTS {
        let count = ues * (part + 1) / PARTS - ues * part / PARTS;
        let new = running.new_ues(count)?;
        let (before, begun) = (cpu(running, server)?, Instant::now());
        attach_all(&new, at_a_time).await?;
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        // What is written behind belongs to the registrations.
        tokio::time::sleep(FLUSH_TIME).await;
        let attached = cpu(running, server)?;
        release_all(new.iter()).await?;
        tokio::time::sleep(FLUSH_TIME).await;
        let released = cpu(running, server)?;
        all.extend(new);
        parts.push(Part {
            registered: all.len() as u64,
            rate,
            registration: per_ue(&before, &attached, count),
            release: per_ue(&attached, &released, count),
        });
        for _ in 0..count {
            progress.step("registered");
        }
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let memory = per_ue(&memory, &of_kinds(running.memory()), ues);
    let tables = per_ue(&tables, &self::tables(server)?, ues);
    let (service_request, latency) = request_service(running, server, &all).await?;
    let takeover = take_over(running, &all).await?;
    progress.done();
    Ok(Measured { parts, service_request, latency, memory, tables, takeover })
}

/// Some of the UEs, at equal distances: among them UEs of each part, AMF and SMF.
fn some_of(ues: &[Ue], count: usize) -> impl Iterator<Item = &Ue> {
    let step = (ues.len() / count).max(1);
    // An even step would take UEs of one gNB only.
    ues.iter().step_by(step | 1).take(count)
}

/// CPU milliseconds of a service request, and its time where there is one at a time.
async fn request_service(
    running: &Running,
    server: &TestPostgres,
    ues: &[Ue],
) -> Result<(ByFunction, Estimate)> {
    let (together, alone) = SERVICE_REQUESTS;
    let chosen: Vec<&Ue> = some_of(ues, together + alone).collect();
    let share = chosen.len() * alone / (together + alone);
    let (alone, together) = chosen.split_at(share.max(1));
    let mut times = Vec::new();
    for ue in alone {
        let begun = Instant::now();
        service_request(ue).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    release_all(alone.iter().copied()).await?;
    tokio::time::sleep(FLUSH_TIME).await;
    let before = cpu(running, server)?;
    let mut requests = futures_util::stream::iter(together.iter().copied())
        .map(service_request)
        .buffer_unordered(CONCURRENCY);
    while requests.try_next().await?.is_some() {}
    drop(requests);
    tokio::time::sleep(FLUSH_TIME).await;
    let after = cpu(running, server)?;
    release_all(together.iter().copied()).await?;
    let latency = median(&times).context("no service request was measured")?;
    Ok((per_ue(&before, &after, together.len() as u64), latency))
}

/// Kills the second SMF. Returns its sessions and the seconds until the first one has them.
async fn take_over(running: &mut Running, ues: &[Ue]) -> Result<(u64, f64)> {
    let all = ues.len() as u64;
    let status = running.core.status_of("smf")?;
    let sessions_of_first =
        status["nfs"][0]["status"]["sessions"].as_u64().context("sessions of the SMF")?;
    ensure!(sessions_of_first < all, "the second SMF has no session");
    running.members.retain(|member| member.name != "smf2");
    let begun = Instant::now();
    wait_until(&running.core, "smf", TAKEOVER_TIMEOUT, |smf| smf["sessions"] == all).await?;
    let seconds = begun.elapsed().as_secs_f64();
    for ue in some_of(ues, SERVICE_REQUESTS.1) {
        service_request(ue).await.context("after the takeover")?;
    }
    Ok((all - sessions_of_first, seconds))
}

/// Bytes of each table with its indexes.
fn tables(server: &TestPostgres) -> Result<BTreeMap<String, f64>> {
    let rows = server.query(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND \
         relnamespace = 'public'::regnamespace",
    )?;
    let row = |line: &str| {
        let (name, size) = line.split_once('|').context("a row has two columns")?;
        anyhow::Ok((name.to_string(), size.parse()?))
    };
    rows.lines().map(row).collect()
}

/// Writes the raw data and the figures.
fn record(output: &mut Output, measured: &Measured) -> Result<()> {
    for part in &measured.parts {
        let registered = part.registered;
        output.row(format_args!("{registered},rate,{}", part.rate))?;
        for (what, values) in [("registration", &part.registration), ("release", &part.release)] {
            for (name, cpu) in values {
                output.row(format_args!("{registered},{what}_cpu_{name},{cpu}"))?;
            }
        }
    }
    let registered = measured.parts.last().map_or(0, |part| part.registered);
    let of_functions = [
        ("service_request_cpu", &measured.service_request),
        ("memory", &measured.memory),
        ("table", &measured.tables),
    ];
    for (what, values) in of_functions {
        for (name, value) in values {
            output.row(format_args!("{registered},{what}_{name},{value}"))?;
        }
    }
    let (sessions, seconds) = measured.takeover;
    let (first, last) = (&measured.parts[0], &measured.parts[measured.parts.len() - 1]);
    let cpu = |part: &Part| sum(&part.registration);
    let once = |id: &str, unit, value| Figure::once(format!("registered.{id}"), unit, value);
    for figure in [
        once("rate_first", "1/s", first.rate),
        once("rate_last", "1/s", last.rate),
        once("cpu_growth", "", cpu(last) / cpu(first)),
        once("memory", "KB", sum(&measured.memory)),
        once("tables", "bytes", measured.tables.values().sum()),
        once("takeover_sessions", "", sessions as f64),
        once("takeover", "s", seconds),
    ] {
        output.figure(figure);
    }
    output.figure(Figure::of("registered.service_request", "ms", measured.latency));
    output.flush()
}

fn sum(values: &ByFunction) -> f64 {
    values.values().sum()
}

fn report(output: &mut Output, measured: &Measured, ues: u64) -> Result<()> {
    let mut text = format!(
        "{ues} UEs register with a PDU session, {} at a time, at {MEMBERS} AMFs and {MEMBERS} SMFs \
         over PostgreSQL, with one process for each function and HTTP/2 between them. Then they \
         are in CM-IDLE. CPU times are of functions and database together.\n\n\
         | registered UEs | registrations with a session | CPU of each | CPU of a release |\n\
         | --- | --- | --- | --- |\n",
        CONCURRENCY * usize::from(MEMBERS)
    );
    for part in &measured.parts {
        let (registration, release) = (sum(&part.registration), sum(&part.release));
        let _ = writeln!(
            text,
            "| {} | {:.0}/s | {registration:.2} ms | {release:.2} ms |",
            part.registered, part.rate
        );
    }
    let (sessions, seconds) = measured.takeover;
    let Estimate { value, low, high, .. } = measured.latency;
    let _ = writeln!(
        text,
        "\nA service request takes {value:.2} ms ({low:.2} to {high:.2}), one at a time. The other \
         SMF has the {sessions} sessions of a killed one after {seconds:.1} s: {:.0}/s.\n\n\
         | table | bytes for a UE |\n| --- | --- |",
        sessions as f64 / seconds
    );
    for (table, bytes) in measured.tables.iter().filter(|(_, bytes)| **bytes >= 1.0) {
        let _ = writeln!(text, "| {table} | {bytes:.0} |");
    }
    text += &plan(measured);
    text += "\n![Rate and CPU time by the number of registered UEs](registered.svg)\n";
    output.text(&text);
    let line = |name: &str, of: &dyn Fn(&Part) -> f64| Series {
        name: name.into(),
        points: measured
            .parts
            .iter()
            .map(|part| (part.registered as f64, of(part), of(part), of(part)))
            .collect(),
    };
    let of = |part: &Part, name: &str| part.registration.get(name).copied().unwrap_or_default();
    let panel = |title: &str, y_label: &str, series| Panel {
        title: title.into(),
        x_label: "registered UEs".into(),
        y_label: y_label.into(),
        series,
    };
    draw(
        output.folder(),
        "registered",
        &[
            panel(
                "rate on this machine",
                "registrations/s",
                vec![line("with a session", &|part| part.rate)],
            ),
            panel(
                "CPU time of a registration with its session",
                "ms",
                vec![
                    line("all functions", &|part| sum(&part.registration) - of(part, DATABASE)),
                    line("AMFs", &|part| of(part, "amf")),
                    line("SMFs", &|part| of(part, "smf")),
                    line("database", &|part| of(part, DATABASE)),
                ],
            ),
        ],
    )
}

/// What UEs need of a function in the busy hour, by what one needs.
fn need(measured: &Measured, last: &Part, function: &str, ues: f64) -> Need {
    let of = |values: &ByFunction| values.get(function).copied().unwrap_or_default();
    let per_second = |per_hour: f64| ues * per_hour / 3600.0;
    let (registration, release) = (of(&last.registration), of(&last.release));
    let cpus = per_second(REGISTRATIONS_PER_HOUR) * (registration + release) / 1e3
        + per_second(SERVICE_REQUESTS_PER_HOUR) * (of(&measured.service_request) + release) / 1e3;
    let memory_gb = match function == DATABASE {
        // All tables, as if they were cached.
        true => measured.tables.values().sum::<f64>() * ues / 1e9,
        false => of(&measured.memory).max(0.0) * ues / 1e6,
    };
    Need { function: function.into(), cpus, memory_gb }
}

/// What ten million UEs need, and the machines of one million.
fn plan(measured: &Measured) -> String {
    let mut text = format!(
        "\n## Ten million UEs\n\nThe plan multiplies the figures above. In the busy hour, each UE \
         registers {REGISTRATIONS_PER_HOUR} times and requests service \
         {SERVICE_REQUESTS_PER_HOUR} times, with a release each: an assumption. A function works \
         on one thread, and a member is loaded up to {PLANNED_LOAD} of a CPU. Memory and database \
         are for {PLANNED_UES:.0} UEs in CM-IDLE with a session.\n\n\
         | function | CPU of a registration | of a service request | of a release | CPUs in the \
         busy hour | members | memory |\n| --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let Some(last) = measured.parts.last() else { return text };
    for (name, registration) in &last.registration {
        let of = |values: &ByFunction| values.get(name).copied().unwrap_or_default();
        let (service, release) = (of(&measured.service_request), of(&last.release));
        let need = need(measured, last, name, PLANNED_UES);
        // The database uses all CPUs of its machine.
        let members = match name == DATABASE {
            true => "–".into(),
            false => need.members().to_string(),
        };
        let _ = writeln!(
            text,
            "| {name} | {registration:.3} ms | {service:.3} ms | {release:.3} ms | {:.1} | \
             {members} | {:.0} GB |",
            need.cpus, need.memory_gb
        );
    }
    let bytes: f64 = measured.tables.values().sum();
    let _ = writeln!(
        text,
        "\nThe tables of sessions and contexts grow to {:.0} GB.",
        bytes * PLANNED_UES / 1e9
    );
    let (ues, machines) = PLACED;
    let needs: Vec<Need> =
        last.registration.keys().map(|name| need(measured, last, name, ues)).collect();
    let _ = writeln!(
        text,
        "\n## {:.0} million UEs on {machines} machines\n\nBy the same figures. Each function has a \
         member more than it needs, each on another machine, so that the loss of a machine leaves \
         enough of them. The database has a synchronous replica. CPUs are those of signalling.\n",
        ues / 1e6
    );
    text += &match placement::place(&needs, machines) {
        Some(placed) => placement::table(&placed),
        None => "A function needs more members than there are machines.\n".into(),
    };
    text
}
