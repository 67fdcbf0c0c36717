//! Usage reporting rules: what is measured, and when it is reported.
use crate::Case;
use crate::lab::{Lab, Made, REMOTE, establishment, measured, update_urr};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use std::time::{Duration, SystemTime};

/// A packet of 100 bytes.
const PAYLOAD: [u8; 72] = [7; 72];

pub const CASES: &[Case] = &[
    ("a volume threshold is reported and starts again", volume_threshold),
    ("a threshold of one direction counts that direction", downlink_threshold),
    ("a threshold below what is used is reported at once", lowered_threshold),
    ("a volume quota stops packets until it is renewed", volume_quota),
    ("a quota below what is used is reported at once", lowered_quota),
    ("usage is reported periodically", periodic),
    ("a time threshold is reported", time_threshold),
    ("a time quota stops packets", time_quota),
    ("usage is reported on query", query),
    ("usage of all URRs is reported on request", query_all),
    ("usage of a removed URR is reported", removed),
    ("usage is reported at deletion", deletion),
    ("usage continues when the PDRs are replaced", replaced),
    ("usage is split at the Monitoring Time", monitoring_time),
    ("the subsequent threshold applies after the Monitoring Time", subsequent_threshold),
    ("the subsequent quota applies after the Monitoring Time", subsequent_quota),
    ("a linked URR is reported, too", linked),
    ("an unused quota ends after the Quota Holding Time", quota_holding),
    ("a quota ends with its validity", quota_validity),
    ("the start and the stop of traffic are reported", start_and_stop),
    ("events are counted to a threshold", event_threshold),
    ("an event quota stops packets", event_quota),
    ("an inactive URR measures nothing", inactive),
    ("time without traffic is not measured", metered),
    ("inactivity of the user plane is reported", inactivity),
    ("a renewed quota of another kind lets packets pass again", renewed),
];

fn total(bytes: u64) -> Option<VolumeThreshold> {
    Some(VolumeThreshold { total: Some(bytes), ..Default::default() })
}

fn quota(bytes: u64) -> Option<VolumeQuota> {
    Some(VolumeQuota { total: Some(bytes), ..Default::default() })
}

fn with(
    triggers: ReportingTriggers,
    change: impl FnOnce(&mut CreateUrr),
) -> SessionEstablishmentRequest {
    measured(establishment(), triggers, change)
}

fn bytes_of(volume: Option<VolumeMeasurement>) -> u64 {
    volume.and_then(|volume| volume.octets[0]).expect("a volume")
}

/// A packet of 100 bytes from the UE to the host.
fn up(lab: &mut Lab, made: crate::lab::Made) {
    lab.up(made, 7000, &PAYLOAD);
    assert!(lab.at_host(7000).is_some());
}

fn volume_threshold(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = total(250);
    }));
    for sequence in 0..2 {
        (0..3).for_each(|_| up(lab, made));
        let usage = lab.usage();
        assert_eq!((usage[0].urr_id, usage[0].ur_seqn), (UrrId(7), UrSeqn(sequence)));
        assert_eq!(usage[0].trigger, UsageReportTrigger::VOLTH);
        assert_eq!(bytes_of(usage[0].volume), 300);
        assert!(usage[0].first_packet.is_some() && usage[0].last_packet.is_some());
    }
    lab.no_report();
    lab.delete(made);
}

fn downlink_threshold(lab: &mut Lab) {
    let threshold = VolumeThreshold { downlink: Some(150), ..Default::default() };
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = Some(threshold);
    }));
    (0..3).for_each(|_| up(lab, made));
    lab.no_report();
    for _ in 0..2 {
        lab.down(7000, &PAYLOAD);
        assert!(lab.at_gnb().is_some());
    }
    let volume = lab.usage()[0].volume.expect("a volume");
    assert_eq!(volume.octets, [Some(500), Some(300), Some(200)]);
    lab.delete(made);
}

fn lowered_threshold(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = total(1000);
    }));
    (0..3).for_each(|_| up(lab, made));
    lab.no_report();
    lab.accepted(made, update_urr(|urr| urr.volume_threshold = total(200)));
    let usage = lab.usage();
    assert_eq!(usage[0].trigger, UsageReportTrigger::VOLTH);
    assert_eq!(bytes_of(usage[0].volume), 300);
    lab.no_report();
    lab.delete(made);
}

fn volume_quota(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLQU, |urr| urr.volume_quota = quota(150)));
    (0..2).for_each(|_| up(lab, made));
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::VOLQU);
    lab.stops_up(made, 7000);
    lab.accepted(made, update_urr(|urr| urr.volume_quota = quota(150)));
    up(lab, made);
    lab.delete(made);
}

fn lowered_quota(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLQU, |urr| urr.volume_quota = quota(0)));
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::VOLQU);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

fn periodic(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::PERIO, |urr| {
        urr.measurement_period = Some(MeasurementPeriod(1));
    }));
    up(lab, made);
    let usage = lab.usage();
    assert_eq!((usage[0].trigger, bytes_of(usage[0].volume)), (UsageReportTrigger::PERIO, 100));
    assert_eq!(bytes_of(lab.usage()[0].volume), 0);
    lab.delete(made);
}

fn time_threshold(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::TIMTH, |urr| {
        urr.time_threshold = Some(TimeThreshold(1));
    }));
    let usage = lab.usage();
    assert_eq!(usage[0].trigger, UsageReportTrigger::TIMTH);
    assert_eq!(usage[0].duration, Some(DurationMeasurement(1)));
    lab.delete(made);
}

fn time_quota(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::TIMQU, |urr| {
        urr.time_quota = Some(TimeQuota(1));
    }));
    up(lab, made);
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::TIMQU);
    lab.stops_up(made, 7000);
    lab.accepted(made, update_urr(|urr| urr.time_quota = Some(TimeQuota(9))));
    up(lab, made);
    lab.delete(made);
}

fn query(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |_| {}));
    up(lab, made);
    let query_urrs = vec![QueryUrr { urr_id: UrrId(7) }];
    let request = SessionModificationRequest { query_urrs, ..Default::default() };
    let usage = lab.accepted(made, request).usage_reports;
    assert_eq!((usage[0].trigger, bytes_of(usage[0].volume)), (UsageReportTrigger::IMMER, 100));
    lab.delete(made);
}

fn query_all(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |_| {}));
    up(lab, made);
    let flags = Some(PfcpSmReqFlags(4));
    let request = SessionModificationRequest { flags, ..Default::default() };
    let usage = lab.accepted(made, request).usage_reports;
    assert_eq!((usage.len(), bytes_of(usage[0].volume)), (1, 100));
    lab.delete(made);
}

fn removed(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |_| {}));
    up(lab, made);
    let remove_urrs = vec![RemoveUrr { urr_id: UrrId(7) }];
    let request = SessionModificationRequest { remove_urrs, ..Default::default() };
    let usage = lab.accepted(made, request).usage_reports;
    assert_eq!((usage[0].trigger, bytes_of(usage[0].volume)), (UsageReportTrigger::TERMR, 100));
    up(lab, made);
    assert_eq!(lab.delete(made), []);
}

fn deletion(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |_| {}));
    up(lab, made);
    let usage = lab.delete(made);
    assert_eq!((usage[0].trigger, bytes_of(usage[0].volume)), (UsageReportTrigger::TERMR, 100));
}

fn replaced(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |_| {}));
    up(lab, made);
    let mut create_pdrs = with(ReportingTriggers(0), |_| {}).create_pdrs;
    for pdr in &mut create_pdrs {
        pdr.pdr_id.0 += 10;
    }
    let remove_pdrs = vec![RemovePdr { pdr_id: PdrId(1) }, RemovePdr { pdr_id: PdrId(2) }];
    let request = SessionModificationRequest { remove_pdrs, create_pdrs, ..Default::default() };
    let answer = lab.accepted(made, request);
    let teid = answer.created_pdrs.iter().find_map(|pdr| match pdr.local_fteid {
        Some(FTeid::Given { teid, .. }) => Some(teid),
        _ => None,
    });
    let now = Made { teid: teid.expect("a TEID"), ..made };
    up(lab, now);
    lab.stops_up(made, 7000);
    let usage = lab.delete(now);
    assert_eq!((usage.len(), bytes_of(usage[0].volume)), (1, 200));
}

/// Seconds since 1900, some of them from now, where a second begins: what follows has a whole one
/// until then.
fn ntp(seconds: u64) -> MonitoringTime {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    std::thread::sleep(Duration::from_nanos(1_000_000_000 - u64::from(now().subsec_nanos())));
    MonitoringTime((now().as_secs() + 2_208_988_800 + seconds) as u32)
}

/// After this the Monitoring Time of [`ntp`] is over.
fn wait(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds) + Duration::from_millis(100));
}

fn monitoring_time(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = total(500);
        urr.monitoring_time = Some(ntp(1));
    }));
    (0..3).for_each(|_| up(lab, made));
    wait(1);
    lab.no_report();
    // What is left of the threshold applies.
    (0..2).for_each(|_| up(lab, made));
    let usage = lab.usage();
    let [before, after] = &usage[..] else { panic!("{usage:?}") };
    assert_eq!(
        (before.trigger, after.trigger),
        (UsageReportTrigger::MONIT, UsageReportTrigger::VOLTH)
    );
    assert_eq!(
        (before.information, after.information),
        (Some(UsageInformation(1)), Some(UsageInformation(2)))
    );
    assert_eq!((bytes_of(before.volume), bytes_of(after.volume)), (300, 200));
    assert_eq!(before.end.map(|end| end.0), after.start.map(|start| start.0));
    assert_eq!((before.ur_seqn, after.ur_seqn), (UrSeqn(0), UrSeqn(1)));
    // The whole threshold applies again.
    (0..4).for_each(|_| up(lab, made));
    lab.no_report();
    up(lab, made);
    let usage = lab.usage();
    assert_eq!((usage.len(), bytes_of(usage[0].volume), usage[0].information), (1, 500, None));
    lab.delete(made);
}

fn subsequent_threshold(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = total(1000);
        urr.monitoring_time = Some(ntp(1));
        urr.subsequent_volume_threshold =
            Some(SubsequentVolumeThreshold { total: Some(150), ..Default::default() });
    }));
    up(lab, made);
    wait(1);
    (0..2).for_each(|_| up(lab, made));
    let usage = lab.usage();
    assert_eq!((bytes_of(usage[0].volume), bytes_of(usage[1].volume)), (100, 200));
    (0..2).for_each(|_| up(lab, made));
    assert_eq!(bytes_of(lab.usage()[0].volume), 200);
    lab.delete(made);
}

fn subsequent_quota(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLQU, |urr| {
        urr.volume_quota = quota(1000);
        urr.monitoring_time = Some(ntp(1));
        urr.subsequent_volume_quota =
            Some(SubsequentVolumeQuota { total: Some(150), ..Default::default() });
    }));
    up(lab, made);
    wait(1);
    (0..2).for_each(|_| up(lab, made));
    let usage = lab.usage();
    assert_eq!(usage[1].trigger, UsageReportTrigger::VOLQU);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

fn linked(lab: &mut Lab) {
    let mut request = with(ReportingTriggers::VOLTH, |urr| urr.volume_threshold = total(150));
    request.create_urrs.push(CreateUrr {
        urr_id: UrrId(8),
        measurement_method: MeasurementMethod(2),
        reporting_triggers: ReportingTriggers::LIUSA,
        linked_urrs: vec![LinkedUrrId(7)],
        ..Default::default()
    });
    request.create_pdrs[0].urr_ids.push(UrrId(8));
    let made = lab.establish(request);
    (0..2).for_each(|_| up(lab, made));
    let usage = lab.usage();
    let found: Vec<_> = usage.iter().map(|u| (u.urr_id, u.trigger, bytes_of(u.volume))).collect();
    assert_eq!(
        found,
        [(UrrId(7), UsageReportTrigger::VOLTH, 200), (UrrId(8), UsageReportTrigger::LIUSA, 200)]
    );
    lab.delete(made);
}

fn quota_holding(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::QUHTI, |urr| {
        urr.volume_quota = quota(10_000);
        urr.quota_holding_time = Some(QuotaHoldingTime(2));
    }));
    // Packets hold it, for longer than that time.
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(300));
        up(lab, made);
    }
    lab.no_report();
    let usage = lab.usage();
    assert_eq!((usage[0].trigger, bytes_of(usage[0].volume)), (UsageReportTrigger::QUHTI, 800));
    lab.stops_up(made, 7000);
    lab.accepted(made, update_urr(|urr| urr.volume_quota = quota(10_000)));
    up(lab, made);
    lab.delete(made);
}

fn quota_validity(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::QUVTI, |urr| {
        urr.volume_quota = quota(10_000);
        urr.quota_validity_time = Some(QuotaValidityTime(1));
    }));
    up(lab, made);
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::QUVTI);
    lab.stops_up(made, 7000);
    lab.delete(made);
}

fn start_and_stop(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::START | ReportingTriggers::STOPT, |urr| {
        urr.inactivity_detection_time = Some(InactivityDetectionTime(1));
    }));
    for _ in 0..2 {
        up(lab, made);
        assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::START);
        up(lab, made);
        lab.no_report();
        assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::STOPT);
    }
    lab.delete(made);
}

fn event_threshold(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::EVETH, |urr| {
        urr.measurement_method = MeasurementMethod(4);
        urr.event_threshold = Some(EventThreshold(2));
        urr.inactivity_detection_time = Some(InactivityDetectionTime(1));
    }));
    up(lab, made);
    lab.no_report();
    std::thread::sleep(Duration::from_millis(1300));
    up(lab, made);
    let usage = lab.usage();
    assert_eq!((usage[0].trigger, usage[0].events.len()), (UsageReportTrigger::EVETH, 2));
    assert_eq!(usage[0].volume, None);
    lab.delete(made);
}

fn event_quota(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::EVEQU, |urr| {
        urr.measurement_method = MeasurementMethod(4);
        urr.event_quota = Some(EventQuota(1));
    }));
    up(lab, made);
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::EVEQU);
    lab.stops_up(made, 7000);
    lab.accepted(made, update_urr(|urr| urr.event_quota = Some(EventQuota(1))));
    up(lab, made);
    lab.delete(made);
}

fn inactive(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::VOLTH, |urr| {
        urr.volume_threshold = total(150);
        urr.measurement_information = Some(MeasurementInformation(2));
    }));
    (0..3).for_each(|_| up(lab, made));
    lab.no_report();
    lab.accepted(
        made,
        update_urr(|urr| {
            urr.measurement_information = Some(MeasurementInformation(0));
        }),
    );
    (0..2).for_each(|_| up(lab, made));
    assert_eq!(bytes_of(lab.usage()[0].volume), 200);
    lab.delete(made);
}

fn metered(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers(0), |urr| {
        urr.inactivity_detection_time = Some(InactivityDetectionTime(1));
    }));
    up(lab, made);
    // Measured until the second without traffic is over.
    std::thread::sleep(Duration::from_millis(3300));
    let query_urrs = vec![QueryUrr { urr_id: UrrId(7) }];
    let request = SessionModificationRequest { query_urrs, ..Default::default() };
    let usage = lab.accepted(made, request).usage_reports;
    assert_eq!(usage[0].duration, Some(DurationMeasurement(1)));
    lab.delete(made);
}

fn inactivity(lab: &mut Lab) {
    let inactivity_timer = Some(UserPlaneInactivityTimer(1));
    let made = lab.establish(SessionEstablishmentRequest { inactivity_timer, ..establishment() });
    assert_eq!(lab.report().report_type, ReportType::UPIR);
    // Again when the time without traffic has doubled, after two seconds and after four.
    assert_eq!(lab.report_within(Duration::from_millis(400)), None);
    assert_eq!(lab.report().report_type, ReportType::UPIR);
    assert_eq!(lab.report_within(Duration::from_millis(1300)), None);
    lab.passes_down(7000, REMOTE);
    assert_eq!(lab.report().report_type, ReportType::UPIR);
    lab.delete(made);
}

fn renewed(lab: &mut Lab) {
    let made = lab.establish(with(ReportingTriggers::QUVTI, |urr| {
        urr.time_quota = Some(TimeQuota(9));
        urr.quota_validity_time = Some(QuotaValidityTime(1));
    }));
    assert_eq!(lab.usage()[0].trigger, UsageReportTrigger::QUVTI);
    lab.stops_up(made, 7000);
    lab.accepted(
        made,
        update_urr(|urr| {
            urr.volume_quota = quota(1000);
            urr.quota_validity_time = Some(QuotaValidityTime(9));
        }),
    );
    up(lab, made);
    lab.delete(made);
}
