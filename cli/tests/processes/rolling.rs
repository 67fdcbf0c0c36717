//! A rolling upgrade: instances of functions are drained, stopped and started again one after the
//! other while UEs register, and no procedure fails (TS 23.501, 5.19.3; TS 29.510, 6.1.6.3.7).
use crate::nf_sets::{
    ExtraFunction, LIMIT, SECOND_INSTANCES, internet, second_amf, smf_member, start_member,
    start_second,
};
use crate::outages::oam_of;
use crate::redundancy::PROMISE;
use crate::{MARTLET, Site, gnb_config, ue, until};
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, Ue};
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace_within;
use nix::sys::signal::Signal::SIGTERM;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for what an instance has begun, after it is drained.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs `martlet` with these arguments.
pub fn martlet(arguments: &[&str]) -> Result<String> {
    let output = Command::new(MARTLET).args(arguments).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "martlet {arguments:?}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until the NRF has a function with this status at this address.
async fn until_status(core: &CoreProcess, kind: &str, status: &str, count: usize) -> Result<()> {
    until(core, "nrf", &format!("{count} {kind} are {status}"), |nrf| {
        let all = nrf["registered"].as_array().cloned().unwrap_or_default();
        let of_kind = all.iter().filter(|entry| entry["type"] == kind);
        of_kind.filter(|entry| entry["status"] == status).count() == count
    })
    .await
}

/// What a load has done.
#[derive(Debug, Default)]
struct Done {
    rounds: u32,
    /// The longest time until a registration succeeded.
    longest: Duration,
    /// Procedures that failed and were repeated.
    failed: u32,
}

/// Runs of a load.
struct Run {
    ends: AtomicBool,
    /// An AMF stops: procedures that run there may fail once, and are repeated.
    amf_stops: AtomicBool,
}

impl Run {
    fn start() -> Arc<Run> {
        Arc::new(Run { ends: AtomicBool::new(false), amf_stops: AtomicBool::new(false) })
    }
}

/// Registers with a session and deregisters, again and again.
async fn load(ue: Ue, run: Arc<Run>) -> Result<Done> {
    let mut done = Done::default();
    while !run.ends.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let round = async {
            ue.register().await.with_context(|| format!("registration {}", done.rounds))?;
            let registered = begun.elapsed();
            ue.establish_pdu_session(internet()).await.context("session")?;
            ue.deregister().await.context("deregistration")?;
            Ok::<_, anyhow::Error>(registered)
        };
        let took = match round.await {
            Ok(took) => took,
            Err(error) if run.amf_stops.load(Ordering::Relaxed) => {
                println!("{}: {error:#}", ue.supi());
                done.failed += 1;
                // As after the loss of its connection.
                ue.forget_registration().await?;
                ue.register().await.context("the registration after it")?;
                let took = begun.elapsed();
                ue.deregister().await.context("the deregistration after it")?;
                took
            }
            Err(error) => return Err(error),
        };
        done.longest = done.longest.max(took);
        done.rounds += 1;
    }
    Ok(done)
}

/// The sum of what all loads have done.
async fn total(loads: Vec<Load>) -> Result<Done> {
    let mut all = Done::default();
    for load in loads {
        let Done { rounds, longest, failed } = load.await??;
        all.rounds += rounds;
        all.failed += failed;
        all.longest = all.longest.max(longest);
    }
    println!("{all:?}");
    Ok(all)
}

async fn replace(
    site: &Site,
    core: &CoreProcess,
    second: (&str, &str, u8),
    old: ExtraFunction,
) -> Result<ExtraFunction> {
    let (name, kind, _) = second;
    let socket = site.0.join(format!("other-{name}-{name}.sock"));
    martlet(&["drain", "--at", &path(&socket), name])?;
    until_status(core, kind, "SUSPENDED", 1).await?;
    // What it has begun ends meanwhile.
    tokio::time::sleep(Duration::from_millis(300)).await;
    old.signal(SIGTERM)?;
    old.ended().await?;
    start_second(site, core, second).await
}

async fn upgrade(site: &Site) -> Result<()> {
    let core = site.start(&["--split", "--sbi", "http"])?;
    let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
    let mut all = Vec::new();
    for second in SECOND_INSTANCES {
        all.push((second, start_second(site, &core, second).await?));
    }
    let network = martlet(&["status", "--network", "-c", &path(&site.config())])?;
    for (_, kind, host) in SECOND_INSTANCES {
        ensure!(network.matches(kind).count() >= 2, "{kind}: {network}");
        ensure!(network.contains(&format!("127.0.0.{host}:7777")), "{network}");
    }
    let run = Run::start();
    let ues = (1..=4).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let loads: Vec<Load> = ues.into_iter().map(|ue| tokio::spawn(load(ue, run.clone()))).collect();
    let mut replaced = Vec::new();
    for (second, old) in all {
        let new = replace(site, &core, second, old).await.with_context(|| second.0.to_string())?;
        // The new instance serves, too, before the next one is replaced.
        tokio::time::sleep(Duration::from_millis(300)).await;
        replaced.push(new);
    }
    run.ends.store(true, Ordering::Relaxed);
    let Done { rounds, longest, failed } = total(loads).await?;
    ensure!(rounds >= 20 && failed == 0, "{rounds} rounds, {failed} procedures failed");
    ensure!(longest < PROMISE, "{longest:?}");
    gnb.shutdown().await;
    core.stop()
}

/// An instance outside the core of each function of a set.
struct Instance {
    name: &'static str,
    kind: &'static str,
    /// Its lines of the configuration.
    more: String,
}

/// The lines `sbi` of an instance at this address.
fn sbi(name: &str, host: u8) -> String {
    format!(
        "sbi: {{ nrf: [\"127.0.0.30:7777\", \"127.0.0.10:7777\"], {name}: \
         \"127.0.0.{host}:7777\" }}\n"
    )
}

/// The lines of an SMF with charging.
const CHARGING: &str = "  charging: { mode: online, on_failure: refuse }\n";

fn chf(member: u8) -> String {
    format!("chf: {{ enabled: true, quota: 100000000, set: {{ id: \"1\", member: {member} }} }}\n")
}

/// The instances, in the order in which they are replaced.
fn instances() -> Vec<Instance> {
    let plain = SECOND_INSTANCES.into_iter();
    let plain = plain.map(|(name, kind, host)| Instance { name, kind, more: sbi(name, host) });
    // The LMF of the core has the default port on this machine.
    let user_plane = "lmf: { user_plane: { bind: \"0.0.0.0:9128\" } }\n".to_string();
    let of_set = [
        Instance { name: "lmf", kind: "LMF", more: user_plane + &sbi("lmf", 36) },
        Instance { name: "chf", kind: "CHF", more: chf(2) + &sbi("chf", 37) },
        Instance {
            name: "smf",
            kind: "SMF",
            more: smf_member(2, "10.45.128.0/17", CHARGING)
                + "  n4: { bind: 127.0.0.28 }\n"
                + &sbi("smf", 26),
        },
        Instance {
            name: "amf",
            kind: "AMF",
            more: second_amf("", "")
                .replace("sbi: { amf: \"127.0.0.27:7777\" }\n", &sbi("amf", 27)),
        },
    ];
    plain.chain(of_set).collect()
}

/// Drains, stops and starts the core's own instance of a function, which its supervisor starts.
async fn replace_own(site: &Site, core: &CoreProcess, name: &str, kind: &str) -> Result<()> {
    martlet(&["drain", "--at", &path(&site.0.join(format!("oam-{name}.sock"))), name])?;
    until_status(core, kind, "SUSPENDED", 1).await?;
    tokio::time::sleep(PAUSE).await;
    restart_own(site, core, name).await?;
    until_status(core, kind, "REGISTERED", 2).await
}

/// Ends the core's own instance, and waits until the next one is ready.
async fn restart_own(site: &Site, core: &CoreProcess, name: &str) -> Result<()> {
    let process = || core.process_of(&format!("nf {name}"));
    let before = process().context("its process")?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(before as i32), SIGTERM)?;
    let give_up = Instant::now() + Duration::from_secs(30);
    let is_ready = || oam_of(site, name, "/readyz").is_ok_and(|(status, _)| status == 200);
    while process().is_none_or(|now| now == before) || !is_ready() {
        ensure!(Instant::now() < give_up, "the {name} is not ready again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

type Load = tokio::task::JoinHandle<Result<Done>>;

/// Fails if a procedure of a load has failed.
async fn check(loads: &mut [Load]) -> Result<()> {
    for load in loads.iter_mut().filter(|load| load.is_finished()) {
        load.await??;
    }
    Ok(())
}

async fn replace_all(site: &Site) -> Result<()> {
    let common = std::fs::read_to_string(site.config())?;
    let nrf = "nrf: { context_store: { database: ".to_string()
        + &format!("{:?} }} }}\n", site.0.join("other.nrf.db"));
    let other_nrf = || ExtraFunction::start(site, "nrf", &(nrf.clone() + &sbi("nrf", 30)));
    let mut second_nrf = other_nrf()?;
    let of_core = smf_member(1, "10.45.0.0/17", CHARGING)
        + &chf(1)
        + "upf:\n  n4: { allow: [127.0.0.7/32, 127.0.0.28/32] }\nsbi: { nrf: \
           [\"127.0.0.10:7777\", \"127.0.0.30:7777\"] }\n";
    // Functions of the core read the file again when they are replaced; others copy it.
    let for_core = || std::fs::write(site.config(), format!("{common}{of_core}"));
    let for_others = || std::fs::write(site.config(), &common);
    for_core()?;
    let core = site.start(&["--split", "--sbi", "http"])?;
    let mut all = Vec::new();
    for instance in instances() {
        let Instance { name, kind, more } = &instance;
        for_others()?;
        let started = start_member(site, &core, name, kind, more).await;
        all.push((started.with_context(|| name.to_string())?, instance));
    }
    for_core()?;
    let mut config = gnb_config(1, "127.0.0.5:38412")?;
    config.further_amfs = vec!["127.0.0.6:38412".parse()?];
    let gnb = Gnb::connect(config).await?;
    let run = Run::start();
    let ues = (1..=4).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let mut loads: Vec<Load> =
        ues.into_iter().map(|ue| tokio::spawn(load(ue, run.clone()))).collect();

    second_nrf.signal(SIGTERM)?;
    second_nrf.ended().await?;
    for_others()?;
    second_nrf = other_nrf()?;
    for_core()?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    restart_own(site, &core, "nrf").await?;
    check(&mut loads).await.context("while the NRFs were replaced")?;
    let (mut replaced, mut associations) = (Vec::new(), Vec::new());
    for (old, Instance { name, kind, more }) in all {
        run.amf_stops.store(name == "amf", Ordering::Relaxed);
        martlet(&[
            "drain",
            "--at",
            &path(&site.0.join(format!("other-{name}-{name}.sock"))),
            name,
        ])?;
        until_status(&core, kind, "SUSPENDED", 1).await?;
        tokio::time::sleep(PAUSE).await;
        old.signal(SIGTERM)?;
        old.ended().await?;
        for_others()?;
        let new = start_member(site, &core, name, kind, &more).await;
        for_core()?;
        let new = new.with_context(|| name.to_string())?;
        check(&mut loads).await.with_context(|| format!("while the second {name} was replaced"))?;
        if name == "amf" {
            // The gNB connects to the new AMF before the other one stops.
            associations.push(gnb.connect_also("127.0.0.6:38412".parse()?).await?);
        }
        replace_own(site, &core, name, kind).await.with_context(|| format!("own {name}"))?;
        check(&mut loads).await.with_context(|| format!("while the core's {name} was replaced"))?;
        println!("{name} replaced");
        replaced.push(new);
    }
    run.ends.store(true, Ordering::Relaxed);
    let Done { rounds, longest, failed } = total(loads).await?;
    ensure!(rounds >= 40, "{rounds} rounds");
    // At most the procedure of each UE, for each of the AMFs.
    ensure!(failed <= 8, "{failed} procedures failed");
    ensure!(longest < PROMISE, "{longest:?}");
    drop(second_nrf);
    for association in associations {
        association.shutdown().await;
    }
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn both_members_of_each_set_are_drained_and_replaced_under_load() {
    in_namespace_within(LIMIT, || async {
        let Some(server) = TestPostgres::start("rolling-all")? else { return Ok(()) };
        let site = Site::on("rolling-all", Some(&server.url()))?;
        site.subscribe(3, 4)?;
        replace_all(&site).await
    });
}

fn path(file: &Path) -> String {
    file.display().to_string()
}

#[test]
fn instances_are_drained_and_replaced_under_load_without_a_failed_procedure() {
    in_namespace_within(LIMIT, || async {
        let Some(server) = TestPostgres::start("rolling")? else { return Ok(()) };
        let site = Site::on("rolling", Some(&server.url()))?;
        site.subscribe(3, 4)?;
        upgrade(&site).await
    });
}
