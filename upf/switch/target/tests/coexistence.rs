//! The switch in its wires: default forwarding to the native side and back, a flow that moves to
//! the switch while packets pass, and a switch that is killed meanwhile.
mod common;
mod process;
mod wires;

use common::*;
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::rules;
use process::Process;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wires::{End, in_namespace, ip};

/// The first number of the packets that are sent while rules change.
const FIRST: u32 = 100_000;
/// Longest time until packets have arrived. A busy machine needs seconds.
const LONGEST: Duration = Duration::from_secs(30);

fn numbered(n: u32) -> Vec<u8> {
    let payload = [&b"nr"[..], &n.to_be_bytes()].concat();
    uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &payload)))
}

fn start(engine: &str) -> Process {
    let wires = [
        "--access",
        "access",
        "--native-n3",
        "native3",
        "--core",
        "core",
        "--native-n6",
        "native6",
    ];
    Process::start(&[&wires[..], &["--engine", engine]].concat())
}

fn write(address: SocketAddr, operation: Operation, text: &str) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(address, 1).await.expect("a switch");
        client.become_primary(None).await.expect("the only controller");
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
        let updates: Vec<Update> = text.lines().map(update).collect();
        client.write(&updates).await.expect("written");
    });
}

/// What an end receives until this number has arrived, or until it is lost.
fn until_number(end: &End, last: u32) -> Vec<u32> {
    let give_up = Instant::now() + LONGEST;
    let mut all = Vec::new();
    while !all.contains(&last) && Instant::now() < give_up {
        all.extend(end.wait(1));
    }
    all
}

/// Sends numbered packets until a rule was inserted, and deleted, and packets have arrived at
/// either side. Returns how many, and those that arrived at the native side and at the other.
fn change_rules(address: SocketAddr, gnb: &End, upf: &End, dn: &End) -> (u32, [Vec<u32>; 2]) {
    let (started, stop) = (Instant::now(), AtomicBool::new(false));
    let (mut native, mut moved) = (Vec::new(), Vec::new());
    let mut until = |done: &dyn Fn(usize, usize) -> bool| {
        while !done(native.len(), moved.len()) && started.elapsed() < LONGEST {
            native.extend(upf.received());
            moved.extend(dn.received());
            std::thread::sleep(Duration::from_millis(1));
        }
        native.len()
    };
    let all = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) && started.elapsed() < LONGEST {
                gnb.send(&numbered(FIRST + n));
                n += 1;
                std::thread::sleep(Duration::from_micros(700));
            }
            n
        });
        until(&|native, _| native >= 200);
        write(
            address,
            Operation::Insert,
            "decap teid 0x1000 ue 10.60.0.1 via 1 counter 5\nhop number 1 source \
             02:00:00:00:00:01 destination 02:00:00:00:00:02 port 1",
        );
        let before = until(&|_, moved| moved >= 200);
        write(address, Operation::Delete, "decap teid 0x1000");
        until(&|native, _| native >= before + 200);
        stop.store(true, Ordering::Relaxed);
        sending.join().expect("sent")
    });
    until(&|native, moved| native + moved >= all as usize);
    // Duplicates as well.
    std::thread::sleep(Duration::from_millis(20));
    native.extend(upf.received());
    moved.extend(dn.received());
    (all, [native, moved])
}

/// With an engine; the far ends accept redirected frames or not.
fn in_wires(engine: &str, set_gro: bool) {
    for (far, near) in [("gnb", "access"), ("upf3", "native3"), ("dn", "core"), ("upf6", "native6")]
    {
        ip(&format!("link add {far} type veth peer name {near}"));
        ip(&format!("link set {far} up"));
        ip(&format!("link set {near} up"));
        if set_gro {
            martlet_interface::set_feature(far, martlet_interface::Feature::GenericReceive, true)
                .expect("a feature of veth");
        }
    }
    let (gnb, upf, dn) = (End::open("gnb"), End::open("upf3"), End::open("dn"));
    let switch = start(engine);
    // Without rules: to the native side, once and unchanged; and back.
    (0..50).for_each(|n| gnb.send(&numbered(n)));
    assert_eq!(upf.wait(50), (0..50).collect::<Vec<_>>());
    upf.send(&numbered(50));
    assert_eq!(gnb.wait(1), [50]);
    assert!(dn.received().is_empty());

    // A rule is inserted and deleted while packets pass: each packet arrives once, in order on
    // either side.
    let (all, [native, moved]) = change_rules(switch.address, &gnb, &upf, &dn);
    assert!(moved.len() >= 200 && native.len() >= 400, "{} {}", native.len(), moved.len());
    for side in [&native, &moved] {
        assert!(side.is_sorted(), "in order");
    }
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    native.iter().chain(&moved).for_each(|n| *times.entry(*n).or_default() += 1);
    let due = FIRST..FIRST + all;
    assert!(
        due.clone().all(|n| times.get(&n) == Some(&1)),
        "lost or duplicated: {:?}",
        due.filter(|n| times.get(n) != Some(&1)).collect::<Vec<_>>()
    );

    // Killed under traffic: the kernel's forwarding takes over.
    let sent_every = Duration::from_millis(1);
    let first = 10_000;
    let (mut killed, mut switch) = (None, Some(switch));
    for n in first..first + 600 {
        if n == first + 200 {
            drop(switch.take());
            killed = Some(Instant::now());
        }
        gnb.send(&numbered(n));
        std::thread::sleep(sent_every);
    }
    assert!(killed.is_some());
    let native = until_number(&upf, first + 599);
    let lost: Vec<u32> = (first..first + 600).filter(|n| !native.contains(n)).collect();
    assert!(lost.len() <= 100, "{} packets of one a millisecond were lost: {lost:?}", lost.len());
    assert!(native.is_sorted_by(|a, b| a < b), "in order, without duplicates");
    println!(
        "{} packets, sent one a millisecond, were lost when the switch was killed",
        lost.len()
    );
    // A new switch takes over again.
    let switch = start(engine);
    (0..20).for_each(|n| gnb.send(&numbered(20_000 + n)));
    assert_eq!(upf.wait(20).len(), 20);

    // A hanging switch: the native path takes over. Nothing is lost or duplicated when the switch
    // continues.
    let signal = |signal| {
        // SAFETY: a signal to the switch that this test started.
        unsafe { libc::kill(switch.id() as i32, signal) };
    };
    let first = 30_000;
    let mut meanwhile = Vec::new();
    for n in first..first + 600 {
        match n - first {
            200 => signal(libc::SIGSTOP),
            500 => {
                meanwhile = upf.received();
                signal(libc::SIGCONT);
            }
            _ => {}
        }
        gnb.send(&numbered(n));
        std::thread::sleep(sent_every);
    }
    let late: Vec<u32> = (first..first + 490).filter(|n| !meanwhile.contains(n)).collect();
    println!("{} packets, sent one a millisecond, waited for a hanging switch", late.len());
    assert!(late.len() <= 100, "{late:?}");
    let rest = upf.wait(600 - meanwhile.len());
    let mut all = [meanwhile, rest].concat();
    all.sort_unstable();
    assert_eq!(all, (first..first + 600).collect::<Vec<_>>(), "each packet once");
}

#[test]
fn swx_in_its_wires() {
    in_namespace(|| in_wires("swx", false));
}

#[test]
fn xdp_in_its_wires() {
    in_namespace(|| in_wires("xdp", true));
}

#[test]
fn xdp_where_peers_drop_redirected_frames() {
    in_namespace(|| in_wires("xdp", false));
}

/// Holds the packets of a tunnel at the switch, or releases them to the native side.
fn hold(address: SocketAddr, operation: Operation) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(address, 1).await.expect("a switch");
        client.become_primary(None).await.expect("the only controller");
        let info = client.program().info.clone();
        let table = info.table("gtp_decap").expect("a table");
        let action = info.action("hold_uplink").expect("an action");
        let key = Key { fields: vec![FieldMatch::Exact(0x1000)], priority: 0 };
        let entry =
            TableEntry { table, key, call: Call { action, arguments: vec![] }, metadata: vec![] };
        client.write(&[Update { operation, entry }]).await.expect("written");
    });
}

/// More packets are held than the queue of a veth has space for.
fn many_held_packets(engine: &str) {
    for (far, near) in [("gnb", "access"), ("upf3", "native3"), ("dn", "core"), ("upf6", "native6")]
    {
        ip(&format!("link add {far} type veth peer name {near}"));
        ip(&format!("link set {far} up"));
        ip(&format!("link set {near} up"));
        martlet_interface::set_feature(far, martlet_interface::Feature::GenericReceive, true)
            .expect("a feature of veth");
    }
    let (gnb, upf) = (End::open("gnb"), End::open("upf3"));
    let switch = start(engine);
    const WAIT: u32 = 600;
    for round in 0..6 {
        let first = round * 1000;
        // Some packets before leave less space in the queue of the veth.
        let before = 5 * round + 3;
        (first..first + before).for_each(|n| gnb.send(&numbered(n)));
        assert_eq!(upf.wait(before as usize).len(), before as usize);
        hold(switch.address, Operation::Insert);
        (first..first + WAIT).for_each(|n| gnb.send(&numbered(n)));
        hold(switch.address, Operation::Delete);
        let received = upf.wait(WAIT as usize);
        let lost: Vec<u32> = (first..first + WAIT).filter(|n| !received.contains(n)).collect();
        assert!(
            lost.is_empty(),
            "round {round}: {} of {WAIT} received, lost {lost:?}",
            received.len()
        );
        assert!(received.is_sorted_by(|a, b| a < b), "in order, without duplicates");
    }
}

#[test]
fn many_held_packets_with_swx() {
    in_namespace(|| many_held_packets("swx"));
}

#[test]
fn many_held_packets_with_xdp() {
    in_namespace(|| many_held_packets("xdp"));
}

/// A veth peer that stops accepting redirected frames gets them through generic XDP.
fn peer_stops() {
    let taking = |on| {
        for far in ["gnb", "upf3", "dn", "upf6"] {
            martlet_interface::set_feature(far, martlet_interface::Feature::GenericReceive, on)
                .expect("a feature of veth");
        }
    };
    for (far, near) in [("gnb", "access"), ("upf3", "native3"), ("dn", "core"), ("upf6", "native6")]
    {
        ip(&format!("link add {far} type veth peer name {near}"));
        ip(&format!("link set {far} up"));
        ip(&format!("link set {near} up"));
    }
    taking(true);
    let (gnb, upf) = (End::open("gnb"), End::open("upf3"));
    let _switch = start("xdp");
    (0..50).for_each(|n| gnb.send(&numbered(n)));
    assert_eq!(upf.wait(50), (0..50).collect::<Vec<_>>());
    taking(false);
    for n in 100..1100 {
        gnb.send(&numbered(n));
        std::thread::sleep(Duration::from_millis(1));
    }
    let received = until_number(&upf, 1099);
    let lost = (100..1100).take_while(|n| !received.contains(n)).count();
    println!("{lost} packets, sent one a millisecond, were lost until the switch used generic XDP");
    assert!(lost > 0, "the peer still accepted frames: nothing was tested");
    assert!((700..1100).all(|n| received.contains(&n)), "lost for too long: {lost}");
}

#[test]
fn a_peer_stops_accepting_redirected_frames() {
    in_namespace(peer_stops);
}

/// What a user of this machine receives of the P4Runtime server after the preface of HTTP/2.
fn answer_to(user: u32, address: SocketAddr) -> usize {
    use std::os::unix::process::CommandExt;
    let script = format!(
        "exec 3<>/dev/tcp/{}/{}; printf 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\
         \\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x00\\x00' >&3; timeout 5 head -c 9 <&3 | wc -c",
        address.ip(),
        address.port()
    );
    let mut command = std::process::Command::new("bash");
    let output = command.args(["-c", &script]).uid(user).gid(user).output().expect("bash runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0)
}

#[test]
fn attack_local_user_controls_the_switch() {
    in_namespace(|| {
        let (other, admitted) = (65_534, 12_345);
        let switch = Process::start(&["--engine", "xdp", "--allow-user", "12345"]);
        assert_eq!(answer_to(other, switch.address), 0, "another user is served");
        assert_eq!(answer_to(admitted, switch.address), 9, "an admitted user");
        assert_eq!(answer_to(0, switch.address), 9, "root");
    });
}

#[test]
fn attack_controller_without_the_token() {
    in_namespace(|| {
        let file = std::env::temp_dir().join(format!("martlet-token-{}", std::process::id()));
        std::fs::write(&file, "the secret of the switch\n").expect("a file");
        let path = file.display().to_string();
        let switch = Process::start(&["--engine", "xdp", "--token", &path]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            for token in [None, Some("another one"), Some("the secret of the switc")] {
                let client = Client::connect_with(switch.address, 1, token).await;
                let why = client.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(why.contains("token"), "{token:?}: {why}");
            }
            let token = Some("the secret of the switch");
            Client::connect_with(switch.address, 1, token).await.expect("a switch");
        });
        // Other machines could reach it.
        let program = env!("CARGO_BIN_EXE_martlet-switch");
        let output = std::process::Command::new(program)
            .args(["run", "--once", "--engine", "xdp", "--listen", "0.0.0.0:0"])
            .output()
            .expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains("--token"), "{message}");
        let _ = std::fs::remove_file(&file);
    });
}
