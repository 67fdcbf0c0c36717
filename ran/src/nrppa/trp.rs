//! What a gNB tells of its transmission and reception points, and what it measures there (TS
//! 38.455, 8.5).
use super::{Trp, air, cgi, error, not_available, not_supported, read, send};
use crate::gnb::Gnb;
use martlet_lcs_position::{quality_of_metres, rstd_of_metres};
use martlet_ngap::ngap::{NGAP_PDU, NRPPaPDU, RoutingID};
use martlet_ngap::{Error, extract_ngap_ies};
use martlet_nrppa::{
    CauseProtocol, GeographicalCoordinates, GnbRxTxTimeDiff, MeasurementFailure,
    MeasurementRequest, MeasurementResponse, Message, NgranHighAccuracyAccessPointPosition, Pdu,
    ReportCharacteristics, SrsConfiguration, TimeStamp, TimeStampSlotIndex, TrpInformation,
    TrpInformationFailure, TrpInformationRequest,
    TrpInformationRequestTrpinformationTypeListTrpreqItem as Asked, TrpInformationResponse,
    TrpInformationResponseTrpinformationListTrprespItem, TrpInformationTypeItem as Kind,
    TrpInformationTypeResponseItem as Told, TrpMeasuredResultsValue, TrpMeasurementQuality,
    TrpMeasurementResponseItem, TrpMeasurementResultItem, TrpMeasurementTimingQuality,
    TrpMeasurementTimingQualityResolution, TrpMeasurementType, TrpPositionDefinitionType,
    TrpPositionDirect, TrpPositionDirectAccuracy,
};
use std::time::Instant;

/// The steps of a report where the LMF asks for none: 2^2 T_c, 0.6 m.
const K: u8 = 2;

/// DOWNLINK NON UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) async fn request(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, DownlinkNonUEAssociatedNRPPaTransport,
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    if let Some(answer) = answer(gnb, &message.0) {
        send(gnb, &routing.0, &answer).await;
    }
    Ok(())
}

fn answer(gnb: &Gnb, octets: &[u8]) -> Option<Pdu> {
    let Pdu { transaction, message } = match read(octets) {
        Ok(pdu) => pdu,
        Err(error) => return Some(error),
    };
    let message = match message {
        Message::TrpInformationRequest(request) => information(gnb, &request),
        Message::MeasurementRequest(request) => measurement(gnb, &request),
        // Measurements are made at once, so that there is none to end or to change.
        Message::MeasurementAbort(_)
        | Message::MeasurementUpdate(_)
        | Message::ErrorIndication(_) => return None,
        _ => {
            return Some(error(
                CauseProtocol::MessageNotCompatibleWithReceiverState,
                Some(transaction),
            ));
        }
    };
    Some(Pdu { transaction, message })
}

/// TRP INFORMATION REQUEST (8.5.6).
fn information(gnb: &Gnb, request: &TrpInformationRequest) -> Message {
    let asked = request.trplist.as_ref();
    let trps = gnb.config().trps.iter().filter(|trp| {
        asked.is_none_or(|list| list.iter().any(|it| it.t_rp_id == i64::from(trp.id)))
    });
    let kinds = &request.trpinformation_type_list_trpreq;
    let kinds: Vec<Kind> = kinds
        .iter()
        .filter_map(|it| match it {
            Asked::TrpInformationTypeItem(kind) => Some(*kind),
            Asked::Other(..) => None,
        })
        .collect();
    let told: Vec<_> = trps
        .filter_map(|trp| {
            let list: Vec<Told> = kinds.iter().filter_map(|kind| tell(gnb, trp, *kind)).collect();
            let information = TrpInformation {
                t_rp_id: trp.id.into(),
                t_rpinformation_type_response_list: list,
                i_e_extensions: None,
            };
            (!information.t_rpinformation_type_response_list.is_empty()).then_some(
                TrpInformationResponseTrpinformationListTrprespItem {
                    t_rpinformation: information,
                },
            )
        })
        .collect();
    match told.is_empty() {
        true => Message::TrpInformationFailure(
            TrpInformationFailure { cause: not_supported(), criticality_diagnostics: None }.into(),
        ),
        false => Message::TrpInformationResponse(
            TrpInformationResponse {
                trpinformation_list_trpresp: told,
                criticality_diagnostics: None,
            }
            .into(),
        ),
    }
}

fn tell(gnb: &Gnb, trp: &Trp, kind: Kind) -> Option<Told> {
    Some(match kind {
        Kind::NrPci => Told::PCiNr(trp.cell.pci),
        Kind::NGRanCgi => Told::CGiNr(cgi(gnb.config().plmn, &trp.cell)),
        Kind::Arfcn => Told::ARfcn(trp.cell.arfcn),
        Kind::GeoCoord => Told::GeographicalCoordinates(coordinates(trp).into()),
        _ => return None,
    })
}

fn coordinates(trp: &Trp) -> GeographicalCoordinates {
    // In steps of 2^-31 of 90 and of 180 degrees (TS 23.032, 6.3).
    let coded = |degrees: f64, most: f64| (degrees / most * 2f64.powi(31)).round() as i32;
    let position = NgranHighAccuracyAccessPointPosition {
        latitude: coded(trp.cell.place.lat, 90.0),
        longitude: coded(trp.cell.place.lon, 180.0),
        horizontal_confidence: 100,
        ..Default::default()
    };
    GeographicalCoordinates {
        t_rpposition_definition_type: TrpPositionDefinitionType::Direct(TrpPositionDirect {
            accuracy: TrpPositionDirectAccuracy::TRphAposition(position),
        }),
        ..Default::default()
    }
}

/// MEASUREMENT REQUEST (8.5.1).
fn measurement(gnb: &Gnb, request: &MeasurementRequest) -> Message {
    let failure = |cause| {
        let failure = MeasurementFailure {
            measurement_id: request.measurement_id,
            cause,
            criticality_diagnostics: None,
        };
        Message::MeasurementFailure(failure.into())
    };
    let round_trip = request
        .trpmeasurement_quantities
        .iter()
        .find(|it| it.t_rpmeasurement_quantities_item == TrpMeasurementType::GNbRxTxTimeDiff);
    let Some(wanted) =
        round_trip.filter(|_| request.report_characteristics == ReportCharacteristics::OnDemand)
    else {
        return failure(not_supported());
    };
    let k = wanted.timing_reporting_granularity_factor.unwrap_or(K);
    let Some(sender) = request.srsconfiguration.as_ref().and_then(sequence).and_then(air::sender)
    else {
        // Nobody is heard with such a signal.
        return failure(not_available());
    };
    let now = Instant::now();
    let heard = sender.round_trips_of_gnb(now);
    let quality = quality_of_metres(sender.timing_deviation_m);
    let measured = |id: i64| {
        let trp = gnb.config().trps.iter().find(|trp| i64::from(trp.id) == id)?;
        let (_, metres) = heard.iter().find(|(cell, _)| cell.identity == trp.cell.identity)?;
        let frame = sender.milliseconds(now) / 10 % 1024;
        let item = TrpMeasurementResultItem {
            measured_results_value: TrpMeasuredResultsValue::GNbRxTxTimeDiff(
                GnbRxTxTimeDiff { rx_tx_time_diff: report(*metres, k), ..Default::default() }
                    .into(),
            ),
            time_stamp: TimeStamp {
                system_frame_number: frame as u16,
                slot_index: TimeStampSlotIndex::SCs30(0),
                measurement_time: None,
                i_e_extension: None,
            },
            measurement_quality: Some(TrpMeasurementQuality::TimingMeasQuality(
                TrpMeasurementTimingQuality {
                    measurement_quality: quality.0,
                    resolution: match quality.1 {
                        0 => TrpMeasurementTimingQualityResolution::M0Dot1,
                        1 => TrpMeasurementTimingQualityResolution::M1,
                        2 => TrpMeasurementTimingQualityResolution::M10,
                        _ => TrpMeasurementTimingQualityResolution::M30,
                    },
                },
            )),
            measurement_beam_info: None,
            i_e_extensions: None,
        };
        Some(TrpMeasurementResponseItem {
            t_rp_id: id,
            measurement_result: vec![item],
            i_e_extensions: None,
        })
    };
    let list: Vec<_> =
        request.trp_measurement_request_list.iter().filter_map(|it| measured(it.t_rp_id)).collect();
    if list.is_empty() {
        return failure(not_available());
    }
    let response = MeasurementResponse {
        measurement_id: request.measurement_id,
        // The gNB gives the measurement the identity that it has at the LMF.
        measurement_id_: request.measurement_id,
        trp_measurement_response_list: Some(list),
        criticality_diagnostics: None,
    };
    Message::MeasurementResponse(response.into())
}

/// The sequence of a configuration's signal.
fn sequence(configuration: &SrsConfiguration) -> Option<u16> {
    let carrier = configuration.s_rscarrier_list.first()?;
    let resources = carrier.active_ulbwp.s_rsconfig.pos_srsresource_list.as_ref()?;
    resources.first().map(|it| it.sequence_id)
}

/// A report in steps of 2^k T_c.
fn report(metres: f64, k: u8) -> martlet_nrppa::GnbRxTxTimeDiffMeas {
    use martlet_nrppa::GnbRxTxTimeDiffMeas as Report;
    let value = rstd_of_metres(metres, k);
    match k {
        0 => Report::K0(value),
        1 => Report::K1(value),
        2 => Report::K2(value),
        3 => Report::K3(value),
        4 => Report::K4(value),
        // Up to 61,565.
        _ => Report::K5(value as u16),
    }
}
