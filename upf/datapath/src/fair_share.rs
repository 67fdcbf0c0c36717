//! Fair shares of the packet buffer.
//!
//! While there is room, a session may buffer as many packets as its own limit allows. Once the
//! buffer is full, each session with buffered packets has the same share: one that has more loses
//! its oldest packets to a session that has less, so that a UE, or the data network, cannot take
//! the buffer from other UEs.
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pause after a scan of all sessions that found no surplus: a scan of many takes long.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long a share stays in force after the buffer was full.
const IN_FORCE: Duration = Duration::from_secs(10);

/// The share of a session in a buffer that was full a short time ago.
#[derive(Debug, Default)]
pub struct FairShare(Mutex<Option<Look>>);

/// The last scan of all sessions.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    share: usize,
    /// The last scan was for a session with less than its share, and found no session with more.
    in_vain: bool,
}

impl FairShare {
    fn last(&self) -> Option<Look> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many packets a session may have; no limit if the buffer was not full.
    pub fn limit(&self, now: Instant) -> usize {
        let in_force = |look: &Look| now.saturating_duration_since(look.at) < IN_FORCE;
        self.last().filter(in_force).map_or(usize::MAX, |look| look.share)
    }

    /// Whether it is time to scan all sessions again.
    pub fn is_due(&self, now: Instant) -> bool {
        let is_over = |look: Look| now.saturating_duration_since(look.at) >= INTERVAL;
        self.last().is_none_or(|look| !look.in_vain || is_over(look))
    }

    /// Computes the share of each of these sessions in a full buffer of `max` packets. It is in
    /// force from now on. Returned if it exceeds the packets of the session that needs room.
    pub fn set(&self, max: usize, sessions: usize, packets: usize, now: Instant) -> Option<usize> {
        let share = (max / sessions.max(1)).max(1);
        let look = Look { at: now, share, in_vain: packets < share };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
        (packets < share).then_some(share)
    }

    /// The scan found packets beyond the shares.
    pub fn found_surplus(&self) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = &mut *last {
            look.in_vain = false;
        }
    }
}

/// How many packets a session with more than its share loses: an eighth more than it has too many,
/// so that the next packets find room without another scan of all sessions.
pub fn surplus(packets: usize, share: usize) -> usize {
    if packets <= share { 0 } else { packets - (share - share / 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_may_have_its_share_while_the_buffer_was_full_recently() {
        let (share, start) = (FairShare::default(), Instant::now());
        assert_eq!(share.limit(start), usize::MAX);
        assert!(share.is_due(start));
        assert_eq!(share.set(64, 4, 16, start), None);
        assert!(share.is_due(start), "no session was in need");
        assert_eq!(share.set(64, 4, 15, start), Some(16));
        assert_eq!(share.limit(start + INTERVAL), 16);
        assert!(!share.is_due(start + INTERVAL / 2));
        assert!(share.is_due(start + INTERVAL));
        share.found_surplus();
        assert!(share.is_due(start), "a share is due again once there is a surplus");
        assert_eq!(share.limit(start + IN_FORCE), usize::MAX);
        assert_eq!(share.set(3, 100, 0, start), Some(1), "each session has one packet");
    }

    #[test]
    fn sessions_above_their_share_lose_packets_and_others_none() {
        assert_eq!(surplus(16, 16), 0);
        assert_eq!(surplus(1, 1), 0);
        assert_eq!(surplus(17, 16), 3);
        assert_eq!(surplus(256, 255), 32);
        // What remains, with the share of the new session, is less than the buffer has.
        for (max, sessions) in [(65_536, 257), (40, 2), (1000, 7), (5, 5)] {
            let share = (max / sessions).max(1);
            let before = max / (sessions - 1);
            let left = before - surplus(before, share);
            assert!(left * (sessions - 1) < max, "{max} packets, {sessions} sessions");
        }
    }
}
