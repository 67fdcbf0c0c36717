//! What the NRPPa procedures share: causes, ERROR INDICATION, encoding and identities.
use crate::radio_environment::Cell;
use martlet_nrppa::{
    BitString, Cause, CauseProtocol, CauseRadioNetwork, CgiNr, CriticalityDiagnostics,
    ErrorIndication, Message, Pdu,
};
use martlet_security::Plmn;

/// Cause "requested item not supported".
pub(super) fn not_supported() -> Cause {
    Cause::RadioNetwork(CauseRadioNetwork::RequestedItemNotSupported)
}

/// Cause "requested item temporarily not available".
pub(super) fn not_available() -> Cause {
    Cause::RadioNetwork(CauseRadioNetwork::RequestedItemTemporarilyNotAvailable)
}

/// ERROR INDICATION (TS 38.455, 8.3).
pub(super) fn error(cause: CauseProtocol, transaction: Option<u16>) -> Pdu {
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

/// Decodes a message of the LMF. The error is the ERROR INDICATION to answer with.
pub(super) fn decode(message: &[u8]) -> Result<Pdu, Pdu> {
    Pdu::decode(message).map_err(|fault| {
        tracing::warn!(%fault, "undecodable NRPPa message");
        error(CauseProtocol::TransferSyntaxError, None)
    })
}

pub(super) fn encode(pdu: &Pdu) -> Option<Vec<u8>> {
    pdu.encode().inspect_err(|fault| tracing::error!(%fault, "NRPPa message not encoded")).ok()
}

pub(super) fn plmn_identity(plmn: Plmn) -> Vec<u8> {
    martlet_ngap::helpers::plmn(plmn.mcc(), plmn.mnc()).map_or(vec![0; 3], |it| it.0.to_vec())
}

/// The NR cell global identity of a cell.
pub(super) fn cgi(plmn: Plmn, cell: &Cell) -> CgiNr {
    CgiNr {
        p_lmn_identity: plmn_identity(plmn),
        n_rcell_identifier: BitString::from_number(cell.identity, 36),
    }
}
