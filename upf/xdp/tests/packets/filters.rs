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
