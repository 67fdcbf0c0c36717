//! NGAP messages from gNBs: each goes to its procedure, or to the task of the UE that it names.
use crate::n2::signalling::{self, Direction};
use crate::n2::{Gnb, Handled, uplink};
use crate::procedures::connection::initial_ue_message;
use crate::procedures::handover::{handover_resource_allocation, xn_handover};
use crate::procedures::n2::{error_indication, ng_reset, ng_setup, ran_configuration_update};
use crate::procedures::positioning::nrppa_transport;
use crate::ue::tables::Route;
use crate::ue::{Event, UeHandle};
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_interop::{N2Quirk, Quirk};
use martlet_log_limit as log_limit;
use martlet_nf::capture;
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::{self, Fault, Received, UeIds, message_name};
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, cause};
use std::sync::Arc;

impl Amf {
    /// Handles one NGAP message. Returns the responses for the gNB.
    pub(crate) fn receive(self: &Arc<Self>, gnb: &Arc<Gnb>, data: &Bytes) -> Vec<NGAP_PDU> {
        capture::record(capture::Link::N2, Some(gnb.address), None, data);
        let at = (gnb.number, gnb.address);
        signalling::record(at, || gnb.label(), Direction::Uplink, data);
        let received = match self.config.n2.strict {
            true => inbound::read(data),
            false => inbound::read_any_order(data),
        };
        let handled = received.and_then(|received| {
            let handled = self.dispatch(gnb, &received, data);
            if received.out_of_order {
                // Not before: NG SETUP REQUEST gives the gNB the label of all its messages.
                N2Quirk::ElementOrder.met("amf", gnb.label());
            }
            handled
        });
        handled.unwrap_or_else(|fault| {
            let reason = reason(&fault.cause);
            metrics::ngap_error(reason);
            if let Some(suppressed) = log_limit::line(reason, gnb.address.ip()) {
                tracing::warn!(
                    gnb = gnb.label(), %fault, cause = cause::text(&fault.cause), reason,
                    suppressed, "NGAP message rejected"
                );
            }
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
            Kind::Initiating_NGSetup => ng_setup::from_gnb(self, gnb, received),
            Kind::Initiating_ErrorIndication => Ok(error_indication::from_gnb(self, gnb, pdu)),
            _ if gnb.setup().is_none() => Err(Fault::state(pdu, "received before NG setup").into()),
            Kind::Initiating_RANConfigurationUpdate => {
                ran_configuration_update::from_gnb(self, gnb, received)
            }
            Kind::Initiating_NGReset => ng_reset::from_gnb(self, gnb, pdu),
            Kind::Initiating_PathSwitchRequest => xn_handover::from_gnb(self, gnb, pdu, data),
            Kind::Successful_HandoverResourceAllocation
            | Kind::Unsuccessful_HandoverResourceAllocation => {
                handover_resource_allocation::from_gnb(self, gnb, pdu, data)
            }
            Kind::Initiating_UplinkNonUEAssociatedNRPPaTransport => {
                nrppa_transport::from_gnb(self, gnb, pdu)
                    .map_err(|error| Fault::of(pdu, &error))?;
                Ok(Vec::new())
            }
            Kind::Initiating_InitialUEMessage => initial_ue_message::from_gnb(self, gnb, pdu, data),
            _ => self.ue_associated(gnb, pdu, data),
        }
    }

    /// A message on a UE-associated logical NG connection.
    fn ue_associated(&self, gnb: &Gnb, pdu: &NGAPPDU<'_>, data: &Bytes) -> Handled {
        let ids = UeIds::of(pdu);
        let (Some(amf_id), Some(ran_id)) = (ids.amf, ids.ran) else {
            if pdu.criticality() == Criticality::reject && pdu.is_initiating() {
                return Err(Fault::state(pdu, "procedure not supported").into());
            }
            tracing::debug!(
                gnb = gnb.label(),
                message_name = message_name(pdu),
                "NGAP message ignored"
            );
            return Ok(Vec::new());
        };
        let unknown = match self.tables.route(gnb.number, amf_id, ran_id) {
            Route::To(handle) => return self.deliver(gnb, &handle, amf_id, pdu, data),
            Route::InRelease(handle) => {
                let handled = self.deliver(gnb, &handle, amf_id, pdu, data);
                // At once, not when the task runs: the next message of the gNB may be in the same
                // packet, and gets an answer.
                if pdu.kind() == Kind::Successful_UEContextRelease {
                    self.tables.disconnect(amf_id);
                }
                return handled;
            }
            // Both sides released the connection at the same time (TS 38.413, 10.6), or the UE has
            // moved to another gNB by Xn.
            Route::Unknown | Route::Inconsistent
                if pdu.kind() == Kind::Successful_UEContextRelease =>
            {
                return Ok(Vec::new());
            }
            Route::Unknown => CauseRadioNetwork::unknown_local_UE_NGAP_ID,
            Route::Inconsistent => CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
        };
        metrics::ngap_error("ue_ngap_id");
        if let Some(suppressed) = log_limit::line("ue_ngap_id", gnb.address.ip()) {
            tracing::warn!(
                gnb = gnb.label(), amf_id, ran_id, message_name = message_name(pdu),
                cause = ?unknown, suppressed, "NGAP message for an unknown UE connection"
            );
        }
        Ok(error_indication(ids, Some(Cause::radioNetwork(unknown)), None).into_iter().collect())
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
                    Err(Fault::state(pdu, "procedure not supported").into())
                }
                _ => {
                    tracing::debug!(
                        gnb = gnb.label(),
                        message_name = message_name(pdu),
                        "NGAP message ignored"
                    );
                    Ok(Vec::new())
                }
            };
        };
        if handle.sender.try_send(Event::Uplink { amf_id, message }).is_err() {
            metrics::dropped("ngap");
            if let Some(suppressed) = log_limit::line("ue_queue_full", gnb.address.ip()) {
                tracing::warn!(
                    gnb = gnb.label(),
                    amf_id,
                    message_name = message_name(pdu),
                    suppressed,
                    "NGAP message dropped: UE queue full"
                );
            }
        }
        Ok(Vec::new())
    }
}

/// The metrics label of a fault.
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
