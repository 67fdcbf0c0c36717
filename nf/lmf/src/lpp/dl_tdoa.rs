//! DL-TDOA: the UE says how much later it hears one cell than another (TS 38.305, 8.12). The cells' clocks are taken to be
//! the same, as they are in a network with TDD to within what GNSS receivers at its sites give.
use super::transaction::{Conversation, failed};
use crate::config::CellConfig;
use martlet_lcs_position::{Timed, metres_of_rstd};
use martlet_lpp::*;
use martlet_sbi::Problem;

/// Cells of assistance data: identities have eight bits, and a frequency layer 64 TRPs.
const MOST_CELLS: usize = 64;
/// The largest expected difference that needs no other window: 64 T_s around 0.
const WINDOW: u8 = 64;
/// SSB and DL-PRS of the cells: 3.6 GHz, as `arfcn` 640,000.
const ARFCN: u32 = 640_000;

/// The signals of the cells, as the UE has to know them to measure them (TS 37.355, 6.5.10.1).
fn assistance(cells: &[CellConfig]) -> NrDlTdoaProvideAssistanceDataR16 {
    let point = |(n, cell): (usize, &CellConfig)| NrDlPrsAssistanceDataPerTrpR16 {
        dl_prs_id_r16: n as u8,
        nr_phys_cell_id_r16: Some(cell.pci),
        nr_arfcn_r16: Some(ARFCN),
        nr_dl_prs_expected_rstd_uncertainty_r16: WINDOW,
        nr_dl_prs_info_r16: NrDlPrsInfoR16 { nr_dl_prs_resource_set_list_r16: vec![resources(cell.pci)] },
        ..Default::default()
    };
    let layer = NrDlPrsPositioningFrequencyLayerR16 {
        dl_prs_subcarrier_spacing_r16: NrDlPrsPositioningFrequencyLayerR16DlPrsSubcarrierSpacingR16::KHz30,
        // 48 physical resource blocks, in steps of 4.
        dl_prs_resource_bandwidth_r16: 12,
        dl_prs_point_a_r16: ARFCN,
        dl_prs_comb_size_n_r16: NrDlPrsPositioningFrequencyLayerR16DlPrsCombSizeNR16::N6,
        ..Default::default()
    };
    let data = NrDlPrsAssistanceDataR16 {
        nr_dl_prs_reference_info_r16: DlPrsIdInfoR16::default(),
        nr_dl_prs_assistance_data_list_r16: vec![NrDlPrsAssistanceDataPerFreqR16 {
            nr_dl_prs_positioning_frequency_layer_r16: layer,
            nr_dl_prs_assistance_data_per_freq_r16: cells.iter().enumerate().take(MOST_CELLS).map(point).collect(),
        }],
        ..Default::default()
    };
    NrDlTdoaProvideAssistanceDataR16 { nr_dl_prs_assistance_data_r16: Some(data.into()), ..Default::default() }
}

/// The signals of a cell: its own sequence, every 20 ms.
fn resources(pci: u16) -> NrDlPrsResourceSetR16 {
    use NrDlPrsPeriodicityAndResourceSetSlotOffsetR16 as Period;
    NrDlPrsResourceSetR16 {
        dl_prs_periodicity_and_resource_set_slot_offset_r16: Period::Scs30R16(
            NrDlPrsPeriodicityAndResourceSetSlotOffsetR16Scs30R16::N40R16((pci % 40) as u8),
        ),
        dl_prs_num_symbols_r16: NrDlPrsResourceSetR16DlPrsNumSymbolsR16::N6,
        dl_prs_resource_list_r16: vec![NrDlPrsResourceR16 {
            dl_prs_sequence_id_r16: pci,
            dl_prs_comb_size_n_and_re_offset_r16: NrDlPrsResourceR16DlPrsCombSizeNAndReOffsetR16::N6R16(
                (pci % 6) as u8,
            ),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Metres of a report, in whatever steps the UE chose, and the half of a step.
fn difference(report: &NrDlTdoaMeasElementR16NrRstdR16) -> Option<f64> {
    use NrDlTdoaMeasElementR16NrRstdR16 as Rstd;
    match report {
        Rstd::K0R16(value) => metres_of_rstd(*value, 0),
        Rstd::K1R16(value) => metres_of_rstd(*value, 1),
        Rstd::K2R16(value) => metres_of_rstd(*value, 2),
        Rstd::K3R16(value) => metres_of_rstd(*value, 3),
        Rstd::K4R16(value) => metres_of_rstd(*value, 4),
        Rstd::K5R16(value) => metres_of_rstd((*value).into(), 5),
        // Finer steps, which were not asked for.
        _ => None,
    }
}

/// Standard deviation of a report, metres, as the UE has it.
fn deviation(quality: &NrTimingQualityR16) -> f64 {
    use NrTimingQualityR16TimingQualityResolutionR16 as Resolution;
    let step = match quality.timing_quality_resolution_r16 {
        Resolution::Mdot1 => 0.1,
        Resolution::M1 => 1.0,
        Resolution::M10 => 10.0,
        _ => 30.0,
    };
    // Half a step of the report at least.
    (f64::from(quality.timing_quality_value_r16) * step).max(0.3)
}

/// Tells a UE of the cells' signals, and asks it how their times differ.
pub(crate) async fn dl_tdoa(conversation: &mut Conversation, cells: &[CellConfig]) -> Result<Vec<Timed>, Problem> {
    let data = ProvideAssistanceDataR9IEs {
        nr_dl_tdoa_provide_assistance_data_r16: Some(assistance(cells).into()),
        ..Default::default()
    };
    conversation.tell(Body::ProvideAssistanceData(data.into())).await?;
    let common = CommonIEsRequestLocationInformation {
        location_information_type: LocationInformationType::LocationMeasurementsRequired,
        ..Default::default()
    };
    let tdoa = NrDlTdoaRequestLocationInformationR16 {
        // `prsrsrpReq` and others: RSTD is measured anyhow.
        nr_requested_measurements_r16: BitString::from_ones(1, &[]),
        nr_assistance_availability_r16: true,
        ..Default::default()
    };
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(common.into()),
        nr_dl_tdoa_request_location_information_r16: Some(tdoa.into()),
        ..Default::default()
    };
    let answer = conversation.ask(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(failed("the UE answers a request for measurements with something else"));
    };
    let measured = provided.nr_dl_tdoa_provide_location_information_r16;
    let measured = measured.and_then(|it| it.nr_dl_tdoa_signal_measurement_information_r16);
    let measured = measured.ok_or_else(|| failed("the UE has measured no differences of times"))?;
    let place = |id: u8| cells.get(usize::from(id)).map(|cell| cell.place);
    let reference = place(measured.dl_prs_reference_info_r16.dl_prs_id_r16);
    let reference = reference.ok_or_else(|| failed("the UE's reference is a signal that nobody told it of"))?;
    let timed = |it: &NrDlTdoaMeasElementR16| {
        Some(Timed {
            to: place(it.dl_prs_id_r16)?,
            from: Some(reference),
            metres: difference(&it.nr_rstd_r16)?,
            deviation: deviation(&it.nr_timing_quality_r16),
        })
    };
    Ok(measured.nr_dl_tdoa_meas_list_r16.iter().filter_map(timed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_lcs_position::Place;

    #[test]
    fn assistance_data_of_many_cells_encodes_and_comes_back() {
        let cell = |n: u16| CellConfig {
            nr_cell_id: format!("{n:09x}"),
            pci: n,
            place: Place { lat: 54.0, lon: 12.0 },
            radius_m: 500.0,
        };
        let cells: Vec<_> = (0..100).map(|n| cell(n * 10)).collect();
        for count in [1, 4, 64, 100] {
            let data = ProvideAssistanceDataR9IEs {
                nr_dl_tdoa_provide_assistance_data_r16: Some(assistance(&cells[..count]).into()),
                ..Default::default()
            };
            let body = Body::ProvideAssistanceData(data.into());
            let octets = encode(&LppMessage::new(Transaction::ByServer(3), true, body.clone())).unwrap();
            assert_eq!(Body::of(decode(&octets).unwrap()), Some(body));
        }
    }
}
