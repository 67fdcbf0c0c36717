//! The UE's answers to LPP messages (TS 37.355, 5).
use super::{gnss, timing};
use crate::radio_environment::{Cell, RadioEnvironment};
use martlet_lpp::*;
use std::time::Instant;

/// `ssrsrpReq` and `ssrsrpSup` (TS 37.355, 6.5.9).
const SS_RSRP: usize = 0;
/// Maximum number of cells of a list (TS 37.355, 6.5.9).
const MAX_CELLS: usize = 32;

/// Assistance data from the network (TS 37.355, 5.2).
#[derive(Debug, Default)]
pub(super) struct AssistanceData {
    signals: Vec<timing::Signal>,
}

/// Maximum number of stored signals.
const MAX_SIGNALS: usize = 256;

/// The answer to an LPP message, if there is one.
pub(super) fn answer(
    message: &[u8],
    environment: &RadioEnvironment,
    assistance: &mut AssistanceData,
    now: Instant,
) -> Option<Vec<u8>> {
    let message = match decode(message) {
        Ok(message) => message,
        Err(error) => {
            tracing::debug!(%error, "undecodable LPP message");
            // The transaction is unknown: an error without one (TS 37.355, 5.4.2).
            let message = LppMessage {
                end_transaction: true,
                lpp_message_body: Some(LppMessageBody::C1(LppMessageBodyC1::Error(
                    Error::ErrorR9(error_of(CommonIEsErrorErrorCause::LppMessageBodyError)),
                ))),
                ..Default::default()
            };
            return encode(&message).ok();
        }
    };
    let transaction = Transaction::of(&message)?;
    let body = match Body::of(message)? {
        Body::RequestCapabilities(request) => {
            Body::ProvideCapabilities(capabilities(&request, environment).into())
        }
        Body::RequestLocationInformation(request) => Body::ProvideLocationInformation(
            location(&request, environment, assistance, now).into(),
        ),
        Body::ProvideAssistanceData(data) => {
            let tdoa = data.nr_dl_tdoa_provide_assistance_data_r16.as_ref();
            let tdoa = tdoa.and_then(|it| it.nr_dl_prs_assistance_data_r16.as_deref());
            let rtt = data.nr_multi_rtt_provide_assistance_data_r16.as_ref();
            let rtt = rtt.and_then(|it| it.nr_dl_prs_assistance_data_r16.as_deref());
            if let Some(data) = tdoa.or(rtt) {
                assistance.signals = timing::signals(data);
                assistance.signals.truncate(MAX_SIGNALS);
            }
            return None;
        }
        Body::Abort(_) | Body::Error(_) => return None,
        _ => Body::Error(error_of(CommonIEsErrorErrorCause::IncorrectDataValue).into()),
    };
    encode(&LppMessage::new(transaction, true, body)).ok()
}

fn error_of(error_cause: CommonIEsErrorErrorCause) -> ErrorR9IEs {
    ErrorR9IEs { common_ies_error: Some(CommonIEsError { error_cause }), ..Default::default() }
}

fn capabilities(
    request: &RequestCapabilitiesR9IEs,
    environment: &RadioEnvironment,
) -> ProvideCapabilitiesR9IEs {
    let gnss =
        request.a_gnss_request_capabilities.is_some() && environment.gnss_deviation_m.is_some();
    let tdoa = request.nr_dl_tdoa_request_capabilities_r16.is_some() && environment.dl_tdoa;
    let rtt = request.nr_multi_rtt_request_capabilities_r16.is_some() && environment.multi_rtt;
    let ecid = NrEcidProvideCapabilitiesR16 {
        nr_ecid_meas_supported_r16: BitString::from_ones(4, &[SS_RSRP]),
        ..Default::default()
    };
    ProvideCapabilitiesR9IEs {
        nr_ecid_provide_capabilities_r16: request
            .nr_ecid_request_capabilities_r16
            .is_some()
            .then(|| ecid.into()),
        a_gnss_provide_capabilities: gnss.then(|| gnss::capabilities().into()),
        nr_multi_rtt_provide_capabilities_r16: rtt.then(|| timing::multi_rtt_capabilities().into()),
        nr_dl_tdoa_provide_capabilities_r16: tdoa.then(|| timing::capabilities().into()),
        ..Default::default()
    }
}

fn location(
    request: &RequestLocationInformationR9IEs,
    environment: &RadioEnvironment,
    assistance: &AssistanceData,
    now: Instant,
) -> ProvideLocationInformationR9IEs {
    let mut provided = ProvideLocationInformationR9IEs::default();
    if request.a_gnss_request_location_information.is_some()
        && let Some((estimate, gnss)) = gnss::locate(environment, now)
    {
        provided.common_ies_provide_location_information = Some(
            CommonIEsProvideLocationInformation {
                location_estimate: Some(estimate),
                ..Default::default()
            }
            .into(),
        );
        provided.a_gnss_provide_location_information = Some(gnss.into());
    }
    if request.nr_dl_tdoa_request_location_information_r16.is_some() && environment.dl_tdoa {
        let measured = timing::measure(&assistance.signals, environment, now);
        let tdoa = NrDlTdoaProvideLocationInformationR16 {
            nr_dl_tdoa_signal_measurement_information_r16: measured,
            ..Default::default()
        };
        provided.nr_dl_tdoa_provide_location_information_r16 = Some(tdoa.into());
    }
    if request.nr_multi_rtt_request_location_information_r16.is_some() && environment.multi_rtt {
        let measured = timing::round_trips(&assistance.signals, environment, now);
        let rtt = NrMultiRttProvideLocationInformationR16 {
            nr_multi_rtt_signal_measurement_information_r16: measured,
            ..Default::default()
        };
        provided.nr_multi_rtt_provide_location_information_r16 = Some(rtt.into());
    }
    let Some(wanted) = &request.nr_ecid_request_location_information_r16 else { return provided };
    let measured = environment.measure(now);
    let mut cells =
        measured.iter().take(MAX_CELLS + 1).map(|(cell, rsrp)| element(cell, *rsrp, environment));
    let supported = wanted.requested_measurements_r16.bit(SS_RSRP);
    let information = cells.next().filter(|_| supported).map(|primary| {
        let others: Vec<_> = cells.collect();
        NrEcidSignalMeasurementInformationR16 {
            nr_primary_cell_measured_results_r16: primary,
            nr_measured_results_list_r16: (!others.is_empty()).then_some(others),
        }
    });
    provided.nr_ecid_provide_location_information_r16 = Some(NrEcidProvideLocationInformationR16 {
        nr_ecid_signal_measurement_information_r16: information.map(Into::into),
        ..Default::default()
    });
    provided
}

fn element(cell: &Cell, rsrp: u8, environment: &RadioEnvironment) -> NrMeasuredResultsElementR16 {
    let digits = |text: String| text.bytes().map(|digit| digit - b'0').collect();
    let (mcc, mnc) = (environment.plmn.mcc().to_string(), environment.plmn.mnc().to_string());
    NrMeasuredResultsElementR16 {
        nr_phys_cell_id_r16: cell.pci,
        nr_arfcn_r16: NrMeasuredResultsElementR16NrArfcnR16::SsbArfcnR16(cell.arfcn),
        nr_cell_global_id_r16: Some(NcgiR15 {
            mcc_r15: digits(mcc),
            mnc_r15: digits(mnc),
            nr_cellidentity_r15: BitString::from_number(cell.identity, 36),
        }),
        results_ssb_cell_r16: Some(MeasQuantityResultsR16 {
            nr_rsrp_r16: Some(rsrp),
            nr_rsrq_r16: None,
        }),
        ..Default::default()
    }
}
