//! The programs alone: the kernel runs them on test frames, without interfaces.
//! `target/tests/engines.rs` compares them with DPDK's pipeline.
use martlet_switch_control::model::{Change, RawEntry};
use martlet_switch_control::{Target, TargetError};
use martlet_switch_xdp::{Outcome, XdpSwitch};

/// A switch with its ports, or `None` where programs may not be loaded.
fn switch() -> Option<XdpSwitch> {
    match XdpSwitch::new() {
        Ok(switch) => Some(switch),
        Err(error) => {
            assert!(!nix::unistd::geteuid().is_root(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn table(switch: &XdpSwitch, name: &str) -> usize {
    let tables = &switch.compiled().program.info.tables;
    tables.iter().position(|table| table.alias == name).expect("a table")
}

fn entry(switch: &XdpSwitch, key: u64, action: &str, arguments: &[u64]) -> RawEntry {
    let action = switch
        .compiled()
        .program
        .info
        .actions
        .iter()
        .position(|of| of.alias == action)
        .expect("an action");
    RawEntry { values: vec![key], masks: None, priority: 0, action, arguments: arguments.to_vec() }
}

fn insert(switch: &XdpSwitch, entries: &[(&str, u64, &str, &[u64])]) {
    let change = |(name, key, action, arguments): &(&str, u64, &str, &[u64])| Change {
        table: table(switch, name),
        before: None,
        after: Some(entry(switch, *key, action, arguments)),
    };
    switch.commit(&entries.iter().map(change).collect::<Vec<_>>(), &[]).expect("the batch fits");
}

/// A tunnelled UDP packet from the gNB.
fn in_tunnel(teid: u32) -> Vec<u8> {
    let sum = |header: &mut [u8]| {
        let sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    };
    let ipv4 = |length: u16, source: [u8; 4], destination: [u8; 4]| {
        let [high, low] = length.to_be_bytes();
        let mut header =
            [&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0][..], &source, &destination]
                .concat();
        sum(&mut header);
        header
    };
    let gtp =
        [&[0x34, 0xff, 0, 44][..], &teid.to_be_bytes(), &[0, 0, 0, 0x85, 1, 0x10, 9, 0]].concat();
    let inner = [
        ipv4(36, [10, 60, 0, 1], [8, 8, 8, 8]),
        vec![3, 0xe8, 0, 53, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    ];
    let udp = vec![8, 0x68, 8, 0x68, 0, 60, 0, 0];
    let outer = ipv4(80, [192, 168, 70, 2], [192, 168, 70, 1]);
    [vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], outer, udp, gtp, inner.concat()].concat()
}

const ALL: u64 = 0xffff_ffff;
const PORTS: &[(&str, u64, &str, &[u64])] = &[
    ("interfaces", 0, "access", &[ALL, ALL, u64::MAX, u64::MAX, 0, 0, 0]),
    ("gtp_default_forward", 0, "to_native", &[2]),
    ("l2_forward", 1, "l2", &[1, 2, 1]),
];

#[test]
fn a_batch_that_does_not_fit_is_rolled_back() {
    let Some(switch) = switch() else { return };
    insert(&switch, PORTS);
    let decap = |key: u64| Change {
        table: table(&switch, "gtp_decap"),
        before: None,
        after: Some(entry(&switch, key, "decap", &[0x0a3c_0001, 5, 0, 1, 0, 0])),
    };
    // One entry more than the table's size.
    let many: Vec<Change> = (0..=131_072).map(|n| decap(0x1000 + n)).collect();
    assert!(matches!(switch.commit(&many, &[]), Err(TargetError::Change { index: 131_072, .. })));
    assert_eq!(switch.run_frame(0, &in_tunnel(0x1000)).expect("it runs").0, Outcome::Out(2));
    let started = std::time::Instant::now();
    switch.commit(&many[..131_072], &[]).expect("as many as its size");
    println!("131,072 entries took {:?}", started.elapsed());
    for n in [0, 1, 77_777, 131_071] {
        assert_eq!(
            switch.run_frame(0, &in_tunnel(0x1000 + n)).expect("it runs").0,
            Outcome::Out(1),
            "{n}"
        );
    }
    assert_eq!(switch.counter(0, 5), Ok((4, 4 * 36)));
    // All entries are deleted.
    let gone: Vec<Change> = many[..131_072]
        .iter()
        .map(|c| Change { before: c.after.clone(), after: None, ..c.clone() })
        .collect();
    switch.commit(&gone, &[]).expect("gone");
    assert_eq!(switch.run_frame(0, &in_tunnel(0x1000)).expect("it runs").0, Outcome::Out(2));
}

#[test]
fn a_meter_passes_its_burst_and_then_its_rate() {
    let Some(switch) = switch() else { return };
    insert(&switch, PORTS);
    insert(&switch, &[("gtp_decap", 0x1000, "decap", &[0x0a3c_0001, 5, 3, 1, 0, 0])]);
    let passed = |n: u32| {
        let one = |_| switch.run_frame(0, &in_tunnel(0x1000)).expect("it runs").0;
        (0..n).map(one).filter(|outcome| *outcome == Outcome::Out(1)).count()
    };
    // 10 packets of 36 bytes at once, then one per hour.
    switch.set_meter(0, 3, Some((1, 360))).expect("a meter");
    assert_eq!(passed(30), 10);
    assert_eq!(switch.counter(1, 5), Ok((20, 20 * 36)), "dropped");
    // 1,000 packets per second.
    switch.set_meter(0, 3, Some((36_000, 36))).expect("a meter");
    assert_eq!(passed(1), 1);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(passed(1), 1);
    switch.set_meter(0, 3, None).expect("no meter");
    assert_eq!(passed(30), 30);
}

#[test]
#[ignore = "benchmark: run it alone on an idle machine"]
fn time_per_packet() {
    let Some(switch) = switch() else { return };
    insert(&switch, PORTS);
    insert(&switch, &[("gtp_decap", 0x1000, "decap", &[0x0a3c_0001, 5, 0, 1, 0, 0])]);
    let frame = in_tunnel(0x1000);
    // The cost of copying a frame into the kernel is in both.
    let taken = |bypass| {
        let mut all: Vec<f64> =
            (0..9).map(|_| switch.time_per_frame(0, &frame, bypass).expect("it runs")).collect();
        all.sort_by(f64::total_cmp);
        all[4]
    };
    let (with, without) = (taken(false), taken(true));
    println!(
        "ns per decapsulation: {:.0} = {with:.0} - {without:.0} for the copy of the frame",
        with - without
    );
}
