//! Conformance suite for datapaths: [`checks`] run on a [`Rig`].
//!
//! A rig puts a datapath between a gNB and a host of the data network, and lets a check act as
//! both. A check panics if the datapath violates the contract of [`Datapath`](crate::Datapath).
use crate::counters::DropReason;
use crate::{Change, DatapathError, Event};
use martlet_gtpu::{Direction as GtpuDirection, Message, PduSessionContainer, decode};
use martlet_pfcp::ie::{GateStatus, SdfFilter};
use martlet_upf_rules::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod packets;
mod rig;
mod rules;
mod usage;
mod waiting;

pub use packets::{g_pdu, payload_of, udp_packet};
pub use rig::{Rig, session};
pub use usage::measure;
use waiting::{await_buffered, idle};

/// One check.
pub type Check<R> = fn(&mut R);

/// All checks by name. Each needs a new rig.
pub fn checks<R: Rig>() -> Vec<(&'static str, Check<R>)> {
    vec![
        ("uplink packets lose their tunnel", uplink_packets_lose_their_tunnel),
        (
            "downlink packets get their tunnel and QoS flow",
            downlink_packets_get_their_tunnel_and_qos_flow,
        ),
        ("echo is answered", echo_is_answered),
        ("an unknown tunnel is indicated", an_unknown_tunnel_is_indicated),
        (
            "an unknown extension header that requires comprehension is reported",
            an_unknown_extension_header_is_reported,
        ),
        ("a foreign source does not pass", a_foreign_source_does_not_pass),
        ("a UE advertises no routes to another UE", a_ue_advertises_no_routes_to_another_ue),
        ("malformed bytes are ignored", malformed_bytes_are_ignored),
        ("a tunnel within a tunnel is dropped", a_tunnel_within_a_tunnel_is_dropped),
        ("a closed gate stops its direction", a_closed_gate_stops_its_direction),
        ("a bit rate of zero stops its direction", a_bit_rate_of_zero_stops_its_direction),
        ("the first rule by precedence counts", the_first_rule_by_precedence_counts),
        ("the QoS flow of a packet selects its rule", the_qos_flow_selects_the_rule),
        (
            "packets without a QFI belong to the default QoS flow",
            packets_without_qfi_belong_to_the_default_flow,
        ),
        ("packets are buffered and released in order", waiting::packets_wait_and_leave_in_order),
        (
            "packets of another UPF are buffered and released in order",
            waiting::packets_of_another_upf_wait_and_leave_in_order,
        ),
        (
            "packets of the UE are buffered and released in order",
            waiting::packets_of_the_ue_wait_and_leave_in_order,
        ),
        ("a notification is repeated on request", waiting::a_notification_is_repeated_when_asked),
        (
            "a notification is repeated while the buffer is full",
            waiting::a_notification_is_repeated_while_the_buffer_is_full,
        ),
        ("the buffer is bounded", waiting::the_buffer_is_bounded),
        (
            "buffered packets are dropped on request",
            waiting::buffered_packets_are_dropped_on_request,
        ),
        ("end markers follow the last packet", end_markers_follow_the_last_packet),
        (
            "forwarded data and their end marker return to the access network",
            forwarded_data_go_back_to_the_access,
        ),
        ("usage is counted and reported", usage::usage_is_counted_and_reported),
        ("traffic of each PDR is counted", usage::traffic_of_each_pdr_is_counted),
        ("a quota stops packets", usage::a_quota_stops_packets),
        (
            "a limit below what is used is reported at once",
            usage::a_limit_below_what_is_used_is_reported,
        ),
        ("the start of traffic is an event", rules::the_start_of_traffic_is_an_event),
        ("an inactive rule measures nothing", rules::an_inactive_rule_measures_nothing),
        ("fragments match the rule of the first one", rules::fragments_match_the_rule_of_the_first),
        ("an Error Indication is reported", an_error_indication_is_reported),
        ("a removed session has no effect", a_removed_session_has_no_effect),
        (
            "tunnels and addresses belong to one session",
            tunnels_and_addresses_belong_to_one_session,
        ),
        ("UEs reach each other", ues_reach_each_other),
        ("a UE that solicits gets its prefix", a_ue_gets_its_prefix),
    ]
}

/// Checks of what only user space does, so that a switch in front of the datapath leaves such
/// packets to it. Each needs a new rig.
pub fn checks_of_rare_rules<R: Rig>() -> Vec<(&'static str, Check<R>)> {
    vec![
        ("packets are duplicated", rules::packets_are_duplicated),
        ("a session with new rare rules continues", rules::a_session_with_new_rare_rules_continues),
    ]
}

const TEID: u32 = 0x0101_0101;
/// The gNB's end of the tunnel of a session.
const REMOTE: u32 = 0xa0a0_a0a0;

fn apply(rig: &mut impl Rig, session: &Session) {
    rig.datapath().apply(&Change::to(session)).expect("the datapath accepts the session");
}

/// Creates the session in the datapath, as an SMF does.
fn established(rig: &mut impl Rig) -> Session {
    let session = session(rig, 1, TEID, rig.ue());
    apply(rig, &session);
    session
}

fn send_uplink(rig: &mut impl Rig, qfi: u8, port: u16, payload: &[u8]) {
    let packet = udp_packet((rig.ue(), 9000), (rig.remote(), port), payload);
    rig.send_n3(&g_pdu(TEID, Some(qfi), &packet));
}

/// Waits until all packets sent on N3 are processed: the response to an echo request follows them.
fn settle(rig: &mut impl Rig) {
    rig.send_n3(&martlet_gtpu::echo_request(1));
    assert_eq!(rig.receive_n3(), Some(martlet_gtpu::echo_response(1)));
}

/// The payload and QoS flow of the next packet in the session's tunnel.
fn downlink(rig: &mut impl Rig) -> Option<(Vec<u8>, u8)> {
    let bytes = rig.receive_n3()?;
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU: {bytes:02x?}") };
    let container = pdu.container.expect("a PDU session container");
    assert_eq!(container.direction, GtpuDirection::Downlink);
    Some((payload_of(pdu.payload).expect("a UDP packet").to_vec(), container.qfi))
}

fn payload(rig: &mut impl Rig) -> Option<String> {
    downlink(rig).map(|(payload, _)| String::from_utf8_lossy(&payload).into_owned())
}

fn uplink_packets_lose_their_tunnel<R: Rig>(rig: &mut R) {
    established(rig);
    send_uplink(rig, 1, 7000, b"up");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"up"[..]));
    // Without a PDU session container, and with bytes after the message.
    let packet = udp_packet((rig.ue(), 9000), (rig.remote(), 7000), b"plain");
    let mut bytes = g_pdu(TEID, None, &packet);
    bytes.extend([0xff; 3]);
    rig.send_n3(&bytes);
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"plain"[..]));
    assert_eq!(rig.datapath().counters().uplink_packets.get(), 2);
}

fn downlink_packets_get_their_tunnel_and_qos_flow<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    rig.send_n6(7000, b"down");
    let bytes = rig.receive_n3().expect("a G-PDU");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU") };
    assert_eq!((pdu.teid, pdu.container), (REMOTE, Some(PduSessionContainer::downlink(9))));
    assert_eq!(payload_of(pdu.payload), Some(&b"down"[..]));
    session.qers.get_mut(&1).expect("QER 1").reflective = true;
    apply(rig, &session);
    rig.send_n6(7000, b"down");
    let bytes = rig.receive_n3().expect("a G-PDU");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU") };
    assert!(pdu.container.is_some_and(|container| container.rqi));
}

/// Router Solicitation and Router Advertisement (RFC 4861, 4.1 and 4.2).
fn a_ue_gets_its_prefix<R: Rig>(rig: &mut R) {
    const PREFIX: u64 = 0xfd45_0000_0000_0077;
    let mut session = session(rig, 1, TEID, rig.ue());
    session.pdrs.values_mut().for_each(|pdr| pdr.ue.push(UeAddress::V6(PREFIX)));
    apply(rig, &session);
    let (own, routers) =
        (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x2a), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2));
    let mut asked = vec![0x60, 0, 0, 0, 0, 8, 58, 255];
    asked.extend(
        own.octets().into_iter().chain(routers.octets()).chain([133, 0, 0x7b, 0x8a, 0, 0, 0, 0]),
    );
    let solicitation = g_pdu(TEID, Some(1), &asked);
    let advertised = |rig: &mut R, to: Ipv6Addr| {
        let bytes = rig.receive_n3().expect("an advertisement");
        let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU: {bytes:02x?}") };
        assert_eq!((pdu.teid, pdu.container), (REMOTE, Some(PduSessionContainer::downlink(9))));
        let payload = pdu.payload;
        assert_eq!(
            (&payload[6..8], &payload[24..40], payload[40]),
            (&[58, 255][..], &to.octets()[..], 134)
        );
        assert!(
            payload.windows(12).any(|part| part == [&PREFIX.to_be_bytes()[..], &[0; 4]].concat()),
            "{payload:02x?}"
        );
    };
    rig.send_n3(&solicitation);
    advertised(rig, own);
    settle(rig);
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    rig.datapath().advertise(1);
    advertised(rig, all_nodes);
    settle(rig);
    // Before the SMF knows the gNB's tunnel: the advertisement follows once packets may be sent.
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Buffer { notify: false };
    apply(rig, &session);
    rig.send_n3(&solicitation);
    settle(rig);
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Forward;
    apply(rig, &session);
    advertised(rig, own);
    settle(rig);
    // An idle UE is paged for one that it did not solicit.
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Buffer { notify: true };
    apply(rig, &session);
    rig.datapath().advertise(1);
    let event = rig.event();
    assert!(matches!(event, Some(Event::DownlinkData { seid: 1, .. })), "{event:?}");
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Forward;
    apply(rig, &session);
    advertised(rig, all_nodes);
    settle(rig);
    // They are signalling, not usage.
    assert_eq!(rig.datapath().forwarded(1), [0, 0]);
    assert_eq!(rig.datapath().counters().originated_packets.get(), 2);
}

fn echo_is_answered<R: Rig>(rig: &mut R) {
    rig.send_n3(&martlet_gtpu::echo_request(0x1234));
    assert_eq!(rig.receive_n3(), Some(martlet_gtpu::echo_response(0x1234)));
}

fn an_unknown_tunnel_is_indicated<R: Rig>(rig: &mut R) {
    established(rig);
    let packet = udp_packet((rig.ue(), 9000), (rig.remote(), 7000), b"lost");
    rig.send_n3(&g_pdu(0xdead, Some(1), &packet));
    let bytes = rig.receive_n3().expect("an Error Indication");
    assert_eq!(decode(&bytes), Ok(Message::ErrorIndication { teid: 0xdead, peer: rig.n3() }));
}

fn an_unknown_extension_header_is_reported<R: Rig>(rig: &mut R) {
    established(rig);
    unknown_extension(rig);
}

/// Sends one in a tunnel of the session.
fn unknown_extension<R: Rig>(rig: &mut R) {
    // A PDCP PDU number, which only gNBs exchange.
    rig.send_n3(&[0x34, 255, 0, 8, 1, 1, 1, 1, 0, 0, 0, 0xc0, 1, 0, 0, 0]);
    let bytes = rig.receive_n3().expect("a Supported Extension Headers Notification");
    assert_eq!(decode(&bytes), Ok(Message::SupportedExtensionHeaders(&[0x85])));
}

fn a_foreign_source_does_not_pass<R: Rig>(rig: &mut R) {
    established(rig);
    let packet =
        udp_packet((Ipv4Addr::new(10, 45, 77, 77), 9000), (rig.remote(), 7000), b"foreign");
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    send_uplink(rig, 1, 7000, b"own");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"own"[..]));
    let dropped = |rig: &mut R| rig.datapath().counters().drops(DropReason::ForeignSource).get();
    assert_eq!(dropped(rig), 1);
    // The same holds where the uplink PDR names no address: the session's address is checked.
    let mut session = session(rig, 1, TEID, rig.ue());
    session.pdrs.get_mut(&1).expect("PDR 1").ue.clear();
    apply(rig, &session);
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    send_uplink(rig, 1, 7000, b"own again");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"own again"[..]));
    assert_eq!(dropped(rig), 2);
}

/// The UE's hop limit reaches the other UE, so only the source makes its Router Advertisement
/// invalid there (RFC 4861, 6.1.2): a link-local address, which is of another link.
fn a_ue_advertises_no_routes_to_another_ue<R: Rig>(rig: &mut R) {
    const PREFIXES: [u64; 2] = [0xfd45_0000_0000_0077, 0xfd45_0000_0000_0088];
    let other = Ipv4Addr::new(10, 45, 0, 3);
    let mut second = session(rig, 2, 0x0202_0202, other);
    second.fars.get_mut(&2).expect("FAR 2").tunnel = Some(Tunnel { teid: 0xcccc, peer: rig.gnb() });
    for (mut session, prefix) in [session(rig, 1, TEID, rig.ue()), second].into_iter().zip(PREFIXES)
    {
        session.pdrs.values_mut().for_each(|pdr| pdr.ue.push(UeAddress::V6(prefix)));
        apply(rig, &session);
    }
    let [own, victim] = PREFIXES.map(|prefix| Ipv6Addr::from_bits((u128::from(prefix) << 64) | 7));
    let advertisement = |from: Ipv6Addr| {
        let mut packet = vec![0x60, 0, 0, 0, 0, 16, 58, 255];
        packet.extend(from.octets().into_iter().chain(victim.octets()));
        packet.extend([134, 0, 0, 0, 64, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet
    };
    let of_router = advertisement(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
    rig.send_n3(&g_pdu(TEID, Some(1), &of_router));
    settle(rig);
    assert_eq!(rig.datapath().counters().drops(DropReason::ForeignSource).get(), 1);
    // With another source, the other UE ignores it.
    let packet = advertisement(own);
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    let bytes = rig.receive_n3().expect("a G-PDU to the other UE");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU: {bytes:02x?}") };
    assert_eq!((pdu.teid, pdu.payload), (0xcccc, packet.as_slice()));
}

fn malformed_bytes_are_ignored<R: Rig>(rig: &mut R) {
    established(rig);
    for bytes in [
        &[][..],
        &[0x30],
        &[0x50, 1, 0, 0],
        &[0x34, 255, 0, 4, 1, 1, 1, 1, 0, 0, 0, 0x85],
        &[0xff; 40],
    ] {
        rig.send_n3(bytes);
    }
    // A tunnel with a payload that is not an IP packet, and with a truncated one.
    for inner in [
        &[][..],
        &[0x45],
        &[0x60; 39],
        &[0x45, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        rig.send_n3(&g_pdu(TEID, Some(1), inner));
    }
    send_uplink(rig, 1, 7000, b"after");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"after"[..]));
}

fn a_tunnel_within_a_tunnel_is_dropped<R: Rig>(rig: &mut R) {
    established(rig);
    let other = Ipv4Addr::new(10, 45, 0, 3);
    let second = session(rig, 2, 0x0202_0202, other);
    apply(rig, &second);
    let IpAddr::V4(n3) = rig.n3() else { return };
    // With another UE's source address; and in a removed tunnel.
    let stolen =
        g_pdu(0x0202_0202, Some(1), &udp_packet((other, 9000), (rig.remote(), 7000), b"stolen"));
    let gone = martlet_gtpu::error_indication(REMOTE, rig.gnb());
    for within in [&stolen, &gone, &martlet_gtpu::echo_request(1)] {
        rig.send_n3(&g_pdu(TEID, Some(1), &udp_packet((rig.ue(), 2152), (n3, 2152), within)));
    }
    send_uplink(rig, 1, 7000, b"own");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"own"[..]));
    assert_eq!(rig.datapath().counters().drops(DropReason::Malformed).get(), 3);
    assert!(rig.event().is_none());
}

fn a_closed_gate_stops_its_direction<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    session.qers.get_mut(&1).expect("QER 1").gate =
        GateStatus { uplink_closed: true, downlink_closed: false };
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"stopped");
    settle(rig);
    rig.send_n6(7000, b"passes");
    assert_eq!(payload(rig).as_deref(), Some("passes"));
    session.qers.get_mut(&1).expect("QER 1").gate =
        GateStatus { uplink_closed: false, downlink_closed: true };
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"passes");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"passes"[..]));
}

fn a_bit_rate_of_zero_stops_its_direction<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    session.qers.get_mut(&1).expect("QER 1").mbr =
        Some(BitRate { uplink: 0, downlink: 1_000_000_000 });
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"stopped");
    settle(rig);
    rig.send_n6(7000, b"passes");
    assert_eq!(payload(rig).as_deref(), Some("passes"));
    session.qers.get_mut(&1).expect("QER 1").mbr = None;
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"passes");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"passes"[..]));
}

fn the_first_rule_by_precedence_counts<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    // Packets to and from port 7001 are dropped by rules with a higher precedence.
    let drop = Far::new(9, Action::Drop);
    session.fars.insert(9, drop);
    let description = Some("permit out 17 from any 7001 to assigned".to_string());
    for (id, of) in [(11, 1), (12, 2)] {
        let filters =
            vec![SdfFilter { flow_description: description.clone(), ..Default::default() }];
        let pdr = Pdr { id, precedence: 10, far: 9, filters, ..session.pdrs[&of].clone() };
        session.pdrs.insert(id, pdr);
    }
    session.resolve(&RuleLimits::default()).expect("consistent rules");
    apply(rig, &session);
    send_uplink(rig, 1, 7001, b"dropped");
    send_uplink(rig, 1, 7000, b"kept");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"kept"[..]));
    rig.send_n6(7001, b"dropped");
    rig.send_n6(7000, b"kept");
    assert_eq!(payload(rig).as_deref(), Some("kept"));
}

fn the_qos_flow_selects_the_rule<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    session.pdrs.get_mut(&1).expect("PDR 1").qfis = vec![5];
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"of another flow");
    send_uplink(rig, 5, 7000, b"of its flow");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"of its flow"[..]));
}

/// A session with a QoS flow for port 7001, 5, before that for all packets, 9.
fn with_two_flows(rig: &mut impl Rig) {
    let mut session = session(rig, 1, TEID, rig.ue());
    let default = session.pdrs.get_mut(&1).expect("PDR 1");
    default.qfis = vec![9];
    let description = Some("permit out 17 from any 7001 to assigned".to_string());
    let filters = vec![SdfFilter { flow_description: description, ..Default::default() }];
    // Its packets are dropped, so a packet that passes was matched as the default flow's.
    let own = Pdr { id: 11, precedence: 10, far: 9, qfis: vec![5], filters, ..default.clone() };
    session.pdrs.insert(11, own);
    session.fars.insert(9, Far::new(9, Action::Drop));
    session.resolve(&RuleLimits::default()).expect("consistent rules");
    apply(rig, &session);
}

fn send_without_qfi(rig: &mut impl Rig, port: u16, payload: &[u8]) {
    let packet = udp_packet((rig.ue(), 9000), (rig.remote(), port), payload);
    rig.send_n3(&g_pdu(TEID, None, &packet));
}

fn packets_without_qfi_belong_to_the_default_flow<R: Rig>(rig: &mut R) {
    with_two_flows(rig);
    send_without_qfi(rig, 7000, b"plain");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"plain"[..]));
    send_without_qfi(rig, 7001, b"not of flow 5");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"not of flow 5"[..]));
    // A wrong QFI is not treated as a missing one.
    send_uplink(rig, 3, 7000, b"of no flow");
    send_uplink(rig, 5, 7001, b"of flow 5");
    send_uplink(rig, 9, 7000, b"of the default flow");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"of the default flow"[..]));
    let (counters, gnb) = (rig.datapath().counters(), rig.gnb());
    assert_eq!(counters.unmarked_packets.get(), 2);
    assert_eq!(counters.unmarked_peers.all(), [(gnb, 2)].into());
    assert_eq!(counters.drops(DropReason::NoRule).get(), 1);
    assert_eq!(counters.drops(DropReason::Action).get(), 1);
}

/// For a rig whose `upf.n3.require_qfi` is set: packets without a QFI are dropped, with the drop
/// reason for it.
pub fn packets_without_qfi_are_dropped<R: Rig>(rig: &mut R) {
    with_two_flows(rig);
    send_without_qfi(rig, 7000, b"plain");
    send_uplink(rig, 3, 7000, b"of no flow");
    send_uplink(rig, 9, 7000, b"marked");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"marked"[..]));
    let counters = rig.datapath().counters();
    assert_eq!(counters.drops(DropReason::NoQfi).get(), 1);
    assert_eq!(counters.drops(DropReason::NoRule).get(), 1);
    assert_eq!(counters.unmarked_packets.get(), 0);
    // A PDR without QFIs does not need one.
    established(rig);
    send_without_qfi(rig, 7000, b"plain");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"plain"[..]));
}

/// During a handover, packets that still arrive at the source gNB are forwarded through the UPF to
/// the target gNB (TS 23.502, 4.9.1.3).
fn forwarded_data_go_back_to_the_access<R: Rig>(rig: &mut R) {
    const FORWARDING: u32 = 0x0202_0202;
    let mut session = established(rig);
    let far = Far {
        id: 7,
        tunnel: Some(Tunnel { teid: 0xcccc, peer: rig.gnb() }),
        ..session.fars[&2].clone()
    };
    let local = session.pdrs[&1].local.map(|local| LocalTunnel { teid: FORWARDING, ..local });
    let uplink = session.pdrs[&1].clone();
    let pdr = Pdr {
        id: 7,
        local,
        far: 7,
        ue: vec![],
        qfis: vec![],
        qers: vec![],
        urrs: vec![],
        ..uplink
    };
    session.fars.insert(7, far);
    session.pdrs.insert(7, pdr);
    session.resolve(&Default::default()).expect("consistent rules");
    apply(rig, &session);
    let packet = udp_packet((rig.remote(), 7000), (rig.ue(), 9000), b"forwarded");
    rig.send_n3(&g_pdu(FORWARDING, Some(9), &packet));
    let bytes = rig.receive_n3().expect("a G-PDU");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU") };
    assert_eq!((pdu.teid, pdu.container), (0xcccc, Some(PduSessionContainer::downlink(9))));
    assert_eq!(payload_of(pdu.payload), Some(&b"forwarded"[..]));
    rig.send_n3(&martlet_gtpu::end_marker(FORWARDING, None));
    assert_eq!(
        decode(&rig.receive_n3().expect("an End Marker")),
        Ok(Message::EndMarker { teid: 0xcccc })
    );
    // Forwarded data does not reach the data network, and the source address is still checked in
    // the UE's own tunnel.
    let packet = udp_packet((rig.remote(), 9000), (rig.remote(), 7000), b"foreign");
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    settle(rig);
    let packet = udp_packet((rig.ue(), 9000), (rig.remote(), 7000), b"own");
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    assert_eq!(rig.receive_n6(), Some(b"own".to_vec()), "and no other packet before it");
}

fn end_markers_follow_the_last_packet<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    rig.send_n6(7000, b"last");
    // Sent before the path switch, so that the end marker must follow it.
    for _ in 0..200 {
        if rig.datapath().counters().downlink_packets.get() == 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let old = Tunnel { teid: REMOTE, peer: rig.gnb() };
    session.fars.get_mut(&2).expect("FAR 2").tunnel = Some(Tunnel { teid: 0xbbbb, ..old });
    rig.datapath()
        .apply(&Change { end_markers: &[old], ..Change::to(&session) })
        .expect("another tunnel");
    rig.send_n6(7000, b"first");
    assert_eq!(payload(rig).as_deref(), Some("last"));
    let marker = rig.receive_n3().expect("an End Marker");
    assert_eq!(decode(&marker), Ok(Message::EndMarker { teid: REMOTE }));
    let bytes = rig.receive_n3().expect("a G-PDU");
    assert!(matches!(decode(&bytes), Ok(Message::GPdu(pdu)) if pdu.teid == 0xbbbb));
}

fn an_error_indication_is_reported<R: Rig>(rig: &mut R) {
    established(rig);
    rig.send_n3(&martlet_gtpu::error_indication(REMOTE, rig.gnb()));
    let event = rig.event();
    assert_eq!(event, Some(Event::ErrorIndication { peer: rig.gnb(), teid: REMOTE }));
}

fn a_removed_session_has_no_effect<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle(rig, &mut session);
    rig.send_n6(7000, b"dropped");
    await_buffered(rig, 1, 1);
    assert_eq!(rig.datapath().remove(1), []);
    assert_eq!(rig.datapath().buffered(1).packets, 0);
    send_uplink(rig, 1, 7000, b"lost");
    let bytes = rig.receive_n3().expect("an Error Indication");
    assert_eq!(decode(&bytes), Ok(Message::ErrorIndication { teid: TEID, peer: rig.n3() }));
    assert_eq!(rig.datapath().remove(1), []);
    // Its tunnel and address are free.
    let again = super::conformance::session(rig, 2, TEID, rig.ue());
    apply(rig, &again);
    send_uplink(rig, 1, 7000, b"again");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"again"[..]));
}

fn tunnels_and_addresses_belong_to_one_session<R: Rig>(rig: &mut R) {
    established(rig);
    for other in
        [session(rig, 2, TEID, Ipv4Addr::new(10, 45, 0, 3)), session(rig, 2, 0x0202_0202, rig.ue())]
    {
        let rejected = rig.datapath().apply(&Change::to(&other));
        assert!(matches!(rejected, Err(DatapathError::Pdr { .. })), "{rejected:?}");
    }
    send_uplink(rig, 1, 7000, b"as before");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"as before"[..]));
}

fn ues_reach_each_other<R: Rig>(rig: &mut R) {
    established(rig);
    let other = Ipv4Addr::new(10, 45, 0, 3);
    let mut second = session(rig, 2, 0x0202_0202, other);
    second.fars.get_mut(&2).expect("FAR 2").tunnel = Some(Tunnel { teid: 0xcccc, peer: rig.gnb() });
    apply(rig, &second);
    let packet = udp_packet((rig.ue(), 9000), (other, 9000), b"hello");
    rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    let bytes = rig.receive_n3().expect("a G-PDU to the other UE");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU") };
    assert_eq!((pdu.teid, payload_of(pdu.payload)), (0xcccc, Some(&b"hello"[..])));
    assert_eq!(pdu.container, Some(PduSessionContainer::downlink(9)));
}
