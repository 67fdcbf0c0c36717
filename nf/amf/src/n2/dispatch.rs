//! Brings each NGAP message to its procedure, or to the task of the UE that it is about.
use super::uplink::Uplink;
use super::{Connection, Gnb, handover_uplink, uplink};
use crate::procedures::handover::xn_handover;
use crate::procedures::n2::{error_indication, ng_reset, ng_setup, ran_configuration_update};
use crate::procedures::positioning::nrppa_transport;
use crate::tables::Route;
use crate::ue::{Event, InitialMessage, UeHandle};
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_nf::capture;
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::{self, Fault, Received, UeIds, message_name};
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, cause};
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;

/// Answers that are not about a UE's context, and what a message was wrong about.
type Handled = Result<Vec<NGAP_PDU>, Box<Fault>>;

/// Who sent an initial NAS message, as far as it says.
enum Sender {
    /// The UE with this 5G-TMSI of ours.
    Known(u32),
    /// One that says something else.
    Other,
    /// The message does not say.
    Unsaid,
}

impl Amf {
    /// Acts on a message of a gNB; what is to be answered on the interface's own stream.
    pub(crate) fn receive(self: &Arc<Self>, gnb: &Arc<Gnb>, data: &Bytes) -> Vec<NGAP_PDU> {
        capture::record(capture::Link::N2, Some(gnb.address), None, data);
        let handled = inbound::read(data).and_then(|received| self.dispatch(gnb, &received, data));
        handled.unwrap_or_else(|fault| {
            metrics::ngap_error(reason(&fault.cause));
            tracing::warn!(gnb = gnb.label(), %fault, cause = cause::text(&fault.cause), "a wrong NGAP message");
            fault.answer().into_iter().collect()
        })
    }

    fn dispatch(
        self: &Arc<Self>,
        gnb: &Arc<Gnb>,
        received: &Received<'_>,
        data: &Bytes,
    ) -> Handled {
        let pdu = &received.pdu;
        match pdu.kind() {
            Kind::Initiating_NGSetup => ng_setup::run(self, gnb, received),
            Kind::Initiating_ErrorIndication => Ok(error_indication::received(self, gnb, pdu)),
            _ if gnb.setup().is_none() => {
                Err(Fault::state(pdu, "NG setup has to come first").into())
            }
            Kind::Initiating_RANConfigurationUpdate => {
                ran_configuration_update::run(self, gnb, received)
            }
            Kind::Initiating_NGReset => ng_reset::run(self, gnb, pdu),
            Kind::Initiating_PathSwitchRequest => self.path_switch_request(gnb, pdu, data),
            Kind::Successful_HandoverResourceAllocation
            | Kind::Unsuccessful_HandoverResourceAllocation => self.handover_answer(gnb, pdu, data),
            Kind::Initiating_UplinkNonUEAssociatedNRPPaTransport => {
                nrppa_transport::from_gnb(self, gnb, pdu)
                    .map_err(|error| Fault::of(pdu, &error))?;
                Ok(Vec::new())
            }
            Kind::Initiating_InitialUEMessage => self.initial_ue_message(gnb, pdu, data),
            _ => self.ue_associated(gnb, pdu, data),
        }
    }

    /// INITIAL UE MESSAGE (TS 38.413, 8.6.1): to the UE whose 5G-GUTI it names, else to a new one.
    fn initial_ue_message(
        self: &Arc<Self>,
        gnb: &Arc<Gnb>,
        pdu: &NGAPPDU<'_>,
        data: &Bytes,
    ) -> Handled {
        let initial = uplink::initial_ue(pdu, data).map_err(|error| Fault::of(pdu, &error))?;
        let Some(location) = initial.location else {
            let cause = Cause::protocol(CauseProtocol::semantic_error);
            return Err(Fault::logical(pdu, cause, "the location is not one in NR").into());
        };
        let tmsi = match self.sender(&initial.nas) {
            Sender::Known(tmsi) => Some(tmsi),
            Sender::Other => None,
            Sender::Unsaid => {
                let ours = initial.s_tmsi.filter(|(set, ..)| self.served.is_s_tmsi_of_set(*set));
                ours.map(|(_, _, tmsi)| tmsi)
            }
        };
        let known = tmsi.and_then(|tmsi| self.tables.by_tmsi(tmsi));
        let Some(handle) = known.or_else(|| self.new_ue()) else {
            return Ok(self.overloaded(gnb, initial.ran_id));
        };
        let ids = self.tables.connect(gnb.number, initial.ran_id, &handle);
        let connection = Connection::new(self.clone(), gnb.clone(), ids, initial.ran_id, location);
        self.deliver_initial(
            &handle,
            InitialMessage {
                connection,
                nas: initial.nas,
                whole: data.clone(),
                sent_on: initial.sent_on,
            },
        );
        Ok(Vec::new())
    }

    fn deliver_initial(self: &Arc<Self>, handle: &UeHandle, message: InitialMessage) {
        match handle.sender.try_send(Event::Initial(Box::new(message))) {
            Ok(()) => {}
            // The UE's task has just ended: its context is gone, and this is a UE that is not
            // known.
            Err(TrySendError::Closed(Event::Initial(message))) => {
                let Some(handle) = self.new_ue() else {
                    return metrics::dropped("initial_ue_message");
                };
                self.tables.redirect(message.connection.amf_id, &handle);
                let _ = handle.sender.try_send(Event::Initial(message));
            }
            Err(_) => metrics::dropped("initial_ue_message"),
        }
    }

    /// There is no room even for a rejection: the connection ends as it began.
    fn overloaded(&self, gnb: &Gnb, ran_id: u32) -> Vec<NGAP_PDU> {
        metrics::dropped("ue");
        tracing::warn!(
            gnb = gnb.label(),
            ran_id,
            "far more UEs than amf.limits.max_ues allows; one is turned away"
        );
        let ids = UeIds { amf: None, ran: Some(ran_id) };
        error_indication(ids, Some(Cause::misc(CauseMisc::control_processing_overload)), None)
            .into_iter()
            .collect()
    }

    fn sender(&self, nas: &[u8]) -> Sender {
        let message = match Nas5gsMessage::decode(nas) {
            Ok(Nas5gsMessage::SecurityProtected(_, inner)) => *inner,
            Ok(message) => message,
            Err(_) => return Sender::Unsaid,
        };
        let Nas5gsMessage::Gmm(_, message) = message else { return Sender::Unsaid };
        let identity = match &message {
            Nas5gmmMessage::RegistrationRequest(request) => &request.fgs_mobile_identity,
            Nas5gmmMessage::DeregistrationRequestUeOriginating(request) => {
                &request.fgs_mobile_identity
            }
            Nas5gmmMessage::ServiceRequest(request) => &request.fg_s_tmsi,
            _ => return Sender::Unsaid,
        };
        if let Some(guti) = identity.as_guti() {
            // A UE that another AMF of the set has left may be here already.
            return if self.served.is_of_set(&guti) {
                Sender::Known(guti.tmsi())
            } else {
                Sender::Other
            };
        }
        match identity.as_s_tmsi() {
            Some(id) if self.served.is_s_tmsi_of_set(id.amf_set_id()) => Sender::Known(id.tmsi()),
            _ => Sender::Other,
        }
    }

    /// A message about a UE that has a connection.
    fn ue_associated(&self, gnb: &Gnb, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
        let ids = UeIds::of(pdu);
        let (Some(amf_id), Some(ran_id)) = (ids.amf, ids.ran) else {
            if pdu.criticality() == Criticality::reject && pdu.is_initiating() {
                return Err(Fault::state(pdu, "the AMF does not have this procedure").into());
            }
            tracing::debug!(
                gnb = gnb.label(),
                message = message_name(pdu),
                "a message was passed over"
            );
            return Ok(Vec::new());
        };
        let unknown = match self.tables.route(gnb.number, amf_id, ran_id) {
            Route::To(handle) => return self.deliver(gnb, &handle, amf_id, pdu, data),
            // The connection ended on both sides at once (TS 38.413, 10.6).
            Route::Unknown if pdu.kind() == Kind::Successful_UEContextRelease => {
                return Ok(Vec::new());
            }
            Route::Unknown => CauseRadioNetwork::unknown_local_UE_NGAP_ID,
            Route::Inconsistent => CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
        };
        metrics::ngap_error("ue_ngap_id");
        tracing::warn!(
            gnb = gnb.label(), amf_id, ran_id, message = message_name(pdu), cause = ?unknown,
            "a message about a UE that has no such connection"
        );
        Ok(error_indication(ids, Some(Cause::radioNetwork(unknown)), None).into_iter().collect())
    }

    /// PATH SWITCH REQUEST: to the UE whose connection with another gNB it names.
    fn path_switch_request(&self, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
        let request = handover_uplink::path_switch_request(pdu, data)
            .map_err(|error| Fault::of(pdu, &error))?;
        let unknown = match self.tables.by_amf_id(request.amf_id) {
            None => Event::PathSwitch(gnb.clone(), request.into()),
            Some(ue) => match ue.sender.try_send(Event::PathSwitch(gnb.clone(), request.into())) {
                Ok(()) => return Ok(Vec::new()),
                Err(TrySendError::Full(event) | TrySendError::Closed(event)) => event,
            },
        };
        if let Event::PathSwitch(gnb, request) = unknown {
            let cause = CauseRadioNetwork::unknown_local_UE_NGAP_ID;
            tokio::spawn(async move { xn_handover::refuse(&gnb, &request, cause).await });
        }
        Ok(Vec::new())
    }

    /// HANDOVER REQUEST ACKNOWLEDGE or HANDOVER FAILURE: to the UE that is to come to the gNB.
    fn handover_answer(&self, gnb: &Gnb, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
        let ids = UeIds::of(pdu);
        let Some(amf_id) = ids.amf else {
            return Err(Fault::state(pdu, "it does not say which UE's handover it answers").into());
        };
        let message = match (pdu.kind(), ids.ran) {
            (Kind::Successful_HandoverResourceAllocation, Some(ran_id)) => {
                let admitted = handover_uplink::handover_admitted(pdu, data)
                    .map_err(|error| Fault::of(pdu, &error))?;
                Uplink::HandoverAdmitted { ran_id, admitted: admitted.into() }
            }
            (Kind::Unsuccessful_HandoverResourceAllocation, _) => {
                let cause = handover_uplink::handover_failure(pdu)
                    .map_err(|error| Fault::of(pdu, &error))?;
                Uplink::HandoverFailed(cause)
            }
            _ => {
                return Err(
                    Fault::state(pdu, "it does not say the UE's identity at the gNB").into()
                );
            }
        };
        let ran_id = ids.ran.filter(|_| matches!(message, Uplink::HandoverAdmitted { .. }));
        let Some(handle) = self.tables.accept(gnb.number, amf_id, ran_id) else {
            metrics::ngap_error("ue_ngap_id");
            tracing::warn!(
                gnb = gnb.label(),
                amf_id,
                message = message.name(),
                "an answer to no handover"
            );
            let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
            return Ok(error_indication(ids, Some(unknown), None).into_iter().collect());
        };
        if handle.sender.try_send(Event::Uplink { amf_id, message }).is_err() {
            metrics::dropped("ngap");
        }
        Ok(Vec::new())
    }

    fn deliver(
        &self,
        gnb: &Gnb,
        handle: &UeHandle,
        amf_id: u64,
        pdu: &NGAPPDU<'_>,
        data: &Bytes,
    ) -> Handled {
        let Some(message) = uplink::read(pdu, data).map_err(|error| Fault::of(pdu, &error))? else {
            return match pdu.kind() {
                _ if pdu.is_initiating() && pdu.criticality() == Criticality::reject => {
                    Err(Fault::state(pdu, "the AMF does not have this procedure").into())
                }
                _ => {
                    tracing::debug!(
                        gnb = gnb.label(),
                        message = message_name(pdu),
                        "a message was passed over"
                    );
                    Ok(Vec::new())
                }
            };
        };
        if handle.sender.try_send(Event::Uplink { amf_id, message }).is_err() {
            metrics::dropped("ngap");
            tracing::warn!(
                gnb = gnb.label(),
                amf_id,
                message = message_name(pdu),
                "too many messages wait for the UE"
            );
        }
        Ok(Vec::new())
    }
}

/// A word for a cause, of a fixed set: for metrics.
fn reason(cause: &Cause) -> &'static str {
    match cause {
        Cause::protocol(CauseProtocol::transfer_syntax_error) => "transfer_syntax",
        Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state) => "state",
        Cause::protocol(CauseProtocol::semantic_error) => "semantic",
        Cause::protocol(_) => "abstract_syntax",
        Cause::radioNetwork(_) => "radio_network",
        _ => "other",
    }
}
