//! N4 rules of a session with two UPFs (TS 23.502, 4.3.5.4; TS 23.501, 5.6.4.2). The access UPF
//! forwards packets between gNB and anchor over N9. An uplink classifier also sends part of the
//! uplink to its own data network; an intermediate UPF does not.
use super::session_rules::{self as rules, DEFAULT_URR, RuleParameters};
use crate::qos_flows::DEFAULT_QFI;
use crate::user_plane_path::{N9Tunnel, Tunnel};
use martlet_pfcp::ie::*;
use martlet_pfcp::{SessionEstablishmentRequest, SessionModificationRequest};
use std::net::{IpAddr, Ipv6Addr};

/// Identifiers of the additional rules; the others are those of a session with one UPF.
const LOCAL_UPLINK: u16 = 3;
const LOCAL_DOWNLINK: u16 = 4;
const TO_LOCAL: u32 = 3;
const QFI_MARKING: u32 = 2;
const FROM_GNB: u8 = 1;
const FROM_ANCHOR: u8 = 2;

/// Establishes the N4 session at the access UPF. `anchor` is the anchor's N9 endpoint. `local`
/// holds the flow descriptions of a classifier's own traffic; it is empty for an intermediate UPF.
pub fn access_rules(
    parameters: &RuleParameters<'_>,
    anchor: N9Tunnel,
    local: &[String],
) -> SessionEstablishmentRequest {
    let mut request = rules::establishment(parameters);
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
        urr_ids: vec![DEFAULT_URR],
        // The first QER with a QFI marks a packet; packets from N9 are marked already.
        qer_ids: if marks {
            vec![QerId(QFI_MARKING), QerId(rules::QER)]
        } else {
            vec![QerId(rules::QER)]
        },
        activate_predefined_rules: vec![],
    };
    let uplink =
        || Pdi { local_fteid: Some(choose(FROM_GNB)), ..parameters.traffic.pdi(Interface::Access) };
    let over_n9 =
        Pdi { local_fteid: Some(choose(FROM_ANCHOR)), ..parameters.traffic.pdi(Interface::Core) };
    request.create_pdrs = vec![
        rule(rules::UPLINK, 255, uplink(), true, rules::TO_CORE, false),
        rule(rules::DOWNLINK, 255, over_n9, true, rules::TO_ACCESS, false),
    ];
    for qer in &mut request.create_qers {
        qer.qfi = None;
    }
    request.create_qers.truncate(1);
    let local_network = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        network_instance: Some(NetworkInstance::new(parameters.traffic.dnn)),
        outer_header_creation: None,
        ..Default::default()
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
        rule(
            LOCAL_DOWNLINK,
            255,
            parameters.traffic.pdi(Interface::Core),
            false,
            rules::TO_ACCESS,
            true,
        ),
    ]);
    request.create_fars.push(CreateFar {
        far_id: FarId(TO_LOCAL),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(local_network),
        bar_id: None,
        ..Default::default()
    });
    request.create_qers.push(CreateQer {
        qer_id: QerId(QFI_MARKING),
        correlation_id: None,
        gate_status: GateStatus::default(),
        mbr: None,
        gbr: None,
        qfi: Some(Qfi(DEFAULT_QFI)),
        rqi: None,
        ..Default::default()
    });
    request
}

/// A tunnel endpoint: TEID, address, and IPv6 address if it has both versions.
type DualEndpoint = (u32, IpAddr, Option<Ipv6Addr>);

/// The access UPF's endpoints on N3 and N9, from the response to [`access_rules`].
pub fn access_tunnels(created: &[CreatedPdr]) -> Option<(DualEndpoint, Tunnel)> {
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

/// Splits a change of flows and bit rate into the parts for the anchor and for the access UPF,
/// which has only the session's bit rate.
pub fn split_by_upf(
    change: SessionModificationRequest,
) -> (Option<SessionModificationRequest>, Option<SessionModificationRequest>) {
    let rate: Vec<_> =
        change.update_qers.iter().filter(|qer| qer.qer_id == QerId(rules::QER)).cloned().collect();
    let non_empty = |request: SessionModificationRequest| {
        (request != SessionModificationRequest::default()).then_some(request)
    };
    let at_access = SessionModificationRequest { update_qers: rate, ..Default::default() };
    (non_empty(change), non_empty(at_access))
}
