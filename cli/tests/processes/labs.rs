//! The experiments of `martlet lab`, in their short forms.
use crate::site::*;
use anyhow::{Context, ensure};
use martlet_tests::in_namespace;
use std::process::Command;

#[test]
fn the_control_plane_lab_leaves_raw_data_figures_a_report_and_plots() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "control-plane", "--quick", "--rounds", "2", "--ues", "1,3", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let rows = std::fs::read_to_string(folder.join("raw.csv"))?.lines().count();
        ensure!(rows == 1 + 2 * 3 * 6 * (1 + 3), "a row for each UE, procedure, round and variant, not {rows}");
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        for id in [
            "registration.local.ues1.p50",
            "pdu_session.http.ues3.p50",
            "paging.fabric.ues3.p50",
            "resident.local.ues100",
        ] {
            let figure = figures.iter().find(|figure| figure["id"] == id).with_context(|| id.to_string())?;
            ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
        }
        for file in ["report.md", "latency.svg", "latency.png", "core-time.svg", "core-time.png"] {
            ensure!(std::fs::metadata(folder.join(file))?.len() > 1000, "{file} has something in it");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_sbi_lab_compares_ways_of_carrying_calls_between_two_processes() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-sbi-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let ran = Command::new(MARTLET).args(["--log", "warn", "lab", "sbi", "--quick", "--out", &out]).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let ways = [
            "http_tcp",
            "http_unix",
            "http1_fabric",
            "http_fabric",
            "frame_json",
            "frame_binary",
            "frame_octets",
            "socket_octets",
            "local",
        ];
        let each = ways.map(|way| format!("roundtrip.{way}.inflight16_gap3ms.p99"));
        let ratio = "roundtrip.http_tcp_over_http_fabric.inflight16.per_call".to_string();
        for id in each.into_iter().chain([ratio]) {
            let figure = figures.iter().find(|figure| figure["id"] == id.as_str()).with_context(|| id.clone())?;
            ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
        }
        for file in ["report.md", "raw.csv", "round-trip.svg", "round-trip.png"] {
            ensure!(std::fs::metadata(folder.join(file))?.len() > 1000, "{file} has something in it");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_crowd_lab_has_a_storm_and_restarts_and_loses_nobody() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-crowd-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "crowd", "--ues", "60", "--storm", "40", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let value = |id: &str| figures.iter().find(|figure| figure["id"] == id).and_then(|f| f["value"].as_f64());
        let sum = value("crowd.local.storm_registered").zip(value("crowd.local.storm_told_to_back_off"));
        ensure!(sum.is_some_and(|(done, told)| done + told == 40.0), "{figures:?}");
        ensure!(value("crowd.local.storm_lost") == Some(0.0), "{figures:?}");
        for id in ["crowd.local.restart", "crowd.fabric.restart_amf", "crowd.fabric.restart_smf"] {
            // An unoptimised build on a busy machine.
            ensure!(value(id).is_some_and(|seconds| seconds > 0.0 && seconds < 30.0), "{id}: {figures:?}");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_idle_lab_says_what_a_core_uses_that_has_nothing_to_do() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-idle-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "idle", "--quick", "--sbi", "fabric", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let value = |id: &str| figures.iter().find(|figure| figure["id"] == id).and_then(|f| f["value"].as_f64());
        ensure!(value("idle.fabric.processes") == Some(10.0), "{figures:?}");
        // An unoptimised build on a busy machine: only a function that spins or leaks would miss these.
        ensure!(value("idle.fabric.cpu").is_some_and(|cpu| cpu > 0.0 && cpu < 20.0), "{figures:?}");
        ensure!(value("idle.fabric.proportional").is_some_and(|size| size > 1.0 && size < 400.0), "{figures:?}");
        ensure!(std::fs::read_to_string(folder.join("report.md"))?.contains("idle.fabric.cpu"), "the report says it");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_positioning_lab_carries_messages_over_every_channel_and_keeps_every_sample() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-lcs-upp-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let ran = Command::new(MARTLET)
            .args(["--log", "warn", "lab", "lcs-upp", "--quick", "--rounds", "20", "--out", &out])
            .output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let raw = std::fs::read_to_string(folder.join("raw.csv"))?;
        for channel in ["raw_tcp", "raw_udp", "rustls", "quinn"] {
            let id = format!("transport_time.{channel}.n65535_loopback.mean");
            let figure = figures.iter().find(|figure| figure["id"] == id[..]).with_context(|| id.clone())?;
            ensure!(figure["low"].as_f64() <= figure["value"].as_f64() && figure["n"] == 20, "{figure}");
            let samples = raw.lines().filter(|line| line.starts_with(&format!("{channel},1024,"))).count();
            ensure!(samples == 20, "{channel}: {samples} samples");
        }
        ensure!(std::fs::metadata(folder.join("type-1.png"))?.len() > 1000, "there is no plot");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}
