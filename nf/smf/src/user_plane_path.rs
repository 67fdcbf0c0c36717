//! The UPFs of a session: one, or one that gNBs send to and an anchor behind it.
use martlet_ngap::transfer::GtpTunnel;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A GTP-U tunnel endpoint: TEID and address.
pub type Tunnel = (u32, IpAddr);

/// A UPF's tunnel endpoint on N9.
pub type N9Tunnel = Tunnel;

/// Bit in our session endpoint identifier (CP F-SEID) for the UPF that does not count the usage:
/// the anchor behind an uplink classifier, or an intermediate UPF.
pub const SECOND_SEID: u64 = 1 << 63;

/// An N4 session at a UPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpfSession {
    /// N4 address of the UPF.
    pub upf: SocketAddr,
    /// Number of the association in which the N4 session was established.
    pub generation: u64,
    /// The UPF's session endpoint identifier.
    pub seid: u64,
    /// TEID of the UPF's N3 tunnel endpoint.
    pub teid: u32,
    /// Address of that endpoint.
    pub address: IpAddr,
    /// IPv6 address of an endpoint with both IP versions.
    pub ipv6: Option<Ipv6Addr>,
}

impl UpfSession {
    /// The UPF's N3 tunnel endpoint, for gNBs.
    pub fn n3(&self) -> GtpTunnel {
        GtpTunnel { second_address: self.ipv6, ..GtpTunnel::new(self.address, self.teid) }
    }

    /// A gNB's tunnel endpoint, with the address of an IP version that this UPF uses.
    pub fn gnb(&self, tunnel: &GtpTunnel) -> Tunnel {
        (tunnel.teid, tunnel.address_from(self.address))
    }
}

/// The UPFs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserPlanePath {
    /// One UPF.
    Anchor(UpfSession),
    /// An uplink classifier before the anchor (TS 23.501, 5.6.4.2).
    Classifier { classifier: UpfSession, anchor: UpfSession },
    /// An intermediate UPF before the anchor, because the anchor does not reach the UE's gNB.
    Intermediate { intermediate: UpfSession, anchor: UpfSession },
}

impl UserPlanePath {
    /// The N4 session at the UPF that gNBs send to.
    pub fn access(&self) -> UpfSession {
        match self {
            UserPlanePath::Anchor(upf) => *upf,
            UserPlanePath::Classifier { classifier, .. } => *classifier,
            UserPlanePath::Intermediate { intermediate, .. } => *intermediate,
        }
    }

    /// The N4 session at the PDU session anchor.
    pub fn anchor(&self) -> UpfSession {
        match self {
            UserPlanePath::Anchor(anchor)
            | UserPlanePath::Classifier { anchor, .. }
            | UserPlanePath::Intermediate { anchor, .. } => *anchor,
        }
    }

    /// Whether the session has a second UPF.
    pub fn has_two_upfs(&self) -> bool {
        !matches!(self, UserPlanePath::Anchor(_))
    }

    /// Whether an uplink classifier stands before the anchor.
    pub fn has_classifier(&self) -> bool {
        matches!(self, UserPlanePath::Classifier { .. })
    }

    /// The intermediate UPF.
    pub fn intermediate(&self) -> Option<UpfSession> {
        match self {
            UserPlanePath::Intermediate { intermediate, .. } => Some(*intermediate),
            _ => None,
        }
    }

    /// Whether a UPF has an N4 session of this session.
    pub fn uses(&self, upf: SocketAddr) -> bool {
        self.access().upf == upf || self.anchor().upf == upf
    }

    /// The N4 session with our session endpoint identifier.
    pub fn by_seid(&self, seid: u64) -> Option<UpfSession> {
        let is_second = seid & SECOND_SEID != 0;
        match self {
            UserPlanePath::Anchor(upf) => (!is_second).then_some(*upf),
            UserPlanePath::Classifier { classifier, anchor } => {
                Some(if is_second { *anchor } else { *classifier })
            }
            UserPlanePath::Intermediate { intermediate, anchor } => {
                Some(if is_second { *intermediate } else { *anchor })
            }
        }
    }

    /// All N4 sessions, each with the distinguishing bit of our session endpoint identifier:
    /// [`SECOND_SEID`] or 0.
    pub fn all(&self) -> impl Iterator<Item = (u64, UpfSession)> + use<> {
        let path = *self;
        [0, SECOND_SEID].into_iter().filter_map(move |bit| Some((bit, path.by_seid(bit)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u8) -> UpfSession {
        let address = IpAddr::from([127, 0, 0, n]);
        let upf = SocketAddr::new(address, 8805);
        UpfSession { upf, generation: 1, seid: n.into(), teid: n.into(), address, ipv6: None }
    }

    #[test]
    fn a_session_endpoint_identifier_selects_one_of_two_upfs() {
        let of = |path: UserPlanePath| (path.by_seid(7), path.by_seid(7 | SECOND_SEID));
        assert_eq!(of(UserPlanePath::Anchor(at(1))), (Some(at(1)), None));
        let classifier = UserPlanePath::Classifier { classifier: at(1), anchor: at(2) };
        assert_eq!(of(classifier), (Some(at(1)), Some(at(2))));
        let intermediate = UserPlanePath::Intermediate { intermediate: at(1), anchor: at(2) };
        assert_eq!(of(intermediate), (Some(at(2)), Some(at(1))));
        assert_eq!(intermediate.all().collect::<Vec<_>>(), [(0, at(2)), (SECOND_SEID, at(1))]);
        assert!(intermediate.uses(at(2).upf) && !intermediate.uses(at(3).upf));
    }
}
