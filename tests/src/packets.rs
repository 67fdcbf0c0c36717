//! IPv4 packets of simulated UEs without a network interface.
use anyhow::{Context, Result, bail};
use martlet_ran::Ue;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// How long [`reaches`] repeats its echo request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An ICMP echo request (RFC 792).
pub fn ping(from: Ipv4Addr, to: Ipv4Addr, sequence: u16) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0x12, 0x34];
    icmp.extend(sequence.to_be_bytes());
    icmp.extend([0xa5; 24]);
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip = vec![0x45, 0];
    ip.extend((20 + icmp.len() as u16).to_be_bytes());
    ip.extend([0, 1, 0, 0, 64, 1, 0, 0]);
    ip.extend(from.octets());
    ip.extend(to.octets());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(icmp);
    ip
}

/// The sequence number of a packet made by [`ping`], or of its reply.
pub fn sequence_of(packet: &[u8]) -> Option<u16> {
    packet.get(26..28).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
}

/// Sends echo requests through a session until `to` replies.
///
/// # Errors
/// No reply arrives within 60 s.
pub async fn reaches(ue: &Ue, psi: u8, to: Ipv4Addr) -> Result<()> {
    let status = ue.status().await?;
    let session =
        status.sessions.iter().find(|session| session.psi == psi).context("no such session")?;
    let from = session.ipv4.context("the session has no IPv4 address")?;
    let started = Instant::now();
    for sequence in 1.. {
        ue.send_ip(psi, ping(from, to, sequence)).await?;
        let replied = async {
            loop {
                let (_, packet) = ue.recv_ip().await?;
                if packet.get(20) == Some(&0) && packet.get(12..16) == Some(&to.octets()) {
                    return anyhow::Ok(());
                }
            }
        };
        match tokio::time::timeout(Duration::from_millis(500), replied).await {
            Ok(replied) => return replied,
            Err(_) if started.elapsed() < TIMEOUT => {}
            Err(_) => break,
        }
    }
    bail!("{}: no echo reply from {to}", ue.supi())
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |c: &[u8]| u32::from(u16::from_be_bytes([c[0], *c.get(1).unwrap_or(&0)]));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}
