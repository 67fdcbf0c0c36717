//! QoS enforcement: gates, bit rates, packet rates, and the marks of downlink packets.
use crate::Case;
use crate::common::REMOTE as HOST;
use crate::lab::{Lab, REMOTE, another, establishment, measured, pdu};
use martlet_gtpu::PduSessionContainer;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::conformance::udp_packet;
use std::net::Ipv4Addr;
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("a closed gate stops its direction", gate),
    ("a bit rate of zero stops its direction", bit_rate),
    ("a QER without a QoS flow marks no packets", zero_qfi),
    ("reflective QoS is indicated", reflective),
    ("the paging policy indicator is in downlink packets", paging_policy),
    ("a packet rate lets as many packets pass", packet_rate),
    ("QERs with one correlation ID share their rate", correlation),
    ("an IP session changes to user space with its usage", handed_over),
];

fn update_qer(change: impl FnOnce(&mut UpdateQer)) -> SessionModificationRequest {
    let mut qer = UpdateQer { qer_id: QerId(1), ..Default::default() };
    change(&mut qer);
    SessionModificationRequest { update_qers: vec![qer], ..Default::default() }
}

fn gate(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let closed = GateStatus { uplink_closed: true, downlink_closed: false };
    lab.accepted(made, update_qer(|qer| qer.gate_status = Some(closed)));
    lab.stops_up(made, 7000);
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}

fn bit_rate(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let mbr = Mbr { uplink: 1_000_000, downlink: 0 };
    lab.accepted(made, update_qer(|qer| qer.mbr = Some(mbr)));
    lab.passes_up(made, 7000);
    lab.stops_down(7000);
    lab.delete(made);
}

/// free5GC's SMF writes QFI 0 into the QER of the session-AMBR, which PDRs of flows name first.
fn zero_qfi(lab: &mut Lab) {
    let mut request = establishment();
    request.create_qers.push(CreateQer {
        qer_id: QerId(2),
        qfi: Some(Qfi(0)),
        ..request.create_qers[0].clone()
    });
    request.create_pdrs[1].qer_ids = vec![QerId(2), QerId(1)];
    let made = lab.establish(request);
    let bytes = lab.passes_down(7000, REMOTE);
    assert_eq!(pdu(&bytes).container, Some(PduSessionContainer::downlink(9)));
    lab.delete(made);
}

fn reflective(lab: &mut Lab) {
    let made = lab.establish(establishment());
    lab.accepted(made, update_qer(|qer| qer.rqi = Some(Rqi(1))));
    let bytes = lab.passes_down(7000, REMOTE);
    assert!(pdu(&bytes).container.is_some_and(|container| container.rqi));
    lab.delete(made);
}

fn paging_policy(lab: &mut Lab) {
    let mut request = establishment();
    request.create_qers[0].paging_policy = Some(PagingPolicyIndicator(5));
    let made = lab.establish(request);
    let bytes = lab.passes_down(7000, REMOTE);
    assert_eq!(pdu(&bytes).container.and_then(|container| container.ppi), Some(5));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn packet_rate(lab: &mut Lab) {
    let mut request = establishment();
    // Three packets a minute from the UE.
    let rate = PacketRate { uplink: Some((0, 3)), downlink: None };
    request.create_qers[0].packet_rate = Some(rate);
    let made = lab.establish(request);
    for _ in 0..3 {
        lab.passes_up(made, 7000);
    }
    lab.stops_up(made, 7000);
    lab.passes_down(7000, REMOTE);
    // A higher rate starts again.
    let rate = PacketRate { uplink: Some((0, 4)), downlink: None };
    lab.accepted(made, update_qer(|qer| qer.packet_rate = Some(rate)));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn correlation(lab: &mut Lab) {
    // A burst is a packet of the largest size at least: 65,535 bytes at the rate of 1 kbit/s.
    let with = |mut request: SessionEstablishmentRequest| {
        request.create_qers[0].correlation_id = Some(QerCorrelationId(77));
        request.create_qers[0].mbr = Some(Mbr { uplink: 1, downlink: 1 });
        request
    };
    let first = lab.establish(with(establishment()));
    let second = lab.establish(with(another(1)));
    let payload = vec![7; 1200];
    for _ in 0..52 {
        lab.up(first, 7000, &payload);
        assert!(lab.at_host(7000).is_some());
    }
    // What the one has used, the other one has not.
    let packet = udp_packet((Ipv4Addr::new(10, 45, 0, 3), 9000), (HOST, 7001), &payload);
    lab.up_packet(second, Some(9), &packet);
    lab.up_packet(second, Some(9), &packet);
    assert!(lab.at_host(7001).is_some());
    assert_eq!(lab.at_host_within(7001, Duration::from_millis(150)), None);
    lab.up(first, 7000, &payload);
    assert_eq!(lab.at_host_within(7000, Duration::from_millis(150)), None);
    lab.delete(first);
    lab.delete(second);
}

/// The datapath `xdp` carries sessions with a paging policy in user space.
fn handed_over(lab: &mut Lab) {
    let request = measured(establishment(), ReportingTriggers::VOLQU, |urr| {
        urr.volume_quota = Some(VolumeQuota { total: Some(100), ..Default::default() });
    });
    let made = lab.establish(request);
    lab.passes_up(made, 7000);
    lab.accepted(made, update_qer(|qer| qer.paging_policy = Some(PagingPolicyIndicator(2))));
    // 39 bytes each: the third one reaches the quota of 100, the fourth one is dropped.
    lab.passes_up(made, 7000);
    lab.passes_up(made, 7000);
    let usage = lab.usage();
    assert_eq!(usage[0].trigger, UsageReportTrigger::VOLQU);
    assert_eq!(usage[0].volume.and_then(|volume| volume.octets[1]), Some(117));
    lab.stops_up(made, 7000);
    lab.delete(made);
}
