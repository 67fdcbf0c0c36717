//! Rates, thresholds and quotas.
use super::*;

#[test]
fn a_rate_limit_is_met() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        // 8 kbit/s are 1,000 bytes per second; the burst is one packet of the largest size.
        let rate = BitRate { uplink: 8_000, downlink: 0 };
        session.qers.get_mut(&1).unwrap().mbr = Some(rate);
        bench.apply(&session);
        let frame = uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &udp_packet(UP, THERE, &[0; 972])));
        let passed = (0..200).filter(|_| bench.run_n3(&frame).0 != Verdict::Drop).count();
        assert!((65..=66).contains(&passed), "{passed}");
        assert_eq!(bench.drops(DropReason::Rate), 200 - passed as u64);
        session.qers.get_mut(&1).unwrap().gate =
            GateStatus { uplink_closed: true, downlink_closed: false };
        bench.apply(&session);
        assert_eq!(bench.run_n3(&frame).0, Verdict::Drop);
        assert_eq!(bench.drops(DropReason::Gate), 1);
    });
}

#[test]
fn packets_dropped_by_one_rate_are_not_charged_to_the_other() {
    Bench::each(|mut bench| {
        let mut session = bench.session();
        let rate = |uplink| Some(BitRate { uplink, downlink: 0 });
        let second = Qer { id: 2, mbr: rate(8_000), ..session.qers[&1].clone() };
        session.qers.get_mut(&1).unwrap().mbr = rate(16_000);
        session.qers.insert(2, second);
        session.pdrs.get_mut(&1).unwrap().qers = vec![1, 2];
        bench.apply(&session);
        let frame = uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &udp_packet(UP, THERE, &[0; 972])));
        let passed =
            |bench: &Bench, n| (0..n).filter(|_| bench.run_n3(&frame).0 != Verdict::Drop).count();
        // Both have a burst of 65 such packets. The lower rate is exhausted first, and 135 packets
        // are dropped.
        assert!((65..=66).contains(&passed(&bench, 200)));
        let begun = std::time::Instant::now();
        // Without the lower rate, the other one has no burst left either; had it been charged for
        // the dropped packets, it would be in debt.
        session.pdrs.get_mut(&1).unwrap().qers = vec![1];
        bench.apply(&session);
        std::thread::sleep(std::time::Duration::from_millis(1600));
        let after = passed(&bench, 10);
        // Two packets a second.
        let max = 2.0 + 2.0 * begun.elapsed().as_secs_f64();
        assert!(after >= 3 && after as f64 <= max, "{after}, at most {max}");
    });
}

#[test]
fn a_limit_that_is_reached_while_the_queue_is_full_is_reported() {
    in_namespace(|| {
        let mut bench = Bench::new(|config| config.xdp.events = 1);
        let mut session = bench.session_of(1, TEID, UE);
        // 100 bytes of IP each: the first packet reaches the threshold, the second one the quota.
        measure(&mut session, Some(100), Some(200));
        bench.apply(&session);
        let frame = uplink(&bench, &g_pdu(TEID, 4, &CONTAINER, &udp_packet(UP, THERE, &[0; 72])));
        for _ in 0..2 {
            assert_ne!(bench.run_n3(&frame).0, Verdict::Drop);
        }
        // Both events have left the ring, and the queue has room for one.
        std::thread::sleep(std::time::Duration::from_millis(200));
        for limit in [Reached::Threshold, Reached::Quota] {
            let event = (0..10).find_map(|_| bench.event());
            assert_eq!(event, Some(Event::UsageReached { seid: 1, urr: 1, limit }));
        }
        assert_eq!(bench.event(), None);
    });
}

#[test]
fn distant_limits_are_met_to_the_byte() {
    Bench::each(|mut bench| {
        // Both start so far from their limit that packets are not counted one by one.
        const PACKET: u64 = 1400;
        const PACKETS: u64 = 210_000;
        let mut session = bench.session_of(1, TEID, UE);
        measure(&mut session, Some((PACKETS - 500) * PACKET), Some(PACKETS * PACKET));
        bench.apply(&session);
        let frame = uplink(&bench, &g_pdu(TEID, 0, &[], &udp_packet(UP, THERE, &[0; 1372])));
        let send = |bench: &Bench, packets: u64| {
            (0..packets).filter(|_| bench.run_n3(&frame).0 != Verdict::Drop).count() as u64
        };
        // A short wait before the end, since the last bytes of a limit are granted with a delay.
        assert_eq!(send(&bench, 150_000), 150_000);
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(send(&bench, PACKETS - 501 - 150_000), PACKETS - 501 - 150_000);
        assert_eq!(bench.event(), None);
        assert_eq!(send(&bench, 1), 1);
        assert_eq!(
            bench.event(),
            Some(Event::UsageReached { seid: 1, urr: 1, limit: Reached::Threshold })
        );
        assert_eq!(send(&bench, 600), 500);
        assert_eq!(
            bench.event(),
            Some(Event::UsageReached { seid: 1, urr: 1, limit: Reached::Quota })
        );
        assert_eq!(bench.drops(DropReason::Quota), 100);
        let usage = bench.datapath.take_usage(1, &[1]);
        assert_eq!((usage[0].uplink_bytes, usage[0].uplink_packets), (PACKETS * PACKET, PACKETS));
    });
}
