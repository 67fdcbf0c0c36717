//! Initial UE message (TS 38.413, 8.6.1): the first NAS message on a new UE-associated logical NG
//! connection.
//!
//! ```text
//! gNB -> AMF  INITIAL UE MESSAGE (NAS-PDU, 5G-S-TMSI)
//! ```
//!
//! [`from_gnb`] selects the task of the UE by the 5G-GUTI, or starts a new one. [`verify`] works in
//! that task, also while a procedure runs: only a message that passes the integrity check is taken
//! as the UE's own, ends a paging and preempts the procedure. Any other message moves to a new
//! context and changes nothing here: anyone who hears a PAGING can send it (TS 24.501, 4.4.4.3).
use super::ue_context_release;
use crate::n2::signalling::Direction;
use crate::n2::{Connection, Gnb, Handled, Unverified, uplink};
use crate::procedures::registration::{amf_load_rebalancing, amf_set_takeover};
use crate::ue::{
    ContextTransfer, Event, InitialMessage, Reallocation, Security, Ue, UeHandle, signalling,
};
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_event_queue::TrySendError;
use martlet_interop::{N1Quirk, Quirk};
use martlet_nas::inbound::{self, Inbound};
use martlet_nas::{Guti, Nas5gmmMessage, Nas5gsMessage};
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::{Fault, UeIds};
use martlet_ngap::ngap::*;
use std::sync::Arc;

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
    gnb.check_location(location.tai);
    let tmsi = match identity(amf, &initial.nas) {
        Identity::OfThisSet(tmsi) => Some(tmsi),
        Identity::Other => None,
        Identity::Absent => {
            let of_set = initial.s_tmsi.filter(|(set, ..)| amf.served.is_s_tmsi_of_set(*set));
            of_set.map(|(_, _, tmsi)| tmsi)
        }
    };
    // Half of the queue is reserved for messages that are verified as the UE's own.
    let has_room = |ue: &UeHandle| ue.sender.capacity() > ue.sender.max_capacity() / 2;
    let over_share = gnb.unverified() >= amf.config.limits.max_unverified_per_gnb;
    let known = tmsi.and_then(|tmsi| amf.tables.by_tmsi(tmsi)).filter(has_room);
    let new_ue = || (!is_flood(amf, gnb)).then(|| amf.new_ue()).flatten();
    let Some(handle) = known.or_else(new_ue) else {
        return Ok(reject_without_context(gnb, initial.ran_id));
    };
    let ids = amf.tables.connect(gnb.number, initial.ran_id, &handle);
    let mut connection = Connection::new(amf.clone(), gnb.clone(), ids, initial.ran_id, location);
    connection.unverified = Some(Unverified::new(gnb));
    deliver(
        amf,
        &handle,
        InitialMessage {
            connection,
            nas: initial.nas,
            ngap: data.clone(),
            rerouted: initial.rerouted,
            over_share,
            verified: None,
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

/// Rejects a UE for which there is no context, not even one that could send a NAS reject.
fn reject_without_context(gnb: &Gnb, ran_id: u32) -> Vec<NGAP_PDU> {
    metrics::dropped("ue");
    if let Some(suppressed) = martlet_log_limit::line("ue_limit", gnb.address.ip()) {
        tracing::warn!(
            gnb = gnb.label(),
            ran_id,
            suppressed,
            "UE rejected: too many contexts; see amf.limits.max_ues and max_unverified_per_gnb"
        );
    }
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
    match &message {
        Nas5gsMessage::Gmm(_, message) => identity_in(amf, message),
        _ => Identity::Absent,
    }
}

/// The identity in a request.
fn identity_in(amf: &Amf, message: &Nas5gmmMessage) -> Identity {
    let identity = match message {
        Nas5gmmMessage::RegistrationRequest(request) => amf_set_takeover::native_identity(request),
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

/// Checks a message with an identity of this UE. Returns it if it is the UE's own, or the first one
/// of a new context; any other message moves to a new context.
pub(crate) fn verify(ue: &mut Ue, mut message: Box<InitialMessage>) -> Option<Box<InitialMessage>> {
    if message.verified.is_some() || is_unknown(ue) {
        return Some(message);
    }
    let nas = message.nas.clone();
    let open = |security: &mut Security| {
        inbound::from_ue(Some(&mut security.nas), false, &nas).ok().filter(Inbound::is_verified)
    };
    message.verified = ue.security.as_mut().and_then(open);
    match &message.verified {
        Some(inbound) => ue.leave_previous_security(inbound),
        // During security mode control, the UE may still use the previous context.
        None => message.verified = ue.previous_security.as_deref_mut().and_then(open),
    }
    if message.verified.is_some() {
        return Some(message);
    }
    move_to_new_context(ue, *message);
    None
}

/// Whether the context is new and waits for its first message.
fn is_unknown(ue: &Ue) -> bool {
    ue.is_new() && ue.connection.is_none()
}

/// Takes the connection for this UE. Returns the NAS message to act on; `None` if the message moved
/// to another context, or if the connection was released.
pub(crate) async fn run(ue: &mut Ue, message: Box<InitialMessage>) -> Option<Inbound> {
    let unknown = is_unknown(ue);
    let mut message = *verify(ue, message)?;
    if unknown
        && let Identity::OfThisSet(tmsi) = identity(&ue.amf, &message.nas)
        && let Some(task) = amf_load_rebalancing::taking(ue, tmsi)
    {
        ue.amf.tables.redirect(message.connection.amf_id, &task);
        let _ = task.sender.try_send(Event::Initial(message.into()));
        return None;
    }
    let opened = match message.verified.take() {
        Some(inbound) => Ok(inbound),
        None => {
            let context = ue.security.as_mut().map(|security| &mut security.nas);
            inbound::from_ue(context, false, &message.nas)
        }
    };
    let verified = opened.as_ref().is_ok_and(Inbound::is_verified);
    if ue.connection.is_some() {
        // The UE opened a second connection; the first is released (TS 23.502, 4.2.2.2.2, step 3).
        ue.deactivate_all(None).await;
        let cause = CauseRadioNetwork::release_due_to_cn_detected_mobility;
        ue_context_release::run(ue, Cause::radioNetwork(cause));
    }
    ue.enter_cm_connected(message.connection);
    ue.admission.over_share = message.over_share && !verified;
    if verified {
        ue.secure_exchange();
        ue.set_verified();
        let is_offered = ue.amf.rebalancing.is_offered(ue.handle.number);
        if ue.context_transfer == ContextTransfer::AwaitingStatusUpdate && !is_offered {
            // The AMF that got the context has not reported that it has the UE, and the UE is back.
            ue.context_transfer = ContextTransfer::None;
        }
        // The UE stays here, unless another AMF takes it at this moment.
        if ue.context_transfer == ContextTransfer::None {
            ue.amf.rebalancing.withdraw(ue.handle.number);
        }
    }
    ue.idle = None;
    (ue.initial.nas, ue.initial.ngap) = (Some(message.nas.clone()), Some(message.ngap));
    ue.reallocation = match message.rerouted {
        true => Reallocation::ReroutedByRan,
        false => Reallocation::None,
    };
    ue.publish();
    let mut opened = opened;
    let mut taken = None;
    if unknown {
        taken = Box::pin(amf_load_rebalancing::by_ue(ue, &message.nas)).await;
        if taken.is_none() {
            taken = Box::pin(amf_set_takeover::by_ue(ue, &message.nas)).await;
        }
    }
    if let Some(inbound) = taken {
        ue.secure_exchange();
        ue.set_verified();
        ue.publish();
        opened = Ok(inbound);
    }
    match opened {
        Ok(inbound) => {
            signalling::record(ue, Direction::Uplink, &inbound.message);
            Some(inbound)
        }
        Err(refused) => {
            let reason = refused.reason.label();
            metrics::nas_error(reason);
            if let Some(suppressed) = martlet_log_limit::line(reason, ue.gnb_address()) {
                tracing::warn!(
                    supi = ue.label(), gnb = ue.gnb(), %refused, reason, suppressed,
                    "initial NAS message discarded"
                );
            }
            if let Some(answer) = refused.answer {
                let _ = ue.send_nas(&answer).await;
            }
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
            None
        }
    }
}

/// Releases the previous 5G-GUTI of a UE whose verified request has the new one: the UE has
/// received that, also if its confirmation is lost (TS 24.501, 5.4.4.6 and 5.5.1.3.8 a). A UE that
/// has confirmed the new one and uses the previous one does not have the new one.
pub(crate) fn confirm_guti(ue: &mut Ue, request: &Nas5gmmMessage) {
    let Identity::OfThisSet(tmsi) = identity_in(&ue.amf, request) else { return };
    let is_it = |guti: Option<Guti>| guti.is_some_and(|guti| guti.tmsi() == tmsi);
    if is_it(ue.identity.guti) {
        ue.release_old_guti();
    } else if ue.identity.old_guti_is_retained && is_it(ue.identity.old_guti) {
        ue.identity.old_guti_is_retained = false;
        N1Quirk::OldGutiAfterConfirmation.met("amf", ue.gnb());
    }
}

/// Gives the connection to the task of a new UE.
pub(crate) fn move_to_new_context(ue: &Ue, message: InitialMessage) {
    const REASON: &str = "unverified_initial_message";
    metrics::nas_error(REASON);
    let gnb = &message.connection.gnb;
    if let Some(suppressed) = martlet_log_limit::line(REASON, gnb.address.ip()) {
        tracing::info!(
            supi = ue.label(),
            gnb = gnb.label(),
            suppressed,
            "initial NAS message with this 5G-GUTI is not verified; it gets a new context"
        );
    }
    let connection = &message.connection;
    let is_flood = is_flood(&ue.amf, &connection.gnb);
    let Some(handle) = (!is_flood).then(|| ue.amf.new_ue()).flatten() else {
        let (gnb, ran_id) = (connection.gnb.clone(), connection.ran_id);
        martlet_nf::spawn(async move {
            for message in reject_without_context(&gnb, ran_id) {
                gnb.send(gnb.stream_of(&message), &message).await;
            }
        });
        return;
    };
    ue.amf.tables.redirect(connection.amf_id, &handle);
    let _ = handle.sender.try_send(Event::Initial(message.into()));
}

/// Whether a gNB has so many unverified UEs that further ones get no context, not even to be
/// rejected with #22: twice its share.
fn is_flood(amf: &Amf, gnb: &Gnb) -> bool {
    gnb.unverified() >= amf.config.limits.max_unverified_per_gnb.saturating_mul(2)
}
