//! DL-TDOA and multi-RTT measurements of positioning reference signals (TS 37.355, 6.5.10 and
//! 6.5.12; TS 38.215, 5.1.29 and 5.1.30).
use crate::radio_environment::{Cell, RadioEnvironment};
use martlet_lcs_position::{quality_of_metres, rstd_of_metres};
use martlet_lpp::*;
use std::time::Instant;

/// Band n78.
const BAND: u16 = 78;
/// Steps of 2^2 T_c, 0.6 m.
const K: u8 = 2;

/// DL-TDOA capabilities: UE-assisted mode in one band.
pub(super) fn capabilities() -> NrDlTdoaProvideCapabilitiesR16 {
    NrDlTdoaProvideCapabilitiesR16 {
        // Standalone, UE-based, UE-assisted (TS 37.355, 6.4.1).
        nr_dl_tdoa_mode_r16: PositioningModes { pos_modes: BitString::from_ones(3, &[2]) },
        nr_dl_tdoa_prs_capability_r16: resources(),
        nr_dl_tdoa_measurement_capability_r16: NrDlTdoaMeasurementCapabilityR16 {
            dl_rstd_measurement_per_pair_of_trp_fr1_r16: 1,
            dl_rstd_measurement_per_pair_of_trp_fr2_r16: 1,
            ..Default::default()
        },
        nr_dl_prs_qcl_processing_capability_r16: qcl(),
        nr_dl_prs_processing_capability_r16: processing(),
        ..Default::default()
    }
}

/// Multi-RTT capabilities in one band: measurement, and sounding reference signals.
pub(super) fn multi_rtt_capabilities() -> NrMultiRttProvideCapabilitiesR16 {
    NrMultiRttProvideCapabilitiesR16 {
        nr_multi_rtt_prs_capability_r16: resources(),
        nr_multi_rtt_measurement_capability_r16: NrMultiRttMeasurementCapabilityR16 {
            max_nr_of_rx_tx_meas_fr1_r16: Some(1),
            ..Default::default()
        },
        nr_dl_prs_qcl_processing_capability_r16: qcl(),
        nr_dl_prs_processing_capability_r16: processing(),
        nr_ul_srs_capability_r16: NrUlSrsCapabilityR16 {
            srs_capability_band_list_r16: vec![SrsCapabilityPerBandR16 {
                freq_band_indicator_nr_r16: BAND,
                ..Default::default()
            }],
            ..Default::default()
        },
        ..Default::default()
    }
}

fn resources() -> NrDlPrsResourcesCapabilityR16 {
    NrDlPrsResourcesCapabilityR16 {
        max_nr_of_dl_prs_resource_set_per_trp_per_frequency_layer_r16: 1,
        max_nr_of_trp_across_freqs_r16: NrDlPrsResourcesCapabilityR16MaxNrOfTrpAcrossFreqsR16::N32,
        max_nr_of_pos_layer_r16: 1,
        dl_prs_resources_capability_band_list_r16: vec![DlPrsResourcesCapabilityPerBandR16 {
            freq_band_indicator_nr_r16: BAND,
            ..Default::default()
        }],
        dl_prs_resources_band_combination_list_r16: vec![DlPrsResourcesBandCombinationR16 {
            band_list_r16: vec![BAND],
            ..Default::default()
        }],
    }
}

fn qcl() -> NrDlPrsQclProcessingCapabilityR16 {
    NrDlPrsQclProcessingCapabilityR16 {
        dl_prs_qcl_processing_capability_band_list_r16: vec![
            DlPrsQclProcessingCapabilityPerBandR16 {
                freq_band_indicator_nr_r16: BAND,
                ..Default::default()
            },
        ],
    }
}

fn processing() -> NrDlPrsProcessingCapabilityR16 {
    NrDlPrsProcessingCapabilityR16 {
        prs_processing_capability_band_list_r16: vec![band()],
        max_supported_freq_layers_r16: 1,
        ..Default::default()
    }
}

fn band() -> PrsProcessingCapabilityPerBandR16 {
    let supported_bandwidth_prs_r16 =
        PrsProcessingCapabilityPerBandR16SupportedBandwidthPrsR16::Fr1(Default::default());
    PrsProcessingCapabilityPerBandR16 {
        freq_band_indicator_nr_r16: BAND,
        supported_bandwidth_prs_r16,
        ..Default::default()
    }
}

/// A signal to measure: its DL-PRS ID and the cell's physical identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) id: u8,
    pub(super) pci: u16,
}

/// The signals of assistance data.
pub(super) fn signals(data: &NrDlPrsAssistanceDataR16) -> Vec<Signal> {
    let layers = data.nr_dl_prs_assistance_data_list_r16.iter();
    let points = layers.flat_map(|layer| &layer.nr_dl_prs_assistance_data_per_freq_r16);
    points
        .filter_map(|it| Some(Signal { id: it.dl_prs_id_r16, pci: it.nr_phys_cell_id_r16? }))
        .collect()
}

/// Reference signal time differences to the nearest cell.
pub(super) fn measure(
    signals: &[Signal],
    environment: &RadioEnvironment,
    now: Instant,
) -> Option<NrDlTdoaSignalMeasurementInformationR16> {
    let received = environment.distances(now);
    let mut measured: Vec<(&Signal, &Cell, f64)> = Vec::new();
    for signal in signals {
        let found = received.iter().find(|(cell, _)| cell.pci == signal.pci);
        measured.extend(found.map(|(cell, metres)| (signal, cell, *metres)));
    }
    // The nearest cell is the reference.
    measured.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (reference, _, from) = *measured.first()?;
    let element = |(signal, cell, metres): &(&Signal, &Cell, f64)| NrDlTdoaMeasElementR16 {
        dl_prs_id_r16: signal.id,
        nr_phys_cell_id_r16: Some(cell.pci),
        nr_time_stamp_r16: NrTimeStampR16 {
            dl_prs_id_r16: reference.id,
            nr_sfn_r16: (environment.milliseconds(now) / 10 % 1024) as u16,
            ..Default::default()
        },
        nr_rstd_r16: NrDlTdoaMeasElementR16NrRstdR16::K2R16(rstd_of_metres(metres - from, K)),
        nr_timing_quality_r16: quality(environment),
        ..Default::default()
    };
    let others: Vec<_> = measured.iter().skip(1).map(element).collect();
    (!others.is_empty()).then(|| NrDlTdoaSignalMeasurementInformationR16 {
        dl_prs_reference_info_r16: DlPrsIdInfoR16 {
            dl_prs_id_r16: reference.id,
            ..Default::default()
        },
        nr_dl_tdoa_meas_list_r16: others,
        ..Default::default()
    })
}

/// Quality of the UE's timing measurements.
fn quality(environment: &RadioEnvironment) -> NrTimingQualityR16 {
    use NrTimingQualityR16TimingQualityResolutionR16 as Resolution;
    let (value, step) = quality_of_metres(environment.timing_deviation_m);
    NrTimingQualityR16 {
        timing_quality_value_r16: value,
        timing_quality_resolution_r16: match step {
            0 => Resolution::Mdot1,
            1 => Resolution::M1,
            2 => Resolution::M10,
            _ => Resolution::M30,
        },
    }
}

/// UE Rx-Tx time differences.
pub(super) fn round_trips(
    signals: &[Signal],
    environment: &RadioEnvironment,
    now: Instant,
) -> Option<NrMultiRttSignalMeasurementInformationR16> {
    use NrMultiRttMeasElementR16NrUeRxTxTimeDiffR16 as Difference;
    let received = environment.round_trips_of_ue(now);
    let element = |signal: &Signal| {
        let (cell, metres) = received.iter().find(|(cell, _)| cell.pci == signal.pci)?;
        Some(NrMultiRttMeasElementR16 {
            dl_prs_id_r16: signal.id,
            nr_phys_cell_id_r16: Some(cell.pci),
            nr_ue_rx_tx_time_diff_r16: Difference::K2R16(rstd_of_metres(*metres, K)),
            nr_time_stamp_r16: NrTimeStampR16 {
                dl_prs_id_r16: signal.id,
                nr_sfn_r16: (environment.milliseconds(now) / 10 % 1024) as u16,
                ..Default::default()
            },
            nr_timing_quality_r16: quality(environment),
            ..Default::default()
        })
    };
    let list: Vec<_> = signals.iter().filter_map(element).take(MAX_ELEMENTS).collect();
    (!list.is_empty()).then(|| NrMultiRttSignalMeasurementInformationR16 {
        nr_multi_rtt_meas_list_r16: list,
        ..Default::default()
    })
}

/// Maximum number of elements of a measurement list (TS 37.355, 6.5.12: nrMaxTRPs).
const MAX_ELEMENTS: usize = 256;
