//! Buffering of packets for an idle UE.
use super::{TEID, apply, downlink, established, payload, send_uplink, session};
use crate::conformance::{Rig, g_pdu, udp_packet};
use crate::{Change, Event};
use martlet_upf_rules::*;

/// Makes the session buffer downlink packets.
pub(super) fn idle(rig: &mut impl Rig, session: &mut Session) {
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Buffer { notify: true };
    apply(rig, session);
}

pub(super) fn wake(rig: &mut impl Rig, session: &mut Session) {
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Forward;
    apply(rig, session);
}

/// Waits until this number of packets is buffered.
pub(super) fn await_buffered(rig: &mut impl Rig, seid: u64, packets: usize) {
    for _ in 0..200 {
        if rig.datapath().buffered(seid).packets == packets {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{packets} packets should be buffered, there are {:?}", rig.datapath().buffered(seid));
}

pub(super) fn packets_wait_and_leave_in_order<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle(rig, &mut session);
    for n in 0..20 {
        rig.send_n6(7000, format!("waiting {n}").as_bytes());
    }
    await_buffered(rig, 1, 20);
    let event = rig.event();
    assert!(
        matches!(event, Some(Event::DownlinkData { seid: 1, pdr: 2, qfi: Some(9), .. })),
        "{event:?}"
    );
    assert_eq!(rig.datapath().counters().downlink_packets.get(), 0);
    wake(rig, &mut session);
    rig.send_n6(7000, b"later");
    for n in 0..20 {
        assert_eq!(payload(rig), Some(format!("waiting {n}")));
    }
    assert_eq!(payload(rig).as_deref(), Some("later"));
    assert_eq!(rig.datapath().buffered(1).packets, 0);
    // One event for all of them.
    idle(rig, &mut session);
    rig.send_n6(7000, b"again");
    await_buffered(rig, 1, 1);
    assert!(
        matches!(rig.event(), Some(Event::DownlinkData { .. })),
        "a new idle period is notified again"
    );
    assert_eq!(rig.event(), None);
}

/// At an intermediate UPF, the packets to a UE come in a tunnel.
pub(super) fn packets_of_another_upf_wait_and_leave_in_order<R: Rig>(rig: &mut R) {
    const FROM_ANCHOR: u32 = 0x0202_0202;
    let mut session = session(rig, 1, TEID, rig.ue());
    let to_anchor = Tunnel { teid: 0xbbbb, peer: rig.gnb() };
    session.fars.get_mut(&1).expect("FAR 1").tunnel = Some(to_anchor);
    let local = session.pdrs[&1].local.map(|local| LocalTunnel { teid: FROM_ANCHOR, ..local });
    let to_ue = session.pdrs.get_mut(&2).expect("PDR 2");
    // They keep the QFI that they have.
    (to_ue.local, to_ue.qers) = (local, vec![]);
    session.resolve(&RuleLimits::default()).expect("consistent rules");
    apply(rig, &session);
    idle(rig, &mut session);
    let (from, to) = ((rig.remote(), 7000), (rig.ue(), 9000));
    for n in 0..5 {
        let packet = udp_packet(from, to, format!("waiting {n}").as_bytes());
        rig.send_n3(&g_pdu(FROM_ANCHOR, Some(5), &packet));
    }
    await_buffered(rig, 1, 5);
    let event = rig.event();
    assert!(matches!(event, Some(Event::DownlinkData { seid: 1, pdr: 2, .. })), "{event:?}");
    wake(rig, &mut session);
    rig.send_n3(&g_pdu(FROM_ANCHOR, Some(5), &udp_packet(from, to, b"later")));
    for n in 0..5 {
        assert_eq!(downlink(rig), Some((format!("waiting {n}").into_bytes(), 5)));
    }
    assert_eq!(downlink(rig), Some((b"later".to_vec(), 5)));
    assert_eq!(rig.datapath().buffered(1).packets, 0);
}

/// Rules may buffer packets of the UE, too.
pub(super) fn packets_of_the_ue_wait_and_leave_in_order<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    session.fars.get_mut(&1).expect("FAR 1").action = Action::Buffer { notify: false };
    apply(rig, &session);
    for n in 0..5 {
        send_uplink(rig, 1, 7000, format!("waiting {n}").as_bytes());
    }
    await_buffered(rig, 1, 5);
    // Other rules change, and they wait on.
    idle(rig, &mut session);
    assert_eq!(rig.datapath().buffered(1).packets, 5);
    assert_eq!(rig.datapath().counters().uplink_packets.get(), 0);
    session.fars.get_mut(&1).expect("FAR 1").action = Action::Forward;
    apply(rig, &session);
    for n in 0..5 {
        assert_eq!(rig.receive_n6(), Some(format!("waiting {n}").into_bytes()));
    }
    assert_eq!(rig.datapath().buffered(1).packets, 0);
    assert_eq!(rig.datapath().counters().uplink_packets.get(), 5);
}

pub(super) fn a_notification_is_repeated_when_asked<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle(rig, &mut session);
    rig.send_n6(7000, b"1");
    await_buffered(rig, 1, 1);
    assert!(rig.event().is_some());
    rig.datapath()
        .apply(&Change { renotify: true, ..Change::to(&session) })
        .expect("the same rules");
    rig.send_n6(7000, b"2");
    await_buffered(rig, 1, 2);
    assert!(rig.event().is_some());
    // Meanwhile the other direction is as it was.
    send_uplink(rig, 1, 7000, b"up");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"up"[..]));
    wake(rig, &mut session);
    assert_eq!(payload(rig).as_deref(), Some("1"));
    assert_eq!(payload(rig).as_deref(), Some("2"));
}

/// Makes the session buffer three downlink packets.
fn idle_with_three(rig: &mut impl Rig, session: &mut Session) {
    let bar = Bar { id: 1, notification_delay: Default::default(), suggested_packets: Some(3) };
    session.bars.insert(1, bar);
    session.fars.get_mut(&2).expect("FAR 2").bar = Some(1);
    idle(rig, session);
}

pub(super) fn a_notification_is_repeated_while_the_buffer_is_full<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle_with_three(rig, &mut session);
    for n in 0..3 {
        rig.send_n6(7000, n.to_string().as_bytes());
    }
    await_buffered(rig, 1, 3);
    assert!(rig.event().is_some());
    rig.datapath()
        .apply(&Change { renotify: true, ..Change::to(&session) })
        .expect("the same rules");
    rig.send_n6(7000, b"3");
    let event = rig.event();
    assert!(matches!(event, Some(Event::DownlinkData { seid: 1, .. })), "{event:?}");
    await_buffered(rig, 1, 3);
    wake(rig, &mut session);
    assert_eq!((0..3).filter_map(|_| payload(rig)).count(), 3);
}

pub(super) fn the_buffer_is_bounded<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle_with_three(rig, &mut session);
    for n in 0..5 {
        rig.send_n6(7000, n.to_string().as_bytes());
    }
    let full = crate::counters::DropReason::BufferFull;
    for _ in 0..200 {
        if rig.datapath().counters().drops(full).get() == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(rig.datapath().counters().drops(full).get(), 2);
    wake(rig, &mut session);
    for n in 0..3 {
        assert_eq!(payload(rig), Some(n.to_string()));
    }
}

pub(super) fn buffered_packets_are_dropped_on_request<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    idle(rig, &mut session);
    rig.send_n6(7000, b"dropped");
    await_buffered(rig, 1, 1);
    session.fars.get_mut(&2).expect("FAR 2").action = Action::Forward;
    rig.datapath()
        .apply(&Change { drop_buffered: true, ..Change::to(&session) })
        .expect("the same rules");
    rig.send_n6(7000, b"kept");
    assert_eq!(payload(rig).as_deref(), Some("kept"));
}
