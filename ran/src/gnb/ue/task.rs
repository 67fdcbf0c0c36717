//! The loop of a UE's task. It dispatches NGAP messages to procedures and NAS actions to the gNB.
use super::command::Command;
use super::context::{Fault, SourceContext, UeContext};
use crate::gnb::link::LinkError;
use crate::gnb::node::{Downlink, Gnb, UeInput};
use crate::gnb::procedures::handover::{
    handover_cancellation, handover_preparation, handover_resource_allocation, path_switch_request,
    ran_status_transfer, source_release,
};
use crate::gnb::procedures::interface_management::error_indication;
use crate::gnb::procedures::nas_transport::{
    downlink_nas_transport, initial_ue_message, reroute_nas_request, uplink_nas_transport,
};
use crate::gnb::procedures::pdu_session::{
    pdu_session_resource_modify, pdu_session_resource_release, pdu_session_resource_setup,
};
use crate::gnb::procedures::ue_context::ue_context_release_request::{self, ReleaseReason};
use crate::gnb::procedures::ue_context::{
    initial_context_setup, ue_context_modification, ue_context_release,
};
use crate::gnb::procedures::{location_reporting, nrppa_transport};
use crate::ue::{Action, UeNas};
use crate::user_plane::Interface;
use bytes::Bytes;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::{Cause, CauseProtocol, CauseRadioNetwork, NGAP_PDU};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long the task of a dropped UE waits for UE CONTEXT RELEASE COMMAND.
const LAST_RELEASE: Duration = Duration::from_secs(2);

/// Runs the task of a UE until its last [`super::Ue`] handle is dropped.
pub(super) async fn run(
    nas: UeNas,
    gnb: Gnb,
    interface: Interface,
    commands: mpsc::Receiver<Command>,
    downlink_ip: mpsc::Sender<(u8, Bytes)>,
) {
    UeContext::new(nas, gnb, interface, commands, downlink_ip).run().await;
}

/// The gNB context of a UE that a message is for.
enum AddressedContext {
    Serving,
    Target,
    Source,
    /// None: the message has the identifiers of no connection of the UE.
    Unknown(CauseRadioNetwork),
}

impl UeContext {
    pub(super) async fn run(mut self) {
        loop {
            let deadline = self.nas.next_timeout();
            let timer = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(message) = self.network.recv() => self.on_input(message).await,
                command = self.commands.recv() => match command {
                    Some(command) => self.on_command(command).await,
                    None => break,
                },
                () = timer => {
                    self.received = Instant::now();
                    self.nas.handle_timeout(self.received);
                    self.flush().await;
                }
            }
        }
        self.close().await;
    }

    /// The UE leaves radio coverage: the gNB requests the release of its context.
    async fn close(mut self) {
        self.leave_cell();
        self.ports.clear();
        self.left.drain(..).for_each(SourceContext::release);
        if self.connection.ran_id.is_some() {
            let asked =
                ue_context_release_request::run(&mut self, ReleaseReason::RadioConnectionLost)
                    .await;
            if matches!(asked, Ok(Some(_))) {
                let released = async {
                    while let Some(message) = self.network.recv().await {
                        match message {
                            UeInput::Downlink(downlink)
                                if downlink.pdu.kind() == Kind::Initiating_UEContextRelease =>
                            {
                                return ue_context_release::run(&mut self, &downlink.pdu)
                                    .await
                                    .is_ok();
                            }
                            UeInput::ContextLost(..) | UeInput::LinkLost(..) => return false,
                            _ => {}
                        }
                    }
                    false
                };
                let _ = tokio::time::timeout(LAST_RELEASE, released).await;
            }
            self.disconnect();
        }
        self.leave_cell();
    }

    async fn on_input(&mut self, message: UeInput) {
        match message {
            UeInput::Downlink(downlink) => {
                self.received = downlink.at;
                self.core.received(downlink.at);
                self.follow_takeover(&downlink);
                match self.addressed_context(&downlink) {
                    AddressedContext::Serving => self.on_downlink(downlink.pdu).await,
                    AddressedContext::Target => {
                        handover_resource_allocation::downlink(self, *downlink).await
                    }
                    AddressedContext::Source => source_release::downlink(self, *downlink).await,
                    AddressedContext::Unknown(cause) => {
                        self.unknown_connection(&downlink, cause).await
                    }
                }
                self.send_waiting_nas().await;
            }
            UeInput::Paged { at } => {
                self.received = at;
                if self.connection.ran_id.is_none() && self.nas.state().is_registered() {
                    self.starts.paged = Some(at);
                    self.core.received(at);
                }
                self.downlink_radio(1).await;
                self.nas.paged(self.received);
            }
            UeInput::ContextLost(gnb, reason) if gnb.is(&self.gnb) => {
                self.received = Instant::now();
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), reason, "connection lost");
                self.released();
            }
            UeInput::LinkLost(gnb, reason) if gnb.is(&self.gnb) => {
                self.link_lost(&reason);
                self.select_available_amf();
            }
            UeInput::ContextLost(gnb, _) | UeInput::LinkLost(gnb, _) => {
                source_release::lost(self, &gnb)
            }
            UeInput::UplinkData { psi } => self.uplink_data_waits(psi),
        }
        let sent = self.flush().await;
        // Records a sample also for a service request without a command.
        if self.nas.is_requesting_service() && self.starts.service.is_none() {
            self.starts.service = sent;
        }
    }

    async fn on_downlink(&mut self, pdu: NGAP_PDU) {
        let kind = pdu.kind();
        let outcome = match kind {
            Kind::Initiating_DownlinkNASTransport => downlink_nas_transport::run(self, &pdu).await,
            Kind::Initiating_InitialContextSetup => initial_context_setup::run(self, &pdu).await,
            Kind::Initiating_PDUSessionResourceSetup => {
                pdu_session_resource_setup::run(self, &pdu).await
            }
            Kind::Initiating_PDUSessionResourceRelease => {
                pdu_session_resource_release::run(self, &pdu).await
            }
            Kind::Initiating_PDUSessionResourceModify => {
                pdu_session_resource_modify::run(self, &pdu).await
            }
            Kind::Initiating_UEContextRelease => ue_context_release::run(self, &pdu).await,
            Kind::Initiating_RerouteNASRequest => reroute_nas_request::run(self, &pdu).await,
            Kind::Initiating_LocationReportingControl => location_reporting::run(self, &pdu).await,
            Kind::Initiating_UEContextModification => {
                ue_context_modification::run(self, &pdu).await
            }
            Kind::Initiating_DownlinkUEAssociatedNRPPaTransport => {
                nrppa_transport::ue_associated::run(self, &pdu).await
            }
            Kind::Successful_HandoverPreparation => handover_preparation::command(self, &pdu).await,
            Kind::Unsuccessful_HandoverPreparation => handover_preparation::failure(self, &pdu),
            Kind::Successful_HandoverCancel => handover_cancellation::acknowledge(self),
            Kind::Initiating_DownlinkRANStatusTransfer => {
                let gnb = self.gnb.clone();
                ran_status_transfer::downlink(self, &gnb, &pdu).map_err(Fault::from)
            }
            Kind::Successful_PathSwitchRequest => {
                path_switch_request::acknowledge(self, &pdu).await
            }
            Kind::Unsuccessful_PathSwitchRequest => path_switch_request::failure(self, &pdu).await,
            _ => {
                tracing::warn!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    ?kind,
                    "unsupported NGAP message"
                );
                self.report_error(CauseProtocol::message_not_compatible_with_receiver_state).await;
                Ok(())
            }
        };
        match outcome {
            Ok(()) => {}
            Err(Fault::Link(error)) => self.link_lost(&error.to_string()),
            Err(error) => {
                tracing::warn!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    ?kind,
                    %error,
                    "NGAP procedure failed"
                );
                self.report_error(CauseProtocol::abstract_syntax_error_reject).await;
            }
        }
    }

    /// Executes the actions of the NAS layer. Returns when the first message was passed to the
    /// transport.
    pub(super) async fn flush(&mut self) -> Option<Instant> {
        let mut first = None;
        while let Some(action) = self.nas.poll_action() {
            let sent = match action {
                Action::Send { nas, initial: Some(initial) } => {
                    initial_ue_message::run(self, nas, &initial).await.map(Some)
                }
                Action::Send { nas, initial: None } => uplink_nas_transport::run(self, nas).await,
                Action::ReleaseConnection => self.release_connection().await.map(|()| None),
                Action::Event(event) => {
                    self.on_event(event).await;
                    Ok(None)
                }
            };
            match sent {
                Ok(at) => first = first.or(at),
                Err(error) => self.link_lost(&error.to_string()),
            }
        }
        while let Some(command) = self.next_deferred() {
            Box::pin(self.on_command(command)).await;
        }
        first
    }

    /// The radio connection is lost: the gNB requests the release of the UE's context.
    pub(super) async fn release_connection(&mut self) -> Result<(), LinkError> {
        let asked =
            ue_context_release_request::run(self, ReleaseReason::RadioConnectionLost).await?;
        if asked.is_none() && self.connection.ran_id.is_some() {
            // The AMF has not assigned an identifier yet, so it has nothing to release.
            self.released();
        }
        Ok(())
    }

    /// Moves the UE to the association from which an AMF sends the IE Old AMF: it has taken the UE
    /// over.
    fn follow_takeover(&mut self, downlink: &Downlink) {
        let Some(ran_id) = self.connection.ran_id else { return };
        if downlink.gnb.is(&self.gnb) || downlink.pdu.ie::<martlet_ngap::ie::OldAMF>().is_none() {
            return;
        }
        self.continue_on(downlink.gnb.clone(), ran_id);
    }

    /// An uplink packet waits for a tunnel: the UE requests service (TS 24.501, 5.6.1.1 d).
    fn uplink_data_waits(&mut self, psi: u8) {
        self.received = Instant::now();
        let wanted = self.nas.config().idle == crate::ue::IdleBehaviour::Automatic
            && self.nas.state().is_registered()
            && !self.nas.is_requesting_service()
            // The report may be older than the tunnel.
            && !self.sessions.contains_key(&psi)
            && self.nas.session(psi).is_some();
        if wanted
            && let Err(error) =
                self.nas.request_service(crate::ue::ServicePurpose::Data, &[psi], self.received)
        {
            tracing::debug!(
                supi = %self.supi,
                gnb = self.gnb.name(),
                %error,
                "service request for uplink data not sent"
            );
        }
    }

    /// Sends the NAS messages that waited for the AMF UE NGAP ID.
    async fn send_waiting_nas(&mut self) {
        if self.ids().is_none() {
            return;
        }
        for nas in std::mem::take(&mut self.connection.early) {
            if let Err(error) = uplink_nas_transport::run(self, nas).await {
                return self.link_lost(&error.to_string());
            }
        }
    }

    async fn report_error(&self, cause: CauseProtocol) {
        let ids = (self.connection.amf_id, self.connection.ran_id);
        error_indication::send(&self.gnb, Cause::protocol(cause), ids).await;
    }

    fn addressed_context(&self, downlink: &Downlink) -> AddressedContext {
        if downlink.pdu.kind() == Kind::Initiating_HandoverResourceAllocation {
            return AddressedContext::Target;
        }
        let amf_id = downlink.amf_id();
        let is = |id: Option<u64>| amf_id.is_some() && id == amf_id;
        let handover = self.handover.as_ref().filter(|it| it.target.is(&downlink.gnb));
        let target = handover.and_then(|handover| handover.at_target.as_ref());
        if self.left.iter().any(|s| is(s.connection.amf_id) && s.gnb.is(&downlink.gnb)) {
            AddressedContext::Source
        } else if target.is_some_and(|target| is(target.connection.amf_id)) {
            AddressedContext::Target
        } else {
            self.wrong_id(downlink).map_or(AddressedContext::Serving, AddressedContext::Unknown)
        }
    }

    /// Which identifier of a message is not that of the UE's connection.
    fn wrong_id(&self, downlink: &Downlink) -> Option<CauseRadioNetwork> {
        let connected = self.connection.ran_id.filter(|_| !downlink.gnb.ignores_unknown_ues())?;
        if downlink.ran_id().is_some_and(|ran_id| ran_id != connected) {
            return Some(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
        }
        // After a path switch, or in place of another AMF, the AMF may assign another identifier.
        let assigns = matches!(
            downlink.pdu.kind(),
            Kind::Successful_PathSwitchRequest | Kind::Unsuccessful_PathSwitchRequest
        ) || downlink.pdu.ie::<martlet_ngap::ie::OldAMF>().is_some();
        let differs =
            downlink.amf_id().zip(self.connection.amf_id).is_some_and(|(id, known)| id != known);
        (differs && !assigns).then_some(CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID)
    }

    /// The AMF names a connection that does not exist: ERROR INDICATION, and the release of the
    /// connection that has one of the identifiers (TS 38.413, 10.6).
    async fn unknown_connection(&mut self, downlink: &Downlink, cause: CauseRadioNetwork) {
        let (amf_id, ran_id) = (downlink.amf_id(), downlink.ran_id());
        tracing::warn!(
            supi = %self.supi,
            gnb = downlink.gnb.name(),
            kind = ?downlink.pdu.kind(),
            amf_id,
            ran_id,
            "NGAP message for an unknown connection"
        );
        let ids = (amf_id, ran_id);
        error_indication::send(&downlink.gnb, Cause::radioNetwork(cause), ids).await;
        if downlink.gnb.is(&self.gnb) && ran_id.is_some() && ran_id == self.connection.ran_id {
            self.released();
        }
    }
}
