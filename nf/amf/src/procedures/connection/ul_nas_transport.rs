//! UE-initiated NAS transport (TS 24.501, 5.4.5.2): the AMF forwards the payload by its type.
//!
//! ```text
//! UE -> AMF   UL NAS TRANSPORT
//! AMF -> SMF  Nsmf_PDUSession_CreateSMContext or _UpdateSMContext (5GSM message)
//! AMF -> LMF  N1MessageNotify (LPP, LCS or UPP-CMI)
//! AMF -> UE   DL NAS TRANSPORT or 5GMM STATUS with a cause, if the payload cannot be forwarded
//! ```
use super::dl_nas_transport::{Refusal, return_payload, return_to_ue};
use crate::metrics;
use crate::procedures::positioning::positioning_transport;
use crate::procedures::registration::mobility_restrictions;
use crate::procedures::session::{pdu_session_establishment, pdu_session_update};
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_nas::inbound::Inbound;
use martlet_nas::{
    GmmCause, Nas5gmmMessage, Nas5gsMessage, NasUlNasTransport, PayloadContainerKind,
    RequestTypeValue,
};

/// Forwards the payload (5.4.5.2.3).
pub(crate) async fn run(ue: &mut Ue, inbound: Inbound) {
    let Nas5gsMessage::Gmm(_, Nas5gmmMessage::UlNasTransport(transport)) = inbound.message else {
        return;
    };
    let outcome = match transport.payload_container_type.kind() {
        Some(PayloadContainerKind::N1SmInformation) => session(ue, *transport).await,
        kind => match kind.and_then(positioning_transport::class_of) {
            Some(class) => positioning_transport::uplink(ue, class, *transport).await,
            None => not_forwarded(ue, *transport).await,
        },
    };
    if let Err(stop) = outcome {
        if let Some(suppressed) = martlet_log_limit::line("ul_nas_transport", ue.label()) {
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                why = stop.label(),
                suppressed,
                "NAS transport failed"
            );
        }
        ue.handle_stop(stop).await;
    }
}

/// Reports that the AMF does not support a payload. User data of CIoT is returned with the cause
/// (5.4.5.2.5). A payload of another type, such as SMS, is not: the UE would take it as one from
/// the network (5.4.5.3.3).
async fn not_forwarded(ue: &mut Ue, transport: NasUlNasTransport) -> Result<(), Stop> {
    metrics::nas_error("payload_container");
    let kind = transport.payload_container_type.kind();
    if let Some(suppressed) = martlet_log_limit::line("payload_container", ue.label()) {
        tracing::info!(
            supi = ue.label(),
            gnb = ue.gnb(),
            ?kind,
            suppressed,
            "unsupported payload not forwarded"
        );
    }
    if kind != Some(PayloadContainerKind::CIoT) {
        return ue.send_5gmm_status(GmmCause::PayloadWasNotForwarded).await;
    }
    let container = Bytes::copy_from_slice(&transport.payload_container.value);
    let psi = transport.pdu_session_id.map(|id| id.pdu_session_id());
    let cause = GmmCause::PayloadWasNotForwarded;
    return_payload(ue, transport.payload_container_type, psi, &container, Refusal::from(cause))
        .await
}

/// Whether a 5GSM message is PDU SESSION ESTABLISHMENT REQUEST (9.7).
fn is_establishment(message: &[u8]) -> bool {
    message.get(3) == Some(&0xc1)
}

/// Forwards a 5GSM message to its SMF.
async fn session(ue: &mut Ue, transport: NasUlNasTransport) -> Result<(), Stop> {
    let Some(psi) = transport
        .pdu_session_id
        .as_ref()
        .map(|id| id.pdu_session_id())
        .filter(|id| (1..=15).contains(id))
    else {
        // Without a PDU session identity it cannot be forwarded (5.4.5.2.5).
        metrics::nas_error("conditional_ie");
        return ue.send_5gmm_status(GmmCause::ConditionalIeError).await;
    };
    let message = Bytes::copy_from_slice(&transport.payload_container.value);
    let kind = transport.request_type.as_ref().and_then(|kind| kind.request_type());
    let is_known = ue.sessions.contains_key(&psi);
    let is_new = match kind {
        Some(RequestTypeValue::InitialRequest) => true,
        // The UE brings a session from another access or from LTE. A known one is of this access,
        // the only one: it is established again, as for an initial request (5.4.5.2.5 a 2).
        Some(RequestTypeValue::ExistingPduSession) => is_known && is_establishment(&message),
        _ => false,
    };
    if is_known && !is_new {
        return pdu_session_update::run(ue, psi, message).await;
    }
    if !is_new {
        if let Some(suppressed) = martlet_log_limit::line("unknown_session", ue.label()) {
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                psi,
                suppressed,
                "5GSM message for an unknown session"
            );
        }
        return return_to_ue(ue, psi, &message, GmmCause::PayloadWasNotForwarded).await;
    }
    if mobility_restrictions::is_restricted(ue) {
        // Not accepted in a non-allowed area (5.4.5.2.4).
        return return_to_ue(ue, psi, &message, GmmCause::RestrictedServiceArea).await;
    }
    pdu_session_establishment::run(ue, psi, &transport, message).await
}
