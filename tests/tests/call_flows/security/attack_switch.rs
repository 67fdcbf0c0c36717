//! Attacks on a UPF with a programmable switch: flows that the switch forwards are checked as those
//! of the native UPF.
use crate::user_plane::ethernet::{of, subscribed};
use crate::user_plane::switch::on_switch;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_nas::PduSessionTypeValue;
use martlet_ran::{Gnb, Ue};
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    GATEWAY, SwitchWiring, TestCore, add_lan, configure6, eventually, in_namespace, internet,
    join_lan, ping, ping6, reaches, run, switch_program, within_netns,
};
use martlet_upf::config::{DatapathChoice, DnnConfig, SwitchEngine, UeToUe};
use martlet_upf::conformance::udp_packet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use tokio::net::UdpSocket;

/// The address of N4 on a link of its own, which the data network routes to.
const CORE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// A host of the data network.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// How long something may take to arrive that must not.
const SILENCE: Duration = Duration::from_millis(500);

fn drops(core: &TestCore, reason: &str) -> u64 {
    core.status("upf")["drops"][reason].as_u64().unwrap_or(0)
}

async fn counted(core: &TestCore, reason: &str, due: u64) -> Result<()> {
    let is_counted = || (drops(core, reason) >= due).then_some(());
    eventually("each packet is counted", is_counted, || core.status("upf").to_string()).await
}

/// A UE with a session for both versions of IP, and its addresses.
async fn dual_stack(core: &TestCore, gnb: &Gnb, n: u64) -> Result<(Ue, Ipv4Addr, Ipv6Addr)> {
    core.subscribe(n, |subscriber| {
        let session_types = vec![SessionType::Ipv4v6];
        subscriber.slices[0].dnns =
            vec![SubscribedDnn { session_types, ..SubscribedDnn::new("internet") }];
    })?;
    let ue = gnb.new_ue(core.ue_config(n))?;
    ue.register().await?;
    let mut request = internet();
    request.session_type = PduSessionTypeValue::Ipv4v6;
    let session = ue.establish_pdu_session(request).await?;
    let six = configure6(&ue, session.psi).await?;
    Ok((ue, session.ipv4.context("an address")?, six))
}

async fn flows_on_the_switch(engine: SwitchEngine) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        config.upf.datapath = DatapathChoice::Switch;
        config.upf.switch.engine = engine;
        config.upf.n6.deny =
            ["10.77.0.0/16", "fd77::/64"].map(|it| it.parse().expect("a network")).into();
        config.upf.dnns = vec![DnnConfig {
            name: "internet".into(),
            ue_to_ue: UeToUe::Deny,
            ..DnnConfig::default()
        }];
    })
    .await?;
    // The machine behind the switch's next hop has the address.
    run("ip", &["addr", "add", "10.77.0.1/32", "dev", "dn"]).await?;
    let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (ue, from, from6) = dual_stack(&core, &gnb, 1).await?;
    let (neighbour, to, to6) = dual_stack(&core, &other, 2).await?;
    reaches(&ue, 1, HOST).await?;
    reaches(&neighbour, 1, HOST).await?;
    on_switch(&core, 2).await?;
    reaches(&ue, 1, HOST).await?;
    while tokio::time::timeout(SILENCE, ue.recv_ip()).await.is_ok() {}
    let listener = UdpSocket::bind((CORE, 7777)).await?;

    // An address of the core, and another UE.
    let before = (drops(&core, "n6_isolation"), drops(&core, "ue_to_ue"));
    for n in 0..5 {
        ue.send_ip(1, ping6(from6, "fd77::1".parse()?, n)).await?;
        ue.send_ip(1, ping6(from6, "ff02::1".parse()?, n)).await?;
        ue.send_ip(1, ping6(from6, to6, n)).await?;
        ue.send_ip(1, udp_packet((from, 4000), (CORE, 7777), b"core")).await?;
        ue.send_ip(1, udp_packet((from, 4000), (Ipv4Addr::BROADCAST, 7777), b"all")).await?;
        ue.send_ip(1, udp_packet((from, 4000), (to, 7777), b"neighbour")).await?;
    }
    counted(&core, "n6_isolation", before.0 + 20).await?;
    counted(&core, "ue_to_ue", before.1 + 10).await?;
    let mut buffer = [0; 64];
    let received = tokio::time::timeout(SILENCE, listener.recv_from(&mut buffer)).await;
    ensure!(received.is_err(), "the core received {received:?}");
    let received = tokio::time::timeout(SILENCE, neighbour.recv_ip()).await;
    ensure!(received.is_err(), "the other UE received {received:?}");

    // Another gNB sends in the tunnel of the session.
    let status = core.status("upf");
    let sessions = status["sessions"].as_array().context("sessions")?;
    let of_ue = sessions.iter().find(|session| session["ue"][0] == from.to_string());
    let teid = of_ue.and_then(|s| s["localTeids"][0].as_str()).context("a TEID")?;
    let teid = u32::from_str_radix(teid.trim_start_matches("0x"), 16)?;
    let packet = ping(from, HOST, 99);
    let header = g_pdu_header(teid, Some(PduSessionContainer::uplink(1)), packet.len());
    let forged = [header.context("a header")?.as_slice(), &packet].concat();
    let sender = UdpSocket::bind((SwitchWiring::gnb(2), 0)).await?;
    let before = drops(&core, "n3_source");
    for _ in 0..5 {
        sender.send_to(&forged, (Ipv4Addr::new(192, 168, 70, 1), 2152)).await?;
    }
    counted(&core, "n3_source", before + 5).await?;
    let received = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(received.is_err(), "the packet of the other gNB was answered: {received:?}");
    on_switch(&core, 2).await?;
    reaches(&ue, 1, HOST).await?;
    reaches(&ue, 1, GATEWAY).await
}

/// A socket at all addresses of the namespace of the UPF.
fn listener_of(netns: &str) -> Result<std::net::UdpSocket> {
    within_netns(netns, || {
        let socket = std::net::UdpSocket::bind("[::]:7777")?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    })
}

/// The native UPF forwards the frames of Ethernet sessions, with a switch beside it, too.
async fn frames_of_an_ethernet_session(engine: SwitchEngine) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        config.upf.datapath = DatapathChoice::Switch;
        config.upf.switch.engine = engine;
        add_lan(config);
    })
    .await?;
    let netns = core.switch_netns().context("no switch")?;
    let mac = join_lan(Some(netns)).await?;
    core.subscribe(1, |subscriber| {
        let internet = SubscribedDnn::new("internet");
        subscriber.slices[0].dnns = vec![internet, subscribed("lan", vec![SessionType::Ethernet])];
    })?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    // A flow of the same UE is on the switch.
    ue.establish_pdu_session(internet()).await?;
    reaches(&ue, 1, HOST).await?;
    on_switch(&core, 1).await?;
    while tokio::time::timeout(SILENCE, ue.recv_ip()).await.is_ok() {}
    let session = ue.establish_pdu_session(of("lan", PduSessionTypeValue::Ethernet)).await?;
    let listener = listener_of(netns)?;
    let own = [2, 0, 0, 0, 0, 1];
    let frame = |kind: [u8; 2], payload: Vec<u8>| [&mac[..], &own, &kind, &payload].concat();
    let from = Ipv4Addr::new(10, 9, 0, 2);
    let packet = |to: Ipv4Addr| udp_packet((from, 4000), (to, 7777), b"frame");
    let six = |to: &str| -> Result<Vec<u8>> { Ok(ping6("fd09::2".parse()?, to.parse()?, 1)) };
    let mut frames: Vec<Vec<u8>> = [
        // The machine, its N3, a gNB, another host of N3, and N6.
        Ipv4Addr::new(10, 9, 0, 1),
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::new(192, 168, 70, 1),
        SwitchWiring::gnb(1),
        Ipv4Addr::new(192, 168, 70, 200),
        Ipv4Addr::new(10, 99, 0, 1),
    ]
    .map(|to| frame([8, 0], packet(to)))
    .into();
    frames.push(frame([0x86, 0xdd], six("::1")?));
    // With a VLAN tag.
    let tagged = [vec![0, 0, 8, 0], packet(Ipv4Addr::new(10, 9, 0, 1))].concat();
    frames.push(frame([0x81, 0], tagged));
    let before = drops(&core, "n6_isolation");
    for frame in &frames {
        ue.send_ip(session.psi, frame.clone()).await?;
    }
    counted(&core, "n6_isolation", before + frames.len() as u64).await?;
    tokio::time::sleep(SILENCE).await;
    let received = listener.recv_from(&mut [0; 64]);
    ensure!(received.is_err(), "the machine received a frame: {received:?}");
    let answer = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(answer.is_err(), "the machine answered: {answer:?}");
    reaches(&ue, 1, HOST).await
}

#[test]
fn attack_frames_of_an_ethernet_session_beside_a_switch_reach_the_core() {
    if switch_program().is_none() {
        martlet_tests::skip("martlet-switch is not built; cargo build -p martlet-switch-target");
        return;
    }
    in_namespace(|| frames_of_an_ethernet_session(SwitchEngine::Swx));
    in_namespace(|| frames_of_an_ethernet_session(SwitchEngine::Xdp));
}

#[test]
fn attack_flows_on_a_switch_reach_the_core_and_other_ues() {
    if switch_program().is_none() {
        martlet_tests::skip("martlet-switch is not built; cargo build -p martlet-switch-target");
        return;
    }
    in_namespace(|| flows_on_the_switch(SwitchEngine::Swx));
}

#[test]
fn attack_flows_on_a_switch_in_xdp_reach_the_core_and_other_ues() {
    if switch_program().is_none() {
        martlet_tests::skip("martlet-switch is not built; cargo build -p martlet-switch-target");
        return;
    }
    in_namespace(|| flows_on_the_switch(SwitchEngine::Xdp));
}
