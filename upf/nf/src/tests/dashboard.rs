//! Every query of the Grafana dashboard matches metrics that a UPF with traffic exports.
use super::queries::{Exported, faults, samples_of};
use crate::metrics;
use crate::thermal;
use crate::volumes;
use martlet_board::BoardConfig;
use martlet_upf_config::SimulatedConfig;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use martlet_upf_n4::testing::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/martlet-upf.json");

fn exported() -> Exported {
    let text =
        prometheus::TextEncoder::new().encode_to_string(&prometheus::gather()).expect("metrics");
    samples_of(&text)
}

/// A UPF on a hot board, with a session whose packets are forwarded, dropped and buffered, and are
/// counted for its gNB and data network.
fn with_traffic<T>(act: impl FnOnce() -> T) -> T {
    let mut smf = Smf::associated();
    let (seid, teid) = smf.establish(establishment());
    smf.accepted(seid, to_gnb(REMOTE));
    let from = |ip| udp_packet((ip, 9000), (smf.bench.remote(), 7000), &[0; 72]);
    let (own, foreign) = (from(UE), from([10, 45, 0, 77].into()));
    smf.bench.send_n3(&g_pdu(teid, Some(9), &own));
    smf.bench.send_n3(&g_pdu(teid, Some(9), &foreign));
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"waits");
    let n4 = Arc::new(Mutex::new(smf.n4));
    let snapshot = n4.clone();
    let shown = metrics::watch(Arc::new(move || {
        volumes::count(&snapshot);
        Some(snapshot.lock().unwrap_or_else(PoisonError::into_inner).snapshot())
    }));
    martlet_upf_datapath::metrics::show(&n4.lock().unwrap().snapshot().counters);
    // Board and governor are one each in a process.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = std::env::temp_dir().join(format!("martlet-dashboard-{}", std::process::id()));
    let mut config = UpfConfig::default();
    let board = BoardConfig { idle: 90.0, throttle: 120.0, ..BoardConfig::default() };
    config.board.root = root.clone();
    config.board.simulated =
        Some(SimulatedConfig { board, speed: 100.0, ..SimulatedConfig::default() });
    config.governor.enabled = true;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let (shared, _tasks) = thermal::run(&config, &n4);
        for _ in 0..3000 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if shared.top()["state"].as_str().is_some_and(|state| state.starts_with("acts")) {
                break;
            }
        }
        act()
    });
    std::fs::remove_dir_all(root).unwrap();
    drop(shown);
    outcome
}

#[test]
fn every_dashboard_query_uses_exported_metrics() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets: Vec<(&str, &str)> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|t| {
            (t["expr"].as_str().expect("a query"), t["legendFormat"].as_str().expect("a legend"))
        })
        .collect();
    assert!(targets.len() > 20 && panels.iter().any(|panel| panel["type"] == "heatmap"));
    let faults: Vec<String> = with_traffic(|| {
        let exported = exported();
        targets.iter().flat_map(|(query, legend)| faults(query, legend, &exported)).collect()
    });
    assert_eq!(faults, [] as [String; 0]);
}

#[test]
fn a_query_of_an_unknown_metric_is_found() {
    with_traffic(|| {
        let exported = exported();
        let of = |query: &str, legend: &str| faults(query, legend, &exported).len();
        assert_eq!(of("rate(martlet_upf_packets_total[5m])", "{{direction}}"), 0);
        assert_eq!(of("rate(martlet_upf_nothing_total[5m])", ""), 1);
        assert_eq!(of("martlet_upf_packets_total{direction=\"sideways\"}", ""), 1);
        assert_eq!(of("sum by (colour) (martlet_upf_packets_total)", ""), 1);
        assert_eq!(of("martlet_upf_packets_total", "{{colour}}"), 1);
        assert_eq!(of("sum(", ""), 1);
    });
}
