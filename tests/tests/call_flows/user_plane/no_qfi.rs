//! Uplink G-PDUs without PDU session container, and so without QFI (TS 38.415, 5.5.3.3), as
//! free-ran-ue's gNB sends them.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Ue;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, ping};
use martlet_upf::conformance::g_pdu;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tokio::net::UdpSocket;

/// A socket at the gNB's address on N3, and the UPF's TEID of the only session.
pub async fn beside_the_gnb(core: &TestCore) -> Result<(UdpSocket, IpAddr, u32)> {
    let n3 = core.gnb_config(1).n3.context("an address on N3")?;
    let socket = UdpSocket::bind((n3, 0)).await?;
    socket.connect(core.config().upf.n3.address).await?;
    let status = core.status("upf");
    let teid = status["sessions"][0]["localTeids"][0].as_str().context("a TEID")?;
    Ok((socket, n3, u32::from_str_radix(teid.trim_start_matches("0x"), 16)?))
}

async fn next_reply(ue: &Ue, address: Ipv4Addr) -> Result<()> {
    let (_, packet) = tokio::time::timeout(Duration::from_secs(10), ue.recv_ip())
        .await
        .context("an echo reply is due")??;
    ensure!(packet[12..20] == [GATEWAY.octets(), address.octets()].concat(), "{packet:02x?}");
    Ok(())
}

#[test]
fn uplink_packets_without_qfi_belong_to_the_default_qos_flow() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let (socket, n3, teid) = beside_the_gnb(&core).await?;
        socket.send(&g_pdu(teid, None, &ping(address, GATEWAY, 1))).await?;
        next_reply(&ue, address).await?;
        let counted = || {
            (core.status("upf")["counters"]["unmarked_packets"] == 1
                && core.status("upf")["unmarkedPeers"][n3.to_string()] == 1)
                .then_some(())
        };
        eventually("it is counted for the gNB", counted, || core.status("upf").to_string()).await
    });
}

#[test]
fn uplink_packets_without_qfi_are_dropped_if_it_is_required() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.upf.n3.require_qfi = true).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let (socket, _, teid) = beside_the_gnb(&core).await?;
        socket.send(&g_pdu(teid, None, &ping(address, GATEWAY, 1))).await?;
        let dropped = || (core.status("upf")["drops"]["no_qfi"] == 1).then_some(());
        eventually("it is dropped", dropped, || core.status("upf").to_string()).await?;
        ue.send_ip(1, ping(address, GATEWAY, 2)).await?;
        next_reply(&ue, address).await
    });
}
