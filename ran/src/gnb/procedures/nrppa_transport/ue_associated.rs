//! UE-associated NRPPa transport (TS 38.413, 8.10): passes each NRPPa message to its
//! procedure.
use super::lmf_address::LmfAddress;
use super::messages::{decode, error};
use super::{ecid_measurement, positioning_information};
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::extract_ngap_ies;
use martlet_ngap::ngap::{NGAP_PDU, NRPPaPDU, RoutingID};
use martlet_nrppa::{CauseProtocol, Message, Pdu};

/// DOWNLINK UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, DownlinkUEAssociatedNRPPaTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    if ue.gnb.config().deviations.no_nrppa {
        return Ok(());
    }
    let lmf =
        LmfAddress { gnb: ue.gnb.clone(), ids: (amf_id, ran_id), routing: routing.0.to_vec() };
    let Some(answer) = answer(ue, &lmf, &message.0) else { return Ok(()) };
    if let Some(message) = lmf.uplink_message(&answer) {
        ue.transmit(message).await?;
    }
    Ok(())
}

fn answer(ue: &mut UeContext, lmf: &LmfAddress, message: &[u8]) -> Option<Pdu> {
    let Pdu { transaction, message } = match decode(message) {
        Ok(pdu) => pdu,
        Err(error) => return Some(error),
    };
    let message = match message {
        Message::ECidMeasurementInitiationRequest(request) => {
            ecid_measurement::initiation(ue, lmf, &request)
        }
        Message::ECidMeasurementTerminationCommand(command) => {
            ecid_measurement::termination(ue, &command);
            return None;
        }
        Message::PositioningInformationRequest(_) => positioning_information::information(ue),
        Message::PositioningActivationRequest(request) => {
            positioning_information::activation(ue, &request)
        }
        Message::PositioningDeactivation(_) => {
            ue.measurements.signal = None;
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
