//! Functions in one process, with the rights of a sealed process: one that panics is started again
//! and keeps its UEs, and one that blocks the thread ends the process.
#![cfg(debug_assertions)]
use super::oam::over_socket;
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{PduSessionRequest, ServicePurpose};
use martlet_tests::{GATEWAY, in_namespace, reaches};
use std::time::{Duration, Instant};

fn inject(site: &Site, fault: &str) -> Result<()> {
    let (status, answer) = over_socket(&site.oam(), "POST", &format!("/ask/inject/{fault}"))?;
    ensure!(status == 200 && answer.contains("true"), "{answer}");
    Ok(())
}

fn entry(core: &CoreProcess, name: &str) -> serde_json::Value {
    let status = core.status().unwrap_or_default();
    let all = status["processes"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|process| process["name"] == name).unwrap_or_default()
}

#[test]
fn each_function_of_a_sealed_process_is_started_again() {
    in_namespace(|| async {
        let site = Site::new("supervised")?;
        let core = site.start(&[])?;
        let gnb = gnb().await?;
        let known = ue(&gnb, 1)?;
        known.register().await?;
        known.establish_pdu_session(PduSessionRequest::default()).await?;
        reaches(&known, 1, GATEWAY).await?;
        until_stored(&core).await?;
        let mut times = Vec::new();
        for name in ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "lmf", "smf", "upf", "amf"] {
            inject(&site, &format!("{name}/panic/0"))?;
            let started = Instant::now();
            loop {
                let entry = entry(&core, name);
                if entry["restarts"] == 1 && entry["state"] == "running" {
                    println!("{name}: restarted after {} ms", entry["lastRestartMs"]);
                    times.push(entry["lastRestartMs"].as_f64().context("a time")?);
                    break;
                }
                ensure!(started.elapsed() < Duration::from_secs(60), "{name}: {entry}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        // The bound of SPECIFICATION.md is 50 ms; an unoptimised build has five times as much, as
        // for its start. The median, since other load delays single restarts.
        times.sort_by(f64::total_cmp);
        ensure!(times[times.len() / 2] <= 250.0, "the functions serve again after {times:?} ms");
        // The UPF has the session again, and the AMF the UE.
        until(&core, "upf", "the session is restored", |upf| upf["sessionCount"] == 1).await?;
        gnb.lost().await;
        let gnb = gnb.connect_again().await?;
        known.move_to(&gnb).await?;
        known.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&known, 1, GATEWAY).await?;
        known.deregister().await?;
        registration_cycle(&ue(&gnb, 2)?).await?;
        let (_, metrics) = over_socket(&site.oam(), "GET", "/metrics")?;
        for metric in [
            "martlet_process_restarts_total{nf=\"amf\"} 1",
            "martlet_process_running{nf=\"amf\"} 1",
            "martlet_function_panics_total{nf=\"amf\"} 1",
            "martlet_amf_ues_registered 0",
        ] {
            ensure!(metrics.contains(metric), "{metric} is not in the metrics");
        }
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn a_function_that_blocks_the_thread_is_named_and_ends_the_process() {
    in_namespace(|| async {
        let site = Site::new("blocked")?;
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oam: {", "oam: { watchdog: { limit_ms: 400 },");
        std::fs::write(site.config(), config)?;
        let core = site.start(&[])?;
        let pid = core.process_of("up -c").context("the core has a process")?;
        inject(&site, "pcf/block/60000")?;
        // A child of this process that has ended is a zombie until it is waited for.
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next())
        };
        let started = Instant::now();
        while !matches!(state(), None | Some('Z')) {
            ensure!(started.elapsed() < Duration::from_secs(60), "the process does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(log.contains("pcf has blocked the thread of all functions"), "{log}");
        ensure!(log.contains("function blocks the thread"), "{log}");
        drop(core);
        Ok(())
    });
}
