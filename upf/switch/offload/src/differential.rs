//! Differential test of the datapath `kernel` and the switch's pipeline on both engines, with
//! random rules and packets. Packets that the switch forwards, and their usage, have to be equal to
//! those of `kernel`; all other packets have to reach the native side unchanged.
//! `MARTLET_DIFFERENTIAL` is the number of rule sets, `MARTLET_SEED` the first seed.
//!
//! `xdp/differential.rs` compares `kernel` and `xdp` with the same packets and rules.
use super::neighbours::Hop;
use super::plan::{Next, Plan, Version};
use super::tables::{ACCESS, CORE, Installed, Tables, Ues};
use martlet_gtpu::{Message, decode};
use martlet_p4c_swx::Program;
use martlet_switch_control::model::{Operation, Target, Update};
use martlet_switch_target::{Engine, Ports, Switch, SwitchTarget, UPF, dpdk, serve};
use martlet_switch_xdp::{Outcome, XdpSwitch};
use martlet_upf_config::{KernelLimits, N3Config};
use martlet_upf_datapath::Change;
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_datapath::perimeter::Sources;
use martlet_upf_datapath::random::{
    Draw, GNB, HOST, N3, Out, PACKETS, SESSIONS, from_network, gnb6, host6, n3_ip6, outer, outer6,
    set_up, without_ttl,
};
use martlet_upf_kernel::bench::{Bench, SentDatagram};
use martlet_upf_rules::{Session, Tunnel};
use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

const NATIVE_N3: u32 = 2;
const NATIVE_N6: u32 = 3;

/// The native datapath without sockets, and a switch without interfaces, on DPDK and in the kernel.
struct Pair {
    kernel: Bench,
    switch: Arc<Switch>,
    xdp: Option<Arc<XdpSwitch>>,
    /// The tables of both engines.
    written: Vec<martlet_switch_control::Tables>,
    tables: Tables,
}

/// The XDP engine, where programs may be loaded.
fn xdp_engine() -> Option<Arc<XdpSwitch>> {
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
        let xdp = xdp_engine();
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
        // Packets between UEs go to the native side.
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

    fn write(&self, operation: Operation, installed: &Installed) {
        let updates: Vec<Update> = installed
            .entries
            .iter()
            .map(|entry| Update { operation, entry: entry.clone() })
            .collect();
        self.written
            .iter()
            .for_each(|of| of.write(&updates).expect("entries that the switch takes"));
    }

    /// Packets and bytes of a rule, equal on both engines.
    fn counter(&self, index: u32) -> (u64, u64) {
        let all = self.written.iter().map(|of| of.target().counter(0, index).expect("a counter"));
        let all: Vec<(u64, u64)> = all.collect();
        assert!(all.iter().all(|one| *one == all[0]), "counter {index} of both engines: {all:?}");
        all[0]
    }

    fn activate(&mut self, session: &Session) -> Option<Installed> {
        // Rates and quotas depend on time, and are not compared.
        if session.urrs.values().any(|urr| urr.volume_quota.is_some()) {
            return None;
        }
        let plan = Plan::of(session).ok()?.checked(Sources::Any).ok()?;
        let unused = Hop { source: 0, destination: 0 };
        let mut hop = |port, to| self.tables.hop(port, to, unused).expect("there").0;
        let hop = HashMap::from([
            (Next::Gnb(GNB.into()), hop(ACCESS, GNB.into())),
            (Next::Gnb(gnb6().into()), hop(ACCESS, gnb6().into())),
            (Next::Network(Version::V4), hop(CORE, HOST.into())),
            (Next::Network(Version::V6), hop(CORE, host6().into())),
        ]);
        let mut installed = self.tables.allocate(&plan, &hop).expect("room");
        for of in &mut installed.counted {
            // Counters continue from their current values.
            (of.packets, of.bytes) = self.counter(of.index);
        }
        for (array, index, rate) in &installed.meters {
            self.written
                .iter()
                .for_each(|of| of.target().set_meter(*array, *index, *rate).expect("a meter"));
        }
        self.write(Operation::Insert, &installed);
        Some(installed)
    }

    fn of_kernel(&mut self) -> Out {
        let to_peers: Vec<SentDatagram> =
            self.kernel.left.to_peers.lock().unwrap().drain(..).collect();
        let to_network: Vec<(usize, Vec<u8>)> =
            self.kernel.left.to_network.lock().unwrap().drain(..).collect();
        let is_packet = |sent: &SentDatagram| matches!(decode(&sent.bytes), Ok(Message::GPdu(_)));
        let tunnelled = to_peers.into_iter().find(is_packet);
        match (tunnelled, to_network.into_iter().next()) {
            (Some(sent), None) => Out::Tunnel(sent.peer, sent.marking, sent.bytes),
            (None, Some((instance, packet))) => Out::Network(instance, without_ttl(packet)),
            (None, None) => Out::Nothing,
            both => panic!("one packet became {both:?}"),
        }
    }

    /// The result of the switch for a frame, equal on both engines; `None` if the frame reaches the
    /// native side unchanged or a meter drops it.
    fn of_switch(&self, port: u32, frame: &[u8]) -> Option<Out> {
        let out = self.of_swx(port, frame);
        if let Some(xdp) = &self.xdp {
            let other = match xdp.run_frame(port, frame).expect("the program runs") {
                (Outcome::Bypassed, _) => None,
                (Outcome::Out(to), left) => left_by(port, frame, to, &left),
                (Outcome::Dropped, _) => panic!("one frame became none: {frame:02x?}"),
            };
            assert_eq!(out, other, "the engines swx and xdp differ: {frame:02x?}");
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

/// The native port of an ingress port.
fn native_of(port: u32) -> u32 {
    if port == ACCESS { NATIVE_N3 } else { NATIVE_N6 }
}

/// The result for a frame that left through a port; `None` if it reached the native side unchanged.
fn left_by(port: u32, frame: &[u8], to: u32, left: &[u8]) -> Option<Out> {
    if to == native_of(port) {
        assert!(left.starts_with(&frame[..left.len().min(frame.len())]), "unchanged");
        return None;
    }
    let packet = &left[14..];
    Some(match to {
        ACCESS if left[12..14] == [0x86, 0xdd] => {
            let bytes =
                |at: usize| -> [u8; 16] { packet[at..at + 16].try_into().expect("16 bytes") };
            assert_eq!((bytes(8), &packet[40..44]), (n3_ip6().octets(), &[8, 0x68, 8, 0x68][..]));
            let class = packet[0] << 4 | packet[1] >> 4;
            Out::Tunnel(Ipv6Addr::from(bytes(24)).into(), class, packet[48..].to_vec())
        }
        ACCESS => {
            assert_eq!(
                (&packet[12..16], &packet[20..24]),
                (&N3.octets()[..], &[8, 0x68, 8, 0x68][..])
            );
            let peer = Ipv4Addr::from_octets([packet[16], packet[17], packet[18], packet[19]]);
            Out::Tunnel(peer.into(), packet[1], packet[28..].to_vec())
        }
        CORE => Out::Network(0, without_ttl(packet.to_vec())),
        other => panic!("out of port {other}"),
    })
}

/// Removes most of what prevents random sessions from being offloaded.
fn simplify(session: &mut Session) {
    for urr in session.urrs.values_mut() {
        urr.volume_quota = None;
        (urr.awaits_traffic, urr.inactive) = (false, false);
    }
    for far in session.fars.values_mut() {
        far.marking = None;
    }
    for qer in session.qers.values_mut() {
        (qer.mbr, qer.qfi) = (None, qer.qfi.or(Some(7)));
    }
    for pdr in session.pdrs.values_mut().filter(|pdr| pdr.qers.is_empty()) {
        pdr.qers.push(1);
    }
}

/// Bytes and packets by URR, uplink and downlink.
type Counts = BTreeMap<u32, [u64; 4]>;

fn one_set(pair: &mut Pair, seed: u64) -> (usize, usize) {
    let mut draw = Draw::new(seed);
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let mut session = draw.session(n);
        if draw.chance(80) {
            simplify(&mut session);
        }
        // The gNB of every third session uses IPv6 on N3.
        for far in session.fars.values_mut().filter(|_| (seed + u64::from(n)).is_multiple_of(3)) {
            far.tunnel = far.tunnel.map(|tunnel| Tunnel { peer: gnb6().into(), ..tunnel });
        }
        pair.kernel
            .datapath()
            .apply(&Change::to(&session))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let installed = pair.activate(&session);
        sessions.push((session, installed));
    }
    // Usage counted by `kernel` for packets that the switch forwarded.
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
                // Every third packet arrives over IPv6.
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
            "kernel and switch differ: seed {seed}, packet {nth}, uplink {up}, whole {whole}: \
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
    for ((session, installed), mut due) in sessions.into_iter().zip(due) {
        pair.kernel.datapath().remove(session.seid);
        let Some(installed) = installed else { continue };
        let mut counted = Counts::new();
        for of in &installed.counted {
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
        pair.write(Operation::Delete, &installed);
        pair.tables.free(&installed);
    }
    (forwarded, by_switch)
}

/// Runs a test in a process of its own: DPDK allocates memory of its process and never frees it,
/// which would slow down the other tests.
fn in_own_process(test: &str, act: impl FnOnce()) {
    const MARK: &str = "MARTLET_TEST_OWN_PROCESS";
    if std::env::var(MARK).is_ok_and(|name| name == test) {
        return act();
    }
    let mut own = std::process::Command::new(std::env::current_exe().expect("this program"));
    let output = own
        .args([test, "--exact", "--nocapture"])
        .env(MARK, test)
        .output()
        .expect("this program runs");
    let output_text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{output_text}");
    assert!(output.status.success() && output_text.contains("1 passed"), "{}", output.status);
}

#[test]
fn kernel_and_switch_agree_on_random_rules_and_packets() {
    const NAME: &str = "differential::kernel_and_switch_agree_on_random_rules_and_packets";
    in_own_process(NAME, compare);
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
    assert!(by_switch * 20 > forwarded, "too few packets were forwarded by the switch to compare");
}
