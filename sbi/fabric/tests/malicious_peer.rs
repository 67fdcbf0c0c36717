//! A process that violates the protocol loses its channel and affects no other process.
mod support;

use martlet_fabric::messages::{self, FromManager, Service, ToManager, VERSION};
use martlet_fabric::*;
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

/// The child process: joins, opens a channel to the victim, and writes random bytes into its
/// memory.
#[test]
fn child() {
    let Ok(seed) = std::env::var("MARTLET_FABRIC_MALICIOUS") else { return child_main() };
    let dir = std::env::var("MARTLET_FABRIC_SOCKET").unwrap();
    let mut random = rand::rngs::StdRng::seed_from_u64(seed.parse().unwrap());
    // Ends by itself if it is never detected.
    let end = Instant::now() + Duration::from_secs(90);
    while Instant::now() < end {
        let (memory, doorbell, _life_line) = channel(Path::new(&dir));
        for _ in 0..random.random_range(1..200) {
            // Few pages of the memory hold flags, indices and descriptors: prefer those.
            let length: usize = random.random_range(1..64);
            let at = match random.random_range(0..3) {
                0 => random.random_range(0..256),
                1 => random.random_range(4096..4096 + 2 * 24_000),
                _ => random.random_range(0..memory.len() - length),
            };
            for byte in &mut memory[at..at + length] {
                *byte = random.random_range(0..4u8).wrapping_mul(random.random()) / 2;
            }
            if random.random_bool(0.3) {
                let _ = nix::unistd::write(&doorbell, &1u64.to_ne_bytes());
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A channel to `victim:1`: its memory, the victim's doorbell, and the liveness socket.
fn channel(path: &Path) -> (&'static mut [u8], OwnedFd, OwnedFd) {
    let (family, flags) = (socket::AddressFamily::Unix, SockFlag::SOCK_CLOEXEC);
    let manager = socket::socket(family, SockType::SeqPacket, flags, None).unwrap();
    socket::connect(manager.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    let join = ToManager::Join { version: VERSION, name: "malicious".into(), schema: 0 };
    let connect = ToManager::Connect { service: Service::Calls, authority: "victim:1".into() };
    for message in [join, connect] {
        nix::unistd::write(&manager, &messages::encode(&message)).unwrap();
    }
    loop {
        let mut buffer = vec![0; messages::MAX_MESSAGE_BYTES];
        let mut space = nix::cmsg_space!([RawFd; 8]);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let got =
            recvmsg::<()>(manager.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())
                .unwrap();
        let mut fds = Vec::new();
        for control in got.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: new descriptors that nothing else owns.
                fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        let length = got.bytes;
        if let FromManager::Channel { .. } = messages::decode(&buffer[..length]).unwrap() {
            let [memory, _own_doorbell, doorbell, liveness] = fds.try_into().unwrap();
            let bytes = nix::sys::stat::fstat(&memory).unwrap().st_size as usize;
            use nix::sys::mman::{MapFlags, ProtFlags, mmap};
            let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            // SAFETY: a new mapping that lives as long as the process.
            let memory = unsafe {
                let start =
                    mmap(None, bytes.try_into().unwrap(), access, MapFlags::MAP_SHARED, &memory, 0)
                        .unwrap();
                std::slice::from_raw_parts_mut(start.as_ptr().cast(), bytes)
            };
            // The connection to the manager closes here; the channel stays.
            return (memory, doorbell, liveness);
        }
    }
}

#[tokio::test]
async fn a_process_that_corrupts_shared_memory_loses_only_its_own_channel() {
    let dir = TestDir::new("malicious");
    let _manager = dir.manager();
    let (binding, bindings) = join(dir.config("victim"));
    let _victim = serve(&binding, &bindings, "victim:1");
    let steady = ServerProcess::start(&dir, "steady:1");
    let steady_client = client(&bindings, "steady:1");
    until("the steady server is up", async || steady_client.pid().await.is_ok()).await;
    let violations = || {
        let families = prometheus::default_registry().gather();
        let closed = families.iter().filter(|f| f.name() == "martlet_fabric_channels_closed_total");
        let wrong = closed.flat_map(|f| f.get_metric()).filter(|metric| {
            metric.get_label().iter().any(|label| {
                label.value().starts_with("wrong") || label.value() == "limit exceeded"
            })
        });
        wrong.map(|metric| metric.get_counter().get_value()).sum::<f64>()
    };
    let attackers: Vec<_> = (0..2)
        .map(|n: u32| {
            ServerProcess::start_with(
                &dir,
                "malicious:1",
                &[("MARTLET_FABRIC_MALICIOUS", &n.to_string())],
            )
        })
        .collect();
    let started = Instant::now();
    let mut calls = 0;
    while violations() < 40.0 {
        let note = Note { text: "s".repeat(calls * 100 % 20_000) };
        let answer = tokio::time::timeout(
            Duration::from_secs(30),
            steady_client.echo("1", note.clone().into()),
        );
        assert_eq!(answer.await.expect("an answer in time").unwrap().body.json, note);
        calls += 1;
        assert!(
            started.elapsed() < Duration::from_secs(90),
            "{} violations were detected",
            violations()
        );
    }
    drop(attackers);
    assert_eq!(steady_client.pid().await.unwrap().text, steady.0.id().to_string());
    until("the attackers' channels are gone", async || binding.fabric().peers() == ["child"]).await;
}

/// Processes of another user belong to another domain and reach no process of this one.
#[tokio::test]
async fn a_process_of_another_domain_is_isolated() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: only root can start processes of other users");
        return;
    }
    let dir = TestDir::new("domains");
    let domain = |name: &str, uid| Domain { name: name.into(), uids: vec![uid], gids: vec![] };
    let domains = vec![domain("core", 0), domain("guests", 65534)];
    let _manager = tokio::spawn(
        Manager::bind(ManagerConfig { domains, ..dir.manager_config() }).unwrap().run(),
    );
    let (binding, bindings) = join(dir.config("test"));
    assert_eq!(binding.fabric().joined().await, MembershipState::Joined("core".into()));
    let _ours = serve(&binding, &bindings, "ours:1");
    // Other users may not be able to read the test program's folder.
    let program = std::env::temp_dir().join(format!("martlet-guest-{}", std::process::id()));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(&program);
    command
        .args(["--exact", "child", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .uid(65534)
        .gid(65534);
    command.env("MARTLET_FABRIC_SOCKET", dir.socket()).env("MARTLET_FABRIC_AUTHORITY", "guest:1");
    let guest = ServerProcess(command.env("MARTLET_FABRIC_HAMMER", "ours:1").spawn().unwrap());
    let members = || {
        let families = prometheus::default_registry().gather();
        let members = families.iter().filter(|f| f.name() == "martlet_fabric_members");
        members
            .flat_map(|f| f.get_metric())
            .map(|metric| metric.get_gauge().get_value())
            .sum::<f64>()
    };
    until("the guest has joined its own domain", async || members() >= 2.0).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(binding.fabric().peers().is_empty());
    let theirs = client(&bindings, "guest:1").read("1").await.unwrap_err();
    assert_eq!(theirs.transport, Some(martlet_sbi::TransportFailure::NotSent));
    drop(guest);
    std::fs::remove_file(program).unwrap();
}
