//! The handle of a UE: each procedure is one async call.
use super::command::{Command, Reply, UeEvent, UeStatus};
use super::task;
use crate::gnb::error::{GnbError, UeError};
use crate::gnb::handover_plan::{HandoverOutcome, HandoverPlan, XnHandoverPlan};
use crate::gnb::node::Gnb;
use crate::radio_environment::RadioEnvironment;
use crate::ue::{
    ModificationRequest, PduSession, PduSessionRequest, RegistrationOutcome, RegistrationType,
    ServicePurpose, UeConfig, UeNas,
};
use crate::user_plane::{Interface, Netns};
use bytes::Bytes;
use martlet_nas::Nas5gsMessage;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};

/// A UE in the cell of a gNB. Dropping it ends its radio connection: the gNB requests the release
/// of its context, and its interfaces and network namespace are removed.
pub struct Ue {
    commands: mpsc::Sender<Command>,
    supi: Arc<str>,
    timeout: Duration,
    downlink_ip: Mutex<mpsc::Receiver<(u8, Bytes)>>,
}

/// Downlink packets that may wait for [`Ue::recv_ip`].
const DOWNLINK_PACKETS: usize = 1024;

impl Ue {
    /// Starts the task of a UE in a gNB's cell.
    pub(crate) fn start(gnb: Gnb, config: UeConfig, netns: Netns) -> Result<Self, GnbError> {
        let interface = Interface::new(&config, netns);
        let nas = UeNas::new(config, gnb.config().plmn)
            .map_err(|e| GnbError::Config { gnb: gnb.name().to_owned(), reason: e.to_string() })?;
        let (commands, commanded) = mpsc::channel(16);
        let (downlink_ip, packets) = mpsc::channel(DOWNLINK_PACKETS);
        let supi = nas.supi().into();
        let timeout = gnb.config().procedure_timeout;
        tokio::spawn(task::run(nas, gnb, interface, commanded, downlink_ip));
        Ok(Ue { commands, supi, timeout, downlink_ip: Mutex::new(packets) })
    }

    /// `imsi-…` or `nai-…`.
    pub fn supi(&self) -> &str {
        &self.supi
    }

    /// A command sender that does not keep the UE's task alive.
    pub(crate) fn weak(&self) -> mpsc::WeakSender<Command> {
        self.commands.downgrade()
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, UeError> {
        self.ask_within(self.timeout, command).await
    }

    async fn ask_within<T>(
        &self,
        limit: Duration,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, UeError> {
        let (reply, answer): (_, oneshot::Receiver<_>) = Reply::new();
        self.commands.send(command(reply)).await.map_err(|_| UeError::Gone)?;
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(UeError::Gone),
            Err(_) => Err(UeError::Timeout(limit)),
        }
    }

    /// Initial registration, by 5G-GUTI if the UE has one, else by SUCI (TS 24.501, 5.5.1.2).
    ///
    /// # Errors
    /// The network rejected it, was not authentic, or did not answer.
    pub async fn register(&self) -> Result<RegistrationOutcome, UeError> {
        self.register_as(RegistrationType::InitialRegistration).await
    }

    /// Registration of a given type.
    ///
    /// # Errors
    /// As [`Ue::register`].
    pub async fn register_as(
        &self,
        kind: RegistrationType,
    ) -> Result<RegistrationOutcome, UeError> {
        self.ask(|reply| Command::Register { kind, reply }).await
    }

    /// Establishes a PDU session (TS 24.501, 6.4.1). On return its tunnel is set up, and its
    /// interface if the UE has a network namespace. An idle UE requests service first.
    ///
    /// # Errors
    /// The network rejected it or did not answer, or the interface could not be created.
    pub async fn establish_pdu_session(
        &self,
        request: PduSessionRequest,
    ) -> Result<PduSession, UeError> {
        self.ask(|reply| Command::Establish { request, reply }).await
    }

    /// Requests the modification of a PDU session (TS 24.501, 6.4.2). Returns the modified session.
    ///
    /// # Errors
    /// The session does not exist, or the network rejected the request or did not answer.
    pub async fn modify_pdu_session(
        &self,
        psi: u8,
        request: ModificationRequest,
    ) -> Result<PduSession, UeError> {
        let request = Box::new(request);
        self.ask(|reply| Command::Modify { psi, request, reply }).await
    }

    /// Releases a PDU session (TS 24.501, 6.4.3).
    ///
    /// # Errors
    /// The session does not exist, or the network rejected the request or did not answer.
    pub async fn release_pdu_session(&self, psi: u8) -> Result<(), UeError> {
        self.ask(|reply| Command::Release { psi, reply }).await
    }

    /// AN release for user inactivity (TS 23.502, 4.2.6). On return the UE is in CM-IDLE.
    ///
    /// # Errors
    /// The AMF did not release the context in time.
    pub async fn release_to_idle(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::ReleaseToIdle { reply }).await
    }

    /// Waits until the UE is in CM-IDLE.
    ///
    /// # Errors
    /// It is still connected after the procedure timeout.
    pub async fn wait_idle(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::WaitIdle { reply }).await
    }

    /// Waits until the UE is paged. Returns at once if it was paged since it entered CM-IDLE.
    ///
    /// # Errors
    /// It was not paged within the procedure timeout.
    pub async fn wait_for_paging(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::WaitPaging { reply }).await
    }

    /// [`Ue::wait_for_paging`] with a time limit.
    ///
    /// # Errors
    /// The UE was not paged within the limit.
    pub async fn wait_for_paging_within(&self, limit: Duration) -> Result<(), UeError> {
        self.ask_within(limit, |reply| Command::WaitPaging { reply }).await
    }

    /// Service request as an answer to paging, or for signalling (TS 24.501, 5.6.1). Joins one in
    /// progress; returns at once for a connected UE.
    ///
    /// # Errors
    /// The network rejected it or did not answer.
    pub async fn service_request(&self) -> Result<(), UeError> {
        self.service_request_for(ServicePurpose::PagingResponse, &[]).await
    }

    /// Service request for a purpose. `uplink_data` lists the sessions with pending uplink data.
    ///
    /// # Errors
    /// As [`Ue::service_request`].
    pub async fn service_request_for(
        &self,
        purpose: ServicePurpose,
        uplink_data: &[u8],
    ) -> Result<(), UeError> {
        let uplink_data = uplink_data.to_vec();
        self.ask(|reply| Command::Service { purpose, uplink_data, reply }).await
    }

    /// De-registration (TS 24.501, 5.5.2.2). On return the connection is released.
    ///
    /// # Errors
    /// The UE is not registered, or its connection was not released in time.
    pub async fn deregister(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Deregister { switch_off: false, reply }).await
    }

    /// De-registration with switch-off, which the network does not answer.
    ///
    /// # Errors
    /// As [`Ue::deregister`].
    pub async fn switch_off(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Deregister { switch_off: true, reply }).await
    }

    /// Sends an IP packet through a PDU session without an interface. Without a tunnel the packet
    /// is queued and the UE requests service.
    ///
    /// # Errors
    /// The session does not exist, the gNB has no user plane, or the queue is full.
    pub async fn send_ip(&self, psi: u8, packet: impl Into<Bytes>) -> Result<(), UeError> {
        let packet = packet.into();
        self.ask(|reply| Command::SendIp { psi, packet, reply }).await
    }

    /// The next IP packet for a session without an interface: PDU session identity and packet.
    ///
    /// # Errors
    /// No packet within the procedure timeout.
    pub async fn recv_ip(&self) -> Result<(u8, Bytes), UeError> {
        let mut packets = self.downlink_ip.lock().await;
        match tokio::time::timeout(self.timeout, packets.recv()).await {
            Ok(Some(packet)) => Ok(packet),
            Ok(None) => Err(UeError::Gone),
            Err(_) => Err(UeError::Timeout(self.timeout)),
        }
    }

    /// Sends bytes as a NAS message, valid or not; as an initial message if the UE is not
    /// connected.
    ///
    /// # Errors
    /// The gNB has lost the AMF.
    pub async fn send_raw_nas(&self, nas: impl Into<Vec<u8>>) -> Result<(), UeError> {
        let nas = nas.into();
        self.ask(|reply| Command::SendRawNas { nas, reply }).await
    }

    /// Sends a 5GMM message as it is on the existing connection, protected.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn send_nas(&self, message: Nas5gsMessage) -> Result<(), UeError> {
        let message = Box::new(message);
        self.ask(|reply| Command::SendNas { message, reply }).await
    }

    /// Sends the last protected NAS message again (replay).
    ///
    /// # Errors
    /// The UE has sent none, or the gNB has lost the AMF.
    pub async fn replay_last_nas(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Replay { reply }).await
    }

    /// The gNB returns this number of the next downlink NAS messages with NAS NON DELIVERY
    /// INDICATION.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn withhold_nas(&self, messages: u8) -> Result<(), UeError> {
        self.ask(|reply| Command::Withhold { messages, reply }).await
    }

    /// Sends a 5GSM message as it is. The session need not exist.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn send_session_message(
        &self,
        psi: u8,
        message: Nas5gsMessage,
    ) -> Result<(), UeError> {
        let message = Box::new(message);
        self.ask(|reply| Command::SendSessionMessage { psi, message, reply }).await
    }

    /// Sends a protected message with a wrong MAC.
    ///
    /// # Errors
    /// The UE has no security context in use, or the gNB has lost the AMF.
    pub async fn send_with_wrong_mac(&self, message: Nas5gsMessage) -> Result<(), UeError> {
        let message = Box::new(message);
        self.ask(|reply| Command::WrongMac { message, reply }).await
    }

    /// The state of the UE.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn status(&self) -> Result<UeStatus, UeError> {
        self.ask(|reply| Command::Status { reply }).await
    }

    /// Deletes the 5G-GUTI and the security contexts, so that the next registration uses a SUCI. A
    /// connection is released first.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn forget_registration(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Forget { reply }).await
    }

    /// Sets the radio environment that the gNB's measurements use.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub(crate) async fn set_environment(
        &self,
        environment: RadioEnvironment,
    ) -> Result<(), UeError> {
        let environment = Box::new(environment);
        self.ask(|reply| Command::SetEnvironment { environment, reply }).await
    }

    /// The events of the UE from now on. The queue is bounded: a slow reader loses the oldest
    /// events.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn subscribe(&self) -> Result<broadcast::Receiver<UeEvent>, UeError> {
        self.ask(|reply| Command::Subscribe { reply }).await
    }

    /// N2 handover to another gNB (TS 23.502, 4.9.1.3). On return the target serves the UE and the
    /// source's context is released.
    ///
    /// # Errors
    /// The UE is not connected, or the handover failed.
    pub async fn handover_to(&self, gnb: &Gnb) -> Result<HandoverOutcome, UeError> {
        self.handover(gnb, HandoverPlan::default()).await
    }

    /// N2 handover according to a plan.
    ///
    /// # Errors
    /// As [`Ue::handover_to`].
    pub async fn handover(
        &self,
        gnb: &Gnb,
        plan: HandoverPlan,
    ) -> Result<HandoverOutcome, UeError> {
        let gnb = gnb.clone();
        self.ask(|reply| Command::Handover { gnb, plan, reply }).await
    }

    /// Xn handover to another gNB (TS 23.502, 4.9.1.2). On return the path is switched.
    ///
    /// # Errors
    /// The UE is not connected, or the path switch failed: then its connection is released.
    pub async fn xn_handover_to(&self, gnb: &Gnb) -> Result<HandoverOutcome, UeError> {
        self.xn_handover_without(gnb, &[]).await
    }

    /// Xn handover in which the target does not take these sessions over.
    ///
    /// # Errors
    /// As [`Ue::xn_handover_to`].
    pub async fn xn_handover_without(
        &self,
        gnb: &Gnb,
        lost: &[u8],
    ) -> Result<HandoverOutcome, UeError> {
        self.xn_handover(gnb, XnHandoverPlan { lost: lost.to_vec(), ..XnHandoverPlan::default() })
            .await
    }

    /// Xn handover according to a plan.
    ///
    /// # Errors
    /// As [`Ue::xn_handover_to`].
    pub async fn xn_handover(
        &self,
        gnb: &Gnb,
        plan: XnHandoverPlan,
    ) -> Result<HandoverOutcome, UeError> {
        let gnb = gnb.clone();
        self.ask(|reply| Command::PathSwitch { gnb, plan, reply }).await
    }

    /// Moves to another cell of the same gNB, numbered from 1. The gNB reports it if the AMF
    /// requested location reporting, or with the UE's next message.
    ///
    /// # Errors
    /// The gNB has lost the AMF.
    pub async fn change_cell(&self, cell: u16) -> Result<(), UeError> {
        self.ask(|reply| Command::ChangeCell { cell, reply }).await
    }

    /// Selects the cell of another gNB in CM-IDLE.
    ///
    /// # Errors
    /// The UE is connected.
    pub async fn move_to(&self, gnb: &Gnb) -> Result<(), UeError> {
        let gnb = gnb.clone();
        self.ask(|reply| Command::Move { gnb, reply }).await
    }
}
