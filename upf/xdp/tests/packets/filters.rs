//! The rule of a packet: filters and precedence.
use super::*;

#[test]
fn filters_match_what_their_description_says() {
    Bench::each(|mut bench| {
        let far = Ipv4Addr::new(8, 8, 8, 8);
        let packets = [
            ("to the host", udp_packet(UP, THERE, b"x")),
            ("to its other port", udp_packet(UP, (HOST, 7001), b"x")),
            ("from another port", udp_packet((UE, 9001), THERE, b"x")),
            ("elsewhere", udp_packet(UP, (far, 53), b"x")),
        ];
        for (text, dropped) in [
            (
                "permit out ip from any to assigned",
                &["to the host", "to its other port", "from another port", "elsewhere"][..],
            ),
            (
                "permit out 17 from any to assigned",
                &["to the host", "to its other port", "from another port", "elsewhere"],
            ),
            ("permit out 6 from any to assigned", &[]),
            ("permit out 17 from any 7000 to assigned", &["to the host", "from another port"]),
            (
                "permit out 17 from any 53,7001-7005 to assigned",
                &["to its other port", "elsewhere"],
            ),
            ("permit out ip from any to assigned 9001", &["from another port"]),
            (
                "permit out ip from 10.98.0.0/24 to assigned",
                &["to the host", "to its other port", "from another port"],
            ),
            ("permit out ip from !10.98.0.0/24 to assigned", &["elsewhere"]),
            ("permit out ip from any to 10.45.0.0/24 9001", &["from another port"]),
            ("permit out ip from any to !10.45.0.0/24", &[]),
            ("permit out ip from 2001:db8::/32 to any", &[]),
            (
                "permit out ip from !2001:db8::/32 to any",
                &["to the host", "to its other port", "from another port", "elsewhere"],
            ),
        ] {
            let session = with_filters(&bench, &[(text, SdfFilter::default())]);
            bench.apply(&session);
            for (name, packet) in &packets {
                let verdict = bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], packet))).0;
                assert_eq!(verdict == Verdict::Drop, dropped.contains(name), "{text}: {name}");
            }
        }
    });
}

/// A UE has a bounded share of the table of fragments.
#[test]
fn attack_a_ue_displaces_the_fragments_of_another() {
    Bench::each(|mut bench| {
        let text = "permit out 17 from any 7000 to assigned";
        let session = with_filters(&bench, &[(text, SdfFilter::default())]);
        bench.apply(&session);
        bench.other_session();
        let fragment = |from: Ipv4Addr, id: u16, part: [u8; 2]| {
            let mut packet = udp_packet((from, 9000), THERE, &[b'f'; 24]);
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet[6..8].copy_from_slice(&part);
            ip4::set_checksum(&mut packet);
            packet
        };
        let run = |bench: &Bench, teid: u32, packet: &[u8]| {
            bench.run_n3(&uplink(bench, &g_pdu(teid, 0, &[], packet))).0
        };
        let (first, later) = ([0x20, 0], [0, 4]);
        assert_eq!(run(&bench, TEID, &fragment(UE, 1, first)), Verdict::Drop);
        for id in 0..10_000 {
            run(&bench, OTHER_TEID, &fragment(OTHER_UE, id, first));
        }
        assert_eq!(run(&bench, TEID, &fragment(UE, 1, later)), Verdict::Drop);
        assert_eq!(bench.datapath.counters().replaced_fragments.get(), 10_000 - 64);
    });
}

#[test]
fn of_many_rules_the_first_by_precedence_counts() {
    Bench::each(|mut bench| {
        let texts: Vec<String> =
            (0..60).map(|n| format!("permit out 17 from any {} to assigned", 7000 + n)).collect();
        let filters: Vec<(&str, SdfFilter)> =
            texts.iter().map(|text| (text.as_str(), SdfFilter::default())).collect();
        let mut session = with_filters(&bench, &filters);
        // The rule of lowest precedence forwards what the others drop.
        let pdr = session.pdrs.get_mut(&69).unwrap();
        (pdr.far, pdr.precedence) = (1, 0);
        session.pdrs.get_mut(&68).unwrap().rules = session.pdrs[&69].rules.clone();
        bench.apply(&session);
        for (port, verdict) in [
            (7000, Verdict::Drop),
            (7057, Verdict::Drop),
            (7058, Verdict::Redirect(0)),
            (7059, Verdict::Redirect(0)),
            (7060, Verdict::Redirect(0)),
        ] {
            let packet = udp_packet(UP, (HOST, port), b"x");
            assert_eq!(
                bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], &packet))).0,
                verdict,
                "{port}"
            );
        }
        // A later fragment has no ports, and matches the default rule.
        let mut fragment = udp_packet(UP, (HOST, 7000), b"x");
        fragment[6..8].copy_from_slice(&[0, 2]);
        ip4::set_checksum(&mut fragment);
        assert_eq!(
            bench.run_n3(&uplink(&bench, &g_pdu(TEID, 0, &[], &fragment))).0,
            Verdict::Redirect(0)
        );
    });
}
