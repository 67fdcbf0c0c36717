//! The same rules and the same packets for the datapath `kernel` and for the pipeline of the switch
//! on both of its engines, drawn at random: what the switch forwards has to be what `kernel` makes
//! of it, and so has what it counts; all else it hands to the native side as it came.
//! `MARTLET_DIFFERENTIAL` is how many sets of rules are drawn, `MARTLET_SEED` where it begins.
//!
//! `kernel` and `xdp` are compared in `xdp/differential.rs`, with the same packets and rules.
use super::neighbours::Hop;
use super::plan::{Next, Plan, Version};
use super::tables::{ACCESS, CORE, Placed, Tables, Ues};
use martlet_gtpu::{Message, decode};
use martlet_p4c_swx::Program;
use martlet_switch_control::model::{Operation, Target, Update};
use martlet_switch_target::{Engine, Ports, Switch, SwitchTarget, UPF, dpdk, serve};
use martlet_switch_xdp::{Outcome, XdpSwitch};
use martlet_upf_config::{KernelLimits, N3Config};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_datapath::random::{
    Draw, GNB, HOST, N3, Out, PACKETS, SESSIONS, from_network, gnb6, host6, n3_ip6, outer, outer6,
    set_up, without_ttl,
};
use martlet_upf_kernel::bench::Bench;
use martlet_upf_rules::{Session, Tunnel};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

const NATIVE_N3: u32 = 2;
const NATIVE_N6: u32 = 3;

/// The native datapath without sockets, and a switch without interfaces: on DPDK, and in the
/// kernel.
struct Pair {
    kernel: Bench,
    switch: Arc<Switch>,
    xdp: Option<Arc<XdpSwitch>>,
    /// Of both engines.
    written: Vec<martlet_switch_control::Tables>,
    tables: Tables,
}

/// The engine in the kernel, where programs may be loaded.
fn in_the_kernel() -> Option<Arc<XdpSwitch>> {
    match XdpSwitch::new() {
        Ok(switch) => Some(Arc::new(switch)),
        Err(error) => {
            assert!(!nix::unistd::geteuid().is_root(), "{error}");
            eprintln!("SKIPPED: the engine xdp: {error}");
            None
        }
    }
}

impl Pair {
    fn new() -> Pair {
        dpdk::start(400).expect("DPDK");
        let program: Arc<Program> = Arc::new(martlet_p4c_swx::compile(UPF).expect("our program"));
        let switch = Switch::new(program.clone(), Ports::Rings, Engine::best()).expect("a switch");
        let switch = Arc::new(switch);
        let xdp = in_the_kernel();
        let mut targets: Vec<Arc<dyn Target>> =
            vec![Arc::new(SwitchTarget::new(switch.clone()).expect("its numbers"))];
        targets.extend(xdp.clone().map(|xdp| xdp as Arc<dyn Target>));
        let written = targets
            .into_iter()
            .map(|target| martlet_switch_control::Tables::new(program.clone(), target));
        let written: Vec<_> = written.collect();
        let write =
            |updates: &[Update]| written.iter().for_each(|of| of.write(updates).expect("an entry"));
        write(&serve::base(&program));
        let mut tables = Tables::new(
            program.info.clone(),
            (Some(N3), Some(n3_ip6())),
            Duration::from_millis(100),
        );
        let ues = Ues {
            v4: Some((0x0a2d_0000, 0xffff_0000)),
            v6: Some((0x2001_0db8_0045_0000, u64::MAX << 16)),
        };
        write(&tables.ports(&ues, u16::MAX));
        let hop = Hop { source: 0x0200_0000_0001, destination: 0x0200_0000_0002 };
        for (port, to) in [
            (ACCESS, GNB.into()),
            (ACCESS, gnb6().into()),
            (CORE, HOST.into()),
            (CORE, host6().into()),
        ] {
            for entry in tables.hop(port, to, hop).expect("room").1 {
                write(&[Update { operation: Operation::Insert, entry }]);
            }
        }
        // Switching between UEs is the native side's.
        let n3 = N3Config {
            address: (N3, martlet_gtpu::PORT).into(),
            address6: Some(n3_ip6()),
            ..Default::default()
        };
        Pair {
            kernel: Bench::ending_at(KernelLimits::default(), &n3),
            switch,
            xdp,
            written,
            tables,
        }
    }

    fn write(&self, operation: Operation, placed: &Placed) {
        let updates: Vec<Update> =
            placed.entries.iter().map(|entry| Update { operation, entry: entry.clone() }).collect();
        self.written
            .iter()
            .for_each(|of| of.write(&updates).expect("entries that the switch takes"));
    }

    /// Packets and bytes of a rule: on both engines the same.
    fn counter(&self, index: u32) -> (u64, u64) {
        let all = self.written.iter().map(|of| of.target().counter(0, index).expect("a counter"));
        let all: Vec<(u64, u64)> = all.collect();
        assert!(all.iter().all(|one| *one == all[0]), "counter {index} of both engines: {all:?}");
        all[0]
    }

    fn put_on(&mut self, session: &Session) -> Option<Placed> {
        // Which rates and quotas bind is a matter of time and of the manager.
        if session.urrs.values().any(|urr| urr.volume_quota.is_some()) {
            return None;
        }
        let plan = Plan::of(session).ok()?;
        let nowhere = Hop { source: 0, destination: 0 };
        let mut hop = |port, to| self.tables.hop(port, to, nowhere).expect("there").0;
        let hop = HashMap::from([
            (Next::Gnb(GNB.into()), hop(ACCESS, GNB.into())),
            (Next::Gnb(gnb6().into()), hop(ACCESS, gnb6().into())),
            (Next::Network(Version::V4), hop(CORE, HOST.into())),
            (Next::Network(Version::V6), hop(CORE, host6().into())),
        ]);
        let mut placed = self.tables.place(&plan, &hop).expect("room");
        for of in &mut placed.counted {
            // Counters go on from wherever they are.
            (of.packets, of.bytes) = self.counter(of.index);
        }
        for (array, index, rate) in &placed.meters {
            self.written
                .iter()
                .for_each(|of| of.target().set_meter(*array, *index, *rate).expect("a meter"));
        }
        self.write(Operation::Insert, &placed);
        Some(placed)
    }

    fn of_kernel(&mut self) -> Out {
        let to_peers: Vec<(IpAddr, Vec<u8>)> =
            self.kernel.left.to_peers.lock().unwrap().drain(..).collect();
        let to_network: Vec<Vec<u8>> =
            self.kernel.left.to_network.lock().unwrap().drain(..).collect();
        let tunnelled =
            to_peers.into_iter().find(|(_, bytes)| matches!(decode(bytes), Ok(Message::GPdu(_))));
        match (tunnelled, to_network.into_iter().next()) {
            (Some((peer, bytes)), None) => Out::Tunnel(peer, bytes),
            (None, Some(packet)) => Out::Network(without_ttl(packet)),
            (None, None) => Out::Nothing,
            both => panic!("one packet became {both:?}"),
        }
    }

    /// What the switch makes of a frame, on either engine; `None` where the native side gets it, as
    /// it came, or its meters drop it.
    fn of_switch(&self, port: u32, frame: &[u8]) -> Option<Out> {
        let out = self.of_swx(port, frame);
        if let Some(xdp) = &self.xdp {
            let other = match xdp.through(port, frame).expect("the program runs") {
                (Outcome::Past, _) => None,
                (Outcome::Out(to), left) => left_by(port, frame, to, &left),
                (Outcome::Gone, _) => panic!("one frame became none: {frame:02x?}"),
            };
            assert_eq!(out, other, "the engines swx, and xdp: {frame:02x?}");
        }
        out
    }

    fn of_swx(&self, port: u32, frame: &[u8]) -> Option<Out> {
        let bypassed = self.switch.port(port).bypassed;
        self.switch.inject(port, frame).expect("room");
        self.switch.settle();
        if self.switch.port(port).bypassed > bypassed {
            while self.switch.collect(native_of(port)).is_some() {}
            return None;
        }
        let out: Vec<(u32, Vec<u8>)> = (0..8)
            .filter_map(|port| self.switch.collect(port).map(|frame| (port, frame)))
            .collect();
        let [(to, left)] = &out[..] else { panic!("one frame became {out:02x?}") };
        left_by(port, frame, *to, left)
    }
}

/// The port of the native side for what comes in by another.
fn native_of(port: u32) -> u32 {
    if port == ACCESS { NATIVE_N3 } else { NATIVE_N6 }
}

/// What a frame has become that came in by one port and left by another; `None` where the native
/// side gets it, as it came.
fn left_by(port: u32, frame: &[u8], to: u32, left: &[u8]) -> Option<Out> {
    if to == native_of(port) {
        assert!(left.starts_with(&frame[..left.len().min(frame.len())]), "as it came");
        return None;
    }
    let packet = &left[14..];
    Some(match to {
        ACCESS if left[12..14] == [0x86, 0xdd] => {
            let bytes =
                |at: usize| -> [u8; 16] { packet[at..at + 16].try_into().expect("16 bytes") };
            assert_eq!((bytes(8), &packet[40..44]), (n3_ip6().octets(), &[8, 0x68, 8, 0x68][..]));
            Out::Tunnel(Ipv6Addr::from(bytes(24)).into(), packet[48..].to_vec())
        }
        ACCESS => {
            assert_eq!(
                (&packet[12..16], &packet[20..24]),
                (&N3.octets()[..], &[8, 0x68, 8, 0x68][..])
            );
            let peer = Ipv4Addr::from_octets([packet[16], packet[17], packet[18], packet[19]]);
            Out::Tunnel(peer.into(), packet[28..].to_vec())
        }
        CORE => Out::Network(without_ttl(packet.to_vec())),
        other => panic!("out of port {other}"),
    })
}

/// Has a session less of what keeps it off the switch, where most of those that are drawn at random
/// stay.
fn tame(session: &mut Session) {
    for urr in session.urrs.values_mut() {
        urr.volume_quota = None;
    }
    for qer in session.qers.values_mut() {
        (qer.mbr, qer.qfi) = (None, qer.qfi.or(Some(7)));
    }
    for pdr in session.pdrs.values_mut().filter(|pdr| pdr.qers.is_empty()) {
        pdr.qers.push(1);
    }
}

/// Bytes and packets by usage reporting rule, from UEs and to them.
type Counts = BTreeMap<u32, [u64; 4]>;

fn one_set(pair: &mut Pair, seed: u64) -> (usize, usize) {
    let mut draw = Draw::new(seed);
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let mut session = draw.session(n);
        if draw.chance(80) {
            tame(&mut session);
        }
        // The gNB of every third one has IPv6 on N3.
        for far in session.fars.values_mut().filter(|_| (seed + u64::from(n)).is_multiple_of(3)) {
            far.tunnel = far.tunnel.map(|tunnel| Tunnel { peer: gnb6().into(), ..tunnel });
        }
        pair.kernel
            .datapath()
            .apply(&Change::to(&session))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let placed = pair.put_on(&session);
        sessions.push((session, placed));
    }
    // What `kernel` counted of packets that the switch forwarded.
    let mut due: Vec<Counts> = vec![Counts::new(); sessions.len()];
    let (mut forwarded, mut by_switch) = (0, 0);
    for nth in 0..PACKETS {
        let (packet, up) =
            if draw.chance(60) { (draw.uplink(), true) } else { (draw.downlink(), false) };
        let whole = draw.was_whole();
        for (session, _) in &sessions {
            pair.kernel.datapath().take_usage(session.seid, &[1, 2]);
        }
        let (kernel, switch) = match up {
            true => {
                pair.kernel.send_n3(&packet);
                // Every third one comes over IPv6.
                let frame = if nth % 3 == 0 { outer6(&packet) } else { outer(&packet) };
                (pair.of_kernel(), pair.of_switch(ACCESS, &frame))
            }
            false => {
                let (aged, frame) = from_network(&packet);
                pair.kernel.packet_from_network(&aged);
                (pair.of_kernel(), pair.of_switch(CORE, &frame))
            }
        };
        forwarded += usize::from(kernel != Out::Nothing);
        let Some(switch) = switch else { continue };
        by_switch += 1;
        assert_eq!(
            kernel, switch,
            "kernel, and switch: seed {seed}, packet {nth}, uplink {up}, whole {whole}: \
             {packet:02x?}\n{sessions:#?}"
        );
        for ((session, _), due) in sessions.iter().zip(&mut due) {
            for usage in pair.kernel.datapath().take_usage(session.seid, &[1, 2]) {
                let counts = due.entry(usage.urr).or_default();
                let more = [
                    usage.uplink_bytes,
                    usage.downlink_bytes,
                    usage.uplink_packets,
                    usage.downlink_packets,
                ];
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
        }
    }
    for ((session, placed), mut due) in sessions.into_iter().zip(due) {
        pair.kernel.datapath().remove(session.seid);
        let Some(placed) = placed else { continue };
        let mut counted = Counts::new();
        for of in &placed.counted {
            let (packets, bytes) = pair.counter(of.index);
            let (packets, bytes) = (packets - of.packets, bytes - of.bytes);
            let at = usize::from(of.direction == martlet_upf_rules::Direction::Downlink);
            for urr in &of.urrs {
                let counts = counted.entry(*urr).or_default();
                counts[at] += bytes;
                counts[2 + at] += packets;
            }
        }
        due.retain(|_, counts| *counts != [0; 4]);
        counted.retain(|_, counts| *counts != [0; 4]);
        assert_eq!(
            due, counted,
            "usage, by kernel and switch: seed {seed}, session {}",
            session.seid
        );
        pair.write(Operation::Delete, &placed);
        pair.tables.free(&placed);
    }
    (forwarded, by_switch)
}

/// Runs a test in a process of its own: DPDK takes memory of the process that it is started in and
/// never gives it back, which the tests beside it would have to do without.
fn in_its_own_process(test: &str, act: impl FnOnce()) {
    const MARK: &str = "MARTLET_TEST_IN_ITS_OWN_PROCESS";
    if std::env::var(MARK).is_ok_and(|name| name == test) {
        return act();
    }
    let mut own = std::process::Command::new(std::env::current_exe().expect("this program"));
    let output = own
        .args([test, "--exact", "--nocapture"])
        .env(MARK, test)
        .output()
        .expect("this program runs");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{}", output.status);
}

#[test]
fn kernel_and_switch_agree_on_random_rules_and_packets() {
    const NAME: &str = "differential::kernel_and_switch_agree_on_random_rules_and_packets";
    in_its_own_process(NAME, compare);
}

fn compare() {
    let (sets, first) = set_up();
    let mut pair = Pair::new();
    let (mut forwarded, mut by_switch) = (0, 0);
    for n in 0..sets {
        let (all, some) = one_set(&mut pair, first + n);
        (forwarded, by_switch) = (forwarded + all, by_switch + some);
    }
    println!(
        "of {} packets, {forwarded} were forwarded, {by_switch} of them by the switch",
        sets * PACKETS as u64
    );
    assert!(
        by_switch * 20 > forwarded,
        "a part of the packets is the switch's, or nothing would be compared"
    );
}
