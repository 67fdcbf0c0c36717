//! Many frames at once: they leave a veth by a program where its other end takes such frames, else
//! by the socket, and either way all of them come, once each and in order.
mod common;
mod process;
mod wires;

use common::*;
use martlet_upf_xdp::Traffic;
use process::Process;
use std::time::{Duration, Instant};
use wires::{End, in_namespace, ip};

/// Of the frame by which a switch asks whether frames of programs are taken.
const ASKING: u16 = 0x88b5;

/// Frames wait for a switch that stands still for a moment, and leave together. Gives how often it
/// asked the other end.
fn all_come(other_end_takes_frames_of_programs: bool) -> usize {
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
    let program = other_end_takes_frames_of_programs.then(|| traffic.pass(upf3).expect("attached"));
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
        // SAFETY: a signal to our child.
        unsafe { libc::kill(switch.id() as i32, signal) };
    };
    let frame = |n: u32| {
        let payload = [&b"nr"[..], &n.to_be_bytes()].concat();
        uplink(&ipv4(17, 64, UE, REMOTE, &udp(1000, 53, &payload)))
    };
    let (mut sent, mut rounds) = (0, 0);
    let give_up = Instant::now() + Duration::from_secs(20);
    while rounds < ROUNDS && Instant::now() < give_up {
        signal(libc::SIGSTOP);
        let stopped = Instant::now();
        (sent..sent + FRAMES).for_each(|n| gnb.send(&frame(n)));
        let late = stopped.elapsed() > Duration::from_millis(30);
        signal(libc::SIGCONT);
        let came = upf.wait(FRAMES as usize);
        // The kernel takes frames from a switch that stands still for longer, and those may
        // overtake.
        if !late {
            assert_eq!(came, (sent..sent + FRAMES).collect::<Vec<_>>());
            rounds += 1;
        }
        sent += FRAMES;
    }
    assert_eq!(rounds, ROUNDS, "a machine so busy that 300 frames take longer than 30 ms");
    drop(program);
    asked.frames().len()
}

#[test]
fn they_leave_by_a_program_where_the_other_end_takes_them() {
    in_namespace(|| assert_eq!(all_come(true), 1, "once asked, it goes on"));
}

#[test]
fn they_leave_by_the_socket_where_it_does_not() {
    in_namespace(|| assert_eq!(all_come(false), 0));
}
