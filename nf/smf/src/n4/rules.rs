//! The rules of a PDU session at its UPF (TS 23.501, 5.8.2; TS 29.244, 5.2): one PDR, FAR for each direction, and for both
//! a QER with the session's bit rate and a URR that counts.
use martlet_pfcp::ie::*;
use martlet_pfcp::{SessionDeletionRequest, SessionEstablishmentRequest, SessionModificationRequest};
use std::net::{IpAddr, Ipv4Addr};

const UPLINK: u16 = 1;
const DOWNLINK: u16 = 2;
const TO_CORE: u32 = 1;
const TO_ACCESS: u32 = 2;
const QER: u32 = 1;
const URR: u32 = 1;
const BAR: u8 = 1;

/// DROBU: what is buffered is dropped (TS 29.244, 8.2.34).
const DROP_BUFFERED: PfcpSmReqFlags = PfcpSmReqFlags(1);

/// What the rules are made of.
pub struct Plan<'a> {
    pub node: NodeId,
    pub cp_address: IpAddr,
    pub cp_seid: u64,
    pub ue: Ipv4Addr,
    pub dnn: &'a str,
    pub qfi: u8,
    /// Bits per second.
    pub uplink: u64,
    /// Bits per second.
    pub downlink: u64,
    /// The UPF's end of N3, where the session is one that the UPF has lost; else the UPF chooses it.
    pub restored: Option<(u32, IpAddr)>,
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

/// RESTI: the session is one from before a restart of the UPF, whose F-TEID it takes over (TS 23.527, 4.3.2).
const RESTORATION: PfcpSeReqFlags = PfcpSeReqFlags(1);

/// Makes the session, or makes it anew: uplink goes to the data network.
pub fn establishment(plan: &Plan<'_>) -> SessionEstablishmentRequest {
    let network = Some(NetworkInstance::new(plan.dnn));
    let ue = |is_destination| UeIpAddress { is_destination, ipv4: Some(plan.ue), ..Default::default() };
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
        None => FTeid::Choose { ipv4: true, ipv6: false, choose_id: None },
        Some((teid, IpAddr::V4(ip))) => FTeid::Given { teid, ipv4: Some(ip), ipv6: None },
        Some((teid, IpAddr::V6(ip))) => FTeid::Given { teid, ipv4: None, ipv6: Some(ip) },
    };
    let uplink = Pdi {
        source_interface: SourceInterface(Interface::Access),
        local_fteid: Some(local_fteid),
        network_instance: network.clone(),
        ue_ip_addresses: vec![ue(false)],
        sdf_filters: vec![],
        application_id: None,
        qfis: vec![Qfi(plan.qfi)],
    };
    let downlink = Pdi {
        source_interface: SourceInterface(Interface::Core),
        local_fteid: None,
        network_instance: network.clone(),
        ue_ip_addresses: vec![ue(true)],
        sdf_filters: vec![],
        application_id: None,
        qfis: vec![],
    };
    let to_core = ForwardingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        network_instance: network,
        outer_header_creation: None,
    };
    SessionEstablishmentRequest {
        node_id: plan.node.clone(),
        cp_fseid: FSeid::new(plan.cp_seid, plan.cp_address),
        create_pdrs: vec![
            pdr(UPLINK, uplink, Some(OuterHeaderRemoval { description: 0 }), TO_CORE),
            pdr(DOWNLINK, downlink, None, TO_ACCESS),
        ],
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
        create_urrs: vec![CreateUrr {
            urr_id: UrrId(URR),
            measurement_method: MeasurementMethod(3),
            reporting_triggers: ReportingTriggers::default(),
            measurement_period: None,
            volume_threshold: None,
            volume_quota: None,
            time_threshold: None,
            time_quota: None,
        }],
        create_qers: vec![CreateQer {
            qer_id: QerId(QER),
            correlation_id: None,
            gate_status: GateStatus::default(),
            mbr: Some(Mbr { uplink: plan.uplink.div_ceil(1000), downlink: plan.downlink.div_ceil(1000) }),
            gbr: None,
            qfi: Some(Qfi(plan.qfi)),
            rqi: None,
        }],
        create_bar: Some(CreateBar { bar_id: BarId(BAR), notification_delay: None, suggested_packets: None }),
        pdn_type: Some(PdnType(1)),
        inactivity_timer: None,
        flags: plan.restored.map(|_| RESTORATION),
    }
}

fn modification(update: UpdateFar) -> SessionModificationRequest {
    SessionModificationRequest {
        cp_fseid: None,
        remove_pdrs: vec![],
        remove_fars: vec![],
        remove_urrs: vec![],
        remove_qers: vec![],
        remove_bar: None,
        create_pdrs: vec![],
        create_fars: vec![],
        create_urrs: vec![],
        create_qers: vec![],
        create_bar: None,
        update_pdrs: vec![],
        update_fars: vec![update],
        update_urrs: vec![],
        update_qers: vec![],
        update_bar: None,
        flags: None,
        query_urrs: vec![],
        inactivity_timer: None,
    }
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

/// Ends the session.
pub fn deletion() -> SessionDeletionRequest {
    SessionDeletionRequest {}
}
