//! Faults in a split core: while UEs perform random procedures, processes are killed or suspended,
//! links are cut, and N4 loses, duplicates and reorders messages. Afterwards every UE is served
//! again, and no context is left behind.
//!
//! Runs for some seconds; `make chaos` runs longer. `MARTLET_CHAOS_SEED` repeats the faults and the
//! UEs' procedures, `MARTLET_CHAOS_SECONDS` sets the duration.
use super::{Site, gnb_that_waits, status_of, ue, until};
use anyhow::{Context, Result, bail, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, PduSessionRequest, Ue, UeError};
use martlet_tests::{GATEWAY, Impairments, LossyLink, in_namespace_within, ping, reaches};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

const UES: u64 = 8;
const GNBS: u8 = 2;
/// The functions, and the last byte of their HTTP addresses.
const FUNCTIONS: [(&str, u8); 10] = [
    ("nrf", 10),
    ("udr", 11),
    ("udm", 12),
    ("ausf", 13),
    ("pcf", 14),
    ("nssf", 15),
    ("smf", 16),
    ("amf", 17),
    ("lmf", 18),
    ("upf", 0),
];
/// The supervisor restarts no function that ends more often within a minute. This limit is not
/// tested here.
const MAX_KILLS: usize = 4;
/// Time limit of the recovery.
const RECOVERY: Duration = Duration::from_secs(60);

/// A fault.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Kills a process.
    Kill(&'static str),
    /// Suspends a process for a while.
    Hang(&'static str, Duration),
    /// Drops HTTP packets to a function for a while.
    CutSbi(&'static str, Duration),
    /// Breaks a gNB's association.
    CutN2(usize),
    /// Drops all N4 messages for a while.
    CutN4(Duration),
    /// N4 loses, duplicates and reorders messages for a while.
    UnrulyN4(Duration),
}

/// The faults with their times, by a seed.
fn plan(seed: u64, length: Duration) -> Vec<(Duration, Fault)> {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut at, mut plan) = (Duration::from_millis(500), Vec::new());
    let mut kills: Vec<(&str, Duration)> = Vec::new();
    while at < length {
        let (name, address) = *FUNCTIONS.choose(&mut random).expect("the list is not empty");
        let mut while_ = |max: u64| Duration::from_millis(random.random_range(100..max));
        let (short, long) = (while_(600), while_(1500));
        let recently = kills
            .iter()
            .filter(|(of, when)| *of == name && *when + Duration::from_secs(60) > at)
            .count();
        let fault = match random.random_range(0..10) {
            0..3 if recently < MAX_KILLS => {
                kills.push((name, at));
                Fault::Kill(name)
            }
            0..5 => Fault::Hang(name, short),
            5 | 6 if address != 0 => Fault::CutSbi(name, long),
            7 => Fault::CutN2(random.random_range(0..GNBS.into())),
            8 => Fault::CutN4(long),
            _ => Fault::UnrulyN4(long),
        };
        plan.push((at, fault));
        at += Duration::from_millis(random.random_range(100..900));
    }
    plan
}

pub fn number(variable: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(variable) {
        Ok(text) => {
            text.parse().with_context(|| format!("{variable} must be a number, is {text:?}"))
        }
        Err(_) => Ok(otherwise),
    }
}

/// A core with its gNBs and UEs.
struct Setup {
    core: CoreProcess,
    wire: LossyLink,
    gnbs: Gnbs,
    kills: RefCell<HashMap<&'static str, usize>>,
}

impl Setup {
    fn signal(&self, name: &str, signal: Signal) -> bool {
        let pid = self.core.process_of(&format!("nf {name}"));
        pid.is_some_and(|pid| nix::sys::signal::kill(Pid::from_raw(pid as i32), signal).is_ok())
    }

    async fn inject(&self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(name) => {
                if self.signal(name, Signal::SIGKILL) {
                    *self.kills.borrow_mut().entry(name).or_default() += 1;
                }
            }
            Fault::Hang(name, time) => {
                let pid = self
                    .core
                    .process_of(&format!("nf {name}"))
                    .map(|pid| Pid::from_raw(pid as i32));
                let Some(pid) = pid else { return Ok(()) };
                let _ = nix::sys::signal::kill(pid, Signal::SIGSTOP);
                tokio::time::sleep(time).await;
                let _ = nix::sys::signal::kill(pid, Signal::SIGCONT);
            }
            Fault::CutSbi(name, time) => {
                let (_, last) =
                    FUNCTIONS.into_iter().find(|(of, _)| *of == name).context("a function")?;
                let element = format!("{{ 127.0.0.{last} }}");
                nft(&["add", "element", "inet", "chaos", "cut", &element])?;
                tokio::time::sleep(time).await;
                // Another fault may have removed it already.
                let _ = nft(&["delete", "element", "inet", "chaos", "cut", &element]);
            }
            Fault::CutN2(n) => self.gnbs.at(n).abort(),
            Fault::CutN4(time) => {
                self.wire.impair(Impairments { loss: 1.0, ..Impairments::default() });
                tokio::time::sleep(time).await;
                self.wire.impair(Impairments::default());
            }
            Fault::UnrulyN4(time) => {
                let delay = Duration::from_millis(50);
                self.wire.impair(Impairments { loss: 0.2, duplicate: 0.2, reorder: 0.3, delay });
                tokio::time::sleep(time).await;
                self.wire.impair(Impairments::default());
            }
        }
        Ok(())
    }
}

/// gNBs, of which each is replaced when its association breaks.
pub struct Gnbs(RefCell<Vec<Gnb>>);

impl Gnbs {
    pub fn new(gnbs: Vec<Gnb>) -> Gnbs {
        Gnbs(RefCell::new(gnbs))
    }

    pub fn at(&self, n: usize) -> Gnb {
        self.0.borrow()[n].clone()
    }

    /// Reconnects a gNB as soon as its association breaks.
    pub async fn keep_connected(&self, n: usize) {
        loop {
            let gnb = self.at(n);
            gnb.lost().await;
            loop {
                match gnb.connect_again().await {
                    Ok(again) => break self.0.borrow_mut()[n] = again,
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        }
    }
}

pub fn nft(arguments: &[&str]) -> Result<()> {
    let done = Command::new("nft")
        .args(arguments)
        .output()
        .context("nft; `make packages-test` installs it")?;
    ensure!(done.status.success(), "nft {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// A UE that performs random procedures, some of which fail.
pub async fn random_procedures(
    gnbs: &Gnbs,
    ue: &Ue,
    mut random: StdRng,
    tried: &RefCell<(u64, u64)>,
) -> Result<()> {
    loop {
        let target = random.random_range(0..usize::from(GNBS));
        let outcome = match random.random_range(0..12) {
            0..4 => ue.register().await.map(|_| ()),
            4 | 5 => ue.establish_pdu_session(internet()).await.map(|_| ()),
            6 => ue.release_pdu_session(1).await,
            7 => ue.release_to_idle().await,
            8 => ue.service_request().await,
            9 => ue.handover_to(&gnbs.at(target)).await.map(|_| ()),
            10 => ue.deregister().await,
            _ => match ue
                .status()
                .await
                .ok()
                .and_then(|status| status.sessions.first().and_then(|s| Some((s.psi, s.ipv4?))))
            {
                Some((psi, from)) => ue.send_ip(psi, ping(from, GATEWAY, 7)).await,
                None => Ok(()),
            },
        };
        {
            let mut tried = tried.borrow_mut();
            tried.0 += 1;
            tried.1 += u64::from(outcome.is_ok());
        }
        match outcome {
            Ok(()) => {}
            Err(UeError::Gone) => bail!("the UE's task ended"),
            // The UE selects another cell, and may lose its context.
            Err(_) => {
                let _ = ue.move_to(&gnbs.at(target)).await;
                if random.random_bool(0.2) {
                    // Waits for the release of its connection, of which it may be notified late.
                    let _ = ue.forget_registration().await;
                }
                tokio::time::sleep(Duration::from_millis(random.random_range(1..50))).await;
            }
        }
    }
}

/// After the faults, the UE registers and gets its session within the time limit.
pub async fn recover(gnbs: &Gnbs, ue: &Ue, give_up: Instant) -> Result<()> {
    let day = async || -> Result<()> {
        let _ = ue.release_to_idle().await;
        let _ = ue.move_to(&gnbs.at(0)).await;
        ue.forget_registration().await?;
        ue.register().await.context("registration")?;
        let session = ue.establish_pdu_session(internet()).await.context("session")?;
        reaches(ue, session.psi, GATEWAY).await?;
        ue.deregister().await.context("deregistration")
    };
    loop {
        let Err(error) = day().await else { return Ok(()) };
        ensure!(Instant::now() < give_up, "{} does not recover: {error:#}", ue.supi());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn chaos(name: &'static str, arguments: &'static [&'static str]) -> Result<()> {
    let (seed, seconds) = (number("MARTLET_CHAOS_SEED", 1)?, number("MARTLET_CHAOS_SECONDS", 8)?);
    let length = Duration::from_secs(seconds);
    in_namespace_within(length + RECOVERY + Duration::from_secs(60), move || async move {
        let plan = plan(seed, length);
        let outcome = run(name, arguments, seed, length, &plan).await;
        outcome.with_context(|| format!("seed {seed}, {seconds} s, faults: {plan:?}"))
    });
    Ok(())
}

async fn run(
    name: &str,
    arguments: &[&str],
    seed: u64,
    length: Duration,
    plan: &[(Duration, Fault)],
) -> Result<()> {
    let site = Site::new(name)?;
    // HTTP packets can only be dropped where there are some: over the fabric, the SBI has no TCP.
    let listen = arguments.contains(&"http");
    let more = "smf: { upfs: [{ n4: \"127.0.0.30:8805\" }], n4: { bind: 127.0.0.7, t1_ms: 200, \
                heartbeat_s: 1 }, t3592_ms: 300, audit_s: 2 }\namf: { timers: { deregistered_s: 1 \
                } }\nupf: { n4: { allow: [127.0.0.0/8], retention_s: 5 } }\n\
                sbi: { timeout_ms: 1000, heartbeat_s: 2, listen: ";
    let config = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), format!("{config}{more}{listen} }}\n"))?;
    site.subscribe(3, UES - 2)?;
    let wire = LossyLink::between(
        [127, 0, 0, 30].into(),
        [127, 0, 0, 31].into(),
        "127.0.0.8:8805".parse()?,
        seed,
    )?;
    nft(&["add", "table", "inet", "chaos"])?;
    nft(&["add", "set", "inet", "chaos", "cut", "{ type ipv4_addr; }"])?;
    // The UPF's own packets are looped back on their interface, so they match here too.
    nft(&["add", "chain", "inet", "chaos", "out", "{ type nat hook postrouting priority 100; }"])?;
    let by_itself =
        ["ip", "saddr", "127.0.0.8", "ip", "daddr", "127.0.0.7", "udp", "dport", "8805"];
    nft(&[
        &["add", "rule", "inet", "chaos", "out"][..],
        &by_itself,
        &["snat", "ip", "to", "127.0.0.30"],
    ]
    .concat())?;
    nft(&["add", "chain", "inet", "chaos", "in", "{ type filter hook input priority 0; }"])?;
    nft(&[
        "add", "rule", "inet", "chaos", "in", "ip", "daddr", "@cut", "tcp", "dport", "7777", "drop",
    ])?;

    let core = site.start(arguments)?;
    let mut gnbs = Vec::new();
    for n in 1..=GNBS {
        gnbs.push(gnb_that_waits(n, Duration::from_secs(3)).await?);
    }
    let mut ues = Vec::new();
    for n in 1..=UES {
        ues.push(ue(&gnbs[n as usize % gnbs.len()], n)?);
    }
    let setup = Setup { core, wire, gnbs: Gnbs::new(gnbs), kills: RefCell::default() };
    let gnbs = &setup.gnbs;
    let tried = RefCell::new((0, 0));
    let keeping = futures_util::future::join_all((0..GNBS.into()).map(|n| gnbs.keep_connected(n)));
    let living = ues.iter().zip(1..).map(|(ue, n)| {
        let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(n));
        random_procedures(gnbs, ue, random, &tried)
    });
    let living = futures_util::future::try_join_all(living);
    let deeds = plan.iter().map(|(at, fault)| {
        let setup = &setup;
        async move {
            tokio::time::sleep(*at).await;
            setup.inject(*fault).await
        }
    });
    let deeds = async {
        futures_util::future::try_join_all(deeds).await?;
        tokio::time::sleep(length / 10).await;
        Ok::<_, anyhow::Error>(())
    };
    let well_again = async {
        tokio::select! {
            done = deeds => done?,
            never = living => { never?; }
        }
        let give_up = Instant::now() + RECOVERY;
        let all = ues.iter().map(|ue| recover(gnbs, ue, give_up));
        futures_util::future::try_join_all(all).await?;
        Ok::<_, anyhow::Error>(())
    };
    tokio::select! {
        done = well_again => done?,
        _ = keeping => {}
    }
    let (tried, succeeded) = tried.into_inner();
    let kills: usize = setup.kills.borrow().values().sum();
    println!(
        "{name}: {} faults, {kills} of them kills; {tried} procedures, {succeeded} of them \
         successful",
        plan.len()
    );
    ensure!(
        succeeded > UES && tried > succeeded,
        "too few procedures: {tried}, {succeeded} of them successful"
    );

    until(&setup.core, "amf", "no UE context is left", |amf| amf["ues"]["registered"] == 0).await?;
    until(&setup.core, "smf", "no session is left", |smf| smf["sessions"] == 0).await?;
    until(&setup.core, "upf", "no session is left", |upf| upf["sessionCount"] == 0).await?;
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    ensure!(!log.contains("panicked"), "a function has panicked:\n{}", tail(&log, "panicked"));
    let ends = log.matches("function crashed, restarting").count();
    ensure!(
        ends == kills,
        "{ends} processes ended, {kills} were killed:\n{}",
        tail(&log, "the process ended")
    );
    ensure!(status_of(&setup.core, "upf")["sessionCount"] == 0);
    setup.core.stop()
}

/// The lines of a log around a text.
fn tail(log: &str, text: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let at = lines.iter().rposition(|line| line.contains(text)).unwrap_or(0);
    lines[at.saturating_sub(5)..(at + 15).min(lines.len())].join("\n")
}

#[test]
fn ues_are_served_again_after_crashes_hangs_and_outages_over_the_fabric() -> Result<()> {
    chaos("chaos", &["--split"])
}

#[test]
fn ues_are_served_again_after_crashes_hangs_and_outages_over_http() -> Result<()> {
    chaos("chaos-http", &["--split", "--sbi", "http"])
}
