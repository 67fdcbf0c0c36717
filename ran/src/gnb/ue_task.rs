//! The task that owns a UE: its NAS layer, its connection through the gNB, its sessions, and who
//! waits for what.
use super::command::{Command, UeEvent, Waiting};
use super::core_time::CoreTime;
use crate::gnb::procedures::handover::handover_preparation::{End, Handover, HandoverOutcome, Left};
use super::link::LinkError;
use crate::gnb::procedures::pdu_session::resources::RanSession;
use crate::gnb::procedures::ue_context::ue_context_release::ReleaseReason;
use super::Gnb;
use super::procedures::handover::{
    handover_preparation, handover_resource_allocation, path_switch_request, ran_status_transfer,
};
use super::procedures::location_reporting;
use super::procedures::nas_transport::{initial_ue_message, reroute_nas_request, uplink_downlink};
use super::procedures::pdu_session::{
    pdu_session_resource_modify, pdu_session_resource_release, pdu_session_resource_setup,
};
use super::procedures::ue_context::{
    initial_context_setup, ue_context_modification, ue_context_release,
};
use crate::nrppa;
use crate::sample::Procedure;
use crate::ue::{Action, MmState, PduSession, RegistrationOutcome, UeNas};
use crate::user_plane::{Interface, Port};
use bytes::Bytes;
use martlet_nas::STmsi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::{LocationReportingRequestType, NGAP_PDU};
use martlet_ngap::transfer::TransferError;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};

/// Messages from the network that may wait for one UE.
pub(super) const MAILBOX: usize = 64;
/// NAS messages that may wait for the AMF's first answer to a UE.
pub(super) const EARLY: usize = 16;
/// How long a UE that is switched off waits for the AMF to release its context.
const LAST_RELEASE: Duration = Duration::from_secs(2);

/// A downlink NGAP message with the moment it was received.
pub(crate) struct Downlink {
    pub(crate) pdu: NGAP_PDU,
    pub(crate) at: Instant,
    /// The gNB to which it came: during a handover a UE has two.
    pub(crate) gnb: Gnb,
}

/// What the network's side tells a UE.
pub(crate) enum ToUe {
    /// An NGAP message about the UE.
    Downlink(Box<Downlink>),
    /// The UE is paged.
    Paged {
        /// When.
        at: Instant,
    },
    /// The UE's connection is gone without the usual release.
    ContextLost(Gnb, &'static str),
    /// The gNB has lost the AMF.
    LinkLost(Gnb, Arc<str>),
    /// A packet of the UE waits, and its session has no tunnel.
    UplinkData {
        /// PDU session identity.
        psi: u8,
    },
}

/// Why a procedure of the gNB stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The message cannot be read, or its answer not written.
    #[error(transparent)]
    Ngap(#[from] martlet_ngap::Error),
    /// The link is gone.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A transfer cannot be written.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

/// Identifiers of a connection.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) ran_id: Option<u32>,
    pub(super) amf_id: Option<u64>,
    pub(super) stream: u16,
    /// NAS messages that wait for the AMF's first answer.
    pub(super) early: Vec<Vec<u8>>,
}

/// What is timed, and since when.
#[derive(Default)]
pub(super) struct Starts {
    pub(super) registration: Option<Instant>,
    pub(super) service: Option<Instant>,
    pub(super) paged: Option<Instant>,
    pub(super) deregistration: Option<Instant>,
    pub(super) an_release: Option<Instant>,
    pub(super) establishment: [Option<Instant>; 16],
    pub(super) session_release: [Option<Instant>; 16],
    pub(super) path_switch: Option<Instant>,
}

/// Who waits for what.
#[derive(Default)]
pub(super) struct Waiters {
    pub(super) registration: Waiting<RegistrationOutcome>,
    pub(super) service: Waiting<()>,
    pub(super) deregistration: Waiting<()>,
    pub(super) idle: Waiting<()>,
    pub(super) paging: Waiting<()>,
    pub(super) establishment: [Waiting<PduSession>; 16],
    pub(super) modification: [Waiting<PduSession>; 16],
    pub(super) session_release: [Waiting<()>; 16],
    pub(super) handover: Waiting<HandoverOutcome>,
}

/// A UE.
pub(crate) struct UeTask {
    pub(super) nas: UeNas,
    pub(super) gnb: Gnb,
    pub(super) supi: Arc<str>,
    pub(super) connection: Connection,
    /// PDU sessions with user plane resources at the gNB.
    pub(crate) sessions: BTreeMap<u8, RanSession>,
    pub(super) ports: BTreeMap<u8, Port>,
    pub(super) interface: Interface,
    /// A handover that the gNB has asked for.
    pub(super) handover: Option<Handover>,
    /// The gNB that the UE has left, until the AMF releases its context there.
    pub(super) left: Vec<Left>,
    /// K_AMFs that the network has changed with a handover.
    pub(super) key_changes: u32,
    /// The last number of a RAN status, and the status that is underway to the target of a
    /// handover.
    pub(super) ran_status: (u16, Option<Vec<u8>>),
    /// What the gNB measures of the UE for LMFs.
    pub(super) measured: nrppa::Measured,
    /// Which cell of the gNB it is in, from 1.
    pub(super) cell: u16,
    /// What the AMF wants to be told of its place.
    pub(super) reporting: Option<LocationReportingRequestType>,
    /// NAS messages that the gNB does not deliver, and tells the AMF of.
    pub(super) withheld: u8,
    pub(super) camped: Option<STmsi>,
    pub(super) paged: bool,
    /// When what is being handled was received.
    pub(super) received: Instant,
    pub(super) core: CoreTime,
    pub(super) starts: Starts,
    pub(super) waiters: Waiters,
    pub(super) deferred: VecDeque<Command>,
    pub(super) events: Option<broadcast::Sender<UeEvent>>,
    pub(super) downlink_ip: mpsc::Sender<(u8, Bytes)>,
    pub(super) mailbox: mpsc::Sender<ToUe>,
    pub(super) network: mpsc::Receiver<ToUe>,
    pub(super) commands: mpsc::Receiver<Command>,
}

impl UeTask {
    pub(super) fn new(
        nas: UeNas,
        gnb: Gnb,
        interface: Interface,
        commands: mpsc::Receiver<Command>,
        downlink_ip: mpsc::Sender<(u8, Bytes)>,
    ) -> Self {
        let (mailbox, network) = mpsc::channel(MAILBOX);
        UeTask {
            supi: nas.supi().into(),
            nas,
            gnb,
            connection: Connection::default(),
            sessions: BTreeMap::new(),
            ports: BTreeMap::new(),
            interface,
            handover: None,
            left: Vec::new(),
            key_changes: 0,
            ran_status: (0, None),
            measured: nrppa::Measured::default(),
            cell: 1,
            reporting: None,
            withheld: 0,
            camped: None,
            paged: false,
            received: Instant::now(),
            core: CoreTime::default(),
            starts: Starts::default(),
            waiters: Waiters::default(),
            deferred: VecDeque::new(),
            events: None,
            downlink_ip,
            mailbox,
            network,
            commands,
        }
    }

    /// Serve the UE until nobody holds it any more.
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
                Some(message) = self.network.recv() => self.on_network(message).await,
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

    /// The UE is out of reach: its context is released, if the AMF cares to.
    async fn close(mut self) {
        self.leave_cell();
        self.ports.clear();
        self.left.drain(..).for_each(Left::release);
        if self.connection.ran_id.is_some() {
            let asked =
                ue_context_release::request(&mut self, ReleaseReason::RadioConnectionLost).await;
            if matches!(asked, Ok(Some(_))) {
                let released = async {
                    while let Some(message) = self.network.recv().await {
                        match message {
                            ToUe::Downlink(downlink)
                                if downlink.pdu.kind() == Kind::Initiating_UEContextRelease =>
                            {
                                return ue_context_release::command(&mut self, &downlink.pdu)
                                    .await
                                    .is_ok();
                            }
                            ToUe::ContextLost(..) | ToUe::LinkLost(..) => return false,
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

    async fn on_network(&mut self, message: ToUe) {
        match message {
            ToUe::Downlink(downlink) => {
                self.received = downlink.at;
                self.core.received(downlink.at);
                self.redirected(&downlink);
                match self.end_of(&downlink) {
                    End::Here => self.on_downlink(downlink.pdu).await,
                    End::Target => handover_resource_allocation::downlink(self, *downlink).await,
                    End::Left => handover_preparation::left_downlink(self, *downlink).await,
                }
                self.send_early().await;
            }
            ToUe::Paged { at } => {
                self.received = at;
                if self.connection.ran_id.is_none() && self.nas.state() == MmState::Registered {
                    self.starts.paged = Some(at);
                }
                self.nas.paged(at);
            }
            ToUe::ContextLost(gnb, reason) if gnb.is(&self.gnb) => {
                self.received = Instant::now();
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), reason, "connection lost");
                self.released();
            }
            ToUe::LinkLost(gnb, reason) if gnb.is(&self.gnb) => {
                self.link_lost(&reason);
                self.follow();
            }
            ToUe::ContextLost(gnb, _) | ToUe::LinkLost(gnb, _) => handover_preparation::lost(self, &gnb),
            ToUe::UplinkData { psi } => self.uplink_data(psi),
        }
        let sent = self.flush().await;
        // A service request that the UE started by itself is timed like one that was asked for.
        if self.nas.is_requesting_service() && self.starts.service.is_none() {
            self.starts.service = sent;
        }
    }

    async fn on_downlink(&mut self, pdu: NGAP_PDU) {
        let kind = pdu.kind();
        let outcome = match kind {
            Kind::Initiating_DownlinkNASTransport => uplink_downlink::downlink(self, &pdu).await,
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
            Kind::Initiating_UEContextRelease => ue_context_release::command(self, &pdu).await,
            Kind::Initiating_RerouteNASRequest => reroute_nas_request::run(self, &pdu).await,
            Kind::Initiating_LocationReportingControl => location_reporting::run(self, &pdu).await,
            Kind::Initiating_UEContextModification => {
                ue_context_modification::run(self, &pdu).await
            }
            Kind::Initiating_DownlinkUEAssociatedNRPPaTransport => nrppa::of_ue(self, &pdu).await,
            Kind::Successful_HandoverPreparation => handover_preparation::command(self, &pdu).await,
            Kind::Unsuccessful_HandoverPreparation => handover_preparation::not_prepared(self, &pdu),
            Kind::Successful_HandoverCancel => handover_preparation::cancelled(self),
            Kind::Initiating_DownlinkRANStatusTransfer => {
                let gnb = self.gnb.clone();
                ran_status_transfer::downlink(self, &gnb, &pdu).map_err(Fault::from)
            }
            Kind::Successful_PathSwitchRequest => path_switch_request::switched(self, &pdu).await,
            Kind::Unsuccessful_PathSwitchRequest => path_switch_request::not_switched(self, &pdu).await,
            _ => {
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), ?kind, "a message that is not handled");
                self.gnb.not_understood(self.connection.amf_id, self.connection.ran_id).await;
                Ok(())
            }
        };
        match outcome {
            Ok(()) => {}
            Err(Fault::Link(error)) => self.link_lost(&error.to_string()),
            Err(error) => {
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), ?kind, %error, "NGAP procedure");
                self.gnb.faulty_ie(self.connection.amf_id, self.connection.ran_id).await;
            }
        }
    }

    /// Do what the NAS layer wants done; the moment at which the first message was handed to the
    /// transport.
    pub(super) async fn flush(&mut self) -> Option<Instant> {
        let mut first = None;
        while let Some(action) = self.nas.poll_action() {
            let sent = match action {
                Action::Send { nas, initial: Some(initial) } => {
                    initial_ue_message::run(self, nas, &initial).await.map(Some)
                }
                Action::Send { nas, initial: None } => uplink_downlink::uplink(self, nas).await,
                Action::ReleaseConnection => self.give_up_connection().await.map(|()| None),
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

    /// The UE is not heard any more: the gNB asks the AMF to release its context.
    pub(super) async fn give_up_connection(&mut self) -> Result<(), LinkError> {
        let asked = ue_context_release::request(self, ReleaseReason::RadioConnectionLost).await?;
        if asked.is_none() && self.connection.ran_id.is_some() {
            // The AMF has never answered: there is nothing that it could release.
            self.released();
        }
        Ok(())
    }

    pub(super) fn record(
        &self,
        procedure: Procedure,
        start: Option<Instant>,
        failure: Option<String>,
    ) {
        if let Some(start) = start {
            self.gnb.record(
                procedure,
                self.supi.clone(),
                start,
                self.received,
                self.core.since(start),
                failure,
            );
        }
    }

    /// Another AMF of the gNB's has taken the UE's connection over.
    fn redirected(&mut self, downlink: &Downlink) {
        let Some(ran_id) = self.connection.ran_id else { return };
        if downlink.gnb.is(&self.gnb) || downlink.pdu.ie::<martlet_ngap::ie::OldAMF>().is_none() {
            return;
        }
        self.goes_on_with(downlink.gnb.clone(), ran_id);
    }

    /// The UE's connection goes on with another AMF of the gNB's.
    pub(super) fn goes_on_with(&mut self, other: Gnb, ran_id: u32) {
        tracing::info!(supi = %self.supi, gnb = self.gnb.name(), "another AMF goes on with the UE");
        self.gnb.table().disconnect(ran_id, self.connection.amf_id.take());
        self.gnb = other;
        self.gnb.table().take(ran_id, self.mailbox.clone());
        self.connection.stream = self.gnb.stream_of(ran_id);
    }

    /// An idle UE whose gNB has lost the AMF turns to another one of the gNB's.
    pub(super) fn follow(&mut self) {
        if self.connection.ran_id.is_some() {
            return;
        }
        if let Some(other) = self.gnb.instead()
            && let Err(error) = self.move_to(other)
        {
            tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), %error, "the UE does not turn to another AMF");
        }
    }

    /// A packet waits for a tunnel: what a phone does by itself.
    pub(super) fn uplink_data(&mut self, psi: u8) {
        self.received = Instant::now();
        let wanted = self.nas.config().idle == crate::ue::IdleBehaviour::Automatic
            && self.nas.state() == MmState::Registered
            && !self.nas.is_requesting_service()
            // What was told before the tunnel was there.
            && !self.sessions.contains_key(&psi)
            && self.nas.session(psi).is_some();
        if wanted
            && let Err(error) =
                self.nas.request_service(crate::ue::ServicePurpose::Data, &[psi], self.received)
        {
            tracing::debug!(supi = %self.supi, gnb = self.gnb.name(), %error, "no service request for uplink data");
        }
    }
}
