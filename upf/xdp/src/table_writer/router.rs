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
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The flags with which a rule does not send.
const NO_SEND_FLAGS: u32 = rule_flag::RULE_DROP.0
    | rule_flag::RULE_BUFFER.0
    | rule_flag::RULE_GATE.0
    | rule_flag::RULE_QUOTA.0;

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
