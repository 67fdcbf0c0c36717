//! The kernel's verifier accepts every program.
use martlet_upf_xdp::{Losses, NatTimes, Programs, Sizes, nat_settings, types};
use std::time::{Duration, Instant};

fn sizes() -> Sizes {
    Sizes {
        sessions: 16,
        rules: 64,
        filters: 64,
        ring: 1 << 16,
        nat_flows: 64,
        bench: 1,
        sample: 128,
    }
}

/// The verifier skips disabled code.
fn settings() -> types::settings {
    let minute = Duration::from_secs(60);
    let times = NatTimes {
        tcp: minute,
        tcp_transitory: minute,
        udp: minute,
        udp_unanswered: minute,
        icmp: minute,
        other: minute,
    };
    let addresses = [[203, 0, 113, 1].into(), [203, 0, 113, 2].into()];
    let nat = nat_settings(&addresses, (1024, 65_535), times, 7);
    types::settings {
        nat: types::nat_settings { flows_per_ue: 16, full_cone: 1, ..nat },
        n3_ip4: u32::from_ne_bytes([192, 168, 70, 1]),
        has_n6: 1,
        direct: 1,
        outer_ifindex: 2,
        inner_ifindex: 3,
        local_switching: 1,
        n6_mtu: 1400,
        bounce: 1,
        ..Default::default()
    }
}

#[test]
fn the_kernel_takes_every_program() {
    let start = Instant::now();
    let programs = Programs::load(settings(), &sizes()).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("loaded in {:?}", start.elapsed());
    let start = Instant::now();
    let losses = Losses::count([1]).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("tracepoints attached in {:?}", start.elapsed());
    assert_eq!(losses.read(), []);
    drop(losses);
    let start = Instant::now();
    programs.grace_period().expect("a fence");
    eprintln!("a fence in {:?}", start.elapsed());
    let start = Instant::now();
    drop(programs);
    eprintln!("unloaded in {:?}", start.elapsed());
}

/// Programs for several CPUs replace the one for the receiving CPU.
#[test]
fn the_kernel_takes_the_programs_of_several_cpus() {
    let mut settings = types::settings { uplink_cpus: 2, has_ip6: 1, transmit: 1, ..settings() };
    settings.uplink_cpu[1] = 1;
    let start = Instant::now();
    let programs = Programs::load(settings, &sizes()).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("loaded in {:?}", start.elapsed());
    // The queue of the first CPU, which every machine has.
    programs.spread_uplink(&[0]).unwrap_or_else(|error| panic!("{error}"));
    assert!(programs.uplink_packets().expect("the counters").iter().all(|packets| *packets == 0));
}
