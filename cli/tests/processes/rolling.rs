//! A rolling upgrade: instances of functions are drained, stopped and started again one after the
//! other while UEs register, and no procedure fails (TS 23.501, 5.19.3; TS 29.510, 6.1.6.3.7).
use crate::nf_sets::{
    ExtraFunction, SECOND_INSTANCES, TwoAmfs, gnb_of_second_amf, internet, over_postgresql,
    over_sqlite, second_amf, smf_member, start_member, start_second, start_split, two_amfs,
    until_reached, with_sessions,
};
use crate::outages::oam_of;
use crate::redundancy::PROMISE;
use crate::{MARTLET, Site, deregister_all, gnb_config, ue, until};
use anyhow::{Context, Result, ensure};
use martlet_lab::{CoreProcess, status_at};
use martlet_ran::{Gnb, Procedure, Sample, Ue};
use martlet_tests::{ping, sequence_of};
use nix::sys::signal::Signal::SIGTERM;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Registrations of all UEs without a replacement.
const UNDISTURBED: u32 = 12;
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
    /// The longest registration while no instance was replaced: what the machine needs.
    undisturbed: Duration,
    /// The longest registration while instances were replaced.
    longest: Duration,
}

impl Done {
    /// Checks the promise. What a registration needs without a replacement does not count: the
    /// machine may be busy.
    fn check(&self, rounds: u32) -> Result<()> {
        ensure!(self.rounds >= rounds, "{self:?}");
        ensure!(self.longest < self.undisturbed + PROMISE, "{self:?}");
        Ok(())
    }
}

/// Runs of a load.
#[derive(Default)]
struct Run {
    ends: AtomicBool,
    /// Instances are being replaced.
    is_disturbed: AtomicBool,
    /// No packets are sent any more.
    traffic_ends: AtomicBool,
    /// Registrations since the start.
    registrations: AtomicU32,
}

impl Run {
    /// Lets the load run undisturbed.
    async fn undisturbed(&self) {
        self.is_disturbed.store(false, Ordering::Relaxed);
        let until = self.registrations.load(Ordering::Relaxed) + UNDISTURBED;
        while self.registrations.load(Ordering::Relaxed) < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.is_disturbed.store(true, Ordering::Relaxed);
    }
}

/// Registers with a session and deregisters, again and again.
async fn load(ue: Ue, run: Arc<Run>) -> Result<Done> {
    let mut done = Done::default();
    while !run.ends.load(Ordering::Relaxed) {
        let before = run.is_disturbed.load(Ordering::Relaxed);
        let begun = Instant::now();
        ue.register().await.with_context(|| format!("registration {}", done.rounds))?;
        let took = begun.elapsed();
        run.registrations.fetch_add(1, Ordering::Relaxed);
        let longest = match before || run.is_disturbed.load(Ordering::Relaxed) {
            true => &mut done.longest,
            false => &mut done.undisturbed,
        };
        *longest = took.max(*longest);
        ue.establish_pdu_session(internet()).await.context("session")?;
        ue.deregister().await.context("deregistration")?;
        done.rounds += 1;
    }
    Ok(done)
}

/// The sum of what all loads have done.
async fn total(loads: Vec<Load>) -> Result<Done> {
    let mut all = Done::default();
    for load in loads {
        let Done { rounds, undisturbed, longest } = load.await??;
        all.rounds += rounds;
        all.undisturbed = all.undisturbed.max(undisturbed);
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
    let core = start_split(site, "")?;
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
    let run = Arc::new(Run::default());
    let ues = (1..=4).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let loads: Vec<Load> = ues.into_iter().map(|ue| tokio::spawn(load(ue, run.clone()))).collect();
    run.undisturbed().await;
    let mut replaced = Vec::new();
    for (second, old) in all {
        let new = replace(site, &core, second, old).await.with_context(|| second.0.to_string())?;
        // The new instance serves, too, before the next one is replaced.
        tokio::time::sleep(Duration::from_millis(300)).await;
        replaced.push(new);
    }
    run.undisturbed().await;
    run.ends.store(true, Ordering::Relaxed);
    total(loads).await?.check(20)?;
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

/// The lines of an SMF with charging and two UPFs. UEs use the core's own while it serves.
const SMF: &str = "  charging: { mode: online, on_failure: refuse }
  upfs: [{ n4: 127.0.0.8:8805, tacs: [1] }, { n4: 127.0.0.9:8805 }]
";

/// The lines of a UPF through which UEs reach each other, with more options of N4.
fn upf(n4: &str, more: &str) -> String {
    format!(
        "upf:\n  n4: {{ {n4}allow: [127.0.0.7/32, 127.0.0.28/32] }}\n  n6: {{ mode: none \
         }}\n{more}"
    )
}

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
            more: smf_member(2, "10.45.128.0/17", SMF)
                + "  n4: { bind: 127.0.0.28, return_per_s: 0 }\n"
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
    let give_up = Instant::now() + Duration::from_secs(60);
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

/// Sends packets from one UE to another one until `traffic_ends`. Returns the longest time
/// without one that arrives.
async fn traffic(from: Ue, to: Ue, run: Arc<Run>) -> Result<Duration> {
    let addresses = with_sessions(&[&from, &to]).await?;
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    for sequence in (1..=u16::MAX).cycle() {
        if run.traffic_ends.load(Ordering::Relaxed) {
            break;
        }
        let _ = from.send_ip(1, ping(addresses[0], addresses[1], sequence)).await;
        let received = tokio::time::timeout(Duration::from_millis(50), to.recv_ip()).await;
        longest = longest.max(last.elapsed());
        if let Ok(Ok((_, packet))) = received
            && sequence_of(&packet).is_some()
        {
            last = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for ue in [from, to] {
        ue.deregister().await.context("after the traffic")?;
    }
    Ok(longest)
}

/// Waits until both SMFs are associated with both UPFs.
async fn until_associated(site: &Site, core: &CoreProcess) -> Result<()> {
    let both = |smf: &Value| {
        let upfs = smf["upfs"].as_array().cloned().unwrap_or_default();
        upfs.len() == 2 && upfs.iter().all(|upf| upf["associated"] == true)
    };
    let other = || status_at(&site.0.join("other-smf-smf.sock")).unwrap_or_default();
    let is_both = |smf: &Value| both(smf) && both(&other()["nfs"][0]["status"]);
    until(core, "smf", "both SMFs are associated with both UPFs", is_both).await
}

/// Drains a UPF with this OAM socket, and waits until its sessions have moved.
async fn drain_upf(socket: &Path) -> Result<()> {
    martlet(&["drain", "--at", &path(socket), "upf"])?;
    let sessions = || Ok::<_, anyhow::Error>(status_at(socket)?["nfs"][0]["status"].clone());
    let give_up = Instant::now() + Duration::from_secs(60);
    while sessions()?["sessionCount"] != 0 {
        ensure!(Instant::now() < give_up, "sessions stay: {}", sessions()?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn replace_all(site: &Site) -> Result<()> {
    let common = std::fs::read_to_string(site.config())?;
    let nrf = "nrf: { context_store: { database: ".to_string()
        + &format!("{:?} }} }}\n", site.0.join("other.nrf.db"));
    let other_nrf = || ExtraFunction::start(site, "nrf", &(nrf.clone() + &sbi("nrf", 30)));
    let mut second_nrf = other_nrf()?;
    let of_core = smf_member(1, "10.45.0.0/17", SMF)
        + "  n4: { return_per_s: 0 }\n"
        + &chf(1)
        + &upf("", "")
        + "sbi: { nrf: [\"127.0.0.10:7777\", \"127.0.0.30:7777\"] }\n";
    let more = upf("address: 127.0.0.9:8805, ", "  n3: { address: 127.0.0.9:2152 }\n");
    let other_upf = || ExtraFunction::start(site, "upf", &more);
    // Functions of the core read the file again when they are replaced; others copy it.
    let for_core = || std::fs::write(site.config(), format!("{common}{of_core}"));
    let for_others = || std::fs::write(site.config(), &common);
    let mut second_upf = other_upf()?;
    let core = start_split(site, &of_core)?;
    let mut all = Vec::new();
    for instance in instances() {
        let Instance { name, kind, more } = &instance;
        let started = start_member(site, &core, name, kind, more).await;
        all.push((started.with_context(|| name.to_string())?, instance));
    }
    for_core()?;
    until_associated(site, &core).await?;
    let mut config = gnb_config(1, "127.0.0.5:38412")?;
    config.further_amfs = vec!["127.0.0.6:38412".parse()?];
    let gnb = Gnb::connect(config).await?;
    let run = Arc::new(Run::default());
    let ues = (1..=4).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let packets = tokio::spawn(traffic(ue(&gnb, 5)?, ue(&gnb, 6)?, run.clone()));
    let mut loads: Vec<Load> =
        ues.into_iter().map(|ue| tokio::spawn(load(ue, run.clone()))).collect();

    run.undisturbed().await;
    second_nrf.signal(SIGTERM)?;
    second_nrf.ended().await?;
    for_others()?;
    second_nrf = other_nrf()?;
    for_core()?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    restart_own(site, &core, "nrf").await?;
    check(&mut loads).await.context("while the NRFs were replaced")?;

    drain_upf(&site.0.join("other-upf-upf.sock")).await?;
    second_upf.signal(SIGTERM)?;
    second_upf.ended().await?;
    for_others()?;
    second_upf = other_upf()?;
    for_core()?;
    until_associated(site, &core).await?;
    drain_upf(&site.0.join("oam-upf.sock")).await?;
    restart_own(site, &core, "upf").await?;
    until_associated(site, &core).await?;
    check(&mut loads).await.context("while the UPFs were replaced")?;
    run.traffic_ends.store(true, Ordering::Relaxed);
    let pause = packets.await??;
    println!("longest time without a packet: {pause:?}");
    ensure!(pause < PROMISE, "no packet for {pause:?}");

    let (mut replaced, mut associations) = (Vec::new(), Vec::new());
    for (old, Instance { name, kind, more }) in all {
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
    run.undisturbed().await;
    run.ends.store(true, Ordering::Relaxed);
    total(loads).await?.check(40)?;
    drop((second_nrf, second_upf));
    for association in associations {
        association.shutdown().await;
    }
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn both_members_of_each_set_are_drained_and_replaced_under_load() {
    over_postgresql("rolling-all", 6, async |site, _| replace_all(site).await);
}

fn path(file: &Path) -> String {
    file.display().to_string()
}

#[test]
fn instances_are_drained_and_replaced_under_load_without_a_failed_procedure() {
    over_postgresql("rolling", 6, async |site, _| upgrade(site).await);
}

/// Packets for a UE in CM-IDLE while its AMF stops as planned, and when it has stopped.
async fn idle_ue(site: &Site) -> Result<()> {
    let amfs = two_amfs(site, &second_amf("", ""), gnb_of_second_amf()?, 2).await?;
    let TwoAmfs { core, other, gnbs: (first, second), ues: [from, idle, _], mut addresses } = amfs;
    // The core's AMF keeps a context in RM-DEREGISTERED.
    idle.service_request().await?;
    idle.deregister().await?;
    idle.move_to(&second).await?;
    idle.register().await?;
    idle.deregister().await?;
    // With its 5G-GUTI the other AMF would fetch the context.
    idle.forget_registration().await?;
    idle.move_to(&first).await?;
    addresses[1] = with_sessions(&[&idle]).await?[0];
    idle.release_to_idle().await?;
    let (sender, receiver) = ((&from, addresses[0]), (&idle, addresses[1]));
    let registrations = |samples: Vec<Sample>| {
        samples.iter().filter(|s| s.procedure == Procedure::Registration).count()
    };
    let before = registrations(first.samples().take());
    martlet(&["drain", "--at", &path(&site.0.join("other-amf-amf.sock")), "amf"])?;
    until_status(&core, "AMF", "SUSPENDED", 1).await?;
    other.signal(SIGTERM)?;
    let received =
        async { until_reached(sender, receiver, 1).await.context("while its AMF stops") };
    tokio::try_join!(other.ended(), received)?;
    until_reached(sender, receiver, 2).await.context("when its AMF has stopped")?;
    let give_up = Instant::now() + Duration::from_secs(60);
    while idle.status().await?.guti.is_none_or(|guti| guti.amf_pointer() != 0) {
        ensure!(Instant::now() < give_up, "it has no 5G-GUTI of the other AMF");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = registrations(first.samples().take());
    ensure!(before > 0 && after == 0, "{after} UEs had to register again");
    deregister_all(&core, &[&from, &idle]).await?;
    second.shutdown().await;
    core.stop()
}

#[test]
fn an_idle_ue_is_reached_while_its_amf_stops_as_planned() {
    over_sqlite("planned-removal", 2, async |site| idle_ue(site).await);
}
