//! A UE's connection through the gNB: its identifiers, its SCTP stream, cell selection and release.
use super::command::UeEvent;
use super::context::{Connection, EARLY, SourceContext, Starts, UeContext};
use crate::gnb::error::UeError;
use crate::gnb::link::LinkError;
use crate::gnb::node::Gnb;
use crate::sample::Procedure;
use crate::ue::MmState;
use crate::user_plane::UserPlane;
use bytes::Bytes;
use martlet_nas::STmsi;
use martlet_ngap::ngap::UserLocationInformation;
use std::time::Instant;

/// Messages and identifiers.
impl UeContext {
    pub(crate) fn supi(&self) -> &str {
        &self.supi
    }

    pub(crate) fn gnb_name(&self) -> &str {
        self.gnb.name()
    }

    /// AMF UE NGAP ID and RAN UE NGAP ID.
    pub(crate) fn ids(&self) -> Option<(u64, u32)> {
        self.connection.amf_id.zip(self.connection.ran_id)
    }

    pub(crate) fn set_amf_id(&mut self, amf_id: u64) {
        if self.connection.amf_id.is_none()
            && let Some(ran_id) = self.connection.ran_id
        {
            self.connection.amf_id = Some(amf_id);
            self.gnb.ues().set_amf_id(ran_id, amf_id);
        }
    }

    pub(crate) fn location(&self) -> UserLocationInformation<'static> {
        self.gnb.identity().location_in(self.cell)
    }

    /// Passes a message to the transport, on the UE's stream. Returns the moment just before.
    pub(crate) async fn transmit(&mut self, message: Vec<u8>) -> Result<Instant, LinkError> {
        let at = Instant::now();
        self.core.sent(at);
        self.gnb.send(self.connection.stream, message.into()).await?;
        Ok(at)
    }

    /// Waits for RRC messages that end at the gNB: `halves` of a round trip. Returns when the wait
    /// began; `None` without a delay.
    pub(crate) async fn uplink_radio(&mut self, halves: u32) -> Option<Instant> {
        self.radio(halves).await.map(|(began, _)| began)
    }

    /// Waits for RRC messages that end at the UE: `halves` of a round trip. The current input
    /// reaches the UE after them.
    pub(crate) async fn downlink_radio(&mut self, halves: u32) {
        if let Some((_, ended)) = self.radio(halves).await {
            self.received = ended;
        }
    }

    /// Waits for RRC messages. Returns begin and end of the wait, which is none of the core's.
    async fn radio(&mut self, halves: u32) -> Option<(Instant, Instant)> {
        let half = self.gnb.rrc_round_trip() / 2;
        if half.is_zero() {
            return None;
        }
        let began = Instant::now();
        tokio::time::sleep(half * halves).await;
        let ended = Instant::now();
        self.core.radio(began, ended);
        Some((began, ended))
    }

    /// Passes a NAS message from the AMF to the UE.
    pub(crate) fn nas_received(&mut self, nas: &[u8]) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::NasReceived(Bytes::copy_from_slice(nas)));
        }
        self.nas.receive(nas, self.received);
    }

    /// Queues a NAS message until the AMF has assigned an AMF UE NGAP ID.
    pub(crate) fn wait_for_amf(&mut self, nas: Vec<u8>) {
        match self.connection.early.len() < EARLY {
            true => self.connection.early.push(nas),
            false => tracing::warn!(
                supi = %self.supi,
                gnb = self.gnb.name(),
                "NAS message dropped: no AMF UE NGAP ID yet and the queue is full"
            ),
        }
    }

    /// Whether the AMF's K_gNB equals the UE's. True if the gNB does not check it, or the UE has no
    /// security context.
    pub(crate) fn k_gnb_agrees(&self, key: &[u8]) -> bool {
        !self.gnb.config().check_k_gnb || self.nas.security().has_k_gnb(key)
    }

    /// Records a sample of a procedure that started at `start`.
    pub(crate) fn record(
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
                self.core.between(start, self.received),
                failure,
            );
        }
    }
}

/// Begin and end of the connection.
impl UeContext {
    /// Begins a connection: allocates a RAN UE NGAP ID and a stream.
    pub(crate) fn connect(&mut self) -> u32 {
        self.disconnect();
        let ran_id = self.gnb.ues().connect(self.inbox.clone());
        let stream = self.gnb.stream_of(ran_id);
        self.connection = Connection { ran_id: Some(ran_id), stream, ..Connection::default() };
        ran_id
    }

    /// Removes the gNB's context of the UE.
    pub(crate) fn disconnect(&mut self) {
        let psis: Vec<u8> = self.sessions.keys().copied().collect();
        for psi in psis {
            self.deactivate(psi);
        }
        self.connection.early.clear();
        self.measurements.end();
        self.reporting = None;
        if let Some(ran_id) = self.connection.ran_id.take() {
            self.gnb.ues().disconnect(ran_id, self.connection.amf_id.take());
        }
    }

    /// The AMF has released the context: the UE enters CM-IDLE.
    pub(crate) fn released(&mut self) {
        self.abort_handover(UeError::State("the connection was released during the procedure"));
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

    /// The association with the AMF has ended: every waiting command fails.
    pub(crate) fn link_lost(&mut self, reason: &str) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::ConnectionReleased);
            let _ = events.send(UeEvent::GnbLost(reason.into()));
        }
        let error = UeError::GnbLost(reason.to_owned());
        self.abort_handover(error.clone());
        self.waiters.handover.finish(Err(error.clone()));
        self.disconnect();
        self.starts = Starts::default();
        self.waiters.registration.finish(Err(error.clone()));
        self.waiters.service.finish(Err(error.clone()));
        self.waiters.deregistration.finish(Err(error.clone()));
        self.waiters.idle.finish(Err(error.clone()));
        self.waiters.paging.finish(Err(error.clone()));
        for waiting in &mut self.waiters.establishment {
            waiting.finish(Err(error.clone()));
        }
        for waiting in &mut self.waiters.modification {
            waiting.finish(Err(error.clone()));
        }
        for waiting in &mut self.waiters.session_release {
            waiting.finish(Err(error.clone()));
        }
        self.nas.connection_released(Instant::now());
    }

    /// Ends a handover before the UE has left the source. The AMF releases the target's context.
    pub(crate) fn abort_handover(&mut self, error: UeError) {
        let Some(handover) = self.handover.take() else { return };
        if let Some(target) = handover.at_target {
            self.left.push(SourceContext {
                gnb: handover.target,
                connection: target.connection,
                ports: target.ports,
                outcome: None,
            });
        }
        self.record(Procedure::Handover, Some(handover.start), Some(error.to_string()));
        self.waiters.handover.finish(Err(error));
    }

    /// Moves the connection to another association of the gNB, under the same RAN UE NGAP ID.
    pub(crate) fn continue_on(&mut self, other: Gnb, ran_id: u32) {
        tracing::info!(supi = %self.supi, gnb = self.gnb.name(), "UE moved to another AMF");
        self.gnb.ues().disconnect(ran_id, self.connection.amf_id.take());
        self.gnb = other;
        self.gnb.ues().insert(ran_id, self.inbox.clone());
        self.connection.stream = self.gnb.stream_of(ran_id);
    }
}

/// Cell selection of an idle UE.
impl UeContext {
    /// Listens to paging while registered.
    pub(crate) fn camp(&mut self) {
        if self.nas.state().is_registered()
            && let Some(guti) = self.nas.guti()
        {
            self.gnb.ues().camp(guti.s_tmsi(), self.inbox.clone());
            self.camped = Some(guti.s_tmsi());
        }
    }

    /// Stops listening to paging.
    pub(crate) fn leave_cell(&mut self) {
        if let Some(s_tmsi) = self.camped.take() {
            self.gnb.ues().leave(s_tmsi);
        }
    }

    /// Selects an association with an available AMF, where the current AMF is lost or unavailable.
    pub(crate) fn select_available_amf(&mut self) {
        if self.connection.ran_id.is_some() {
            return;
        }
        if let Some(other) = self.gnb.alternative()
            && let Err(error) = self.move_to(other)
        {
            tracing::warn!(
                supi = %self.supi,
                gnb = self.gnb.name(),
                %error,
                "selection of another AMF failed"
            );
        }
    }

    /// Selects the AMF for the first message of a connection, where the gNB has several to choose
    /// from.
    pub(crate) fn select_amf(&mut self, s_tmsi: Option<&STmsi>) {
        if self.gnb.config().further_amfs.is_empty() || self.connection.ran_id.is_some() {
            return self.select_available_amf();
        }
        let identity = s_tmsi.map(|id| (id.amf_set_id(), id.amf_pointer()));
        let Some(selected) = self.gnb.select_amf(identity) else { return };
        if !selected.is(&self.gnb)
            && let Err(error) = self.move_to(selected)
        {
            tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), %error, "AMF not selected");
        }
    }

    /// Selects a cell of another gNB.
    pub(crate) fn move_to(&mut self, gnb: Gnb) -> Result<(), UeError> {
        if self.connection.ran_id.is_some() {
            return Err(UeError::State("only an idle UE selects another cell"));
        }
        self.leave_cell();
        self.nas.select_plmn(&gnb.config().plmn);
        let same_user_plane = UserPlane::same(self.gnb.user_plane(), gnb.user_plane());
        self.gnb = gnb;
        self.camp();
        if same_user_plane {
            return Ok(());
        }
        // Each gNB has its own ports; the UE's interfaces move to the new ones.
        let mut failed = None;
        for (psi, before) in std::mem::take(&mut self.ports) {
            let Some(user_plane) = self.gnb.user_plane() else { continue };
            let port = self.open_port(user_plane, psi);
            failed = port.take_over(&before).err().or(failed);
            self.ports.insert(psi, port);
        }
        failed.map_or(Ok(()), |error| Err(UeError::Interface(error.to_string())))
    }
}
