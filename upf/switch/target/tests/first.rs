//! One packet out of its tunnel, and one into it.
use martlet_switch_target::{Change, Engine, Entry, Ports, Switch, UPF, dpdk};
use std::sync::Arc;

fn ipv4(protocol: u8, source: [u8; 4], destination: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0x45, 0];
    p.extend(((20 + payload.len()) as u16).to_be_bytes());
    p.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    p.extend(source);
    p.extend(destination);
    let sum: u32 = p.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    p[10..12].copy_from_slice(&sum.to_be_bytes());
    p.extend(payload);
    p
}

fn udp(s: u16, d: u16, payload: &[u8]) -> Vec<u8> {
    let mut p = Vec::new();
    p.extend(s.to_be_bytes());
    p.extend(d.to_be_bytes());
    p.extend(((8 + payload.len()) as u16).to_be_bytes());
    p.extend([0, 0]);
    p.extend(payload);
    p
}

#[test]
fn a_packet_each_way() {
    dpdk::start(512).unwrap();
    let program = Arc::new(martlet_p4c_swx::compile(UPF).unwrap());
    for engine in [Engine::Interpreter, Engine::best()] {
        println!("{engine:?}");
        let switch = Switch::new(program.clone(), Ports::Rings, engine).unwrap();
        let e = |values: &[u64], action: &str, arguments: &[u64]| {
            Some(Entry {
                values: values.to_vec(),
                masks: None,
                priority: 0,
                action: switch.action(action).unwrap(),
                arguments: arguments.to_vec(),
            })
        };
        let c = |table: &str, after| Change { table: switch.table(table).unwrap(), before: None, after };
        let ue = 0x0a3c0001;
        switch
            .commit(
                &[
                    c("interfaces", e(&[0], "access", &[])),
                    c("interfaces", e(&[1], "core", &[])),
                    c("gtp_default_forward", e(&[0], "to_native", &[2])),
                    c("ip_default_forward", e(&[1], "to_native", &[3])),
                    c("gtp_decap", e(&[0x1000], "decap", &[ue, 5, 0, 1])),
                    c("gtp_encap", e(&[ue], "encap", &[0x2000, 0xc0a84601, 0xc0a84602, 9, 0, 6, 0, 2])),
                    c("l2_forward", e(&[1], "l2", &[0x020000000001, 0x020000000002, 1])),
                    c("l2_forward", e(&[2], "l2", &[0x020000000003, 0x020000000004, 0])),
                ],
                &[],
            )
            .unwrap();
        let inner = ipv4(17, [10, 60, 0, 1], [8, 8, 8, 8], &udp(1000, 53, b"hello"));
        let mut gtp = vec![0x34, 255];
        gtp.extend(((inner.len() + 8) as u16).to_be_bytes());
        gtp.extend(0x1000u32.to_be_bytes());
        gtp.extend([0, 0, 0, 0x85, 1, 0x10, 9, 0]);
        gtp.extend(&inner);
        let outer = ipv4(17, [192, 168, 70, 2], [192, 168, 70, 1], &udp(2152, 2152, &gtp));
        let frame = [&[2u8; 12][..], &[8, 0], &outer].concat();
        switch.inject(0, &frame).unwrap();
        switch.settle();
        for port in 0..8 {
            while let Some(f) = switch.collect(port) {
                println!("{port}: {f:02x?}");
            }
        }
        assert_eq!(switch.register("rules_octets", 5).unwrap(), inner.len() as u64);
        let down = ipv4(17, [8, 8, 8, 8], [10, 60, 0, 1], &udp(53, 1000, b"world"));
        let frame = [&[2u8; 12][..], &[8, 0], &down].concat();
        switch.inject(1, &frame).unwrap();
        switch.settle();
        for port in 0..8 {
            while let Some(f) = switch.collect(port) {
                println!("{port}: {f:02x?}");
            }
        }
        assert_eq!(switch.register("rules_octets", 6).unwrap(), down.len() as u64);
    }
}
