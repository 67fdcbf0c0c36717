//! One PDU session between a UE's interface and the gNB's tunnel.
use super::endpoint::{Shared, UserPlane};
use super::port_state::{
    Active, Phase, PortState, TargetBuffer, Tunnel, Uplink, UplinkWaiting, lock,
};
use bytes::Bytes;
use martlet_ngap::transfer::GtpTunnel;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tun_rs::SyncDevice;

/// UDP port of GTP-U (TS 29.281, 4.4.2).
pub(super) const GTPU_PORT: u16 = 2152;

impl UserPlane {
    /// Opens a port for PDU session `psi` of a UE. Downlink packets go to `downlink` until an
    /// interface is attached.
    pub(crate) fn open(
        &self,
        psi: u8,
        downlink: mpsc::Sender<(u8, Bytes)>,
        uplink_waiting: UplinkWaiting,
    ) -> Port {
        let state = self.shared().add_port(|id| PortState::new(id, psi, downlink, uplink_waiting));
        Port { shared: self.shared().clone(), state }
    }
}

/// One PDU session between a UE's interface and the gNB's tunnel. Dropping it closes both.
pub struct Port {
    pub(super) shared: Arc<Shared>,
    pub(super) state: Arc<PortState>,
}

impl Port {
    /// Opens the gNB's end of a tunnel and sends the queued packets. Returns its TEID.
    pub fn activate(&self, tunnel: Tunnel) -> u32 {
        let previous = lock(&self.state.active).take();
        if let Some(previous) = previous {
            self.shared.release_teid(previous.downlink_teid);
        }
        let downlink_teid = self.shared.allocate_teid(&self.state, false);
        self.set(tunnel, downlink_teid);
        downlink_teid
    }

    /// Prepares the target of a handover: downlink packets are buffered. With `forwarding`, returns
    /// the TEID for forwarded packets, which are delivered before those of the UPF.
    pub fn prepare_target(&self, forwarding: bool) -> Option<u32> {
        let buffer = TargetBuffer { forwarding, ..TargetBuffer::default() };
        *lock(&self.state.phase) = Phase::Target(buffer);
        let teid = forwarding.then(|| self.shared.allocate_teid(&self.state, true));
        *lock(&self.state.forwarding_teid) = teid;
        teid
    }

    /// The UE has arrived at the target. Forwarding ends after `within` without an end marker.
    pub fn ue_arrived(&self, within: Duration) {
        let mut phase = lock(&self.state.phase);
        if let Phase::Target(buffer) = &mut *phase {
            buffer.arrived = true;
        }
        self.state.flush_buffers(&mut phase);
        if matches!(*phase, Phase::Target(_)) {
            let state = Arc::downgrade(&self.state);
            tokio::spawn(async move {
                tokio::time::sleep(within).await;
                if let Some(state) = state.upgrade() {
                    state.end_forwarding();
                }
            });
        }
    }

    /// The UE has left for the target: downlink packets are forwarded into a tunnel.
    pub fn forward_to(&self, tunnel: GtpTunnel) {
        let peer = SocketAddr::new(
            tunnel.address_from(self.shared.local),
            self.shared.peer_port.unwrap_or(GTPU_PORT),
        );
        let qfi = lock(&self.state.active).map_or(0, |active| active.qfi);
        *lock(&self.state.phase) = Phase::Source { peer, teid: tunnel.teid, qfi };
    }

    /// Changes the UPF's end; the gNB's stays.
    pub fn retarget(&self, tunnel: Tunnel) {
        let downlink_teid = lock(&self.state.active).map(|active| active.downlink_teid);
        if let Some(downlink_teid) = downlink_teid {
            self.set(tunnel, downlink_teid);
        }
    }

    fn set(&self, tunnel: Tunnel, downlink_teid: u32) {
        let peer = SocketAddr::new(
            tunnel.uplink.address_from(self.shared.local),
            self.shared.peer_port.unwrap_or(GTPU_PORT),
        );
        let Tunnel { uplink, qfi, flows } = tunnel;
        let active = Active { peer, teid: uplink.teid, qfi, flows, downlink_teid };
        self.state.open(active, &self.shared.socket);
    }

    /// Closes the tunnel.
    pub fn deactivate(&self) {
        if let Some(teid) = lock(&self.state.forwarding_teid).take() {
            self.shared.release_teid(teid);
        }
        *lock(&self.state.phase) = Phase::Serving;
        let previous = lock(&self.state.active).take();
        if let Some(previous) = previous {
            self.shared.release_teid(previous.downlink_teid);
        }
    }

    /// Sends an IP packet uplink on the calling thread, or queues it until there is a tunnel.
    ///
    /// # Errors
    /// The queue is full, the packet is too long, or the socket returns an error.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self.state.uplink(packet) {
            Uplink::Send(header, peer) => {
                self.shared.socket.send_to(&[header.as_slice(), packet].concat(), peer).map(|_| ())
            }
            Uplink::Queued => Ok(()),
            Uplink::Dropped => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "uplink queue full: the session has no tunnel",
            )),
        }
    }

    /// Attaches an interface.
    ///
    /// # Errors
    /// The interface cannot be added to epoll.
    pub fn attach(&self, tun: SyncDevice) -> io::Result<()> {
        self.attach_shared(Arc::new(tun))
    }

    fn attach_shared(&self, tun: Arc<SyncDevice>) -> io::Result<()> {
        *lock(&self.state.tun) = Some(tun.clone());
        self.shared.watch(&self.state, &tun)
    }

    /// Takes over the interface and the queued packets of the session's port at another gNB.
    ///
    /// # Errors
    /// The interface cannot be added to epoll.
    pub fn take_over(&self, before: &Port) -> io::Result<()> {
        let queued = std::mem::take(&mut *lock(&before.state.queued));
        lock(&self.state.queued).extend(queued);
        let active = *lock(&self.state.active);
        if let Some(active) = active {
            self.state.open(active, &self.shared.socket);
        }
        match lock(&before.state.tun).take() {
            Some(tun) => {
                before.shared.unwatch(&tun);
                self.attach_shared(tun)
            }
            None => Ok(()),
        }
    }

    /// Runs a closure while no packet can be queued.
    #[cfg(test)]
    pub(super) fn with_queue_locked<T>(&self, run: impl FnOnce(&Port) -> T) -> T {
        let _queued = lock(&self.state.queued);
        run(self)
    }

    /// Sets a tunnel without sending the queued packets.
    #[cfg(test)]
    pub(super) fn set_tunnel_only(&self, tunnel: Tunnel) {
        let peer = SocketAddr::new(tunnel.uplink.address_from(self.shared.local), GTPU_PORT);
        let Tunnel { uplink, qfi, flows } = tunnel;
        let active = Active { peer, teid: uplink.teid, qfi, flows, downlink_teid: 0 };
        *lock(&self.state.active) = Some(active);
    }

    /// Number of end markers received and of packets dropped.
    pub fn counts(&self) -> (u64, u64) {
        (self.state.end_markers.load(Ordering::Relaxed), self.state.dropped.load(Ordering::Relaxed))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.deactivate();
        if let Some(tun) = lock(&self.state.tun).take() {
            self.shared.unwatch(&tun);
        }
        self.shared.remove_port(self.state.id);
    }
}
