//! Reports of downlink data, Error Indications and inactivity to the SMF.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use martlet_upf_kernel::bench::GNB;
use std::net::IpAddr;
use std::time::Duration;

#[test]
fn downlink_data_is_reported_once_and_leaves_in_order() {
    let (mut smf, seid, _) = Smf::in_session();
    smf.accepted(seid, idle());
    for n in 0..3 {
        smf.bench.send_n6(7000, &[n]);
    }
    let reports = smf.reports();
    let [(packet, report)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((packet.seid, report.report_type), (Some(CP_SEID), ReportType::DLDR));
    let data = report.downlink_data.clone().unwrap();
    assert_eq!(data.pdr_ids, [PdrId(2)]);
    assert_eq!(data.service_information.unwrap().qfi, Some(Qfi(9)));
    smf.answer(packet, Cause::ACCEPTED, None);
    smf.accepted(seid, to_gnb(0xcafe));
    for n in 0..3 {
        assert_eq!(smf.bench.receive_n3().unwrap().last(), Some(&n));
    }
    // Nothing is retransmitted after the response.
    assert_eq!(smf.pass(Duration::from_secs(5)), []);
}

#[test]
fn an_unanswered_downlink_data_report_is_repeated() {
    let (mut smf, seid, _) = Smf::in_session();
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"1");
    let first = smf.reports().remove(0).0;
    let repeated = smf.pass(Duration::from_millis(2900));
    assert_eq!(repeated, [first.clone(), first.clone()]);
    smf.bench.send_n6(7000, b"2");
    assert_eq!(smf.reports().len(), 0);
    assert_eq!(smf.pass(Duration::from_millis(200)), []);
    smf.bench.send_n6(7000, b"3");
    let again = smf.reports();
    assert_eq!(again.len(), 1);
    assert_ne!(again[0].0.sequence, first.sequence);
}

#[test]
fn a_bar_delays_the_notification() {
    let mut smf = Smf::associated();
    let mut request = establishment();
    let notification_delay = Some(DownlinkDataNotificationDelay(4));
    request.create_bar =
        Some(CreateBar { bar_id: BarId(1), notification_delay, suggested_packets: None });
    request.create_fars[1].bar_id = Some(BarId(1));
    let (seid, _) = smf.establish(request);
    smf.bench.send_n6(7000, b"1");
    assert_eq!(smf.reports().len(), 0);
    assert_eq!(smf.pass(Duration::from_millis(199)).len(), 0);
    assert_eq!(smf.pass(Duration::from_millis(1)).len(), 1);
    // An obsolete report is not sent.
    smf.accepted(seid, to_gnb(REMOTE));
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"2");
    assert_eq!(smf.reports().len(), 0);
    smf.accepted(seid, to_gnb(REMOTE));
    let sent = smf.pass(Duration::from_millis(500));
    assert_eq!(sent.len(), 0, "{sent:?}");
}

#[test]
fn the_smf_can_drop_the_buffer() {
    let (mut smf, seid, _) = Smf::in_session();
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"1");
    let report = smf.reports().remove(0).0;
    smf.answer(&report, Cause::ACCEPTED, Some(PfcpSrRspFlags(1)));
    assert_eq!(smf.n4.status()["sessions"][0]["bufferedPackets"], 0);
}

#[test]
fn a_session_that_the_smf_does_not_know_ends() {
    let (mut smf, seid, _) = Smf::in_session();
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"1");
    let report = smf.reports().remove(0).0;
    smf.answer(&report, Cause::SESSION_CONTEXT_NOT_FOUND, None);
    assert_eq!(smf.n4.counts(), (0, 1));
}

#[test]
fn a_response_from_another_address_is_ignored() {
    let (mut smf, seid, _) = Smf::in_session();
    smf.accepted(seid, idle());
    smf.bench.send_n6(7000, b"1");
    let report = smf.reports().remove(0).0;
    let response = SessionReportResponse {
        cause: Cause::SESSION_CONTEXT_NOT_FOUND,
        offending_ie: None,
        flags: None,
    };
    let bytes = Packet::session(seid, report.sequence, response).encode();
    smf.n4.receive("127.0.0.66:8805".parse().unwrap(), &bytes, smf.now);
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn an_error_indication_is_reported_to_the_smf_of_its_tunnel() {
    let (mut smf, ..) = Smf::in_session();
    smf.bench.send_n3(&martlet_gtpu::error_indication(REMOTE, GNB));
    let reports = smf.reports();
    let [(_, report)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(report.report_type, ReportType::ERIR);
    let IpAddr::V4(gnb) = GNB else { unreachable!() };
    let remote = FTeid::Given { teid: REMOTE, ipv4: Some(gnb), ipv6: None };
    assert_eq!(report.error_indication.as_ref().unwrap().remote_fteids, [remote]);
    // A report about an unknown tunnel.
    smf.bench.send_n3(&martlet_gtpu::error_indication(REMOTE + 1, GNB));
    assert_eq!(smf.reports().len(), 0);
}

#[test]
fn an_error_indication_for_each_packet_is_one_report_at_a_time() {
    let mut smf = Smf::without_heartbeats();
    let (seid, _) = smf.establish(establishment());
    smf.accepted(seid, to_gnb(REMOTE));
    let indicate = |smf: &mut Smf| {
        (0..100).for_each(|_| smf.bench.send_n3(&martlet_gtpu::error_indication(REMOTE, GNB)));
        smf.reports()
    };
    let reports = indicate(&mut smf);
    let [(packet, _)] = &reports[..] else { panic!("{} reports", reports.len()) };
    // The SMF has the report, and changes the session later.
    smf.answer(packet, Cause::ACCEPTED, None);
    assert_eq!(indicate(&mut smf).len(), 0);
    smf.pass(Duration::from_secs(1));
    assert_eq!(indicate(&mut smf).len(), 1);
    // Another tunnel of the session.
    smf.accepted(seid, to_gnb(REMOTE + 1));
    smf.bench.send_n3(&martlet_gtpu::error_indication(REMOTE + 1, GNB));
    assert_eq!(smf.reports().len(), 1);
}

#[test]
fn inactivity_is_reported_whenever_the_time_without_traffic_doubles() {
    let mut smf = Smf::without_heartbeats();
    let inactivity_timer = Some(UserPlaneInactivityTimer(30));
    let (_, teid) =
        smf.establish(SessionEstablishmentRequest { inactivity_timer, ..establishment() });
    let idle = |sent: Vec<Packet>| {
        sent.into_iter()
            .filter_map(report_of)
            .filter(|(_, r)| r.report_type == ReportType::UPIR)
            .count()
    };
    assert_eq!(idle(smf.pass(Duration::from_secs(29))), 0);
    // Sent three times without a response.
    assert_eq!(idle(smf.pass(Duration::from_secs(4))), 3);
    assert_eq!(idle(smf.pass(Duration::from_secs(26))), 0);
    // After one minute, and after two.
    assert_eq!(idle(smf.pass(Duration::from_secs(40))), 3);
    assert_eq!(idle(smf.pass(Duration::from_secs(19))), 0);
    assert_eq!(idle(smf.pass(Duration::from_secs(5))), 3);
    assert_eq!(idle(smf.pass(Duration::from_secs(110))), 0);
    // The forwarder uses the real clock, which is behind the test's; any traffic is later than
    // none.
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7000), b"up");
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
    assert!(idle(smf.pass(Duration::from_secs(40))) > 0);
}
