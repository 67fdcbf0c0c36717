//! A peer that follows no rule loses its channel, and touches nobody else.
mod support;

use martlet_sbi_fabric::messages::{self, FromMember, Service, ToMember, VERSION};
use martlet_sbi_fabric::*;
use nix::sys::socket::{
    self, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg,
};
use rand::{Rng, SeedableRng};
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::*;

/// What the child does: joins by the rules, asks for a channel to the victim, and then writes into
/// it what it likes.
#[test]
fn child() {
    let Ok(seed) = std::env::var("MARTLET_FABRIC_ROGUE") else { return child_main() };
    let place = std::env::var("MARTLET_FABRIC_SOCKET").unwrap();
    let mut random = rand::rngs::StdRng::seed_from_u64(seed.parse().unwrap());
    // A rogue that is never noticed ends by itself.
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        let (memory, bell, _life_line) = channel(Path::new(&place));
        for _ in 0..random.random_range(1..200) {
            // At the length of this file the memory is made of a few pages that matter and many
            // that do not.
            let length: usize = random.random_range(1..64);
            let at = match random.random_range(0..3) {
                0 => random.random_range(0..256),
                1 => random.random_range(4096..4096 + 2 * 24_000),
                _ => random.random_range(0..memory.len() - length),
            };
            for octet in &mut memory[at..at + length] {
                *octet = random.random_range(0..4) * random.random::<u8>() / 2;
            }
            if random.random_bool(0.3) {
                let _ = nix::unistd::write(&bell, &1u64.to_ne_bytes());
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A channel to `victim:1`: its memory, the victim's bell, and the life line.
fn channel(path: &Path) -> (&'static mut [u8], OwnedFd, OwnedFd) {
    let (family, flags) = (socket::AddressFamily::Unix, SockFlag::SOCK_CLOEXEC);
    let manager = socket::socket(family, SockType::SeqPacket, flags, None).unwrap();
    socket::connect(manager.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    let join = FromMember::Join { version: VERSION, name: "rogue".into(), model: 0 };
    let connect = FromMember::Connect { service: Service::Calls, authority: "victim:1".into() };
    for message in [join, connect] {
        nix::unistd::write(&manager, &messages::encode(&message)).unwrap();
    }
    loop {
        let mut buffer = vec![0; messages::LONGEST];
        let mut space = nix::cmsg_space!([RawFd; 8]);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let got =
            recvmsg::<()>(manager.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())
                .unwrap();
        let mut fds = Vec::new();
        for control in got.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: new descriptors that nobody else knows of.
                fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        let length = got.bytes;
        if let ToMember::Channel { .. } = messages::decode(&buffer[..length]).unwrap() {
            let [memory, _own_bell, bell, life_line] = fds.try_into().unwrap();
            let octets = nix::sys::stat::fstat(&memory).unwrap().st_size as usize;
            use nix::sys::mman::{MapFlags, ProtFlags, mmap};
            let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            // SAFETY: a new mapping that stays as long as the process, which is here to misuse it.
            let memory = unsafe {
                let start = mmap(
                    None,
                    octets.try_into().unwrap(),
                    access,
                    MapFlags::MAP_SHARED,
                    &memory,
                    0,
                )
                .unwrap();
                std::slice::from_raw_parts_mut(start.as_ptr().cast(), octets)
            };
            // The manager's connection ends here: as far as that goes the process is gone.
            return (memory, bell, life_line);
        }
    }
}

#[tokio::test]
async fn who_scribbles_into_shared_memory_loses_its_channel_and_nobody_else_does() {
    let place = Place::new("rogue");
    let _manager = place.manager();
    let (fabric, bindings) = join(place.config("victim"));
    let _victim = serve(&fabric, &bindings, "victim:1");
    let steady = ServerProcess::start(&place, "steady:1");
    let steady_client = client(&bindings, "steady:1");
    until("the steady one is up", async || steady_client.pid().await.is_ok()).await;
    let violations = || {
        let families = prometheus::default_registry().gather();
        let closed =
            families.iter().filter(|f| f.name() == "martlet_sbi_fabric_channels_closed_total");
        let wrong = closed.flat_map(|f| f.get_metric()).filter(|metric| {
            metric.get_label().iter().any(|label| {
                label.value().starts_with("wrong") || label.value() == "limit exceeded"
            })
        });
        wrong.map(|metric| metric.get_counter().get_value()).sum::<f64>()
    };
    let rogues: Vec<_> = (0..2)
        .map(|n: u32| {
            ServerProcess::start_with(
                &place,
                "rogue:1",
                &[("MARTLET_FABRIC_ROGUE", &n.to_string())],
            )
        })
        .collect();
    let started = Instant::now();
    let mut calls = 0;
    while violations() < 40.0 {
        let note = Note { text: "s".repeat(calls * 100 % 20_000) };
        let answer = tokio::time::timeout(
            Duration::from_secs(5),
            steady_client.echo("1", note.clone().into()),
        );
        assert_eq!(answer.await.expect("an answer in time").unwrap().body.json, note);
        calls += 1;
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{} violations were noticed",
            violations()
        );
    }
    drop(rogues);
    assert_eq!(steady_client.pid().await.unwrap().text, steady.0.id().to_string());
    until("the rogues' channels are gone", async || fabric.peers() == ["child"]).await;
}

/// `MARTLET_SCRIPTS=1000000` for more of them; a fuzzer is better at it (`fuzz/run.sh 600
/// fabric_channel`).
#[test]
fn no_script_of_a_rogue_is_a_panic() {
    let mut random = rand::rngs::StdRng::seed_from_u64(1);
    for _ in 0..std::env::var("MARTLET_SCRIPTS").map_or(2000, |scripts| scripts.parse().unwrap()) {
        let length = random.random_range(0..400);
        let script: Vec<u8> = (0..length).map(|_| random.random_range(0..=255)).collect();
        rogue::play(&script).unwrap();
    }
}

/// Processes of another user belong to another domain: they join there, and see nothing of this
/// one.
#[tokio::test]
async fn a_process_of_another_domain_reaches_nobody_here() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: only root can start processes of other users");
        return;
    }
    let place = Place::new("domains");
    let domain = |name: &str, uid| Domain { name: name.into(), uids: vec![uid], gids: vec![] };
    let domains = vec![domain("core", 0), domain("guests", 65534)];
    let _manager = tokio::spawn(
        Manager::bind(ManagerConfig { domains, ..place.manager_config() }).unwrap().run(),
    );
    let (fabric, bindings) = join(place.config("test"));
    assert_eq!(fabric.joined().await, Standing::Joined("core".into()));
    let _ours = serve(&fabric, &bindings, "ours:1");
    // The test program itself may lie where others cannot read.
    let program = std::env::temp_dir().join(format!("martlet-guest-{}", std::process::id()));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(&program);
    command
        .args(["--exact", "child", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .uid(65534)
        .gid(65534);
    command.env("MARTLET_FABRIC_SOCKET", place.socket()).env("MARTLET_FABRIC_AUTHORITY", "guest:1");
    let guest = ServerProcess(command.env("MARTLET_FABRIC_HAMMER", "ours:1").spawn().unwrap());
    let members = || {
        let families = prometheus::default_registry().gather();
        let members = families.iter().filter(|f| f.name() == "martlet_sbi_fabric_members");
        members
            .flat_map(|f| f.get_metric())
            .map(|metric| metric.get_gauge().get_value())
            .sum::<f64>()
    };
    until("the guest has joined its own domain", async || members() >= 2.0).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(fabric.peers().is_empty());
    let theirs = client(&bindings, "guest:1").read("1").await.unwrap_err();
    assert_eq!(theirs.transport, Some(martlet_sbi::TransportFailure::NotSent));
    drop(guest);
    std::fs::remove_file(program).unwrap();
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicU32);
impl std::task::Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A connection that the rogue asked for, with as much credit as there is.
fn connected_to_a_rogue(
    link: &std::sync::Arc<link::Link>,
    victim: &rogue::Victim,
    peer: &mut rogue::Rogue,
) -> std::sync::Arc<sockets::Connection> {
    let head = channel::Head { kind: channel::Kind::Connect, own: true, stream: 1 };
    let connect =
        [&u32::MAX.to_le_bytes()[..], format!("{} 1.2.3.4:5", rogue::ADDRESS).as_bytes()].concat();
    assert!(peer.frame(head, &connect, 0));
    link.progress(&mut Vec::new()).unwrap();
    victim.accept().unwrap()
}

#[test]
fn a_writer_that_waits_for_room_hears_of_the_end_of_its_connection() {
    for by_the_peer in [false, true] {
        let (channel, mut peer) = rogue::Rogue::pair().unwrap();
        let (victim, link) = rogue::Victim::link(channel);
        let connection = connected_to_a_rogue(&link, &victim, &mut peer);
        let woken = std::sync::Arc::new(Woken::default());
        let waker = std::task::Waker::from(woken.clone());
        let mut context = std::task::Context::from_waker(&waker);
        // The peer reads nothing: the channel is full soon, and stays so.
        while connection.poll_write(&mut context, &[7; 100]).is_ready() {}
        // Something of others waits as well, so that there is no talk of room.
        drop(link.call(&[1; 100]));
        let before = woken.0.load(std::sync::atomic::Ordering::Relaxed);
        if by_the_peer {
            let head = channel::Head { kind: channel::Kind::Reset, own: true, stream: 1 };
            assert!(peer.frame(head, &[3], 0));
            link.progress(&mut Vec::new()).unwrap();
        } else {
            connection.close();
        }
        assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed) > before);
        assert!(matches!(
            connection.poll_write(&mut context, b"x"),
            std::task::Poll::Ready(Err(_))
        ));
    }
}

#[test]
fn a_peer_that_asks_and_never_listens_loses_its_channel_before_much_waits_for_it() {
    let (channel, mut peer) = rogue::Rogue::pair().unwrap();
    let (_victim, link) = rogue::Victim::link(channel);
    let mut frames = Vec::new();
    let (mut rounds, mut most) = (0, 0);
    let closed = loop {
        let head = channel::Head { kind: channel::Kind::Request, own: true, stream: rounds };
        assert!(peer.frame(head, b"?", 0) && rounds < 1_000_000);
        match link.progress(&mut frames) {
            Ok(_) => most = most.max(link.channel().backlog()),
            Err(closed) => break closed,
        }
        rounds += 1;
    };
    assert_eq!(closed, channel::Closed::Violation(channel::Violation::Limit));
    assert!(most < 1 << 20, "{most} octets waited");
    // Nor does this side begin anything new with one that takes nothing.
    let (channel, _peer) = rogue::Rogue::pair().unwrap();
    let (_victim, link) = rogue::Victim::link(channel);
    let mut kept = Vec::new();
    let refused = (0..100_000).find_map(|port| {
        let connection = link.connect(std::net::SocketAddr::from(([127, 0, 0, 1], port as u16)));
        if connection.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::QuotaExceeded)
        {
            kept.drain(..)
                .for_each(|connection: std::sync::Arc<sockets::Connection>| connection.close());
            return None;
        }
        connection.map(|connection| kept.push(connection)).err()
    });
    assert_eq!(refused.unwrap().kind(), std::io::ErrorKind::ResourceBusy);
}
