//! Associations and heartbeats.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use std::time::Duration;

#[test]
fn association_setup_reports_up_features() {
    let answer = Smf::alone().associate(1);
    assert_eq!(answer.cause, Cause::ACCEPTED);
    assert_eq!(answer.node_id, NodeId::Ip([127, 0, 0, 8].into()));
    assert!(answer.up_features.unwrap().has(UpFunctionFeatures::FTUP | UpFunctionFeatures::EMPU));
}

#[test]
fn a_new_association_replaces_the_old_one_and_its_sessions() {
    let (mut smf, seid, _) = Smf::in_session();
    // The same recovery time stamp does not save them.
    assert_eq!(smf.associate(1).cause, Cause::ACCEPTED);
    assert_eq!(smf.n4.counts(), (0, 1));
    assert_eq!(smf.delete(seid).cause, Cause::SESSION_CONTEXT_NOT_FOUND);
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
    // Started at another time: what it had is gone.
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
    // The next one is not answered: it is sent three times, a second apart.
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
fn unsupported_features_are_rejected() {
    let mut smf = Smf::associated();
    let request = SessionSetDeletionRequest { node_id: NodeId::Ip(SMF) };
    let Message::SessionSetDeletionResponse(answer) = smf.node(request) else { panic!() };
    assert_eq!(answer.cause, Cause::SERVICE_NOT_SUPPORTED);
}

#[test]
fn session_retention_keeps_sessions_over_an_smf_restart() {
    let (mut smf, seid, _) = Smf::in_session();
    let request = |node_id, retention| AssociationSetupRequest {
        node_id,
        recovery: RecoveryTimeStamp(2),
        up_features: None,
        cp_features: None,
        retention,
    };
    let set_up = |smf: &mut Smf, node_id, retention| {
        let Message::AssociationSetupResponse(answer) = smf.node(request(node_id, retention))
        else {
            panic!()
        };
        (answer.cause, answer.flags)
    };
    let node = || NodeId::Ip(crate::testing::SMF);
    let kept = (Cause::ACCEPTED, Some(PfcpAsRspFlags(1)));
    assert_eq!(set_up(&mut smf, node(), Some(martlet_pfcp::SessionRetention {})), kept);
    assert_eq!(smf.n4.counts(), (1, 1));
    smf.accepted(seid, to_gnb(REMOTE));
    // The time at which it started is that of now.
    smf.node(HeartbeatRequest { recovery: RecoveryTimeStamp(2) });
    assert_eq!(smf.n4.counts(), (1, 1));
    // Another node has nothing that could be kept; and who does not ask begins without sessions.
    let other = NodeId::Fqdn("another.smf".into());
    assert_eq!(
        set_up(&mut smf, other, Some(martlet_pfcp::SessionRetention {})),
        (Cause::ACCEPTED, None)
    );
    assert_eq!(set_up(&mut smf, node(), None), (Cause::ACCEPTED, None));
    assert_eq!(smf.n4.counts(), (0, 2));
}
