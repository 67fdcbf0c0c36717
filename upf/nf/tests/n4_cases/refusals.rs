//! Requests that are refused, each with its cause and the offending element or the failed rule.
use crate::Case;
use crate::lab::{Lab, another, establishment, measured, to_gnb};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_n4::testing::{REMOTE, SMF};

/// "Rule creation/modification Failure".
const FAILED: u8 = 73;
const MANDATORY_MISSING: u8 = 66;
const CONDITIONAL_MISSING: u8 = 67;
const INVALID_LENGTH: u8 = 68;
const INCORRECT: u8 = 69;
const NOT_SUPPORTED: u8 = 76;

pub const CASES: &[Case] = &[
    ("no Node ID", |lab| raw(lab, &[&fseid()], MANDATORY_MISSING, 60)),
    ("no CP F-SEID", |lab| raw(lab, &[&node_id()], MANDATORY_MISSING, 57)),
    ("no Create PDR", |lab| refused(lab, |r| r.create_pdrs.clear(), MANDATORY_MISSING, 1)),
    ("no Create FAR", |lab| refused(lab, |r| r.create_fars.clear(), MANDATORY_MISSING, 3)),
    ("a Create PDR without PDI", |lab| {
        raw(
            lab,
            &[&node_id(), &fseid(), &ie(1, &[ie(56, &[0, 1]), ie(29, &[0; 4])].concat())],
            MANDATORY_MISSING,
            2,
        )
    }),
    ("a Create FAR without Apply Action", |lab| {
        raw(lab, &[&node_id(), &fseid(), &ie(3, &ie(108, &[0, 0, 0, 1]))], MANDATORY_MISSING, 44)
    }),
    ("a Create URR without Measurement Method", |lab| {
        raw(lab, &[&node_id(), &fseid(), &ie(6, &ie(81, &[0, 0, 0, 1]))], MANDATORY_MISSING, 62)
    }),
    ("a Create QER without Gate Status", |lab| {
        raw(lab, &[&node_id(), &fseid(), &ie(7, &ie(109, &[0, 0, 0, 1]))], MANDATORY_MISSING, 25)
    }),
    ("a FAR ID of two bytes", |lab| {
        raw(lab, &[&node_id(), &fseid(), &ie(3, &ie(108, &[0, 1]))], INVALID_LENGTH, 108)
    }),
    ("an element that is longer than its group", |lab| {
        raw(lab, &[&node_id(), &fseid(), &[0, 3, 0, 5, 0, 108, 0, 9, 1]], INVALID_LENGTH, 108)
    }),
    ("a PDR without FAR ID", |lab| refused_pdr(lab, |p| p.far_id = None, CONDITIONAL_MISSING, 108)),
    ("a PDR of the access without F-TEID", |lab| {
        refused_pdr(lab, |p| p.pdi.local_fteid = None, CONDITIONAL_MISSING, 21)
    }),
    ("a PDR of the core without UE IP address", |lab| {
        let change = |r: &mut SessionEstablishmentRequest| {
            r.create_pdrs[1].pdi.ue_ip_addresses.clear();
        };
        refused(lab, change, CONDITIONAL_MISSING, 93)
    }),
    ("a PDR ID twice", |lab| {
        failed(lab, |r| r.create_pdrs[1].pdr_id = PdrId(1), FailedRuleId::Pdr(1))
    }),
    ("a PDR with a FAR that is not there", |lab| {
        failed(lab, |r| r.create_pdrs[0].far_id = Some(FarId(9)), FailedRuleId::Pdr(1))
    }),
    ("a PDR with a QER that is not there", |lab| {
        failed(lab, |r| r.create_pdrs[0].qer_ids = vec![QerId(9)], FailedRuleId::Pdr(1))
    }),
    ("a PDR with a URR that is not there", |lab| {
        failed(lab, |r| r.create_pdrs[0].urr_ids = vec![UrrId(9)], FailedRuleId::Pdr(1))
    }),
    ("a FAR with a BAR that is not there", |lab| {
        failed(lab, |r| r.create_fars[1].bar_id = Some(BarId(9)), FailedRuleId::Far(2))
    }),
    ("a PDR with an application that is not there", |lab| {
        let id = ApplicationId::new("unknown");
        failed(lab, move |r| r.create_pdrs[0].pdi.application_id = Some(id), FailedRuleId::Pdr(1))
    }),
    ("an SDF filter with a reversed range of ports", |lab| {
        refused_filter(lab, "permit out 17 from any 2000-1000 to assigned")
    }),
    ("an SDF filter for the other direction", |lab| {
        refused_filter(lab, "permit in 17 from any to assigned")
    }),
    ("an SDF filter with options", |lab| {
        refused_filter(lab, "permit out 6 from any to assigned 80 established")
    }),
    ("an SDF filter with a prefix that is too long", |lab| {
        refused_filter(lab, "permit out ip from 10.0.0.0/33 to assigned")
    }),
    ("an SDF filter with an ID that stands for none", |lab| {
        let filter = SdfFilter { filter_id: Some(5), ..SdfFilter::default() };
        failed(lab, |r| r.create_pdrs[0].pdi.sdf_filters = vec![filter], FailedRuleId::Pdr(1))
    }),
    ("an invalid framed route", |lab| {
        let route = FramedRoute("10.60.0.1/16".into());
        failed(lab, |r| r.create_pdrs[1].pdi.framed_routes = vec![route], FailedRuleId::Pdr(2))
    }),
    ("an outer header removal that is not GTP-U", |lab| {
        for description in [2, 3, 4, 5, 7, 8, 255] {
            let removal = Some(OuterHeaderRemoval { description });
            let change = |r: &mut SessionEstablishmentRequest| {
                r.create_pdrs[0].outer_header_removal = removal;
            };
            failed(lab, change, FailedRuleId::Pdr(1));
        }
    }),
    ("a source interface that is not served", |lab| {
        let change = |r: &mut SessionEstablishmentRequest| {
            r.create_pdrs[0].pdi.source_interface = SourceInterface(Interface::Other(4));
        };
        failed(lab, change, FailedRuleId::Pdr(1))
    }),
    ("data of the CP function outside a tunnel", |lab| {
        let change = |r: &mut SessionEstablishmentRequest| {
            r.create_pdrs[1].pdi.source_interface = SourceInterface(Interface::CpFunction);
        };
        failed(lab, change, FailedRuleId::Pdr(2))
    }),
    ("data for the CP function outside a tunnel", |lab| {
        let change = |r: &mut SessionEstablishmentRequest| {
            let to = r.create_fars[0].forwarding_parameters.as_mut().expect("parameters");
            to.destination_interface = DestinationInterface(Interface::CpFunction);
        };
        failed(lab, change, FailedRuleId::Far(1))
    }),
    ("an F-TEID at an address that is not the UPF's", |lab| {
        let fteid = FTeid::Given { teid: 5, ipv4: Some([192, 0, 2, 1].into()), ipv6: None };
        refused_pdr(lab, move |p| p.pdi.local_fteid = Some(fteid), 71, 21)
    }),
    ("an F-TEID of IPv6 where N3 has none", |lab| {
        let fteid = FTeid::Choose { ipv4: false, ipv6: true, choose_id: None };
        refused_pdr(lab, move |p| p.pdi.local_fteid = Some(fteid), 71, 21)
    }),
    ("a TEID of another session", taken_teid),
    ("a UE address of another session", taken_address),
    ("a second session with the same CP F-SEID", same_fseid),
    ("a UE address that the UPF does not allocate", |lab| {
        let ue = UeIpAddress { choose_ipv4: true, is_destination: true, ..Default::default() };
        let change = |r: &mut SessionEstablishmentRequest| {
            r.create_pdrs[1].pdi.ue_ip_addresses = vec![ue];
        };
        refused(lab, change, FAILED, 93)
    }),
    ("a traffic endpoint that is not there", |lab| {
        refused_pdr(lab, |p| p.pdi.traffic_endpoints = vec![TrafficEndpointId(9)], FAILED, 131)
    }),
    ("a predefined rule that is not configured", |lab| {
        let rule = ActivatePredefinedRules::new("unknown");
        refused_pdr(lab, move |p| p.activate_predefined_rules = vec![rule], FAILED, 106)
    }),
    ("a forwarding policy that is not configured", |lab| {
        let policy = Some(ForwardingPolicy::new("unknown"));
        refused_far(lab, move |f| f.forwarding_policy = policy, 70, 41)
    }),
    ("a redirection to a SIP URI", |lab| {
        redirection(lab, RedirectAddressType::SipUri, b"sip:a@b", NOT_SUPPORTED)
    }),
    ("a redirection to a text that is no address", |lab| {
        redirection(lab, RedirectAddressType::Ipv4, b"192.0.2", FAILED)
    }),
    ("a redirection to a text that is no URL", |lab| {
        redirection(lab, RedirectAddressType::Url, b"http://x/\r\nA: b", FAILED)
    }),
    ("an outer header creation that is not GTP-U", |lab| {
        let header = OuterHeaderCreation {
            description: 0x0400,
            teid: None,
            ipv4: Some([192, 0, 2, 1].into()),
            ipv6: None,
            port: Some(1),
        };
        let change = |r: &mut SessionEstablishmentRequest| {
            forwarding(r).outer_header_creation = Some(header);
        };
        failed(lab, change, FailedRuleId::Far(1))
    }),
    ("forwarding without Forwarding Parameters", |lab| {
        let change =
            |r: &mut SessionEstablishmentRequest| r.create_fars[0].forwarding_parameters = None;
        refused(lab, change, CONDITIONAL_MISSING, 4)
    }),
    ("duplication without Duplicating Parameters", |lab| {
        action(lab, ApplyAction::FORW | ApplyAction::DUPL, CONDITIONAL_MISSING, 5)
    }),
    ("no action at all", |lab| action(lab, ApplyAction(0), INCORRECT, 44)),
    ("forwarding and dropping at once", |lab| {
        action(lab, ApplyAction::FORW | ApplyAction::DROP, INCORRECT, 44)
    }),
    ("a notification without buffering", |lab| {
        action(lab, ApplyAction::FORW | ApplyAction::NOCP, INCORRECT, 44)
    }),
    ("joins of multicast groups", |lab| {
        action(lab, ApplyAction::FORW | ApplyAction::IPMA, NOT_SUPPORTED, 44)
    }),
    ("redundant transmission", |lab| {
        action(lab, ApplyAction::FORW | ApplyAction::DFRT, NOT_SUPPORTED, 44)
    }),
    ("a URR that measures nothing", |lab| {
        let change = |urr: &mut CreateUrr| urr.measurement_method = MeasurementMethod(0);
        let request = measured(establishment(), ReportingTriggers(0), change);
        failed(lab, |r| *r = request, FailedRuleId::Urr(7))
    }),
    ("periodic reports without Measurement Period", |lab| {
        trigger(lab, ReportingTriggers::PERIO, CONDITIONAL_MISSING, 64)
    }),
    ("a quota holding trigger without Quota Holding Time", |lab| {
        trigger(lab, ReportingTriggers::QUHTI, CONDITIONAL_MISSING, 71)
    }),
    ("a quota validity trigger without Quota Validity Time", |lab| {
        trigger(lab, ReportingTriggers::QUVTI, CONDITIONAL_MISSING, 181)
    }),
    ("linked usage without Linked URR ID", |lab| {
        trigger(lab, ReportingTriggers::LIUSA, CONDITIONAL_MISSING, 82)
    }),
    ("a linked URR that is not there", |lab| {
        urr(lab, |u| u.linked_urrs = vec![LinkedUrrId(9)], FAILED, 82)
    }),
    ("an action beyond a quota that does not drop", |lab| {
        urr(lab, |u| u.quota_far = Some(FarId(1)), NOT_SUPPORTED, 108)
    }),
    ("reports of dropped downlink traffic", |lab| {
        trigger(lab, ReportingTriggers::DROTH, NOT_SUPPORTED, 37)
    }),
    ("reports of envelopes", |lab| trigger(lab, ReportingTriggers::ENVCL, NOT_SUPPORTED, 37)),
    ("reports of MAC addresses", |lab| trigger(lab, ReportingTriggers::MACAR, NOT_SUPPORTED, 37)),
    ("reports of multicast groups", |lab| {
        trigger(lab, ReportingTriggers::IPMJL, NOT_SUPPORTED, 37)
    }),
    ("Dropped DL Traffic Threshold", |lab| within(lab, 6, 72)),
    ("Aggregated URRs", |lab| within(lab, 6, 118)),
    ("Additional Monitoring Time", |lab| within(lab, 6, 147)),
    ("Ethernet Inactivity Timer", |lab| within(lab, 6, 146)),
    ("Time Quota Mechanism", |lab| within(lab, 6, 115)),
    ("DL Flow Level Marking", |lab| within(lab, 7, 97)),
    ("Header Enrichment", |lab| within(lab, 4, 98)),
    ("Proxying", |lab| within(lab, 4, 137)),
    ("Redundant Transmission Forwarding Parameters", |lab| within(lab, 3, 270)),
    ("Redundant Transmission Detection Parameters", |lab| within(lab, 2, 255)),
    ("Activation Time", |lab| within(lab, 1, 163)),
    ("Deactivation Time", |lab| within(lab, 1, 164)),
    ("Create MAR", |lab| within(lab, 0, 165)),
    ("Create SRR", |lab| within(lab, 0, 212)),
    ("Create Bridge Info for TSC", |lab| within(lab, 0, 194)),
    ("IP Multicast Addressing Info", |lab| within(lab, 0, 188)),
    ("L2TP Session Information", |lab| within(lab, 0, 277)),
    ("MBS Session N4mb Control Information", |lab| within(lab, 0, 300)),
    ("Provide ATSSS Control Information", |lab| within(lab, 0, 220)),
    ("Metadata", |lab| within(lab, 4, 322)),
    ("Protocol Description of PDU sets", |lab| within(lab, 1, 334)),
    ("Protocol Description in a PDI", |lab| within(lab, 2, 334)),
    ("PDU set marking", |lab| flagged(lab, 319, 0x08)),
    ("marking of the end of a data burst", |lab| flagged(lab, 319, 0x02)),
    ("ECN marking for L4S", |lab| flagged(lab, 319, 0x04)),
    ("packet rate status reports", |lab| flagged(lab, 251, 0x01)),
    ("unknown elements and those that only inform are passed over", informing),
    ("a modification of a session that is not there", unknown_session),
    ("a modification of a rule that is not there", unknown_rule),
    ("a removal of a rule that is not there", unknown_removal),
    ("a query of a URR that is not there", unknown_query),
    ("a refused modification changes nothing", nothing_changed),
    ("a deletion of a session that is not there", |lab| {
        let answer = lab.raw(54, 4711, &[]);
        assert!(matches!(answer, Message::SessionDeletionResponse(a) if a.cause == Cause(65)));
    }),
];

/// An information element.
fn ie(kind: u16, value: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

fn node_id() -> Vec<u8> {
    ie(60, &[0, 127, 0, 0, 7])
}

fn fseid() -> Vec<u8> {
    ie(57, &[2, 0, 0, 0, 0, 0, 0, 0x50, 1, 127, 0, 0, 7])
}

fn outcome(answer: &SessionEstablishmentResponse) -> (u8, Option<u16>) {
    (answer.cause.0, answer.offending_ie.map(|ie| ie.0))
}

fn raw(lab: &mut Lab, elements: &[&[u8]], cause: u8, offending: u16) {
    let Message::SessionEstablishmentResponse(answer) = lab.raw(50, 0, &elements.concat()) else {
        panic!("another answer")
    };
    assert_eq!(outcome(&answer), (cause, Some(offending)));
}

fn refused(
    lab: &mut Lab,
    change: impl FnOnce(&mut SessionEstablishmentRequest),
    cause: u8,
    offending: u16,
) {
    let mut request = establishment();
    change(&mut request);
    let answer = lab.try_establish(request);
    assert_eq!(outcome(&answer), (cause, Some(offending)), "{answer:?}");
    assert_eq!(answer.up_fseid, None);
}

fn failed(
    lab: &mut Lab,
    change: impl FnOnce(&mut SessionEstablishmentRequest),
    rule: FailedRuleId,
) {
    let mut request = establishment();
    change(&mut request);
    let answer = lab.try_establish(request);
    assert_eq!((answer.cause.0, answer.failed_rule), (FAILED, Some(rule)), "{answer:?}");
}

fn refused_pdr(lab: &mut Lab, change: impl FnOnce(&mut CreatePdr), cause: u8, offending: u16) {
    refused(lab, |r| change(&mut r.create_pdrs[0]), cause, offending);
}

fn forwarding(request: &mut SessionEstablishmentRequest) -> &mut ForwardingParameters {
    request.create_fars[0].forwarding_parameters.as_mut().expect("parameters")
}

fn refused_far(
    lab: &mut Lab,
    change: impl FnOnce(&mut ForwardingParameters),
    cause: u8,
    offending: u16,
) {
    refused(lab, |r| change(forwarding(r)), cause, offending);
}

fn refused_filter(lab: &mut Lab, text: &str) {
    let filter = SdfFilter { flow_description: Some(text.into()), ..SdfFilter::default() };
    refused_pdr(lab, |pdr| pdr.pdi.sdf_filters = vec![filter], FAILED, 23);
}

fn redirection(lab: &mut Lab, kind: RedirectAddressType, address: &[u8], cause: u8) {
    let redirect = RedirectInformation { kind, address: address.to_vec(), other: None };
    refused_far(lab, |f| f.redirect = Some(redirect), cause, 38);
}

fn action(lab: &mut Lab, action: ApplyAction, cause: u8, offending: u16) {
    refused(lab, |r| r.create_fars[0].apply_action = action, cause, offending);
}

fn urr(lab: &mut Lab, change: impl FnOnce(&mut CreateUrr), cause: u8, offending: u16) {
    let request = measured(establishment(), ReportingTriggers(0), change);
    refused(lab, |r| *r = request, cause, offending);
}

fn trigger(lab: &mut Lab, trigger: ReportingTriggers, cause: u8, offending: u16) {
    urr(lab, |urr| urr.reporting_triggers = trigger, cause, offending);
}

/// A valid request with an unsupported element in one of its groups, or beside them (0).
fn within(lab: &mut Lab, group: u16, unsupported: u16) {
    let mut out = Vec::new();
    let element = ie(unsupported, &[0; 4]);
    let request = measured(establishment(), ReportingTriggers(0), |_| {});
    let packet = Packet::session(0, 1, request).encode();
    // The elements follow the header of 16 bytes.
    insert(&packet[16..], group, &element, &mut out);
    if group == 0 {
        out.extend(&element);
    }
    let Message::SessionEstablishmentResponse(answer) = lab.raw(50, 0, &out) else {
        panic!("another answer")
    };
    assert_eq!(outcome(&answer), (NOT_SUPPORTED, Some(unsupported)));
}

/// A Create QER and an Update QER whose element has a flag. Without it, both are accepted, and
/// packets pass.
fn flagged(lab: &mut Lab, kind: u16, flag: u8) {
    let with = |lab: &mut Lab, group: u16, packet: Packet, seid: u64, flags: u8| {
        let (number, mut out) = (if seid == 0 { 50 } else { 52 }, Vec::new());
        insert(&packet.encode()[16..], group, &ie(kind, &[flags]), &mut out);
        lab.raw(number, seid, &out)
    };
    let new = || Packet::session(0, 1, establishment());
    let Message::SessionEstablishmentResponse(answer) = with(lab, 7, new(), 0, flag) else {
        panic!("another answer")
    };
    assert_eq!(outcome(&answer), (NOT_SUPPORTED, Some(kind)));
    let Message::SessionEstablishmentResponse(answer) = with(lab, 7, new(), 0, 0) else {
        panic!("another answer")
    };
    assert_eq!(answer.cause, Cause::ACCEPTED);
    let made = Lab::made(&answer);
    let update = || {
        let update_qers = vec![UpdateQer { qer_id: QerId(1), ..UpdateQer::default() }];
        let request = SessionModificationRequest { update_qers, ..Default::default() };
        Packet::session(made.seid, 1, request)
    };
    for (flags, expected) in [(flag, (NOT_SUPPORTED, Some(kind))), (0, (1, None))] {
        let Message::SessionModificationResponse(answer) =
            with(lab, 14, update(), made.seid, flags)
        else {
            panic!("another answer")
        };
        assert_eq!((answer.cause.0, answer.offending_ie.map(|ie| ie.0)), expected);
    }
    lab.passes_up(made, 7000);
    lab.delete(made);
}

/// Copies elements, and appends one to each group of a type.
fn insert(mut bytes: &[u8], group: u16, element: &[u8], out: &mut Vec<u8>) {
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let (value, rest) = rest.split_at(u16::from_be_bytes([head[2], head[3]]).into());
        let mut value = value.to_vec();
        if matches!(kind, 1 | 3) {
            let mut inner = Vec::new();
            insert(&value, group, element, &mut inner);
            value = inner;
        }
        if kind == group {
            value.extend(element);
        }
        out.extend(ie(kind, &value));
        bytes = rest;
    }
}

fn informing(lab: &mut Lab) {
    let mut out = Vec::new();
    let packet = Packet::session(0, 1, establishment()).encode();
    // 3GPP Interface Type, which informs; and an element that no release has.
    insert(&packet[16..], 4, &[ie(160, &[0]), ie(9999, &[1, 2, 3])].concat(), &mut out);
    out.extend(ie(159, b"\x08internet"));
    let Message::SessionEstablishmentResponse(answer) = lab.raw(50, 0, &out) else { panic!() };
    assert_eq!(answer.cause, Cause::ACCEPTED);
    let seid = answer.up_fseid.expect("an F-SEID").seid;
    lab.raw(54, seid, &[]);
}

fn taken_teid(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let fteid = FTeid::Given { teid: made.teid, ipv4: Some([127, 0, 0, 8].into()), ipv6: None };
    let mut request = another(1);
    request.create_pdrs[0].pdi.local_fteid = Some(fteid);
    let answer = lab.try_establish(request);
    assert_eq!((answer.cause.0, answer.failed_rule), (FAILED, Some(FailedRuleId::Pdr(1))));
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn taken_address(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let request = SessionEstablishmentRequest { cp_fseid: FSeid::new(9, SMF), ..establishment() };
    let answer = lab.try_establish(request);
    assert_eq!(answer.cause.0, FAILED);
    lab.passes_up(made, 7000);
    lab.delete(made);
}

fn same_fseid(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let answer = lab.try_establish(establishment());
    assert_eq!(outcome(&answer), (64, Some(57)));
    lab.delete(made);
}

fn unknown_session(lab: &mut Lab) {
    let Message::SessionModificationResponse(answer) = lab.raw(52, 4711, &[]) else { panic!() };
    assert_eq!(answer.cause, Cause::SESSION_CONTEXT_NOT_FOUND);
}

fn unknown_rule(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let mut request = to_gnb(REMOTE);
    request.update_fars[0].far_id = FarId(9);
    let answer = lab.modify(made, request);
    let expected = (FAILED, Some(FailedRuleId::Far(9)));
    assert_eq!((answer.cause.0, answer.failed_rule), expected);
    lab.delete(made);
}

fn unknown_removal(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let remove_urrs = vec![RemoveUrr { urr_id: UrrId(9) }];
    let answer = lab.modify(made, SessionModificationRequest { remove_urrs, ..Default::default() });
    let expected = (FAILED, Some(FailedRuleId::Urr(9)));
    assert_eq!((answer.cause.0, answer.failed_rule), expected);
    lab.delete(made);
}

fn unknown_query(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let query_urrs = vec![QueryUrr { urr_id: UrrId(9) }];
    let answer = lab.modify(made, SessionModificationRequest { query_urrs, ..Default::default() });
    let expected = (FAILED, Some(FailedRuleId::Urr(9)));
    assert_eq!((answer.cause.0, answer.failed_rule), expected);
    lab.delete(made);
}

fn nothing_changed(lab: &mut Lab) {
    let made = lab.establish(establishment());
    let mut request = to_gnb(0x7777);
    request.query_urrs = vec![QueryUrr { urr_id: UrrId(9) }];
    assert_eq!(lab.modify(made, request).cause.0, FAILED);
    lab.passes_down(7000, REMOTE);
    lab.delete(made);
}
