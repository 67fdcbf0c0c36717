//! Attacks on N3 of a sender that knows or guesses tunnels: unknown, or another gNB.
use crate::security::{limit, rounds};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_gtpu::{Message, PduSessionContainer, decode, g_pdu_header};
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    GATEWAY, TestCore, configure6, in_namespace, in_namespace_within, internet, ping, reaches,
    sequence_of, without_switch,
};
use martlet_upf::config::{DatapathChoice, SourceCheck};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
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

/// The N3 address of a gNB, as its configuration has it.
fn n3_of(core: &TestCore, gnb: u8) -> Result<IpAddr> {
    core.gnb_config(gnb).n3.context("an address on N3")
}

/// Another gNB, whose UEs have sessions of their own, sends in the tunnel of a UE that it does not
/// serve: its packets wait half a second for a path switch, and are dropped.
async fn other_gnb(datapath: DatapathChoice, source_check: SourceCheck, rounds: u32) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        without_switch(&mut config.upf);
        config.upf.datapath = datapath;
        config.upf.n3.source_check = source_check;
    })
    .await?;
    let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    let forged = g_pdu(uplink_teid(&core)?, &ping(address, GATEWAY, 99))?;
    let (neighbour, _) = core.ue_with_session(&other, 2).await?;
    reaches(&neighbour, 1, GATEWAY).await?;
    // Packets that were in flight have arrived, and the UE is idle once: no gNB serves it then.
    for is_idle in (0..rounds).flat_map(|_| [false, true]) {
        if is_idle {
            ue.release_to_idle().await?;
            core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        }
        while tokio::time::timeout(Duration::from_millis(200), ue.recv_ip()).await.is_ok() {}
        let sender = UdpSocket::bind((n3_of(&core, 2)?, 0)).await?;
        let before = (core.upf_forwarded(), drops(&core, "n3_source"));
        for _ in 0..10 {
            sender.send_to(&forged, UPF).await?;
        }
        if source_check != SourceCheck::Session {
            let forwarded = || (core.upf_forwarded() >= before.0 + 10).then_some(());
            let status = || core.status("upf").to_string();
            return martlet_tests::eventually("they are forwarded", forwarded, status).await;
        }
        martlet_tests::eventually(
            "each packet is counted",
            || (drops(&core, "n3_source") >= before.1 + 10).then_some(()),
            || core.status("upf").to_string(),
        )
        .await?;
        ensure!(core.upf_forwarded() == before.0, "{}", core.status("upf"));
        if is_idle {
            reaches(&ue, 1, GATEWAY).await?;
        }
    }
    reaches(&neighbour, 1, GATEWAY).await?;
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn attack_other_gnb_sends_in_the_tunnel_of_a_ue() {
    let rounds = rounds(1);
    let test = move || other_gnb(DatapathChoice::Kernel, SourceCheck::Session, rounds);
    in_namespace_within(limit(3 * rounds), test);
}

#[test]
fn attack_other_gnb_sends_in_the_tunnel_of_a_ue_with_xdp() {
    let rounds = rounds(1);
    let test = move || other_gnb(DatapathChoice::Xdp, SourceCheck::Session, rounds);
    in_namespace_within(limit(3 * rounds), test);
}

#[test]
fn other_gnbs_send_where_the_configuration_allows_it() {
    in_namespace(|| other_gnb(DatapathChoice::Kernel, SourceCheck::Peer, 1));
    in_namespace(|| other_gnb(DatapathChoice::Xdp, SourceCheck::Peer, 1));
}

/// A target gNB sends as soon as the UE is there, before the path switch: all of it arrives. So
/// does what the source gNB still sends afterwards.
async fn path_switch(datapath: DatapathChoice, n2: bool, rounds: u32) -> Result<()> {
    let core = start(datapath).await?;
    let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    while tokio::time::timeout(Duration::from_millis(200), ue.recv_ip()).await.is_ok() {}
    let teid = uplink_teid(&core)?;
    let before = drops(&core, "n3_source");
    let sequences = |first: u16| (first..first + 20).map(|n| ping(address, GATEWAY, n));
    let senders = [
        UdpSocket::bind((n3_of(&core, 1)?, 0)).await?,
        UdpSocket::bind((n3_of(&core, 2)?, 0)).await?,
    ];
    let mut busy = 0;
    for round in 0..rounds {
        let (to, target, source) = match round % 2 {
            0 => (&other, &senders[1], &senders[0]),
            _ => (&gnb, &senders[0], &senders[1]),
        };
        // What the source of the previous round sends is no longer accepted.
        tokio::time::sleep(Duration::from_millis(if round == 0 { 0 } else { 1000 })).await;
        let started = Instant::now();
        for packet in sequences(1000) {
            target.send_to(&g_pdu(teid, &packet)?, UPF).await?;
        }
        match n2 {
            true => ue.handover_to(to).await?,
            false => ue.xn_handover_to(to).await?,
        };
        for packet in sequences(2000) {
            source.send_to(&g_pdu(teid, &packet)?, UPF).await?;
        }
        // On a machine that is too busy the packets have waited too long.
        let is_in_time = started.elapsed() < Duration::from_millis(450);
        busy += u32::from(!is_in_time);
        let mut missing: BTreeSet<u16> = (1000..1020).chain(2000..2020).collect();
        while !missing.is_empty() {
            let received = tokio::time::timeout(Duration::from_secs(2), ue.recv_ip()).await;
            let Ok(received) = received else { break };
            let number = sequence_of(&received?.1);
            missing.retain(|n| number != Some(*n));
        }
        let is_lost = is_in_time && !missing.is_empty();
        ensure!(!is_lost, "{round}: no reply to {missing:?}: {}", core.status("upf"));
    }
    let dropped = drops(&core, "n3_source") - before;
    ensure!(busy > 0 || dropped == 0, "{}", core.status("upf"));
    println!("{rounds} rounds, {busy} of them too slow to count");
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn uplink_before_and_after_a_path_switch_is_not_lost() {
    let rounds = rounds(2);
    for datapath in [DatapathChoice::Kernel, DatapathChoice::Xdp] {
        in_namespace_within(limit(3 * rounds), move || path_switch(datapath, false, rounds));
    }
}

#[test]
fn uplink_before_and_after_an_n2_handover_is_not_lost() {
    let rounds = rounds(2);
    for datapath in [DatapathChoice::Kernel, DatapathChoice::Xdp] {
        in_namespace_within(limit(3 * rounds), move || path_switch(datapath, true, rounds));
    }
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

/// What the UPF answers itself: a Router Solicitation in the tunnel of a UE, and an extension
/// header that it does not know.
async fn requests(datapath: DatapathChoice) -> Result<()> {
    let core = start(datapath).await?;
    core.subscribe(1, |subscriber| {
        let session_types = vec![SessionType::Ipv6];
        subscriber.slices[0].dnns =
            vec![SubscribedDnn { session_types, ..SubscribedDnn::new("internet") }];
    })?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let mut request = internet();
    request.session_type = martlet_nas::PduSessionTypeValue::Ipv6;
    let session = ue.establish_pdu_session(request).await?;
    configure6(&ue, session.psi).await?;
    // Answers to the UE's own solicitations have arrived.
    while tokio::time::timeout(Duration::from_millis(200), ue.recv_ip()).await.is_ok() {}
    let sender = UdpSocket::bind(UNKNOWN_SENDER).await?;
    let (own, routers) =
        (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x2a), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2));
    let mut solicitation = vec![0x60, 0, 0, 0, 0, 8, 58, 255];
    solicitation.extend(own.octets().into_iter().chain(routers.octets()));
    solicitation.extend([133, 0, 0x7b, 0x8a, 0, 0, 0, 0]);
    sender.send_to(&g_pdu(uplink_teid(&core)?, &solicitation)?, UPF).await?;
    let received = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(received.is_err(), "the UE got an answer: {received:?}");
    // A PDCP PDU number, which only gNBs exchange.
    let extension = [0x34, 255, 0, 8, 1, 1, 1, 1, 0, 0, 0, 0xc0, 1, 0, 0, 0];
    sender.send_to(&extension, UPF).await?;
    let mut buffer = [0; 2048];
    let answered = tokio::time::timeout(SILENCE, sender.recv_from(&mut buffer)).await;
    ensure!(answered.is_err(), "the sender got an answer: {:02x?}", &buffer[..16]);
    Ok(())
}

#[test]
fn attack_unknown_sender_gets_no_answers() {
    in_namespace(|| requests(DatapathChoice::Kernel));
}

#[test]
fn attack_unknown_sender_gets_no_answers_with_xdp() {
    in_namespace(|| requests(DatapathChoice::Xdp));
}
