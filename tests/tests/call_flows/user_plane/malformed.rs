//! GTP-U of an unknown peer to the UPF (TS 29.281, 7).
use crate::bystander::Bystander;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_gtpu::Message;
use martlet_tests::{SwitchWiring, TestCore, eventually, in_namespace};
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::UdpSocket;

const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);

/// The next datagram, if one arrives.
async fn next(socket: &UdpSocket) -> Result<Option<Vec<u8>>> {
    next_within(socket, Duration::from_millis(300)).await
}

/// The next datagram, which is due.
async fn due(socket: &UdpSocket) -> Result<Option<Vec<u8>>> {
    next_within(socket, Duration::from_secs(30)).await
}

async fn next_within(socket: &UdpSocket, limit: Duration) -> Result<Option<Vec<u8>>> {
    let mut buffer = [0; 4096];
    match tokio::time::timeout(limit, socket.recv(&mut buffer)).await {
        Ok(length) => Ok(Some(buffer[..length?].to_vec())),
        Err(_) => Ok(None),
    }
}

#[test]
fn unknown_tunnels_get_an_error_indication_and_malformed_packets_are_dropped() {
    in_namespace(|| async {
        // All senders count as peers: unknown senders would get no answers.
        let core = TestCore::start(Sbi::Local, |config| {
            config.upf.n3.restoration_s = 0;
            config.upf.n3.allow = vec!["0.0.0.0/0".parse().expect("a network")];
            config.upf.n3.source_check = martlet_upf::config::SourceCheck::Peer;
        })
        .await?;
        let bystander = Bystander::at(&core).await?;
        // With a switch, N3 is a wire of its own.
        let upf = core.config().upf.n3.address;
        let attacker = if upf.ip().is_loopback() { ATTACKER } else { SwitchWiring::gnb(50) };
        let socket = UdpSocket::bind((attacker, 2152)).await?;
        let drops = |reason: &'static str| {
            let core = &core;
            move || core.status("upf")["drops"][reason].as_u64().unwrap_or(0)
        };

        // Echo.
        socket.send_to(b"\x32\x01\x00\x04\x00\x00\x00\x00\x00\x07\x00\x00", upf).await?;
        let echo = due(&socket).await?.context("ECHO RESPONSE is due")?;
        ensure!(echo[1] == 2 && echo[8..10] == [0, 7], "{echo:02x?}");
        // A packet in a tunnel that is not known.
        let packet = b"\x30\xff\x00\x04\x0b\xad\xca\xfe\x45\x00\x00\x00";
        socket.send_to(packet, upf).await?;
        let answer = due(&socket).await?.context("ERROR INDICATION is due")?;
        let indicated = martlet_gtpu::decode(&answer).ok();
        ensure!(
            matches!(indicated, Some(Message::ErrorIndication { teid: 0x0bad_cafe, .. })),
            "the tunnel is named: {answer:02x?}"
        );
        // An extension header that has to be understood.
        socket
            .send_to(b"\x34\xff\x00\x08\x00\x00\x00\x01\x00\x00\x00\xff\x01\x00\x00\x00", upf)
            .await?;
        let answer =
            due(&socket).await?.context("SUPPORTED EXTENSION HEADERS NOTIFICATION is due")?;
        ensure!(answer[1] == 31, "{answer:02x?}");
        // Junk has no answer, and is counted.
        let before = drops("malformed")();
        let junk = [
            &b""[..],
            b"\x30",
            b"\x30\xff\xff\xff\x00\x00\x00\x01",
            b"\x50\xff\x00\x00\x00\x00\x00\x01",
            &[0xaa; 1400],
        ];
        for junk in junk {
            socket.send_to(junk, upf).await?;
        }
        let counted = || (drops("malformed")() >= before + 4).then_some(());
        eventually("junk is counted", counted, || core.status("upf").to_string()).await?;
        ensure!(next(&socket).await?.is_none(), "junk has no answer");

        // An Error Indication of an unknown peer about the bystander's tunnel is ignored.
        let remote =
            core.status("upf")["sessions"][0]["remote"][0].as_str().unwrap_or_default().to_string();
        let teid = remote
            .trim_start_matches("0x")
            .split('@')
            .next()
            .and_then(|teid| u32::from_str_radix(teid, 16).ok());
        let teid = teid.with_context(|| format!("the gNB's tunnel: {remote}"))?;
        socket.send_to(&martlet_gtpu::error_indication(teid, attacker.into()), upf).await?;
        // Nor does a packet with a foreign source address pass in the bystander's own tunnel.
        let local = core.status("upf")["sessions"][0]["localTeids"][0]
            .as_str()
            .unwrap_or_default()
            .to_string();
        let local = u32::from_str_radix(local.trim_start_matches("0x"), 16)?;
        let forged = martlet_tests::ping(Ipv4Addr::new(10, 45, 99, 99), martlet_tests::GATEWAY, 1);
        socket.send_to(&martlet_upf::conformance::g_pdu(local, Some(1), &forged), upf).await?;
        let counted = || (drops("foreign_source")() == 1).then_some(());
        eventually("a foreign source is counted", counted, || core.status("upf").to_string())
            .await?;
        bystander.expect_core_works().await
    });
}
