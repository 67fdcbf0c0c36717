//! Messages of peers that do not own a session, and duplicated or reordered messages: they affect
//! nothing and leave nothing behind.
use crate::metrics;
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_kernel::bench::GNB;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

const UNKNOWN_PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));

fn dropped(reason: &str) -> u64 {
    metrics::N4_DROPPED.with_label_values(&[reason]).get()
}

#[test]
fn an_unassociated_peer_cannot_change_sessions() {
    let (mut smf, seid, teid) = Smf::in_session();
    let before = dropped("unknown_peer");
    let node_id = || NodeId::Ip(SMF);
    // It claims to be the SMF, and uses its session's identifiers.
    let mut other = establishment();
    other.cp_fseid = FSeid::new(9, UNKNOWN_PEER);
    let cause_of = |sent: Vec<Packet>| match &sent[..] {
        [Packet { message: Message::SessionEstablishmentResponse(m), .. }] => m.cause,
        [Packet { message: Message::SessionModificationResponse(m), .. }] => m.cause,
        [Packet { message: Message::SessionDeletionResponse(m), .. }] => m.cause,
        [Packet { message: Message::AssociationReleaseResponse(m), .. }] => m.cause,
        [Packet { message: Message::PfdManagementResponse(m), .. }] => m.cause,
        other => panic!("{other:?}"),
    };
    let requests: [(Packet, Cause); 6] = [
        (Packet::session(0, 1, other), Cause::NO_ESTABLISHED_ASSOCIATION),
        (Packet::session(seid, 2, idle()), Cause::SESSION_CONTEXT_NOT_FOUND),
        (
            Packet::session(
                seid,
                3,
                SessionModificationRequest {
                    cp_fseid: Some(FSeid::new(9, UNKNOWN_PEER)),
                    ..Default::default()
                },
            ),
            Cause::SESSION_CONTEXT_NOT_FOUND,
        ),
        (Packet::session(seid, 4, SessionDeletionRequest {}), Cause::SESSION_CONTEXT_NOT_FOUND),
        (
            Packet::node(5, AssociationReleaseRequestMessage { node_id: node_id() }),
            Cause::NO_ESTABLISHED_ASSOCIATION,
        ),
        (
            Packet::node(6, PfdManagementRequest { applications: vec![] }),
            Cause::NO_ESTABLISHED_ASSOCIATION,
        ),
    ];
    for (packet, cause) in requests {
        assert_eq!(cause_of(smf.receive_from(UNKNOWN_PEER, &packet.encode())), cause, "{packet:?}");
    }
    // The response to a malformed one does not reveal that the session exists.
    let malformed = Header { message_type: 52, seid: Some(seid), sequence: 7, priority: None };
    let malformed = malformed.encode(|out| out.extend([0, 10, 0, 6, 0, 108, 0, 2, 0, 1]));
    let sent = smf.receive_from(UNKNOWN_PEER, &malformed);
    assert_eq!((sent[0].seid, cause_of(sent)), (Some(0), Cause::SESSION_CONTEXT_NOT_FOUND));
    // Any peer may send a heartbeat; its recovery time stamp is not that of the SMF.
    let beat = HeartbeatRequest { recovery: RecoveryTimeStamp(999) };
    assert_eq!(smf.receive_from(UNKNOWN_PEER, &Packet::node(8, beat).encode()).len(), 1);
    assert_eq!(smf.n4.counts(), (1, 1));
    assert!(smf.bench.has_tunnel(teid));
    assert!(dropped("unknown_peer") >= before + 6);
    smf.accepted(seid, to_gnb(REMOTE));
}

#[test]
fn an_associated_smf_can_take_over_a_session() {
    let (mut smf, seid, _) = Smf::in_session();
    let request = AssociationSetupRequest {
        node_id: NodeId::Ip(UNKNOWN_PEER),
        recovery: RecoveryTimeStamp(5),
        up_features: None,
        cp_features: None,
        retention: None,
    };
    smf.receive_from(UNKNOWN_PEER, &Packet::node(1, request).encode());
    let cause = |sent: Vec<Packet>| match &sent[0].message {
        Message::SessionModificationResponse(m) => (sent[0].seid, m.cause),
        other => panic!("{other:?}"),
    };
    let sent = smf.receive_from(UNKNOWN_PEER, &Packet::session(seid, 2, idle()).encode());
    assert_eq!(cause(sent), (Some(0), Cause::SESSION_CONTEXT_NOT_FOUND));
    // With its own F-SEID it owns the session from now on (TS 29.244, 5.22.2).
    let change =
        SessionModificationRequest { cp_fseid: Some(FSeid::new(77, UNKNOWN_PEER)), ..idle() };
    let sent = smf.receive_from(UNKNOWN_PEER, &Packet::session(seid, 3, change).encode());
    assert_eq!(cause(sent), (Some(77), Cause::ACCEPTED));
    let sent = smf.receive_from(UNKNOWN_PEER, &Packet::session(seid, 4, to_gnb(REMOTE)).encode());
    assert_eq!(cause(sent), (Some(77), Cause::ACCEPTED));
    // The release of the previous association does not remove the session.
    let release = AssociationReleaseRequestMessage { node_id: NodeId::Ip(SMF) };
    smf.receive(&Packet::node(9, release).encode());
    let sent = smf.receive_from(UNKNOWN_PEER, &Packet::session(seid, 5, idle()).encode());
    assert_eq!(cause(sent), (Some(77), Cause::ACCEPTED));
}

/// An SMF names the CP F-SEID of another one: its next session with that would be rejected, and a
/// session that it still has to restore would end.
#[test]
fn attack_an_smf_takes_the_cp_f_seid_of_another_smf() {
    let (mut smf, seid, teid) = Smf::in_session();
    let setup = AssociationSetupRequest {
        node_id: NodeId::Ip(UNKNOWN_PEER),
        recovery: RecoveryTimeStamp(5),
        up_features: None,
        cp_features: None,
        retention: None,
    };
    smf.receive_from(UNKNOWN_PEER, &Packet::node(1, setup).encode());
    // The session of the first SMF is stale.
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    let request = |cp_fseid| SessionEstablishmentRequest {
        node_id: NodeId::Ip(UNKNOWN_PEER),
        cp_fseid,
        ..establishment()
    };
    let mut sequence = 1;
    let mut cause = |smf: &mut Smf, seid, message: Message| {
        sequence += 1;
        let sent = smf
            .receive_from(UNKNOWN_PEER, &Packet { seid: Some(seid), sequence, message }.encode());
        match &sent[0].message {
            Message::SessionEstablishmentResponse(m) => m.cause,
            Message::SessionModificationResponse(m) => m.cause,
            other => panic!("{other:?}"),
        }
    };
    for cp_seid in [CP_SEID, CP_SEID + 1] {
        let request = request(FSeid::new(cp_seid, SMF)).into();
        assert_eq!(cause(&mut smf, 0, request), Cause::REJECTED, "{cp_seid:#x}");
    }
    assert!(smf.bench.has_tunnel(teid));
    smf.accepted(seid, to_gnb(REMOTE));
    // Nor by a modification of its own session.
    let mut own = request(FSeid::new(9, UNKNOWN_PEER));
    own.create_pdrs.iter_mut().for_each(|pdr| {
        pdr.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, 9].into());
    });
    let packet = Packet::session(0, 50, own).encode();
    let sent = smf.receive_from(UNKNOWN_PEER, &packet);
    let Message::SessionEstablishmentResponse(made) = &sent[0].message else { panic!("{sent:?}") };
    let own = made.up_fseid.unwrap().seid;
    let cp_fseid = Some(FSeid::new(CP_SEID, SMF));
    let change = SessionModificationRequest { cp_fseid, ..Default::default() };
    assert_eq!(cause(&mut smf, own, change.into()), Cause::REJECTED);
    smf.delete(seid);
    assert_eq!(smf.n4.counts().0, 1);
}

#[test]
fn a_late_establishment_retransmission_creates_no_second_session() {
    let mut smf = Smf::without_heartbeats();
    // Only the CP function's F-SEID belongs to one session.
    let mut request = establishment();
    for pdr in &mut request.create_pdrs {
        pdr.pdi.ue_ip_addresses[0].ipv4 = Some(UE);
    }
    let bytes = Packet::session(0, 7, request).encode();
    let first = smf.receive(&bytes);
    let Message::SessionEstablishmentResponse(made) = &first[0].message else { panic!() };
    let seid = made.up_fseid.unwrap().seid;
    smf.pass(Duration::from_secs(60));
    let again = smf.receive(&bytes);
    let Message::SessionEstablishmentResponse(rejected) = &again[0].message else { panic!() };
    assert_eq!(
        (rejected.cause, rejected.offending_ie),
        (Cause::REJECTED, Some(OffendingIe(FSeid::TYPE)))
    );
    assert_eq!(smf.n4.counts(), (1, 1));
    smf.accepted(seid, to_gnb(REMOTE));
    // Deleted, and its end free for another one.
    smf.delete(seid);
    smf.pass(Duration::from_secs(60));
    let Message::SessionEstablishmentResponse(made) = &smf.receive(&bytes)[0].message else {
        panic!()
    };
    assert_eq!(made.cause, Cause::ACCEPTED);
}

#[test]
fn sequence_numbers_need_no_order() {
    let (mut smf, seid, _) = Smf::in_session();
    for sequence in [900, 5, 0xff_ffff, 0, 901] {
        let sent = smf.receive(&Packet::session(seid, sequence, to_gnb(REMOTE)).encode());
        assert_eq!((sent.len(), sent[0].sequence), (1, sequence));
        assert!(matches!(&sent[0].message,
                Message::SessionModificationResponse(m) if m.cause == Cause::ACCEPTED));
    }
    let before = dropped("unexpected");
    for sequence in [1, 2, 900] {
        let answer = HeartbeatResponse { recovery: RecoveryTimeStamp(42) };
        assert_eq!(smf.receive(&Packet::node(sequence, answer).encode()), []);
    }
    assert!(dropped("unexpected") >= before + 3);
    // A response of another peer to our request is ignored.
    let sent = smf.pass(Duration::from_secs(10));
    let answer = HeartbeatResponse { recovery: RecoveryTimeStamp(42) };
    assert_eq!(
        smf.receive_from(UNKNOWN_PEER, &Packet::node(sent[0].sequence, answer).encode()),
        []
    );
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn a_rejected_establishment_leaves_nothing_behind() {
    let mut smf = Smf::with(|config| {
        config.n4.heartbeat_s = 0;
        config.n4.sessions = 3;
        config.rules.pdrs = 4;
    });
    smf.associate(1);
    let nth = |n: u8| {
        let mut request = establishment();
        request.cp_fseid.seid = n.into();
        request
            .create_pdrs
            .iter_mut()
            .for_each(|pdr| pdr.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, n].into()));
        request
    };
    let ask = |smf: &mut Smf, request| match smf.session(0, request).message {
        Message::SessionEstablishmentResponse(answer) => answer,
        other => panic!("{other:?}"),
    };
    let mut seids = Vec::new();
    for n in 2..=4 {
        seids.push(ask(&mut smf, nth(n)).up_fseid.unwrap().seid);
    }
    let deadlines = smf.n4.deadlines.len();
    for round in 0..100u8 {
        // Too many sessions; too many rules in a session that is there; a tunnel and an address
        // that are another one's.
        assert_eq!(ask(&mut smf, nth(100)).cause, Cause::NO_RESOURCES_AVAILABLE);
        let pdr = |n: u16| CreatePdr { pdr_id: PdrId(n), ..establishment().create_pdrs[0].clone() };
        let many = SessionModificationRequest {
            create_pdrs: (10..20).map(pdr).collect(),
            ..Default::default()
        };
        assert_eq!(smf.modify(seids[0], many).cause, Cause::NO_RESOURCES_AVAILABLE);
        let mut foreign = establishment().create_pdrs.remove(1);
        foreign.pdr_id = PdrId(9);
        foreign.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, 3].into());
        let foreign =
            SessionModificationRequest { create_pdrs: vec![foreign], ..Default::default() };
        assert_eq!(smf.modify(seids[0], foreign).cause, Cause::RULE_CREATION_FAILURE, "{round}");
    }
    assert_eq!(
        (smf.n4.counts(), smf.n4.deadlines.len(), smf.n4.by_cp.len()),
        ((3, 1), deadlines, 3)
    );
    assert_eq!(smf.n4.teids.len(), 3);
    for seid in seids {
        smf.accepted(seid, to_gnb(REMOTE));
        smf.delete(seid);
    }
    assert_eq!(
        (smf.n4.counts(), smf.n4.by_cp.len(), smf.n4.teids.len(), smf.n4.remote.len()),
        ((0, 1), 0, 0, 0)
    );
}

#[test]
fn a_gnb_stays_known_for_a_while_after_its_last_tunnel() {
    let mut smf = Smf::without_heartbeats();
    let (seid, _) = smf.establish(establishment());
    let other: IpAddr = Ipv4Addr::new(127, 0, 0, 78).into();
    let switch = |smf: &mut Smf, gnb: IpAddr| {
        let mut request = to_gnb(REMOTE);
        let parameters = request.update_fars[0].update_forwarding_parameters.as_mut().unwrap();
        parameters.outer_header_creation = Some(OuterHeaderCreation::gtpu(REMOTE, gnb));
        smf.accepted(seid, request);
    };
    let pass = |smf: &mut Smf, ms| drop(smf.pass(Duration::from_millis(ms)));
    for (gnb, ms) in [(GNB, 1000), (other, 1000), (GNB, 8900), (other, 200)] {
        switch(&mut smf, gnb);
        pass(&mut smf, ms);
    }
    // Ten seconds after it was left for the first time, and soon after it was left again.
    assert!(smf.n4.known_peers.contains(&GNB), "its packets are still in flight");
    pass(&mut smf, 10_000);
    assert!(!smf.n4.known_peers.contains(&GNB) && smf.n4.known_peers.contains(&other));
}

#[test]
fn attack_a_gnb_names_an_address_that_it_cannot_have() {
    let to = |gnb: IpAddr| {
        let mut request = to_gnb(REMOTE);
        let parameters = request.update_fars[0].update_forwarding_parameters.as_mut().unwrap();
        parameters.outer_header_creation = Some(OuterHeaderCreation::gtpu(REMOTE, gnb));
        request
    };
    let n3 = Ipv4Addr::new(127, 0, 0, 8);
    let server = Ipv4Addr::new(203, 0, 113, 53);
    let groups = [Ipv4Addr::new(224, 0, 0, 1), Ipv4Addr::BROADCAST, Ipv4Addr::UNSPECIFIED];
    let ues = [UE, Ipv4Addr::new(10, 45, 7, 7)];
    let refused = |smf: &mut Smf, seid: u64, peer: IpAddr| {
        let answer = smf.modify(seid, to(peer));
        assert_eq!(answer.cause, Cause::RULE_CREATION_FAILURE, "{peer}");
        assert!(!smf.n4.known_peers.contains(&peer), "{peer}");
    };
    let mut smf = Smf::without_heartbeats();
    let (seid, _) = smf.establish(establishment());
    for peer in groups.into_iter().chain(ues).chain([n3]) {
        refused(&mut smf, seid, peer.into());
        refused(&mut smf, seid, peer.to_ipv6_mapped().into());
    }
    smf.accepted(seid, to(server.into()));
    // With the networks of gNBs.
    let mut smf = Smf::with(|config| {
        config.n4.heartbeat_s = 0;
        config.n3.allow = vec!["127.0.0.0/8".parse().unwrap()];
    });
    smf.associate(1);
    let (seid, _) = smf.establish(establishment());
    refused(&mut smf, seid, server.into());
    refused(&mut smf, seid, n3.into());
    smf.accepted(seid, to_gnb(REMOTE));
}

#[test]
fn attack_a_gnb_names_the_tunnel_of_another_session() {
    let mut smf = Smf::associated();
    let shared = || metrics::N4_SHARED_TUNNELS.get();
    let [victim, other] = [3_u8, 4].map(|n| {
        let mut request = another(CP_SEID + u64::from(n));
        for pdr in &mut request.create_pdrs {
            pdr.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, n].into());
        }
        smf.try_establish(request).up_fseid.unwrap().seid
    });
    smf.accepted(victim, to_gnb(REMOTE));
    smf.accepted(other, to_gnb(REMOTE + 1));
    let before = shared();
    smf.accepted(other, to_gnb(REMOTE));
    assert!(shared() > before, "it is counted");
    smf.delete(victim);
    smf.delete(other);
    assert_eq!(smf.n4.remote.len(), 0);
}

#[test]
fn attack_a_local_user_sends_from_the_address_of_the_smf() {
    let (mut smf, seid, _) = Smf::in_session();
    let before = dropped("not_allowed");
    let from = SocketAddr::new(SMF, 40_000);
    let deletion = Packet::session(seid, 900, SessionDeletionRequest {}).encode();
    smf.n4.receive_all([(from, deletion.as_slice())], smf.now);
    let beat = HeartbeatRequest { recovery: RecoveryTimeStamp(9) };
    smf.n4.receive(from, &Packet::node(901, beat).encode(), smf.now);
    assert_eq!((smf.n4.take_outgoing().len(), smf.n4.counts()), (0, (1, 1)));
    // Of an association, the response reports the reject.
    let request = AssociationSetupRequest {
        node_id: NodeId::Ip(SMF),
        recovery: RecoveryTimeStamp(9),
        up_features: None,
        cp_features: None,
        retention: None,
    };
    smf.n4.receive(from, &Packet::node(902, request).encode(), smf.now);
    assert_eq!((smf.n4.take_outgoing().len(), smf.n4.counts()), (1, (1, 1)));
    assert!(dropped("not_allowed") >= before + 3);
    smf.delete(seid);
}
