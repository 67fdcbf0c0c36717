//! Positioning information, activation and deactivation (TS 38.455, 8.4): the sounding reference
//! signal that a UE sends for gNBs to measure.
use super::messages::{not_available, not_supported};
use crate::gnb::sounding_reference_signals::Signal;
use crate::gnb::ue::context::UeContext;
use martlet_nrppa::*;

/// Identity of the UE's resource set for positioning.
const RESOURCE_SET: u8 = 1;
/// Point A of the cell's carrier, NR-ARFCN, and its width in resource blocks of 30 kHz.
const CARRIER: (u32, i64) = (640_000, 273);

/// POSITIONING INFORMATION REQUEST (8.4.1): configures a sounding reference signal for the UE.
pub(super) fn information(ue: &mut UeContext) -> Message {
    let known = &mut ue.measurements;
    let able = known.environment.as_ref().is_some_and(|it| it.multi_rtt);
    if able && known.signal.is_none() {
        known.signal = Signal::new();
    }
    match &known.signal {
        Some(signal) => Message::PositioningInformationResponse(
            PositioningInformationResponse {
                srsconfiguration: Some(configuration(signal.sequence())),
                ..Default::default()
            }
            .into(),
        ),
        None => {
            let cause = if able { not_available() } else { not_supported() };
            let failure = PositioningInformationFailure { cause, criticality_diagnostics: None };
            Message::PositioningInformationFailure(failure.into())
        }
    }
}

/// A semi-persistent sounding reference signal of 100 MHz in every 40th slot.
fn configuration(sequence: u16) -> SrsConfiguration {
    let resource = PosSrsResourceItem {
        srs_pos_resource_id: 0,
        transmission_comb_pos: TransmissionCombPos::N4(TransmissionCombPosN4 {
            comb_offset_n4: 0,
            cyclic_shift_n4: 0,
        }),
        start_position: 0,
        nrof_symbols: PosSrsResourceItemNrofSymbols::N4,
        freq_domain_shift: 0,
        c_srs: 63,
        group_or_sequence_hopping: PosSrsResourceItemGroupOrSequenceHopping::Neither,
        resource_type_pos: ResourceTypePos::SemiPersistent(ResourceTypeSemiPersistentPos {
            s_rsperiodicity: SrsPeriodicity::Slot40,
            offset: 0,
            i_e_extensions: None,
        }),
        sequence_id: sequence,
        spatial_relation_pos: None,
        i_e_extensions: None,
    };
    let set = PosSrsResourceSetItem {
        possrs_resource_set_id: RESOURCE_SET,
        poss_rsresource_idper_set_list: vec![0],
        posresource_set_type: PosResourceSetType::SemiPersistent(Default::default()),
    };
    let carrier = ScsSpecificCarrier {
        offset_to_carrier: 0,
        subcarrier_spacing: ScsSpecificCarrierSubcarrierSpacing::KHz30,
        carrier_bandwidth: CARRIER.1,
    };
    let active = ActiveUlbwp {
        // All of the carrier (TS 38.213, 12): 275 (L - 1) + RB start where L - 1 is at most half of
        // 275, else as here.
        location_and_bandwidth: 275 * (275 - CARRIER.1 + 1) + 274,
        subcarrier_spacing: ActiveUlbwpSubcarrierSpacing::KHz30,
        cyclic_prefix: ActiveUlbwpCyclicPrefix::Normal,
        tx_direct_current_location: 1650,
        shift7dot5k_hz: None,
        s_rsconfig: SrsConfig {
            s_rsresource_list: None,
            pos_srsresource_list: Some(vec![resource]),
            s_rsresource_set_list: None,
            pos_srsresource_set_list: Some(vec![set]),
        },
    };
    SrsConfiguration {
        s_rscarrier_list: vec![SrsCarrierListItem {
            point_a: CARRIER.0,
            uplink_channel_bw_per_scs_list: vec![carrier],
            active_ulbwp: active,
            p_ci_nr: None,
        }],
        i_e_extensions: None,
    }
}

/// POSITIONING ACTIVATION REQUEST (8.4.3): the UE sends its signal from now on.
pub(super) fn activation(ue: &mut UeContext, request: &PositioningActivationRequest) -> Message {
    let known = &mut ue.measurements;
    let set = match &request.srstype {
        SrsType::SemipersistentSrs(it) => Some(it.s_rsresource_set_id),
        _ => None,
    };
    match &known.signal {
        Some(signal) if set == Some(RESOURCE_SET.into()) => {
            signal.send(known.environment.as_ref());
            Message::PositioningActivationResponse(Default::default())
        }
        _ => {
            let cause = not_supported();
            Message::PositioningActivationFailure(
                PositioningActivationFailure { cause, criticality_diagnostics: None }.into(),
            )
        }
    }
}
