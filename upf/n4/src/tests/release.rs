//! Graceful release of associations.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use std::time::Duration;

fn update_of(packet: &Packet) -> AssociationUpdateRequest {
    let Message::AssociationUpdateRequest(request) = packet.message.clone() else {
        panic!("{packet:?}")
    };
    request
}

fn release() -> AssociationReleaseRequestMessage {
    AssociationReleaseRequestMessage { node_id: NodeId::Ip(SMF) }
}

#[test]
fn a_stopping_upf_waits_for_smfs_to_move_sessions() {
    let mut smf = Smf::with(|config| {
        config.n4.heartbeat_s = 0;
        config.n4.graceful_release_s = 20;
    });
    smf.associate(1);
    let (seid, teid) = smf.establish(establishment());
    assert!(smf.n4.leave(smf.now));
    let sent = smf.sent();
    let request = update_of(&sent[0]);
    assert_eq!(request.release_request, Some(ie::AssociationReleaseRequest(1)));
    assert_eq!(request.release_period.unwrap().span(), Some(Duration::from_secs(20)));
    let answer = AssociationUpdateResponse { node_id: NodeId::Ip(SMF), cause: Cause::ACCEPTED };
    assert_eq!(smf.receive(&Packet::node(sent[0].sequence, answer).encode()), []);
    // Traffic continues, and new sessions are rejected.
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7000), b"up");
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
    assert!(smf.bench.receive_n6().is_some());
    let mut other = establishment();
    other.cp_fseid.seid = 2;
    let Message::SessionEstablishmentResponse(rejected) = smf.session(0, other).message else {
        panic!()
    };
    assert_eq!(rejected.cause, Cause::REJECTED);
    assert!(smf.n4.release_deadline(smf.now).is_some_and(|at| at > smf.now.instant));
    smf.delete(seid);
    smf.node(release());
    assert_eq!(smf.n4.release_deadline(smf.now), Some(smf.now.instant));
}

#[test]
fn a_stopping_upf_without_associations_does_not_wait() {
    let mut alone = Smf::with(|config| config.n4.graceful_release_s = 20);
    assert!(!alone.n4.leave(alone.now));
    let mut hasty = Smf::associated();
    assert!(!hasty.n4.leave(hasty.now));
}

#[test]
fn a_drained_upf_rejects_associations_until_the_draining_ends() {
    let mut smf = Smf::without_heartbeats();
    let (seid, _) = smf.establish(establishment());
    assert!(!smf.n4.drain(true, smf.now));
    let sent = smf.sent();
    let request = update_of(&sent[0]);
    assert_eq!(request.release_request, Some(ie::AssociationReleaseRequest(1)));
    assert_eq!(request.release_period.unwrap().span(), Some(Duration::from_secs(60)));
    let answer = AssociationUpdateResponse { node_id: NodeId::Ip(SMF), cause: Cause::ACCEPTED };
    assert_eq!(smf.receive(&Packet::node(sent[0].sequence, answer).encode()), []);
    // A session whose establishment began before the SMF knew of it.
    let mut late = establishment();
    late.cp_fseid.seid = 2;
    let address = Some([10, 45, 0, 77].into());
    for pdr in &mut late.create_pdrs {
        pdr.pdi.ue_ip_addresses.iter_mut().for_each(|one| one.ipv4 = address);
    }
    let (late, _) = smf.establish(late);
    smf.delete(seid);
    smf.delete(late);
    smf.node(release());
    assert_eq!(smf.associate(2).cause, Cause::REJECTED);
    // It does not end.
    assert_eq!(smf.n4.release_deadline(smf.now), None);
    assert!(smf.n4.drain(false, smf.now));
    assert_eq!(smf.associate(3).cause, Cause::ACCEPTED);
}

#[test]
fn usage_is_reported_before_an_association_is_released() {
    let mut smf = Smf::without_heartbeats();
    let mut teids = Vec::new();
    for n in 1..=3u8 {
        let mut request = measured(establishment(), ReportingTriggers::default(), |_| {});
        request.cp_fseid.seid = n.into();
        for pdr in &mut request.create_pdrs {
            pdr.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, n + 1].into());
        }
        let Message::SessionEstablishmentResponse(answer) = smf.session(0, request).message else {
            panic!()
        };
        let Some(FTeid::Given { teid, .. }) = answer.created_pdrs[0].local_fteid else {
            panic!("{answer:?}")
        };
        teids.push(teid);
    }
    // Two of three have used something.
    for (n, teid) in teids.iter().enumerate().take(2) {
        let packet =
            udp_packet(([10, 45, 0, n as u8 + 2].into(), 9000), (smf.bench.remote(), 7000), b"up");
        smf.bench.send_n3(&g_pdu(*teid, Some(9), &packet));
        assert!(smf.bench.receive_n6().is_some());
    }
    let prepare = AssociationUpdateRequest {
        node_id: NodeId::Ip(SMF),
        up_features: None,
        cp_features: None,
        release_request: None,
        release_period: None,
        flags: Some(PfcpAuReqFlags(1)),
    };
    let sent = smf.receive(&Packet::node(77, prepare).encode());
    let (answers, reports): (Vec<Packet>, Vec<Packet>) = sent
        .into_iter()
        .partition(|packet| matches!(packet.message, Message::AssociationUpdateResponse(_)));
    assert_eq!((answers.len(), reports.len()), (1, 2));
    for (n, packet) in reports.iter().enumerate() {
        let (_, report) = report_of(packet.clone()).unwrap();
        assert_eq!(report.report_type, ReportType::USAR);
        assert_eq!(report.usage_reports[0].trigger, UsageReportTrigger::TEBUR);
        assert_eq!(report.usage_reports[0].volume.unwrap().octets[0], Some(30));
        let answer =
            SessionReportResponse { cause: Cause::ACCEPTED, offending_ie: None, flags: None };
        let after = smf.receive(&Packet::session(1, packet.sequence, answer).encode());
        // After the last of them, the end of the reports follows.
        assert_eq!(after.len(), n);
        if let Some(last) = after.first() {
            assert_eq!(update_of(last).release_request, Some(ie::AssociationReleaseRequest(2)));
        }
    }
    assert_eq!(smf.n4.counts(), (3, 1));
    smf.node(release());
    assert_eq!(smf.n4.counts(), (0, 0));
}
