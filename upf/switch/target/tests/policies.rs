//! The sessions that each policy offloads, and manual rules in addition. For `hot` see
//! `offload.rs`.
mod common;
mod native;
mod process;
mod wires;

use common::*;
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, OffloadRule};
use martlet_upf::rules::{LocalTunnel, Session, Tunnel, UeAddress};
use native::{LISTEN, Testbed, packet, session, with_engine_xdp};
use std::time::Duration;
use wires::in_namespace;

const OTHER: [u8; 4] = [10, 60, 1, 1];

/// A second session: another UE, tunnels, QoS flow, and this data network.
fn other(dnn: Option<&str>) -> Session {
    let mut session = session();
    session.seid = 2;
    for pdr in session.pdrs.values_mut() {
        pdr.ue = vec![UeAddress::V4(OTHER.into())];
        pdr.local = pdr.local.map(|local| LocalTunnel { teid: 0x1001, ..local });
        pdr.qfis.clear();
        pdr.network_instance = dnn.map(|name| name.as_bytes().into());
    }
    for far in session.fars.values_mut() {
        far.tunnel = far.tunnel.map(|tunnel| Tunnel { teid: 0x2001, ..tunnel });
    }
    session.qers.get_mut(&1).expect("a QER").qfi = Some(5);
    session
}

/// Packets that the native UPF forwarded, per session.
fn native(testbed: &Testbed) -> [u64; 2] {
    use martlet_upf::datapath::Datapath;
    [1, 2].map(|seid| testbed.datapath.forwarded(seid).iter().sum())
}

/// Sends a packet per direction in each session, and waits until all four arrive.
fn one_each(testbed: &Testbed, n: u32) {
    let inner = |number: u32| udp(1000, 53, &[&b"nr"[..], &number.to_be_bytes()].concat());
    testbed.gnb.send(&packet(n, 100, true));
    testbed.dn.send(&packet(n, 100, false));
    let up = ipv4(17, 64, OTHER, REMOTE, &inner(n + 1));
    testbed.gnb.send(&ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(0x1001, 1, 5, &up)))));
    testbed.dn.send(&ethernet(&ipv4(17, 64, REMOTE, OTHER, &inner(n + 1))));
    for end in [&testbed.gnb, &testbed.dn] {
        let mut received = end.wait(2);
        received.sort_unstable();
        assert_eq!(received, [n, n + 1]);
    }
}

/// The sessions on the switch. A switch without a CPU for 70 ms leaves packets to the native UPF,
/// so several rounds decide: an offloaded session has rounds without the native UPF, another one
/// has none.
fn by_switch(testbed: &Testbed, first: u32) -> [bool; 2] {
    let mut on = [false; 2];
    for round in 0..5 {
        let before = native(testbed);
        one_each(testbed, first + 2 * round);
        let after = native(testbed);
        (0..2).for_each(|n| on[n] |= before[n] == after[n]);
    }
    on
}

/// With a policy, exactly the expected sessions are on the switch.
fn with(
    policy: OffloadPolicy,
    change: impl FnOnce(&mut martlet_upf::config::SwitchConfig) + Send + 'static,
    on: [bool; 2],
) {
    in_namespace(move || {
        let mut testbed = Testbed::new(DatapathChoice::Kernel, |config| {
            config.policy = policy;
            change(config);
        });
        testbed.apply(&session());
        testbed.apply(&other(Some("ims")));
        one_each(&testbed, 10);
        let due = on.iter().filter(|on| **on).count() as u64;
        testbed
            .eventually("the expected sessions have moved", |testbed| testbed.on_switch() == due);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(testbed.on_switch(), due);
        assert_eq!(by_switch(&testbed, 100), on, "{policy:?}");
    });
}

#[test]
fn policy_none_offloads_no_session() {
    with(OffloadPolicy::None, |_| (), [false, false]);
}

#[test]
fn policy_all_offloads_all_sessions() {
    with(OffloadPolicy::All, |_| (), [true, true]);
}

#[test]
fn policy_all_offloads_all_sessions_to_engine_xdp() {
    with(OffloadPolicy::All, |_| with_engine_xdp(true, || ()), [true, true]);
}

#[test]
fn policy_dnn_selects_a_data_network() {
    with(OffloadPolicy::Dnn, |config| config.dnns = vec!["ims".into()], [false, true]);
}

#[test]
fn policy_rule_selects_a_network_of_ues() {
    let rule = OffloadRule {
        ue: Some("10.60.0.0/24".into()),
        gnb: Some("192.168.70.2".into()),
        qfi: None,
    };
    with(OffloadPolicy::Rule, |config| config.rules = vec![rule], [true, false]);
}

#[test]
fn policy_rule_selects_a_qos_flow() {
    let rule = OffloadRule { qfi: Some(5), ..OffloadRule::default() };
    with(OffloadPolicy::Rule, |config| config.rules = vec![rule], [false, true]);
}

fn write(election: u64, operation: Operation, text: &str) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client =
            Client::connect(LISTEN.parse().expect("an address"), 1).await.expect("a switch");
        // The UPF is primary, and becomes it again when this controller disconnects.
        client.become_primary(Some(election)).await.expect("a higher election");
        let info = client.program().info.clone();
        let update = |line: &str| {
            let entry = rules::parse(
                &info,
                &rules::words(line),
                0,
                operation == Operation::Delete,
                &mut || None,
            );
            Update {
                operation,
                entry: entry.unwrap_or_else(|error| panic!("{}", error.shown(line))),
            }
        };
        let updates: Vec<Update> = text.lines().map(|line| update(line.trim())).collect();
        client.write(&updates).await.expect("written");
    });
}

#[test]
fn manual_rules_coexist_with_those_of_the_upf() {
    in_namespace(|| {
        let mut testbed = Testbed::new(DatapathChoice::Kernel, |config| {
            config.policy = OffloadPolicy::Rule;
            config.rules =
                vec![OffloadRule { ue: Some("10.60.0.0/24".into()), ..OffloadRule::default() }];
        });
        testbed.apply(&session());
        testbed.apply(&other(None));
        one_each(&testbed, 10);
        testbed.eventually("the first is on the switch", |testbed| testbed.on_switch() == 1);
        let rules = "hop number 1 source 02:00:00:00:00:0a destination 02:00:00:00:00:0c port 1
            hop number 2 source 02:00:00:00:00:0a destination 02:00:00:00:00:0b port 0
            decap teid 0x1001 ue 10.60.1.1 via 1 counter 5
            encap ue 10.60.1.1 teid 0x2001 from 192.168.70.1 to 192.168.70.2 qfi 5 via 2 counter 6";
        write(1_000, Operation::Insert, rules);
        assert_eq!(by_switch(&testbed, 100), [true, true]);
        // The UPF's changes leave the manual rules as they are.
        let mut changed = session();
        changed.qers.get_mut(&1).expect("a QER").reflective = true;
        testbed.apply(&changed);
        testbed.eventually("the UPF is primary again, and the session returns", |testbed| {
            testbed.status("movedOn") == 2
        });
        assert_eq!(by_switch(&testbed, 200), [true, true]);
        // The UPF has used the next election ID.
        write(2_000, Operation::Delete, rules);
        assert_eq!(
            by_switch(&testbed, 300),
            [true, false],
            "without its rules the session uses the native path"
        );
    });
}
