//! What `make demo` shows: `deploy/demo/run.sh` with this program.
use crate::site::{MARTLET, simulator};
use anyhow::{Context, Result, ensure};
use martlet_tests::{in_namespace_within, is_installed};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time for the demo, which takes about 15 s on an idle machine: it pings for 2 s, moves the UE
/// for 4 s and measures the throughput for 4 s.
const LONGEST: Duration = Duration::from_secs(180);
/// Positions while the UE moves.
const POSITIONS: usize = 12;

/// The numbers in the line of the summary that begins with a title.
fn numbers(output: &str, title: &str) -> Result<Vec<f64>> {
    let line = output.lines().find_map(|line| line.trim_start().strip_prefix(title));
    let words = line.with_context(|| format!("no line {title:?}"))?.split_whitespace();
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

#[test]
fn the_demo_shows_round_trips_throughput_and_positions() {
    for program in ["bash", "ip", "iperf3", "ping", "unshare"] {
        if !is_installed(program) {
            return;
        }
    }
    simulator();
    in_namespace_within(LONGEST, || async {
        let folder = std::env::temp_dir().join(format!("martlet-demo-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let picture = folder.join("demo.svg");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/run.sh");
        let began = Instant::now();
        // Sockets and namespaces are those of this test, not of the machine.
        let ran = Command::new("unshare")
            .args(["--mount", "sh", "-c"])
            .arg("mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/netns && exec \"$@\"")
            .args(["sh", "bash"])
            .arg(script)
            .arg(MARTLET)
            .env("MARTLET_DEMO_PICTURE", &picture)
            .env_remove("MARTLET_CONFIG")
            .current_dir(&folder)
            .output()?;
        println!("the demo took {:.1} s", began.elapsed().as_secs_f64());
        let output = String::from_utf8_lossy(&ran.stdout);
        let all = format!("{output}\n{}", String::from_utf8_lossy(&ran.stderr));
        ensure!(ran.status.success(), "{all}");
        let svg = std::fs::read_to_string(&picture).with_context(|| all.clone());
        std::fs::remove_dir_all(&folder)?;
        let svg = svg?;
        for (title, count) in [("round trip", 3), ("uplink", 1), ("downlink", 1)] {
            let numbers = numbers(&output, title)?;
            ensure!(numbers.len() == count && numbers.iter().all(|n| *n > 0.0), "{title}: {all}");
        }
        ensure!(svg.matches("<ellipse").count() == POSITIONS, "the picture: {svg}\n{all}");
        for text in ["Cells and the UE", "error: mean", "Mbit/s", "</svg>"] {
            ensure!(svg.contains(text), "no {text} in the picture: {svg}");
        }
        ensure!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        Ok(())
    });
}
