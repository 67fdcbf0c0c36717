//! Benchmark of the pipeline in memory, from an endless source to a sink.
use crate::as_target::SwitchTarget;
use crate::assemble::{Engine, Ports};
use crate::error::ProcessError;
use crate::pcap::Writer;
use crate::serve::base;
use crate::switch::Switch;
use crate::{UPF, dpdk};
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::tables::Tables;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

/// Direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunnelOperation {
    /// Uplink: decapsulation.
    Decapsulation,
    /// Downlink: encapsulation.
    Encapsulation,
}

/// Parameters of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Bench {
    /// Direction.
    pub operation: TunnelOperation,
    /// Number of rules, with one UE each.
    pub rules: u32,
    /// Received frame length in bytes, with the checksum of 4 bytes that interfaces remove.
    pub frame: usize,
    /// Number of samples, of 200 ms CPU time each.
    pub samples: u32,
    /// Rules have meters whose rate is never reached.
    pub metered: bool,
    /// The engine of the pipeline.
    pub engine: Engine,
}

/// Results of a benchmark.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Packets per second of CPU time, by sample.
    pub packets_per_second: Vec<f64>,
    /// Length of transmitted frames in bytes.
    pub bytes_out: f64,
    /// Duration of writing the rules in batches of 1,000, in seconds.
    pub writing: f64,
}

fn checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
}

fn ipv4(source: u32, destination: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet[2..4].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    packet.extend(source.to_be_bytes());
    packet.extend(destination.to_be_bytes());
    checksum(&mut packet);
    packet.extend(payload);
    packet
}

fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(8 + payload.len());
    for word in [source, destination, (8 + payload.len()) as u16, 0] {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

pub(crate) const FIRST_UE: u32 = 0x0a3c_0001;
pub(crate) const FIRST_TEID: u32 = 0x1000;
const REMOTE: u32 = 0x0808_0808;

/// The frame of one UE. The smallest tunnelled packet exceeds the smallest Ethernet frame, so small
/// lengths are raised to it.
pub(crate) fn frame(operation: TunnelOperation, ue: u32, bytes: usize) -> Vec<u8> {
    let inside = bytes.saturating_sub(4 + 14);
    let ethernet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &[8, 0]].concat();
    let packet = match operation {
        TunnelOperation::Encapsulation => {
            ipv4(REMOTE, FIRST_UE + ue, &udp(53, 1000, &vec![0; inside.saturating_sub(28)]))
        }
        TunnelOperation::Decapsulation => {
            let inner = ipv4(
                FIRST_UE + ue,
                REMOTE,
                &udp(1000, 53, &vec![0; inside.saturating_sub(28 + 44)]),
            );
            let mut gtp = vec![0x34, 255];
            gtp.extend(((inner.len() + 8) as u16).to_be_bytes());
            gtp.extend((FIRST_TEID + ue).to_be_bytes());
            gtp.extend([0, 0, 0, 0x85, 1, 0x10, 9, 0]);
            gtp.extend(inner);
            ipv4(0xc0a8_4602, 0xc0a8_4601, &udp(2152, 2152, &gtp))
        }
    };
    [ethernet, packet].concat()
}

/// A pcap file of frames.
pub fn write_pcap(path: &Path, frames: impl Iterator<Item = Vec<u8>>) -> std::io::Result<()> {
    let mut file = Writer::create(path)?;
    for frame in frames {
        file.write(UNIX_EPOCH, &frame)?;
    }
    file.flush()
}

/// The rule of one UE, and next hop 1.
pub(crate) fn rule(
    program: &martlet_p4c_swx::Program,
    table: &str,
    key: u64,
    action: &str,
    arguments: Vec<u64>,
) -> Update {
    let table = program.info.table(table).expect("a table of the program");
    let action = program.info.action(action).expect("an action of the program");
    let key = Key { fields: vec![FieldMatch::Exact(key)], priority: 0 };
    Update {
        operation: Operation::Insert,
        entry: TableEntry { table, key, call: Call { action, arguments }, metadata: vec![] },
    }
}

/// Measures on the calling thread, by CPU time.
pub fn run(bench: &Bench) -> Result<Measured, ProcessError> {
    let program = Arc::new(martlet_p4c_swx::compile(UPF)?);
    dpdk::start(768)?;
    let pcap = std::env::temp_dir().join(format!("martlet-bench-{}.pcap", std::process::id()));
    // The source has random UEs, so that no cache has the rules by chance.
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let packets = 16 * 1024;
    let frames = (0..packets)
        .map(|_| frame(bench.operation, (next() % u64::from(bench.rules)) as u32, bench.frame));
    write_pcap(&pcap, frames).map_err(|error| ProcessError::file(&pcap, error))?;
    let outcome = measure(bench, program, &pcap, packets);
    let _ = std::fs::remove_file(&pcap);
    outcome
}

fn measure(
    bench: &Bench,
    program: Arc<martlet_p4c_swx::Program>,
    pcap: &Path,
    packets: u32,
) -> Result<Measured, ProcessError> {
    let switch = Switch::new(program.clone(), Ports::Memory { pcap, packets }, bench.engine)?;
    let switch = Arc::new(switch);
    let target = Arc::new(SwitchTarget::new(switch.clone())?);
    let tables = Tables::new(program.clone(), target);
    let mut first = base(&program);
    // Packets of both directions arrive at port 0.
    if bench.operation == TunnelOperation::Encapsulation {
        first[0].entry.call = first[1].entry.call.clone();
    }
    let out = 5;
    first.push(rule(
        &program,
        "l2_forward",
        1,
        "l2",
        vec![0x0200_0000_0003, 0x0200_0000_0004, out],
    ));
    tables.write(&first)?;
    let rules: Vec<Update> = (0..bench.rules)
        .map(|n| {
            let meter = if bench.metered { u64::from(n) + 1 } else { 0 };
            let (ue, counter) = (u64::from(FIRST_UE + n), u64::from(n));
            match bench.operation {
                TunnelOperation::Decapsulation => rule(
                    &program,
                    "gtp_decap",
                    u64::from(FIRST_TEID + n),
                    "decap",
                    vec![ue, counter, meter, 1, 0, 0],
                ),
                TunnelOperation::Encapsulation => {
                    let (own, gnb) = (
                        u64::from(Ipv4Addr::new(192, 168, 70, 1).to_bits()),
                        u64::from(Ipv4Addr::new(192, 168, 70, 2).to_bits()),
                    );
                    rule(
                        &program,
                        "gtp_encap",
                        ue,
                        "encap",
                        vec![u64::from(n) + 7, own, gnb, 9, 0, counter, meter, 1],
                    )
                }
            }
        })
        .collect();
    let started = Instant::now();
    for batch in rules.chunks(1000) {
        tables.write(batch)?;
    }
    let writing = started.elapsed().as_secs_f64();
    let mut packets_per_second = Vec::new();
    switch.measure(100_000_000);
    let from = switch.sunk(out as u32);
    let mut before = from;
    for _ in 0..bench.samples {
        let elapsed = switch.measure(200_000_000);
        let now = switch.sunk(out as u32);
        packets_per_second.push((now.0 - before.0) as f64 / elapsed as f64 * 1e9);
        before = now;
    }
    if before.0 == from.0 {
        return Err(ProcessError::Invalid("no packet left through the port of the rules".into()));
    }
    for other in (0..7).filter(|port| *port != out as u32) {
        if switch.sunk(other).0 != 0 {
            return Err(ProcessError::Invalid(format!(
                "packets left through port {other} without a rule"
            )));
        }
    }
    let bytes_out = (before.1 - from.1) as f64 / (before.0 - from.0) as f64;
    Ok(Measured { packets_per_second, bytes_out, writing })
}
