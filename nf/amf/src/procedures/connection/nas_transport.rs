//! NAS transport (TS 24.501, 5.4.5): 5GSM messages between the UE and its SMFs.
use crate::metrics;
use crate::procedures::positioning::positioning_transport;
use crate::procedures::registration::mobility_restrictions;
use crate::procedures::session::{pdu_session_establishment, pdu_session_update};
use crate::ue::{Protection, Stop, Ue};
use bytes::Bytes;
use martlet_nas::inbound::Inbound;
use martlet_nas::{
    GmmCause, Nas5gmmMessage, Nas5gsMessage, NasDlNasTransport, NasFGmmCause, NasPayloadContainer,
    NasPayloadContainerType, NasPduSessionIdentity2, NasUlNasTransport, PayloadContainerKind,
    RequestTypeValue, timers,
};

/// UL NAS TRANSPORT: to the SMF of the session, or to a new one (5.4.5.2.3).
pub(crate) async fn uplink(ue: &mut Ue, inbound: Inbound) {
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
        tracing::info!(
            supi = ue.label(),
            gnb = ue.gnb(),
            why = stop.label(),
            "NAS transport has ended early"
        );
        ue.conclude(stop).await;
    }
}

/// No SMS, … yet: the UE gets its message back (5.4.5.2.5).
async fn not_forwarded(ue: &mut Ue, transport: NasUlNasTransport) -> Result<(), Stop> {
    metrics::nas_error("payload_container");
    let kind = transport.payload_container_type.kind();
    tracing::info!(
        supi = ue.label(),
        gnb = ue.gnb(),
        ?kind,
        "a payload that the AMF does not forward"
    );
    let container = Bytes::copy_from_slice(&transport.payload_container.value);
    let psi = transport.pdu_session_id.map(|id| id.pdu_session_id());
    let cause = GmmCause::PayloadWasNotForwarded;
    give_back(ue, transport.payload_container_type, psi, &container, Refusal::from(cause)).await
}

/// Why a 5GSM message is given back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refusal {
    pub cause: GmmCause,
    /// Seconds until the UE may try again.
    pub back_off: Option<u32>,
}

impl From<GmmCause> for Refusal {
    fn from(cause: GmmCause) -> Self {
        Refusal { cause, back_off: None }
    }
}

/// A 5GSM message.
async fn session(ue: &mut Ue, transport: NasUlNasTransport) -> Result<(), Stop> {
    let Some(psi) = transport
        .pdu_session_id
        .as_ref()
        .map(|id| id.pdu_session_id())
        .filter(|id| (1..=15).contains(id))
    else {
        // Without a session, there is nobody for it (5.4.5.2.5).
        metrics::nas_error("conditional_ie");
        return ue.send_status(GmmCause::ConditionalIeError).await;
    };
    let message = Bytes::copy_from_slice(&transport.payload_container.value);
    let kind = transport.request_type.as_ref().and_then(|kind| kind.request_type());
    let initial = matches!(kind, Some(RequestTypeValue::InitialRequest));
    if ue.sessions.contains_key(&psi) && !initial {
        return pdu_session_update::run(ue, psi, message).await;
    }
    if !initial {
        tracing::info!(
            supi = ue.label(),
            gnb = ue.gnb(),
            psi,
            "a 5GSM message about a session that there is not"
        );
        return return_to_ue(ue, psi, &message, GmmCause::PayloadWasNotForwarded).await;
    }
    if mobility_restrictions::is_restricted(ue) {
        // Not accepted (5.4.5.2.4).
        return return_to_ue(ue, psi, &message, GmmCause::RestrictedServiceArea).await;
    }
    pdu_session_establishment::run(ue, psi, &transport, message).await
}

/// Gives a 5GSM message back with a cause (5.4.5.3.1, cases e to i).
pub(crate) async fn return_to_ue(
    ue: &mut Ue,
    psi: u8,
    message: &Bytes,
    refusal: impl Into<Refusal>,
) -> Result<(), Stop> {
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    give_back(ue, kind, Some(psi), message, refusal.into()).await
}

pub(crate) async fn give_back(
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

/// Brings a 5GSM message to the UE.
pub(crate) async fn downlink(ue: &mut Ue, psi: u8, n1: &Bytes) -> Result<(), Stop> {
    ue.send_nas(&message(psi, n1)).await
}

/// The same message, protected, for a gNB to bring along with N2 information.
pub(crate) fn protected_downlink(ue: &mut Ue, psi: u8, n1: &Bytes) -> Result<Vec<u8>, Stop> {
    ue.protect(&message(psi, n1), Protection::AsSecured)
}
