//! The user plane of a UE: tunnels at the gNB, and ports that connect them with UE interfaces.
use super::context::{SessionResources, TargetContext, UeContext};
use crate::gnb::node::{Gnb, UeInput};
use crate::user_plane::{Port, Tunnel, UserPlane};
use martlet_ngap::transfer::GtpTunnel;

impl UeContext {
    /// A port of a session at a gNB. It reports to this task when an uplink packet waits.
    pub(crate) fn open_port(&self, user_plane: &UserPlane, psi: u8) -> Port {
        let inbox = self.inbox.clone();
        let uplink_waiting = move |psi| {
            let _ = inbox.try_send(UeInput::UplinkData { psi });
        };
        user_plane.open(psi, self.downlink_ip.clone(), Box::new(uplink_waiting))
    }

    /// Sets up the tunnel of session `psi` to the UPF's end. Returns the gNB's end.
    pub(crate) fn activate(&mut self, psi: u8, uplink: GtpTunnel, qfis: &[u8]) -> GtpTunnel {
        let tunnel = Tunnel::new(uplink, qfis);
        let downlink_teid = match self.gnb.user_plane() {
            Some(user_plane) => {
                if !self.ports.contains_key(&psi) {
                    let port = self.open_port(user_plane, psi);
                    self.ports.insert(psi, port);
                }
                self.ports.get(&psi).map_or(0, |port| port.activate(tunnel))
            }
            None => self.gnb.next_teid(),
        };
        let session = SessionResources { uplink, qfis: qfis.to_vec(), security: None };
        self.sessions.insert(psi, session);
        GtpTunnel::new(self.gnb.config().n3_address(), downlink_teid)
    }

    /// Changes the UPF's end or the QoS flows; the gNB's end stays.
    pub(crate) fn retarget(&mut self, psi: u8, uplink: GtpTunnel, qfis: &[u8]) {
        if let Some(session) = self.sessions.get_mut(&psi) {
            session.uplink = uplink;
            session.qfis = qfis.to_vec();
            if let Some(port) = self.ports.get(&psi) {
                port.retarget(Tunnel::new(uplink, qfis));
            }
        }
    }

    /// Releases the gNB's end of the tunnel; the UE's interface stays.
    pub(crate) fn deactivate(&mut self, psi: u8) {
        self.sessions.remove(&psi);
        if let Some(port) = self.ports.get(&psi) {
            port.deactivate();
        }
    }

    /// Releases the tunnel and the UE's interface.
    pub(crate) fn close_session(&mut self, psi: u8) {
        self.sessions.remove(&psi);
        self.ports.remove(&psi);
    }
}

impl TargetContext {
    /// Sets up a session's tunnel at the target, and with `forwarding` a tunnel for forwarded
    /// data. Returns the target's ends of both.
    pub(crate) fn set_up_session(
        &mut self,
        ue: &UeContext,
        gnb: &Gnb,
        psi: u8,
        (uplink, qfis): (GtpTunnel, &[u8]),
        forwarding: bool,
    ) -> (GtpTunnel, Option<GtpTunnel>) {
        let address = gnb.config().n3_address();
        let (downlink, forwarding) = match gnb.user_plane() {
            Some(user_plane) => {
                let port = ue.open_port(user_plane, psi);
                let forwarding = port.prepare_target(forwarding);
                let downlink = port.activate(Tunnel::new(uplink, qfis));
                self.ports.insert(psi, port);
                (downlink, forwarding)
            }
            None => (gnb.next_teid(), forwarding.then(|| gnb.next_teid())),
        };
        let session = SessionResources { uplink, qfis: qfis.to_vec(), security: None };
        self.sessions.insert(psi, session);
        (GtpTunnel::new(address, downlink), forwarding.map(|teid| GtpTunnel::new(address, teid)))
    }
}
