//! A split core in bad company: while UEs do what they like, processes are killed or hang, links
//! are cut, N4 loses, doubles and reorders. When that is over, every UE gets what it wants, and
//! nothing is left behind.
//!
//! Some seconds here; `make chaos` goes on for as long as one says. `MARTLET_CHAOS_SEED` repeats
//! the deeds and what UEs wish, `MARTLET_CHAOS_SECONDS` says how long.
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

const PHONES: u64 = 8;
const MASTS: u8 = 2;
/// The functions, and where each listens for HTTP.
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
/// A function that ends more often within a minute is not started again: that is a promise, and not
/// what is tested here.
const MOST_KILLS: usize = 4;
/// How long all may take to be well again.
const RECOVERY: Duration = Duration::from_secs(60);

/// What is done to the core.
#[derive(Debug, Clone, Copy)]
enum Deed {
    /// A process dies at once.
    Kill(&'static str),
    /// A process does nothing for a while.
    Hang(&'static str, Duration),
    /// Nothing reaches a function over HTTP for a while.
    CutSbi(&'static str, Duration),
    /// A gNB's association breaks.
    CutN2(usize),
    /// N4 carries nothing for a while.
    CutN4(Duration),
    /// N4 loses, doubles and reorders for a while.
    UnrulyN4(Duration),
}

/// What happens when, by a seed.
fn plan(seed: u64, length: Duration) -> Vec<(Duration, Deed)> {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut at, mut plan) = (Duration::from_millis(500), Vec::new());
    let mut kills: Vec<(&str, Duration)> = Vec::new();
    while at < length {
        let (name, address) = *FUNCTIONS.choose(&mut random).expect("there are some");
        let mut while_ = |most: u64| Duration::from_millis(random.random_range(100..most));
        let (short, long) = (while_(600), while_(1500));
        let recently = kills
            .iter()
            .filter(|(of, when)| *of == name && *when + Duration::from_secs(60) > at)
            .count();
        let deed = match random.random_range(0..10) {
            0..3 if recently < MOST_KILLS => {
                kills.push((name, at));
                Deed::Kill(name)
            }
            0..5 => Deed::Hang(name, short),
            5 | 6 if address != 0 => Deed::CutSbi(name, long),
            7 => Deed::CutN2(random.random_range(0..MASTS.into())),
            8 => Deed::CutN4(long),
            _ => Deed::UnrulyN4(long),
        };
        plan.push((at, deed));
        at += Duration::from_millis(random.random_range(100..900));
    }
    plan
}

fn number(variable: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable} is a number, not {text:?}")),
        Err(_) => Ok(otherwise),
    }
}

/// A core and its surroundings.
struct Scene {
    core: CoreProcess,
    wire: LossyLink,
    masts: RefCell<Vec<Gnb>>,
    kills: RefCell<HashMap<&'static str, usize>>,
}

impl Scene {
    fn signal(&self, name: &str, signal: Signal) -> bool {
        let pid = self.core.process_of(&format!("nf {name}"));
        pid.is_some_and(|pid| nix::sys::signal::kill(Pid::from_raw(pid as i32), signal).is_ok())
    }

    async fn commit(&self, deed: Deed) -> Result<()> {
        match deed {
            Deed::Kill(name) => {
                if self.signal(name, Signal::SIGKILL) {
                    *self.kills.borrow_mut().entry(name).or_default() += 1;
                }
            }
            Deed::Hang(name, time) => {
                let pid = self
                    .core
                    .process_of(&format!("nf {name}"))
                    .map(|pid| Pid::from_raw(pid as i32));
                let Some(pid) = pid else { return Ok(()) };
                let _ = nix::sys::signal::kill(pid, Signal::SIGSTOP);
                tokio::time::sleep(time).await;
                let _ = nix::sys::signal::kill(pid, Signal::SIGCONT);
            }
            Deed::CutSbi(name, time) => {
                let (_, last) =
                    FUNCTIONS.into_iter().find(|(of, _)| *of == name).context("a function")?;
                let element = format!("{{ 127.0.0.{last} }}");
                nft(&["add", "element", "inet", "chaos", "cut", &element])?;
                tokio::time::sleep(time).await;
                // Another deed may have taken it out already.
                let _ = nft(&["delete", "element", "inet", "chaos", "cut", &element]);
            }
            Deed::CutN2(mast) => self.masts.borrow()[mast].vanish(),
            Deed::CutN4(time) => {
                self.wire.impair(Impairments { loss: 1.0, ..Impairments::default() });
                tokio::time::sleep(time).await;
                self.wire.impair(Impairments::default());
            }
            Deed::UnrulyN4(time) => {
                let delay = Duration::from_millis(50);
                self.wire.impair(Impairments { loss: 0.2, duplicate: 0.2, reorder: 0.3, delay });
                tokio::time::sleep(time).await;
                self.wire.impair(Impairments::default());
            }
        }
        Ok(())
    }

    fn mast(&self, n: usize) -> Gnb {
        self.masts.borrow()[n].clone()
    }

    /// A gNB that has lost its AMF comes back as soon as it can.
    async fn keep_mast(&self, n: usize) {
        loop {
            let gnb = self.mast(n);
            gnb.lost().await;
            loop {
                match gnb.connect_again().await {
                    Ok(again) => break self.masts.borrow_mut()[n] = again,
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        }
    }
}

fn nft(arguments: &[&str]) -> Result<()> {
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

/// A UE that tries what it likes and takes what it gets.
async fn lives(
    scene: &Scene,
    ue: &Ue,
    mut random: StdRng,
    tried: &RefCell<(u64, u64)>,
) -> Result<()> {
    loop {
        let mast = random.random_range(0..usize::from(MASTS));
        let outcome = match random.random_range(0..12) {
            0..4 => ue.register().await.map(|_| ()),
            4 | 5 => ue.establish_pdu_session(internet()).await.map(|_| ()),
            6 => ue.release_pdu_session(1).await,
            7 => ue.release_to_idle().await,
            8 => ue.service_request().await,
            9 => ue.handover_to(&scene.mast(mast)).await.map(|_| ()),
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
            Err(UeError::Gone) => bail!("the UE has vanished"),
            // It looks for another cell, and may lose its memory over it.
            Err(_) => {
                let _ = ue.move_to(&scene.mast(mast)).await;
                if random.random_bool(0.2) {
                    // It waits for the end of its connection, which may not be told for long.
                    let _ = ue.forget_registration().await;
                }
                tokio::time::sleep(Duration::from_millis(random.random_range(1..50))).await;
            }
        }
    }
}

/// All is well again: the UE gets what it wants, in the end.
async fn recovers(scene: &Scene, ue: &Ue, give_up: Instant) -> Result<()> {
    let day = async || -> Result<()> {
        let _ = ue.release_to_idle().await;
        let _ = ue.move_to(&scene.mast(0)).await;
        ue.forget_registration().await?;
        ue.register().await.context("registration")?;
        let session = ue.establish_pdu_session(internet()).await.context("session")?;
        reaches(ue, session.psi, GATEWAY).await?;
        ue.deregister().await.context("deregistration")
    };
    loop {
        let Err(error) = day().await else { return Ok(()) };
        ensure!(Instant::now() < give_up, "{} gets nothing any more: {error:#}", ue.supi());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn chaos(name: &'static str, arguments: &'static [&'static str]) -> Result<()> {
    let (seed, seconds) = (number("MARTLET_CHAOS_SEED", 1)?, number("MARTLET_CHAOS_SECONDS", 8)?);
    let length = Duration::from_secs(seconds);
    in_namespace_within(length + RECOVERY + Duration::from_secs(60), move || async move {
        let plan = plan(seed, length);
        let outcome = run(name, arguments, seed, length, &plan).await;
        outcome.with_context(|| format!("seed {seed}, {seconds} s, which did {plan:?}"))
    });
    Ok(())
}

async fn run(
    name: &str,
    arguments: &[&str],
    seed: u64,
    length: Duration,
    plan: &[(Duration, Deed)],
) -> Result<()> {
    let site = Site::new(name)?;
    let more = "smf: { upfs: [{ n4: \"127.0.0.30:8805\" }], n4: { bind: 127.0.0.7, t1_ms: 200, \
                heartbeat_s: 1 }, t3592_ms: 300, audit_s: 2 }\namf: { timers: { deregistered_s: 1 \
                } }\nsbi: { timeout_ms: 1000, heartbeat_s: 2 }\n";
    let config = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), format!("{config}{more}"))?;
    site.subscribe(3, PHONES - 2)?;
    let wire = LossyLink::between(
        [127, 0, 0, 30].into(),
        [127, 0, 0, 31].into(),
        "127.0.0.8:8805".parse()?,
        seed,
    )?;
    nft(&["add", "table", "inet", "chaos"])?;
    nft(&["add", "set", "inet", "chaos", "cut", "{ type ipv4_addr; }"])?;
    // What the UPF says by itself does not come over the wire, and looks as if it did.
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
    let mut masts = Vec::new();
    for n in 1..=MASTS {
        masts.push(gnb_that_waits(n, Duration::from_secs(3)).await?);
    }
    let mut ues = Vec::new();
    for n in 1..=PHONES {
        ues.push(ue(&masts[n as usize % masts.len()], n)?);
    }
    let scene = Scene { core, wire, masts: masts.into(), kills: RefCell::default() };
    let tried = RefCell::new((0, 0));
    let keeping = futures_util::future::join_all((0..MASTS.into()).map(|n| scene.keep_mast(n)));
    let living = ues.iter().zip(1..).map(|(ue, n)| {
        let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(n));
        lives(&scene, ue, random, &tried)
    });
    let living = futures_util::future::try_join_all(living);
    let deeds = plan.iter().map(|(at, deed)| {
        let scene = &scene;
        async move {
            tokio::time::sleep(*at).await;
            scene.commit(*deed).await
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
        let all = ues.iter().map(|ue| recovers(&scene, ue, give_up));
        futures_util::future::try_join_all(all).await?;
        Ok::<_, anyhow::Error>(())
    };
    tokio::select! {
        done = well_again => done?,
        _ = keeping => {}
    }
    let (tried, succeeded) = tried.into_inner();
    let kills: usize = scene.kills.borrow().values().sum();
    println!(
        "{name}: {} deeds, {kills} of them kills; {tried} wishes, of which {succeeded} came true",
        plan.len()
    );
    ensure!(
        succeeded > PHONES && tried > succeeded,
        "too little has happened for a test: {tried}, {succeeded}"
    );

    until(&scene.core, "amf", "no UE is left", |amf| amf["ues"]["registered"] == 0).await?;
    until(&scene.core, "smf", "no session is left", |smf| smf["sessions"] == 0).await?;
    until(&scene.core, "upf", "no session is left", |upf| upf["sessionCount"] == 0).await?;
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    ensure!(!log.contains("panicked"), "a function has panicked:\n{}", tail(&log, "panicked"));
    let ends = log.matches("function crashed, restarting").count();
    ensure!(
        ends == kills,
        "{ends} processes have ended, {kills} were killed:\n{}",
        tail(&log, "the process ended")
    );
    ensure!(status_of(&scene.core, "upf")["sessionCount"] == 0);
    scene.core.stop()
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
