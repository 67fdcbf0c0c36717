//! Outages of what functions depend on: the database, the NRF and the UPF hang or end. Each
//! function reports it in its readiness, log and metrics, and answers OAM requests meanwhile.
use crate::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace_within;
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(400);

/// Reads a resource of a function's OAM endpoint: the status and the answer.
pub fn oam_of(site: &Site, name: &str, path: &str) -> Result<(u16, String)> {
    oam_at(&site.0.join(format!("oam-{name}.sock")), path)
}

/// The same at the socket of a function outside the core.
pub fn oam_at(socket: &Path, path: &str) -> Result<(u16, String)> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).context("a status line")?.parse()?;
    Ok((status, answer))
}

/// Waits until a function is ready, or until it is not since this is missing.
pub async fn until_ready(site: &Site, name: &str, missing: Option<&str>) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let (status, answer) = oam_of(site, name, "/readyz")?;
        match missing {
            None if status == 200 => return Ok(()),
            Some(missing) if status == 503 && answer.contains(missing) => return Ok(()),
            _ => ensure!(
                tokio::time::Instant::now() < give_up,
                "{name} should miss {missing:?}: {answer}"
            ),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn signal(core: &CoreProcess, name: &str, signal: nix::sys::signal::Signal) -> Result<()> {
    let pid = core.process_of(&format!("nf {name}")).context("its process")?;
    Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), signal)?)
}

/// How often a function logged the begin and the end of an outage.
pub fn logged(site: &Site, name: &str, dependency: &str) -> Result<(usize, usize)> {
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    // Without the colours of a terminal.
    let of = |event: &str| {
        let names =
            [event, &format!("\"{name}\""), &format!("\"{dependency}\"")].map(str::to_string);
        log.lines().filter(|line| names.iter().all(|text| line.contains(text.as_str()))).count()
    };
    Ok((of("dependency not available"), of("dependency available again")))
}

async fn database_outages(site: &Site, server: &mut TestPostgres) -> Result<()> {
    let core = site.start(&["--split", "--sbi", "http"])?;
    let with_database = ["udr", "amf", "smf"];
    for outage in 1..=2 {
        for name in with_database {
            until_ready(site, name, None).await?;
        }
        // A server that hangs, and one that is gone.
        if outage == 1 {
            server.signal("-STOP")?
        } else {
            server.stop()
        }
        for name in with_database {
            until_ready(site, name, Some("database postgresql://")).await?;
        }
        until_ready(site, "udm", None).await?;
        let (_, metrics) = oam_of(site, "udr", "/metrics")?;
        let gauge = "martlet_dependency_up{dependency=\"database\",nf=\"udr\"";
        let shown = metrics.lines().find(|line| line.starts_with(gauge)).context("the metric")?;
        ensure!(shown.ends_with(" 0"), "{shown}");
        ensure!(oam_of(site, "udr", "/status")?.0 == 200, "the status is answered");
        if outage == 1 {
            server.signal("-CONT")?
        } else {
            server.restart()?
        }
        for name in with_database {
            until_ready(site, name, None).await?;
            ensure!(logged(site, name, "database")? == (outage, outage), "{name}: {outage}");
        }
    }
    let gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_database_outage_is_shown_by_each_function_that_needs_it() {
    in_namespace_within(LIMIT, || async {
        let Some(mut server) = TestPostgres::start("outage")? else { return Ok(()) };
        let url = format!("{}?statement_timeout=700&connect_timeout=1", server.url());
        let site = Site::on("outage", Some(&url))?;
        database_outages(&site, &mut server).await
    });
}

#[test]
fn an_outage_of_nrf_and_upf_is_shown_by_each_function_that_needs_them() {
    in_namespace_within(LIMIT, || async {
        let site = Site::new("outage-nrf")?;
        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), config + "smf: { n4: { heartbeat_s: 1, t1_ms: 200 } }\n")?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        for (stopped, dependency, dependents) in
            [("nrf", "nrf", &["amf", "udr", "ausf"][..]), ("upf", "n4", &["smf"][..])]
        {
            signal(&core, stopped, SIGSTOP)?;
            let missing = if stopped == "nrf" { "nrf http://" } else { "no UPF is associated" };
            for name in dependents {
                until_ready(&site, name, Some(missing)).await?;
            }
            signal(&core, stopped, SIGCONT)?;
            for name in dependents {
                until_ready(&site, name, None).await?;
                ensure!(logged(&site, name, dependency)? == (1, 1), "{name}");
            }
        }
        core.stop()
    });
}

/// The NF instances that the NRF has, without those of functions that have ended.
fn instances(core: &CoreProcess) -> Vec<String> {
    let nrf = status_of(core, "nrf");
    let all = nrf["registered"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|entry| entry["id"].as_str().map(str::to_string)).collect()
}

#[test]
fn ues_register_while_the_nrf_restarts() {
    in_namespace_within(LIMIT, || async {
        let site = Site::new("nrf-restart")?;
        site.subscribe(3, 8)?;
        // Functions send no regular heartbeat during the test that the NRF would miss.
        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), config + "sbi: { heartbeat_s: 60 }\n")?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        let before = instances(&core);
        ensure!(before.len() == 8, "{before:?}");
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        let mut kills = 0;
        for n in 2..=9 {
            // It is absent from an earlier kill, or has just come back.
            kills += u32::from(kill(&core, "nrf").is_ok());
            registration_cycle(&ue(&gnb, n)?).await.with_context(|| format!("UE {n}"))?;
        }
        ensure!(kills > 1, "{kills}");
        until(&core, "nrf", "it is back", |nrf| nrf["registered"].is_array()).await?;
        until_ready(&site, "amf", None).await?;
        ensure!(instances(&core) == before, "{:?} instead of {before:?}", instances(&core));
        gnb.shutdown().await;
        core.stop()
    });
}
