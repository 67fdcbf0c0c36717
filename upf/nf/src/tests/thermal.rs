//! The thermal governor on a simulated board, in the time of a board that is up to a hundred times
//! as fast.
use crate::thermal;
use martlet_upf_config::SimulatedConfig;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_kernel::bench::Bench;
use martlet_upf_n4::testing::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How much faster time passes for the board. Where the machine stops board and governor for too
/// long, the next one counts.
const SPEEDS: [f64; 3] = [100.0, 50.0, 20.0];
/// Longest time of the board, in seconds, in which neither it nor the governor may run.
const LONGEST_STALL: f64 = 6.0;
/// Bits per second with which the board is at full load, and which the UE sends.
const FULL: f64 = 4e6;

/// The outcome of a board under full load for some simulated seconds.
struct Outcome {
    hottest: f64,
    throttled_ms: u64,
    shaped: u64,
    forwarded: u64,
    acted: bool,
    longest_stall: f64,
}

async fn burden(governed: bool, seconds: f64, speed: f64) -> Outcome {
    let root =
        std::env::temp_dir().join(format!("martlet-thermal-{}-{governed}", std::process::id()));
    let mut config = UpfConfig::default();
    config.board.root = root.clone();
    config.board.simulated =
        Some(SimulatedConfig { full_rate: FULL, speed, ..SimulatedConfig::default() });
    config.governor.enabled = governed;
    assert_eq!(config.check(), []);
    let mut smf = Smf::associated();
    let mut request = establishment();
    request.create_qers[0].mbr = None;
    let (seid, teid) = smf.establish(request);
    smf.accepted(seid, to_gnb(REMOTE));
    let Smf { n4, bench, .. } = smf;
    let n4 = Arc::new(Mutex::new(n4));
    let (shared, tasks) = thermal::run(&config, &n4);
    let stop = Arc::new(AtomicBool::new(false));
    let sender = std::thread::spawn({
        let stop = stop.clone();
        move || send(bench, teid, &stop)
    });
    let start = Instant::now();
    let mut outcome = Outcome {
        hottest: 0.0,
        throttled_ms: 0,
        shaped: 0,
        forwarded: 0,
        acted: false,
        longest_stall: 0.0,
    };
    while start.elapsed().as_secs_f64() < seconds / speed {
        let begun = Instant::now();
        tokio::time::sleep(Duration::from_millis(20)).await;
        outcome.longest_stall = outcome.longest_stall.max(begun.elapsed().as_secs_f64() * speed);
        let celsius = shared.board.top()["temperature"].as_f64().unwrap_or(0.0);
        outcome.hottest = outcome.hottest.max(celsius);
        let top = shared.top();
        outcome.acted |= top["state"].as_str().is_some_and(|state| state.starts_with("acts"));
    }
    outcome.throttled_ms = shared.throttled_ms();
    stop.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    let n4 = n4.lock().unwrap();
    outcome.shaped = n4.drops(DropReason::Thermal);
    outcome.forwarded = n4.class_bytes().iter().sum();
    drop(tasks);
    std::fs::remove_dir_all(root).unwrap();
    outcome
}

/// Sends full load from the UE, limited by the CPU.
fn send(mut bench: Bench, teid: u32, stop: &AtomicBool) {
    let packet = udp_packet((UE, 9000), (bench.remote(), 7000), &[0; 972]);
    let message = g_pdu(teid, Some(9), &packet);
    let (start, mut sent) = (Instant::now(), 0.0);
    while !stop.load(Ordering::Relaxed) {
        while sent < start.elapsed().as_secs_f64() * FULL / 8000.0 {
            bench.send_n3(&message);
            sent += 1.0;
        }
        bench.left.to_network.lock().unwrap().clear();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_governor_keeps_the_board_below_the_set_point() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let at_speed = |speed: f64| {
        let both = async { tokio::join!(burden(false, 450.0, speed), burden(true, 600.0, speed)) };
        let (without, with) = runtime.block_on(both);
        println!("{speed}: stalls of {:.1} and {:.1} s", without.longest_stall, with.longest_stall);
        (without, with)
    };
    let mut outcomes = at_speed(SPEEDS[0]);
    for speed in &SPEEDS[1..] {
        if outcomes.0.longest_stall.max(outcomes.1.longest_stall) > LONGEST_STALL {
            outcomes = at_speed(*speed);
        }
    }
    let (without, with) = outcomes;
    assert!(without.throttled_ms > 1000 && without.hottest >= 79.0, "{} ms", without.throttled_ms);
    assert_eq!((without.shaped, without.acted), (0, false));
    assert_eq!(with.throttled_ms, 0, "{} °C", with.hottest);
    assert!(with.hottest < 75.5, "{} °C, beyond the resolution of the sensor", with.hottest);
    assert!(with.acted && with.shaped > 0 && with.forwarded > 0);
    // All of it is exported as metrics.
    let names: Vec<String> =
        prometheus::gather().iter().map(|family| family.name().to_string()).collect();
    for name in [
        "martlet_governor_predicted_celsius",
        "martlet_governor_actions_total",
        "martlet_governor_model",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
}
