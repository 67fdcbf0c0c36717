//! The part of a procedure that is spent waiting for the core.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Waits that are remembered; no procedure has as many.
const WAITS: usize = 16;

/// Remembers a UE's waits for the core: each from its last uplink message to the next downlink
/// message.
#[derive(Debug, Default)]
pub(crate) struct CoreTime {
    sent: Option<Instant>,
    /// When each wait ended and how long it was.
    waits: VecDeque<(Instant, Duration)>,
}

impl CoreTime {
    /// An uplink message was handed to the transport.
    pub(super) fn sent(&mut self, at: Instant) {
        self.sent = Some(at);
    }

    /// A downlink message came.
    pub(super) fn received(&mut self, at: Instant) {
        if let Some(sent) = self.sent.take() {
            self.waits.truncate(WAITS - 1);
            self.waits.push_front((at, at.saturating_duration_since(sent)));
        }
    }

    /// Time waited since a procedure's start.
    pub(super) fn since(&self, start: Instant) -> Duration {
        self.waits.iter().take_while(|(ended, _)| *ended > start).map(|(_, waited)| *waited).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_of_the_procedure_count() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut core = CoreTime::default();
        core.sent(at(0));
        core.received(at(5));
        // The phone thinks for 10 ms, then asks twice before an answer comes.
        core.sent(at(15));
        core.sent(at(16));
        core.received(at(20));
        core.received(at(21));
        assert_eq!(core.since(at(0)), Duration::from_millis(9));
        assert_eq!(core.since(at(15)), Duration::from_millis(4));
        for n in 0..100 {
            core.sent(at(30 + 2 * n));
            core.received(at(31 + 2 * n));
        }
        assert_eq!(core.since(at(0)), Duration::from_millis(WAITS as u64));
    }
}
