//! Usage of sessions: counted, reported and limited.
use super::{apply, downlink, established, send_uplink, settle};
use crate::conformance::Rig;
use crate::{Event, Reached};
use martlet_pfcp::ie::ReportingTriggers;
use martlet_upf_rules::*;
use std::collections::BTreeMap;

/// Adds a usage reporting rule to both directions.
pub fn measure(session: &mut Session, threshold: Option<u64>, quota: Option<u64>) {
    let limit = |total: Option<u64>| {
        total.map(|total| VolumeLimit { total: Some(total), ..Default::default() })
    };
    let urr = Urr {
        id: 1,
        duration: false,
        volume: true,
        triggers: ReportingTriggers::VOLTH | ReportingTriggers::VOLQU,
        period: None,
        volume_threshold: limit(threshold),
        volume_quota: limit(quota),
        time_threshold: None,
        time_quota: None,
        exhausted: false,
        quota_given: 0,
        ..Default::default()
    };
    session.urrs.insert(1, urr);
    session.pdrs.values_mut().for_each(|pdr| pdr.urrs = vec![1]);
}

pub(super) fn usage_is_counted_and_reported<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    measure(&mut session, Some(200), None);
    apply(rig, &session);
    // 100 bytes of IP each.
    send_uplink(rig, 1, 7000, &[b'u'; 72]);
    assert!(rig.receive_n6().is_some());
    assert_eq!(rig.event(), None);
    for _ in 0..2 {
        rig.send_n6(7000, &[b'd'; 72]);
        assert!(downlink(rig).is_some());
    }
    let reached = Event::UsageReached { seid: 1, urr: 1, limit: Reached::Threshold };
    assert_eq!(rig.event(), Some(reached.clone()));
    let usage = rig.datapath().take_usage(1, &[1]);
    let [usage] = usage[..] else { panic!("one rule, not {}", usage.len()) };
    assert_eq!((usage.uplink_bytes, usage.downlink_bytes), (100, 200));
    assert_eq!((usage.uplink_packets, usage.downlink_packets), (1, 2));
    assert!(usage.first <= usage.last && usage.first.is_some());
    assert_eq!(rig.event(), None);
    // The threshold starts again; changes of the session's other rules do not affect it.
    rig.send_n6(7000, &[b'd'; 72]);
    assert!(downlink(rig).is_some());
    session.qers.get_mut(&1).expect("QER 1").qfi = Some(3);
    apply(rig, &session);
    rig.send_n6(7000, &[b'd'; 72]);
    assert_eq!(downlink(rig).map(|(_, qfi)| qfi), Some(3));
    assert_eq!(rig.event(), Some(reached));
    let rest = rig.datapath().remove(1);
    assert_eq!(
        rest.first().map(|usage| (usage.uplink_bytes, usage.downlink_bytes)),
        Some((0, 200))
    );
}

pub(super) fn a_quota_stops_packets<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    measure(&mut session, None, Some(100));
    apply(rig, &session);
    send_uplink(rig, 1, 7000, &[b'u'; 72]);
    assert!(rig.receive_n6().is_some());
    assert_eq!(rig.event(), Some(Event::UsageReached { seid: 1, urr: 1, limit: Reached::Quota }));
    send_uplink(rig, 1, 7000, b"beyond");
    let urr = session.urrs.get_mut(&1).expect("URR 1");
    urr.quota_given += 1;
    // Packets before the new quota were dropped.
    for _ in 0..200 {
        if rig.datapath().counters().drops(crate::counters::DropReason::Quota).get() == 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"within");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"within"[..]));
}

pub(super) fn a_limit_below_what_is_used_is_reported<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    measure(&mut session, Some(1000), Some(10_000));
    apply(rig, &session);
    // 100 bytes of IP each.
    for _ in 0..3 {
        send_uplink(rig, 1, 7000, &[b'u'; 72]);
        assert!(rig.receive_n6().is_some());
    }
    assert_eq!(rig.event(), None);
    let limit = |total| Some(VolumeLimit { total: Some(total), ..Default::default() });
    let event = |limit| Some(Event::UsageReached { seid: 1, urr: 1, limit });
    let urr = |session: &mut Session, change: &dyn Fn(&mut Urr)| {
        change(session.urrs.get_mut(&1).expect("URR 1"));
    };
    urr(&mut session, &|urr| urr.volume_threshold = limit(300));
    apply(rig, &session);
    assert_eq!(rig.event(), event(Reached::Threshold));
    // Once: other changes do not repeat it.
    session.qers.get_mut(&1).expect("QER 1").qfi = Some(3);
    apply(rig, &session);
    assert_eq!(rig.event(), None);
    assert_eq!(rig.datapath().take_usage(1, &[1])[0].uplink_bytes, 300);
    // A quota that is not a new one counts on.
    urr(&mut session, &|urr| urr.volume_quota = limit(200));
    apply(rig, &session);
    assert_eq!(rig.event(), event(Reached::Quota));
    send_uplink(rig, 1, 7000, b"beyond");
    settle(rig);
    // A renewed one lets packets pass.
    urr(&mut session, &|urr| urr.quota_given += 1);
    apply(rig, &session);
    send_uplink(rig, 1, 7000, b"within");
    assert_eq!(rig.receive_n6().as_deref(), Some(&b"within"[..]));
    assert_eq!(rig.event(), None);
}

pub(super) fn traffic_of_each_pdr_is_counted<R: Rig>(rig: &mut R) {
    let mut session = established(rig);
    let of = |session: &Session, direction: Direction| {
        let pdr = session.pdrs.values().find(|pdr| pdr.direction() == direction);
        pdr.expect("a PDR of each direction").id
    };
    let (up, down) = (of(&session, Direction::Uplink), of(&session, Direction::Downlink));
    let counts = |rig: &mut R| -> BTreeMap<u16, (u64, u64)> {
        let all = rig.datapath().pdr_traffic(1);
        assert!(all.iter().all(|of_pdr| !of_pdr.engine.is_empty()), "{all:?}");
        all.iter().map(|t| (t.pdr, (t.forwarded.packets, t.forwarded.bytes))).collect()
    };
    // The counters of a packet may be written after it has left.
    let expect = |rig: &mut R, expected: [(u16, (u64, u64)); 2]| {
        settle(rig);
        let expected = BTreeMap::from(expected);
        let mut found = counts(rig);
        for _ in 0..200 {
            if found == expected {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
            found = counts(rig);
        }
        assert_eq!(found, expected);
    };
    expect(rig, [(up, (0, 0)), (down, (0, 0))]);
    // 100 bytes of IP each.
    send_uplink(rig, 1, 7000, &[b'u'; 72]);
    assert!(rig.receive_n6().is_some());
    for _ in 0..2 {
        rig.send_n6(7000, &[b'd'; 72]);
        assert!(downlink(rig).is_some());
    }
    expect(rig, [(up, (1, 100)), (down, (2, 200))]);
    // They continue after changes of the rules, also beyond the time for which those overlap.
    for qfi in [3, 4] {
        session.qers.get_mut(&1).expect("QER 1").qfi = Some(qfi);
        apply(rig, &session);
        std::thread::sleep(std::time::Duration::from_millis(150));
        rig.send_n6(7000, &[b'd'; 72]);
        assert_eq!(downlink(rig).map(|(_, qfi)| qfi), Some(qfi));
    }
    expect(rig, [(up, (1, 100)), (down, (4, 400))]);
    // A PDR that is created again starts at zero.
    let pdr = session.pdrs.remove(&down).expect("the downlink PDR");
    apply(rig, &session);
    std::thread::sleep(std::time::Duration::from_millis(150));
    session.pdrs.insert(down, pdr);
    apply(rig, &session);
    expect(rig, [(up, (1, 100)), (down, (0, 0))]);
    rig.datapath().remove(1);
    assert_eq!(counts(rig), BTreeMap::new());
}
