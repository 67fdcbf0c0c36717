//! A UE's connection through the gNB: its identifiers, its stream, its tunnels, and how it ends.
use super::UeError;
use super::command::UeEvent;
use super::link::LinkError;
use super::procedures::nas_transport::uplink_downlink;
use crate::gnb::procedures::pdu_session::resources::RanSession;
use super::ue_task::{Connection, EARLY, Starts, UeTask};
use crate::sample::Procedure;
use crate::ue::MmState;
use crate::user_plane::Tunnel;
use bytes::Bytes;
use martlet_ngap::ngap::UserLocationInformation;
use martlet_ngap::transfer::GtpTunnel;
use std::time::Instant;

impl UeTask {
    /// The gNB has lost the AMF: nothing that was asked for will come.
    pub(super) fn link_lost(&mut self, reason: &str) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::ConnectionReleased);
        }
        let error = UeError::GnbLost(reason.to_owned());
        crate::gnb::procedures::handover::handover_preparation::give_up(self, error.clone());
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

    /// The context is released: the UE is idle, or deregistered and silent.
    pub(super) fn released(&mut self) {
        crate::gnb::procedures::handover::handover_preparation::give_up(self, UeError::State("the connection was released meanwhile"));
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

    pub(super) fn disconnect(&mut self) {
        let psis: Vec<u8> = self.sessions.keys().copied().collect();
        for psi in psis {
            self.deactivate(psi);
        }
        self.connection.early.clear();
        self.measured.end();
        self.reporting = None;
        if let Some(ran_id) = self.connection.ran_id.take() {
            self.gnb.table().disconnect(ran_id, self.connection.amf_id.take());
        }
    }

    /// Listen to paging while idle and registered.
    pub(super) fn camp(&mut self) {
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
        let stream = self.gnb.stream_of(ran_id);
        self.connection = Connection { ran_id: Some(ran_id), stream, ..Connection::default() };
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

    /// Keep a NAS message until the AMF has given the UE an identifier.
    pub(super) fn wait_for_amf(&mut self, nas: Vec<u8>) {
        match self.connection.early.len() < EARLY {
            true => self.connection.early.push(nas),
            false => {
                tracing::warn!(supi = %self.supi, gnb = self.gnb.name(), "NAS dropped: the AMF has not answered yet")
            }
        }
    }

    /// Send what waited for the AMF's first answer.
    pub(super) async fn send_early(&mut self) {
        if self.ids().is_none() {
            return;
        }
        for nas in std::mem::take(&mut self.connection.early) {
            if let Err(error) = uplink_downlink::uplink(self, nas).await {
                return self.link_lost(&error.to_string());
            }
        }
    }

    /// AMF UE NGAP ID and RAN UE NGAP ID.
    pub(super) fn ids(&self) -> Option<(u64, u32)> {
        self.connection.amf_id.zip(self.connection.ran_id)
    }

    /// Hand a message to the transport, on the UE's stream. The moment just before.
    pub(super) async fn transmit(&mut self, message: Vec<u8>) -> Result<Instant, LinkError> {
        let at = Instant::now();
        self.core.sent(at);
        self.gnb.link().send(self.connection.stream, message.into()).await?;
        Ok(at)
    }

    /// The gNB that serves it.
    pub(crate) fn gnb(&self) -> &super::Gnb {
        &self.gnb
    }

    /// What the gNB measures of the UE for LMFs.
    pub(crate) fn measured(&mut self) -> &mut crate::nrppa::Measured {
        &mut self.measured
    }

    /// Send a message about the UE.
    pub(crate) async fn send_ngap(&mut self, message: Vec<u8>) -> Result<(), LinkError> {
        self.transmit(message).await.map(|_| ())
    }

    /// Give the UE a NAS message.
    pub(super) fn nas_received(&mut self, nas: &[u8]) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::NasReceived(Bytes::copy_from_slice(nas)));
        }
        self.nas.receive(nas, self.received);
    }

    /// Whether the AMF's K_gNB is the UE's. True where the gNB does not care, or the UE has no
    /// security context.
    pub(super) fn k_gnb_agrees(&self, key: &[u8]) -> bool {
        !self.gnb.config().check_k_gnb
            || self
                .nas
                .security()
                .k_gnb()
                .is_none_or(|expected| expected.as_octets().as_slice() == key)
    }

    pub(super) fn context_is_set_up(&mut self) {
        self.nas.security_mut().begin_access();
        tracing::trace!(supi = %self.supi, gnb = self.gnb.name(), "initial context set up");
    }

    /// Open the gNB's end of the tunnel of session `psi` towards the UPF's end.
    pub(super) fn activate(&mut self, psi: u8, uplink: GtpTunnel, qfis: &[u8]) -> GtpTunnel {
        let tunnel = Tunnel { uplink, qfi: qfis.first().copied().unwrap_or_default() };
        let downlink_teid = match self.gnb.user_plane() {
            Some(user_plane) => {
                let port = self.ports.entry(psi).or_insert_with(|| {
                    user_plane.open(psi, self.downlink_ip.clone(), self.mailbox.clone())
                });
                port.activate(tunnel)
            }
            None => self.gnb.next_teid(),
        };
        self.sessions.insert(psi, RanSession { uplink, qfis: qfis.to_vec(), security: None });
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

    pub(super) fn close_session(&mut self, psi: u8) {
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
        self.gnb.identity().location_in(self.cell)
    }
}
