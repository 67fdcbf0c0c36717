//! Flow moves step by step: which packets are held at each step.
use super::*;
use martlet_bpf::Run;
use martlet_switch_control::Target;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::SeqCst;

const ACCESS: u64 = 0;
const ALL: u64 = 0xffff_ffff;

/// Runs a test with a switch that has a port, in its own network namespace, where permitted.
fn with_a_port(test: fn(&XdpSwitch)) {
    let alone = std::thread::spawn(move || {
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).is_ok() {
            let output = std::process::Command::new("ip")
                .args("link add near type veth peer name far".split(' '))
                .status();
            assert!(output.expect("ip runs").success());
        }
        if let Some(switch) = switch() {
            test(&switch);
        }
    });
    if let Err(panic) = alone.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The switch, or `None` where programs may not be loaded.
fn switch() -> Option<XdpSwitch> {
    let switch = match XdpSwitch::new() {
        Ok(switch) => switch,
        Err(error) => {
            assert!(!nix::unistd::geteuid().is_root(), "{error}");
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    switch
        .control
        .ifindex(ACCESS as u32)
        .store(nix::net::if_::if_nametoindex("near").expect("the interface"), SeqCst);
    let ports = [
        ("interfaces", ACCESS, "access", vec![ALL, ALL, u64::MAX, u64::MAX, 0, 0, 0]),
        ("l2_forward", 1, "l2", vec![1, 2, 1]),
    ];
    let insert = ports.map(|(table, key, action, arguments)| {
        change(&switch, table, None, Some((key, action, arguments)))
    });
    switch.commit(&insert, &[]).expect("the batch fits");
    Some(switch)
}

type Given<'a> = (u64, &'a str, Vec<u64>);

fn change(
    switch: &XdpSwitch,
    table: &str,
    before: Option<Given<'_>>,
    after: Option<Given<'_>>,
) -> Change {
    let info = &switch.compiled().program.info;
    let entry = |(key, action, arguments): Given<'_>| {
        let action = info.action(action).expect("an action");
        RawEntry { values: vec![key], masks: None, priority: 0, action, arguments }
    };
    let table = info.table(table).expect("a table");
    Change { table, before: before.map(entry), after: after.map(entry) }
}

fn decap(teid: u64) -> Given<'static> {
    (teid, "decap", vec![0x0a3c_0001, teid, 0, 1, 0, 0])
}

fn hold(teid: u64) -> Given<'static> {
    (teid, "hold_uplink", vec![])
}

/// A UDP packet from the UE 10.60.0.1.
fn packet(teid: u64) -> Vec<u8> {
    let ipv4 = |bytes: u16, ends: [[u8; 4]; 2]| {
        let mut header =
            [&[0x45, 0][..], &bytes.to_be_bytes(), &[0, 0, 0x40, 0, 64, 17, 0, 0], &ends.concat()]
                .concat();
        let sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        header
    };
    let gtp =
        [&[0x34, 0xff, 0, 44][..], &(teid as u32).to_be_bytes(), &[0, 0, 0, 0x85, 1, 0x10, 9, 0]]
            .concat();
    let inner = [
        ipv4(36, [[10, 60, 0, 1], [8, 8, 8, 8]]),
        vec![3, 0xe8, 0, 53, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    ]
    .concat();
    let outer =
        [ipv4(80, [[192, 168, 70, 2], [192, 168, 70, 1]]), vec![8, 0x68, 8, 0x68, 0, 60, 0, 0]]
            .concat();
    [vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], outer, gtp, inner].concat()
}

/// Whether a received packet is held.
fn waits(switch: &XdpSwitch, teid: u64) -> bool {
    let joined =
        || switch.loaded.memory(".data.queue", 8).expect("the queue").u64(0).load(SeqCst) >> 1;
    let (before, frame) = (joined(), packet(teid));
    let near = switch.control.ifindex(ACCESS as u32).load(SeqCst);
    let enter = switch.loaded.enter().expect("the program");
    Run { frame: &frame, ifindex: near }.dry(enter.as_fd(), 1, &mut [0; 2048]).expect("it runs");
    joined() > before
}

/// Releases a held flow; `meanwhile` is called before and after its entry changes.
fn hand_over(switch: &XdpSwitch, changes: &[Change], mut meanwhile: impl FnMut()) {
    let (mut holding, frames) = (lock(&switch.holding), lock(&switch.frames));
    let outcome = holding.release(&switch.grace_period, &frames, |mark| {
        meanwhile();
        switch.commit_marked(changes, &[], mark)?;
        meanwhile();
        Ok(())
    });
    outcome.expect("released");
    switch.unmark(changes).expect("the entries exist");
}

/// A held packet would be overtaken by later ones.
#[test]
fn a_released_flow_is_not_held_during_the_release_of_another() {
    with_a_port(one_after_the_other);
}

fn one_after_the_other(switch: &XdpSwitch) {
    let commit = |table, before, after| {
        switch.commit(&[change(switch, table, before, after)], &[]).expect("the batch fits")
    };
    let (first, second) = (1, 2);
    commit("gtp_decap", None, Some(hold(first)));
    assert!(waits(switch, first));
    commit("gtp_decap", Some(hold(first)), Some(decap(first)));
    assert!(!waits(switch, first));
    // For either active copy of the tables.
    for between in 0..2 {
        commit("gtp_decap", None, Some(hold(second)));
        if between == 1 {
            commit("l2_forward", None, Some((7, "l2", vec![1, 2, 1])));
        }
        let mut held = Vec::new();
        let released = [change(switch, "gtp_decap", Some(hold(second)), Some(decap(second)))];
        hand_over(switch, &released, || {
            held.push(waits(switch, first));
            assert!(waits(switch, second), "the flow that is being released");
        });
        assert_eq!(held, [false, false]);
        assert!(!waits(switch, second));
        commit("gtp_decap", Some(decap(second)), None);
    }
}

#[test]
fn a_flow_that_moves_back_is_held_until_earlier_packets_have_left() {
    with_a_port(back);
}

fn back(switch: &XdpSwitch) {
    let commit = |before, after| {
        switch.commit(&[change(switch, "gtp_decap", before, after)], &[]).expect("the batch fits")
    };
    for _ in 0..3 {
        commit(None, Some(hold(1)));
        assert!(waits(switch, 1));
        hand_over(switch, &[change(switch, "gtp_decap", Some(hold(1)), None)], || {
            assert!(waits(switch, 1))
        });
        assert!(!waits(switch, 1));
        assert!(!lock(&switch.holding).has_held(), "all packets have left");
    }
}
