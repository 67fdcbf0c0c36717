//! A rolling upgrade: instances of functions are drained, stopped and started again one after the
//! other while UEs register, and no procedure fails (TS 23.501, 5.19.3; TS 29.510, 6.1.6.3.7).
use crate::nf_sets::{ExtraFunction, LIMIT, SECOND_INSTANCES, internet, start_second};
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

/// Registers with a session and deregisters, again and again. Returns the rounds and the longest
/// registration.
async fn load(ue: Ue, ends: Arc<AtomicBool>) -> Result<(u32, Duration)> {
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while !ends.load(Ordering::Relaxed) {
        let begun = Instant::now();
        ue.register().await.with_context(|| format!("registration {rounds}"))?;
        longest = longest.max(begun.elapsed());
        ue.establish_pdu_session(internet()).await.with_context(|| format!("session {rounds}"))?;
        ue.deregister().await.with_context(|| format!("deregistration {rounds}"))?;
        rounds += 1;
    }
    Ok((rounds, longest))
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
    let ends = Arc::new(AtomicBool::new(false));
    let ues = (1..=4).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let loads: Vec<_> = ues.into_iter().map(|ue| tokio::spawn(load(ue, ends.clone()))).collect();
    let mut replaced = Vec::new();
    for (second, old) in all {
        let new = replace(site, &core, second, old).await.with_context(|| second.0.to_string())?;
        // The new instance serves, too, before the next one is replaced.
        tokio::time::sleep(Duration::from_millis(300)).await;
        replaced.push(new);
    }
    ends.store(true, Ordering::Relaxed);
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    for load in loads {
        let (of_load, longest_of_load) = load.await??;
        rounds += of_load;
        longest = longest.max(longest_of_load);
    }
    println!("{rounds} registrations with sessions, the longest registration {longest:?}");
    ensure!(rounds >= 20 && longest < Duration::from_secs(2), "{rounds}, {longest:?}");
    gnb.shutdown().await;
    core.stop()
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
