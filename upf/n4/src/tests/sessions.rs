//! Establishment, modification and deletion.
use crate::testing::*;
use martlet_gtpu::Message as Gtpu;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use martlet_upf_kernel::bench::GNB;

#[test]
fn a_session_forwards_packets_in_both_directions() {
    let (mut smf, _, teid) = Smf::in_session();
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7000), b"up");
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
    assert_eq!(smf.bench.receive_n6().as_deref(), Some(&b"up"[..]));
    smf.bench.send_n6(7000, b"down");
    let bytes = smf.bench.receive_n3().unwrap();
    assert!(matches!(martlet_gtpu::decode(&bytes), Ok(Gtpu::GPdu(pdu)) if pdu.teid == REMOTE));
}

#[test]
fn a_session_needs_an_association() {
    let mut smf = Smf::alone();
    assert_eq!(smf.try_establish(establishment()).cause, Cause::NO_ESTABLISHED_ASSOCIATION);
    assert_eq!(smf.n4.counts(), (0, 0));
}

#[test]
fn a_retransmitted_request_gets_the_same_response() {
    let mut smf = Smf::associated();
    let request = Packet::session(0, 7, establishment()).encode();
    let first = smf.receive(&request);
    assert_eq!(smf.receive(&request), first);
    assert_eq!((first.len(), smf.n4.counts()), (1, (1, 1)));
}

#[test]
fn pdrs_with_one_choose_id_share_a_teid() {
    let mut smf = Smf::associated();
    let mut request = establishment();
    let choose = |id| Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id: id });
    request.create_pdrs[0].pdi.local_fteid = choose(Some(5));
    for (id, choose_id) in [(3, Some(5)), (4, Some(6)), (5, None)] {
        let mut pdr = request.create_pdrs[0].clone();
        pdr.pdr_id = PdrId(id);
        pdr.pdi.local_fteid = choose(choose_id);
        request.create_pdrs.push(pdr);
    }
    let created = smf.try_establish(request).created_pdrs;
    let teids: Vec<Option<FTeid>> = created.iter().map(|created| created.local_fteid).collect();
    assert_eq!(teids.len(), 4);
    assert_eq!(teids[0], teids[1]);
    assert!(teids[1] != teids[2] && teids[2] != teids[3] && teids[0] != teids[3]);
}

/// As Open5GS's SMF adds QoS flows: the gNB has no other F-TEID of the session.
#[test]
fn a_choose_id_of_an_earlier_request_stands_for_its_teid() {
    for is_strict in [false, true] {
        let mut smf = Smf::with(|config| config.n4.strict = is_strict);
        smf.associate(1);
        let mut request = establishment();
        let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(5) };
        request.create_pdrs[0].pdi.local_fteid = Some(choose);
        let uplink = request.create_pdrs[0].clone();
        let (seid, teid) = smf.establish(request);
        let mut create = |id, source| {
            let mut pdr = CreatePdr { pdr_id: PdrId(id), ..uplink.clone() };
            pdr.pdi.source_interface = SourceInterface(source);
            let create_pdrs = vec![pdr];
            let request = SessionModificationRequest { create_pdrs, ..Default::default() };
            match smf.accepted(seid, request).created_pdrs[0].local_fteid {
                Some(FTeid::Given { teid, .. }) => teid,
                other => panic!("{other:?}"),
            }
        };
        // A tunnel of another interface, as N9, is another one.
        assert_ne!(create(3, Interface::Core), teid);
        assert_eq!(create(4, Interface::Access) == teid, !is_strict);
        assert_eq!(create(5, Interface::Access) == teid, !is_strict);
        // The tunnel is free when no PDR has it.
        let remove_pdrs = vec![RemovePdr { pdr_id: PdrId(4) }];
        smf.accepted(seid, SessionModificationRequest { remove_pdrs, ..Default::default() });
        smf.delete(seid);
        assert_eq!(smf.n4.teids.len(), 0);
    }
}

/// Open5GS's SMF restores a session with the F-TEID that it had, and adds QoS flows as before.
#[test]
fn a_new_choose_id_stands_for_the_teid_of_a_restored_session() {
    for is_strict in [false, true] {
        let mut smf = Smf::with(|config| config.n4.strict = is_strict);
        smf.associate(1);
        let mut request = establishment();
        let teid = 0x0102_0304;
        request.create_pdrs[0].pdi.local_fteid =
            Some(FTeid::Given { teid, ipv4: Some([127, 0, 0, 8].into()), ipv6: None });
        let uplink = request.create_pdrs[0].clone();
        let established = smf.try_establish(request);
        let seid = established.up_fseid.unwrap().seid;
        let mut create = |id, far, choose_id, create_fars| {
            let far_id = Some(FarId(far));
            let mut pdr = CreatePdr { pdr_id: PdrId(id), far_id, ..uplink.clone() };
            pdr.pdi.local_fteid =
                Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(choose_id) });
            let create_pdrs = vec![pdr];
            let request =
                SessionModificationRequest { create_pdrs, create_fars, ..Default::default() };
            match smf.accepted(seid, request).created_pdrs[0].local_fteid {
                Some(FTeid::Given { teid, .. }) => teid,
                other => panic!("{other:?}"),
            }
        };
        // Data that a gNB forwards in a handover have a tunnel of their own.
        let parameters = ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Access),
            outer_header_creation: Some(OuterHeaderCreation::gtpu(REMOTE, GNB)),
            ..Default::default()
        };
        let to_target = CreateFar {
            far_id: FarId(3),
            apply_action: ApplyAction::FORW,
            forwarding_parameters: Some(parameters),
            ..Default::default()
        };
        assert_ne!(create(3, 3, 10, vec![to_target]), teid);
        assert_eq!(create(4, 1, 5, vec![]) == teid, !is_strict);
        assert_eq!(create(5, 1, 5, vec![]) == teid, !is_strict);
        smf.delete(seid);
        assert_eq!(smf.n4.teids.len(), 0);
    }
}

#[test]
fn a_choose_id_does_not_stand_for_a_teid_that_was_chosen_without_one() {
    let mut smf = Smf::associated();
    let mut request = establishment();
    let choose = |choose_id| Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id });
    request.create_pdrs[0].pdi.local_fteid = choose(None);
    let mut pdr = CreatePdr { pdr_id: PdrId(3), ..request.create_pdrs[0].clone() };
    pdr.pdi.local_fteid = choose(Some(5));
    let (seid, teid) = smf.establish(request);
    let create_pdrs = vec![pdr];
    let request = SessionModificationRequest { create_pdrs, ..Default::default() };
    let created = smf.accepted(seid, request).created_pdrs;
    let Some(FTeid::Given { teid: other, .. }) = created[0].local_fteid else {
        panic!("{created:?}")
    };
    assert_ne!(other, teid);
}

#[test]
fn an_f_teid_of_the_smf_must_be_ours_and_free() {
    let mut smf = Smf::associated();
    let given = |teid, ip: [u8; 4]| {
        let mut request = establishment();
        request.create_pdrs[0].pdi.local_fteid =
            Some(FTeid::Given { teid, ipv4: Some(ip.into()), ipv6: None });
        request
    };
    let elsewhere = smf.try_establish(given(1, [127, 0, 0, 9]));
    assert_eq!(elsewhere.cause, Cause::INVALID_FTEID_ALLOCATION_OPTION);
    assert_eq!(elsewhere.offending_ie, Some(OffendingIe(FTeid::TYPE)));
    let ours = smf.try_establish(given(1, [127, 0, 0, 8]));
    assert_eq!((ours.cause, ours.created_pdrs), (Cause::ACCEPTED, vec![]));
    let taken =
        SessionEstablishmentRequest { cp_fseid: another(2).cp_fseid, ..given(1, [127, 0, 0, 8]) };
    let taken = smf.try_establish(taken);
    assert_eq!(
        (taken.cause, taken.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(1)))
    );
}

/// An invalid request, its cause, the offending IE and the failed rule.
type Wrong = (fn(&mut SessionEstablishmentRequest), Cause, Option<u16>, Option<FailedRuleId>);

#[test]
fn inconsistent_rules_are_rejected_completely() {
    let wrong: [Wrong; 14] = [
        (
            |r| r.create_pdrs[1].far_id = None,
            Cause::CONDITIONAL_IE_MISSING,
            Some(FarId::TYPE),
            None,
        ),
        (
            |r| r.create_pdrs[1].far_id = Some(FarId(77)),
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Pdr(2)),
        ),
        (
            |r| r.create_pdrs[1].qer_ids = vec![QerId(77)],
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Pdr(2)),
        ),
        (
            |r| r.create_pdrs[1].urr_ids = vec![UrrId(77)],
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Pdr(2)),
        ),
        (
            |r| r.create_pdrs[1].pdr_id = PdrId(1),
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Pdr(1)),
        ),
        (
            |r| r.create_fars[1].far_id = FarId(1),
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Far(1)),
        ),
        (
            |r| r.create_fars[1].bar_id = Some(BarId(3)),
            Cause::RULE_CREATION_FAILURE,
            None,
            Some(FailedRuleId::Far(2)),
        ),
        (
            |r| r.create_fars[0].apply_action = ApplyAction(0x12),
            Cause::CONDITIONAL_IE_MISSING,
            Some(DuplicatingParameters::TYPE),
            None,
        ),
        (
            |r| r.create_fars[0].forwarding_parameters = None,
            Cause::CONDITIONAL_IE_MISSING,
            Some(4),
            None,
        ),
        (
            |r| r.create_pdrs[0].pdi.local_fteid = None,
            Cause::CONDITIONAL_IE_MISSING,
            Some(FTeid::TYPE),
            None,
        ),
        (
            |r| r.create_pdrs[1].pdi.ue_ip_addresses.clear(),
            Cause::CONDITIONAL_IE_MISSING,
            Some(93),
            None,
        ),
        (
            |r| {
                let flow_description = Some("permit out ip from nowhere to assigned".into());
                r.create_pdrs[1].pdi.sdf_filters =
                    vec![SdfFilter { flow_description, ..Default::default() }];
            },
            Cause::RULE_CREATION_FAILURE,
            Some(SdfFilter::TYPE),
            Some(FailedRuleId::Pdr(2)),
        ),
        (
            |r| {
                for id in 100..200 {
                    r.create_pdrs.push(CreatePdr { pdr_id: PdrId(id), ..r.create_pdrs[1].clone() });
                }
            },
            Cause::NO_RESOURCES_AVAILABLE,
            None,
            None,
        ),
        (|r| r.create_fars.clear(), Cause::MANDATORY_IE_MISSING, Some(3), None),
    ];
    let mut smf = Smf::associated();
    for (n, (spoil, cause, offending, failed)) in wrong.into_iter().enumerate() {
        let mut request = establishment();
        spoil(&mut request);
        let answer = smf.try_establish(request);
        let expected = (cause, offending.map(OffendingIe), failed, None);
        assert_eq!(
            (answer.cause, answer.offending_ie, answer.failed_rule, answer.up_fseid),
            expected,
            "request {n}"
        );
    }
    assert_eq!(smf.n4.counts(), (0, 1));
    // No state is left: the corrected session is established.
    smf.establish(establishment());
}

#[test]
fn the_number_of_sessions_is_limited() {
    let mut smf = Smf::with(|config| config.n4.sessions = 1);
    smf.associate(1);
    smf.establish(establishment());
    assert_eq!(smf.try_establish(establishment()).cause, Cause::NO_RESOURCES_AVAILABLE);
}

#[test]
fn an_address_belongs_to_one_session() {
    let mut smf = Smf::associated();
    smf.establish(establishment());
    let answer = smf.try_establish(another(2));
    assert_eq!(
        (answer.cause, answer.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(2)))
    );
    assert_eq!(smf.n4.counts(), (1, 1));
}

#[test]
fn a_rejected_modification_changes_nothing() {
    let (mut smf, seid, teid) = Smf::in_session();
    let before = smf.n4.sessions[&seid].session();
    let remove = |id| SessionModificationRequest {
        remove_fars: vec![RemoveFar { far_id: FarId(id) }],
        ..Default::default()
    };
    let missing = smf.modify(seid, remove(77));
    assert_eq!(
        (missing.cause, missing.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Far(77)))
    );
    // A PDR refers to it.
    let needed = smf.modify(seid, remove(1));
    assert_eq!(
        (needed.cause, needed.failed_rule),
        (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(1)))
    );
    let unknown = smf.modify(
        seid,
        SessionModificationRequest {
            query_urrs: vec![QueryUrr { urr_id: UrrId(1) }],
            ..Default::default()
        },
    );
    assert_eq!(unknown.failed_rule, Some(FailedRuleId::Urr(1)));
    assert_eq!(smf.n4.sessions[&seid].session(), before);
    assert!(smf.bench.has_tunnel(teid));
}

#[test]
fn rules_are_created_and_removed() {
    let (mut smf, seid, _) = Smf::in_session();
    let flow_description = Some("permit out 17 from any 7001 to assigned".into());
    let mut pdi = establishment().create_pdrs[1].pdi.clone();
    pdi.sdf_filters = vec![SdfFilter { flow_description, ..Default::default() }];
    let create = SessionModificationRequest {
        create_pdrs: vec![CreatePdr {
            precedence: Precedence(1),
            far_id: Some(FarId(3)),
            ..pdr(3, pdi, None)
        }],
        create_fars: vec![CreateFar {
            far_id: FarId(3),
            apply_action: ApplyAction::DROP,
            forwarding_parameters: None,
            bar_id: None,
            ..Default::default()
        }],
        ..Default::default()
    };
    smf.accepted(seid, create);
    smf.bench.send_n6(7001, b"dropped");
    assert_eq!(smf.bench.receive_n3(), None);
    let remove = SessionModificationRequest {
        remove_pdrs: vec![RemovePdr { pdr_id: PdrId(3) }],
        remove_fars: vec![RemoveFar { far_id: FarId(3) }],
        ..Default::default()
    };
    smf.accepted(seid, remove);
    smf.bench.send_n6(7001, b"passes");
    assert!(smf.bench.receive_n3().is_some());
}

#[test]
fn a_pdr_with_a_new_tunnel_releases_the_old_one() {
    let (mut smf, seid, teid) = Smf::in_session();
    let update = UpdatePdr {
        pdr_id: PdrId(1),
        outer_header_removal: None,
        precedence: None,
        pdi: Some(establishment().create_pdrs[0].pdi.clone()),
        far_id: None,
        urr_ids: vec![],
        qer_ids: vec![],
        ..Default::default()
    };
    let answer = smf.accepted(
        seid,
        SessionModificationRequest { update_pdrs: vec![update], ..Default::default() },
    );
    let [CreatedPdr { local_fteid: Some(FTeid::Given { teid: new, .. }), .. }] =
        answer.created_pdrs[..]
    else {
        panic!("{answer:?}")
    };
    assert!(new != teid && !smf.bench.has_tunnel(teid) && smf.bench.has_tunnel(new));
}

#[test]
fn a_path_switch_sends_an_end_marker_on_the_old_path() {
    for by_session in [false, true] {
        let (mut smf, seid, _) = Smf::in_session();
        let mut switch = to_gnb(0xcafe);
        match by_session {
            true => switch.flags = Some(PfcpSmReqFlags(2)),
            false => {
                let parameters =
                    switch.update_fars[0].update_forwarding_parameters.as_mut().unwrap();
                parameters.flags = Some(PfcpSmReqFlags(2));
            }
        }
        smf.accepted(seid, switch);
        let bytes = smf.bench.receive_n3().unwrap();
        assert_eq!(martlet_gtpu::decode(&bytes), Ok(Gtpu::EndMarker { teid: REMOTE }));
        assert_eq!(smf.bench.receive_n3(), None);
        smf.bench.send_n6(7000, b"new path");
        let bytes = smf.bench.receive_n3().unwrap();
        assert!(matches!(martlet_gtpu::decode(&bytes), Ok(Gtpu::GPdu(pdu)) if pdu.teid == 0xcafe));
    }
}

#[test]
fn buffered_packets_are_dropped_on_request() {
    let mut smf = Smf::associated();
    let (seid, _) = smf.establish(establishment());
    smf.bench.send_n6(7000, b"dropped");
    smf.accepted(
        seid,
        SessionModificationRequest { flags: Some(PfcpSmReqFlags(1)), ..to_gnb(REMOTE) },
    );
    assert_eq!(smf.bench.receive_n3(), None);
}

#[test]
fn a_cp_function_can_change_its_f_seid() {
    let (mut smf, seid, _) = Smf::in_session();
    let moved =
        SessionModificationRequest { cp_fseid: Some(FSeid::new(0x77, SMF)), ..Default::default() };
    let answer = smf.session(seid, moved);
    assert_eq!(answer.seid, Some(0x77));
    assert_eq!(smf.session(seid, SessionDeletionRequest {}).seid, Some(0x77));
}

#[test]
fn a_deleted_session_leaves_nothing() {
    let (mut smf, seid, teid) = Smf::in_session();
    assert_eq!(smf.delete(seid).cause, Cause::ACCEPTED);
    assert_eq!(smf.n4.counts(), (0, 1));
    assert!(!smf.bench.has_tunnel(teid) && smf.n4.remote.is_empty());
    // The alarm for the heartbeat alone.
    assert_eq!(smf.n4.deadlines.len(), 1);
    assert_eq!(smf.n4.status()["sessionCount"], 0);
}
