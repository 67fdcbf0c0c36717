//! Features that SMFs of other vendors use over N4 (TS 29.244). Each case runs over PFCP on UDP,
//! with sockets as gNB and host of the data network, on the datapaths `kernel` and `xdp`.
//! `docs/n4.md` lists the features with their cases.
#[path = "n4_cases/associations.rs"]
mod associations;
#[path = "n4_cases/buffering.rs"]
mod buffering;
#[path = "n4_cases/detection.rs"]
mod detection;
#[path = "n4_cases/forwarding.rs"]
mod forwarding;
#[path = "n4_cases/lab.rs"]
mod lab;
#[path = "n4_cases/qos.rs"]
mod qos;
#[path = "n4_cases/refusals.rs"]
mod refusals;
#[path = "n4_cases/usage.rs"]
mod usage;

use common::in_namespace;
use common::rig::config;
use lab::{EDGE_INTERFACE, EDGE_ROUTER, Edge, Lab};
use martlet_upf::config::{
    DatapathChoice, EthernetConfig, ForwardingPolicyConfig, NetworkInstanceConfig,
    PredefinedRuleConfig,
};
use martlet_upf::{UpfConfig, start};
use martlet_upf_testing as common;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A case: its name and its function.
type Case = (&'static str, fn(&mut Lab));

/// The cases in groups. Cases of usage wait for seconds, so they are two groups.
fn groups() -> [Vec<Case>; 4] {
    let (first, second) = usage::CASES.split_at(usage::CASES.len() / 2);
    let messages = [associations::CASES, refusals::CASES].concat();
    let rules = [detection::CASES, qos::CASES, buffering::CASES, forwarding::CASES].concat();
    [messages, rules, first.to_vec(), second.to_vec()]
}

fn on(datapath: DatapathChoice) -> UpfConfig {
    let mut config = UpfConfig { datapath, ..config() };
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 512, 512);
    config.n4.heartbeat_s = 0;
    config.n4.t1_ms = 200;
    config.n6.network_instances = vec![NetworkInstanceConfig {
        network_instance: "edge".into(),
        interface: EDGE_INTERFACE.into(),
        via: Some(EDGE_ROUTER),
    }];
    let policy = |name: &str, instance: Option<&str>| ForwardingPolicyConfig {
        name: name.into(),
        network_instance: instance.map(Into::into),
    };
    config.n6.forwarding_policies = vec![policy("default", None), policy("edge", Some("edge"))];
    let (dnn, interface) = ("lan".into(), "lan0".into());
    config.n6.ethernet = vec![EthernetConfig { dnn, interface, gateways: vec![] }];
    config.predefined_rules = vec![
        PredefinedRuleConfig {
            name: "port-7001".into(),
            flows: vec!["permit out 17 from any 7001 to assigned".into()],
            ..PredefinedRuleConfig::default()
        },
        PredefinedRuleConfig { name: "nothing".into(), drop: true, ..Default::default() },
    ];
    config
}

/// Runs all cases. Each group has its own UPF, and groups run at the same time.
fn play(datapath: DatapathChoice) {
    let groups = groups();
    let count: usize = groups.iter().map(Vec::len).sum();
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let start = |cases| scope.spawn(move || play_group(datapath, cases));
        let running = groups.map(start);
        running.into_iter().flat_map(|group| group.join().expect("the group ends")).collect()
    });
    assert_eq!(failed, [""; 0]);
    eprintln!("{count} cases");
    assert!(count >= 97);
}

/// Runs cases against one UPF, and returns the names of those that failed.
fn play_group(datapath: DatapathChoice, cases: Vec<Case>) -> Vec<&'static str> {
    let (names, result) = std::sync::mpsc::channel();
    in_namespace(move || {
        let edge = Edge::connect();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let upf = runtime
            .block_on(start(on(datapath), async move { drop(stopped.await) }))
            .expect("the UPF starts");
        let mut lab = Lab::new(upf.status_source(), edge);
        lab.associate();
        for (name, case) in cases {
            eprintln!("{name}");
            let played = catch_unwind(AssertUnwindSafe(|| case(&mut lab)));
            if played.is_err() || lab.sessions() != 0 {
                names.send(name).expect("the test waits for names");
                lab.reset();
            }
        }
        drop(stop);
        runtime.block_on(upf.finished()).expect("the UPF ends without error");
    });
    result.into_iter().collect()
}

#[test]
fn the_kernel_datapath_answers_as_smfs_expect() {
    play(DatapathChoice::Kernel);
}

#[test]
fn the_xdp_datapath_answers_as_smfs_expect() {
    play(DatapathChoice::Xdp);
}
