//! A session that goes through two UPFs (TS 23.502, 4.3.5.4; TS 23.501, 5.6.4.2): the one that gNBs
//! speak to sends some of the uplink to its own data network (uplink classifier), and all other
//! packets on to the anchor over N9. Without a network of its own it is an intermediate UPF.
use super::rules::{self, CHARGING, Plan};
use crate::session::QFI;
use martlet_pfcp::ie::*;
use martlet_pfcp::{SessionEstablishmentRequest, SessionModificationRequest};
use std::net::{IpAddr, Ipv6Addr};

/// Identifiers beside those of a session with one UPF, which the rules towards the gNB share with
/// it.
const LOCAL_UPLINK: u16 = 3;
const LOCAL_DOWNLINK: u16 = 4;
const TO_LOCAL: u32 = 3;
const MARK: u32 = 2;
const FROM_GNB: u8 = 1;
const FROM_ANCHOR: u8 = 2;

/// The branching point's rules. `anchor` is the anchor's end of N9; `local` are the flow
/// descriptions of what leaves here, and none for an intermediate UPF.
pub fn branching_point(
    plan: &Plan<'_>,
    anchor: (u32, IpAddr),
    local: &[String],
) -> SessionEstablishmentRequest {
    let mut request = rules::establishment(plan);
    let choose = |id| FTeid::Choose { ipv4: true, ipv6: true, choose_id: Some(id) };
    let sdf_filters: Vec<_> = local
        .iter()
        .map(|text| SdfFilter { flow_description: Some(text.clone()), ..SdfFilter::default() })
        .collect();
    let rule = |id, precedence, pdi, removal: bool, far, marks: bool| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(precedence),
        pdi,
        outer_header_removal: removal.then_some(OuterHeaderRemoval { description: 0 }),
        far_id: Some(FarId(far)),
        urr_ids: vec![CHARGING],
        // A packet takes the mark of the first QER that has one; what comes over N9 has one
        // already.
        qer_ids: if marks { vec![QerId(MARK), QerId(rules::QER)] } else { vec![QerId(rules::QER)] },
        activate_predefined_rules: None,
    };
    let uplink =
        || Pdi { local_fteid: Some(choose(FROM_GNB)), ..plan.subject.pdi(Interface::Access) };
    let over_n9 =
        Pdi { local_fteid: Some(choose(FROM_ANCHOR)), ..plan.subject.pdi(Interface::Core) };
    request.create_pdrs = vec![
        rule(rules::UPLINK, 255, uplink(), true, rules::TO_CORE, false),
        rule(rules::DOWNLINK, 255, over_n9, true, rules::TO_ACCESS, false),
    ];
    for qer in &mut request.create_qers {
        qer.qfi = None;
    }
    request.create_qers.truncate(1);
    let local_exit = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        network_instance: Some(NetworkInstance::new(plan.subject.dnn)),
        outer_header_creation: None,
    };
    for far in &mut request.create_fars {
        if let (true, Some(parameters)) =
            (far.far_id == FarId(rules::TO_CORE), &mut far.forwarding_parameters)
        {
            parameters.outer_header_creation = Some(OuterHeaderCreation::gtpu(anchor.0, anchor.1));
        }
    }
    if local.is_empty() {
        return request;
    }
    request.create_pdrs.extend([
        rule(LOCAL_UPLINK, 100, Pdi { sdf_filters, ..uplink() }, true, TO_LOCAL, false),
        rule(LOCAL_DOWNLINK, 255, plan.subject.pdi(Interface::Core), false, rules::TO_ACCESS, true),
    ]);
    request.create_fars.push(CreateFar {
        far_id: FarId(TO_LOCAL),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(local_exit),
        bar_id: None,
    });
    request.create_qers.push(CreateQer {
        qer_id: QerId(MARK),
        correlation_id: None,
        gate_status: GateStatus::default(),
        mbr: None,
        gbr: None,
        qfi: Some(Qfi(QFI)),
        rqi: None,
    });
    request
}

/// An end of a tunnel: TEID, address, and the IPv6 address of an end that has both.
type End = (u32, IpAddr, Option<Ipv6Addr>);

/// The branching point's ends: towards gNBs, and towards the anchor.
pub fn branching_tunnels(created: &[CreatedPdr]) -> Option<(End, (u32, IpAddr))> {
    let of = |id| {
        let created = created.iter().find(|created| created.pdr_id == PdrId(id))?;
        match created.local_fteid? {
            FTeid::Given { teid, ipv4, ipv6 } => Some((
                teid,
                ipv4.map(IpAddr::from).or(ipv6.map(IpAddr::from))?,
                ipv6.filter(|_| ipv4.is_some()),
            )),
            FTeid::Choose { .. } => None,
        }
    };
    let (n3, n9) = (of(rules::UPLINK)?, of(rules::DOWNLINK)?);
    Some((n3, (n9.0, n9.1)))
}

/// A change of flows and bit rate, for the anchor and for the branching point, which knows the bit
/// rate alone.
pub fn divided(
    change: SessionModificationRequest,
) -> (Option<SessionModificationRequest>, Option<SessionModificationRequest>) {
    let rate: Vec<_> =
        change.update_qers.iter().filter(|qer| qer.qer_id == QerId(rules::QER)).cloned().collect();
    let there = |request: SessionModificationRequest| {
        (request != SessionModificationRequest::default()).then_some(request)
    };
    let at_branching_point = SessionModificationRequest { update_qers: rate, ..Default::default() };
    (there(change), there(at_branching_point))
}
