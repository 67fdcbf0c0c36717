//! Packets through a UPF: a gNB with a GTP-U socket, and a host of the data network with a UDP
//! socket. The payload of a packet carries the time at which it was sent.
use super::{Addresses, LENGTH};
use crate::pacer::Pacer;
use anyhow::{Context, Result};
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_upf_xdp::bench_ue;
use nix::sys::socket::{setsockopt, sockopt};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// UDP ports of the UEs, and of the host.
const UE_PORT: u16 = 9000;
const HOST_PORT: u16 = 7000;
/// Headers of a UE's packet: IPv4 and UDP.
const HEADERS: usize = 28;
const PAYLOAD: usize = LENGTH - HEADERS;
/// Buffer of a receiving socket in bytes, so that a receiver that waits for its CPU loses nothing.
const BUFFER: usize = 32 << 20;
/// How long packets may take after the last one was sent.
const DRAIN: Duration = Duration::from_millis(100);
/// How long packets are read after that which wait in the buffer.
const LATE: Duration = Duration::from_secs(1);

/// What a round has measured.
#[derive(Debug, Clone)]
pub(super) struct Round {
    sent: u64,
    received: u64,
    /// Share of the load that was not offered, since this machine was too slow.
    pub(super) missed: f64,
    pub(super) latencies_us: Vec<f64>,
}

impl Round {
    pub(super) fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent.max(1) as f64
    }
}

/// The sockets at both ends of a UPF.
pub(super) struct Path {
    addresses: Addresses,
    gnb: UdpSocket,
    host: UdpSocket,
    /// The tunnel endpoints of the uplink, by session.
    tunnels: Vec<u32>,
    start: Instant,
}

/// The Internet checksum of an IPv4 header (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words =
        header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// An IPv4 packet with UDP and an empty payload. The UDP checksum is absent.
fn packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut packet = vec![0; LENGTH];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(LENGTH as u16).to_be_bytes());
    (packet[8], packet[9]) = (64, 17);
    packet[12..16].copy_from_slice(&from.0.octets());
    packet[16..20].copy_from_slice(&to.0.octets());
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet[20..22].copy_from_slice(&from.1.to_be_bytes());
    packet[22..24].copy_from_slice(&to.1.to_be_bytes());
    packet[24..26].copy_from_slice(&((LENGTH - 20) as u16).to_be_bytes());
    packet
}

impl Path {
    pub(super) fn open(addresses: Addresses, tunnels: Vec<u32>) -> Result<Path> {
        let gnb =
            UdpSocket::bind((addresses.gnb, martlet_gtpu::PORT)).context("the gNB's N3 socket")?;
        let host = UdpSocket::bind((addresses.host, HOST_PORT)).context("the host's socket")?;
        for socket in [&gnb, &host] {
            socket.set_read_timeout(Some(Duration::from_millis(20)))?;
            setsockopt(socket, sockopt::RcvBufForce, &BUFFER)?;
        }
        Ok(Path { addresses, gnb, host, tunnels, start: Instant::now() })
    }

    /// Sends packets at a rate, the sessions in turn, and receives them. Uplink is direction 0.
    pub(super) fn round(&self, direction: usize, rate: f64, time: Duration) -> Result<Round> {
        let (begun, stopped) = (self.elapsed_ns(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let receiving = scope.spawn(|| self.receive(direction, begun, &stopped));
            let sent = match direction {
                0 => self.send_uplink(rate, time),
                _ => self.send_downlink(rate, time),
            };
            std::thread::sleep(DRAIN);
            stopped.store(true, Ordering::Relaxed);
            let received = receiving.join();
            let received = received.map_err(|_| anyhow::anyhow!("the receiver panicked"))??;
            let (sent, missed) = sent?;
            Ok(Round { sent, received: received.len() as u64, missed, latencies_us: received })
        })
    }

    fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn now(&self) -> [u8; 8] {
        self.elapsed_ns().to_be_bytes()
    }

    fn send_uplink(&self, rate: f64, time: Duration) -> Result<(u64, f64)> {
        let host = (self.addresses.host, HOST_PORT);
        let mut packets = Vec::with_capacity(self.tunnels.len());
        for (n, teid) in (0..).zip(&self.tunnels) {
            let header = g_pdu_header(*teid, Some(PduSessionContainer::uplink(9)), LENGTH);
            let mut bytes = header.context("a G-PDU")?.as_slice().to_vec();
            bytes.extend(packet((bench_ue(n), UE_PORT), host));
            packets.push(bytes);
        }
        paced(rate, time, |n| {
            let at = n as usize % packets.len();
            let bytes = &mut packets[at];
            let end = bytes.len();
            bytes[end - 8..].copy_from_slice(&self.now());
            Ok(self.gnb.send_to(bytes, self.addresses.n3)?)
        })
    }

    fn send_downlink(&self, rate: f64, time: Duration) -> Result<(u64, f64)> {
        let sessions = self.tunnels.len() as u64;
        let mut payload = [0; PAYLOAD];
        paced(rate, time, |n| {
            payload[PAYLOAD - 8..].copy_from_slice(&self.now());
            let ue = bench_ue((n % sessions) as u32);
            Ok(self.host.send_to(&payload, (ue, UE_PORT))?)
        })
    }

    /// Receives until `stopped` and nothing more arrives, and returns the latency of each packet in
    /// microseconds. Packets that were sent before `begun` are of an earlier round.
    fn receive(&self, direction: usize, begun: u64, stopped: &AtomicBool) -> Result<Vec<f64>> {
        let socket = if direction == 0 { &self.host } else { &self.gnb };
        let (mut latencies, mut buffer) = (Vec::new(), [0; 2048]);
        let mut ended: Option<Instant> = None;
        while ended.is_none_or(|ended| ended.elapsed() < LATE) {
            if stopped.load(Ordering::Relaxed) {
                ended.get_or_insert_with(Instant::now);
            }
            let Ok(length) = socket.recv(&mut buffer) else {
                // The timeout: the buffer is empty.
                if ended.is_some() {
                    break;
                }
                continue;
            };
            // GTP-U messages other than G-PDUs are shorter.
            let Some(sent) = buffer[..length].last_chunk().filter(|_| length >= PAYLOAD) else {
                continue;
            };
            let sent = u64::from_be_bytes(*sent);
            if sent >= begun {
                latencies.push(self.elapsed_ns().saturating_sub(sent) as f64 / 1e3);
            }
        }
        Ok(latencies)
    }
}

/// Sends packets at a rate. Returns their number, and the share that was not sent.
fn paced(
    rate: f64,
    time: Duration,
    mut send: impl FnMut(u64) -> Result<usize>,
) -> Result<(u64, f64)> {
    let _ = nix::sys::prctl::set_timerslack(1000);
    let mut pace = Pacer::new(rate, time);
    let mut sent = 0;
    while let Some(due) = pace.wait() {
        for _ in 0..due {
            send(sent)?;
            sent += 1;
        }
    }
    Ok((sent, pace.missed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_a_buffer_belong_to_the_round_that_sent_them() {
        let socket = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            socket
        };
        let (own, at) = (Ipv4Addr::LOCALHOST, (Ipv4Addr::LOCALHOST, 0).into());
        let addresses = Addresses { gnb: own, host: own, n4: at, n3: at };
        let (gnb, host) = (socket(), socket());
        let path = Path { addresses, gnb, host, tunnels: vec![], start: Instant::now() };
        let to = path.host.local_addr().unwrap();
        let send = |packets: usize| {
            for _ in 0..packets {
                let payload = [&[0u8; PAYLOAD - 8][..], &path.now()[..]].concat();
                path.gnb.send_to(&payload, to).unwrap();
            }
        };
        send(3);
        std::thread::sleep(Duration::from_millis(1));
        let begun = path.elapsed_ns();
        send(5);
        let received = path.receive(0, begun, &AtomicBool::new(true)).unwrap();
        assert_eq!(received.len(), 5);
    }

    #[test]
    fn headers_of_a_packet_are_complete() {
        let packet = packet((Ipv4Addr::new(10, 0, 0, 2), 9000), (Ipv4Addr::new(10, 6, 0, 1), 7000));
        assert_eq!(checksum(&packet[..20]), 0);
        assert_eq!(packet.len(), LENGTH);
        assert_eq!(packet[22..24], 7000u16.to_be_bytes());
    }
}
