//! DL-TDOA: what the UE measures of the cells' positioning reference signals (TS 37.355, 6.5.10; TS 38.215, 5.1.29).
use super::Surroundings;
use martlet_lcs_position::rstd_of_metres;
use martlet_lpp::*;
use std::time::Instant;

/// Band n78.
const BAND: u16 = 78;
/// Steps of 2^2 T_c, 0.6 m.
const K: u8 = 2;

/// What the UE can do: mode UE-assisted, in one band.
pub(super) fn capabilities() -> NrDlTdoaProvideCapabilitiesR16 {
    NrDlTdoaProvideCapabilitiesR16 {
        // Standalone, UE-based, UE-assisted (TS 37.355, 6.4.1).
        nr_dl_tdoa_mode_r16: PositioningModes { pos_modes: BitString::from_ones(3, &[2]) },
        nr_dl_tdoa_prs_capability_r16: NrDlPrsResourcesCapabilityR16 {
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
        },
        nr_dl_tdoa_measurement_capability_r16: NrDlTdoaMeasurementCapabilityR16 {
            dl_rstd_measurement_per_pair_of_trp_fr1_r16: 1,
            dl_rstd_measurement_per_pair_of_trp_fr2_r16: 1,
            ..Default::default()
        },
        nr_dl_prs_qcl_processing_capability_r16: NrDlPrsQclProcessingCapabilityR16 {
            dl_prs_qcl_processing_capability_band_list_r16: vec![DlPrsQclProcessingCapabilityPerBandR16 {
                freq_band_indicator_nr_r16: BAND,
                ..Default::default()
            }],
        },
        nr_dl_prs_processing_capability_r16: NrDlPrsProcessingCapabilityR16 {
            prs_processing_capability_band_list_r16: vec![band()],
            max_supported_freq_layers_r16: 1,
            ..Default::default()
        },
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

/// A signal that the network said to measure: its identity there, and the cell's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) id: u8,
    pub(super) pci: u16,
}

/// The signals of assistance data.
pub(super) fn signals(assistance: &NrDlTdoaProvideAssistanceDataR16) -> Vec<Signal> {
    let data = assistance.nr_dl_prs_assistance_data_r16.iter();
    let layers = data.flat_map(|data| &data.nr_dl_prs_assistance_data_list_r16);
    let points = layers.flat_map(|layer| &layer.nr_dl_prs_assistance_data_per_freq_r16);
    points.filter_map(|it| Some(Signal { id: it.dl_prs_id_r16, pci: it.nr_phys_cell_id_r16? })).collect()
}

/// Differences of the times at which the signals arrive, against the first that the UE hears.
pub(super) fn measure(
    signals: &[Signal],
    surroundings: &Surroundings,
    now: Instant,
) -> Option<NrDlTdoaSignalMeasurementInformationR16> {
    let heard = surroundings.distances(now);
    let mut measured: Vec<(&Signal, &super::Cell, f64)> = Vec::new();
    for signal in signals {
        let found = heard.iter().find(|(cell, _)| cell.pci == signal.pci);
        measured.extend(found.map(|(cell, metres)| (signal, cell, *metres)));
    }
    // The nearest one is the reference, as the one whose time is known best.
    measured.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (reference, _, from) = *measured.first()?;
    let element = |(signal, cell, metres): &(&Signal, &super::Cell, f64)| NrDlTdoaMeasElementR16 {
        dl_prs_id_r16: signal.id,
        nr_phys_cell_id_r16: Some(cell.pci),
        nr_time_stamp_r16: NrTimeStampR16 {
            dl_prs_id_r16: reference.id,
            nr_sfn_r16: (surroundings.milliseconds(now) / 10 % 1024) as u16,
            ..Default::default()
        },
        nr_rstd_r16: NrDlTdoaMeasElementR16NrRstdR16::K2R16(rstd_of_metres(metres - from, K)),
        nr_timing_quality_r16: NrTimingQualityR16 {
            timing_quality_value_r16: (surroundings.timing_deviation_m.ceil() as u64).min(31) as u8,
            timing_quality_resolution_r16: NrTimingQualityR16TimingQualityResolutionR16::M1,
        },
        ..Default::default()
    };
    let others: Vec<_> = measured.iter().skip(1).map(element).collect();
    (!others.is_empty()).then(|| NrDlTdoaSignalMeasurementInformationR16 {
        dl_prs_reference_info_r16: DlPrsIdInfoR16 { dl_prs_id_r16: reference.id, ..Default::default() },
        nr_dl_tdoa_meas_list_r16: others,
        ..Default::default()
    })
}
