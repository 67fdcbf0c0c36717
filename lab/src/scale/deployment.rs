//! Cores with sets of AMFs and SMFs: their configuration, their processes, and their UEs.
use super::{delay_proxy, establish_session};
use crate::core::{CoreProcess, family, status_at, ue_config, wait_for_association};
use crate::process_usage::{Usage, cpu_ns, proportional_data_kb};
use anyhow::{Context, Result, bail, ensure};
use futures_util::StreamExt;
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_store::testing::TestPostgres;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Last lines of logs in an error.
const LOG_LINES: usize = 8;
/// Timeout for the start of all members.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// UEs of a member for which the pool of its SMF has addresses.
const SMALL_POOL: u64 = 8_000;

/// Where a core stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Database {
    /// A file for each function that stores something.
    Sqlite,
    /// One PostgreSQL, with a proxy that adds this round trip where one is given.
    Postgres(Option<Duration>),
}

/// A core of the experiment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deployment {
    /// Its gNBs have addresses of their own: those of the last deployment may still be in use.
    pub number: u8,
    /// AMFs, and SMFs.
    pub members: u8,
    /// UDRs.
    pub udrs: u8,
    /// Where its data is.
    pub database: Database,
    /// UEs that have a session at the same time.
    pub ues: u64,
}

impl Deployment {
    /// Whether the other one has the same members and the same database.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.members, self.udrs, self.database) == (other.members, other.udrs, other.database)
    }

    /// The addresses of a member's UEs.
    fn pool(&self, member: u8) -> String {
        match self.ues <= SMALL_POOL * u64::from(self.members) {
            true => format!("10.45.{}.0/19", u32::from(member) * 32),
            false => format!("10.{}.0.0/15", 64 + 2 * u32::from(member)),
        }
    }
}

/// A function beside the core's own.
pub(super) struct Member {
    /// The function and its number in the set, such as `smf2`.
    pub name: String,
    child: Child,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of the logs in a folder.
pub(super) fn last_lines(folder: &Path) -> String {
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

/// CPU milliseconds of all processes of the database's server.
pub(super) fn database_cpu(server: &TestPostgres) -> Result<f64> {
    let file = std::fs::read_to_string(server.folder().join("data/postmaster.pid"))?;
    let processes = family(file.lines().next().context("no process ID")?.trim().parse()?);
    Ok(processes.into_iter().map(cpu_ms).sum())
}

fn cpu_ms(pid: u32) -> f64 {
    cpu_ns(pid) as f64 / 1e6
}

/// The address of a member, from 0, of functions of a kind.
fn host(kind: u8, member: u8) -> String {
    format!("127.0.{kind}.{}", 10 + member)
}

/// The configuration of the core's functions (`member` 0) or of one beside them.
fn yaml(folder: &Path, database: &str, deployment: Deployment, member: u8, name: &str) -> String {
    let members = deployment.members;
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
    let pools: Vec<String> = (0..members).map(|member| deployment.pool(member)).collect();
    text += &format!("upf:\n  dnns: [{{ name: internet, pools: [{}] }}]\n", pools.join(", "));
    if member == 0 {
        let others: Vec<String> =
            (1..members).map(|member| format!("{}/32", host(1, member))).collect();
        let allowed = [vec!["127.0.0.7/32".to_string()], others].concat().join(", ");
        // A UPF at nine tenths of its limit counts as overloaded, and gets no further session.
        let sessions = (deployment.ues + deployment.ues / 4).max(1000);
        text += &format!(
            "  n4: {{ allow: [{allowed}], sessions: {sessions} }}\n  kernel: {{ sessions: \
             {sessions} }}\n"
        );
    }
    text += "smf:\n";
    if deployment.database != Database::Sqlite {
        text += &format!("  set: {{ id: \"1\", member: {}, priority: 1 }}\n", member + 1);
    }
    text += &format!("  dnns: [{{ name: internet, pool: {} }}]\n", deployment.pool(member));
    if member == 0 {
        return text;
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
pub(super) struct Running {
    /// The first member of each set, and the functions that are no sets.
    pub core: CoreProcess,
    /// The further members.
    pub members: Vec<Member>,
    /// One for each AMF.
    pub gnbs: Vec<Gnb>,
    /// A UE for each subscriber, at each gNB in turn.
    next: u64,
}

/// Starts the database, the core and the members beside it, in a new folder.
pub(super) async fn start(
    program: &Path,
    folder: &Path,
    deployment: Deployment,
) -> Result<(Running, Option<TestPostgres>)> {
    std::fs::create_dir_all(folder)?;
    // Sockets are named with their whole path.
    let folder: &Path = &folder.canonicalize()?;
    let server = match deployment.database {
        Database::Sqlite => None,
        Database::Postgres(_) => Some(TestPostgres::start("scale")?.context(
            "PostgreSQL is missing: install the package postgresql, and run the lab as root",
        )?),
    };
    let database: &str = &match (deployment.database, &server) {
        (Database::Postgres(Some(delay)), Some(server)) => {
            let proxy = delay_proxy::start(&server.folder().join(".s.PGSQL.5432"), delay)?;
            format!("postgresql://martlet@{proxy}/postgres?sslmode=disable")
        }
        (_, Some(server)) => server.url(),
        (_, None) => folder.join("martlet.db").display().to_string(),
    };
    let config = folder.join("martlet.yaml");
    std::fs::write(&config, yaml(folder, database, deployment, 0, ""))?;
    let added = Command::new(program)
        .args(["subscriber", "add", "-c"])
        .arg(&config)
        .args(["imsi-001010000000001", "--key", &"46".repeat(16), "--opc", &"cd".repeat(16)])
        .args(["--count", &deployment.ues.to_string()])
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
            std::fs::write(&config, yaml(folder, database, deployment, member, name))?;
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
    Ok((Running { core, members, gnbs, next: 0 }, server))
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
    /// UEs of the next subscribers, at each gNB in turn.
    pub(super) fn new_ues(&mut self, count: u64) -> Result<Vec<Ue>> {
        let all = self.next..self.next + count;
        self.next = all.end;
        let gnb = |n: u64| &self.gnbs[n as usize % self.gnbs.len()];
        all.map(|n| Ok(gnb(n).new_ue(ue_config(n)?)?)).collect()
    }

    /// Ends the gNBs and all functions.
    pub(super) async fn stop(self) -> Result<()> {
        for gnb in &self.gnbs {
            gnb.shutdown().await;
        }
        drop(self.members);
        self.core.stop()
    }

    /// CPU milliseconds of each function's process.
    pub(super) fn cpu(&self) -> BTreeMap<String, f64> {
        self.of_processes(cpu_ms)
    }

    /// Context switches of each function's process.
    pub(super) fn switches(&self) -> BTreeMap<String, f64> {
        self.of_processes(|pid| Usage::of(pid).switches as f64)
    }

    /// Kilobytes of each function's process: proportional set size without files.
    pub(super) fn memory(&self) -> BTreeMap<String, f64> {
        self.of_processes(|pid| proportional_data_kb(pid) as f64)
    }

    fn of_processes(&self, of: impl Fn(u32) -> f64) -> BTreeMap<String, f64> {
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

/// Registers UEs and establishes a session of each, `at_a_time` of them together.
pub(super) async fn attach_all(ues: &[Ue], at_a_time: usize) -> Result<()> {
    let mut all = futures_util::stream::iter(ues).map(attach).buffer_unordered(at_a_time);
    while let Some(outcome) = all.next().await {
        outcome?;
    }
    Ok(())
}

/// The same at a constant rate, however many are registering then.
pub(super) async fn attach_at_rate(ues: &[Ue], per_second: u32) -> Result<()> {
    let mut due = tokio::time::interval(Duration::from_secs(1) / per_second.max(1));
    let mut left = ues.iter();
    let mut running = futures_util::stream::FuturesUnordered::new();
    while left.len() > 0 || !running.is_empty() {
        tokio::select! {
            _ = due.tick(), if left.len() > 0 => running.extend(left.next().map(attach)),
            Some(outcome) = running.next(), if !running.is_empty() => outcome?,
        }
    }
    Ok(())
}
