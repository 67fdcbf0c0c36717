//! Non-UE-associated NRPPa transport (TS 38.413, 8.10): passes each NRPPa message to
//! its procedure.
use super::messages::{decode, encode, error};
use super::{measurement, trp_information};
use crate::gnb::node::Gnb;
use martlet_ngap::ngap::{NGAP_PDU, NRPPaPDU, RoutingID};
use martlet_ngap::{Error, build_ngap, extract_ngap_ies};
use martlet_nrppa::{CauseProtocol, Message, Pdu};

/// DOWNLINK NON UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) async fn run(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, DownlinkNonUEAssociatedNRPPaTransport,
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    if !gnb.config().deviations.no_nrppa
        && let Some(answer) = answer(gnb, &message.0)
    {
        send(gnb, &routing.0, &answer).await;
    }
    Ok(())
}

fn answer(gnb: &Gnb, message: &[u8]) -> Option<Pdu> {
    let Pdu { transaction, message } = match decode(message) {
        Ok(pdu) => pdu,
        Err(error) => return Some(error),
    };
    let message = match message {
        Message::TrpInformationRequest(request) => trp_information::information(gnb, &request),
        Message::MeasurementRequest(request) => measurement::measurement(gnb, &request),
        // Measurements complete at once, so there is none to abort or update.
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

/// UPLINK NON UE ASSOCIATED NRPPA TRANSPORT to the LMF of a Routing ID.
async fn send(gnb: &Gnb, routing: &[u8], pdu: &Pdu) {
    let Some(payload) = encode(pdu) else { return };
    let message = build_ngap!(
        InitiatingMessage,
        UplinkNonUEAssociatedNRPPaTransport,
        UplinkNonUEAssociatedNRPPaTransport,
        RoutingID(routing.to_vec()),
        NRPPa_PDU(payload),
    );
    match message.and_then(|message| message.encode()) {
        Ok(message) => {
            if let Err(error) = gnb.send_raw_ngap(0, message).await {
                tracing::debug!(gnb = gnb.name(), %error, "NRPPa message not sent");
            }
        }
        Err(error) => {
            tracing::error!(
                gnb = gnb.name(),
                %error,
                "UPLINK NON UE ASSOCIATED NRPPA TRANSPORT not encoded"
            )
        }
    }
}
