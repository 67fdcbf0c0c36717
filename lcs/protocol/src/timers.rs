//! The timers of TS 24.572, 12.3, and the retransmission of the messages that they supervise.

use std::time::{Duration, Instant};

/// Retransmissions of a command. The expiry after the last one aborts the procedure.
pub const RETRANSMISSIONS: u32 = 4;

/// The time until each message is retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timers {
    /// T5012: establishment, at the LMF.
    pub establishment: Duration,
    /// T5015: modification, at the LMF.
    pub modification: Duration,
    /// T5010: release, at the LMF.
    pub release: Duration,
    /// A request of the UE to establish or to release.
    pub request: Duration,
    /// Binding of a channel: at the UE since the request, at the LMF since the channel was opened.
    pub binding: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Timers {
            establishment: Duration::from_secs(10),
            modification: Duration::from_secs(16),
            release: Duration::from_secs(16),
            request: Duration::from_secs(10),
            binding: Duration::from_secs(10),
        }
    }
}

/// A message that is retransmitted until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Procedure {
    bytes: Vec<u8>,
    period: Duration,
    expires: Instant,
    left: u32,
}

impl Procedure {
    /// Starts with a message that was just sent.
    pub fn start(now: Instant, period: Duration, bytes: Vec<u8>) -> Self {
        Procedure { bytes, period, expires: now + period, left: RETRANSMISSIONS }
    }

    /// When the timer expires.
    pub fn expires(&self) -> Instant {
        self.expires
    }

    /// Handles the expiry: returns the message to retransmit; None after the last retransmission.
    pub fn expired(&mut self, now: Instant) -> Option<&[u8]> {
        self.left = self.left.checked_sub(1)?;
        self.expires = now + self.period;
        Some(&self.bytes)
    }
}
