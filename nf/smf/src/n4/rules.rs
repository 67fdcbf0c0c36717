//! The rules of a PDU session at its UPF (TS 23.501, 5.8.2; TS 29.244, 5.2): one PDR, FAR for each
//! direction, and for both a QER with the session's bit rate and a URR that counts.
use crate::addresses::Addresses;
use crate::filter::Filter;
use crate::flows::Flow;
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
/// The rule that counts what a session uses and no other rule counts.
pub const CHARGING: UrrId = UrrId(URR);
/// Rules that count a rating group: this, and its number below.
const OF_GROUPS: u32 = 0x1000_0000;

/// The rule that counts a rating group. `None` for a number that is too large to be told apart.
pub fn urr_of(rating_group: u32) -> Option<UrrId> {
    (rating_group < OF_GROUPS).then_some(UrrId(OF_GROUPS | rating_group))
}

/// The rating group that a rule counts; `None` for [`CHARGING`], which counts the session's own.
pub fn group_of(urr: UrrId) -> Option<u32> {
    (urr.0 & !(OF_GROUPS - 1) == OF_GROUPS).then_some(urr.0 & (OF_GROUPS - 1))
}
const BAR: u8 = 1;
/// Outer header removal of UDP over IPv6 (TS 29.244, 8.2.64).
const UDP_IPV6: u8 = 3;

/// DROBU: what is buffered is dropped (TS 29.244, 8.2.34).
const DROP_BUFFERED: PfcpSmReqFlags = PfcpSmReqFlags(1);

/// Whose packets the rules are for.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub kind: &'a PduSessionType,
    pub ue: Addresses,
    pub dnn: &'a str,
    /// Networks behind the UE.
    pub routes: &'a [String],
}

impl Subject<'_> {
    /// Packets of an interface that are the UE's.
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
            self.routes.iter().partition(|route| route.contains(':'));
        pdi.framed_routes =
            ipv4.into_iter().map(|route| FramedRoute(format!("{route} 0.0.0.0 1"))).collect();
        pdi.framed_ipv6_routes =
            ipv6.into_iter().map(|route| FramedIpv6Route(format!("{route} :: 1"))).collect();
        pdi
    }
}

/// What a session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Quota {
    /// Octets.
    pub octets: u64,
    /// Octets that are left when the UPF reports; 0 for none.
    pub left_at_report: u64,
}

/// What nobody uses up.
const ENDLESS: Quota = Quota { octets: u64::MAX >> 2, left_at_report: 0 };

impl Quota {
    fn threshold(self) -> Option<VolumeThreshold> {
        let at = self
            .octets
            .checked_sub(self.left_at_report)
            .filter(|at| self.left_at_report > 0 && *at > 0);
        at.map(|at| VolumeThreshold { total: Some(at), ..Default::default() })
    }

    fn quota(self) -> VolumeQuota {
        VolumeQuota { total: Some(self.octets), ..Default::default() }
    }
}

const QUOTA_TRIGGERS: ReportingTriggers =
    ReportingTriggers(ReportingTriggers::VOLTH.0 | ReportingTriggers::VOLQU.0);

/// What the rules are made of.
pub struct Plan<'a> {
    pub node: NodeId,
    pub cp_address: IpAddr,
    pub cp_seid: u64,
    pub subject: Subject<'a>,
    /// Where the data of an unstructured session go.
    pub server: Option<SocketAddrV6>,
    pub qfi: u8,
    /// Bits per second.
    pub uplink: u64,
    /// Bits per second.
    pub downlink: u64,
    /// Flows beside the default one.
    pub flows: &'a [Flow],
    /// What it may use.
    pub quota: Option<Quota>,
    /// Rating groups that are counted by themselves, and what of each may be used.
    pub groups: Vec<(u32, Option<Quota>)>,
    /// The UPF's end of N3, where the session is one that the UPF has lost; else the UPF chooses
    /// it.
    pub restored: Option<(u32, IpAddr)>,
    /// Seconds without packets after which the UPF tells of it: it learns whether this SMF still
    /// has the session.
    pub audit_s: Option<u32>,
    /// What becomes of downlink packets.
    pub towards_ue: Downlink,
}

/// What becomes of downlink packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downlink {
    /// They wait: the gNB's tunnel is not known yet.
    Wait,
    /// They wait, and the first of them is told: the UE is idle.
    Page,
    /// They go to the gNB's end of N3.
    Gnb(u32, IpAddr),
}

impl Downlink {
    fn action(self) -> ApplyAction {
        match self {
            Downlink::Wait => ApplyAction::BUFF,
            Downlink::Page => ApplyAction::BUFF | ApplyAction::NOCP,
            Downlink::Gnb(..) => ApplyAction::FORW,
        }
    }

    fn parameters(self) -> Option<ForwardingParameters> {
        let Downlink::Gnb(teid, address) = self else { return None };
        Some(ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Access),
            network_instance: None,
            outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
        })
    }
}

/// RESTI: the session is one from before a restart of the UPF, whose F-TEID it takes over (TS
/// 23.527, 4.3.2).
const RESTORATION: PfcpSeReqFlags = PfcpSeReqFlags(1);

/// Makes the session, or makes it anew: uplink goes to the data network.
pub fn establishment(plan: &Plan<'_>) -> SessionEstablishmentRequest {
    let network = Some(NetworkInstance::new(plan.subject.dnn));
    let pdr = |id, pdi, outer_header_removal, far| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal,
        far_id: Some(FarId(far)),
        urr_ids: vec![UrrId(URR)],
        qer_ids: vec![QerId(QER)],
        activate_predefined_rules: None,
    };
    let local_fteid = match plan.restored {
        // All flows have one tunnel.
        None => FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: (!plan.flows.is_empty()).then_some(1),
        },
        Some((teid, IpAddr::V4(ip))) => FTeid::Given { teid, ipv4: Some(ip), ipv6: None },
        Some((teid, IpAddr::V6(ip))) => FTeid::Given { teid, ipv4: None, ipv6: Some(ip) },
    };
    let uplink = Pdi {
        local_fteid: Some(local_fteid),
        qfis: vec![Qfi(plan.qfi)],
        ..plan.subject.pdi(Interface::Access)
    };
    let downlink = plan.subject.pdi(Interface::Core);
    let from_server = plan.server.map(|_| OuterHeaderRemoval { description: UDP_IPV6 });
    let to_core = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        network_instance: network,
        outer_header_creation: plan.server.map(OuterHeaderCreation::udp6),
    };
    let mut create_pdrs = vec![
        pdr(UPLINK, uplink, Some(OuterHeaderRemoval { description: 0 }), TO_CORE),
        pdr(DOWNLINK, downlink, from_server, TO_ACCESS),
    ];
    let groups: Vec<u32> = plan.groups.iter().map(|(group, _)| *group).collect();
    create_pdrs.extend(
        plan.flows.iter().flat_map(|flow| flow_pdrs(flow, &plan.subject, &local_fteid, &groups)),
    );
    SessionEstablishmentRequest {
        node_id: plan.node.clone(),
        cp_fseid: FSeid::new(plan.cp_seid, plan.cp_address),
        create_pdrs,
        create_fars: vec![
            CreateFar {
                far_id: FarId(TO_CORE),
                apply_action: ApplyAction::FORW,
                forwarding_parameters: Some(to_core),
                bar_id: None,
            },
            CreateFar {
                far_id: FarId(TO_ACCESS),
                apply_action: plan.towards_ue.action(),
                forwarding_parameters: plan.towards_ue.parameters(),
                bar_id: (!matches!(plan.towards_ue, Downlink::Gnb(..))).then_some(BarId(BAR)),
            },
        ],
        create_urrs: std::iter::once(counting(CHARGING, plan.quota))
            .chain(
                plan.groups
                    .iter()
                    .filter_map(|(group, quota)| Some(counting(urr_of(*group)?, *quota))),
            )
            .collect(),
        create_qers: std::iter::once(CreateQer {
            qer_id: QerId(QER),
            correlation_id: None,
            gate_status: GateStatus::default(),
            mbr: Some(Mbr {
                uplink: plan.uplink.div_ceil(1000),
                downlink: plan.downlink.div_ceil(1000),
            }),
            gbr: None,
            qfi: Some(Qfi(plan.qfi)),
            rqi: None,
        })
        .chain(plan.flows.iter().map(flow_qer))
        .collect(),
        create_bar: Some(CreateBar {
            bar_id: BarId(BAR),
            notification_delay: None,
            suggested_packets: None,
        }),
        pdn_type: Some(PdnType(match plan.subject.kind {
            PduSessionType::Ipv6 => 2,
            PduSessionType::Ipv4v6 => 3,
            PduSessionType::Unstructured => 4,
            PduSessionType::Ethernet => 5,
            _ => 1,
        })),
        inactivity_timer: plan.audit_s.map(UserPlaneInactivityTimer),
        flags: plan.restored.map(|_| RESTORATION),
    }
}

fn counting(urr_id: UrrId, quota: Option<Quota>) -> CreateUrr {
    CreateUrr {
        urr_id,
        measurement_method: MeasurementMethod(3),
        reporting_triggers: quota.map_or(ReportingTriggers::default(), |_| QUOTA_TRIGGERS),
        measurement_period: None,
        volume_threshold: quota.and_then(Quota::threshold),
        volume_quota: quota.map(Quota::quota),
        time_threshold: None,
        time_quota: None,
    }
}

/// Rating groups that are counted by themselves from now on.
pub fn also_counting(groups: &[(u32, Option<Quota>)]) -> SessionModificationRequest {
    let create_urrs = groups
        .iter()
        .filter_map(|(group, quota)| Some(counting(urr_of(*group)?, *quota)))
        .collect();
    SessionModificationRequest { create_urrs, ..Default::default() }
}

fn modification(update: UpdateFar) -> SessionModificationRequest {
    SessionModificationRequest { update_fars: vec![update], ..Default::default() }
}

fn ue_address(ue: &Addresses, is_destination: bool) -> UeIpAddress {
    UeIpAddress { is_destination, ipv4: ue.ipv4, ipv6: ue.ipv6(), ..Default::default() }
}

/// PDRs of a QoS rule: its identifier has eight bits, and the default rules come before.
fn flow_pdr_id(rule: u8, direction: u16) -> u16 {
    2 * u16::from(rule) + direction + 100
}

/// A flow's own QER.
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
    }
}

/// The PDRs of a flow. A packet takes the mark of the first QER that has one: the flow's. The
/// session's bit rate holds for flows without a guaranteed one (TS 23.501, 5.7.2.6).
fn flow_pdrs(flow: &Flow, subject: &Subject<'_>, fteid: &FTeid, groups: &[u32]) -> Vec<CreatePdr> {
    let mut pdrs = Vec::new();
    let mut qer_ids = vec![QerId(flow_qer_id(flow.qfi))];
    if flow.guaranteed.is_none() {
        qer_ids.push(QerId(QER));
    }
    for rule in &flow.rules {
        for (direction, far) in [(UPLINK, TO_CORE), (DOWNLINK, TO_ACCESS)] {
            let uplink = direction == UPLINK;
            let of_direction =
                |filter: &&Filter| if uplink { filter.uplink } else { filter.downlink };
            let filters: Vec<_> = rule.filters.iter().filter(of_direction).collect();
            if filters.is_empty() {
                continue;
            }
            let (frames, packets): (Vec<&Filter>, Vec<&Filter>) =
                filters.into_iter().partition(|f| f.frame.is_some());
            let pdi = Pdi {
                local_fteid: uplink.then_some(*fteid),
                sdf_filters: packets.into_iter().map(Filter::to_sdf).collect(),
                ethernet_filters: frames
                    .into_iter()
                    .filter_map(|filter| filter.to_ethernet(uplink))
                    .collect(),
                qfis: if uplink { vec![Qfi(flow.qfi)] } else { vec![] },
                ..subject.pdi(if uplink { Interface::Access } else { Interface::Core })
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
                        .unwrap_or(CHARGING),
                ],
                qer_ids: qer_ids.clone(),
                activate_predefined_rules: None,
            });
        }
    }
    pdrs
}

/// What changes between two states of a session at its UPF.
pub struct FlowsChange<'a> {
    pub subject: Subject<'a>,
    /// The UPF's end of N3.
    pub tunnel: (u32, IpAddr),
    pub before: &'a [Flow],
    pub now: &'a [Flow],
    /// Rating groups that are counted by themselves.
    pub groups: &'a [u32],
    /// A new bit rate of the session, bits per second uplink and downlink.
    pub ambr: Option<(u64, u64)>,
}

/// Brings flows and bit rate up to date; `None` where nothing changes at the UPF.
pub fn to_flows(change: &FlowsChange<'_>) -> Option<SessionModificationRequest> {
    let fteid = match change.tunnel {
        (teid, IpAddr::V4(ip)) => FTeid::Given { teid, ipv4: Some(ip), ipv6: None },
        (teid, IpAddr::V6(ip)) => FTeid::Given { teid, ipv4: None, ipv6: Some(ip) },
    };
    let pdrs = |flows: &[Flow]| -> Vec<CreatePdr> {
        flows
            .iter()
            .flat_map(|flow| flow_pdrs(flow, &change.subject, &fteid, change.groups))
            .collect()
    };
    let (old, new) = (pdrs(change.before), pdrs(change.now));
    let mut request = SessionModificationRequest {
        // One that changes goes and comes again.
        remove_pdrs: old
            .iter()
            .filter(|pdr| !new.contains(pdr))
            .map(|p| RemovePdr { pdr_id: p.pdr_id })
            .collect(),
        create_pdrs: new.into_iter().filter(|pdr| !old.contains(pdr)).collect(),
        ..Default::default()
    };
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
        });
    }
    (request != SessionModificationRequest::default()).then_some(request)
}

/// Downlink goes to the gNB, what is buffered first.
pub fn to_gnb(teid: u32, address: IpAddr) -> SessionModificationRequest {
    modification(UpdateFar {
        far_id: FarId(TO_ACCESS),
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface(Interface::Access)),
            network_instance: None,
            outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
            flags: None,
        }),
        bar_id: None,
    })
}

/// Downlink is buffered, and its first packet told.
pub fn to_buffer() -> SessionModificationRequest {
    modification(UpdateFar {
        far_id: FarId(TO_ACCESS),
        apply_action: Some(ApplyAction::BUFF | ApplyAction::NOCP),
        update_forwarding_parameters: None,
        bar_id: Some(BarId(BAR)),
    })
}

/// What is buffered is dropped, and the next packet told.
pub fn to_buffer_anew() -> SessionModificationRequest {
    SessionModificationRequest { flags: Some(DROP_BUFFERED), ..to_buffer() }
}

/// What may be used from now on of each of these counts; none for all it likes.
pub fn to_quotas(quotas: &[(UrrId, Option<Quota>)]) -> SessionModificationRequest {
    let update = |(urr_id, quota): &(UrrId, Option<Quota>)| {
        let quota = quota.unwrap_or(ENDLESS);
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
        }
    };
    SessionModificationRequest {
        update_urrs: quotas.iter().map(update).collect(),
        ..Default::default()
    }
}

/// What has been used of each of these counts since it was last told.
pub fn query(counts: impl Iterator<Item = UrrId>) -> SessionModificationRequest {
    SessionModificationRequest {
        query_urrs: counts.map(|urr_id| QueryUrr { urr_id }).collect(),
        ..Default::default()
    }
}

/// Ends the session.
pub fn deletion() -> SessionDeletionRequest {
    SessionDeletionRequest {}
}
