//! What a handover changes at the UPF (TS 23.502, 4.9.1): where downlink goes, and the tunnel
//! through which the source gNB sends on what still comes to it (indirect data forwarding; TS
//! 23.501, 5.8.2.9 and 5.8.2.10).
use super::rules::to_gnb;
use martlet_pfcp::SessionModificationRequest;
use martlet_pfcp::ie::*;
use std::net::IpAddr;

/// Of the session's rules, those that forward.
const FORWARDING_PDR: u16 = 0x7f01;
const FORWARDING_FAR: u32 = 0x7f01;
/// SNDEM: the UPF sends end markers on the path of before (TS 29.244, 8.2.34).
const SEND_END_MARKERS: u8 = 0x02;

/// Downlink goes to another gNB; what is sent to the one of before ends with an end marker.
pub fn switch_to_gnb(teid: u32, address: IpAddr) -> SessionModificationRequest {
    let mut request = to_gnb(teid, address);
    for far in &mut request.update_fars {
        if let Some(parameters) = &mut far.update_forwarding_parameters {
            parameters.flags = Some(PfcpSmReqFlags(SEND_END_MARKERS));
        }
    }
    request
}

/// A tunnel of the UPF's, which leads to this one of the target gNB. The UPF says in its answer
/// which it is.
pub fn forward(teid: u32, address: IpAddr) -> SessionModificationRequest {
    let pdi = Pdi {
        local_fteid: Some(FTeid::Choose { ipv4: true, ipv6: true, choose_id: None }),
        ..Pdi::of(Interface::Access)
    };
    SessionModificationRequest {
        create_pdrs: vec![CreatePdr {
            pdr_id: PdrId(FORWARDING_PDR),
            precedence: Precedence(1),
            pdi,
            outer_header_removal: Some(OuterHeaderRemoval { description: 0 }),
            far_id: Some(FarId(FORWARDING_FAR)),
            urr_ids: vec![],
            qer_ids: vec![],
            activate_predefined_rules: None,
        }],
        create_fars: vec![CreateFar {
            far_id: FarId(FORWARDING_FAR),
            apply_action: ApplyAction::FORW,
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface(Interface::Access),
                network_instance: None,
                outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
            }),
            bar_id: None,
        }],
        ..Default::default()
    }
}

/// The UPF's end of the tunnel that [`forward`] asked for.
pub fn forwarding_tunnel(created: &[CreatedPdr]) -> Option<(u32, IpAddr)> {
    let created = created.iter().find(|created| created.pdr_id == PdrId(FORWARDING_PDR))?;
    match created.local_fteid? {
        FTeid::Given { teid, ipv4, ipv6 } => {
            Some((teid, ipv4.map(IpAddr::from).or(ipv6.map(IpAddr::from))?))
        }
        FTeid::Choose { .. } => None,
    }
}

/// The session is another SMF's of the same set from now on, whose end this is (TS 29.244, 5.22.2
/// and 7.5.4.1).
pub fn take_control(cp_seid: u64, address: IpAddr) -> SessionModificationRequest {
    SessionModificationRequest {
        cp_fseid: Some(FSeid::new(cp_seid, address)),
        ..Default::default()
    }
}

/// Nothing is forwarded any more.
pub fn stop_forwarding() -> SessionModificationRequest {
    SessionModificationRequest {
        remove_pdrs: vec![RemovePdr { pdr_id: PdrId(FORWARDING_PDR) }],
        remove_fars: vec![RemoveFar { far_id: FarId(FORWARDING_FAR) }],
        ..Default::default()
    }
}
