//! Large bursts leave a veth through a program if its peer accepts redirected frames, else through
//! the socket. In both cases all frames arrive once and in order.
mod common;
mod process;
mod wires;

use common::*;
use martlet_upf_xdp::Traffic;
use process::Process;
use std::time::{Duration, Instant};
use wires::{End, in_namespace, ip};

/// EtherType of the probe frame.
const ASKING: u16 = 0x88b5;

/// Frames queue up while the switch is stopped for a moment, and leave in one burst. Returns the
/// number of probe frames.
fn send_bursts(peer_accepts_redirected_frames: bool) -> usize {
    const ROUNDS: u32 = 5;
    const FRAMES: u32 = 300;
    for (far, near) in [("gnb", "access"), ("upf3", "native3"), ("dn", "core"), ("upf6", "native6")]
    {
        ip(&format!("link add {far} type veth peer name {near}"));
        for interface in [far, near] {
            let _ =
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1");
            ip(&format!("link set {interface} up"));
        }
    }
    let traffic = Traffic::load().expect("programs");
    let upf3 = nix::net::if_::if_nametoindex("upf3").expect("the interface");
    let program = peer_accepts_redirected_frames.then(|| traffic.pass(upf3).expect("attached"));
    let (gnb, upf, asked) = (End::open("gnb"), End::open("upf3"), End::open_for("upf3", ASKING));
    let ports = [
        ["--access", "access"],
        ["--native-n3", "native3"],
        ["--core", "core"],
        ["--native-n6", "native6"],
    ]
    .concat();
    let switch = Process::start(&[&ports[..], &["--memory", "360"]].concat());
    let signal = |signal| {
        // SAFETY: a signal to our child process.
        unsafe { libc::kill(switch.id() as i32, signal) };
    };
    let frame = |n: u32| {
        let payload = [&b"nr"[..], &n.to_be_bytes()].concat();
        uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &payload)))
    };
    let (mut sent, mut rounds) = (0, 0);
    let give_up = Instant::now() + Duration::from_secs(60);
    while rounds < ROUNDS && Instant::now() < give_up {
        signal(libc::SIGSTOP);
        let stopped = Instant::now();
        (sent..sent + FRAMES).for_each(|n| gnb.send(&frame(n)));
        let late = stopped.elapsed() > Duration::from_millis(30);
        signal(libc::SIGCONT);
        let received = upf.wait(FRAMES as usize);
        // The kernel forwards frames of a switch that is stopped for longer, and those may be
        // reordered.
        if !late {
            assert_eq!(received, (sent..sent + FRAMES).collect::<Vec<_>>());
            rounds += 1;
        }
        sent += FRAMES;
    }
    assert_eq!(rounds, ROUNDS, "the machine is too busy: 300 frames take longer than 30 ms");
    drop(program);
    asked.frames().len()
}

#[test]
fn bursts_leave_through_a_program_if_the_peer_accepts_them() {
    in_namespace(|| assert_eq!(send_bursts(true), 1, "one probe suffices"));
}

#[test]
fn bursts_leave_through_the_socket_otherwise() {
    in_namespace(|| assert_eq!(send_bursts(false), 0));
}
