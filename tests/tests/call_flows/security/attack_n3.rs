//! Attacks of an unknown sender on N3 who knows or guesses tunnels.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_gtpu::{Message, PduSessionContainer, decode, g_pdu_header};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches, without_switch};
use martlet_upf::config::DatapathChoice;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::UdpSocket;

const UPF: (Ipv4Addr, u16) = (Ipv4Addr::new(127, 0, 0, 8), 2152);
const UNKNOWN_SENDER: (Ipv4Addr, u16) = (Ipv4Addr::new(127, 0, 0, 66), 2152);
/// How long something may take to arrive that must not.
const SILENCE: Duration = Duration::from_millis(500);

async fn start(datapath: DatapathChoice) -> Result<TestCore> {
    TestCore::start(Sbi::Local, |config| {
        without_switch(&mut config.upf);
        config.upf.datapath = datapath;
        config.upf.n3.restoration_s = 0;
    })
    .await
}

fn drops(core: &TestCore, reason: &str) -> u64 {
    core.status("upf")["drops"][reason].as_u64().unwrap_or(0)
}

/// The UPF's end of the only session's tunnel.
fn uplink_teid(core: &TestCore) -> Result<u32> {
    let status = core.status("upf");
    let text = status["sessions"][0]["localTeids"][0].as_str().context("a TEID")?;
    Ok(u32::from_str_radix(text.trim_start_matches("0x"), 16)?)
}

fn g_pdu(teid: u32, packet: &[u8]) -> Result<Vec<u8>> {
    let container = Some(PduSessionContainer::uplink(1));
    let header = g_pdu_header(teid, container, packet.len()).context("a header")?;
    Ok([header.as_slice(), packet].concat())
}

async fn known_teid(datapath: DatapathChoice) -> Result<()> {
    let core = start(datapath).await?;
    let gnb = core.gnb(1).await?;
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    // Answers to the UE's own pings have arrived.
    while tokio::time::timeout(Duration::from_millis(200), ue.recv_ip()).await.is_ok() {}
    let sender = UdpSocket::bind(UNKNOWN_SENDER).await?;
    let before = (core.upf_forwarded(), drops(&core, "n3_source"));
    let forged = g_pdu(uplink_teid(&core)?, &ping(address, GATEWAY, 99))?;
    for _ in 0..10 {
        sender.send_to(&forged, UPF).await?;
    }
    martlet_tests::eventually(
        "each packet is counted",
        || (drops(&core, "n3_source") >= before.1 + 10).then_some(()),
        || core.status("upf").to_string(),
    )
    .await?;
    let answer = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(answer.is_err(), "the packet of the sender was answered: {answer:?}");
    ensure!(core.upf_forwarded() == before.0, "{}", core.status("upf"));
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn attack_unknown_sender_sends_gpdus_with_a_known_teid() {
    in_namespace(|| known_teid(DatapathChoice::Kernel));
}

#[test]
fn attack_unknown_sender_sends_gpdus_with_a_known_teid_with_xdp() {
    in_namespace(|| known_teid(DatapathChoice::Xdp));
}

/// Error Indications that a sender gets for tunnels.
async fn error_indications(socket: &UdpSocket, teids: &[u32]) -> Result<usize> {
    let packet = ping(Ipv4Addr::new(10, 45, 0, 200), GATEWAY, 1);
    for teid in teids {
        socket.send_to(&g_pdu(*teid, &packet)?, UPF).await?;
    }
    let (mut count, mut buffer) = (0, [0; 2048]);
    while let Ok(received) = tokio::time::timeout(SILENCE, socket.recv_from(&mut buffer)).await {
        let (length, _) = received?;
        count +=
            usize::from(matches!(decode(&buffer[..length]), Ok(Message::ErrorIndication { .. })));
    }
    Ok(count)
}

async fn which_teids_exist(datapath: DatapathChoice) -> Result<()> {
    let core = start(datapath).await?;
    let sender = UdpSocket::bind(UNKNOWN_SENDER).await?;
    let unknown: Vec<u32> = (1..=20).map(|n| 0x7700_0000 + n).collect();
    // Without sessions there is nothing to learn: a gNB hears that its tunnels are gone, at the
    // rate of one peer.
    let count = error_indications(&sender, &unknown).await?;
    ensure!((1..=11).contains(&count), "{count} Error Indications");
    let gnb = core.gnb(1).await?;
    let (ue, _) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    let known = uplink_teid(&core)?;
    for teids in [&unknown[..], &[known]] {
        let count = error_indications(&sender, teids).await?;
        ensure!(count == 0, "{count} Error Indications to a sender for {teids:x?}");
    }
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn attack_error_indications_reveal_which_teids_exist() {
    in_namespace(|| which_teids_exist(DatapathChoice::Kernel));
}

#[test]
fn attack_error_indications_reveal_which_teids_exist_with_xdp() {
    in_namespace(|| which_teids_exist(DatapathChoice::Xdp));
}
