//! The time that a procedure waits for the core.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of stored waits; no procedure has as many.
const WAITS: usize = 16;

/// The UE's waits for the core, each from an uplink message to the next downlink message.
#[derive(Debug, Default)]
pub(crate) struct CoreTime {
    sent: Option<Instant>,
    /// When each wait ended and how long it was.
    waits: VecDeque<(Instant, Duration)>,
}

impl CoreTime {
    /// An uplink message was passed to the transport.
    pub(super) fn sent(&mut self, at: Instant) {
        self.sent = Some(at);
    }

    /// A downlink message was received.
    pub(super) fn received(&mut self, at: Instant) {
        if let Some(sent) = self.sent.take() {
            self.waits.truncate(WAITS - 1);
            self.waits.push_front((at, at.saturating_duration_since(sent)));
        }
    }

    /// Time waited since the start of a procedure.
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
        // The UE computes for 10 ms, then sends two messages before an answer.
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
