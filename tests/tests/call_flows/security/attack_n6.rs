//! Attacks of UEs through their own sessions: on the machine of the core, on N2, and on gNBs.
use crate::user_plane::ethernet::{of, subscribed};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_ran::Ue;
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    DN_HOST, DataNetworkHost, GATEWAY, N6_GATEWAY, TestCore, add_lan, configure6, in_namespace,
    internet, is_installed, join_lan, ping, reaches, run, without_switch,
};
use martlet_upf::UpfConfig;
use martlet_upf::config::{AllowedService, DatapathChoice, ServiceProtocol};
use martlet_upf::conformance::udp_packet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::{Duration, Instant};

/// The address of N2 and N3 on a link of their own.
const CORE: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 10);
const CORE6: &str = "2001:db8:7::10";
/// A gNB on that link.
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 20);
const NEIGHBOUR6: &str = "2001:db8:7::20";
const SCTP: u8 = 132;
/// A port of the machine at which something listens at all addresses.
const PORT: u16 = 7777;
/// How long something may take to arrive that must not.
const SILENCE: Duration = Duration::from_millis(500);

/// Creates the link of the core.
async fn core_link() -> Result<()> {
    for command in [
        "link add core0 type veth peer name core1".to_owned(),
        format!("addr add {CORE}/24 dev core0"),
        format!("addr add {CORE6}/64 dev core0 nodad"),
        "link set core0 up".to_owned(),
        "link set core1 up".to_owned(),
    ] {
        run("ip", &command.split(' ').collect::<Vec<_>>()).await?;
    }
    Ok(())
}

fn with(datapath: DatapathChoice) -> impl FnOnce(&mut UpfConfig) {
    move |config| {
        without_switch(config);
        config.datapath = datapath;
    }
}

fn drops(core: &TestCore, reason: &str) -> u64 {
    core.status("upf")["drops"][reason].as_u64().unwrap_or(0)
}

/// The checksum of SCTP (RFC 9260, appendix A).
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 }
        })
    })
}

/// An INIT in IPv4.
fn init(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut sctp = [&40_000u16.to_be_bytes()[..], &38_412u16.to_be_bytes(), &[0; 8]].concat();
    sctp.extend([1, 0, 0, 20]);
    sctp.extend(0x1234_5678u32.to_be_bytes());
    sctp.extend([0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 1]);
    let sum = crc32c(&sctp).to_le_bytes();
    sctp[8..12].copy_from_slice(&sum);
    let mut packet = udp_packet((from, 0), (to, 0), &[]);
    packet.truncate(20);
    packet[9] = SCTP;
    let length = (20 + sctp.len()) as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[10..12].fill(0);
    let words = packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    [packet, sctp].concat()
}

/// Whether N2 answers an INIT of a UE with an INIT ACK.
async fn n2_answers(ue: &Ue, from: Ipv4Addr, to: Ipv4Addr, limit: Duration) -> Result<bool> {
    let started = Instant::now();
    while started.elapsed() < limit {
        ue.send_ip(1, init(from, to)).await?;
        let answered = async {
            loop {
                let (_, packet) = ue.recv_ip().await?;
                let is_answer = packet.get(9) == Some(&SCTP) && packet.get(32) == Some(&2);
                if is_answer && packet.get(12..16) == Some(&to.octets()) {
                    return anyhow::Ok(());
                }
            }
        };
        if tokio::time::timeout(Duration::from_millis(300), answered).await.is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The attack fails by default; where the configuration opens N2, it succeeds.
async fn n2_through_a_session(datapath: DatapathChoice, open: bool) -> Result<()> {
    core_link().await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(datapath)(&mut config.upf);
        config.amf.n2.bind = vec![CORE.into()];
        if open {
            config.upf.n6.allow.push(AllowedService {
                address: IpAddr::V4(CORE).into(),
                protocol: Some(ServiceProtocol::Sctp),
                port: Some(38_412),
            });
        }
    })
    .await?;
    let mut config = core.gnb_config(1);
    config.amf = (CORE, 38_412).into();
    let gnb = martlet_ran::Gnb::connect(config).await?;
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    let limit = if open { Duration::from_secs(20) } else { Duration::from_secs(1) };
    let answered = n2_answers(&ue, address, CORE, limit).await?;
    ensure!(answered == open, "N2 answers the UE: {answered}");
    ensure!(open || drops(&core, "n6_isolation") > 0, "{}", core.status("upf"));
    Ok(())
}

#[test]
fn attack_ue_reaches_n2_through_its_session() {
    if is_installed("nft") {
        in_namespace(|| n2_through_a_session(DatapathChoice::Kernel, false));
    }
}

#[test]
fn attack_ue_reaches_n2_through_its_session_with_xdp() {
    if is_installed("nft") {
        in_namespace(|| n2_through_a_session(DatapathChoice::Xdp, false));
    }
}

#[test]
fn ue_reaches_n2_where_the_configuration_opens_it() {
    if is_installed("nft") {
        in_namespace(|| n2_through_a_session(DatapathChoice::Kernel, true));
        in_namespace(|| n2_through_a_session(DatapathChoice::Xdp, true));
    }
}

/// What a listener at all addresses of the machine receives of a UE that tries all of them.
async fn services_of_the_machine(datapath: DatapathChoice, by_programs: bool) -> Result<()> {
    core_link().await?;
    let _host = DataNetworkHost::connect(false).await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(datapath)(&mut config.upf);
        config.amf.n2.bind.push(CORE.into());
        if by_programs {
            // The programs translate, to an address that the machine has for itself, too.
            config.upf.xdp.nat.addresses = vec![N6_GATEWAY];
            config.upf.xdp.interfaces = vec!["lo".into(), "dn0".into()];
        }
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    reaches(&ue, 1, DN_HOST).await?;
    let listener = UdpSocket::bind("[::]:7777")?;
    listener.set_nonblocking(true)?;
    // Loopback services are reached through the interface of the programs, if at all.
    let before = drops(&core, "n6_isolation");
    let targets = [
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::new(127, 0, 0, 8),
        Ipv4Addr::new(127, 0, 0, 11),
        CORE,
        N6_GATEWAY,
        GATEWAY,
        Ipv4Addr::BROADCAST,
        Ipv4Addr::new(10, 45, 255, 255),
        Ipv4Addr::new(192, 168, 7, 255),
        Ipv4Addr::new(224, 0, 0, 1),
        Ipv4Addr::UNSPECIFIED,
    ];
    for to in targets {
        ue.send_ip(1, udp_packet((address, 4000), (to, PORT), to.to_string().as_bytes())).await?;
    }
    // Pings of any address but the gateway's.
    for to in [Ipv4Addr::new(127, 0, 0, 8), CORE, N6_GATEWAY] {
        ue.send_ip(1, ping(address, to, 1)).await?;
    }
    let all = before + targets.len() as u64 + 3;
    martlet_tests::eventually(
        "each packet is counted",
        || (drops(&core, "n6_isolation") >= all).then_some(()),
        || core.status("upf").to_string(),
    )
    .await?;
    tokio::time::sleep(SILENCE).await;
    let mut buffer = [0; 64];
    let received = listener.recv_from(&mut buffer);
    ensure!(received.is_err(), "the machine received {}", String::from_utf8_lossy(&buffer));
    let answer = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(answer.is_err(), "the machine answered: {answer:?}");
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn attack_ue_reaches_services_of_the_machine() {
    if is_installed("nft") {
        in_namespace(|| services_of_the_machine(DatapathChoice::Kernel, false));
    }
}

#[test]
fn attack_ue_reaches_services_of_the_machine_with_xdp() {
    if is_installed("nft") {
        in_namespace(|| services_of_the_machine(DatapathChoice::Xdp, false));
    }
}

/// The inner end of the link of the programs has `accept_local` and `route_localnet`, which would
/// let packets to the loopback in.
#[test]
fn attack_ue_reaches_services_of_the_machine_with_nat_by_programs() {
    in_namespace(|| services_of_the_machine(DatapathChoice::Xdp, true));
}

/// A UE of an Ethernet session asks for the machine and sends to it, over IPv4 and IPv6.
async fn services_by_frames(datapath: DatapathChoice) -> Result<()> {
    core_link().await?;
    let address = format!("addr add {NEIGHBOUR}/24 dev core0");
    run("ip", &address.split(' ').collect::<Vec<_>>()).await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(datapath)(&mut config.upf);
        config.upf.n3.address = (CORE, 2152).into();
        config.upf.xdp.interfaces = vec!["lo".into()];
        add_lan(config);
    })
    .await?;
    let mac = join_lan(None).await?;
    core.subscribe(1, |subscriber| {
        subscriber.slices[0].dnns = vec![subscribed("lan", vec![SessionType::Ethernet])];
    })?;
    let mut config = core.gnb_config(1);
    config.n3 = Some(NEIGHBOUR.into());
    let gnb = martlet_ran::Gnb::connect(config).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    ue.establish_pdu_session(of("lan", martlet_nas::PduSessionTypeValue::Ethernet)).await?;
    let listener = UdpSocket::bind("[::]:7777")?;
    listener.set_nonblocking(true)?;
    let own = [2, 0, 0, 0, 0, 1];
    let (from, machine) = (Ipv4Addr::new(10, 9, 0, 2), Ipv4Addr::new(10, 9, 0, 1));
    let frame = |to: &[u8], kind: [u8; 2], payload: Vec<u8>| [to, &own, &kind, &payload].concat();
    let packet = |to: Ipv4Addr| udp_packet((from, 4000), (to, PORT), b"frame");
    let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &own, &from.octets(), &[0; 6], &machine.octets()];
    let six = |to: &str| -> Result<Vec<u8>> { Ok(udp6("fd09::2".parse()?, to.parse()?, PORT)) };
    let frames = [
        frame(&[0xff; 6], [8, 6], arp.concat()),
        frame(&mac, [8, 0], packet(machine)),
        frame(&mac, [8, 0], packet(Ipv4Addr::LOCALHOST)),
        frame(&mac, [8, 0], packet(Ipv4Addr::new(127, 0, 0, 8))),
        frame(&mac, [0x86, 0xdd], six("::1")?),
        frame(&mac, [0x86, 0xdd], six("fd45::1")?),
        // N2 and N3, a gNB, and another host of their network.
        frame(&mac, [8, 0], packet(CORE)),
        frame(&mac, [8, 0], packet(NEIGHBOUR)),
        frame(&mac, [8, 0], packet(Ipv4Addr::new(192, 168, 7, 21))),
        frame(&mac, [0x86, 0xdd], six(CORE6)?),
        // With a VLAN tag.
        frame(&mac, [0x81, 0], [vec![0, 0, 8, 0], packet(machine)].concat()),
        // With two priority tags, which the kernel removes.
        frame(&mac, [0x81, 0], [vec![0, 0, 0x81, 0, 0, 0, 8, 0], packet(machine)].concat()),
    ];
    let before = drops(&core, "n6_isolation");
    for frame in &frames {
        ue.send_ip(1, frame.clone()).await?;
    }
    let all = before + frames.len() as u64;
    martlet_tests::eventually(
        "each frame is counted",
        || (drops(&core, "n6_isolation") >= all).then_some(()),
        || core.status("upf").to_string(),
    )
    .await?;
    tokio::time::sleep(SILENCE).await;
    let received = listener.recv_from(&mut [0; 64]);
    ensure!(received.is_err(), "the machine received a frame: {received:?}");
    let answer = tokio::time::timeout(SILENCE, ue.recv_ip()).await;
    ensure!(answer.is_err(), "the machine answered: {answer:?}");
    Ok(())
}

#[test]
fn attack_ue_reaches_services_of_the_machine_by_frames() {
    in_namespace(|| services_by_frames(DatapathChoice::Kernel));
    in_namespace(|| services_by_frames(DatapathChoice::Xdp));
}

/// A UDP packet over IPv6, without data.
fn udp6(from: Ipv6Addr, to: Ipv6Addr, port: u16) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
    packet.extend(from.octets());
    packet.extend(to.octets());
    let pseudo =
        packet[8..40].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    // Addresses, length, protocol, and the header (RFC 8200, 8.1).
    let sum = pseudo.sum::<u32>() + 8 + 17 + 4000 + u32::from(port) + 8;
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet.extend([4000, port, 8, checksum].iter().flat_map(|word| word.to_be_bytes()));
    packet
}

/// A UE with IPv6 sends to addresses of the machine, or to a gNB whose N3 has IPv6 and another host
/// of that network.
async fn targets_over_ipv6(datapath: DatapathChoice, at_gnb: bool) -> Result<()> {
    core_link().await?;
    let address = format!("addr add {NEIGHBOUR6}/64 dev core0 nodad");
    run("ip", &address.split(' ').collect::<Vec<_>>()).await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(datapath)(&mut config.upf);
        if at_gnb {
            let own: Ipv6Addr = CORE6.parse().expect("an address");
            config.upf.n3.address = (own, 2152).into();
            config.upf.xdp.interfaces = vec!["lo".into()];
        }
    })
    .await?;
    core.subscribe(1, |subscriber| {
        let session_types = vec![SessionType::Ipv4, SessionType::Ipv6];
        subscriber.slices[0].dnns =
            vec![SubscribedDnn { session_types, ..SubscribedDnn::new("internet") }];
    })?;
    let mut config = core.gnb_config(1);
    if at_gnb {
        config.n3 = Some(NEIGHBOUR6.parse()?);
    }
    let gnb = martlet_ran::Gnb::connect(config).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let mut request = internet();
    request.session_type = martlet_nas::PduSessionTypeValue::Ipv6;
    let session = ue.establish_pdu_session(request).await?;
    let own = configure6(&ue, session.psi).await?;
    martlet_tests::reaches6(&ue, session.psi, own, "fd45::1".parse()?).await?;
    // What listens at all addresses, the gNB's among them.
    let listener = UdpSocket::bind(("::", PORT))?;
    listener.set_nonblocking(true)?;
    let targets: &[(&str, u16)] = if at_gnb {
        &[
            (NEIGHBOUR6, PORT),
            (NEIGHBOUR6, 2152),
            ("2001:db8:7::21", PORT),
            ("2001:db8:7::21", 2152),
        ]
    } else {
        &[
            (CORE6, PORT),
            ("::1", PORT),
            ("fd45::1", PORT),
            ("ff02::1", PORT),
            ("::ffff:192.168.7.10", PORT),
        ]
    };
    let before = drops(&core, "n6_isolation");
    for (to, port) in targets {
        ue.send_ip(session.psi, udp6(own, to.parse()?, *port)).await?;
    }
    let all = before + targets.len() as u64;
    martlet_tests::eventually(
        "each packet is counted",
        || (drops(&core, "n6_isolation") >= all).then_some(()),
        || core.status("upf").to_string(),
    )
    .await?;
    tokio::time::sleep(SILENCE).await;
    let received = listener.recv_from(&mut [0; 64]);
    ensure!(received.is_err(), "a packet was received: {received:?}");
    martlet_tests::reaches6(&ue, session.psi, own, "fd45::1".parse()?).await
}

#[test]
fn attack_ue_reaches_services_of_the_machine_over_ipv6() {
    if is_installed("nft") {
        in_namespace(|| targets_over_ipv6(DatapathChoice::Kernel, false));
        in_namespace(|| targets_over_ipv6(DatapathChoice::Xdp, false));
    }
}

/// The gNB's end of a UE's tunnel, as the UPF knows it.
fn downlink_tunnel(core: &TestCore, ue: Ipv4Addr) -> Result<(u32, Ipv4Addr)> {
    let status = core.status("upf");
    let sessions = status["sessions"].as_array().context("sessions")?;
    let session = sessions.iter().find(|session| session["ue"][0] == ue.to_string());
    let text = session.and_then(|s| s["remote"][0].as_str()).context("a tunnel")?;
    let (teid, peer) = text.split_once('@').context("TEID and address")?;
    Ok((u32::from_str_radix(teid.trim_start_matches("0x"), 16)?, peer.parse()?))
}

/// A UE sends GTP-U to the gNB, with the TEID of another UE's downlink.
async fn gtpu_to_the_gnb(datapath: DatapathChoice) -> Result<()> {
    core_link().await?;
    let address = format!("addr add {NEIGHBOUR}/24 dev core0");
    run("ip", &address.split(' ').collect::<Vec<_>>()).await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(datapath)(&mut config.upf);
        config.upf.n3.address = (CORE, 2152).into();
        config.upf.xdp.interfaces = vec!["lo".into()];
    })
    .await?;
    let mut config = core.gnb_config(1);
    config.n3 = Some(NEIGHBOUR.into());
    let gnb = martlet_ran::Gnb::connect(config).await?;
    let (attacker, from) = core.ue_with_session(&gnb, 1).await?;
    let (victim, its_address) = core.ue_with_session(&gnb, 2).await?;
    reaches(&attacker, 1, GATEWAY).await?;
    reaches(&victim, 1, GATEWAY).await?;
    let (teid, peer) = downlink_tunnel(&core, its_address)?;
    ensure!(peer == NEIGHBOUR, "the tunnel leads to {peer}");
    let forged = udp_packet((Ipv4Addr::new(9, 9, 9, 9), 53), (its_address, 4000), b"forged");
    let container = Some(PduSessionContainer::downlink(1));
    let header = g_pdu_header(teid, container, forged.len()).context("a header")?;
    let message = [header.as_slice(), &forged].concat();
    let before = drops(&core, "n6_isolation");
    for port in [2152, 40_000] {
        attacker.send_ip(1, udp_packet((from, port), (NEIGHBOUR, 2152), &message)).await?;
    }
    attacker.send_ip(1, ping(from, NEIGHBOUR, 1)).await?;
    martlet_tests::eventually(
        "each packet is counted",
        || (drops(&core, "n6_isolation") >= before + 3).then_some(()),
        || core.status("upf").to_string(),
    )
    .await?;
    let received = tokio::time::timeout(SILENCE, victim.recv_ip()).await;
    ensure!(received.is_err(), "the victim received {received:?}");
    let received = tokio::time::timeout(SILENCE, attacker.recv_ip()).await;
    ensure!(received.is_err(), "the gNB answered {received:?}");
    reaches(&victim, 1, GATEWAY).await
}

#[test]
fn attack_ue_injects_gtpu_into_another_ues_downlink() {
    if is_installed("nft") {
        in_namespace(|| gtpu_to_the_gnb(DatapathChoice::Kernel));
    }
}

#[test]
fn attack_ue_injects_gtpu_into_another_ues_downlink_with_xdp() {
    if is_installed("nft") {
        in_namespace(|| gtpu_to_the_gnb(DatapathChoice::Xdp));
    }
}

#[test]
fn attack_ue_reaches_the_gnb_over_ipv6() {
    in_namespace(|| targets_over_ipv6(DatapathChoice::Kernel, true));
    in_namespace(|| targets_over_ipv6(DatapathChoice::Xdp, true));
}

/// A UE opens more flows than it may have: another UE still gets one.
async fn flows_of_one_ue() -> Result<()> {
    let host = DataNetworkHost::connect(false).await?;
    let core = TestCore::start(Sbi::Local, |config| {
        with(DatapathChoice::Kernel)(&mut config.upf);
        config.upf.n6.nat_flows_per_ue = 20;
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (attacker, from) = core.ue_with_session(&gnb, 1).await?;
    let (other, _) = core.ue_with_session(&gnb, 2).await?;
    reaches(&attacker, 1, DN_HOST).await?;
    for port in 1..=200 {
        attacker.send_ip(1, udp_packet((from, 10_000 + port), (DN_HOST, 9), b"flow")).await?;
    }
    let dropped = async || -> Result<u64> {
        let table = run("nft", &["list", "ruleset"]).await?;
        let counter = table.split("counter packets ").nth(1).unwrap_or_default();
        Ok(counter.split(' ').next().unwrap_or_default().parse().unwrap_or(0))
    };
    let started = Instant::now();
    while dropped().await? < 170 {
        ensure!(started.elapsed() < Duration::from_secs(10), "{} dropped", dropped().await?);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    reaches(&other, 1, DN_HOST).await?;
    drop(host);
    Ok(())
}

#[test]
fn attack_ue_takes_the_ports_of_nat() {
    if is_installed("nft") {
        in_namespace(flows_of_one_ue);
    }
}
