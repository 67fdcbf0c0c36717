//! Faults in an AMF set and an SMF set over PostgreSQL: while UEs perform random procedures,
//! members are cut off from the database, from the NRF or from all functions, suspended and killed.
//! No address is given to two sessions; afterwards each UE is served by one AMF, and no context is
//! left behind (TS 23.501, 5.21).
//!
//! Runs for some seconds; `make chaos-sets` runs longer, by `MARTLET_CHAOS_SECONDS` and
//! `MARTLET_CHAOS_SEED`.
use crate::chaos::{Gnbs, nft, number, random_procedures, recover};
use crate::nf_sets::{ExtraFunction, second_amf, smf_member, start_member_in_group, start_split};
use crate::relay::Relay;
use crate::{Site, gnb_config, status_of, ue, until};
use anyhow::{Context, Result, ensure};
use futures_util::future::{join_all, try_join_all};
use martlet_context_store::{ContextStoreConfig, SetContexts};
use martlet_lab::{CoreProcess, status_at};
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace_within;
use nix::sys::signal::Signal::{self, SIGCONT, SIGSTOP};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const UES: u64 = 6;
/// The core's members and, outside the core, the second ones.
const NAMES: [(&str, &str); 2] = [("amf", "AMF"), ("smf", "SMF")];
/// The groups of the second members.
const GROUPS: [u32; 2] = [61_501, 61_502];
/// Time limit of the recovery.
const RECOVERY: Duration = Duration::from_secs(60);
/// The supervisor of the core restarts no function that ends more often within a minute.
const MAX_KILLS: usize = 3;

/// A fault of the AMF or the SMF outside the core (0, 1).
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The connections to the database end, and new ones are refused.
    CutDatabase(usize, Duration),
    /// The database does not answer.
    StallDatabase(usize, Duration),
    /// Its packets to the NRF are lost.
    CutNrf(usize, Duration),
    /// All of its packets are lost: to other functions, gNBs and UPFs.
    CutAll(usize, Duration),
    Suspend(usize, Duration),
    Kill(usize),
    /// The core's own member is suspended.
    SuspendOther(usize, Duration),
    /// The core's own member is killed.
    KillOther(usize),
}

/// The faults with their times, by a seed.
fn plan(seed: u64, length: Duration) -> Vec<(Duration, Fault)> {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut at, mut plan) = (Duration::from_millis(500), Vec::new());
    let mut kills: [Vec<Duration>; 2] = Default::default();
    while at < length {
        let n = random.random_range(0..2);
        let time = Duration::from_millis(random.random_range(200..3000));
        let since = at.saturating_sub(Duration::from_secs(60));
        let recent = kills[n].iter().filter(|kill| **kill >= since).count();
        plan.push((
            at,
            match random.random_range(0..9) {
                0 => Fault::CutDatabase(n, time),
                1 => Fault::StallDatabase(n, time),
                2 => Fault::CutNrf(n, time),
                3 | 4 => Fault::CutAll(n, time),
                5 => Fault::Suspend(n, time),
                6 => Fault::Kill(n),
                7 if recent < MAX_KILLS => {
                    kills[n].push(at);
                    Fault::KillOther(n)
                }
                _ => Fault::SuspendOther(n, time),
            },
        ));
        at += Duration::from_millis(random.random_range(300..1500));
    }
    plan
}

struct Setup<'a> {
    site: &'a Site,
    core: CoreProcess,
    relay: [Relay; 2],
    others: RefCell<[Option<ExtraFunction>; 2]>,
}

impl Setup<'_> {
    fn signal(&self, n: usize, signal: Signal) -> Result<()> {
        self.others.borrow()[n].as_ref().map_or(Ok(()), |other| other.signal(signal))
    }

    fn signal_own(&self, n: usize, signal: Signal) {
        let process = self.core.process_of(&format!("nf {}", NAMES[n].0));
        let process = process.map(|process| nix::unistd::Pid::from_raw(process as i32));
        // It may be starting.
        let _ = process.map(|process| nix::sys::signal::kill(process, signal));
    }

    async fn inject(&self, fault: Fault) -> Result<()> {
        match fault {
            Fault::CutDatabase(n, time) => {
                self.relay[n].cut();
                tokio::time::sleep(time).await;
                self.relay[n].restore()?;
            }
            Fault::StallDatabase(n, time) => {
                self.relay[n].stall(true);
                tokio::time::sleep(time).await;
                self.relay[n].stall(false);
            }
            Fault::CutNrf(n, time) => cut("cut_nrf", n, time).await?,
            Fault::CutAll(n, time) => cut("cut_all", n, time).await?,
            Fault::Suspend(n, time) => {
                self.signal(n, SIGSTOP)?;
                tokio::time::sleep(time).await;
                // Another fault may have killed it.
                let _ = self.signal(n, SIGCONT);
            }
            Fault::Kill(n) => {
                let killed = self.others.borrow_mut()[n].take();
                drop(killed);
                let again = ExtraFunction::start_again(self.site, NAMES[n].0, Some(GROUPS[n]))?;
                self.others.borrow_mut()[n] = Some(again);
            }
            Fault::SuspendOther(n, time) => {
                self.signal_own(n, SIGSTOP);
                tokio::time::sleep(time.min(Duration::from_millis(1500))).await;
                self.signal_own(n, SIGCONT);
            }
            Fault::KillOther(n) => self.signal_own(n, Signal::SIGKILL),
        }
        Ok(())
    }

    /// Starts members again whose database was away when they started, as a service manager does.
    fn start_ended(&self) -> Result<()> {
        for (n, other) in self.others.borrow_mut().iter_mut().enumerate() {
            let has_ended = other.as_mut().map_or(Ok(true), ExtraFunction::has_ended)?;
            if has_ended {
                let again = ExtraFunction::start_again(self.site, NAMES[n].0, Some(GROUPS[n]))?;
                *other = Some(again);
            }
        }
        Ok(())
    }

    /// How many both members have, of what their status counts. `None` while one of them does not
    /// answer: it may have restored a context that the other one's UE has left.
    fn count(&self, n: usize, of: impl Fn(&serde_json::Value) -> Option<u64>) -> Option<u64> {
        let name = NAMES[n].0;
        let socket = self.site.0.join(format!("other-{name}-{name}.sock"));
        let other = status_at(&socket).unwrap_or_default();
        Some(of(&status_of(&self.core, name))? + of(&other["nfs"][0]["status"])?)
    }

    async fn until_count(
        &self,
        n: usize,
        what: &str,
        of: impl Fn(&serde_json::Value) -> Option<u64>,
        wanted: u64,
    ) -> Result<()> {
        let give_up = Instant::now() + RECOVERY;
        while self.count(n, &of) != Some(wanted) {
            // It may end a while after its start.
            self.start_ended()?;
            ensure!(Instant::now() < give_up, "{what}: {:?}, not {wanted}", self.count(n, &of));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// The packets of a member are lost for a while.
async fn cut(set: &str, n: usize, time: Duration) -> Result<()> {
    let element = format!("{{ {} }}", GROUPS[n]);
    nft(&["add", "element", "inet", "sets", set, &element])?;
    tokio::time::sleep(time).await;
    // Another fault may have removed it already.
    let _ = nft(&["delete", "element", "inet", "sets", set, &element]);
    Ok(())
}

fn rules() -> Result<()> {
    nft(&["add", "table", "inet", "sets"])?;
    nft(&["add", "chain", "inet", "sets", "out", "{ type filter hook output priority 0; }"])?;
    for (set, to) in [("cut_nrf", "127.0.0.10"), ("cut_all", "127.0.0.0/8")] {
        nft(&["add", "set", "inet", "sets", set, "{ typeof meta skgid; }"])?;
        let named = format!("@{set}");
        let rule = ["meta", "skgid", &named, "ip", "daddr", to, "drop"];
        nft(&[&["add", "rule", "inet", "sets", "out"][..], &rule].concat())?;
    }
    Ok(())
}

/// The references of sessions that have each address, in the contexts of both SMFs.
fn addresses(set: &Arc<SetContexts>) -> Option<HashMap<Ipv4Addr, Vec<String>>> {
    let mut all: HashMap<Ipv4Addr, Vec<String>> = HashMap::new();
    for owner in ["smf-1-1", "smf-1-2"] {
        for (reference, value) in set.peer(owner).contexts().ok()? {
            let value: serde_json::Value = serde_json::from_slice(&value).ok()?;
            let Some(address) = value["addresses"]["ipv4"].as_str() else { continue };
            let references = all.entry(address.parse().ok()?).or_default();
            // A session that is taken over between two reads is found twice.
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
    }
    Some(all)
}

/// Fails if an address is given to two sessions. Returns how often it looked.
async fn watch_addresses(config: ContextStoreConfig, looks: &RefCell<u32>) -> Result<()> {
    let set = tokio::task::spawn_blocking(move || SetContexts::open(&config, None)).await??;
    let mut twice_before: Vec<Vec<String>> = Vec::new();
    loop {
        let contexts = set.clone();
        let Some(all) = tokio::task::spawn_blocking(move || addresses(&contexts)).await? else {
            continue;
        };
        let twice: Vec<Vec<String>> =
            all.into_values().filter(|references| references.len() > 1).collect();
        // A session may end, and its address be given again, between two reads.
        let again = twice.iter().find(|references| twice_before.contains(references));
        ensure!(again.is_none(), "sessions with one address: {again:?}");
        twice_before = twice;
        *looks.borrow_mut() += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn gnb(n: u8, amf: &str) -> Result<GnbConfig> {
    let mut config = GnbConfig { procedure_timeout: Duration::from_secs(3), ..gnb_config(n, amf)? };
    // An AMF whose packets are lost is found by missing heartbeats.
    let ms = Duration::from_millis;
    (config.sctp_options.heartbeat, config.sctp_options.rto_max) = (ms(300), ms(500));
    config.sctp_options.path_max_retransmissions = 4;
    Ok(config)
}

async fn run(site: &Site, server: &TestPostgres, seed: u64, length: Duration) -> Result<()> {
    let common = "amf: { timers: { deregistered_s: 1 } }\n";
    let config = std::fs::read_to_string(site.config())?;
    let smf = "  n4: { t1_ms: 200, heartbeat_s: 1";
    let own = smf_member(1, "10.45.0.0/17", &format!("{smf} }}\n  audit_s: 2\n"))
        + "upf: { n4: { allow: [127.0.0.7/32, 127.0.0.28/32], retention_s: 5 } }\n"
        + "sbi: { timeout_ms: 1000, heartbeat_s: 2 }\n";
    let core = start_split(site, &(common.to_string() + &own))?;
    let relay = |name: &str| Relay::to(server, &site.0.join(format!("relay-{name}")));
    let relay = [relay("amf")?, relay("smf")?];
    let store = |n: usize| {
        let (url, key_file) = (relay[n].url(), site.0.join("operator.key"));
        format!("  context_store: {{ database: {url:?}, key_file: {key_file:?} }}\n")
    };
    let timers = "  timers: { deregistered_s: 1 }\n";
    let rest = "sbi: { timeout_ms: 1000, heartbeat_s: 2, ";
    let amf = second_amf(", cut_off_ms: 1000", &(store(0) + timers));
    let more = format!("{smf}, bind: 127.0.0.28 }}\n  audit_s: 2\n{}", store(1));
    let configs = [
        amf.replace("sbi: { ", rest),
        smf_member(2, "10.45.128.0/17", &more) + rest + "smf: \"127.0.0.26:7777\" }\n",
    ];
    let mut others = [None, None];
    for (n, (name, kind)) in NAMES.into_iter().enumerate() {
        let group = Some(GROUPS[n]);
        let other = start_member_in_group(site, &core, name, kind, &configs[n], group).await?;
        ensure!(other.has_group(GROUPS[n]), "the {name} has become another user");
        others[n] = Some(other);
    }
    // For functions of the core that restart.
    std::fs::write(site.config(), format!("{config}{common}{own}"))?;
    let setup = Setup { site, core, relay, others: RefCell::new(others) };

    let (first, second) = (gnb(1, "127.0.0.5:38412")?, gnb(2, "127.0.0.6:38412")?);
    let gnbs = vec![Gnb::connect(first).await?, Gnb::connect(second).await?];
    let ues = (1..=UES).map(|n| ue(&gnbs[n as usize % 2], n)).collect::<Result<Vec<Ue>>>()?;
    let gnbs = &Gnbs::new(gnbs);
    let plan = plan(seed, length);
    let (tried, looks) = (RefCell::new((0, 0)), RefCell::new(0));
    let store = ContextStoreConfig {
        database: server.url(),
        key_file: site.0.join("operator.key").display().to_string(),
        ..ContextStoreConfig::default()
    };
    let faults = async {
        let setup = &setup;
        let all = plan.iter().map(|(at, fault)| async move {
            tokio::time::sleep(*at).await;
            setup.inject(*fault).await.with_context(|| format!("{fault:?}"))
        });
        try_join_all(all).await.map(drop)
    };
    let procedures = ues.iter().zip(1..).map(|(ue, n)| {
        let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(n));
        random_procedures(gnbs, ue, random, &tried)
    });
    let scenario = async {
        tokio::select! {
            done = faults => done?,
            failed = try_join_all(procedures) => drop(failed?),
        }
        let give_up = Instant::now() + RECOVERY;
        try_join_all(ues.iter().map(|ue| recover(gnbs, ue, give_up))).await?;
        // Each UE is served by one AMF, and has one session at one SMF.
        for ue in &ues {
            ue.register().await.context("after the faults")?;
            ue.establish_pdu_session(crate::nf_sets::internet()).await?;
        }
        let registered = |amf: &serde_json::Value| amf["ues"]["registered"].as_u64();
        let sessions = |smf: &serde_json::Value| smf["sessions"].as_u64();
        setup.until_count(0, "registered UEs at both AMFs", registered, UES).await?;
        setup.until_count(1, "sessions at both SMFs", sessions, UES).await?;
        for ue in &ues {
            ue.deregister().await?;
        }
        setup.until_count(0, "registered UEs at the end", registered, 0).await?;
        setup.until_count(1, "sessions at the end", sessions, 0).await?;
        until(&setup.core, "upf", "no session is left", |upf| upf["sessionCount"] == 0).await
    };
    let keeping = join_all((0..2).map(|n| gnbs.keep_connected(n)));
    tokio::select! {
        done = scenario => done.with_context(|| format!("{plan:?}"))?,
        failed = watch_addresses(store, &looks) => failed?,
        _ = keeping => {}
    }
    let (tried, succeeded) = tried.into_inner();
    println!(
        "{} faults; {tried} procedures, {succeeded} of them successful; addresses compared {} \
         times",
        plan.len(),
        looks.borrow()
    );
    ensure!(succeeded > UES && tried > succeeded, "{tried} procedures, {succeeded} successful");
    for name in ["core.log", "other-amf.log", "other-smf.log"] {
        let log = std::fs::read_to_string(site.0.join(name))?;
        ensure!(!log.contains("panicked"), "{name}: a function has panicked");
    }
    setup.core.stop()
}

#[test]
fn members_of_amf_and_smf_sets_are_cut_off_suspended_and_killed() -> Result<()> {
    let (seed, seconds) = (number("MARTLET_CHAOS_SEED", 1)?, number("MARTLET_CHAOS_SECONDS", 8)?);
    println!("MARTLET_CHAOS_SECONDS={seconds} MARTLET_CHAOS_SEED={seed}");
    let length = Duration::from_secs(seconds);
    in_namespace_within(length + RECOVERY * 3, move || async move {
        let Some(server) = TestPostgres::start("chaos-sets")? else { return Ok(()) };
        let site = Site::on("chaos-sets", Some(&server.url()))?;
        site.subscribe(3, UES - 2)?;
        rules()?;
        run(&site, &server, seed, length).await
    });
    Ok(())
}
