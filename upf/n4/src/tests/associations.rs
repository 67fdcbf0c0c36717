//! Associations and heartbeats.
use crate::metrics;
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use std::net::IpAddr;
use std::time::Duration;

#[test]
fn association_setup_reports_up_features() {
    let answer = Smf::alone().associate(1);
    assert_eq!(answer.cause, Cause::ACCEPTED);
    assert_eq!(answer.node_id, NodeId::Ip([127, 0, 0, 8].into()));
    assert!(answer.up_features.unwrap().has(UpFunctionFeatures::FTUP | UpFunctionFeatures::EMPU));
}

#[test]
fn a_new_recovery_time_stamp_ends_the_sessions_of_before() {
    let (mut smf, seid, _) = Smf::in_session();
    assert_eq!(smf.associate(2).cause, Cause::ACCEPTED);
    assert_eq!(smf.n4.counts(), (0, 1));
    assert_eq!(smf.delete(seid).cause, Cause::SESSION_CONTEXT_NOT_FOUND);
}

#[test]
fn sessions_outlive_another_setup_by_the_same_smf() {
    let (mut smf, seid, teid) = Smf::in_session();
    let other = smf.establish(other_session());
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    assert_eq!(smf.n4.counts(), (2, 1));
    // The SMF restores one of them and modifies the other.
    let mut again = establishment();
    again.create_pdrs[0].pdi.local_fteid =
        Some(FTeid::Given { teid, ipv4: Some([127, 0, 0, 8].into()), ipv6: None });
    let restored = smf.try_establish(again);
    assert_eq!((restored.cause, smf.n4.counts()), (Cause::ACCEPTED, (2, 1)));
    assert_eq!(smf.delete(seid).cause, Cause::SESSION_CONTEXT_NOT_FOUND);
    smf.accepted(other.0, to_gnb(REMOTE));
    smf.n4.end_stale_sessions(1);
    assert_eq!(smf.n4.counts(), (2, 1));
    // Those that it leaves end after the retention time.
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    smf.accepted(other.0, to_gnb(REMOTE));
    smf.n4.end_stale_sessions(1);
    assert_eq!(smf.n4.counts(), (1, 1));
    smf.delete(other.0);
}

#[test]
fn a_full_upf_accepts_a_restored_session() {
    let mut smf = Smf::with(|config| config.n4.sessions = 1);
    smf.associate(1);
    let (stale, _) = smf.establish(establishment());
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    // A session of another UE would be one more.
    let additional = smf.try_establish(other_session());
    assert_eq!((additional.cause, smf.n4.counts().0), (Cause::NO_RESOURCES_AVAILABLE, 1));
    let (restored, _) = smf.establish(establishment());
    assert_ne!(restored, stale);
    assert_eq!(smf.n4.counts(), (1, 1));
}

/// A session of another UE.
fn other_session() -> SessionEstablishmentRequest {
    let mut request = another(CP_SEID + 1);
    request
        .create_pdrs
        .iter_mut()
        .for_each(|pdr| pdr.pdi.ue_ip_addresses[0].ipv4 = Some([10, 45, 0, 3].into()));
    request
}

/// A setup request under the node ID of the SMF, from another address; the cause of the answer.
fn set_up_from(smf: &mut Smf, from: IpAddr, node_id: NodeId, recovery: u32) -> Option<Cause> {
    let request = AssociationSetupRequest {
        node_id,
        recovery: RecoveryTimeStamp(recovery),
        up_features: None,
        cp_features: None,
        retention: None,
    };
    smf.sequence += 1;
    let answers = smf.receive_from(from, &Packet::node(smf.sequence, request).encode());
    answers.into_iter().find_map(|packet| match packet.message {
        Message::AssociationSetupResponse(answer) => Some(answer.cause),
        _ => None,
    })
}

#[test]
fn an_association_belongs_to_its_address() {
    let (mut smf, seid, _) = Smf::in_session();
    let neighbour = IpAddr::from([127, 0, 0, 66]);
    for recovery in [1, 2] {
        let cause = set_up_from(&mut smf, neighbour, NodeId::Ip(SMF), recovery);
        assert_eq!((cause, smf.n4.counts()), (Some(Cause::REJECTED), (1, 1)));
    }
    smf.accepted(seid, to_gnb(REMOTE));
    // An SMF that no longer answers may have moved: then its restart is accepted from another
    // address.
    smf.pass(Duration::from_secs(15));
    let cause = set_up_from(&mut smf, neighbour, NodeId::Ip(SMF), 1);
    assert_eq!((cause, smf.n4.counts()), (Some(Cause::REJECTED), (1, 1)));
    let cause = set_up_from(&mut smf, neighbour, NodeId::Ip(SMF), 2);
    assert_eq!((cause, smf.n4.counts()), (Some(Cause::ACCEPTED), (0, 1)));
}

#[test]
fn only_configured_smfs_get_an_association() {
    let network = "192.0.2.0/24".parse().expect("a network");
    let mut smf = Smf::with(|config| config.n4.allow = vec![network]);
    let before = metrics::N4_DROPPED.with_label_values(&["not_allowed"]).get();
    assert_eq!(set_up_from(&mut smf, SMF, NodeId::Ip(SMF), 1), Some(Cause::REJECTED));
    let beat = |sequence| {
        Packet::node(sequence, HeartbeatRequest { recovery: RecoveryTimeStamp(1) }).encode()
    };
    assert_eq!(smf.receive(&beat(77)), []);
    assert_eq!(smf.receive(&Packet::session(0, 78, establishment()).encode()), []);
    // Nor is a request of another version answered.
    let mut of_version_2 = beat(79);
    of_version_2[0] = 0x40;
    assert_eq!(smf.receive(&of_version_2), []);
    assert_eq!(smf.n4.counts(), (0, 0));
    assert!(metrics::N4_DROPPED.with_label_values(&["not_allowed"]).get() >= before + 4);
    let known = IpAddr::from([192, 0, 2, 9]);
    assert_eq!(set_up_from(&mut smf, known, NodeId::Ip(SMF), 1), Some(Cause::ACCEPTED));
    // Left empty, they are on this machine.
    let far = IpAddr::from([192, 0, 2, 9]);
    assert_eq!(set_up_from(&mut Smf::alone(), far, NodeId::Ip(far), 1), Some(Cause::REJECTED));
}

#[test]
fn association_release_removes_the_sessions() {
    let (mut smf, _, teid) = Smf::in_session();
    let release = || AssociationReleaseRequestMessage { node_id: NodeId::Ip(SMF) };
    let Message::AssociationReleaseResponse(answer) = smf.node(release()) else { panic!() };
    assert_eq!((answer.cause, smf.n4.counts()), (Cause::ACCEPTED, (0, 0)));
    assert_eq!(smf.n4.deadlines.len(), 0);
    assert!(!smf.bench.has_tunnel(teid));
    let Message::AssociationReleaseResponse(answer) = smf.node(release()) else { panic!() };
    assert_eq!(answer.cause, Cause::NO_ESTABLISHED_ASSOCIATION);
    let Message::AssociationUpdateResponse(answer) = smf.node(AssociationUpdateRequest {
        node_id: NodeId::Ip(SMF),
        up_features: None,
        cp_features: None,
        release_request: None,
        release_period: None,
        flags: None,
    }) else {
        panic!()
    };
    assert_eq!(answer.cause, Cause::NO_ESTABLISHED_ASSOCIATION);
}

#[test]
fn the_number_of_associations_is_limited() {
    let mut smf = Smf::with(|config| config.n4.associations = 1);
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    let request = AssociationSetupRequest {
        node_id: NodeId::Fqdn("another.smf".into()),
        recovery: RecoveryTimeStamp(1),
        up_features: None,
        cp_features: None,
        retention: None,
    };
    let Message::AssociationSetupResponse(answer) = smf.node(request) else { panic!() };
    assert_eq!((answer.cause, smf.n4.counts().1), (Cause::NO_RESOURCES_AVAILABLE, 1));
}

#[test]
fn heartbeats_are_answered_and_detect_a_restart() {
    let (mut smf, ..) = Smf::in_session();
    let beat = |time| HeartbeatRequest { recovery: RecoveryTimeStamp(time) };
    let expected = HeartbeatResponse { recovery: smf.n4.recovery };
    assert_eq!(smf.node(beat(1)), expected.clone().into());
    assert_eq!(smf.n4.counts(), (1, 1));
    // It restarted: its sessions are removed.
    assert_eq!(smf.node(beat(2)), expected.into());
    assert_eq!(smf.n4.counts(), (0, 0));
}

#[test]
fn sessions_of_an_unreachable_smf_are_removed() {
    let (mut smf, ..) = Smf::in_session();
    let sent = smf.pass(Duration::from_secs(10));
    let [Packet { message: Message::HeartbeatRequest(_), sequence, .. }] = sent[..] else {
        panic!("{sent:?}")
    };
    let answer = HeartbeatResponse { recovery: RecoveryTimeStamp(1) };
    assert_eq!(smf.receive(&Packet::node(sequence, answer).encode()), []);
    // The next one gets no response: it is sent three times, one second apart.
    let sent = smf.pass(Duration::from_secs(13));
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(smf.n4.counts(), (1, 1));
    assert!(smf.n4.status()["associations"][0]["reachable"] == false);
    smf.pass(Duration::from_secs(59));
    assert_eq!(smf.n4.counts(), (1, 1));
    smf.pass(Duration::from_secs(2));
    assert_eq!(smf.n4.counts(), (0, 0));
    assert_eq!(smf.n4.deadlines.len(), 0);
}

#[test]
fn sessions_are_retained_if_the_smf_returns_in_time() {
    let (mut smf, ..) = Smf::in_session();
    smf.pass(Duration::from_secs(14));
    assert!(smf.n4.status()["associations"][0]["reachable"] == false);
    smf.node(HeartbeatRequest { recovery: RecoveryTimeStamp(1) });
    assert!(smf.n4.status()["associations"][0]["reachable"] == true);
    // Only heartbeats that are answered keep it so.
    for _ in 0..12 {
        let sent = smf.pass(Duration::from_secs(10));
        let answer = HeartbeatResponse { recovery: RecoveryTimeStamp(1) };
        smf.receive(&Packet::node(sent[0].sequence, answer).encode());
    }
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn a_session_set_deletion_names_sets() {
    let mut smf = Smf::associated();
    let request = SessionSetDeletionRequest { node_id: NodeId::Ip(SMF), fq_csids: vec![] };
    let Message::SessionSetDeletionResponse(answer) = smf.node(request) else { panic!() };
    let expected = (Cause::CONDITIONAL_IE_MISSING, Some(OffendingIe(FqCsid::TYPE)));
    assert_eq!((answer.cause, answer.offending_ie), expected);
}

#[test]
fn session_retention_keeps_sessions_over_an_smf_restart() {
    let (mut smf, seid, _) = Smf::in_session();
    let request = |node_id, retention, recovery| AssociationSetupRequest {
        node_id,
        recovery: RecoveryTimeStamp(recovery),
        up_features: None,
        cp_features: None,
        retention,
    };
    let set_up = |smf: &mut Smf, node_id, retention: Option<SessionRetention>| {
        let recovery = if retention.is_some() { 2 } else { 3 };
        let request = request(node_id, retention, recovery);
        let Message::AssociationSetupResponse(answer) = smf.node(request) else { panic!() };
        (answer.cause, answer.flags)
    };
    let node = || NodeId::Ip(crate::testing::SMF);
    let retained = (Cause::ACCEPTED, Some(PfcpAsRspFlags(1)));
    assert_eq!(set_up(&mut smf, node(), Some(martlet_pfcp::SessionRetention {})), retained);
    assert_eq!(smf.n4.counts(), (1, 1));
    smf.accepted(seid, to_gnb(REMOTE));
    // The time at which it started is that of now.
    smf.node(HeartbeatRequest { recovery: RecoveryTimeStamp(2) });
    assert_eq!(smf.n4.counts(), (1, 1));
    // Another node has no sessions to keep. A node that does not request it has no sessions after
    // its restart.
    let other = NodeId::Fqdn("another.smf".into());
    assert_eq!(
        set_up(&mut smf, other, Some(martlet_pfcp::SessionRetention {})),
        (Cause::ACCEPTED, None)
    );
    assert_eq!(set_up(&mut smf, node(), None), (Cause::ACCEPTED, None));
    assert_eq!(smf.n4.counts(), (0, 2));
}
