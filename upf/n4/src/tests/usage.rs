//! Usage reports.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use std::time::Duration;

/// 100 bytes from the UE.
fn up(smf: &mut Smf, teid: u32) {
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7000), &[0; 72]);
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
}

fn total(report: &UsageReport) -> Option<u64> {
    report.volume?.octets[0]
}

/// The usage reports among the sent messages, without retransmissions.
fn usage(sent: Vec<Packet>) -> Vec<UsageReport> {
    let mut reports: Vec<(u32, UsageReport)> = sent
        .into_iter()
        .filter_map(report_of)
        .flat_map(|(packet, report)| {
            report.usage_reports.into_iter().map(move |usage| (packet.sequence, usage))
        })
        .collect();
    reports.dedup_by_key(|(sequence, _)| *sequence);
    reports.into_iter().map(|(_, usage)| usage).collect()
}

#[test]
fn a_volume_threshold_triggers_a_report() {
    let mut smf = Smf::associated();
    let threshold = VolumeThreshold { total: Some(250), ..Default::default() };
    let request = measured(establishment(), ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = Some(threshold)
    });
    let (_, teid) = smf.establish(request);
    (0..2).for_each(|_| up(&mut smf, teid));
    assert_eq!(smf.reports().len(), 0);
    up(&mut smf, teid);
    let reports = smf.reports();
    let [(_, report)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(report.report_type, ReportType::USAR);
    let [usage] = &report.usage_reports[..] else { panic!("{report:?}") };
    assert_eq!(
        (usage.urr_id, usage.ur_seqn, usage.trigger),
        (UrrId(7), UrSeqn(0), UsageReportTrigger::VOLTH)
    );
    let volume = usage.volume.unwrap();
    assert_eq!(
        (volume.octets, volume.packets),
        ([Some(300), Some(300), Some(0)], [Some(3), Some(3), Some(0)])
    );
    assert!(usage.start.is_some() && usage.end.is_some() && usage.duration.is_some());
    (0..3).for_each(|_| up(&mut smf, teid));
    assert_eq!(smf.reports()[0].1.usage_reports[0].ur_seqn, UrSeqn(1));
}

#[test]
fn a_measurement_period_triggers_reports() {
    let mut smf = Smf::without_heartbeats();
    let request = measured(establishment(), ReportingTriggers::PERIO, |u| {
        u.measurement_period = Some(MeasurementPeriod(60))
    });
    let (seid, teid) = smf.establish(request);
    up(&mut smf, teid);
    let reports = usage(smf.pass(Duration::from_secs(61)));
    let [first] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((first.trigger, total(first)), (UsageReportTrigger::PERIO, Some(100)));
    assert_eq!(first.duration, Some(DurationMeasurement(60)));
    let reports = usage(smf.pass(Duration::from_secs(60)));
    let last = reports.last().unwrap();
    assert_eq!((last.ur_seqn, total(last)), (UrSeqn(1), Some(0)));
    // Without the rule there are no more.
    smf.accepted(
        seid,
        SessionModificationRequest {
            remove_urrs: vec![RemoveUrr { urr_id: UrrId(7) }],
            ..Default::default()
        },
    );
    assert_eq!(
        usage(smf.pass(Duration::from_secs(200))).iter().filter(|u| u.ur_seqn.0 > 1).count(),
        0
    );
}

/// A session whose usage is reported after 250 bytes.
fn with_threshold(smf: &mut Smf) -> (u64, u32) {
    let threshold = VolumeThreshold { total: Some(250), ..Default::default() };
    smf.establish(measured(establishment(), ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = Some(threshold)
    }))
}

/// What is reported when the SMF sends a heartbeat.
fn after_heartbeat(smf: &mut Smf) -> Vec<(Packet, SessionReportRequest)> {
    smf.sequence += 1;
    let request = HeartbeatRequest { recovery: RecoveryTimeStamp(1) };
    let sent = smf.receive(&Packet::node(smf.sequence, request).encode());
    sent.into_iter().filter_map(report_of).collect()
}

#[test]
fn usage_that_the_smf_did_not_get_is_reported_when_it_responds_again() {
    let mut smf = Smf::without_heartbeats();
    let (seid, teid) = with_threshold(&mut smf);
    (0..3).for_each(|_| up(&mut smf, teid));
    let first = smf.reports().remove(0).1.usage_reports;
    assert_eq!(smf.pass(Duration::from_secs(5)).len(), 2, "it is sent three times");
    let again = after_heartbeat(&mut smf);
    let [(packet, report)] = &again[..] else { panic!("{again:?}") };
    assert_eq!((report.report_type, &report.usage_reports), (ReportType::USAR, &first));
    assert_eq!(after_heartbeat(&mut smf).len(), 0, "it is under way");
    // An SMF that is congested gets it again, too.
    smf.answer(packet, Cause::PFCP_ENTITY_IN_CONGESTION, None);
    let last = after_heartbeat(&mut smf);
    assert_eq!(last[0].1.usage_reports, first);
    smf.answer(&last[0].0, Cause::ACCEPTED, None);
    assert_eq!(after_heartbeat(&mut smf).len(), 0);
    assert_eq!(smf.pass(Duration::from_secs(5)).len(), 0);
    // Usage of a session that has ended is not retained.
    (0..3).for_each(|_| up(&mut smf, teid));
    assert_eq!(smf.reports().len(), 1);
    smf.delete(seid);
    smf.pass(Duration::from_secs(5));
    assert_eq!((after_heartbeat(&mut smf).len(), smf.n4.unreported.len()), (0, 0));
}

#[test]
fn usage_of_a_session_that_is_established_again_is_reported() {
    let mut smf = Smf::without_heartbeats();
    let (_, teid) = with_threshold(&mut smf);
    (0..3).for_each(|_| up(&mut smf, teid));
    assert_eq!(smf.reports().len(), 1);
    smf.pass(Duration::from_secs(5));
    (0..2).for_each(|_| up(&mut smf, teid));
    // The SMF restores the session first.
    smf.associate(1);
    assert_eq!(after_heartbeat(&mut smf).len(), 0);
    with_threshold(&mut smf);
    let reports = after_heartbeat(&mut smf);
    let [(packet, report)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(packet.seid, Some(CP_SEID));
    let volumes: Vec<_> = report.usage_reports.iter().map(total).collect();
    assert_eq!(volumes, [Some(300), Some(200)]);
}

#[test]
fn a_volume_quota_stops_packets_until_it_is_renewed() {
    let mut smf = Smf::associated();
    let quota = VolumeQuota { total: Some(100), ..Default::default() };
    let request =
        measured(establishment(), ReportingTriggers::VOLQU, |urr| urr.volume_quota = Some(quota));
    let (seid, teid) = smf.establish(request);
    up(&mut smf, teid);
    assert_eq!(smf.reports()[0].1.usage_reports[0].trigger, UsageReportTrigger::VOLQU);
    assert!(smf.bench.receive_n6().is_some());
    up(&mut smf, teid);
    assert_eq!(smf.bench.receive_n6(), None);
    let update = UpdateUrr {
        urr_id: UrrId(7),
        measurement_method: None,
        reporting_triggers: None,
        measurement_period: None,
        volume_threshold: None,
        volume_quota: Some(quota),
        time_threshold: None,
        time_quota: None,
        ..Default::default()
    };
    smf.accepted(
        seid,
        SessionModificationRequest { update_urrs: vec![update], ..Default::default() },
    );
    up(&mut smf, teid);
    assert!(smf.bench.receive_n6().is_some());
}

#[test]
fn a_time_quota_stops_packets_and_a_time_threshold_does_not() {
    let mut smf = Smf::associated();
    let triggers = ReportingTriggers::TIMTH | ReportingTriggers::TIMQU;
    let request = measured(establishment(), triggers, |urr| {
        urr.time_threshold = Some(TimeThreshold(10));
        urr.time_quota = Some(TimeQuota(25));
    });
    let (_, teid) = smf.establish(request);
    let first = usage(smf.pass(Duration::from_secs(11)));
    assert_eq!(first[0].trigger, UsageReportTrigger::TIMTH);
    up(&mut smf, teid);
    assert!(smf.bench.receive_n6().is_some());
    let reports = usage(smf.pass(Duration::from_secs(15)));
    assert!(
        reports.iter().any(|report| report.trigger == UsageReportTrigger::TIMQU),
        "{reports:?}"
    );
    up(&mut smf, teid);
    assert_eq!(smf.bench.receive_n6(), None);
}

#[test]
fn a_time_quota_of_the_same_length_starts_again() {
    let mut smf = Smf::without_heartbeats();
    let request = measured(establishment(), ReportingTriggers::TIMQU, |urr| {
        urr.time_quota = Some(TimeQuota(25));
    });
    let (seid, teid) = smf.establish(request);
    assert_eq!(usage(smf.pass(Duration::from_secs(20))).len(), 0);
    let time_quota = Some(TimeQuota(25));
    let update = UpdateUrr { urr_id: UrrId(7), time_quota, ..Default::default() };
    let request = SessionModificationRequest { update_urrs: vec![update], ..Default::default() };
    smf.accepted(seid, request);
    assert_eq!(usage(smf.pass(Duration::from_secs(20))).len(), 0);
    up(&mut smf, teid);
    assert!(smf.bench.receive_n6().is_some());
    let reports = usage(smf.pass(Duration::from_secs(6)));
    let triggers: Vec<_> = reports.iter().map(|report| report.trigger).collect();
    assert_eq!(triggers, [UsageReportTrigger::TIMQU]);
    up(&mut smf, teid);
    assert_eq!(smf.bench.receive_n6(), None);
}

#[test]
fn usage_is_reported_on_query_and_at_deletion() {
    let mut smf = Smf::associated();
    let (seid, teid) = smf.establish(measured(establishment(), ReportingTriggers(0), |_| {}));
    up(&mut smf, teid);
    let query = SessionModificationRequest {
        query_urrs: vec![QueryUrr { urr_id: UrrId(7) }],
        ..Default::default()
    };
    let asked = smf.accepted(seid, query).usage_reports;
    assert_eq!(
        (asked[0].trigger, asked[0].volume.unwrap().octets[1]),
        (UsageReportTrigger::IMMER, Some(100))
    );
    let all = SessionModificationRequest { flags: Some(PfcpSmReqFlags(4)), ..Default::default() };
    assert_eq!(smf.accepted(seid, all).usage_reports[0].volume.unwrap().octets[0], Some(0));
    up(&mut smf, teid);
    let last = smf.delete(seid).usage_reports;
    assert_eq!((last[0].trigger, last[0].ur_seqn), (UsageReportTrigger::TERMR, UrSeqn(2)));
    assert_eq!(last[0].volume.unwrap().octets[0], Some(100));
}

#[test]
fn usage_of_a_removed_urr_is_reported() {
    let mut smf = Smf::associated();
    let (seid, teid) = smf.establish(measured(establishment(), ReportingTriggers(0), |_| {}));
    up(&mut smf, teid);
    let remove = SessionModificationRequest {
        remove_urrs: vec![RemoveUrr { urr_id: UrrId(7) }],
        ..Default::default()
    };
    let reports = smf.accepted(seid, remove).usage_reports;
    assert_eq!(
        (reports[0].trigger, reports[0].volume.unwrap().octets[0]),
        (UsageReportTrigger::TERMR, Some(100))
    );
    up(&mut smf, teid);
    assert_eq!(smf.delete(seid).usage_reports, []);
}

#[test]
fn usage_of_a_urr_whose_removal_is_rejected_is_reported() {
    let mut smf = Smf::associated();
    let address = UeIpAddress {
        is_destination: true,
        ipv4: Some([10, 45, 0, 99].into()),
        ..Default::default()
    };
    let mut other = another(CP_SEID + 1);
    for pdr in &mut other.create_pdrs {
        for ue in &mut pdr.pdi.ue_ip_addresses {
            *ue = UeIpAddress { is_destination: ue.is_destination, ..address };
        }
    }
    smf.establish(other);
    let (seid, teid) = smf.establish(measured(establishment(), ReportingTriggers(0), |_| {}));
    up(&mut smf, teid);
    // The address of the new PDR is that of the other session.
    let pdi = Pdi { ue_ip_addresses: vec![address], ..Pdi::of(Interface::Core) };
    let create = CreatePdr { far_id: Some(FarId(2)), ..pdr(3, pdi, None) };
    let request = SessionModificationRequest {
        remove_urrs: vec![RemoveUrr { urr_id: UrrId(7) }],
        create_pdrs: vec![create],
        ..Default::default()
    };
    smf.sequence += 1;
    let sent = smf.receive(&Packet::session(seid, smf.sequence, request).encode());
    let is_refusal = |packet: &Packet| {
        matches!(&packet.message, Message::SessionModificationResponse(answer)
            if !answer.cause.is_accepted())
    };
    assert!(sent.iter().any(is_refusal), "{sent:?}");
    let reports = usage(sent);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((report.trigger, total(report)), (UsageReportTrigger::IMMER, Some(100)));
    // The rule remains.
    up(&mut smf, teid);
    let last = smf.delete(seid).usage_reports;
    assert_eq!((last[0].ur_seqn, last[0].volume.unwrap().octets[0]), (UrSeqn(1), Some(100)));
}

#[test]
fn consecutive_deletions_are_answered_in_order() {
    let mut smf = Smf::associated();
    let session = |n: u64| {
        let mut request = establishment();
        request.cp_fseid = FSeid::new(n, SMF);
        let address = UeIpAddress {
            ipv4: Some([10, 45, 0, 10 + n as u8].into()),
            is_destination: true,
            ..Default::default()
        };
        for pdr in &mut request.create_pdrs {
            for ue in &mut pdr.pdi.ue_ip_addresses {
                *ue = UeIpAddress { is_destination: ue.is_destination, ..address };
            }
        }
        measured(request, ReportingTriggers::default(), |_| {})
    };
    let (seids, teids): (Vec<u64>, Vec<u32>) = (1..4).map(|n| smf.establish(session(n))).unzip();
    let packet = udp_packet(([10, 45, 0, 12].into(), 9000), (smf.bench.remote(), 7000), &[0; 72]);
    smf.bench.send_n3(&g_pdu(teids[1], Some(9), &packet));
    let delete =
        |sequence, seid| Packet::session(seid, sequence, SessionDeletionRequest {}).encode();
    let heartbeat = Packet::node(905, HeartbeatRequest { recovery: RecoveryTimeStamp(1) }).encode();
    // The second one is duplicated; and after the third, another request for its session follows
    // one for another session.
    let all = [
        delete(901, seids[0]),
        delete(902, seids[1]),
        delete(902, seids[1]),
        delete(903, 4711),
        delete(904, seids[2]),
        heartbeat,
        delete(906, seids[1]),
    ];
    smf.n4.receive_all(all.iter().map(|bytes| (address(), bytes.as_slice())), smf.now);
    let sent = smf.sent();
    assert_eq!(
        sent.iter().map(|packet| packet.sequence).collect::<Vec<_>>(),
        [901, 902, 903, 904, 905, 906]
    );
    let answers: Vec<(Cause, Option<u64>)> = sent
        .iter()
        .filter_map(|packet| match &packet.message {
            Message::SessionDeletionResponse(answer) => Some((
                answer.cause,
                answer.usage_reports.first().and_then(|report| report.volume?.octets[0]),
            )),
            _ => None,
        })
        .collect();
    let gone = (Cause::SESSION_CONTEXT_NOT_FOUND, None);
    let accepted = |bytes| (Cause::ACCEPTED, Some(bytes));
    assert_eq!(answers, [accepted(0), accepted(100), gone, accepted(0), gone]);
    assert_eq!((smf.n4.sessions.len(), smf.n4.by_cp.len(), smf.n4.teids.len()), (0, 0, 0));
}
