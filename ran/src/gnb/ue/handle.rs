//! A UE as its user holds it: each procedure is one call that waits for its end.
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

/// A UE in the cell of a gNB. Dropping it takes the UE out of reach: the gNB asks the AMF to
/// release its context, its interfaces and its network namespace go.
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

    /// `imsi-…`.
    pub fn supi(&self) -> &str {
        &self.supi
    }

    /// Leads to the UE's task without keeping it alive.
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

    /// Initial registration: by 5G-GUTI where the UE has one, else by SUCI (TS 24.501, 5.5.1.2).
    ///
    /// # Errors
    /// The network rejected it, failed to authenticate itself, or did not answer.
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

    /// Establish a PDU session (TS 24.501, 6.4.1). On return its tunnel is ready, and so is its
    /// interface in the UE's network namespace where it has one. An idle UE asks for service
    /// first.
    ///
    /// # Errors
    /// The network refused or did not answer; the interface could not be made.
    pub async fn establish_pdu_session(
        &self,
        request: PduSessionRequest,
    ) -> Result<PduSession, UeError> {
        self.ask(|reply| Command::Establish { request, reply }).await
    }

    /// Ask the network to change a PDU session (TS 24.501, 6.4.2); the session as it is then.
    ///
    /// # Errors
    /// There is no such session, the network refused or did not answer.
    pub async fn modify_pdu_session(
        &self,
        psi: u8,
        request: ModificationRequest,
    ) -> Result<PduSession, UeError> {
        let request = Box::new(request);
        self.ask(|reply| Command::Modify { psi, request, reply }).await
    }

    /// Release a PDU session (TS 24.501, 6.4.3).
    ///
    /// # Errors
    /// There is no such session, the network refused or did not answer.
    pub async fn release_pdu_session(&self, psi: u8) -> Result<(), UeError> {
        self.ask(|reply| Command::Release { psi, reply }).await
    }

    /// AN release for inactivity: on return the UE is idle (TS 23.502, 4.2.6).
    ///
    /// # Errors
    /// The AMF did not release the context in time.
    pub async fn release_to_idle(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::ReleaseToIdle { reply }).await
    }

    /// Wait until the UE is not connected, whoever releases it.
    ///
    /// # Errors
    /// It still is when the time is over.
    pub async fn wait_idle(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::WaitIdle { reply }).await
    }

    /// Wait until the UE is paged; returns at once where it was paged since it became idle.
    ///
    /// # Errors
    /// It was not when the time is over.
    pub async fn wait_for_paging(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::WaitPaging { reply }).await
    }

    /// [`Ue::wait_for_paging`] with a limit of its own.
    ///
    /// # Errors
    /// The UE was not paged when the time is over.
    pub async fn wait_for_paging_within(&self, limit: Duration) -> Result<(), UeError> {
        self.ask_within(limit, |reply| Command::WaitPaging { reply }).await
    }

    /// Service request as an answer to paging, or for signalling (TS 24.501, 5.6.1). Joins one that
    /// is underway; a UE that is connected has what it asks for.
    ///
    /// # Errors
    /// The network rejected it or did not answer.
    pub async fn service_request(&self) -> Result<(), UeError> {
        self.service_request_for(ServicePurpose::PagingResponse, &[]).await
    }

    /// Service request for a purpose, naming the sessions for which uplink data waits.
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

    /// De-registration (TS 24.501, 5.5.2.2). On return the UE has no connection any more.
    ///
    /// # Errors
    /// The UE is not registered, or its connection was not released in time.
    pub async fn deregister(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Deregister { switch_off: false, reply }).await
    }

    /// De-registration because the UE is switched off, which the network does not answer.
    ///
    /// # Errors
    /// As [`Ue::deregister`].
    pub async fn switch_off(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Deregister { switch_off: true, reply }).await
    }

    /// Send an IP packet through a PDU session, without an interface. While the session has no
    /// tunnel the packet waits and the UE asks for service.
    ///
    /// # Errors
    /// The session does not exist, the gNB has no user plane, or too many packets wait.
    pub async fn send_ip(&self, psi: u8, packet: impl Into<Bytes>) -> Result<(), UeError> {
        let packet = packet.into();
        self.ask(|reply| Command::SendIp { psi, packet, reply }).await
    }

    /// The next IP packet for a session without an interface: PDU session identity and packet.
    ///
    /// # Errors
    /// None came when the time is over.
    pub async fn recv_ip(&self) -> Result<(u8, Bytes), UeError> {
        let mut packets = self.downlink_ip.lock().await;
        match tokio::time::timeout(self.timeout, packets.recv()).await {
            Ok(Some(packet)) => Ok(packet),
            Ok(None) => Err(UeError::Gone),
            Err(_) => Err(UeError::Timeout(self.timeout)),
        }
    }

    /// Send octets as the UE's NAS message, whatever they are; as an initial message where the UE
    /// is not connected.
    ///
    /// # Errors
    /// The gNB has lost the AMF.
    pub async fn send_raw_nas(&self, nas: impl Into<Vec<u8>>) -> Result<(), UeError> {
        let nas = nas.into();
        self.ask(|reply| Command::SendRawNas { nas, reply }).await
    }

    /// Send the last protected NAS message once more, as an attacker on the radio would.
    ///
    /// # Errors
    /// The UE has sent none, or the gNB has lost the AMF.
    pub async fn replay_last_nas(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Replay { reply }).await
    }

    /// The gNB does not deliver so many NAS messages that come for the UE from now on, and says
    /// that it is being handed over (NAS NON DELIVERY INDICATION).
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn withhold_nas(&self, messages: u8) -> Result<(), UeError> {
        self.ask(|reply| Command::Withhold { messages, reply }).await
    }

    /// Send a 5GSM message as it is, on behalf of a session that there may be or not.
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

    /// Send a message, correctly protected except for its MAC.
    ///
    /// # Errors
    /// The UE has no security context in use, or the gNB has lost the AMF.
    pub async fn send_with_wrong_mac(&self, message: Nas5gsMessage) -> Result<(), UeError> {
        let message = Box::new(message);
        self.ask(|reply| Command::WrongMac { message, reply }).await
    }

    /// How the UE is.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn status(&self) -> Result<UeStatus, UeError> {
        self.ask(|reply| Command::Status { reply }).await
    }

    /// Forget 5G-GUTI and security contexts, so that the next registration is by SUCI. A connection
    /// is lost with them.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn forget_registration(&self) -> Result<(), UeError> {
        self.ask(|reply| Command::Forget { reply }).await
    }

    /// Where it is and what is around, for the gNB to measure it by.
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

    /// Everything that happens at the UE from now on. Bounded: a reader that falls behind loses the
    /// oldest.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn subscribe(&self) -> Result<broadcast::Receiver<UeEvent>, UeError> {
        self.ask(|reply| Command::Subscribe { reply }).await
    }

    /// N2 handover to another gNB (TS 23.502, 4.9.1.3). On return the UE is there, and its context
    /// at the old gNB is released.
    ///
    /// # Errors
    /// The UE is not connected, or was not handed over.
    pub async fn handover_to(&self, gnb: &Gnb) -> Result<HandoverOutcome, UeError> {
        self.handover(gnb, HandoverPlan::default()).await
    }

    /// N2 handover as a plan has it.
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

    /// Xn handover to another gNB (TS 23.502, 4.9.1.2): the gNBs agree on it, and the core learns
    /// it afterwards. On return the path is switched.
    ///
    /// # Errors
    /// The UE is not connected, or the core did not switch its path: then it has no connection any
    /// more.
    pub async fn xn_handover_to(&self, gnb: &Gnb) -> Result<HandoverOutcome, UeError> {
        self.xn_handover_without(gnb, &[]).await
    }

    /// The same, where the target does not take these sessions over.
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

    /// The same as a plan says.
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

    /// Go to another cell of the same gNB, from 1. The core learns it where it has asked for it, or
    /// with the UE's next message.
    ///
    /// # Errors
    /// The gNB has lost the AMF.
    pub async fn change_cell(&self, cell: u16) -> Result<(), UeError> {
        self.ask(|reply| Command::ChangeCell { cell, reply }).await
    }

    /// Select the cell of another gNB, while idle.
    ///
    /// # Errors
    /// The UE is connected.
    pub async fn move_to(&self, gnb: &Gnb) -> Result<(), UeError> {
        let gnb = gnb.clone();
        self.ask(|reply| Command::Move { gnb, reply }).await
    }
}
