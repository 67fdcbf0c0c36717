//! NRPPa at the gNB (TS 38.455): what it measures of UEs for an LMF, and what it tells of its
//! transmission and reception points.
//!
//! | file | procedures |
//! | --- | --- |
//! | `ue` | E-CID measurement (initiation, report, termination); positioning information, activation, deactivation |
//! | `trp` | TRP information exchange; measurement (gNB Rx-Tx time difference) |
//! | `air` | the sounding reference signals that UEs send, as any gNB around hears them |
mod air;
mod trp;
mod ue;

pub(crate) use trp::request as of_gnb;
pub(crate) use ue::{Measured, request as of_ue};

use crate::gnb::Gnb;
use crate::positioning::Cell;
use martlet_ngap::build_ngap;
use martlet_nrppa::{
    BitString, Cause, CauseProtocol, CauseRadioNetwork, CgiNr, CriticalityDiagnostics,
    ErrorIndication, Message, Pdu,
};
use martlet_security::Plmn;

/// A transmission and reception point of a gNB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trp {
    /// TRP ID, 1 to 65,535.
    pub id: u16,
    /// The cell that it is of.
    pub cell: Cell,
}

/// What is not to be had here.
fn not_supported() -> Cause {
    Cause::RadioNetwork(CauseRadioNetwork::RequestedItemNotSupported)
}

/// What is not to be had now.
fn not_available() -> Cause {
    Cause::RadioNetwork(CauseRadioNetwork::RequestedItemTemporarilyNotAvailable)
}

/// ERROR INDICATION (TS 38.455, 8.3).
fn error(cause: CauseProtocol, transaction: Option<u16>) -> Pdu {
    let diagnostics =
        CriticalityDiagnostics { nrppatransaction_id: transaction, ..Default::default() };
    let message = ErrorIndication {
        cause: Some(Cause::Protocol(cause)),
        criticality_diagnostics: transaction.map(|_| diagnostics),
    };
    Pdu {
        transaction: transaction.unwrap_or_default(),
        message: Message::ErrorIndication(message.into()),
    }
}

/// Reads a message of the LMF; what it is not is the ERROR INDICATION to answer with.
fn read(octets: &[u8]) -> Result<Pdu, Pdu> {
    Pdu::decode(octets).map_err(|fault| {
        tracing::warn!(%fault, "an NRPPa message that does not decode");
        error(CauseProtocol::TransferSyntaxError, None)
    })
}

fn encoded(pdu: &Pdu) -> Option<Vec<u8>> {
    pdu.encode()
        .inspect_err(|fault| tracing::error!(%fault, "an NRPPa message cannot be encoded"))
        .ok()
}

fn plmn_octets(plmn: Plmn) -> Vec<u8> {
    martlet_ngap::helpers::plmn(plmn.mcc(), plmn.mnc()).map_or(vec![0; 3], |it| it.0.to_vec())
}

/// The NR cell global identity of a cell.
fn cgi(plmn: Plmn, cell: &Cell) -> CgiNr {
    CgiNr {
        p_lmn_identity: plmn_octets(plmn),
        n_rcell_identifier: BitString::from_number(cell.identity, 36),
    }
}

/// UPLINK UE ASSOCIATED NRPPA TRANSPORT.
fn ue_associated(ids: (u64, u32), routing: &[u8], pdu: &Pdu) -> Option<Vec<u8>> {
    let message = build_ngap!(
        InitiatingMessage,
        UplinkUEAssociatedNRPPaTransport,
        UplinkUEAssociatedNRPPaTransport,
        AMF_UE_NGAP_ID(ids.0),
        RAN_UE_NGAP_ID(ids.1),
        RoutingID(routing.to_vec()),
        NRPPa_PDU(encoded(pdu)?),
    );
    message.and_then(|message| message.encode()).ok()
}

/// Sends a message that is about no UE to the LMF of a routing identity.
async fn send(gnb: &Gnb, routing: &[u8], pdu: &Pdu) {
    let Some(octets) = encoded(pdu) else { return };
    let message = build_ngap!(
        InitiatingMessage,
        UplinkNonUEAssociatedNRPPaTransport,
        UplinkNonUEAssociatedNRPPaTransport,
        RoutingID(routing.to_vec()),
        NRPPa_PDU(octets),
    );
    match message.and_then(|message| message.encode()) {
        Ok(message) => {
            if let Err(error) = gnb.send_raw_ngap(0, message).await {
                tracing::debug!(gnb = gnb.name(), %error, "an NRPPa message was not sent");
            }
        }
        Err(error) => {
            tracing::error!(gnb = gnb.name(), %error, "NRPPA TRANSPORT cannot be encoded")
        }
    }
}
