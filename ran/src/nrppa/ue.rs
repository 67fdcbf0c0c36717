//! What a gNB measures of a UE that it serves (TS 38.455, 8.2), and has it send for others to
//! measure (8.4).
use super::air::Signal;
use super::{cgi, error, not_available, not_supported, plmn_octets, read, ue_associated};
use crate::gnb::{Fault, Gnb, UeTask};
use crate::positioning::Surroundings;
use martlet_ngap::extract_ngap_ies;
use martlet_ngap::ngap::{NGAP_PDU, NRPPaPDU, RoutingID};
use martlet_nrppa::*;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// Cells of a report.
const MOST_CELLS: usize = 9;
/// Measurements of a UE that run at a time: the identities that LMFs can give (9.2.13).
const MOST_MEASUREMENTS: usize = 15;
/// The set of the UE's signals for positioning.
const SET: u8 = 1;
/// Point A of the cell's carrier, NR-ARFCN, and its width in resource blocks of 30 kHz.
const CARRIER: (u32, i64) = (640_000, 273);

/// What is measured of a UE, and what it sends for others to measure.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Where it is, in truth; none where the UE has nothing for positioning.
    pub(crate) surroundings: Option<Surroundings>,
    /// E-CID measurements that run, by the LMF's identity of them.
    reports: HashMap<i64, AbortHandle>,
    signal: Option<Signal>,
}

impl Measured {
    /// The UE's connection has ended, and with it all that was measured of it.
    pub(crate) fn end(&mut self) {
        self.reports.drain().for_each(|(_, report)| report.abort());
        self.signal = None;
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.end();
    }
}

/// DOWNLINK UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) async fn request(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, DownlinkUEAssociatedNRPPaTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    let to = To { gnb: ue.gnb().clone(), ids: (amf_id, ran_id), routing: routing.0.to_vec() };
    let Some(answer) = answer(ue, &to, &message.0) else { return Ok(()) };
    if let Some(octets) = ue_associated(to.ids, &to.routing, &answer) {
        ue.send_ngap(octets).await?;
    }
    Ok(())
}

/// Where reports of a measurement go.
#[derive(Clone)]
struct To {
    gnb: Gnb,
    ids: (u64, u32),
    routing: Vec<u8>,
}

fn answer(ue: &mut UeTask, to: &To, octets: &[u8]) -> Option<Pdu> {
    let Pdu { transaction, message } = match read(octets) {
        Ok(pdu) => pdu,
        Err(error) => return Some(error),
    };
    let message = match message {
        Message::ECidMeasurementInitiationRequest(request) => initiation(ue, to, &request),
        Message::ECidMeasurementTerminationCommand(command) => {
            if let Some(report) = ue.measured().reports.remove(&command.ue_measurement_id) {
                report.abort();
            }
            return None;
        }
        Message::PositioningInformationRequest(_) => information(ue),
        Message::PositioningActivationRequest(request) => activation(ue, &request),
        Message::PositioningDeactivation(_) => {
            ue.measured().signal = None;
            return None;
        }
        Message::ErrorIndication(_) => return None,
        _ => {
            return Some(error(
                CauseProtocol::MessageNotCompatibleWithReceiverState,
                Some(transaction),
            ));
        }
    };
    Some(Pdu { transaction, message })
}

/// E-CID MEASUREMENT INITIATION REQUEST (8.2.1): at once, and again as long as the LMF likes.
fn initiation(ue: &mut UeTask, to: &To, request: &ECidMeasurementInitiationRequest) -> Message {
    let id = request.ue_measurement_id;
    let failure = |cause| {
        let failure = ECidMeasurementInitiationFailure {
            ue_measurement_id: id,
            cause,
            criticality_diagnostics: None,
        };
        Message::ECidMeasurementInitiationFailure(failure.into())
    };
    use ECidMeasurementInitiationRequestMeasurementQuantitiesItem::MeasurementQuantitiesItem as Item;
    let wanted: Vec<_> = request
        .measurement_quantities
        .iter()
        .filter_map(
            |it| if let Item(it) = it { Some(it.measurement_quantities_value) } else { None },
        )
        .collect();
    let has = |quantity| wanted.contains(&quantity);
    let (cell, loudness) =
        (has(MeasurementQuantitiesValue::CellId), has(MeasurementQuantitiesValue::SSRsrp));
    let Some(surroundings) = ue.measured().surroundings.clone().filter(|_| cell || loudness) else {
        return failure(not_supported());
    };
    let Some(first) = result(&to.gnb, &surroundings, loudness, Instant::now()) else {
        return failure(not_available());
    };
    let mut response = ECidMeasurementInitiationResponse {
        ue_measurement_id: id,
        // The gNB gives the measurement the identity that it has at the LMF.
        ue_measurement_id_: id,
        ..Default::default()
    };
    if request.report_characteristics == ReportCharacteristics::OnDemand {
        response.e_cid_measurement_result = Some(first.into());
        return Message::ECidMeasurementInitiationResponse(response.into());
    }
    let Some(period) = request.measurement_periodicity.and_then(period) else {
        return failure(not_supported());
    };
    if ue.measured().reports.len() >= MOST_MEASUREMENTS && !ue.measured().reports.contains_key(&id)
    {
        return failure(not_available());
    }
    let work = tokio::spawn(report(to.clone(), id, surroundings, loudness, period)).abort_handle();
    if let Some(before) = ue.measured().reports.insert(id, work) {
        before.abort();
    }
    Message::ECidMeasurementInitiationResponse(response.into())
}

fn period(periodicity: MeasurementPeriodicity) -> Option<Duration> {
    use MeasurementPeriodicity::*;
    Some(Duration::from_millis(match periodicity {
        Ms120 => 120,
        Ms240 => 240,
        Ms480 => 480,
        Ms640 => 640,
        Ms1024 => 1024,
        Ms2048 => 2048,
        Ms5120 => 5120,
        Ms10240 => 10_240,
        _ => return None,
    }))
}

/// E-CID MEASUREMENT REPORT (8.2.3), in every period, until the UE leaves or the LMF has enough.
async fn report(to: To, id: i64, surroundings: Surroundings, loudness: bool, period: Duration) {
    let mut ticks = tokio::time::interval(period);
    ticks.tick().await;
    for transaction in (0u16..32_768).cycle() {
        ticks.tick().await;
        if !to.gnb.serves(to.ids.1) {
            return;
        }
        let message = match result(&to.gnb, &surroundings, loudness, Instant::now()) {
            Some(result) => Message::ECidMeasurementReport(
                ECidMeasurementReport {
                    ue_measurement_id: id,
                    ue_measurement_id_: id,
                    e_cid_measurement_result: result,
                    cell_portion_id: None,
                }
                .into(),
            ),
            None => Message::ECidMeasurementFailureIndication(
                ECidMeasurementFailureIndication {
                    ue_measurement_id: id,
                    ue_measurement_id_: id,
                    cause: not_available(),
                }
                .into(),
            ),
        };
        let ended = matches!(message, Message::ECidMeasurementFailureIndication(_));
        let Some(octets) = ue_associated(to.ids, &to.routing, &Pdu { transaction, message }) else {
            return;
        };
        let stream = to.gnb.stream_of(to.ids.1);
        if to.gnb.send_raw_ngap(stream, octets).await.is_err() || ended {
            return;
        }
    }
}

/// What the UE's own measurement reports say of the cells that it hears; none where it hears none.
fn result(
    gnb: &Gnb,
    surroundings: &Surroundings,
    loudness: bool,
    now: Instant,
) -> Option<ECidMeasurementResult> {
    let heard = surroundings.measure(now);
    let (serving, _) = heard.first()?;
    let plmn = gnb.config().plmn;
    let item = |(cell, rsrp): &(crate::positioning::Cell, u8)| ResultSsRsrpItem {
        n_r_pci: cell.pci,
        n_r_arfcn: cell.arfcn,
        c_gi_nr: Some(cgi(plmn, cell)),
        value_ss_rsrp_cell: Some(*rsrp),
        s_s_rsrp_per_ssb: None,
    };
    let list = heard.iter().take(MOST_CELLS).map(item).collect();
    let loud = MeasuredResultsValue::ChoiceExtension(
        MeasuredResultsValueChoiceExtension::ResultSsRsrp(list),
    );
    let [_, tac @ ..] = gnb.config().tac.to_be_bytes();
    Some(ECidMeasurementResult {
        serving_cell_id: NgRanCgi {
            p_lmn_identity: plmn_octets(plmn),
            n_g_rancell: NgRanCell::NRCellId(BitString::from_number(serving.identity, 36)),
        },
        serving_cell_tac: tac.to_vec(),
        n_g_ranaccess_point_position: None,
        measured_results: loudness.then(|| vec![loud]),
        i_e_extensions: None,
    })
}

/// POSITIONING INFORMATION REQUEST (8.4.1): the UE is given a signal to send, once it is told to.
fn information(ue: &mut UeTask) -> Message {
    let known = ue.measured();
    let able = known.surroundings.as_ref().is_some_and(|it| it.multi_rtt);
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

/// A semi-persistent signal of 100 MHz in every 40th slot.
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
        possrs_resource_set_id: SET,
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
fn activation(ue: &mut UeTask, request: &PositioningActivationRequest) -> Message {
    let known = ue.measured();
    let set = match &request.srstype {
        SrsType::SemipersistentSrs(it) => Some(it.s_rsresource_set_id),
        _ => None,
    };
    match &known.signal {
        Some(signal) if set == Some(SET.into()) => {
            signal.send(known.surroundings.as_ref());
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
