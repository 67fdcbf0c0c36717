//! UE-associated NRPPa transport (TS 38.413, 8.10): passes each NRPPa message to its
//! procedure.
use super::messages::{decode, encode, error};
use super::{ecid_measurement, positioning_information};
use crate::gnb::node::Gnb;
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::{NGAP_PDU, NRPPaPDU, RoutingID};
use martlet_ngap::{build_ngap, extract_ngap_ies};
use martlet_nrppa::{CauseProtocol, Message, Pdu};

/// DOWNLINK UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, DownlinkUEAssociatedNRPPaTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    let lmf =
        LmfAddress { gnb: ue.gnb.clone(), ids: (amf_id, ran_id), routing: routing.0.to_vec() };
    let Some(answer) = answer(ue, &lmf, &message.0) else { return Ok(()) };
    if let Some(message) = lmf.uplink_message(&answer) {
        ue.transmit(message).await?;
    }
    Ok(())
}

/// How NRPPa messages about a UE reach the LMF.
#[derive(Clone)]
pub(super) struct LmfAddress {
    pub(super) gnb: Gnb,
    /// AMF UE NGAP ID and RAN UE NGAP ID.
    pub(super) ids: (u64, u32),
    /// Routing ID of the LMF (TS 38.413, 9.3.3.13).
    pub(super) routing: Vec<u8>,
}

impl LmfAddress {
    /// UPLINK UE ASSOCIATED NRPPA TRANSPORT.
    pub(super) fn uplink_message(&self, pdu: &Pdu) -> Option<Vec<u8>> {
        let message = build_ngap!(
            InitiatingMessage,
            UplinkUEAssociatedNRPPaTransport,
            UplinkUEAssociatedNRPPaTransport,
            AMF_UE_NGAP_ID(self.ids.0),
            RAN_UE_NGAP_ID(self.ids.1),
            RoutingID(self.routing.clone()),
            NRPPa_PDU(encode(pdu)?),
        );
        message.and_then(|message| message.encode()).ok()
    }
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
