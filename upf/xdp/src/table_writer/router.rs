//! Router Advertisements for IPv6 sessions (RFC 4861, 4.1 and 4.2; TS 23.501, 5.8.2.2.3).
use super::Forwarder;
use super::compile::LookupKey;
use super::state::Entry;
use super::usage::InstalledRule;
use crate::loader::types::{rule, rule_flag};
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_upf_datapath::Event;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_kernel::router::advertisement;
use martlet_upf_rules::{Direction, UeAddress};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

/// The flags with which a rule does not send.
const NO_SEND_FLAGS: u32 = rule_flag::RULE_DROP.0
    | rule_flag::RULE_BUFFER.0
    | rule_flag::RULE_GATE.0
    | rule_flag::RULE_QUOTA.0;

/// Router Solicitations of a UE that are answered at once: twice those of the programs, which may
/// arrive late and together.
const SOLICITATIONS: u32 = 8;
/// The interval of further ones.
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(1);
/// Tunnels whose solicitations are counted; `solicitations` of the programs has as many.
const TUNNELS: usize = 4096;

/// Limits the Router Solicitations of each UE that are answered, as `solicitation_bucket_of` of the
/// programs does. These do not see the ones that arrive in fragments.
#[derive(Default)]
pub(super) struct Solicitations {
    /// By the UE's tunnel: when as many as at first may be answered at once again.
    full_at: HashMap<u32, Instant>,
}

impl Solicitations {
    /// Whether one that arrives in a tunnel is answered. If so, it is counted.
    pub fn allow(&mut self, teid: u32, now: Instant) -> bool {
        if self.full_at.len() >= TUNNELS && !self.full_at.contains_key(&teid) {
            self.full_at.retain(|_, full_at| *full_at > now);
            if self.full_at.len() >= TUNNELS {
                self.full_at.clear();
            }
        }
        let full_at = self.full_at.entry(teid).or_insert(now);
        let next = now.max(*full_at) + SOLICITATION_INTERVAL;
        let allowed = next - now <= SOLICITATION_INTERVAL * SOLICITATIONS;
        if allowed {
            *full_at = next;
        }
        allowed
    }
}

impl Entry {
    /// The session's IPv6 prefix: the upper half of its addresses.
    fn prefix(&self) -> Option<u64> {
        self.lookup_keys.keys().find_map(|lookup_key| match lookup_key {
            LookupKey::Ue(UeAddress::V6(prefix)) => Some(*prefix),
            _ => None,
        })
    }
}

impl Forwarder {
    /// Sends a Router Advertisement with the prefix to the UE of a tunnel, in its session's default
    /// flow. It is signalling and not counted as usage. False if no session has the tunnel.
    pub fn advertise(&self, teid: u32, asked: IpAddr) -> bool {
        let state = &mut *self.lock();
        let seid = state.by_teid.get(&teid);
        let Some(entry) = seid.and_then(|seid| state.sessions.get_mut(seid)) else { return false };
        self.answer_solicitation(entry, asked, false);
        true
    }

    /// See [`Datapath::advertise`](martlet_upf_datapath::Datapath::advertise).
    pub fn advertise_unsolicited(&self, seid: u64) {
        let state = &mut *self.lock();
        let Some(entry) = state.sessions.get_mut(&seid) else { return };
        self.counters.originated_packets.add(1);
        self.answer_solicitation(entry, Ipv6Addr::UNSPECIFIED.into(), false);
        let notifies = |placed: &&InstalledRule| {
            let flags = self.programs.rules.read(placed.index).flags;
            placed.direction == Direction::Downlink && flags & rule_flag::RULE_NOTIFY.0 != 0
        };
        if entry.solicited.is_some()
            && !entry.notified
            && let Some(placed) = entry.rules.iter().rev().find(notifies)
        {
            let (pdr, qfi) = (placed.pdr, entry.marks.get(&placed.pdr).copied());
            let event = Event::DownlinkData { seid, pdr, qfi, dscp: 0 };
            entry.notified = self.report(event);
        }
    }

    /// The same to the UE of a session. While packets to it are buffered, it waits, and is counted
    /// already: `waited` tells so when it is sent.
    pub(super) fn answer_solicitation(&self, entry: &mut Entry, asked: IpAddr, waited: bool) {
        let outcome = match entry.prefix() {
            Some(prefix) => self.send_to_ue(entry, &advertisement(0, asked, prefix)),
            None => Err(DropReason::ForeignSource),
        };
        match outcome {
            Ok(()) => self.counters.signalling_packets.add(u64::from(!waited)),
            Err(DropReason::NoRule) if entry.buffers => {
                entry.solicited = Some(asked.into());
                self.counters.signalling_packets.add(u64::from(!waited));
            }
            Err(reason) => {
                self.counters.lost_packets.add(u64::from(waited));
                self.counters.dropped(reason);
            }
        }
    }

    /// Sends a packet of the UPF into the tunnel of the session's default downlink rule.
    fn send_to_ue(&self, entry: &Entry, packet: &[u8]) -> Result<(), DropReason> {
        let tunnels = |rule: &rule| {
            rule.flags & rule_flag::RULE_TUNNEL.0 != 0 && rule.flags & NO_SEND_FLAGS == 0
        };
        let downlink =
            entry.rules.iter().rev().filter(|placed| placed.direction == Direction::Downlink);
        let mut rules = downlink.map(|placed| (placed, self.programs.rules.read(placed.index)));
        let (placed, rule) = rules.find(|(_, rule)| tunnels(rule)).ok_or(DropReason::NoRule)?;
        let peer = if rule.flags & rule_flag::RULE_TUNNEL6.0 == 0 {
            IpAddr::V4(Ipv4Addr::from(rule.peer4.to_ne_bytes()))
        } else {
            let words = self.programs.cold_rules.read(placed.rest).peer6;
            IpAddr::V6(Ipv6Addr::from_bits(
                words.into_iter().fold(0, |all, word| all << 32 | u128::from(u32::from_be(word))),
            ))
        };
        let marked = rule.flags & rule_flag::RULE_MARK.0 != 0;
        let container = marked.then(|| PduSessionContainer::downlink(rule.qfi));
        let header =
            g_pdu_header(u32::from_be(rule.teid), container, packet.len()).ok_or(DropReason::N3)?;
        let sent = self.gtpu.send(&[header.as_slice(), packet].concat(), peer);
        sent.map_err(|error| {
            tracing::debug!(%peer, %error, "a router advertisement was not sent");
            DropReason::N3
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_is_answered_once_per_second_after_a_burst() {
        let (mut solicitations, start) = (Solicitations::default(), Instant::now());
        let mut answered = |teid, now| (0..20).filter(|_| solicitations.allow(teid, now)).count();
        assert_eq!(answered(1, start), 8);
        assert_eq!(answered(2, start), 8, "of another UE");
        assert_eq!(answered(1, start + Duration::from_millis(999)), 0);
        assert_eq!(answered(1, start + Duration::from_secs(3)), 3);
        assert_eq!(answered(1, start + Duration::from_secs(60)), 8);
        // The table has a bound, beyond which all are forgotten.
        for teid in 0..TUNNELS as u32 + 10 {
            assert!(solicitations.allow(teid + 10, start + Duration::from_secs(60)));
        }
        assert!(solicitations.full_at.len() <= TUNNELS);
    }
}
