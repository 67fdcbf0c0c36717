//! Programs are replaced, pinned and taken over while packets are forwarded.
mod common;

use common::{open_datapath, peers_rig};
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{DatapathChoice, XdpMode};
use martlet_upf_datapath::conformance::{Rig, g_pdu, session, udp_packet};
use martlet_upf_datapath::{Change, Datapath};
use martlet_upf_rules::Session;
use martlet_upf_testing::peers::{GNB, HOST, N3, PeersRig, UE};
use martlet_upf_testing::rig::{config, from_any};
use martlet_upf_testing::{in_namespace, run};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PORT: u16 = 7005;
/// Marks the child process and has its BPF folder; see `child_process`.
const CHILD: &str = "MARTLET_TEST_PIN";
/// Its packets to the data network go through the kernel.
const BY_KERNEL: &str = "MARTLET_TEST_BY_KERNEL";

fn between_peers() -> UpfConfig {
    let mut config = config();
    config.datapath = DatapathChoice::Xdp;
    config.n3.address = (N3, 2152).into();
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    config.xdp.mode = XdpMode::Native;
    config.n3.restoration_s = 20;
    config
}

/// Packets from a UE to a host at a constant rate, counted at both ends.
struct Stream {
    stop: Arc<AtomicBool>,
    sent: JoinHandle<u64>,
    received: Arc<AtomicU64>,
    receiver: JoinHandle<()>,
}

impl Stream {
    fn start(rig: &PeersRig) -> Stream {
        let host = rig.network.within(|| UdpSocket::bind((HOST, PORT)).expect("a port"));
        host.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
        // On a machine that loads programs slowly, the receiver may be idle for a while.
        martlet_upf_testing::peers::set_receive_buffer(&host, 16 << 20);
        let gnb = rig.access.within(|| UdpSocket::bind((GNB, 0)).expect("a port"));
        let (stop, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ended, counted) = (stop.clone(), received.clone());
        let receiver = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            loop {
                match host.recv(&mut buffer) {
                    Ok(_) => drop(counted.fetch_add(1, Ordering::Relaxed)),
                    Err(_) if ended.load(Ordering::Relaxed) => break,
                    Err(_) => {}
                }
            }
        });
        let ended = stop.clone();
        let sent = std::thread::spawn(move || {
            let packet = g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, PORT), &[7; 100]));
            let mut sent = 0;
            while !ended.load(Ordering::Relaxed) {
                for _ in 0..4 {
                    gnb.send_to(&packet, (N3, 2152)).expect("sent");
                    sent += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        // The first packets resolve the neighbours.
        let start = Instant::now();
        while received.load(Ordering::Relaxed) < 20 {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing comes");
            std::thread::sleep(Duration::from_millis(5));
        }
        Stream { stop, sent, received, receiver }
    }

    /// The numbers of sent and received packets.
    fn end(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sent.join().expect("the sender");
        std::thread::sleep(Duration::from_millis(300));
        self.receiver.join().expect("the receiver");
        (sent, self.received.load(Ordering::Relaxed))
    }
}

/// Packets sent before the neighbours are resolved may overflow the kernel's short queue; later
/// ones must not be lost.
fn check_no_loss((sent, received): (u64, u64)) {
    assert!(sent > 200, "{sent}");
    assert_eq!(sent, received, "packets sent and received");
}

/// Resolves the neighbours.
fn warm(rig: &mut PeersRig) {
    rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7000), b"first")));
    assert!(rig.receive_n6().is_some(), "the first packet");
}

#[test]
fn programs_are_replaced_without_losing_a_packet() {
    in_namespace(|| {
        let mut rig = peers_rig(between_peers());
        let session = session(&*rig, 1, 7, UE);
        rig.datapath().apply(&Change::to(&session)).expect("the session");
        warm(&mut rig);
        let stream = Stream::start(&rig);
        for round in 0..10u32 {
            rig.datapath().renew(Some(1 << (round % 4))).expect("new programs");
            std::thread::sleep(Duration::from_millis(30));
        }
        let ends = stream.end();
        check_no_loss(ends);
        // The tables are the same: counters continue.
        let counters = rig.datapath().counters();
        assert_eq!(counters.uplink_packets.get(), ends.0 + 1);
        let taken: u64 =
            counters.latency.classes.iter().map(martlet_upf_datapath::counters::Count::get).sum();
        assert!(taken > ends.0 / 20, "{taken}: more than one in 128 is sampled");
        // Rule changes reach the new programs.
        rig.datapath().remove(1);
        rig.send_n3(&g_pdu(7, Some(9), &udp_packet((UE, 9000), (HOST, 7000), b"gone")));
        assert_eq!(from_any(&rig.hosts, Duration::from_millis(500)), None);
    });
}

/// A BPF file system, unmounted on drop.
struct BpfFs(PathBuf);

impl BpfFs {
    fn mount(name: &str) -> BpfFs {
        let path = format!("martlet-bpf-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(path);
        std::fs::create_dir_all(&path).expect("a folder");
        martlet_upf_testing::run("mount", &format!("-t bpf bpf {}", path.display()));
        BpfFs(path)
    }
}

impl Drop for BpfFs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn of_the_ue() -> Session {
    struct Addresses;
    impl Rig for Addresses {
        fn datapath(&mut self) -> &mut dyn Datapath {
            unreachable!("only addresses are used")
        }
        fn n3(&self) -> std::net::IpAddr {
            N3.into()
        }
        fn gnb(&self) -> std::net::IpAddr {
            GNB.into()
        }
        fn ue(&self) -> std::net::Ipv4Addr {
            UE
        }
        fn remote(&self) -> std::net::Ipv4Addr {
            HOST
        }
        fn send_n3(&mut self, _: &[u8]) {}
        fn receive_n3(&mut self) -> Option<Vec<u8>> {
            None
        }
        fn send_n6(&mut self, _: u16, _: &[u8]) {}
        fn receive_n6(&mut self) -> Option<Vec<u8>> {
            None
        }
        fn event(&mut self) -> Option<martlet_upf_datapath::Event> {
            None
        }
    }
    session(&Addresses, 1, 7, UE)
}

#[test]
#[ignore = "started by another test, which kills it"]
fn child_process() {
    let Some(pin) = std::env::var_os(CHILD) else { return };
    let mut config = between_peers();
    config.xdp.pin = Some(pin.into());
    config.xdp.direct = std::env::var_os(BY_KERNEL).is_none();
    let (mut datapath, _signals) = open_datapath(&config).expect("the datapath");
    datapath.apply(&Change::to(&of_the_ue())).expect("the session");
    println!("READY");
    std::thread::sleep(Duration::from_secs(300));
}

/// Starts another process with the datapath, and waits until it has the session.
fn start_process(pin: &Path, by_kernel: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["child_process", "--exact", "--ignored", "--nocapture"]).env(CHILD, pin);
    if by_kernel {
        command.env(BY_KERNEL, "1");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("another process");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let ready = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("READY")));
    assert!(ready.is_some(), "the child process is not ready");
    child
}

/// The gNB and the host, with a datapath that uses none of the interfaces.
fn rig_elsewhere() -> PeersRig {
    let mut elsewhere = between_peers();
    elsewhere.datapath = DatapathChoice::Kernel;
    elsewhere.n3.address = "127.0.0.8:2152".parse().expect("an address");
    elsewhere.n6.interface = "elsewhere".into();
    elsewhere.n6.mode = martlet_upf_config::N6Mode::None;
    peers_rig(elsewhere)
}

fn has_program(interface: &str) -> bool {
    let shown = Command::new("ip").args(["link", "show", interface]).output().expect("ip runs");
    String::from_utf8_lossy(&shown.stdout).contains("xdp")
}

/// Whether `ip` shows a text for the link with the kernel.
fn shows(object: &str, text: &str) -> bool {
    let shown =
        Command::new("ip").args([object, "show", "dev", "martlet-n6"]).output().expect("ip runs");
    String::from_utf8_lossy(&shown.stdout).contains(text)
}

fn has_route(network: &str) -> bool {
    shows("route", network)
}

#[test]
fn programs_of_a_killed_process_are_taken_over() {
    in_namespace(|| {
        let bpf = BpfFs::mount("killed");
        let pin = bpf.0.join("upf");
        let mut rig = rig_elsewhere();
        assert!(!has_program("n3a"));
        let mut child = start_process(&pin, false);
        warm(&mut rig);
        let stream = Stream::start(&rig);
        std::thread::sleep(Duration::from_millis(200));
        child.kill().expect("killed");
        child.wait().expect("gone");
        assert!(has_program("n3a") && has_program("n6a"), "they stay");
        std::thread::sleep(Duration::from_millis(300));
        // It had another pool, with another session that had a framed route.
        let device = "dev martlet-n6";
        run("ip", &format!("addr add 10.77.0.1/16 {device} noprefixroute"));
        run("ip", &format!("route add 10.77.0.0/16 {device} proto static src 10.77.0.1"));
        run("ip", &format!("route add 10.99.0.0/24 {device} proto static metric 1000000"));
        let mut config = between_peers();
        config.xdp.pin = Some(pin.clone());
        let (mut datapath, _signals) = open_datapath(&config).expect("the next process takes over");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(
            datapath.counters().uplink_packets.get(),
            0,
            "the previous programs forward packets"
        );
        let former = ["10.77.0.0/16", "10.99.0.0/24"];
        assert!(former.into_iter().all(has_route), "their routes stay");
        // The SMF restores its session.
        datapath.apply(&Change::to(&of_the_ue())).expect("the session");
        let start = Instant::now();
        while datapath.counters().uplink_packets.get() == 0 {
            // The kernel replaces programs under a lock that the creation and removal of namespaces
            // also take.
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the new programs forward no packets"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        check_no_loss(stream.end());
        let removed = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !former.into_iter().any(has_route) && !shows("addr", "inet 10.77.0.1/16")
        });
        assert!(removed, "the former routes and addresses are not removed");
        assert!(has_route("10.45.0.0/16") && shows("addr", "inet 10.45.0.1/16"));
        drop(datapath);
        assert!(!has_program("n3a") && !has_program("n6a"), "a graceful end removes the programs");
        assert_eq!(std::fs::read_dir(&pin).expect("the folder").count(), 0);
    });
}

#[test]
fn programs_of_a_killed_process_keep_their_way_through_the_kernel() {
    in_namespace(|| {
        let bpf = BpfFs::mount("kernel");
        let pin = bpf.0.join("upf");
        let mut rig = rig_elsewhere();
        let mut child = start_process(&pin, true);
        warm(&mut rig);
        let stream = Stream::start(&rig);
        child.kill().expect("killed");
        child.wait().expect("gone");
        let mut config = between_peers();
        (config.xdp.pin, config.xdp.direct) = (Some(pin), false);
        let (datapath, _signals) = open_datapath(&config).expect("the next process takes over");
        let received = || stream.received.load(Ordering::Relaxed);
        let (before, start) = (received(), Instant::now());
        while received() < before + 200 {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the previous programs forward no packets"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(datapath.counters().uplink_packets.get(), 0, "they are not replaced yet");
        stream.end();
        drop(datapath);
        assert_eq!(std::fs::read_dir(bpf.0.join("upf")).expect("the folder").count(), 0);
    });
}

#[test]
fn a_folder_outside_a_bpf_file_system_is_an_error() {
    in_namespace(|| {
        martlet_upf_testing::run("ip", "link add n3a type veth peer name n3b");
        martlet_upf_testing::run("ip", "link add n6a type veth peer name n6b");
        martlet_upf_testing::run("ip", &format!("addr add {N3}/24 dev n3a"));
        let mut config = between_peers();
        config.xdp.pin = Some(std::env::temp_dir().join("martlet-no-bpf"));
        let error = open_datapath(&config).err().expect("refused");
        assert!(
            error.to_string().contains("mount -t bpf") && error.to_string().contains("upf.xdp.pin"),
            "{error}"
        );
    });
}
