//! The user plane of a session: its N4 sessions at UPFs, and its connection through the gNB.
use crate::up_security::UpSecurity;
use crate::user_plane_path::{Tunnel, UpfSession, UserPlanePath};
use std::net::SocketAddr;

/// The N4 sessions of a PDU session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum N4Sessions {
    /// None: the PDU session is being established or released.
    #[default]
    None,
    /// Established at one or two UPFs.
    Established(UserPlanePath),
    /// Lost by the UPF, which refuses to restore them: the PDU session ends.
    Lost,
}

/// State of the user plane connection between UE and UPF: `UpCnxState` of TS 29.502, 6.1.6.3.3.
///
/// ```text
///   DEACTIVATED, ------------> ACTIVATING
///   TunnelLost    <----------       |
///       ^       deactivate          | activate
///       |                           v
///       +---- deactivate, ----- ACTIVATED
///             lose_tunnel
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpConnection {
    /// DEACTIVATED: the gNB has no resources for the session.
    #[default]
    Deactivated,
    /// DEACTIVATED: the gNB has lost the tunnel and still counts the session as set up.
    TunnelLost,
    /// ACTIVATING: the AMF has the gNB's resources set up, for a new session with the accept.
    Activating {
        /// Downlink data have arrived meanwhile.
        data_waiting: bool,
    },
    /// ACTIVATED: the gNB has resources for the session, at this N3 tunnel endpoint.
    Activated(Tunnel),
}

impl UpConnection {
    /// Begins an activation.
    pub fn begin_activation(&mut self) {
        if !self.is_activating() {
            *self = UpConnection::Activating { data_waiting: false };
        }
    }

    /// Downlink data have arrived. Returns whether an activation is under way, which makes a
    /// notification unnecessary.
    pub fn data_arrived(&mut self) -> bool {
        match self {
            UpConnection::Activating { data_waiting } => {
                *data_waiting = true;
                true
            }
            _ => false,
        }
    }

    /// The gNB has resources at this tunnel endpoint.
    pub fn activate(&mut self, gnb: Tunnel) {
        *self = UpConnection::Activated(gnb);
    }

    /// The gNB has lost the tunnel of an activated connection. Returns whether it was activated.
    pub fn lose_tunnel(&mut self) -> bool {
        let was_activated = self.is_activated();
        if was_activated {
            *self = UpConnection::TunnelLost;
        }
        was_activated
    }

    /// Deactivates. Returns whether downlink data arrived during an activation.
    pub fn deactivate(&mut self) -> bool {
        let before = std::mem::take(self);
        before == UpConnection::Activating { data_waiting: true }
    }

    /// The gNB's tunnel endpoint while the connection is activated.
    pub fn gnb(&self) -> Option<Tunnel> {
        match self {
            UpConnection::Activated(gnb) => Some(*gnb),
            _ => None,
        }
    }

    /// Whether the gNB has resources for the session.
    pub fn is_activated(&self) -> bool {
        self.gnb().is_some()
    }

    /// Whether the gNB's resources are being set up.
    pub fn is_activating(&self) -> bool {
        matches!(self, UpConnection::Activating { .. })
    }
}

/// The user plane of a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserPlane {
    pub n4: N4Sessions,
    pub connection: UpConnection,
    /// The security policy; `None` leaves the decision to the gNB.
    pub security: Option<UpSecurity>,
    /// The UPF that the session left when it failed.
    pub left_upf: Option<SocketAddr>,
    /// The return to that UPF is scheduled.
    pub is_return_scheduled: bool,
    /// The gNB has the accept of the establishment, and passes it to the UE if it sets the session
    /// up.
    pub is_accept_at_gnb: bool,
}

impl UserPlane {
    /// The UPFs of the session.
    pub fn path(&self) -> Option<UserPlanePath> {
        match self.n4 {
            N4Sessions::Established(path) => Some(path),
            N4Sessions::None | N4Sessions::Lost => None,
        }
    }

    /// The N4 session at the UPF that gNBs send to.
    pub fn access(&self) -> Option<UpfSession> {
        self.path().map(|path| path.access())
    }

    /// The N4 session at the PDU session anchor.
    pub fn anchor(&self) -> Option<UpfSession> {
        self.path().map(|path| path.anchor())
    }

    /// The N4 session that counts the usage: at an uplink classifier, which sees all packets, else
    /// at the anchor.
    pub fn counting(&self) -> Option<UpfSession> {
        self.path()?.by_seid(0)
    }

    /// Whether the UPF has lost the session and does not restore it.
    pub fn is_lost(&self) -> bool {
        self.n4 == N4Sessions::Lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const GNB: Tunnel = (7, IpAddr::V4(Ipv4Addr::LOCALHOST));

    #[test]
    fn data_that_arrive_during_an_activation_are_reported_when_it_fails() {
        let mut connection = UpConnection::default();
        assert!(!connection.data_arrived());
        connection.begin_activation();
        assert!(connection.data_arrived());
        connection.begin_activation();
        assert!(connection.deactivate() && !connection.deactivate());
        connection.activate(GNB);
        assert!(!connection.data_arrived() && !connection.deactivate());
    }

    #[test]
    fn only_an_activated_connection_loses_its_tunnel() {
        let mut connection = UpConnection::default();
        assert!(!connection.lose_tunnel());
        connection.activate(GNB);
        assert_eq!(connection.gnb(), Some(GNB));
        assert!(connection.lose_tunnel() && !connection.lose_tunnel());
        assert_eq!((connection, connection.gnb()), (UpConnection::TunnelLost, None));
        connection.begin_activation();
        connection.deactivate();
        assert_eq!(connection, UpConnection::Deactivated);
    }
}
