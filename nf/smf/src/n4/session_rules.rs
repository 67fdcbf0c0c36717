//! N4 rules of a session at its UPF (TS 23.501, 5.8.2; TS 29.244, 5.2): a PDR and a FAR per
//! direction, a QER with the session's bit rate and a URR, and further rules for QoS flows.
use crate::addresses::Addresses;
use crate::packet_filter::PacketFilter;
use crate::qos_flows::Flow;
use crate::user_plane_path::Tunnel;
use martlet_pfcp::ie::*;
use martlet_pfcp::{
    SessionDeletionRequest, SessionEstablishmentRequest, SessionModificationRequest,
};
use martlet_sbi_api::common::PduSessionType;
use std::net::{IpAddr, SocketAddrV6};

pub(super) const UPLINK: u16 = 1;
pub(super) const DOWNLINK: u16 = 2;
pub(super) const TO_CORE: u32 = 1;
pub(super) const TO_ACCESS: u32 = 2;
pub(super) const QER: u32 = 1;
const URR: u32 = 1;
/// The URR for the default rating group.
pub const DEFAULT_URR: UrrId = UrrId(URR);
/// URR identifiers of further rating groups: this bit, and the group's number below it.
const GROUP_URR: u32 = 0x1000_0000;

/// The URR of a rating group; `None` if the group's number has more than 28 bits.
pub fn urr_of(rating_group: u32) -> Option<UrrId> {
    (rating_group < GROUP_URR).then_some(UrrId(GROUP_URR | rating_group))
}

/// The rating group of a URR; `None` for [`DEFAULT_URR`].
pub fn group_of(urr: UrrId) -> Option<u32> {
    (urr.0 & !(GROUP_URR - 1) == GROUP_URR).then_some(urr.0 & (GROUP_URR - 1))
}

const BAR: u8 = 1;
/// Outer header removal of UDP over IPv6 (TS 29.244, 8.2.64).
const UDP_IPV6: u8 = 3;

/// DROBU: drop buffered packets (TS 29.244, 8.2.34).
const DROP_BUFFERED: PfcpSmReqFlags = PfcpSmReqFlags(1);

/// What distinguishes the packets of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionTraffic<'a> {
    pub kind: &'a PduSessionType,
    pub ue: Addresses,
    pub dnn: &'a str,
    /// Framed routes.
    pub framed_routes: &'a [String],
}

impl SessionTraffic<'_> {
    /// The PDI for packets of the session that arrive at an interface.
    pub(super) fn pdi(&self, interface: Interface) -> Pdi {
        let is_destination = interface == Interface::Core;
        let mut pdi =
            Pdi { network_instance: Some(NetworkInstance::new(self.dnn)), ..Pdi::of(interface) };
        if *self.kind == PduSessionType::Ethernet {
            pdi.ethernet = Some(EthernetPduSessionInformation(1));
            return pdi;
        }
        pdi.ue_ip_addresses = vec![ue_address(&self.ue, is_destination)];
        let (ipv6, ipv4): (Vec<&String>, Vec<&String>) =
            self.framed_routes.iter().partition(|route| route.contains(':'));
        pdi.framed_routes =
            ipv4.into_iter().map(|route| FramedRoute(format!("{route} 0.0.0.0 1"))).collect();
        pdi.framed_ipv6_routes =
            ipv6.into_iter().map(|route| FramedIpv6Route(format!("{route} :: 1"))).collect();
        pdi
    }
}

/// A volume quota. Field names are part of the stored format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Quota {
    /// Bytes.
    #[serde(rename = "octets")]
    pub bytes: u64,
    /// Remaining bytes at which the UPF reports; 0 for no report.
    #[serde(rename = "left_at_report")]
    pub report_at_remaining: u64,
}

/// A quota that is never used up.
const UNLIMITED: Quota = Quota { bytes: u64::MAX >> 2, report_at_remaining: 0 };

impl Quota {
    fn threshold(self) -> Option<VolumeThreshold> {
        let at = self
            .bytes
            .checked_sub(self.report_at_remaining)
            .filter(|at| self.report_at_remaining > 0 && *at > 0);
        at.map(|at| VolumeThreshold { total: Some(at), ..Default::default() })
    }

    fn quota(self) -> VolumeQuota {
        VolumeQuota { total: Some(self.bytes), ..Default::default() }
    }
}

const QUOTA_TRIGGERS: ReportingTriggers =
    ReportingTriggers(ReportingTriggers::VOLTH.0 | ReportingTriggers::VOLQU.0);

/// The parameters from which the rules of a session are made.
pub struct RuleParameters<'a> {
    pub node: NodeId,
    pub cp_address: IpAddr,
    pub cp_seid: u64,
    pub traffic: SessionTraffic<'a>,
    /// UDP endpoint for the data of an unstructured session.
    pub unstructured_server: Option<SocketAddrV6>,
    pub qfi: u8,
    /// Session-AMBR uplink in bits per second.
    pub uplink: u64,
    /// Session-AMBR downlink in bits per second.
    pub downlink: u64,
    /// QoS flows in addition to the default one.
    pub flows: &'a [Flow],
    /// Quota of the default rating group.
    pub quota: Option<Quota>,
    /// Further rating groups with their quotas.
    pub groups: Vec<(u32, Option<Quota>)>,
    /// The N3 endpoint of a session that is restored at its UPF; otherwise the UPF chooses one.
    pub restored: Option<Tunnel>,
    /// User plane inactivity timer in seconds: the UPF reports, and learns whether the SMF still
    /// has the session.
    pub inactivity_s: Option<u32>,
    /// Handling of downlink packets.
    pub downlink_action: Downlink,
}

/// Handling of downlink packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downlink {
    /// Buffer, until the gNB's endpoint is known.
    Buffer,
    /// Buffer and notify the SMF, because the UE is idle.
    Notify,
    /// Forward to the gNB's N3 endpoint.
    Forward(Tunnel),
}

impl Downlink {
    fn action(self) -> ApplyAction {
        match self {
            Downlink::Buffer => ApplyAction::BUFF,
            Downlink::Notify => ApplyAction::BUFF | ApplyAction::NOCP,
            Downlink::Forward(_) => ApplyAction::FORW,
        }
    }

    fn parameters(self) -> Option<ForwardingParameters> {
        let Downlink::Forward((teid, address)) = self else { return None };
        Some(ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Access),
            network_instance: None,
            outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
            ..Default::default()
        })
    }
}

/// RESTI: the UPF restores the session with its old F-TEID (TS 23.527, 4.3.2).
const RESTORATION: PfcpSeReqFlags = PfcpSeReqFlags(1);

/// Establishes or restores an N4 session.
pub fn establishment(parameters: &RuleParameters<'_>) -> SessionEstablishmentRequest {
    let network = Some(NetworkInstance::new(parameters.traffic.dnn));
    let pdr = |id, pdi, outer_header_removal, far| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal,
        far_id: Some(FarId(far)),
        urr_ids: vec![UrrId(URR)],
        qer_ids: vec![QerId(QER)],
        activate_predefined_rules: vec![],
    };
    let local_fteid = match parameters.restored {
        // All flows share one tunnel.
        None => FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: (!parameters.flows.is_empty()).then_some(1),
        },
        Some((teid, IpAddr::V4(ip))) => FTeid::Given { teid, ipv4: Some(ip), ipv6: None },
        Some((teid, IpAddr::V6(ip))) => FTeid::Given { teid, ipv4: None, ipv6: Some(ip) },
    };
    let uplink = Pdi {
        local_fteid: Some(local_fteid),
        qfis: vec![Qfi(parameters.qfi)],
        ..parameters.traffic.pdi(Interface::Access)
    };
    let downlink = parameters.traffic.pdi(Interface::Core);
    let removal_from_server =
        parameters.unstructured_server.map(|_| OuterHeaderRemoval { description: UDP_IPV6 });
    let to_core = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        network_instance: network,
        outer_header_creation: parameters.unstructured_server.map(OuterHeaderCreation::udp6),
        ..Default::default()
    };
    let mut create_pdrs = vec![
        pdr(UPLINK, uplink, Some(OuterHeaderRemoval { description: 0 }), TO_CORE),
        pdr(DOWNLINK, downlink, removal_from_server, TO_ACCESS),
    ];
    let groups: Vec<u32> = parameters.groups.iter().map(|(group, _)| *group).collect();
    create_pdrs.extend(
        parameters
            .flows
            .iter()
            .flat_map(|flow| flow_pdrs(flow, &parameters.traffic, &local_fteid, &groups)),
    );
    SessionEstablishmentRequest {
        node_id: parameters.node.clone(),
        cp_fseid: FSeid::new(parameters.cp_seid, parameters.cp_address),
        create_pdrs,
        create_fars: vec![
            CreateFar {
                far_id: FarId(TO_CORE),
                apply_action: ApplyAction::FORW,
                forwarding_parameters: Some(to_core),
                bar_id: None,
                ..Default::default()
            },
            CreateFar {
                far_id: FarId(TO_ACCESS),
                apply_action: parameters.downlink_action.action(),
                forwarding_parameters: parameters.downlink_action.parameters(),
                bar_id: (!matches!(parameters.downlink_action, Downlink::Forward(_)))
                    .then_some(BarId(BAR)),
                ..Default::default()
            },
        ],
        create_urrs: std::iter::once(create_urr(DEFAULT_URR, parameters.quota))
            .chain(
                parameters
                    .groups
                    .iter()
                    .filter_map(|(group, quota)| Some(create_urr(urr_of(*group)?, *quota))),
            )
            .collect(),
        create_qers: std::iter::once(CreateQer {
            qer_id: QerId(QER),
            correlation_id: None,
            gate_status: GateStatus::default(),
            mbr: Some(Mbr {
                uplink: parameters.uplink.div_ceil(1000),
                downlink: parameters.downlink.div_ceil(1000),
            }),
            gbr: None,
            qfi: Some(Qfi(parameters.qfi)),
            rqi: None,
            ..Default::default()
        })
        .chain(parameters.flows.iter().map(flow_qer))
        .collect(),
        create_bar: Some(CreateBar {
            bar_id: BarId(BAR),
            notification_delay: None,
            suggested_packets: None,
        }),
        pdn_type: Some(PdnType(match parameters.traffic.kind {
            PduSessionType::Ipv6 => 2,
            PduSessionType::Ipv4v6 => 3,
            PduSessionType::Unstructured => 4,
            PduSessionType::Ethernet => 5,
            _ => 1,
        })),
        inactivity_timer: parameters.inactivity_s.map(UserPlaneInactivityTimer),
        flags: parameters.restored.map(|_| RESTORATION),
        create_traffic_endpoints: vec![],
        fq_csids: vec![],
    }
}

fn create_urr(urr_id: UrrId, quota: Option<Quota>) -> CreateUrr {
    CreateUrr {
        urr_id,
        measurement_method: MeasurementMethod(3),
        reporting_triggers: quota.map_or(ReportingTriggers::default(), |_| QUOTA_TRIGGERS),
        measurement_period: None,
        volume_threshold: quota.and_then(Quota::threshold),
        volume_quota: quota.map(Quota::quota),
        time_threshold: None,
        time_quota: None,
        ..Default::default()
    }
}

/// Adds URRs for further rating groups.
pub fn add_urrs(groups: &[(u32, Option<Quota>)]) -> SessionModificationRequest {
    let create_urrs = groups
        .iter()
        .filter_map(|(group, quota)| Some(create_urr(urr_of(*group)?, *quota)))
        .collect();
    SessionModificationRequest { create_urrs, ..Default::default() }
}

fn update_far(update: UpdateFar) -> SessionModificationRequest {
    SessionModificationRequest { update_fars: vec![update], ..Default::default() }
}

fn ue_address(ue: &Addresses, is_destination: bool) -> UeIpAddress {
    UeIpAddress { is_destination, ipv4: ue.ipv4, ipv6: ue.ipv6(), ..Default::default() }
}

/// PDR identifier of a QoS rule, which has an identifier of eight bits; the default rules precede.
fn flow_pdr_id(rule: u8, direction: u16) -> u16 {
    2 * u16::from(rule) + direction + 100
}

/// QER identifier of a QoS flow.
fn flow_qer_id(qfi: u8) -> u32 {
    100 + u32::from(qfi)
}

fn flow_qer(flow: &Flow) -> CreateQer {
    let kbps = |rate: u64| rate.div_ceil(1000);
    let mbr = flow.maximum.or(flow.guaranteed);
    CreateQer {
        qer_id: QerId(flow_qer_id(flow.qfi)),
        correlation_id: None,
        gate_status: GateStatus::default(),
        mbr: mbr.map(|rates| Mbr { uplink: kbps(rates.uplink), downlink: kbps(rates.downlink) }),
        gbr: flow
            .guaranteed
            .map(|rates| Gbr { uplink: kbps(rates.uplink), downlink: kbps(rates.downlink) }),
        qfi: Some(Qfi(flow.qfi)),
        rqi: None,
        ..Default::default()
    }
}

/// The PDRs of a QoS flow. The first QER with a QFI marks a packet: the flow's. The session-AMBR
/// limits flows without a guaranteed bit rate (TS 23.501, 5.7.2.6).
fn flow_pdrs(
    flow: &Flow,
    traffic: &SessionTraffic<'_>,
    fteid: &FTeid,
    groups: &[u32],
) -> Vec<CreatePdr> {
    let mut pdrs = Vec::new();
    let mut qer_ids = vec![QerId(flow_qer_id(flow.qfi))];
    if flow.guaranteed.is_none() {
        qer_ids.push(QerId(QER));
    }
    for rule in &flow.rules {
        for (direction, far) in [(UPLINK, TO_CORE), (DOWNLINK, TO_ACCESS)] {
            let uplink = direction == UPLINK;
            let of_direction =
                |filter: &&PacketFilter| if uplink { filter.uplink } else { filter.downlink };
            let filters: Vec<_> = rule.filters.iter().filter(of_direction).collect();
            if filters.is_empty() {
                continue;
            }
            let (frames, packets): (Vec<&PacketFilter>, Vec<&PacketFilter>) =
                filters.into_iter().partition(|f| f.frame.is_some());
            let pdi = Pdi {
                local_fteid: uplink.then_some(*fteid),
                sdf_filters: packets.into_iter().map(PacketFilter::to_sdf).collect(),
                ethernet_filters: frames
                    .into_iter()
                    .filter_map(|filter| filter.to_ethernet(uplink))
                    .collect(),
                qfis: if uplink { vec![Qfi(flow.qfi)] } else { vec![] },
                ..traffic.pdi(if uplink { Interface::Access } else { Interface::Core })
            };
            pdrs.push(CreatePdr {
                pdr_id: PdrId(flow_pdr_id(rule.id, direction)),
                precedence: Precedence(rule.precedence.into()),
                pdi,
                outer_header_removal: uplink.then_some(OuterHeaderRemoval { description: 0 }),
                far_id: Some(FarId(far)),
                urr_ids: vec![
                    rule.rating_group
                        .filter(|group| groups.contains(group))
                        .and_then(urr_of)
                        .unwrap_or(DEFAULT_URR),
                ],
                qer_ids: qer_ids.clone(),
                activate_predefined_rules: vec![],
            });
        }
    }
    pdrs
}

/// A change of the QoS flows and the bit rate of a session.
pub struct FlowsChange<'a> {
    pub traffic: SessionTraffic<'a>,
    /// The UPF's N3 endpoint.
    pub tunnel: Tunnel,
    pub before: &'a [Flow],
    pub now: &'a [Flow],
    /// Rating groups with their own URR.
    pub groups: &'a [u32],
    /// A new session-AMBR: uplink and downlink in bits per second.
    pub ambr: Option<(u64, u64)>,
}

/// Changes QoS flows and bit rate; `None` if nothing changes at the UPF.
pub fn update_flows(change: &FlowsChange<'_>) -> Option<SessionModificationRequest> {
    let fteid = match change.tunnel {
        (teid, IpAddr::V4(ip)) => FTeid::Given { teid, ipv4: Some(ip), ipv6: None },
        (teid, IpAddr::V6(ip)) => FTeid::Given { teid, ipv4: None, ipv6: Some(ip) },
    };
    let pdrs = |flows: &[Flow]| -> Vec<CreatePdr> {
        flows
            .iter()
            .flat_map(|flow| flow_pdrs(flow, &change.traffic, &fteid, change.groups))
            .collect()
    };
    let (old, new) = (pdrs(change.before), pdrs(change.now));
    let mut request = SessionModificationRequest {
        remove_pdrs: old
            .iter()
            .filter(|pdr| new.iter().all(|now| now.pdr_id != pdr.pdr_id))
            .map(|pdr| RemovePdr { pdr_id: pdr.pdr_id })
            .collect(),
        ..Default::default()
    };
    // The order in which a UPF carries out the parts of a request is its own: several create PDRs
    // first and remove afterwards. So no PDR is removed and created in one request.
    for pdr in new {
        match old.iter().find(|before| before.pdr_id == pdr.pdr_id) {
            None => request.create_pdrs.push(pdr),
            Some(before) if *before != pdr => request.update_pdrs.push(update_pdr(pdr)),
            Some(_) => {}
        }
    }
    let of = |flows: &[Flow], qfi| flows.iter().find(|flow| flow.qfi == qfi).map(flow_qer);
    for flow in change.before.iter().filter(|flow| of(change.now, flow.qfi).is_none()) {
        request.remove_qers.push(RemoveQer { qer_id: QerId(flow_qer_id(flow.qfi)) });
    }
    for flow in change.now {
        let qer = flow_qer(flow);
        match of(change.before, flow.qfi) {
            None => request.create_qers.push(qer),
            Some(before) if before != qer => request.update_qers.push(UpdateQer {
                qer_id: qer.qer_id,
                correlation_id: None,
                gate_status: None,
                mbr: qer.mbr,
                gbr: qer.gbr,
                qfi: None,
                rqi: None,
                ..Default::default()
            }),
            Some(_) => {}
        }
    }
    if let Some((uplink, downlink)) = change.ambr {
        request.update_qers.push(UpdateQer {
            qer_id: QerId(QER),
            correlation_id: None,
            gate_status: None,
            mbr: Some(Mbr { uplink: uplink.div_ceil(1000), downlink: downlink.div_ceil(1000) }),
            gbr: None,
            qfi: None,
            rqi: None,
            ..Default::default()
        });
    }
    (request != SessionModificationRequest::default()).then_some(request)
}

/// Replaces everything in a PDR.
fn update_pdr(pdr: CreatePdr) -> UpdatePdr {
    UpdatePdr {
        pdr_id: pdr.pdr_id,
        outer_header_removal: pdr.outer_header_removal,
        precedence: Some(pdr.precedence),
        pdi: Some(pdr.pdi),
        far_id: pdr.far_id,
        urr_ids: pdr.urr_ids,
        qer_ids: pdr.qer_ids,
        ..Default::default()
    }
}

/// Forwards the downlink to the gNB, buffered packets first.
pub fn forward_to_gnb(teid: u32, address: IpAddr) -> SessionModificationRequest {
    update_far(UpdateFar {
        far_id: FarId(TO_ACCESS),
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface(Interface::Access)),
            network_instance: None,
            outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
            flags: None,
            ..Default::default()
        }),
        bar_id: None,
        ..Default::default()
    })
}

/// Buffers the downlink and notifies the SMF of the first packet.
pub fn buffer() -> SessionModificationRequest {
    update_far(UpdateFar {
        far_id: FarId(TO_ACCESS),
        apply_action: Some(ApplyAction::BUFF | ApplyAction::NOCP),
        update_forwarding_parameters: None,
        bar_id: Some(BarId(BAR)),
        ..Default::default()
    })
}

/// Drops buffered packets, buffers the downlink and notifies the SMF of the next packet.
pub fn drop_and_buffer() -> SessionModificationRequest {
    SessionModificationRequest { flags: Some(DROP_BUFFERED), ..buffer() }
}

/// Sets the quotas of URRs; `None` for unlimited.
pub fn update_quotas(quotas: &[(UrrId, Option<Quota>)]) -> SessionModificationRequest {
    let update = |(urr_id, quota): &(UrrId, Option<Quota>)| {
        let quota = quota.unwrap_or(UNLIMITED);
        UpdateUrr {
            urr_id: *urr_id,
            measurement_method: None,
            reporting_triggers: Some(match quota.threshold() {
                Some(_) => QUOTA_TRIGGERS,
                None => ReportingTriggers::VOLQU,
            }),
            measurement_period: None,
            volume_threshold: quota.threshold(),
            volume_quota: Some(quota.quota()),
            time_threshold: None,
            time_quota: None,
            ..Default::default()
        }
    };
    SessionModificationRequest {
        update_urrs: quotas.iter().map(update).collect(),
        ..Default::default()
    }
}

/// Queries the usage of URRs since their last report.
pub fn query_usage(urrs: impl Iterator<Item = UrrId>) -> SessionModificationRequest {
    SessionModificationRequest {
        query_urrs: urrs.map(|urr_id| QueryUrr { urr_id }).collect(),
        ..Default::default()
    }
}

/// Deletes the N4 session.
pub fn deletion() -> SessionDeletionRequest {
    SessionDeletionRequest {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qos_flows::{PolicyRules, bind};
    use martlet_sbi_api::common::{Arp, PreemptionCapability, PreemptionVulnerability};

    fn flows(before: &[Flow], decision: String) -> Vec<Flow> {
        let arp = Arp {
            priority_level: 8,
            preempt_cap: PreemptionCapability::NotPreempt,
            preempt_vuln: PreemptionVulnerability::NotPreemptable,
        };
        let mut rules = PolicyRules::default();
        rules.merge(&serde_json::from_str(&decision).unwrap());
        bind(before, &rules, &arp)
    }

    /// Two PCC rules of one QoS flow; the first one is about a port.
    fn decision(port: u16) -> String {
        let rule = |port: u16| {
            let flow = format!("permit out 17 from any {port} to assigned");
            serde_json::json!({
                "pccRuleId": "rule", "refQosData": ["voice"],
                "flowInfos": [{"flowDescription": flow}],
            })
        };
        serde_json::json!({
            "pccRules": {"a": rule(port), "b": rule(80)},
            "qosDecs": {"voice": {"qosId": "voice", "5qi": 7}},
        })
        .to_string()
    }

    /// The UPFs of Open5GS and eUPF remove PDRs after they have created others: a PDR that was
    /// removed and created in one request was gone.
    #[test]
    fn a_changed_pdr_is_updated_and_no_pdr_is_removed_and_created() {
        let before = flows(&[], decision(5000));
        let now = flows(&before, decision(6000));
        let change = |before: &[Flow], now: &[Flow]| {
            update_flows(&FlowsChange {
                traffic: SessionTraffic {
                    kind: &PduSessionType::Ipv4,
                    ue: Addresses { ipv4: Some([10, 45, 0, 2].into()), prefix: None },
                    dnn: "internet",
                    framed_routes: &[],
                },
                tunnel: (5, IpAddr::from([127, 0, 0, 8])),
                before,
                now,
                groups: &[],
                ambr: None,
            })
        };
        assert_eq!(change(&before, &before), None);
        let request = change(&before, &now).unwrap();
        assert_eq!((&request.create_pdrs, &request.remove_pdrs), (&vec![], &vec![]));
        let [uplink, downlink] = &request.update_pdrs[..] else { panic!("{request:?}") };
        for (pdr, direction) in [(uplink, UPLINK), (downlink, DOWNLINK)] {
            let rule = before[0].rules.iter().find(|r| r.filters[0].description.contains("5000"));
            assert_eq!(pdr.pdr_id, PdrId(flow_pdr_id(rule.unwrap().id, direction)));
            let filter = &pdr.pdi.as_ref().unwrap().sdf_filters[0];
            assert!(filter.flow_description.as_ref().unwrap().contains("6000"), "{filter:?}");
            assert_eq!(pdr.qer_ids[0], QerId(flow_qer_id(before[0].qfi)));
        }
        assert_eq!(uplink.outer_header_removal, Some(OuterHeaderRemoval { description: 0 }));
        assert_eq!(downlink.outer_header_removal, None);
        let removed = change(&before, &[]).unwrap();
        assert_eq!((removed.remove_pdrs.len(), removed.update_pdrs.len()), (4, 0));
        let created = change(&[], &before).unwrap();
        assert_eq!((created.create_pdrs.len(), created.update_pdrs.len()), (4, 0));
    }
}
