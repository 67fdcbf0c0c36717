//! N4 rules of a handover (TS 23.502, 4.9.1): the switch of the downlink, and indirect data
//! forwarding from the source gNB (TS 23.501, 5.8.2.9 and 5.8.2.10).
use super::session_rules::forward_to_gnb;
use martlet_pfcp::SessionModificationRequest;
use martlet_pfcp::ie::*;
use std::net::IpAddr;

/// Identifiers of the rules for indirect forwarding.
const FORWARDING_PDR: u16 = 0x7f01;
const FORWARDING_FAR: u32 = 0x7f01;
/// SNDEM: the UPF sends end markers on the old path (TS 29.244, 8.2.34).
const SEND_END_MARKERS: u8 = 0x02;

/// Switches the downlink to another gNB, with end markers for the old one.
pub fn switch_to_gnb(teid: u32, address: IpAddr) -> SessionModificationRequest {
    let mut request = forward_to_gnb(teid, address);
    for far in &mut request.update_fars {
        if let Some(parameters) = &mut far.update_forwarding_parameters {
            parameters.flags = Some(PfcpSmReqFlags(SEND_END_MARKERS));
        }
    }
    request
}

/// Creates a forwarding tunnel to the target gNB's endpoint. The UPF chooses its own endpoint.
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
            activate_predefined_rules: vec![],
        }],
        create_fars: vec![CreateFar {
            far_id: FarId(FORWARDING_FAR),
            apply_action: ApplyAction::FORW,
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface(Interface::Access),
                network_instance: None,
                outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, address)),
                ..Default::default()
            }),
            bar_id: None,
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The UPF's endpoint of the forwarding tunnel, from the response to [`forward`].
pub fn forwarding_tunnel(created: &[CreatedPdr]) -> Option<(u32, IpAddr)> {
    let created = created.iter().find(|created| created.pdr_id == PdrId(FORWARDING_PDR))?;
    match created.local_fteid? {
        FTeid::Given { teid, ipv4, ipv6 } => {
            Some((teid, ipv4.map(IpAddr::from).or(ipv6.map(IpAddr::from))?))
        }
        FTeid::Choose { .. } => None,
    }
}

/// Moves the N4 session to another SMF of the set, with this CP F-SEID (TS 29.244, 5.22.2 and
/// 7.5.4.1).
pub fn change_cp_fseid(cp_seid: u64, address: IpAddr) -> SessionModificationRequest {
    SessionModificationRequest {
        cp_fseid: Some(FSeid::new(cp_seid, address)),
        ..Default::default()
    }
}

/// Removes the forwarding tunnel.
pub fn stop_forwarding() -> SessionModificationRequest {
    SessionModificationRequest {
        remove_pdrs: vec![RemovePdr { pdr_id: PdrId(FORWARDING_PDR) }],
        remove_fars: vec![RemoveFar { far_id: FarId(FORWARDING_FAR) }],
        ..Default::default()
    }
}
