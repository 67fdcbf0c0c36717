//! Limits log lines: at most one a second for each reason and peer.
//!
//! A peer that sends bad input must not fill the disk with log lines. Count each event in a metric,
//! and write a line only if [`line()`] admits it:
//!
//! ```
//! # fn refused(peer: std::net::SocketAddr) {
//! if let Some(suppressed) = martlet_log_limit::line("not_ngap", peer.ip()) {
//!     // tracing::warn!(%peer, suppressed, "message dropped: not NGAP");
//! # let _ = suppressed;
//! }
//! # }
//! # refused(([127, 0, 0, 1], 1).into());
//! ```
//!
//! The memory is bounded: beyond [`MAX_LIMITS`] pairs of reason and peer within a second, all
//! further peers of a reason share one line a second.
//!
//! # Errors and features
//!
//! None.
#![forbid(unsafe_code)]
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pairs of reason and peer that have a limit of their own.
pub const MAX_LIMITS: usize = 4096;

/// Time between two lines of a reason and a peer.
const INTERVAL: Duration = Duration::from_secs(1);

static LINES: LogLimit = LogLimit::new(MAX_LIMITS);

/// Whether a line about this reason and peer may be written now. Returns how many lines were
/// suppressed since the last one of the pair.
///
/// `reason` is the label of the metric that counts the event.
pub fn line(reason: &'static str, peer: impl Hash) -> Option<u64> {
    LINES.line(reason, peer, Instant::now())
}

/// The last line of a reason and a peer.
#[derive(Debug, Clone, Copy)]
struct Last {
    at: Instant,
    /// Lines suppressed since then.
    suppressed: u64,
}

/// Limits of many reasons and peers, without a clock.
#[derive(Debug)]
pub struct LogLimit {
    /// By reason and hash of the peer.
    last: Mutex<BTreeMap<(&'static str, u64), Last>>,
    max: usize,
}

impl LogLimit {
    /// A limit that keeps at most `max` pairs.
    pub const fn new(max: usize) -> Self {
        LogLimit { last: Mutex::new(BTreeMap::new()), max }
    }

    /// [`line()`] at a given time.
    pub fn line(&self, reason: &'static str, peer: impl Hash, now: Instant) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        peer.hash(&mut hasher);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pair = (reason, hasher.finish());
        if !last.contains_key(&pair) && last.len() >= self.max {
            last.retain(|_, last| now.saturating_duration_since(last.at) < INTERVAL);
            if last.len() >= self.max {
                // A flood from many peers: they share a line.
                pair = (reason, 0);
            }
        }
        match last.get_mut(&pair) {
            Some(last) if now.saturating_duration_since(last.at) < INTERVAL => {
                last.suppressed += 1;
                None
            }
            Some(last) => {
                let suppressed = std::mem::take(&mut last.suppressed);
                last.at = now;
                Some(suppressed)
            }
            None => {
                last.insert(pair, Last { at: now, suppressed: 0 });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_for_each_reason_and_peer() {
        let limit = LogLimit::new(8);
        let start = Instant::now();
        assert_eq!(limit.line("junk", 1, start), Some(0));
        for _ in 0..1000 {
            assert_eq!(limit.line("junk", 1, start), None);
        }
        assert_eq!(limit.line("junk", 2, start), Some(0), "another peer");
        assert_eq!(limit.line("other", 1, start), Some(0), "another reason");
        assert_eq!(limit.line("junk", 1, start + INTERVAL), Some(1000));
        assert_eq!(limit.line("junk", 1, start + 2 * INTERVAL), Some(0));
    }

    #[test]
    fn many_peers_share_a_line_and_use_bounded_memory() {
        let limit = LogLimit::new(8);
        let start = Instant::now();
        let lines = (0..1000).filter(|peer| limit.line("junk", peer, start).is_some()).count();
        assert_eq!(lines, 8 + 1);
        assert!(limit.last.lock().unwrap().len() <= 9);
        // A second later there is room again.
        assert_eq!(limit.line("junk", 5000, start + INTERVAL), Some(0));
    }
}
