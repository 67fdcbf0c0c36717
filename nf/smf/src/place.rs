//! Where a session's user plane is: at one UPF, or at one that gNBs speak to and an anchor behind
//! it.
use martlet_ngap::transfer::GtpTunnel;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// In our session endpoint identifier, for the UPF of two that does not count what the session
/// uses: the anchor behind an uplink classifier, the intermediate UPF before an anchor.
pub const SECOND: u64 = 1 << 63;

/// A session at a UPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpfSession {
    /// The UPF.
    pub upf: SocketAddr,
    /// The association with it in which the session was made, by the order of associations.
    pub generation: u64,
    /// Its session endpoint identifier.
    pub seid: u64,
    /// Its end of N3.
    pub teid: u32,
    /// Address of that end.
    pub address: IpAddr,
    /// Its IPv6 address, where it has both.
    pub second: Option<Ipv6Addr>,
}

impl UpfSession {
    /// Its end of N3, as gNBs are told.
    pub fn n3(&self) -> GtpTunnel {
        GtpTunnel { second_address: self.second, ..GtpTunnel::new(self.address, self.teid) }
    }

    /// A gNB's end of N3, which may have addresses of both IP versions: one that this end can send
    /// to.
    pub fn gnb(&self, tunnel: &GtpTunnel) -> (u32, IpAddr) {
        (tunnel.teid, tunnel.address_from(self.address))
    }
}

/// Where a session is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The UPF to which gNBs speak.
    pub upf: UpfSession,
    /// The UPF that leads to the data network, where that is another one.
    pub anchor: Option<UpfSession>,
    /// Of two, the first has no exit of its own: it is there because the anchor does not reach the
    /// UE's gNB (I-UPF).
    pub intermediate: bool,
}

impl Place {
    /// At one UPF.
    pub fn at(upf: UpfSession) -> Self {
        Place { upf, anchor: None, intermediate: false }
    }

    /// Whether a UPF has something of the session.
    pub fn is_at(&self, upf: SocketAddr) -> bool {
        self.upf.upf == upf || self.anchor.is_some_and(|anchor| anchor.upf == upf)
    }

    /// The one that our session endpoint identifier means.
    pub fn of(&self, seid: u64) -> Option<UpfSession> {
        if (seid & SECOND != 0) == self.intermediate { Some(self.upf) } else { self.anchor }
    }

    /// Our session endpoint identifiers without what tells sessions apart: [`SECOND`] or nothing,
    /// each with its UPF.
    pub fn all(&self) -> impl Iterator<Item = (u64, UpfSession)> + use<> {
        let place = *self;
        [0, SECOND].into_iter().filter_map(move |bit| Some((bit, place.of(bit)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u8) -> UpfSession {
        let address = IpAddr::from([127, 0, 0, n]);
        let upf = SocketAddr::new(address, 8805);
        UpfSession { upf, generation: 1, seid: n.into(), teid: n.into(), address, second: None }
    }

    #[test]
    fn an_identifier_means_one_of_two() {
        let of = |place: Place| (place.of(7), place.of(7 | SECOND));
        assert_eq!(of(Place::at(at(1))), (Some(at(1)), None));
        let classifier = Place { anchor: Some(at(2)), ..Place::at(at(1)) };
        assert_eq!(of(classifier), (Some(at(1)), Some(at(2))));
        let intermediate = Place { intermediate: true, ..classifier };
        assert_eq!(of(intermediate), (Some(at(2)), Some(at(1))));
        assert_eq!(intermediate.all().collect::<Vec<_>>(), [(0, at(2)), (SECOND, at(1))]);
        assert!(intermediate.is_at(at(2).upf) && !intermediate.is_at(at(3).upf));
    }
}
