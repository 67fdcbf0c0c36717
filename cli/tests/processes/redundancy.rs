//! A second instance of each function beside the core's, over PostgreSQL: when one of them is
//! killed, suspended or cut off from the database, UEs register (TS 29.500, 6.10.3.3 and 6.12).
use crate::nf_sets::{
    ExtraFunction, SECOND_INSTANCES, internet, network_from, over_postgresql, over_sqlite,
    start_member, start_second, start_split,
};
use crate::outages::{oam_at, oam_of, until_ready};
use crate::relay::Relay;
use crate::rolling::martlet;
use crate::{Site, gnb, kill, registration_cycle, ue, until};
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, Ue};
use martlet_store::testing::TestPostgres;
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use std::time::{Duration, Instant};

/// Longest registration after a function was killed: 2 s are promised, and an unoptimised build on
/// a busy machine gets more. A call that waits for its time limit takes 5 s.
pub const PROMISE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// Registers a UE within the promise.
async fn registers(ue: &Ue) -> Result<()> {
    let begun = Instant::now();
    ue.register().await?;
    let took = begun.elapsed();
    ensure!(took < PROMISE, "the registration took {took:?}");
    println!("registered in {took:?}");
    Ok(())
}

/// Starts a second UDR, which reaches the database over a relay.
async fn second_udr(
    site: &Site,
    core: &CoreProcess,
    server: &TestPostgres,
) -> Result<(ExtraFunction, Relay)> {
    let relay = Relay::to(server, &site.0.join("relay"))?;
    let config = std::fs::read_to_string(site.config())?;
    let direct = server.url();
    ensure!(config.contains(&direct), "{config}");
    // With the default time limits of the database.
    let relayed = format!("postgresql://martlet@{}/postgres", relay.host());
    std::fs::write(site.config(), config.replace(&direct, &relayed))?;
    let udr = start_second(site, core, SECOND_INSTANCES[0]).await?;
    std::fs::write(site.config(), config)?;
    Ok((udr, relay))
}

/// Waits until the NRF has this number of UDRs with a status.
async fn until_udrs(core: &CoreProcess, status: &str, count: usize) -> Result<()> {
    until(core, "nrf", &format!("{count} UDRs are {status}"), |nrf| {
        let all = nrf["registered"].as_array().cloned().unwrap_or_default();
        let udrs = all.iter().filter(|entry| entry["type"] == "UDR");
        udrs.filter(|entry| entry["status"] == status).count() == count
    })
    .await
}

/// The second UDR loses the database, then both do. UEs from number `n` on register.
async fn cut_off_from_the_database(
    site: &Site,
    (core, gnb): (&CoreProcess, &Gnb),
    (server, relay): (&TestPostgres, &Relay),
    n: &mut u64,
) -> Result<()> {
    let mut next = || {
        *n += 1;
        ue(gnb, *n - 1)
    };
    relay.stall(true);
    let begun = Instant::now();
    let at_the_cut = (0..6).map(|_| next()).collect::<Result<Vec<Ue>>>()?;
    let registered = at_the_cut.iter().map(Ue::register);
    for outcome in futures_util::future::join_all(registered).await {
        outcome.context("when a UDR was cut off from the database")?;
    }
    println!("6 UEs registered {:?} after the cut", begun.elapsed());
    until_udrs(core, "SUSPENDED", 1).await?;
    for _ in 0..3 {
        registers(&next()?).await.context("while a UDR is cut off from the database")?;
    }
    relay.stall(false);
    until_udrs(core, "REGISTERED", 2).await?;
    registers(&next()?).await.context("after the cut")?;

    // No other UDR could serve: none is suspended, and requests wait for the database.
    server.signal("-STOP")?;
    until_ready(site, "udr", Some("database postgresql://")).await?;
    until_udrs(core, "REGISTERED", 2).await?;
    server.signal("-CONT")?;
    until_ready(site, "udr", None).await?;
    registers(&next()?).await.context("after an outage of the database")
}

async fn kill_each(site: &Site, server: &TestPostgres) -> Result<()> {
    let core = start_split(site, "")?;
    let gnb = gnb().await?;
    let (udr, relay) = second_udr(site, &core, server).await?;
    let mut all: Vec<(&str, ExtraFunction)> = vec![("udr", udr)];
    for second in &SECOND_INSTANCES[1..] {
        all.push((second.0, start_second(site, &core, *second).await?));
    }
    // Both instances serve.
    let mut n = 3;
    for _ in 0..4 {
        registration_cycle(&ue(&gnb, n)?).await?;
        n += 1;
    }
    cut_off_from_the_database(site, (&core, &gnb), (server, &relay), &mut n).await?;
    for (name, function) in &all {
        function.kill()?;
        for _ in 0..3 {
            let ue = ue(&gnb, n)?;
            n += 1;
            registers(&ue).await.with_context(|| format!("after the {name} was killed"))?;
            ue.establish_pdu_session(internet())
                .await
                .with_context(|| format!("without {name}"))?;
            ue.deregister().await?;
        }
    }
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn ues_register_when_a_second_udr_udm_ausf_pcf_or_nssf_is_killed() {
    over_postgresql("redundancy", 42, async |site, server| kill_each(site, server).await);
}

/// Locates each UE within the promise.
async fn locate(site: &Site, ues: u64) -> Result<()> {
    for n in 1..=ues {
        let imsi = format!("{:015}", 1_010_000_000_000 + n);
        let oam = site.0.join("oam-lmf.sock");
        let begun = Instant::now();
        // The UE's gNB runs on this thread.
        let oam = oam.display().to_string();
        let command = move || martlet(&["locate", &imsi, "--at", &oam]);
        let located = tokio::task::spawn_blocking(command).await??;
        let took = begun.elapsed();
        ensure!(located.contains("is at"), "{located}");
        ensure!(took < PROMISE, "UE {n} was located after {took:?}");
        println!("UE {n} located in {took:?}");
    }
    Ok(())
}

/// The section `lmf` with a cell, and with this port for user plane connections.
fn lmf(port: u16) -> String {
    let cells = "cells: [{ nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: 12.0991 }]";
    format!("lmf: {{ {cells}, user_plane: {{ bind: \"0.0.0.0:{port}\" }} }}\n")
}

/// The location requests at the second LMF.
fn at_second_lmf(site: &Site) -> Result<u64> {
    let (_, metrics) = oam_at(&site.0.join("other-lmf-lmf.sock"), "/metrics")?;
    let counters = metrics.lines().filter(|line| line.starts_with("martlet_lmf_requests_total{"));
    let values = counters.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    Ok(values.sum())
}

async fn killed_lmf(site: &Site) -> Result<()> {
    const UES: u64 = 6;
    let core = start_split(site, &lmf(9127))?;
    let gnb = gnb().await?;
    let more = lmf(9128) + "sbi: { lmf: \"127.0.0.36:7777\" }\n";
    let second = start_member(site, &core, "lmf", "LMF", &more).await?;
    let ues = (1..=UES).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    for ue in &ues {
        ue.register().await?;
    }
    // The requests for a UE go to the same LMF: of six UEs, some are at the second one.
    for _ in 0..4 {
        locate(site, 1).await?;
    }
    let of_first_ue = at_second_lmf(site)?;
    ensure!([0, 4].contains(&of_first_ue), "{of_first_ue} of 4 requests for a UE");
    locate(site, UES).await?;
    ensure!(at_second_lmf(site)? > 0, "no request was at the second LMF");
    second.kill()?;
    locate(site, UES).await.context("after the second LMF was killed")?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn ues_are_located_when_a_second_lmf_is_killed() {
    over_sqlite("two-lmfs", 6, killed_lmf);
}

fn suspend(core: &CoreProcess, name: &str, signal: nix::sys::signal::Signal) -> Result<()> {
    let pid = core.process_of(&format!("nf {name}")).context("its process")?;
    Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), signal)?)
}

async fn two_nrfs(site: &Site) -> Result<()> {
    let common = std::fs::read_to_string(site.config())?;
    let other = site.0.join("other.nrf.db");
    let more = format!(
        "sbi: {{ nrf: [\"127.0.0.30:7777\", \"127.0.0.10:7777\"] }}\nnrf: {{ context_store: {{ \
         database: {other:?} }} }}\n"
    );
    let second = ExtraFunction::start(site, "nrf", &more)?;
    let of_core = "sbi: { nrf: [\"127.0.0.10:7777\", \"127.0.0.30:7777\"] }\n";
    std::fs::write(site.config(), format!("{common}{of_core}"))?;
    let core = site.start(&["--split", "--sbi", "http"])?;
    let gnb: Gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    // The first NRF hangs. A function that starts knows the others from the second one.
    suspend(&core, "nrf", SIGSTOP)?;
    let shown = network_from(&site.0.join("oam-smf.sock")).await?;
    let of_nrf = |address: &str, end: &str| {
        let mut lines = shown.lines().filter(|line| line.starts_with("NRF"));
        lines.any(|line| line.contains(address) && line.trim_end().ends_with(end))
    };
    ensure!(of_nrf("127.0.0.10:7777", "does not answer"), "{shown}");
    ensure!(of_nrf("127.0.0.30:7777", "ready"), "{shown}");
    let killed = kill(&core, "udm")?;
    let give_up = Instant::now() + Duration::from_secs(60);
    while core.process_of("nf udm").is_none_or(|pid| pid == killed)
        || oam_of(site, "udm", "/readyz").is_ok_and(|(status, _)| status != 200)
        || oam_of(site, "udm", "/readyz").is_err()
    {
        ensure!(Instant::now() < give_up, "the UDM is not ready again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for n in 2..6 {
        let ue = ue(&gnb, n)?;
        registers(&ue).await.with_context(|| format!("UE {n}"))?;
        ue.deregister().await?;
    }
    suspend(&core, "nrf", SIGCONT)?;
    until(&core, "nrf", "the UDM is registered there, too", |nrf| {
        let all = nrf["registered"].as_array().cloned().unwrap_or_default();
        all.iter().any(|entry| entry["type"] == "UDM" && entry["status"] == "REGISTERED")
    })
    .await?;
    second.kill()?;
    for n in 6..9 {
        let ue = ue(&gnb, n)?;
        registers(&ue).await.with_context(|| format!("UE {n}, without the second NRF"))?;
        ue.deregister().await?;
    }
    until(&core, "nrf", "the NRF answers", |nrf| nrf["registered"].is_array()).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn ues_register_while_one_of_two_nrfs_hangs_or_is_killed() {
    over_sqlite("two-nrfs", 10, two_nrfs);
}
