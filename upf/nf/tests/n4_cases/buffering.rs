//! Buffering of downlink packets, and its reports to the SMF.
use crate::Case;
use crate::lab::{Lab, REMOTE, establishment, idle, pdu, to_gnb};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::conformance::payload_of;
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("packets wait for an idle UE and leave in order", buffering),
    ("a notification is delayed by a BAR", delayed),
    ("notifications to a silent SMF end after N1", silent),
    ("buffered packets are dropped on request", dropped),
];

fn buffering(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    for n in 0..3 {
        lab.down(7000, &[n]);
    }
    let report = lab.report();
    assert_eq!(report.report_type, ReportType::DLDR);
    let data = report.downlink_data.expect("downlink data");
    assert_eq!(data.pdr_ids, [PdrId(2)]);
    assert_eq!(data.service_information.and_then(|information| information.qfi), Some(Qfi(9)));
    lab.no_report();
    lab.accepted(made, to_gnb(REMOTE));
    for n in 0..3 {
        let bytes = lab.at_gnb().expect("a buffered packet");
        assert_eq!(payload_of(pdu(&bytes).payload), Some(&[n][..]));
    }
    lab.delete(made);
}

fn delayed(lab: &mut Lab) {
    let mut request = establishment();
    // 500 ms.
    let notification_delay = Some(DownlinkDataNotificationDelay(10));
    request.create_bar =
        Some(CreateBar { bar_id: BarId(1), notification_delay, suggested_packets: None });
    request.create_fars[1].bar_id = Some(BarId(1));
    let made = lab.establish_only(request);
    lab.down(7000, b"waits");
    assert_eq!(lab.report_within(Duration::from_millis(250)), None);
    assert_eq!(lab.report().report_type, ReportType::DLDR);
    lab.delete(made);
}

fn silent(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    lab.answers = false;
    let mut reports = 0;
    // T1 is 200 ms and N1 is 3: a report is given up after 600 ms.
    for _ in 0..40 {
        lab.down(7000, b"waits");
        reports += usize::from(lab.report_within(Duration::from_millis(80)).is_some());
    }
    lab.answers = true;
    assert_eq!(reports, 3);
    // Any modification shows that the SMF is there.
    lab.accepted(made, to_gnb(REMOTE));
    lab.accepted(made, idle());
    lab.down(7000, b"waits");
    assert_eq!(lab.report().report_type, ReportType::DLDR);
    lab.delete(made);
}

fn dropped(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, idle());
    lab.down(7000, b"dropped");
    lab.report();
    let flags = Some(PfcpSmReqFlags(1));
    lab.accepted(made, SessionModificationRequest { flags, ..to_gnb(REMOTE) });
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}
