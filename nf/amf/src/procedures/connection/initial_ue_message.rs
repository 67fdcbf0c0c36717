//! Initial UE message (TS 38.413, 8.6.1): the first NAS message on a new UE-associated logical NG
//! connection.
//!
//! ```text
//! gNB -> AMF  INITIAL UE MESSAGE (NAS-PDU, 5G-S-TMSI)
//! ```
//!
//! [`from_gnb`] selects the task of the UE by the 5G-GUTI, or starts a new one. [`run`] works in
//! that task: only a message that passes the integrity check is taken as the UE's own. Any other
//! message moves to a new context and changes nothing here.
use super::ue_context_release;
use crate::n2::{Connection, Gnb, Handled, uplink};
use crate::procedures::registration::amf_set_takeover;
use crate::ue::{Event, InitialMessage, Reallocation, Ue, UeHandle};
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::{Fault, UeIds};
use martlet_ngap::ngap::*;
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;

/// The identity in an initial NAS message.
enum Identity {
    /// A 5G-TMSI that an AMF of this set has allocated.
    OfThisSet(u32),
    /// Any other identity.
    Other,
    /// The message has none, or does not decode.
    Absent,
}

/// Selects the UE's task and gives it the message.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
    let initial = uplink::initial_ue(pdu, data).map_err(|error| Fault::of(pdu, &error))?;
    let Some(location) = initial.location else {
        let cause = Cause::protocol(CauseProtocol::semantic_error);
        return Err(Fault::logical(pdu, cause, "the user location is not in NR").into());
    };
    let tmsi = match identity(amf, &initial.nas) {
        Identity::OfThisSet(tmsi) => Some(tmsi),
        Identity::Other => None,
        Identity::Absent => {
            let of_set = initial.s_tmsi.filter(|(set, ..)| amf.served.is_s_tmsi_of_set(*set));
            of_set.map(|(_, _, tmsi)| tmsi)
        }
    };
    let known = tmsi.and_then(|tmsi| amf.tables.by_tmsi(tmsi));
    let Some(handle) = known.or_else(|| amf.new_ue()) else {
        return Ok(reject_without_context(gnb, initial.ran_id));
    };
    let ids = amf.tables.connect(gnb.number, initial.ran_id, &handle);
    let connection = Connection::new(amf.clone(), gnb.clone(), ids, initial.ran_id, location);
    deliver(
        amf,
        &handle,
        InitialMessage {
            connection,
            nas: initial.nas,
            ngap: data.clone(),
            rerouted: initial.rerouted,
        },
    );
    Ok(Vec::new())
}

fn deliver(amf: &Arc<Amf>, handle: &UeHandle, message: InitialMessage) {
    match handle.sender.try_send(Event::Initial(Box::new(message))) {
        Ok(()) => {}
        // The task has just ended, so the UE is unknown now.
        Err(TrySendError::Closed(Event::Initial(message))) => {
            let Some(handle) = amf.new_ue() else {
                return metrics::dropped("initial_ue_message");
            };
            amf.tables.redirect(message.connection.amf_id, &handle);
            let _ = handle.sender.try_send(Event::Initial(message));
        }
        Err(_) => metrics::dropped("initial_ue_message"),
    }
}

/// Rejects a UE for which there is no room, not even to send a NAS reject.
fn reject_without_context(gnb: &Gnb, ran_id: u32) -> Vec<NGAP_PDU> {
    metrics::dropped("ue");
    tracing::warn!(
        gnb = gnb.label(),
        ran_id,
        "UE rejected: too many UE contexts; raise amf.limits.max_ues"
    );
    let ids = UeIds { amf: None, ran: Some(ran_id) };
    error_indication(ids, Some(Cause::misc(CauseMisc::control_processing_overload)), None)
        .into_iter()
        .collect()
}

fn identity(amf: &Amf, nas: &[u8]) -> Identity {
    let message = match Nas5gsMessage::decode(nas) {
        Ok(Nas5gsMessage::SecurityProtected(_, inner)) => *inner,
        Ok(message) => message,
        Err(_) => return Identity::Absent,
    };
    let Nas5gsMessage::Gmm(_, message) = message else { return Identity::Absent };
    let identity = match &message {
        Nas5gmmMessage::RegistrationRequest(request) => &request.fgs_mobile_identity,
        Nas5gmmMessage::DeregistrationRequestUeOriginating(request) => &request.fgs_mobile_identity,
        Nas5gmmMessage::ServiceRequest(request) => &request.fg_s_tmsi,
        _ => return Identity::Absent,
    };
    if let Some(guti) = identity.as_guti() {
        // This AMF may have taken the UE over from another AMF of the set.
        return match amf.served.is_of_set(&guti) {
            true => Identity::OfThisSet(guti.tmsi()),
            false => Identity::Other,
        };
    }
    match identity.as_s_tmsi() {
        Some(id) if amf.served.is_s_tmsi_of_set(id.amf_set_id()) => Identity::OfThisSet(id.tmsi()),
        _ => Identity::Other,
    }
}

/// Takes the connection for this UE. Returns the NAS message to act on; `None` if the message moved
/// to another context, or if the connection was released.
pub(crate) async fn run(ue: &mut Ue, message: InitialMessage) -> Option<Inbound> {
    let context = ue.security.as_mut().map(|security| &mut security.nas);
    let opened = inbound::from_ue(context, false, &message.nas);
    let verified = opened.as_ref().is_ok_and(Inbound::is_verified);
    let unknown = ue.is_new() && ue.connection.is_none();
    if !verified && !unknown {
        move_to_new_context(ue, message);
        return None;
    }
    if ue.connection.is_some() {
        // The UE opened a second connection; the first is released (TS 23.502, 4.2.2.2.2, step 3).
        ue.deactivate_all(None).await;
        let cause = CauseRadioNetwork::release_due_to_cn_detected_mobility;
        ue_context_release::run(ue, Cause::radioNetwork(cause));
    }
    ue.connection = Some(message.connection);
    ue.secured = verified;
    ue.idle = None;
    (ue.initial_nas, ue.initial_ngap) = (Some(message.nas.clone()), Some(message.ngap));
    ue.reallocation = match message.rerouted {
        true => Reallocation::ReroutedByRan,
        false => Reallocation::None,
    };
    ue.publish();
    let mut opened = opened;
    if unknown && let Some(inbound) = Box::pin(amf_set_takeover::by_ue(ue, &message.nas)).await {
        ue.secured = true;
        ue.publish();
        opened = Ok(inbound);
    }
    match opened {
        Ok(inbound) => Some(inbound),
        Err(refused) => {
            metrics::nas_error(refused.reason.label());
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), %refused, "initial NAS message discarded"
            );
            if let Some(answer) = refused.answer {
                let _ = ue.send_nas(&answer).await;
            }
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
            None
        }
    }
}

/// Gives the connection to the task of a new UE.
pub(crate) fn move_to_new_context(ue: &Ue, message: InitialMessage) {
    tracing::info!(
        supi = ue.label(),
        gnb = message.connection.gnb.label(),
        "initial NAS message with this 5G-GUTI is not verified; it gets a new context"
    );
    let Some(handle) = ue.amf.new_ue() else { return metrics::dropped("initial_ue_message") };
    ue.amf.tables.redirect(message.connection.amf_id, &handle);
    let _ = handle.sender.try_send(Event::Initial(message.into()));
}
