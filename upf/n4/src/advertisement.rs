//! Router Advertisements that no UE has solicited (RFC 4861, 6.2.4; TS 29.061). Without
//! them a UE's default router expires, and with it the default route.
use super::deadlines::Deadline;
use super::{Moment, N4};
use martlet_upf_rules::{Session, SessionKind, UeAddress};
use std::time::Duration;

/// The shortest and the longest interval in seconds.
const MIN_INTERVAL: u64 = 16_200;
const MAX_INTERVAL: u64 = 21_600;

/// Whether the UE of a session learns its IPv6 prefix from advertisements.
pub(super) fn is_advertised(session: &Session) -> bool {
    let is_prefix = |address: &UeAddress| matches!(address, UeAddress::V6(_));
    session.kind == SessionKind::Ip && session.ue_addresses().iter().any(is_prefix)
}

/// Random, so that the advertisements of sessions that were restored together are spread.
fn interval() -> Duration {
    Duration::from_secs(MIN_INTERVAL + rand::random::<u64>() % (MAX_INTERVAL - MIN_INTERVAL + 1))
}

impl N4 {
    /// Schedules the next advertisement of a session.
    pub(super) fn advertise_later(&mut self, seid: u64, now: Moment) {
        self.deadlines.set(Deadline::Advertisement { seid }, now.instant + interval());
    }

    /// The rules of a session changed: it may have got a prefix, or lost it.
    pub(super) fn follow_prefix(&mut self, seid: u64, before: bool, after: bool, now: Moment) {
        match (before, after) {
            (false, true) => self.advertise_later(seid, now),
            (true, false) => self.deadlines.cancel(Deadline::Advertisement { seid }),
            _ => {}
        }
    }

    /// Sends an advertisement that is due.
    pub(super) fn advertise(&mut self, seid: u64, now: Moment) {
        self.datapath.advertise(seid);
        self.advertise_later(seid, now);
    }
}
