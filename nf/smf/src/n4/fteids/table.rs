//! The TEIDs of a UPF: which are in use, by which session, and which are held.
use martlet_pfcp::ie::{Interface, NetworkInstance, Pdi, PdrId, UserPlaneIpResource};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a TEID is not allocated again that the UPF may still have: the restoration of sessions
/// and the deletion of unknown ones take less.
const HOLD_TIME: Duration = Duration::from_secs(600);

/// Bits of a TEID that name the member of an SMF set.
const MEMBER_BITS: u8 = 7;

/// Attempts to draw a TEID that is not in use.
const TRIES: usize = 64;

/// PDRs and their TEIDs.
type PdrTeids = Vec<(u16, u32)>;

/// The use of a TEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Of a request without a response.
    Requested,
    /// The UPF may still have it, until then.
    Held(Instant),
    /// Of a session, by its reference here and the UPF's session endpoint identifier.
    Session { reference: u64, seid: u64 },
}

/// The TEIDs of one UPF.
#[derive(Default)]
pub(in crate::n4) struct UpfTeids {
    /// Addresses and ranges from which the SMF allocates; empty if the UPF allocates.
    pub(super) resources: Vec<UserPlaneIpResource>,
    /// Whether the UPF has announced who allocates.
    pub(super) is_known: bool,
    pub(super) used: HashMap<u32, Use>,
    pub(super) of_sessions: HashMap<u64, PdrTeids>,
    /// In the order in which their time ends.
    pub(super) held: VecDeque<(Instant, u32)>,
}

impl UpfTeids {
    /// The best resource for the packets of a PDR: the one for its source interface, then the one
    /// for its network instance.
    pub(super) fn resource(
        &self,
        pdi: &Pdi,
        ipv4: bool,
        ipv6: bool,
    ) -> Option<&UserPlaneIpResource> {
        let rank = |asked: bool, has: bool| match (has, asked) {
            (true, true) => 0,
            (false, _) => 1,
            (true, false) => 2,
        };
        let interface: Interface = pdi.source_interface.0;
        let name = pdi.network_instance.as_ref().map(NetworkInstance::name);
        let has_family = |resource: &&UserPlaneIpResource| {
            ipv4 && resource.ipv4.is_some() || ipv6 && resource.ipv6.is_some()
        };
        let fits = self.resources.iter().filter(has_family);
        fits.min_by_key(|resource| {
            let instance = resource.network_instance.as_ref();
            let is_its_name = instance.is_some_and(|instance| Some(instance.name()) == name);
            (
                rank(
                    resource.source_interface == Some(interface),
                    resource.source_interface.is_some(),
                ),
                rank(is_its_name, instance.is_some()),
            )
        })
    }

    /// Whether the UPF has an address.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.resources.iter().any(|resource| match address {
            IpAddr::V4(ip) => resource.ipv4 == Some(ip),
            IpAddr::V6(ip) => resource.ipv6 == Some(ip),
        })
    }

    /// Draws a TEID that is not in use, at random, so that one cannot be guessed from another.
    pub(super) fn draw(&mut self, member: Option<u8>, (bits, range): (u8, u8)) -> Option<u32> {
        let now = Instant::now();
        while let Some((until, teid)) = self.held.front().copied() {
            if until > now {
                break;
            }
            self.held.pop_front();
            if self.used.get(&teid) == Some(&Use::Held(until)) {
                self.used.remove(&teid);
            }
        }
        let teid = (0..TRIES)
            .map(|_| teid_within(rand::random(), member, (bits, range)))
            .find(|teid| *teid != 0 && !self.used.contains_key(teid))?;
        self.used.insert(teid, Use::Requested);
        Some(teid)
    }

    /// Requests the TEID that a session has, for its restoration. Returns `false` if another one
    /// has it.
    pub(super) fn claim(&mut self, reference: u64, teid: u32) -> bool {
        match self.used.get(&teid).copied() {
            None | Some(Use::Held(_)) => {}
            Some(Use::Session { reference: owner, seid }) if owner == reference => {
                self.forget(seid, teid);
            }
            Some(Use::Session { .. } | Use::Requested) => return false,
        }
        self.used.insert(teid, Use::Requested);
        true
    }

    pub(super) fn hold(&mut self, teid: u32) {
        let until = Instant::now() + HOLD_TIME;
        self.used.insert(teid, Use::Held(until));
        self.held.push_back((until, teid));
    }

    /// A session has these TEIDs.
    pub(super) fn keep(&mut self, reference: u64, seid: u64, teids: &[(PdrId, u32)]) {
        for (pdr, teid) in teids {
            let before = self.used.insert(*teid, Use::Session { reference, seid });
            if let Some(Use::Session { seid: former, .. }) = before
                && former != seid
            {
                self.forget(former, *teid);
            }
            let of_session = self.of_sessions.entry(seid).or_default();
            if !of_session.contains(&(pdr.0, *teid)) {
                of_session.push((pdr.0, *teid));
            }
        }
    }

    fn forget(&mut self, seid: u64, teid: u32) {
        if let Some(of_session) = self.of_sessions.get_mut(&seid) {
            of_session.retain(|(_, known)| *known != teid);
            if of_session.is_empty() {
                self.of_sessions.remove(&seid);
            }
        }
    }

    /// The UPF has established a session. Another one that had its identifier is lost.
    pub(super) fn established(&mut self, reference: u64, seid: u64, teids: &[(PdrId, u32)]) {
        self.abandoned(seid);
        self.keep(reference, seid, teids);
    }

    /// This SMF no longer has a session, which the UPF may still have.
    pub(super) fn abandoned(&mut self, seid: u64) {
        for (_, teid) in self.of_sessions.remove(&seid).unwrap_or_default() {
            if matches!(self.used.get(&teid), Some(Use::Session { seid: of, .. }) if *of == seid) {
                self.hold(teid);
            }
        }
    }

    /// The UPF has changed a session.
    pub(super) fn modified(&mut self, seid: u64, teids: &[(PdrId, u32)], removed: &[PdrId]) {
        let reference = self.of_sessions.get(&seid).into_iter().flatten().find_map(|(_, teid)| {
            match self.used.get(teid) {
                Some(Use::Session { reference, .. }) => Some(*reference),
                _ => None,
            }
        });
        if let Some(of_session) = self.of_sessions.get_mut(&seid) {
            let is_removed = |pdr: u16| removed.contains(&PdrId(pdr));
            let gone: Vec<u32> =
                of_session.iter().filter(|(pdr, _)| is_removed(*pdr)).map(|(_, t)| *t).collect();
            of_session.retain(|(pdr, _)| !is_removed(*pdr));
            for teid in gone {
                let is_its = matches!(
                    self.used.get(&teid),
                    Some(Use::Session { seid: of, .. }) if *of == seid
                );
                if is_its && of_session.iter().all(|(_, other)| *other != teid) {
                    self.used.remove(&teid);
                }
            }
        }
        self.keep(reference.unwrap_or_default(), seid, teids);
    }

    /// The UPF has deleted a session.
    pub(super) fn deleted(&mut self, seid: u64) {
        for (_, teid) in self.of_sessions.remove(&seid).unwrap_or_default() {
            if matches!(self.used.get(&teid), Some(Use::Session { seid: of, .. }) if *of == seid) {
                self.used.remove(&teid);
            }
        }
    }

    /// Sessions with these references have ended at another member of the SMF set.
    pub(super) fn ended(&mut self, references: &HashSet<u64>) {
        let of_ended = self.used.iter().filter_map(|(teid, of)| match of {
            Use::Session { reference, seid } if references.contains(reference) => {
                Some((*seid, *teid))
            }
            _ => None,
        });
        let of_ended: Vec<(u64, u32)> = of_ended.collect();
        for (seid, teid) in of_ended {
            self.forget(seid, teid);
            self.hold(teid);
        }
    }

    /// The UPF has lost its sessions, and each may be restored with its TEID.
    pub(super) fn lost(&mut self) {
        self.of_sessions.clear();
        let of_session = |of: &Use| matches!(of, Use::Session { .. });
        let used = self.used.iter().filter(|(_, of)| of_session(of));
        let teids: Vec<u32> = used.map(|(teid, _)| *teid).collect();
        teids.into_iter().for_each(|teid| self.hold(teid));
    }
}

/// A TEID of a UPF's range, which has the given leading bits, and within it of an SMF's.
fn teid_within(random: u32, member: Option<u8>, (bits, range): (u8, u8)) -> u32 {
    let bits = u32::from(bits.min(7));
    let with = |teid: u32, after: u32, length: u32, value: u8| {
        let mask = (u32::MAX >> (32 - length)) << (32 - after - length);
        teid & !mask | (u32::from(value) << (32 - after - length)) & mask
    };
    let teid = if bits > 0 { with(random, 0, bits, range) } else { random };
    member.map_or(teid, |member| with(teid, bits, MEMBER_BITS.into(), member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teid_is_within_the_range_of_the_upf_and_of_the_member_of_the_set() {
        for random in [0, u32::MAX, 0x1234_5678] {
            assert_eq!(teid_within(random, None, (0, 0)), random);
            assert_eq!(teid_within(random, None, (4, 9)) >> 28, 9);
            assert_eq!(teid_within(random, Some(5), (0, 0)) >> 25, 5);
            let both = teid_within(random, Some(127), (7, 3));
            assert_eq!((both >> 25, (both >> 18) & 0x7f), (3, 127));
            assert_eq!(both & 0x3_ffff, random & 0x3_ffff);
        }
    }
}
