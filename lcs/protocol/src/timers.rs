//! The timers of TS 24.572, 12.3, and the retransmission of what they guard.

use std::time::{Duration, Instant};

/// Retransmissions of a command; at the expiry after the last one the procedure is given up.
pub const RETRANSMISSIONS: u32 = 4;

/// How long each procedure waits for its answer before it is asked again.
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
    /// The binding of a channel, at the UE from the request on, at the LMF from the channel on.
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

/// A message that is sent until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Procedure {
    octets: Vec<u8>,
    period: Duration,
    expires: Instant,
    left: u32,
}

impl Procedure {
    /// Of a message that was just sent for the first time.
    pub fn start(now: Instant, period: Duration, octets: Vec<u8>) -> Self {
        Procedure { octets, period, expires: now + period, left: RETRANSMISSIONS }
    }

    /// When it is to be looked at again.
    pub fn expires(&self) -> Instant {
        self.expires
    }

    /// At its expiry: the message to be sent again; none where it has been sent often enough.
    pub fn expired(&mut self, now: Instant) -> Option<&[u8]> {
        self.left = self.left.checked_sub(1)?;
        self.expires = now + self.period;
        Some(&self.octets)
    }
}
