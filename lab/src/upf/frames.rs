//! Makes the frames of UEs' packets and sends them in small batches: see [`FrameSender`].
use anyhow::{Context, Result};
use martlet_upf_xdp::{BenchPath, FrameSender, bench_teid, bench_ue};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Packets per system call.
const BATCH: usize = 64;
/// Bytes of the outer IP, UDP and GTP-U headers.
const TUNNEL: usize = 44;

/// A packet socket with its frames.
pub struct Sender {
    socket: FrameSender,
    state: u32,
    frames: Vec<Vec<u8>>,
}

/// Appends an IPv4 header with a total length.
fn ip4(out: &mut Vec<u8>, length: usize, from: [u8; 4], to: [u8; 4]) {
    let start = out.len();
    out.extend([0x45, 0]);
    out.extend((length as u16).to_be_bytes());
    out.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    out.extend(from);
    out.extend(to);
    let words =
        out[start..].chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    out[start + 10..start + 12].copy_from_slice(&check.to_be_bytes());
}

fn udp(out: &mut Vec<u8>, from: u16, to: u16, length: usize) {
    for word in [from, to, length as u16, 0] {
        out.extend(word.to_be_bytes());
    }
}

/// The frame of the n-th session's packet, as `bpf/bench.h` makes it, with a timestamp.
fn frame(out: &mut Vec<u8>, uplink: bool, n: u32, path: &BenchPath, timestamp: u64) {
    const GTP: u16 = 2152;
    let length = path.length as usize;
    out.clear();
    out.extend(path.link.0);
    out.extend(path.link.1);
    out.extend([8, 0]);
    let (ue, host) = ((bench_ue(n).octets(), 9000), (path.host.0.octets(), path.host.1));
    let (from, to) = if uplink { (ue, host) } else { (host, ue) };
    if uplink {
        ip4(out, length + TUNNEL, path.gnb.octets(), path.n3.octets());
        udp(out, GTP, GTP, length + TUNNEL - 20);
        out.extend([0x34, 0xff]);
        out.extend((length as u16 + 8).to_be_bytes());
        out.extend(bench_teid(n).to_be_bytes());
        out.extend([0, 0, 0, 0x85, 1, 0x10, 9, 0]);
    }
    let start = out.len();
    ip4(out, length, from.0, to.0);
    udp(out, from.1, to.1, length - 20);
    // Clock and byte order are those of the eBPF programs.
    out.extend(timestamp.to_ne_bytes());
    out.resize(start + length, 0);
}

impl Sender {
    /// A sender for all interfaces of this network namespace.
    ///
    /// # Errors
    /// The right to open a packet socket (CAP_NET_RAW) is missing.
    pub fn open() -> Result<Sender> {
        let socket = FrameSender::open().context("a packet socket cannot be opened")?;
        Ok(Sender { socket, state: 0x1234_5679, frames: vec![Vec::new(); BATCH] })
    }

    fn session(&mut self, sessions: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        ((u64::from(self.state) * u64::from(sessions)) >> 32) as u32
    }

    /// Sends packets of sessions drawn at random.
    ///
    /// # Errors
    /// The kernel rejects them.
    pub fn send(
        &mut self,
        uplink: bool,
        sessions: u32,
        path: &BenchPath,
        packets: u32,
    ) -> Result<()> {
        let mut left = packets as usize;
        while left > 0 {
            let batch = left.min(BATCH);
            let timestamp = clock_gettime(ClockId::CLOCK_MONOTONIC)
                .map_or(Duration::ZERO, Duration::from)
                .as_nanos() as u64;
            for at in 0..batch {
                let n = self.session(sessions);
                frame(&mut self.frames[at], uplink, n, path, timestamp);
            }
            self.socket
                .send(path.ifindex, &mut self.frames[..batch])
                .context("packets cannot be sent")?;
            left -= batch;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_equal_those_of_the_ebpf_generator() {
        let link = ([1; 6], [2; 6]);
        let path = BenchPath { link, ..crate::upf::dut::path(64, 3) };
        let mut bytes = Vec::new();
        frame(&mut bytes, true, 5, &path, 7);
        assert_eq!(bytes.len(), 14 + 44 + 64);
        let Ok(martlet_gtpu::Message::GPdu(pdu)) = martlet_gtpu::decode(&bytes[42..]) else {
            panic!("not a G-PDU")
        };
        assert_eq!((pdu.teid, pdu.payload.len()), (bench_teid(5), 64));
        assert_eq!(pdu.payload[12..16], bench_ue(5).octets());
        assert_eq!(pdu.payload[28..36], 7u64.to_ne_bytes());
        frame(&mut bytes, false, 5, &path, 7);
        assert_eq!((bytes.len(), &bytes[30..34]), (14 + 64, &bench_ue(5).octets()[..]));
        // The one's complement sum over a header with its checksum is 0xffff.
        let words = bytes[14..34]
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
