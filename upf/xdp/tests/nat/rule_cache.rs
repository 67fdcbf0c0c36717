//! Packets that use the flow cached in their rule (`bpf/nat_rule_cache.h`).
use super::*;
use martlet_upf_rules::Tunnel;
use martlet_upf_xdp::types::rule;

const SERVERS: [u16; 2] = [7000, 7001];

/// The rule of a lookup key in packet byte order.
fn rule_of(bench: &Bench, key: [u8; 4]) -> rule {
    let rules = &bench.datapath.programs().rules;
    let key = u32::from_ne_bytes(key);
    (0..rules.entries() as u32).map(|n| rules.read(n)).find(|rule| rule.key == key).expect("a rule")
}

/// The flows cached in the UE's uplink and downlink rules.
fn notes(bench: &Bench) -> [(u32, u32); 2] {
    let (from, to) = (rule_of(bench, TEID.to_be_bytes()), rule_of(bench, UE.octets()));
    [(from.teid, from.peer4), (to.ue4, 0)]
}

#[test]
fn packets_use_the_flow_cached_in_their_rule() {
    each(
        |_| {},
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            assert_eq!(notes(&bench), [(0, 0); 2]);
            for n in 0..4u8 {
                assert_eq!(out(&bench, &udp(ue, host, &[n])), aged(udp(public, host, &[n])));
                assert_eq!(inward(&bench, &udp(host, public, &[n])), aged(udp(host, ue, &[n])));
            }
            let noted = notes(&bench);
            assert!(noted[0].0 != 0 && noted[0].1 != 0 && noted[1].0 != 0, "{noted:?}");
            // From the same port and from another one, to alternating servers; and TCP as well as
            // UDP.
            for n in 0..12u16 {
                let (ue, public) = ((UE, 9000 + n % 3), (PUBLIC, 9000 + n % 3));
                let host = (HOST, SERVERS[usize::from(n / 2 % 2)]);
                for _ in 0..3 {
                    assert_eq!(out(&bench, &udp(ue, host, b"u")), aged(udp(public, host, b"u")));
                    assert_eq!(inward(&bench, &udp(host, public, b"d")), aged(udp(host, ue, b"d")));
                    for flags in [SYN, ACK] {
                        assert_eq!(
                            out(&bench, &tcp(ue, host, flags, b"u")),
                            aged(tcp(public, host, flags, b"u"))
                        );
                        assert_eq!(
                            inward(&bench, &tcp(host, public, ACK, b"d")),
                            aged(tcp(host, ue, ACK, b"d"))
                        );
                    }
                }
            }
            // A host that the UE did not send to is rejected, although the port's flow is cached.
            for far in [(HOST, 7002), (GNB, 7000)] {
                assert_eq!(down(&bench, &udp(far, (PUBLIC, 9000), b"x")).0, Verdict::Pass);
            }
        },
    );
}

#[test]
fn two_ues_with_the_same_port_have_separate_caches() {
    each(
        |_| {},
        |mut bench| {
            bench.other_session();
            let host = (HOST, 7000);
            out(&bench, &udp((UE, 9000), host, b"x"));
            let other = port(&up(&bench, OTHER_TEID, &udp((OTHER_UE, 9000), host, b"x")).1[14..]);
            for _ in 0..4 {
                assert_eq!(
                    out(&bench, &udp((UE, 9000), host, b"1")),
                    aged(udp((PUBLIC, 9000), host, b"1"))
                );
                let (_, frame) = up(&bench, OTHER_TEID, &udp((OTHER_UE, 9000), host, b"2"));
                assert_eq!(frame[14..], aged(udp((PUBLIC, other), host, b"2")));
                assert_eq!(
                    inward(&bench, &udp(host, (PUBLIC, 9000), b"1")),
                    aged(udp(host, (UE, 9000), b"1"))
                );
                let (_, frame) = down(&bench, &udp(host, (PUBLIC, other), b"2"));
                assert_eq!(
                    (&frame[46..50], &frame[58..]),
                    (
                        &OTHER_GNB_TEID.to_be_bytes()[..],
                        &aged(udp(host, (OTHER_UE, 9000), b"2"))[..]
                    )
                );
            }
        },
    );
}

#[test]
fn caches_are_removed_with_their_rules() {
    each(
        |_| {},
        |mut bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            let talk = |bench: &Bench| {
                for _ in 0..3 {
                    assert_eq!(out(bench, &udp(ue, host, b"x")), aged(udp(public, host, b"x")));
                    assert_eq!(inward(bench, &udp(host, public, b"x")), aged(udp(host, ue, b"x")));
                }
            };
            talk(&bench);
            // The gNB's tunnel endpoint changed: the very next packet is sent to the new one.
            for teid in [0xaaaa, 0xbbbb, 0xcccc] {
                let mut session = bench.session_of(1, TEID, UE);
                session.fars.get_mut(&2).unwrap().tunnel = Some(Tunnel { teid, peer: GNB.into() });
                bench.apply(&session);
                for _ in 0..3 {
                    let (verdict, frame) = down(&bench, &udp(host, public, b"x"));
                    assert_eq!(
                        (verdict, &frame[46..50]),
                        (Verdict::Redirect(0), &teid.to_be_bytes()[..])
                    );
                    assert_eq!(out(&bench, &udp(ue, host, b"x")), aged(udp(public, host, b"x")));
                }
            }
            // Another session gets the address, but no flow of the previous one.
            bench.datapath.remove(1);
            assert_eq!(down(&bench, &udp(host, public, b"x")).0, Verdict::Drop);
            bench.apply(&bench.session_of(2, TEID, UE));
            assert_eq!(down(&bench, &udp(host, public, b"x")).0, Verdict::Drop);
            talk(&bench);
        },
    );
}

#[test]
fn packets_refresh_cached_flows() {
    each(
        |config| {
            let nat = &mut config.xdp.nat;
            (nat.udp_s, nat.udp_unanswered_s) = (2, 2);
        },
        |bench| {
            let (ue, host, public) = ((UE, 9000), (HOST, 7000), (PUBLIC, 9000));
            let passes = |packet: &[u8]| down(&bench, packet).0 == Verdict::Redirect(0);
            let wait = |ms| std::thread::sleep(Duration::from_millis(ms));
            out(&bench, &udp(ue, host, b"x"));
            assert!(passes(&udp(host, public, b"x")));
            // Packets of one direction keep the flow alive in both.
            for _ in 0..120 {
                out(&bench, &udp(ue, host, b"x"));
                wait(20);
            }
            for _ in 0..120 {
                assert!(passes(&udp(host, public, b"x")));
                wait(20);
            }
            assert_eq!(out(&bench, &udp(ue, host, b"x")), aged(udp(public, host, b"x")));
            // A cached flow does not outlive the flow.
            wait(2400);
            assert!(!passes(&udp(host, public, b"x")));
        },
    );
}
