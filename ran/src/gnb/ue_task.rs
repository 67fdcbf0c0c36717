//! The task that owns a UE: its NAS layer, its connection through the gNB, its sessions, and who waits for what.
use super::command::{Command, Reply, UeEvent, Waiting};
use super::link::LinkError;
use super::sessions::RanSession;
use super::ue_context_release::ReleaseReason;
use super::{
    Gnb, UeError, initial_context_setup, initial_ue_message, nas_transport, pdu_session_resource_modify,
    pdu_session_resource_release, pdu_session_resource_setup, ue_context_release,
};
use crate::sample::Procedure;
use crate::ue::{Action, Event, MmState, PduSession, RegistrationOutcome, SessionCause, UeNas};
use crate::user_plane::{Interface, Port, Tunnel, UserPlane};
use bytes::Bytes;
use martlet_nas::STmsi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::{NGAP_PDU, UserLocationInformation};
use martlet_ngap::transfer::{GtpTunnel, TransferError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};

/// Messages from the network that may wait for one UE.
pub(super) const MAILBOX: usize = 64;
/// How long a UE that is switched off waits for the AMF to release its context.
const LAST_RELEASE: Duration = Duration::from_secs(2);

/// A downlink NGAP message with the moment it was received.
pub(crate) struct Downlink {
    pub(crate) pdu: NGAP_PDU,
    pub(crate) at: Instant,
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
    ContextLost(&'static str),
    /// The gNB has lost the AMF.
    LinkLost(Arc<str>),
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
struct Connection {
    ran_id: Option<u32>,
    amf_id: Option<u64>,
    stream: u16,
}

/// What is timed, and since when.
#[derive(Default)]
struct Starts {
    registration: Option<Instant>,
    service: Option<Instant>,
    paged: Option<Instant>,
    deregistration: Option<Instant>,
    an_release: Option<Instant>,
    establishment: [Option<Instant>; 16],
    session_release: [Option<Instant>; 16],
}

/// Who waits for what.
#[derive(Default)]
struct Waiters {
    registration: Waiting<RegistrationOutcome>,
    service: Waiting<()>,
    deregistration: Waiting<()>,
    idle: Waiting<()>,
    paging: Waiting<()>,
    establishment: [Waiting<PduSession>; 16],
    session_release: [Waiting<()>; 16],
}

/// A UE.
pub(crate) struct UeTask {
    nas: UeNas,
    gnb: Gnb,
    supi: Arc<str>,
    connection: Connection,
    /// PDU sessions with user plane resources at the gNB.
    pub(crate) sessions: BTreeMap<u8, RanSession>,
    ports: BTreeMap<u8, Port>,
    interface: Interface,
    camped: Option<STmsi>,
    paged: bool,
    /// When what is being handled was received.
    received: Instant,
    starts: Starts,
    waiters: Waiters,
    deferred: VecDeque<Command>,
    events: Option<broadcast::Sender<UeEvent>>,
    downlink_ip: mpsc::Sender<(u8, Bytes)>,
    mailbox: mpsc::Sender<ToUe>,
    network: mpsc::Receiver<ToUe>,
    commands: mpsc::Receiver<Command>,
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
            camped: None,
            paged: false,
            received: Instant::now(),
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
        if self.connection.ran_id.is_some() {
            let asked = ue_context_release::request(&mut self, ReleaseReason::RadioConnectionLost).await;
            if matches!(asked, Ok(Some(_))) {
                let released = async {
                    while let Some(message) = self.network.recv().await {
                        match message {
                            ToUe::Downlink(downlink) if downlink.pdu.kind() == Kind::Initiating_UEContextRelease => {
                                return ue_context_release::command(&mut self, &downlink.pdu).await.is_ok();
                            }
                            ToUe::ContextLost(_) | ToUe::LinkLost(_) => return false,
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
                self.on_downlink(downlink.pdu).await;
            }
            ToUe::Paged { at } => {
                self.received = at;
                self.starts.paged = Some(at);
                self.nas.paged(at);
            }
            ToUe::ContextLost(reason) => {
                self.received = Instant::now();
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), reason, "connection lost");
                self.released();
            }
            ToUe::LinkLost(reason) => self.link_lost(&reason),
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
            Kind::Initiating_DownlinkNASTransport => nas_transport::downlink(self, &pdu).map_err(Fault::from),
            Kind::Initiating_InitialContextSetup => initial_context_setup::run(self, &pdu).await,
            Kind::Initiating_PDUSessionResourceSetup => pdu_session_resource_setup::run(self, &pdu).await,
            Kind::Initiating_PDUSessionResourceRelease => pdu_session_resource_release::run(self, &pdu).await,
            Kind::Initiating_PDUSessionResourceModify => pdu_session_resource_modify::run(self, &pdu).await,
            Kind::Initiating_UEContextRelease => ue_context_release::command(self, &pdu).await,
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

    async fn on_command(&mut self, command: Command) {
        // What starts with an initial message waits until the connection of what was before is released.
        if matches!(command, Command::Register { .. })
            && self.nas.is_connected()
            && self.nas.state() == MmState::Deregistered
        {
            return self.deferred.push_back(command);
        }
        self.received = Instant::now();
        match command {
            Command::Register { kind, reply } => match self.nas.register(kind, self.received) {
                Ok(()) => {
                    self.waiters.registration.add(reply);
                    let sent = self.flush().await;
                    self.starts.registration = self.starts.registration.or(sent);
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::Establish { request, reply } => match self.nas.establish_session(&request, self.received) {
                Ok(psi) => {
                    if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi)) {
                        waiting.add(reply);
                    }
                    let sent = self.flush().await;
                    if let Some(start) = self.starts.establishment.get_mut(usize::from(psi)) {
                        *start = sent;
                    }
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::Release { psi, reply } => match self.nas.release_session(psi, self.received) {
                Ok(()) => {
                    if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                        waiting.add(reply);
                    }
                    let sent = self.flush().await;
                    if let Some(start) = self.starts.session_release.get_mut(usize::from(psi)) {
                        *start = sent;
                    }
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::Service { purpose, uplink_data, reply } => {
                if self.nas.is_requesting_service() {
                    return self.waiters.service.add(reply);
                }
                if self.nas.is_connected() && uplink_data.is_empty() {
                    return reply.done(Ok(()));
                }
                match self.nas.request_service(purpose, &uplink_data, self.received) {
                    Ok(()) => {
                        self.waiters.service.add(reply);
                        self.starts.service = self.flush().await;
                    }
                    Err(error) => reply.done(Err(error.into())),
                }
            }
            Command::Deregister { switch_off, reply } => match self.nas.deregister(switch_off, self.received) {
                Ok(()) => {
                    self.waiters.deregistration.add(reply);
                    // Set before the events of a switch-off are handled, which come at once.
                    self.starts.deregistration = Some(Instant::now());
                    if let Some(sent) = self.flush().await
                        && self.starts.deregistration.is_some()
                    {
                        self.starts.deregistration = Some(sent);
                    }
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::ReleaseToIdle { reply } => self.release_to_idle(reply).await,
            Command::WaitIdle { reply } => match self.connection.ran_id {
                None => reply.done(Ok(())),
                Some(_) => self.waiters.idle.add(reply),
            },
            Command::WaitPaging { reply } => match std::mem::take(&mut self.paged) {
                true => reply.done(Ok(())),
                false => self.waiters.paging.add(reply),
            },
            Command::SendIp { psi, packet, reply } => reply.done(self.send_ip(psi, packet)),
            Command::SendRawNas { nas, reply } => {
                let outcome = self.send_raw_nas(nas).await;
                reply.done(outcome);
            }
            Command::Replay { reply } => {
                let last = self.nas.last_protected().map(<[u8]>::to_vec);
                let outcome = match last {
                    Some(nas) => self.send_raw_nas(nas).await,
                    None => Err(UeError::State("the UE has sent no protected message yet")),
                };
                reply.done(outcome);
            }
            Command::WrongMac { message, reply } => {
                let outcome = match self.nas.with_wrong_mac(&message) {
                    Ok(nas) => self.send_raw_nas(nas).await,
                    Err(error) => Err(error.into()),
                };
                reply.done(outcome);
            }
            Command::Status { reply } => reply.done(Ok(self.status())),
            Command::Forget { reply } => {
                self.nas.forget_registration();
                self.flush().await;
                reply.done(Ok(()));
            }
            Command::Subscribe { reply } => {
                let sender = self.events.get_or_insert_with(|| broadcast::channel(64).0);
                reply.done(Ok(sender.subscribe()));
            }
            Command::Move { gnb, reply } => reply.done(self.move_to(gnb)),
        }
    }

    /// Do what the NAS layer wants done; the moment at which the first message was handed to the transport.
    async fn flush(&mut self) -> Option<Instant> {
        let mut first = None;
        while let Some(action) = self.nas.poll_action() {
            let sent = match action {
                Action::Send { nas, initial: Some(initial) } => {
                    initial_ue_message::run(self, nas, &initial).await.map(Some)
                }
                Action::Send { nas, initial: None } => nas_transport::uplink(self, nas).await,
                Action::ReleaseConnection => {
                    let asked = ue_context_release::request(self, ReleaseReason::RadioConnectionLost).await;
                    if matches!(asked, Ok(None)) && self.connection.ran_id.is_some() {
                        // The AMF has never answered: there is nothing that it could release.
                        self.released();
                    }
                    asked.map(|_| None)
                }
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
        if self.connection.ran_id.is_none()
            && let Some(command) = self.deferred.pop_front()
        {
            Box::pin(self.on_command(command)).await;
        }
        first
    }

    async fn on_event(&mut self, event: Event) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::Nas(event.clone()));
        }
        match event {
            Event::Registered(outcome) => {
                let start = self.starts.registration.take();
                self.record(Procedure::Registration, start, None);
                self.waiters.registration.finish(Ok(outcome));
            }
            Event::RegistrationRejected { cause } => self.registration_failed(UeError::Rejected(cause)),
            Event::RegistrationAborted(abort) => self.registration_failed(UeError::Aborted(abort)),
            Event::Deregistered => {
                // A UE that is switched off gets no answer: its release is the end of the procedure.
                if self.nas.state() == MmState::Deregistered && self.starts.deregistration.is_some() {
                    let start = self.starts.deregistration.take();
                    self.record(Procedure::Deregistration, start, None);
                }
                if self.connection.ran_id.is_none() {
                    self.waiters.deregistration.finish(Ok(()));
                }
            }
            Event::DeregisteredByNetwork { cause, re_registration_required } => {
                tracing::info!(supi = %self.supi, gnb = self.gnb.name(), ?cause, re_registration_required,
                    "deregistered by the network");
            }
            Event::SessionEstablished(session) => self.session_established(session).await,
            Event::SessionRejected { psi, cause } => {
                let start = self.starts.establishment.get_mut(usize::from(psi)).and_then(Option::take);
                self.record(Procedure::PduSessionEstablishment, start, Some(cause.to_string()));
                self.close_session(psi);
                if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
            }
            Event::SessionReleased { psi, cause } => {
                if let Some(start) = self.starts.session_release.get_mut(usize::from(psi)).and_then(Option::take) {
                    let failure = unanswered(cause).then(|| cause.to_string());
                    self.record(Procedure::PduSessionRelease, Some(start), failure);
                }
                self.close_session(psi);
                if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                    waiting.finish(if unanswered(cause) { Err(UeError::Session(cause)) } else { Ok(()) });
                }
            }
            Event::SessionReleaseRejected { psi, cause } => {
                let start = self.starts.session_release.get_mut(usize::from(psi)).and_then(Option::take);
                self.record(Procedure::PduSessionRelease, start, Some(cause.to_string()));
                if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
            }
            Event::ServiceAccepted { .. } => {
                let (start, paged) = (self.starts.service.take(), self.starts.paged.take());
                self.record(Procedure::ServiceRequest, start, None);
                self.record(Procedure::PagingResponse, paged, None);
                self.waiters.service.finish(Ok(()));
            }
            Event::ServiceRejected { cause } => self.service_failed(UeError::Rejected(cause)),
            Event::ServiceAborted(abort) => self.service_failed(UeError::Aborted(abort)),
            Event::Paged => {
                self.paged = !self.waiters.paging.finish(Ok(()));
            }
            Event::Discarded(reason) => {
                tracing::debug!(supi = %self.supi, gnb = self.gnb.name(), %reason, "downlink NAS not processed");
            }
            Event::AuthenticationFailureSent { cause } => {
                tracing::debug!(supi = %self.supi, gnb = self.gnb.name(), cause, "authentication failure");
            }
            Event::SessionModified { .. } | Event::ConfigurationUpdated { .. } | Event::Status { .. } => {}
        }
    }

    fn registration_failed(&mut self, error: UeError) {
        let start = self.starts.registration.take();
        self.record(Procedure::Registration, start, Some(error.to_string()));
        self.waiters.registration.finish(Err(error));
    }

    fn service_failed(&mut self, error: UeError) {
        let (start, paged) = (self.starts.service.take(), self.starts.paged.take());
        self.record(Procedure::ServiceRequest, start, Some(error.to_string()));
        self.record(Procedure::PagingResponse, paged, Some(error.to_string()));
        self.waiters.service.finish(Err(error));
    }

    async fn session_established(&mut self, session: PduSession) {
        let psi = session.psi;
        let start = self.starts.establishment.get_mut(usize::from(psi)).and_then(Option::take);
        self.record(Procedure::PduSessionEstablishment, start, None);
        let opened = match self.ports.get(&psi) {
            Some(port) => self.interface.open(port, &session).await,
            None => Ok(()),
        };
        let outcome = opened.map(|()| session).map_err(|error| UeError::Interface(error.to_string()));
        if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi)) {
            waiting.finish(outcome);
        }
    }

    fn record(&self, procedure: Procedure, start: Option<Instant>, failure: Option<String>) {
        if let Some(start) = start {
            self.gnb.record(procedure, self.supi.clone(), start, self.received, failure);
        }
    }

    async fn release_to_idle(&mut self, reply: Reply<()>) {
        if self.connection.ran_id.is_none() {
            return reply.done(Ok(()));
        }
        match ue_context_release::request(self, ReleaseReason::UserInactivity).await {
            Ok(Some(sent)) => {
                self.starts.an_release = Some(sent);
                self.waiters.idle.add(reply);
            }
            Ok(None) => reply.done(Err(UeError::State("the AMF has not answered the UE yet"))),
            Err(error) => {
                self.link_lost(&error.to_string());
                reply.done(Err(error.into()));
            }
        }
    }

    async fn send_raw_nas(&mut self, nas: Vec<u8>) -> Result<(), UeError> {
        let sent = match self.connection.ran_id {
            Some(_) => nas_transport::uplink(self, nas).await.map(|_| ()),
            None => {
                let initial = crate::ue::Initial { cause: crate::ue::EstablishmentCause::MoSignalling, s_tmsi: None };
                initial_ue_message::run(self, nas, &initial).await.map(|_| ())
            }
        };
        Ok(sent?)
    }

    fn send_ip(&mut self, psi: u8, packet: Bytes) -> Result<(), UeError> {
        match self.ports.get(&psi) {
            Some(port) => port.send(&packet).map_err(|error| UeError::Interface(error.to_string())),
            None => {
                Err(UeError::State("the PDU session has no user plane: it is not established, or the gNB has no N3"))
            }
        }
    }

    /// A packet waits for a tunnel: what a phone does by itself.
    fn uplink_data(&mut self, psi: u8) {
        self.received = Instant::now();
        let wanted = self.nas.config().idle == crate::ue::IdleBehaviour::Automatic
            && self.nas.state() == MmState::Registered
            && !self.nas.is_requesting_service()
            && self.nas.session(psi).is_some();
        if wanted && let Err(error) = self.nas.request_service(crate::ue::ServicePurpose::Data, &[psi], self.received) {
            tracing::debug!(supi = %self.supi, gnb = self.gnb.name(), %error, "no service request for uplink data");
        }
    }

    fn status(&self) -> super::UeStatus {
        super::UeStatus {
            state: self.nas.state(),
            connected: self.connection.ran_id.is_some(),
            guti: self.nas.guti(),
            sessions: self.nas.sessions().cloned().collect(),
            active_user_planes: self.sessions.keys().copied().collect(),
            algorithms: self.nas.security().algorithms().map(|(nea, nia)| (nea as u8, nia as u8)),
            netns: self.interface.netns().map(str::to_owned),
        }
    }

    fn move_to(&mut self, gnb: Gnb) -> Result<(), UeError> {
        if self.connection.ran_id.is_some() {
            return Err(UeError::State("only an idle UE selects another cell"));
        }
        self.leave_cell();
        self.nas.select_plmn(&gnb.config().plmn);
        // The sessions' ends at one gNB are not another's.
        if !UserPlane::same(self.gnb.user_plane(), gnb.user_plane()) {
            self.ports.clear();
        }
        self.gnb = gnb;
        self.camp();
        Ok(())
    }

    /// The gNB has lost the AMF: nothing that was asked for will come.
    fn link_lost(&mut self, reason: &str) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::ConnectionReleased);
        }
        let error = UeError::GnbLost(reason.to_owned());
        self.disconnect();
        self.waiters.registration.finish(Err(error.clone()));
        self.waiters.service.finish(Err(error.clone()));
        self.waiters.deregistration.finish(Err(error.clone()));
        self.waiters.idle.finish(Err(error.clone()));
        self.waiters.paging.finish(Err(error.clone()));
        for waiting in &mut self.waiters.establishment {
            waiting.finish(Err(error.clone()));
        }
        for waiting in &mut self.waiters.session_release {
            waiting.finish(Err(error.clone()));
        }
        while let Some(command) = self.deferred.pop_front() {
            drop(command);
        }
        self.nas.connection_released(Instant::now());
    }

    /// The context is released: the UE is idle, or deregistered and silent.
    pub(super) fn released(&mut self) {
        self.disconnect();
        self.nas.connection_released(self.received);
        if let Some(start) = self.starts.an_release.take() {
            self.record(Procedure::AnRelease, Some(start), None);
        }
        self.waiters.idle.finish(Ok(()));
        if self.nas.state() == MmState::Deregistered {
            self.waiters.deregistration.finish(Ok(()));
        }
        self.paged = false;
        self.camp();
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::ConnectionReleased);
        }
    }

    fn disconnect(&mut self) {
        let psis: Vec<u8> = self.sessions.keys().copied().collect();
        for psi in psis {
            self.deactivate(psi);
        }
        if let Some(ran_id) = self.connection.ran_id.take() {
            self.gnb.table().disconnect(ran_id, self.connection.amf_id.take());
        }
    }

    /// Listen to paging while idle and registered.
    fn camp(&mut self) {
        if self.nas.state() == MmState::Registered
            && let Some(guti) = self.nas.guti()
        {
            self.gnb.table().camp(guti.s_tmsi(), self.mailbox.clone());
            self.camped = Some(guti.s_tmsi());
        }
    }

    /// Stop listening to paging.
    pub(super) fn leave_cell(&mut self) {
        if let Some(s_tmsi) = self.camped.take() {
            self.gnb.table().leave(s_tmsi);
        }
    }

    /// A RAN UE NGAP ID and a stream for a connection that begins.
    pub(super) fn connect(&mut self) -> u32 {
        self.disconnect();
        let ran_id = self.gnb.table().connect(self.mailbox.clone());
        self.connection = Connection { ran_id: Some(ran_id), amf_id: None, stream: self.gnb.stream_of(ran_id) };
        ran_id
    }

    pub(super) fn learn_amf_id(&mut self, amf_id: u64) {
        if self.connection.amf_id.is_none()
            && let Some(ran_id) = self.connection.ran_id
        {
            self.connection.amf_id = Some(amf_id);
            self.gnb.table().learn_amf_id(ran_id, amf_id);
        }
    }

    /// AMF UE NGAP ID and RAN UE NGAP ID.
    pub(super) fn ids(&self) -> Option<(u64, u32)> {
        self.connection.amf_id.zip(self.connection.ran_id)
    }

    /// Hand a message to the transport, on the UE's stream. The moment just before.
    pub(super) async fn transmit(&mut self, message: Vec<u8>) -> Result<Instant, LinkError> {
        let at = Instant::now();
        self.gnb.link().send(self.connection.stream, message.into()).await?;
        Ok(at)
    }

    /// Give the UE a NAS message.
    pub(super) fn nas_received(&mut self, nas: &[u8]) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::NasReceived(Bytes::copy_from_slice(nas)));
        }
        self.nas.receive(nas, self.received);
    }

    /// Whether the AMF's K_gNB is the UE's. True where the gNB does not care, or the UE has no security context.
    pub(super) fn k_gnb_agrees(&self, key: &[u8]) -> bool {
        !self.gnb.config().check_k_gnb
            || self.nas.security().k_gnb().is_none_or(|expected| expected.as_octets().as_slice() == key)
    }

    pub(super) fn context_is_set_up(&mut self) {
        tracing::trace!(supi = %self.supi, gnb = self.gnb.name(), "initial context set up");
    }

    /// Open the gNB's end of the tunnel of session `psi` towards the UPF's end.
    pub(super) fn activate(&mut self, psi: u8, uplink: GtpTunnel, qfis: &[u8]) -> GtpTunnel {
        let tunnel = Tunnel { uplink, qfi: qfis.first().copied().unwrap_or_default() };
        let downlink_teid = match self.gnb.user_plane() {
            Some(user_plane) => {
                let port = self
                    .ports
                    .entry(psi)
                    .or_insert_with(|| user_plane.open(psi, self.downlink_ip.clone(), self.mailbox.clone()));
                port.activate(tunnel)
            }
            None => self.gnb.next_teid(),
        };
        self.sessions.insert(psi, RanSession { uplink, qfis: qfis.to_vec() });
        GtpTunnel::new(self.gnb.config().n3_address(), downlink_teid)
    }

    /// Change the UPF's end or the flows; the gNB's end stays.
    pub(super) fn retarget(&mut self, psi: u8, uplink: GtpTunnel, qfis: &[u8]) {
        if let Some(session) = self.sessions.get_mut(&psi) {
            session.uplink = uplink;
            session.qfis = qfis.to_vec();
            if let Some(port) = self.ports.get(&psi) {
                port.retarget(Tunnel { uplink, qfi: qfis.first().copied().unwrap_or_default() });
            }
        }
    }

    /// Close the gNB's end of the tunnel; the UE's interface stays.
    pub(super) fn deactivate(&mut self, psi: u8) {
        self.sessions.remove(&psi);
        if let Some(port) = self.ports.get(&psi) {
            port.deactivate();
        }
    }

    fn close_session(&mut self, psi: u8) {
        self.sessions.remove(&psi);
        self.ports.remove(&psi);
    }

    pub(super) fn supi(&self) -> &str {
        &self.supi
    }

    pub(super) fn gnb_name(&self) -> &str {
        self.gnb.name()
    }

    pub(super) fn location(&self) -> UserLocationInformation<'static> {
        self.gnb.identity().location()
    }
}

/// Whether a session was released without the network's word.
fn unanswered(cause: SessionCause) -> bool {
    matches!(cause, SessionCause::Timeout | SessionCause::ConnectionReleased)
}
