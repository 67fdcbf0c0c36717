//! Which sessions are on a switch that is the UPF's datapath, by each policy, and rules that a
//! person writes beside. `hot` is in `offload.rs`.
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
use native::{Bed, LISTEN, in_the_kernel, packet, session};
use std::time::Duration;
use wires::in_namespace;

const OTHER: [u8; 4] = [10, 60, 1, 1];

/// A second session: another UE, with another tunnel each way, another QoS flow, and of this data
/// network.
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

/// Packets that the native UPF has forwarded of each session.
fn native(bed: &Bed) -> [u64; 2] {
    use martlet_upf::datapath::Datapath;
    [1, 2].map(|seid| bed.datapath.forwarded(seid).iter().sum())
}

/// Sends a packet each way in each session, and waits until all four have come.
fn one_each(bed: &Bed, n: u32) {
    let inner = |number: u32| udp(1000, 53, &[&b"nr"[..], &number.to_be_bytes()].concat());
    bed.gnb.send(&packet(n, 100, true));
    bed.dn.send(&packet(n, 100, false));
    let up = ipv4(17, 64, OTHER, REMOTE, &inner(n + 1));
    bed.gnb.send(&ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(0x1001, 1, 5, &up)))));
    bed.dn.send(&ethernet(&ipv4(17, 64, REMOTE, OTHER, &inner(n + 1))));
    for end in [&bed.gnb, &bed.dn] {
        let mut came = end.wait(2);
        came.sort_unstable();
        assert_eq!(came, [n, n + 1]);
    }
}

/// Which sessions the switch carries. One that has had no processor for 70 ms leaves packets to the
/// native UPF, so that it takes several rounds to tell: who is on the switch has rounds without the
/// native UPF, who is not has none.
fn by_switch(bed: &Bed, first: u32) -> [bool; 2] {
    let mut on = [false; 2];
    for round in 0..5 {
        let before = native(bed);
        one_each(bed, first + 2 * round);
        let after = native(bed);
        (0..2).for_each(|n| on[n] |= before[n] == after[n]);
    }
    on
}

/// With a policy, the sessions that are to be on the switch are, and the others are not.
fn with(
    policy: OffloadPolicy,
    change: impl FnOnce(&mut martlet_upf::config::SwitchConfig) + Send + 'static,
    on: [bool; 2],
) {
    in_namespace(move || {
        let mut bed = Bed::new(DatapathChoice::Kernel, |config| {
            config.policy = policy;
            change(config);
        });
        bed.apply(&session());
        bed.apply(&other(Some("ims")));
        one_each(&bed, 10);
        let due = on.iter().filter(|on| **on).count() as u64;
        bed.eventually("those that are to move have moved", |bed| bed.on_switch() == due);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(bed.on_switch(), due);
        assert_eq!(by_switch(&bed, 100), on, "{policy:?}");
    });
}

#[test]
fn none_leaves_all_where_they_are() {
    with(OffloadPolicy::None, |_| (), [false, false]);
}

#[test]
fn all_takes_all() {
    with(OffloadPolicy::All, |_| (), [true, true]);
}

#[test]
fn all_takes_all_into_the_kernel() {
    with(OffloadPolicy::All, |_| in_the_kernel(true, || ()), [true, true]);
}

#[test]
fn dnn_takes_those_of_a_data_network() {
    with(OffloadPolicy::Dnn, |config| config.dnns = vec!["ims".into()], [false, true]);
}

#[test]
fn rule_takes_those_of_a_network_of_ues() {
    let rule = OffloadRule {
        ue: Some("10.60.0.0/24".into()),
        gnb: Some("192.168.70.2".into()),
        qfi: None,
    };
    with(OffloadPolicy::Rule, |config| config.rules = vec![rule], [true, false]);
}

#[test]
fn rule_takes_those_of_a_qos_flow() {
    let rule = OffloadRule { qfi: Some(5), ..OffloadRule::default() };
    with(OffloadPolicy::Rule, |config| config.rules = vec![rule], [false, true]);
}

fn write(election: u64, operation: Operation, text: &str) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client =
            Client::connect(LISTEN.parse().expect("an address"), 1).await.expect("a switch");
        // The UPF leads it, and does again when this has gone.
        client.lead(Some(election)).await.expect("a higher election");
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
fn rules_of_a_person_carry_a_session_beside_those_of_the_upf() {
    in_namespace(|| {
        let mut bed = Bed::new(DatapathChoice::Kernel, |config| {
            config.policy = OffloadPolicy::Rule;
            config.rules =
                vec![OffloadRule { ue: Some("10.60.0.0/24".into()), ..OffloadRule::default() }];
        });
        bed.apply(&session());
        bed.apply(&other(None));
        one_each(&bed, 10);
        bed.eventually("the first is on the switch", |bed| bed.on_switch() == 1);
        let rules = "hop number 1 source 02:00:00:00:00:0a destination 02:00:00:00:00:0c port 1
            hop number 2 source 02:00:00:00:00:0a destination 02:00:00:00:00:0b port 0
            decap teid 0x1001 ue 10.60.1.1 via 1 counter 5
            encap ue 10.60.1.1 teid 0x2001 from 192.168.70.1 to 192.168.70.2 qfi 5 via 2 counter 6";
        write(1_000, Operation::Insert, rules);
        assert_eq!(by_switch(&bed, 100), [true, true]);
        // What the UPF changes, it changes beside them.
        let mut changed = session();
        changed.qers.get_mut(&1).expect("a QER").reflective = true;
        bed.apply(&changed);
        bed.eventually("it leads again, and the session comes back", |bed| {
            bed.says("movedOn") == 2
        });
        assert_eq!(by_switch(&bed, 200), [true, true]);
        // The UPF has had the next one.
        write(2_000, Operation::Delete, rules);
        assert_eq!(
            by_switch(&bed, 300),
            [true, false],
            "without its rules the session is native again"
        );
    });
}
