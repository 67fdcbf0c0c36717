//! The experiments of `martlet-lab`, in their short forms. They start `martlet`, which has to be
//! built beside `martlet-lab`, as `cargo test --workspace` does.
use anyhow::{Context, Result, ensure};
use martlet_tests::{in_namespace, in_namespace_within};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The results of an experiment. Its folder is removed on drop.
struct Lab {
    folder: PathBuf,
    figures: Vec<Value>,
}

impl Lab {
    /// Runs an experiment.
    fn run(name: &str, arguments: &[&str]) -> Result<Lab> {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir()
            .join(format!("martlet-lab-{name}-test-{}-{run}", std::process::id()));
        let mut lab = Lab { folder, figures: Vec::new() };
        let output = Command::new(env!("CARGO_BIN_EXE_martlet-lab"))
            .args(["--log", "warn", name, "--out"])
            .arg(&lab.folder)
            .args(arguments)
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: Value = serde_json::from_str(&lab.text("summary.json")?)?;
        ensure!(summary["lab"] == name, "{summary}");
        lab.figures = summary["figures"].as_array().context("figures")?.clone();
        Ok(lab)
    }

    fn text(&self, file: &str) -> Result<String> {
        std::fs::read_to_string(self.folder.join(file)).with_context(|| file.to_string())
    }

    fn figure(&self, id: &str) -> Result<&Value> {
        self.figures
            .iter()
            .find(|figure| figure["id"] == id)
            .with_context(|| format!("{id}: {:?}", self.figures))
    }

    fn value(&self, id: &str) -> Result<f64> {
        self.figure(id)?["value"].as_f64().with_context(|| id.to_string())
    }

    /// Checks that figures are between two values, exclusively.
    fn between(&self, low: f64, high: f64, ids: &[&str]) -> Result<()> {
        for id in ids {
            let value = self.value(id)?;
            ensure!(low < value && value < high, "{id} is {value}, not between {low} and {high}");
        }
        Ok(())
    }

    /// Checks that files are not empty.
    fn has(&self, files: &[&str]) -> Result<()> {
        for file in files {
            let length =
                std::fs::metadata(self.folder.join(file)).with_context(|| file.to_string())?.len();
            ensure!(length > 1000, "{file} has {length} bytes");
        }
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn control_plane_writes_raw_data_figures_a_report_and_plots() {
    in_namespace(|| async {
        let few = ["--quick", "--rounds", "2", "--ues", "1,3", "--radio-ms", "20"];
        let lab = Lab::run("control-plane", &few)?;
        let rows = lab.text("raw.csv")?.lines().count();
        // One UE also with a delay over the radio.
        ensure!(
            rows == 1 + 2 * 3 * 6 * (1 + 3 + 1) + 20,
            "expected a row for each UE, procedure, round and variant, and position: {rows}"
        );
        lab.between(0.0, 1000.0, &["position.local.e_cid.p50"])?;
        // Five round trips of a registration.
        let whole = lab.value("registration_radio.local.ues1.p50")?;
        let core = lab.value("registration_radio.local.ues1.core_p50")?;
        ensure!(whole - core >= 100.0, "{whole} ms, {core} of the core");
        let some =
            ["registration.local.ues1.p50", "pdu_session.http.ues3.p50", "paging.fabric.ues3.p50"];
        lab.between(0.0, f64::INFINITY, &some)?;
        lab.between(0.0, f64::INFINITY, &["resident.local.ues100"])?;
        // Whichever variant is the first, and also where a busy machine makes them negative.
        lab.between(0.0, f64::INFINITY, &["first_packet.fabric_over_local.ues1.p50"])?;
        lab.between(-1e6, 1e6, &["tax.fabric.ues1.p50", "tax.http.ues1.p50"])?;
        lab.has(&["report.md", "latency.svg", "latency.png", "core-time.svg", "core-time.png"])
    });
}

/// Martlet is the other core: a script starts it as it would start another vendor's.
#[test]
fn control_plane_measures_an_external_core_beside_martlet() {
    in_namespace(|| async {
        let programs = Path::new(env!("CARGO_BIN_EXE_martlet-lab")).parent().context("a folder")?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/external/martlet.sh");
        let programs = programs.display().to_string();
        let core = ["--core", "both", "--amf", "127.60.0.5", "--start", script];
        let network = ["--plmn", "208093", "--slice", "1-010203", "--tac", "7", "--dnn", "ims"];
        let load = ["--quick", "--rounds", "1", "--ues", "2", "--sbi", "local", "--many", "5"];
        let mut arguments = vec!["--programs", &programs];
        arguments.extend(core.iter().chain(&network).chain(&load));
        let lab = Lab::run("control-plane", &arguments)?;
        let some = ["registration.external.ues2.p50", "registration.external_over_local.ues2.p50"];
        lab.between(0.0, f64::INFINITY, &some)?;
        let some = ["cpu_per_ue.external.ues5", "resident.external.ues0"];
        lab.between(0.0, f64::INFINITY, &some)?;
        lab.between(0.0, f64::INFINITY, &["generator_cpu_per_ue.external.ues5"])
    });
}

/// Scripts start Martlet's UPF with each datapath as they would start another vendor's.
#[test]
fn upf_measures_upfs_by_their_interfaces() {
    in_namespace(|| async {
        let programs = Path::new(env!("CARGO_BIN_EXE_martlet-lab")).parent().context("a folder")?;
        let programs = programs.display().to_string();
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/external");
        let (kernel, xdp) =
            (format!("{scripts}/martlet-kernel.sh"), format!("{scripts}/martlet-xdp.sh"));
        let upfs = ["--target", "external", "--least", "--start", &kernel, "--start", &xdp];
        let arguments: Vec<&str> = ["--programs", &programs].into_iter().chain(upfs).collect();
        let lab = Lab::run("upf", &arguments)?;
        for upf in ["martlet-kernel", "martlet-xdp"] {
            for direction in ["uplink", "downlink"] {
                let latency = format!("latency.{upf}.{direction}.p50");
                lab.between(0.0, 1e6, &[&latency])?;
                let worst = format!("latency_worst_round.{upf}.{direction}.p99");
                lab.between(0.0, f64::INFINITY, &[&worst])?;
                let jitter =
                    ["mean", "pdv_p999"].map(|what| format!("jitter.{upf}.{direction}.{what}"));
                lab.between(0.0, 1e6, &[&jitter[0], &jitter[1]])?;
                // Whether the load is offered depends on the machine.
                let discarded = lab.value(&format!("rate_discarded.{upf}.{direction}_10000"))?;
                let loss = lab.figure(&format!("loss.{upf}.{direction}_10000")).is_ok();
                ensure!(loss == (discarded == 0.0), "{upf}, {direction}");
            }
            lab.between(0.0, f64::INFINITY, &[&format!("n4.{upf}.establish")])?;
        }
        lab.has(&["report.md", "loss-by-rate.svg", "loss-by-rate.png"])
    });
}

#[test]
fn sbi_compares_transports_between_two_processes() {
    in_namespace(|| async {
        let lab = Lab::run("sbi", &["--quick"])?;
        let http = ["http_tcp", "http_unix", "http1_fabric", "http_fabric"];
        let others = ["frame_json", "frame_binary", "frame_bytes", "socket_bytes", "local"];
        for transport in http.into_iter().chain(others) {
            lab.between(
                0.0,
                f64::INFINITY,
                &[&format!("roundtrip.{transport}.inflight16_gap3ms.p99")],
            )?;
        }
        lab.between(
            0.0,
            f64::INFINITY,
            &["roundtrip.http_tcp_over_http_fabric.inflight16.per_call"],
        )?;
        lab.has(&["report.md", "raw.csv", "round-trip.svg", "round-trip.png"])
    });
}

#[test]
fn scale_registers_every_ue_of_a_storm_and_recovers_after_crashes() {
    in_namespace(|| async {
        let lab = Lab::run("scale", &["--ues", "60", "--storm", "40"])?;
        let backed_off = lab.value("scale.local.storm_backed_off")?;
        ensure!(
            lab.value("scale.local.storm_registered")? + backed_off == 40.0,
            "{:?}",
            lab.figures
        );
        ensure!(lab.value("scale.local.storm_lost")? == 0.0, "{:?}", lab.figures);
        // A wide bound, for an unoptimised build on a busy machine.
        lab.between(
            0.0,
            30.0,
            &["scale.local.restart", "scale.fabric.restart_amf", "scale.fabric.restart_smf"],
        )
    });
}

#[test]
fn scale_measures_sets_over_postgresql_and_fits_a_law() {
    in_namespace_within(std::time::Duration::from_secs(600), || async {
        if !std::path::Path::new("/usr/lib/postgresql").exists() {
            eprintln!("SKIPPED: PostgreSQL is not installed: install the package postgresql");
            return Ok(());
        }
        let lab = Lab::run("scale", &["--sets", "--quick", "--ues", "12"])?;
        for members in [1, 2] {
            let id = |what: &str| format!("sets.members{members}.udrs1.{what}");
            lab.between(0.0, f64::INFINITY, &[&id("function_cpu"), &id("database_cpu")])?;
            lab.between(0.0, f64::INFINITY, &[&id("set_rate"), &id("core_rate")])?;
        }
        lab.between(0.0, f64::INFINITY, &["sets.members2.udrs2.core_rate", "sets.usl.rate"])?;
        // A registration waits for the database at least once.
        lab.between(5.0, f64::INFINITY, &["sets.database_ms5.registration"])?;
        lab.between(0.0, f64::INFINITY, &["sets.postgresql_to_sqlite", "sets.sqlite.set_rate"])?;
        lab.has(&["report.md", "raw.csv", "sets.svg", "sets.png"])
    });
}

#[test]
fn scale_measures_registered_ues_at_sets_and_a_takeover_of_their_sessions() {
    in_namespace_within(std::time::Duration::from_secs(600), || async {
        if !std::path::Path::new("/usr/lib/postgresql").exists() {
            eprintln!("SKIPPED: PostgreSQL is not installed: install the package postgresql");
            return Ok(());
        }
        let lab = Lab::run("scale", &["--registered", "--quick", "--ues", "40"])?;
        let id = |what: &str| format!("registered.{what}");
        lab.between(0.0, f64::INFINITY, &[&id("rate_last"), &id("service_request")])?;
        // Half of the UEs, and half of those of the warm-up.
        lab.between(1.0, 168.0, &[&id("takeover_sessions")])?;
        lab.between(0.0, 60.0, &[&id("takeover")])?;
        lab.has(&["report.md", "raw.csv", "registered.svg", "registered.png"])
    });
}

#[test]
fn provisioning_measures_imports_and_starts() {
    in_namespace(|| async {
        let lab = Lab::run("provisioning", &["--quick"])?;
        let ids = ["import.csv", "import.json", "export.json", "list", "start.empty", "start.full"];
        for id in ids.map(|id| format!("{id}.subscribers2000")) {
            lab.between(0.0, 60.0, &[&format!("{id}.p50")])?;
            lab.between(1.0, 400.0, &[&format!("{id}.peak")])?;
        }
        lab.between(0.1, 10.0, &["start.full_over_empty.subscribers2000.ratio"])?;
        ensure!(lab.text("raw.csv")?.lines().count() == 1 + 4 + 2);
        Ok(())
    });
}

#[test]
fn idle_measures_cpu_time_and_memory_of_an_idle_core() {
    in_namespace(|| async {
        let lab = Lab::run("idle", &["--quick", "--sbi", "fabric"])?;
        ensure!(lab.value("idle.fabric.processes")? == 10.0, "{:?}", lab.figures);
        // Wide bounds, for an unoptimised build on a busy machine: a function that spins or leaks
        // exceeds them.
        lab.between(0.0, 20.0, &["idle.fabric.cpu"])?;
        lab.between(1.0, 400.0, &["idle.fabric.proportional"])?;
        ensure!(
            lab.text("report.md")?.contains("Ten idle functions"),
            "the promise is in the report"
        );
        Ok(())
    });
}

#[test]
fn sandbox_compares_procedures_packets_and_starts_in_pairs() {
    in_namespace(|| async {
        let few = ["--quick", "--sbi", "local,fabric", "--rounds", "2", "--starts", "2"];
        let lab = Lab::run("sandbox", &[&few[..], &["--bursts", "3"]].concat())?;
        let packets = ["cpu_per_1000_packets", "cpu_per_1000_packets_together", "round_trip"];
        for what in ["start", "registration"].into_iter().chain(packets) {
            for sbi in ["local", "fabric"] {
                let id = |sandbox| format!("{what}.{sbi}.{sandbox}.p50");
                lab.between(0.0, f64::INFINITY, &[&id("on"), &id("off")])?;
                lab.value(&id("difference"))?;
            }
        }
        let rows = lab.text("raw.csv")?.lines().count();
        // Two starts, two rounds of six procedures, and three bursts with two values for packets
        // one by one and together, in pairs.
        ensure!(rows == 1 + 2 * 2 * (2 + 2 * 6 + 3 * 2 * 2), "{rows} rows");
        Ok(())
    });
}

#[test]
fn console_measures_the_api_and_a_core_beside_it() {
    in_namespace_within(Duration::from_secs(600), || async {
        let lab = Lab::run("console", &["--quick", "--pairs", "1"])?;
        // Wide bounds, for an unoptimised build on a busy machine.
        lab.between(0.01, 2000.0, &["console.page.rows100.p99", "console.page.rows1000.p99"])?;
        lab.between(0.0, 200.0, &["console.update.viewers10.cpu"])?;
        lab.between(0.05, 20.0, &["console.registration.ratio.p50"])?;
        lab.between(-50.0, 200.0, &["console.memory.rest.resident"])?;
        ensure!(lab.text("report.md")?.contains("console.page.rows1000.p99"), "the report");
        Ok(())
    });
}

#[test]
fn memory_measures_what_a_ue_costs_each_function() {
    in_namespace(|| async {
        let lab = Lab::run("memory", &["--quick", "--sbi", "fabric"])?;
        // Wide bounds, for an unoptimised build: a context that keeps the memory of its procedures
        // exceeds them.
        let id = |what| format!("memory.fabric.connected.{what}");
        lab.between(0.5, 60.0, &[&id("amf"), &id("smf")])?;
        let processes = lab.text("raw.csv")?.lines().filter(|line| line.contains(",200,")).count();
        // Ten functions and their supervisor.
        ensure!(processes == 11, "{processes} processes");
        ensure!(lab.text("report.md")?.contains("amf_smf_upf"), "the target is in the report");
        Ok(())
    });
}

#[test]
fn crowd_measures_registered_ues_and_one_more_beside_an_empty_core() {
    in_namespace(|| async {
        let lab = Lab::run("crowd", &["--quick", "--idle"])?;
        // A header and five pairs.
        let rows = lab.text("raw.csv")?.lines().count();
        ensure!(rows == 1 + 5, "{rows} rows");
        // Wide bounds, for an unoptimised build on a busy machine.
        lab.between(0.0, 100.0, &["crowd.registration_over_empty.ues200.p50"])?;
        lab.between(0.5, 200.0, &["crowd.memory_per_ue.ues200"])?;
        lab.between(1.0, 1e5, &["crowd.rate.ues200"])?;
        lab.has(&["crowd.svg", "crowd.png"])?;
        ensure!(lab.text("report.md")?.contains("| 200 |"), "the checkpoint is in the report");
        Ok(())
    });
}

#[test]
fn compare_measures_two_builds_in_pairs() {
    in_namespace_within(Duration::from_secs(600), || async {
        let folder = std::env::temp_dir().join(format!("martlet-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let history = folder.join("bench.md");
        std::fs::write(&history, "| a table |\n")?;
        let martlet =
            std::path::Path::new(env!("CARGO_BIN_EXE_martlet-lab")).with_file_name("martlet");
        let (base, page) = (martlet.to_str().context("UTF-8")?, history.to_str().context("UTF-8")?);
        let lab = Lab::run(
            "compare",
            &["--quick", "--rounds", "2", "--sbi", "local", "--base", base, "--history", page],
        )?;
        // The same program, on a busy machine.
        lab.between(
            0.05,
            20.0,
            &["registration.local.ues1.ratio", "cpu.local.ues16.ratio", "memory.local.ues0.ratio"],
        )?;
        let rows = std::fs::read_to_string(&history)?;
        ensure!(rows.lines().count() == 2 && rows.contains("| local |"), "{rows}");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn instructions_are_the_same_in_each_run_and_a_rise_is_an_error() {
    in_namespace(|| async {
        let counts = std::env::temp_dir().join(format!("martlet-counts-{}", std::process::id()));
        let path = counts.to_str().context("UTF-8")?;
        let run = |more: &[&str]| {
            let usual = ["--quick", "--work", "nas_codec", "--counts", path];
            Lab::run("instructions", &[&usual, more].concat())
        };
        let first = run(&["--update"])?.value("instructions.nas_codec")?;
        let second = run(&[])?.value("instructions.nas_codec")?;
        ensure!((first / second - 1.0).abs() < 0.01, "{first}, then {second} instructions");
        let lower = std::fs::read_to_string(&counts)?.replace(
            &format!("nas_codec\t{first}"),
            &format!("nas_codec\t{}", (first * 0.96) as u64),
        );
        std::fs::write(&counts, lower)?;
        let refused = run(&[]).err().context("the rise is no error")?.to_string();
        ensure!(refused.contains("nas_codec") && refused.contains("above"), "{refused}");
        std::fs::remove_file(&counts)?;
        Ok(())
    });
}

#[test]
fn lcs_upp_measures_every_channel_and_writes_every_sample() {
    in_namespace(|| async {
        let lab = Lab::run("lcs-upp", &["--quick", "--rounds", "20"])?;
        let raw = lab.text("raw.csv")?;
        for channel in ["raw_tcp", "raw_udp", "rustls", "quinn"] {
            let figure = lab.figure(&format!("transport_time.{channel}.n65535_loopback.mean"))?;
            ensure!(
                figure["low"].as_f64() <= figure["value"].as_f64() && figure["n"] == 20,
                "{figure}"
            );
            let samples =
                raw.lines().filter(|line| line.starts_with(&format!("{channel},1024,"))).count();
            ensure!(samples == 20, "{channel}: {samples} samples");
        }
        lab.has(&["type-1.png"])
    });
}

/// A debug build gives no meaningful values.
#[test]
fn reproduce_makes_each_figure_of_the_papers_with_its_series() {
    in_namespace_within(Duration::from_secs(2400), || async {
        // The switch takes a minute more. Where it is not built, its figures have the reason.
        let lab = Path::new(env!("CARGO_BIN_EXE_martlet-lab"));
        let has_switch = lab.with_file_name("martlet-switch").is_file();
        if !has_switch {
            eprintln!(
                "SKIPPED: figures of the switch: cargo build --workspace --bin martlet-switch"
            );
        }
        let lab = Lab::run("reproduce", &["all", "--quick", "--minimal"])?;
        ensure!(lab.figures.len() == 17, "{:?}", lab.figures);
        let (html, raw) = (lab.text("report.html")?, lab.text("raw.csv")?);
        let both = ["vanilla UPF (kernel)", "XDP UPF"];
        let vanilla = [both[0], "whole CPU, load scaled"];
        let with_generator = [both[0], both[1], "generator and receiver alone"];
        // Without a board a slow machine may not offer the load.
        let no_board = lab.text("upf/report.md")?.contains("cannot be emulated here");
        // Nor on a whole CPU: slots whose load was not offered have no loss, and are not drawn.
        let upf_raw = lab.text("upf/raw.csv")?;
        let has_loss = |line: &str| {
            let fields: Vec<_> = line.split(',').collect();
            matches!(fields[..], ["same_load", _, "kernel", _, _, loss, _] if loss != "NaN")
        };
        let whole_is_offered = upf_raw.lines().any(has_loss);
        // A real board has the temperature of its room only, and so has a whole CPU.
        let is_emulated = !no_board && !Path::new("/proc/device-tree/model").exists();
        let rooms = [0, 10, 20, 27].map(|room| format!("vanilla UPF, room of {room} °C"));
        let rooms: Vec<&str> = match is_emulated {
            true => rooms.iter().map(String::as_str).collect(),
            false => both[..1].to_vec(),
        };
        let limited = ["HTTP/2, 16 at once", "fabric, 16 at once"];
        let sbi = ["kernel-based SBI (HTTP/2)", "shared memory (fabric)"];
        let engines = ["native, kernel", "native, XDP", "switch, DPDK", "switch, XDP"];
        let expected: [(&str, &[&str]); 17] = [
            ("l25gc-6", &[sbi[0], sbi[1], "the paper", "here"]),
            ("l25gc-7", &["CN", "UE and RAN (modelled part)"]),
            // The least work has no AMF without a limit.
            ("l25gc-8", &[sbi[0], sbi[1], "one process", limited[0], limited[1]]),
            ("xupfpi-2", &["simulated board"]),
            ("xupfpi-4", &both),
            ("xupfpi-5", &with_generator),
            ("xupfpi-6a", &both),
            ("xupfpi-6b", &both),
            ("xupfpi-7", &vanilla),
            ("xupfpi-8", &rooms),
            ("xupfpi-9", &both),
            ("xupfpi-11", &both),
            ("xupfpi-12", &with_generator),
            ("switch-2", &engines),
            ("switch-users", &engines),
            ("lcs-upp-4a", &["rustls (for wolfSSL)", "quinn (for MsQuic)"]),
            ("lcs-upp-4b", &["rustls (for Type 1, wolfSSL)"]),
        ];
        for (figure, (id, series)) in lab.figures.iter().zip(expected) {
            ensure!(figure["id"] == id && html.contains(&format!("<section id=\"{id}\">")), "{id}");
            ensure!(figure["like"].as_str().is_some_and(|text| text.len() > 40), "{figure}");
            let is_unsteady = no_board && id.starts_with("xupfpi");
            let may_miss = id.starts_with("switch") && !has_switch || is_unsteady;
            if may_miss && figure["mark"] == "absent" {
                ensure!(figure["reason"].as_str().is_some_and(|text| text.len() > 10), "{figure}");
                continue;
            }
            let marks = ["true", "modelled part", "other testbed", "incomplete"];
            ensure!(marks.iter().any(|mark| figure["mark"] == *mark), "{figure}");
            let drawn: Vec<&str> = figure["series"]
                .as_array()
                .context("series")?
                .iter()
                .flat_map(Value::as_str)
                .collect();
            ensure!(drawn.iter().all(|name| series.contains(name)), "{id}: {drawn:?}");
            let may_lack = |name: &str| name == vanilla[1] && !whole_is_offered;
            let missing: Vec<_> =
                series.iter().filter(|name| !drawn.contains(name) && !may_lack(name)).collect();
            ensure!(missing.is_empty() || is_unsteady, "{id} has no {missing:?}: {drawn:?}");
            let start = format!("{id},");
            ensure!(raw.lines().any(|line| line.starts_with(&start)), "raw.csv has no {id}");
            lab.has(&[&format!("{id}.svg"), &format!("{id}.png")])?;
        }
        ensure!(html.contains("Its values claim nothing"), "a short run claims no promise");
        let upf: Value = serde_json::from_str(&lab.text("upf/summary.json")?)?;
        let value = |id: &str| {
            let figures = upf["figures"].as_array().context("figures")?;
            let figure =
                figures.iter().find(|figure| figure["id"] == id).context(id.to_string())?;
            figure["value"].as_f64().context(id.to_string())
        };
        // Never 0: the generator alone uses CPU time.
        ensure!(value("onboard_busy.xdp.sessions500.median")? > 0.0, "{upf}");
        ensure!(value("same_load_busy.kernel.60.median")? > 0.0, "{upf}");
        lab.has(&["upf/onboard-loss.png", "upf/onboard-heat.png", "upf/onboard-sessions.png"])?;
        let raw = lab.text("upf/raw.csv")?;
        for part in ["onboard,", "same_load,"] {
            ensure!(raw.lines().any(|line| line.starts_with(part)), "no {part} in raw.csv");
        }
        let judged = upf["promises"].as_array().context("promises")?;
        ensure!(
            !judged.is_empty() && judged.iter().all(|row| row["verdict"] == "not measured"),
            "{judged:?}"
        );
        ensure!(lab.text("raw.csv")?.lines().any(|line| line.starts_with("l25gc-8,registration,")));
        Ok(())
    });
}
