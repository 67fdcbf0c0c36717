//! IPv6 packets of simulated UEs without a network interface.
use anyhow::{Context, Result};
use martlet_ran::Ue;
use std::net::Ipv6Addr;
use std::time::Duration;

const ICMPV6: u8 = 58;

fn icmp(from: Ipv6Addr, to: Ipv6Addr, hop_limit: u8, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let length = (message.len() as u32).to_be_bytes();
    let whole = [&from.octets()[..], &to.octets(), &length, &[0, 0, 0, ICMPV6], &message].concat();
    let mut sum: u32 = whole
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    message[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((message.len() as u16).to_be_bytes());
    packet.extend([ICMPV6, hop_limit]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(message);
    packet
}

/// An ICMPv6 echo request (RFC 4443).
pub fn ping6(from: Ipv6Addr, to: Ipv6Addr, sequence: u16) -> Vec<u8> {
    let [high, low] = sequence.to_be_bytes();
    icmp(from, to, 64, &[128, 0, 0, 0, 0x12, 0x34, high, low, 1, 2, 3, 4])
}

/// Sends a router solicitation (RFC 4861) in a session and returns the address that the advertised
/// prefix and the interface identifier make.
///
/// # Errors
/// No advertisement arrives within 30 s, or it has no prefix.
pub async fn configure6(ue: &Ue, psi: u8) -> Result<Ipv6Addr> {
    let status = ue.status().await?;
    let session =
        status.sessions.iter().find(|session| session.psi == psi).context("no such session")?;
    let interface =
        session.ipv6_interface_id.context("the session has no IPv6 interface identifier")?;
    let mut own = [0; 16];
    own[..2].copy_from_slice(&[0xfe, 0x80]);
    own[8..].copy_from_slice(&interface);
    let all_routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    // A solicitation is repeated (RFC 4861, 6.3.7): the first may precede the downlink tunnel.
    let mut solicit = tokio::time::interval(Duration::from_millis(500));
    let advertised = async {
        loop {
            let packet = tokio::select! {
                _ = solicit.tick() => {
                    let solicitation = [133, 0, 0, 0, 0, 0, 0, 0];
                    ue.send_ip(psi, icmp(own.into(), all_routers, 255, &solicitation)).await?;
                    continue;
                }
                received = ue.recv_ip() => received?.1,
            };
            if packet.get(6) == Some(&ICMPV6) && packet.get(40) == Some(&134) {
                return anyhow::Ok(packet);
            }
        }
    };
    let packet = tokio::time::timeout(Duration::from_secs(30), advertised)
        .await
        .context("no router advertisement")??;
    let mut address: [u8; 16] = packet.get(72..88).context("no prefix")?.try_into()?;
    address[8..].copy_from_slice(&interface);
    Ok(address.into())
}

/// Sends echo requests until a reply arrives.
///
/// # Errors
/// No reply arrives within 60 s.
pub async fn reaches6(ue: &Ue, psi: u8, from: Ipv6Addr, to: Ipv6Addr) -> Result<()> {
    for sequence in 1..=120 {
        ue.send_ip(psi, ping6(from, to, sequence)).await?;
        let replied = async {
            loop {
                let (_, packet) = ue.recv_ip().await?;
                if packet.get(40) == Some(&129) && packet.get(8..24) == Some(&to.octets()) {
                    return anyhow::Ok(());
                }
            }
        };
        if let Ok(replied) = tokio::time::timeout(Duration::from_millis(500), replied).await {
            return replied;
        }
    }
    anyhow::bail!("{}: no echo reply from {to}", ue.supi())
}
