//! Rules that few SMFs use: starts of traffic, rules that measure nothing, duplicates, marks, and
//! the fragments of a datagram.
use super::{
    TEID, apply, await_buffered, downlink, established, idle, measure, send_uplink, session,
    settle, unknown_extension,
};
use crate::conformance::{Rig, g_pdu, payload_of, udp_packet};
use crate::counters::DropReason;
use crate::{Event, Reached};
use martlet_gtpu::{Message, decode};
use martlet_pfcp::ie::SdfFilter;
use martlet_upf_rules::*;
use std::net::IpAddr;

pub(super) fn the_start_of_traffic_is_an_event<R: Rig>(rig: &mut R) {
    let mut session = session(rig, 1, TEID, rig.ue());
    measure(&mut session, None, None);
    session.urrs.get_mut(&1).expect("URR 1").awaits_traffic = true;
    apply(rig, &session);
    assert_eq!(rig.event(), None);
    send_uplink(rig, 1, 7000, b"first");
    assert!(rig.receive_n6().is_some());
    let started = Event::TrafficStarted { seid: 1, urr: 1 };
    assert_eq!(rig.event(), Some(started.clone()));
    send_uplink(rig, 1, 7000, b"second");
    assert!(rig.receive_n6().is_some());
    assert_eq!(rig.event(), None);
    assert!(rig.datapath().last_packet(1, 1).is_some());
    assert_eq!(rig.datapath().last_packet(1, 2), None);
    // Once more after it has stopped.
    for awaits in [false, true] {
        session.urrs.get_mut(&1).expect("URR 1").awaits_traffic = awaits;
        apply(rig, &session);
    }
    rig.send_n6(7000, b"third");
    assert!(downlink(rig).is_some());
    assert_eq!(rig.event(), Some(started));
    assert_eq!(rig.event(), None);
}

pub(super) fn an_inactive_rule_measures_nothing<R: Rig>(rig: &mut R) {
    let mut session = session(rig, 1, TEID, rig.ue());
    measure(&mut session, Some(1), Some(1));
    // Nor does it stop traffic after its time quota.
    let urr = session.urrs.get_mut(&1).expect("URR 1");
    (urr.inactive, urr.exhausted) = (true, true);
    apply(rig, &session);
    for _ in 0..2 {
        send_uplink(rig, 1, 7000, b"not measured");
        assert!(rig.receive_n6().is_some());
    }
    assert_eq!(rig.event(), None);
    let usage = rig.datapath().take_usage(1, &[1]);
    assert_eq!(usage.first().map(|usage| usage.uplink_packets), Some(0));
}

pub(super) fn packets_are_duplicated<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    let far = session.fars.get_mut(&1).expect("FAR 1");
    far.duplicates = true;
    let tunnel = Tunnel { teid: 0x1111, peer: rig.gnb() };
    far.copies = vec![Duplicate { tunnel, to_access: false, marking: Some(0x28) }];
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"twice");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"twice"[..]));
    let bytes = rig.receive_n3().expect("a copy");
    let Ok(Message::GPdu(pdu)) = decode(&bytes) else { panic!("no G-PDU: {bytes:02x?}") };
    assert_eq!((pdu.teid, payload_of(pdu.payload)), (0x1111, Some(&b"twice"[..])));
    // The other direction is as before.
    rig.send_n6(7000, b"once");
    assert_eq!(downlink(rig).map(|(payload, _)| payload), Some(b"once".to_vec()));
    unknown_extension(rig);
    // GTP-U of the UE for the UPF is a drop of its session.
    let IpAddr::V4(n3) = rig.n3() else { return };
    let within = martlet_gtpu::echo_request(1);
    rig.send_n3(&g_pdu(TEID, Some(1), &udp_packet((rig.ue(), 2152), (n3, 2152), &within)));
    send_uplink(rig, 1, 7000, b"own");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"own"[..]));
    let traffic = rig.datapath().traffic(&[1]);
    assert_eq!(traffic[0].drops, [(DropReason::Malformed, 1)]);
}

/// The session may be carried otherwise from then on. Its counters, the times of its last packets
/// and its buffered packets are those of before.
pub(super) fn a_session_with_new_rare_rules_continues<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    measure(&mut session, Some(50), Some(250));
    apply(rig, &session);
    // 100 bytes of IP each.
    send_uplink(rig, 1, 7000, &[b'u'; 72]);
    assert!(rig.receive_n6().is_some());
    let reached = |limit| Some(Event::UsageReached { seid: 1, urr: 1, limit });
    assert_eq!(rig.event(), reached(Reached::Threshold));
    idle(rig, &mut session);
    for payload in ["one", "two"] {
        rig.send_n6(7000, payload.as_bytes());
    }
    await_buffered(rig, 1, 2);
    assert!(matches!(rig.event(), Some(Event::DownlinkData { .. })));
    let before = (rig.datapath().last_activity(1), rig.datapath().last_packet(1, 1));
    assert!(before.0.is_some() && before.1.is_some());
    let far = session.fars.get_mut(&2).expect("FAR 2");
    (far.action, far.marking) = (Action::Forward, Some(0x28));
    let qer = session.qers.get_mut(&1).expect("QER 1");
    qer.paging_policy = Some(3);
    apply(rig, &session);
    for payload in ["one", "two"] {
        assert_eq!(downlink(rig).map(|(bytes, _)| bytes), Some(payload.as_bytes().to_vec()));
    }
    assert_eq!(rig.datapath().buffered(1).packets, 0);
    assert_eq!(rig.datapath().forwarded(1), [100, 2 * (28 + 3)]);
    let traffic = rig.datapath().pdr_traffic(1);
    assert_eq!(traffic.iter().map(|pdr| pdr.forwarded.packets).collect::<Vec<_>>(), [1, 2]);
    // The threshold is not reported again. The quota of before holds: 162 of 250 bytes are used.
    send_uplink(rig, 1, 7000, &[b'u'; 72]);
    assert!(rig.receive_n6().is_some());
    assert_eq!(rig.event(), reached(Reached::Quota));
    let usage = rig.datapath().remove(1);
    let [usage] = usage[..] else { panic!("one rule, not {}", usage.len()) };
    assert_eq!((usage.uplink_bytes, usage.downlink_bytes), (200, 62));
}

/// Only port 7001 may pass. A later fragment has no port.
pub(super) fn fragments_match_the_rule_of_the_first<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    let text = "permit out 17 from any 7001 to assigned";
    let filter = SdfFilter { flow_description: Some(text.into()), ..SdfFilter::default() };
    session.pdrs.get_mut(&1).expect("PDR 1").filters = vec![filter];
    session.resolve(&RuleLimits::default()).expect("consistent rules");
    apply(rig, &session);
    let whole = udp_packet((rig.ue(), 9000), (rig.remote(), 7001), &[b'f'; 56]);
    for (from, to, part) in [(0, 32, 0x2000_u16), (32, 64, 4)] {
        let mut packet = [&whole[..20], &whole[20 + from..20 + to]].concat();
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[4..8].copy_from_slice(&[&[0x12, 0x34][..], &part.to_be_bytes()].concat());
        packet[10..12].fill(0);
        let sum = crate::checksum::internet(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        rig.send_n3(&g_pdu(TEID, Some(1), &packet));
    }
    // A host reassembles them; a rig without one has both.
    let first = rig.receive_n6().map(|payload| payload.len());
    if first != Some(56) {
        assert_eq!((first, rig.receive_n6().is_some()), (Some(24), true));
    }
    send_uplink(rig, 1, 7000, b"another port");
    settle(rig);
}
