//! DL-PRS assistance data (TS 37.355, 6.4.3), and the quality of measurements of these signals.
use martlet_lcs_position::metres_of_quality;
use martlet_lpp::*;

/// Maximum number of cells: a frequency layer holds 64 TRPs.
pub(crate) const MAX_CELLS: usize = 64;
/// Uncertainty of the expected RSTD: 64 T_s around 0.
const WINDOW: u8 = 64;
/// NR-ARFCN of SSB and DL-PRS: 3.6 GHz.
const ARFCN: u32 = 640_000;

/// The signals of cells with these PCIs. The index in the list is the DL-PRS ID, which reports use.
pub(super) fn assistance(pcis: &[u16]) -> NrDlPrsAssistanceDataR16 {
    let point = |(n, pci): (usize, &u16)| NrDlPrsAssistanceDataPerTrpR16 {
        dl_prs_id_r16: n as u8,
        nr_phys_cell_id_r16: Some(*pci),
        nr_arfcn_r16: Some(ARFCN),
        nr_dl_prs_expected_rstd_uncertainty_r16: WINDOW,
        nr_dl_prs_info_r16: NrDlPrsInfoR16 {
            nr_dl_prs_resource_set_list_r16: vec![resources(*pci)],
        },
        ..Default::default()
    };
    let layer = NrDlPrsPositioningFrequencyLayerR16 {
        dl_prs_subcarrier_spacing_r16:
            NrDlPrsPositioningFrequencyLayerR16DlPrsSubcarrierSpacingR16::KHz30,
        // 48 physical resource blocks, in steps of 4.
        dl_prs_resource_bandwidth_r16: 12,
        dl_prs_point_a_r16: ARFCN,
        dl_prs_comb_size_n_r16: NrDlPrsPositioningFrequencyLayerR16DlPrsCombSizeNR16::N6,
        ..Default::default()
    };
    NrDlPrsAssistanceDataR16 {
        nr_dl_prs_reference_info_r16: DlPrsIdInfoR16::default(),
        nr_dl_prs_assistance_data_list_r16: vec![NrDlPrsAssistanceDataPerFreqR16 {
            nr_dl_prs_positioning_frequency_layer_r16: layer,
            nr_dl_prs_assistance_data_per_freq_r16: pcis
                .iter()
                .enumerate()
                .take(MAX_CELLS)
                .map(point)
                .collect(),
        }],
        ..Default::default()
    }
}

/// The resource set of a cell: a sequence of its own, every 20 ms.
fn resources(pci: u16) -> NrDlPrsResourceSetR16 {
    use NrDlPrsPeriodicityAndResourceSetSlotOffsetR16 as Period;
    NrDlPrsResourceSetR16 {
        dl_prs_periodicity_and_resource_set_slot_offset_r16: Period::Scs30R16(
            NrDlPrsPeriodicityAndResourceSetSlotOffsetR16Scs30R16::N40R16((pci % 40) as u8),
        ),
        dl_prs_num_symbols_r16: NrDlPrsResourceSetR16DlPrsNumSymbolsR16::N6,
        dl_prs_resource_list_r16: vec![NrDlPrsResourceR16 {
            dl_prs_sequence_id_r16: pci,
            dl_prs_comb_size_n_and_re_offset_r16:
                NrDlPrsResourceR16DlPrsCombSizeNAndReOffsetR16::N6R16((pci % 6) as u8),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The standard deviation of a report, metres.
pub(super) fn deviation(quality: &NrTimingQualityR16) -> f64 {
    use NrTimingQualityR16TimingQualityResolutionR16 as Resolution;
    let step = match quality.timing_quality_resolution_r16 {
        Resolution::Mdot1 => 0,
        Resolution::M1 => 1,
        Resolution::M10 => 2,
        _ => 3,
    };
    // At least half a step of the report.
    metres_of_quality(quality.timing_quality_value_r16, step).max(0.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assistance_data_of_many_cells_can_be_encoded_and_decoded() {
        let pcis: Vec<u16> = (0..100).map(|n| n * 10).collect();
        for count in [1, 4, 64, 100] {
            let signals = Some(Box::new(assistance(&pcis[..count])));
            let tdoa = NrDlTdoaProvideAssistanceDataR16 {
                nr_dl_prs_assistance_data_r16: signals.clone(),
                ..Default::default()
            };
            let rtt = NrMultiRttProvideAssistanceDataR16 {
                nr_dl_prs_assistance_data_r16: signals,
                ..Default::default()
            };
            let data = ProvideAssistanceDataR9IEs {
                nr_dl_tdoa_provide_assistance_data_r16: Some(tdoa.into()),
                nr_multi_rtt_provide_assistance_data_r16: Some(rtt.into()),
                ..Default::default()
            };
            let body = Body::ProvideAssistanceData(data.into());
            let bytes =
                encode(&LppMessage::new(Transaction::ByServer(3), true, body.clone())).unwrap();
            assert_eq!(Body::of(decode(&bytes).unwrap()), Some(body));
        }
    }
}
