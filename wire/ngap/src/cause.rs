//! Causes as the numbers of TS 29.571 and as text (TS 38.413, 9.3.1.2).

use oxirush_ngap::ngap::{
    Cause, CauseMisc, CauseNas, CauseProtocol, CauseRadioNetwork, CauseTransport,
};

/// A cause as the SBI carries it (TS 29.571, `NgApCause`): the group is the position of the
/// alternative in the CHOICE, the value that of the ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseNumber {
    /// 0 radio network, 1 transport, 2 NAS, 3 protocol, 4 miscellaneous.
    pub group: u32,
    /// The value within the group.
    pub value: u32,
}

const CAUSE_RADIO_NETWORK: [CauseRadioNetwork; 65] = [
    CauseRadioNetwork::unspecified,
    CauseRadioNetwork::txnrelocoverall_expiry,
    CauseRadioNetwork::successful_handover,
    CauseRadioNetwork::release_due_to_ngran_generated_reason,
    CauseRadioNetwork::release_due_to_5gc_generated_reason,
    CauseRadioNetwork::handover_cancelled,
    CauseRadioNetwork::partial_handover,
    CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system,
    CauseRadioNetwork::ho_target_not_allowed,
    CauseRadioNetwork::tngrelocoverall_expiry,
    CauseRadioNetwork::tngrelocprep_expiry,
    CauseRadioNetwork::cell_not_available,
    CauseRadioNetwork::unknown_targetID,
    CauseRadioNetwork::no_radio_resources_available_in_target_cell,
    CauseRadioNetwork::unknown_local_UE_NGAP_ID,
    CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
    CauseRadioNetwork::handover_desirable_for_radio_reason,
    CauseRadioNetwork::time_critical_handover,
    CauseRadioNetwork::resource_optimisation_handover,
    CauseRadioNetwork::reduce_load_in_serving_cell,
    CauseRadioNetwork::user_inactivity,
    CauseRadioNetwork::radio_connection_with_ue_lost,
    CauseRadioNetwork::radio_resources_not_available,
    CauseRadioNetwork::invalid_qos_combination,
    CauseRadioNetwork::failure_in_radio_interface_procedure,
    CauseRadioNetwork::interaction_with_other_procedure,
    CauseRadioNetwork::unknown_PDU_session_ID,
    CauseRadioNetwork::unkown_qos_flow_ID,
    CauseRadioNetwork::multiple_PDU_session_ID_instances,
    CauseRadioNetwork::multiple_qos_flow_ID_instances,
    CauseRadioNetwork::encryption_and_or_integrity_protection_algorithms_not_supported,
    CauseRadioNetwork::ng_intra_system_handover_triggered,
    CauseRadioNetwork::ng_inter_system_handover_triggered,
    CauseRadioNetwork::xn_handover_triggered,
    CauseRadioNetwork::not_supported_5QI_value,
    CauseRadioNetwork::ue_context_transfer,
    CauseRadioNetwork::ims_voice_eps_fallback_or_rat_fallback_triggered,
    CauseRadioNetwork::up_integrity_protection_not_possible,
    CauseRadioNetwork::up_confidentiality_protection_not_possible,
    CauseRadioNetwork::slice_not_supported,
    CauseRadioNetwork::ue_in_rrc_inactive_state_not_reachable,
    CauseRadioNetwork::redirection,
    CauseRadioNetwork::resources_not_available_for_the_slice,
    CauseRadioNetwork::ue_max_integrity_protected_data_rate_reason,
    CauseRadioNetwork::release_due_to_cn_detected_mobility,
    CauseRadioNetwork::n26_interface_not_available,
    CauseRadioNetwork::release_due_to_pre_emption,
    CauseRadioNetwork::multiple_location_reporting_reference_ID_instances,
    CauseRadioNetwork::rsn_not_available_for_the_up,
    CauseRadioNetwork::npn_access_denied,
    CauseRadioNetwork::cag_only_access_denied,
    CauseRadioNetwork::insufficient_ue_capabilities,
    CauseRadioNetwork::redcap_ue_not_supported,
    CauseRadioNetwork::unknown_MBS_Session_ID,
    CauseRadioNetwork::indicated_MBS_session_area_information_not_served_by_the_gNB,
    CauseRadioNetwork::inconsistent_slice_info_for_the_session,
    CauseRadioNetwork::misaligned_association_for_multicast_unicast,
    CauseRadioNetwork::eredcap_ue_not_supported,
    CauseRadioNetwork::two_rx_xr_ue_not_supported,
    CauseRadioNetwork::aerial_ue_flight_information_reporting_initiation_failure,
    CauseRadioNetwork::unknown_RAN_AIoT_Device_NGAP_ID,
    CauseRadioNetwork::requested_AIoT_service_area_information_not_served_by_the_gNB,
    CauseRadioNetwork::unknown_AIoT_session,
    CauseRadioNetwork::aiot_device_not_reachable,
    CauseRadioNetwork::multiple_AIoT_session_ID_instances,
];

const CAUSE_TRANSPORT: [CauseTransport; 2] =
    [CauseTransport::transport_resource_unavailable, CauseTransport::unspecified];

const CAUSE_NAS: [CauseNas; 8] = [
    CauseNas::normal_release,
    CauseNas::authentication_failure,
    CauseNas::deregister,
    CauseNas::unspecified,
    CauseNas::uE_not_in_PLMN_serving_area,
    CauseNas::mobile_IAB_not_authorized,
    CauseNas::iAB_not_authorized,
    CauseNas::no_aiot_NAS_response,
];

const CAUSE_PROTOCOL: [CauseProtocol; 7] = [
    CauseProtocol::transfer_syntax_error,
    CauseProtocol::abstract_syntax_error_reject,
    CauseProtocol::abstract_syntax_error_ignore_and_notify,
    CauseProtocol::message_not_compatible_with_receiver_state,
    CauseProtocol::semantic_error,
    CauseProtocol::abstract_syntax_error_falsely_constructed_message,
    CauseProtocol::unspecified,
];

const CAUSE_MISC: [CauseMisc; 6] = [
    CauseMisc::control_processing_overload,
    CauseMisc::not_enough_user_plane_processing_resources,
    CauseMisc::hardware_failure,
    CauseMisc::om_intervention,
    CauseMisc::unknown_PLMN_or_SNPN,
    CauseMisc::unspecified,
];

/// The number of a cause; none for one of a later release.
pub fn number(cause: &Cause) -> Option<CauseNumber> {
    fn at<T: PartialEq>(group: u32, values: &[T], value: &T) -> Option<CauseNumber> {
        let position = values.iter().position(|known| known == value)?;
        Some(CauseNumber { group, value: u32::try_from(position).ok()? })
    }
    match cause {
        Cause::radioNetwork(value) => at(0, &CAUSE_RADIO_NETWORK, value),
        Cause::transport(value) => at(1, &CAUSE_TRANSPORT, value),
        Cause::nas(value) => at(2, &CAUSE_NAS, value),
        Cause::protocol(value) => at(3, &CAUSE_PROTOCOL, value),
        Cause::misc(value) => at(4, &CAUSE_MISC, value),
        _ => None,
    }
}

/// The cause of a number; none for an unknown number.
pub fn from_number(number: CauseNumber) -> Option<Cause> {
    let value = usize::try_from(number.value).ok()?;
    match number.group {
        0 => CAUSE_RADIO_NETWORK.get(value).copied().map(Cause::radioNetwork),
        1 => CAUSE_TRANSPORT.get(value).copied().map(Cause::transport),
        2 => CAUSE_NAS.get(value).copied().map(Cause::nas),
        3 => CAUSE_PROTOCOL.get(value).copied().map(Cause::protocol),
        4 => CAUSE_MISC.get(value).copied().map(Cause::misc),
        _ => None,
    }
}

/// A cause as text for logs: `radio network: user inactivity`.
pub fn text(cause: &Cause) -> String {
    let (group, value) = match cause {
        Cause::radioNetwork(value) => ("radio network", format!("{value:?}")),
        Cause::transport(value) => ("transport", format!("{value:?}")),
        Cause::nas(value) => ("NAS", format!("{value:?}")),
        Cause::protocol(value) => ("protocol", format!("{value:?}")),
        Cause::misc(value) => ("miscellaneous", format!("{value:?}")),
        _ => ("a later release", String::from("unknown")),
    };
    format!("{group}: {}", value.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_round_trips_through_its_number() {
        let mut causes = 0;
        for group in 0..6 {
            for value in 0..80 {
                let given = CauseNumber { group, value };
                if let Some(cause) = from_number(given) {
                    assert_eq!(number(&cause), Some(given));
                    causes += 1;
                }
            }
        }
        assert_eq!(causes, 65 + 2 + 8 + 7 + 6);
        let inactivity = Cause::radioNetwork(CauseRadioNetwork::user_inactivity);
        assert_eq!(number(&inactivity), Some(CauseNumber { group: 0, value: 20 }));
        assert_eq!(text(&inactivity), "radio network: user inactivity");
    }
}
