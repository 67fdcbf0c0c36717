//! Network-initiated NAS transport (TS 24.501, 5.4.5.3): a payload for the UE.
//!
//! ```text
//! AMF -> UE  DL NAS TRANSPORT (5GSM message, or a payload returned with a 5GMM cause)
//! ```
use crate::ue::{Protection, Stop, Ue};
use bytes::Bytes;
use martlet_nas::{
    GmmCause, Nas5gsMessage, NasDlNasTransport, NasFGmmCause, NasPayloadContainer,
    NasPayloadContainerType, NasPduSessionIdentity2, PayloadContainerKind, timers,
};

/// Why a payload is returned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refusal {
    pub cause: GmmCause,
    /// Back-off time, seconds.
    pub back_off: Option<u32>,
}

impl From<GmmCause> for Refusal {
    fn from(cause: GmmCause) -> Self {
        Refusal { cause, back_off: None }
    }
}

/// Returns a 5GSM message with a cause (5.4.5.3.1, cases e to i).
pub(crate) async fn return_to_ue(
    ue: &mut Ue,
    psi: u8,
    message: &Bytes,
    refusal: impl Into<Refusal>,
) -> Result<(), Stop> {
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    return_payload(ue, kind, Some(psi), message, refusal.into()).await
}

pub(crate) async fn return_payload(
    ue: &mut Ue,
    kind: NasPayloadContainerType,
    psi: Option<u8>,
    message: &Bytes,
    refusal: Refusal,
) -> Result<(), Stop> {
    let mut transport = NasDlNasTransport::new(kind, NasPayloadContainer::new(message.to_vec()))
        .with_fgmm_cause(NasFGmmCause::from_cause(refusal.cause));
    if let Some(psi) = psi {
        transport.set_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi));
    }
    if let Some(seconds) = refusal.back_off {
        transport.set_back_off_timer_value(timers::timer3(seconds.into()));
    }
    ue.send_nas(&Nas5gsMessage::new_5gmm(transport)).await
}

/// DL NAS TRANSPORT with a 5GSM message.
fn message(psi: u8, n1: &Bytes) -> Nas5gsMessage {
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    let transport = NasDlNasTransport::new(kind, NasPayloadContainer::new(n1.to_vec()))
        .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi));
    Nas5gsMessage::new_5gmm(transport)
}

/// Sends a 5GSM message to the UE.
pub(crate) async fn downlink(ue: &mut Ue, psi: u8, n1: &Bytes) -> Result<(), Stop> {
    ue.send_nas(&message(psi, n1)).await
}

/// The protected message, for an NGAP message that carries it.
pub(crate) fn protected_downlink(ue: &mut Ue, psi: u8, n1: &Bytes) -> Result<Vec<u8>, Stop> {
    ue.protect(&message(psi, n1), Protection::AsSecured)
}
