//! What SMFs of other vendors ask of a UP function over N4 (TS 29.244): each case is played over
//! PFCP on UDP, with a gNB and a host of the data network that are sockets, on the datapaths
//! `kernel` and `xdp` alike. `docs/n4.md` has the features and which cases are about them.
#[path = "n4_cases/associations.rs"]
mod associations;
#[path = "n4_cases/forwarding.rs"]
mod forwarding;
#[path = "n4_cases/lab.rs"]
mod lab;
#[path = "n4_cases/refusals.rs"]
mod refusals;
#[path = "n4_cases/usage.rs"]
mod usage;

use common::in_namespace;
use common::rig::config;
use lab::Lab;
use martlet_upf::config::{DatapathChoice, ForwardingPolicyConfig, PredefinedRuleConfig};
use martlet_upf::{UpfConfig, start};
use martlet_upf_testing as common;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A case: its name, and what is played.
type Case = (&'static str, fn(&mut Lab));

fn cases() -> Vec<Case> {
    let all = [associations::CASES, refusals::CASES, forwarding::CASES, usage::CASES];
    all.into_iter().flatten().copied().collect()
}

fn on(datapath: DatapathChoice) -> UpfConfig {
    let mut config = UpfConfig { datapath, ..config() };
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 512, 512);
    config.n4.heartbeat_s = 0;
    config.n4.t1_ms = 200;
    config.n6.forwarding_policies =
        vec![ForwardingPolicyConfig { name: "default".into(), network_instance: None }];
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

/// Plays all cases against one UPF.
fn play(datapath: DatapathChoice) {
    in_namespace(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let upf = runtime
            .block_on(start(on(datapath), async move { drop(stopped.await) }))
            .expect("the UPF starts");
        let mut lab = Lab::new(upf.status_source());
        lab.associate();
        let cases = cases();
        let mut failed = Vec::new();
        for (name, case) in &cases {
            eprintln!("{name}");
            let played = catch_unwind(AssertUnwindSafe(|| case(&mut lab)));
            if played.is_err() || lab.sessions() != 0 {
                failed.push(*name);
                lab.reset();
            }
        }
        assert_eq!(failed, [""; 0]);
        eprintln!("{} cases", cases.len());
        assert!(cases.len() >= 97);
        drop(stop);
        runtime.block_on(upf.finished()).expect("the UPF ends without error");
    });
}

#[test]
fn the_kernel_datapath_answers_as_smfs_expect() {
    play(DatapathChoice::Kernel);
}

#[test]
fn the_xdp_datapath_answers_as_smfs_expect() {
    play(DatapathChoice::Xdp);
}
