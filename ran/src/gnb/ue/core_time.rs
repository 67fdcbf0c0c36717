//! The time that a procedure waits for the core.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of stored intervals; no procedure has as many.
const INTERVALS: usize = 16;

/// When UE and gNB themselves were at work: from a downlink message to the uplink message that
/// follows it, and while RRC messages are on the radio. The core has the rest of a procedure, also
/// between two downlink messages.
#[derive(Debug, Default)]
pub(crate) struct CoreTime {
    /// The last downlink message that no uplink message has followed yet.
    received: Option<Instant>,
    /// Begin and end of each interval of own time, the last one first. They do not overlap.
    own: VecDeque<(Instant, Instant)>,
}

impl CoreTime {
    /// An uplink message was passed to the transport.
    pub(super) fn sent(&mut self, at: Instant) {
        if let Some(received) = self.received.take() {
            self.add(received, at);
        }
    }

    /// A downlink message was received, perhaps before UE and gNB were ready for it.
    pub(super) fn received(&mut self, at: Instant) {
        self.received = Some(self.own.front().map_or(at, |(_, end)| at.max(*end)));
    }

    /// RRC messages were on the radio.
    pub(super) fn radio(&mut self, begin: Instant, end: Instant) {
        let begin = self.received.unwrap_or(begin);
        self.received = self.received.map(|_| end);
        self.add(begin, end);
    }

    /// Adds own time, to the last interval where it continues that.
    fn add(&mut self, begin: Instant, end: Instant) {
        match self.own.front_mut() {
            Some(last) if last.1 == begin => last.1 = end,
            _ => {
                self.own.truncate(INTERVALS - 1);
                self.own.push_front((begin, end));
            }
        }
    }

    /// Time waited in a procedure.
    pub(super) fn between(&self, start: Instant, end: Instant) -> Duration {
        let own: Duration = self
            .own
            .iter()
            .take_while(|(_, to)| *to > start)
            .map(|(from, to)| (*to).min(end).saturating_duration_since((*from).max(start)))
            .sum();
        end.saturating_duration_since(start).saturating_sub(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_of_the_procedure_count() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let ms = Duration::from_millis;
        let mut core = CoreTime::default();
        core.sent(at(0));
        core.received(at(5));
        // The UE computes for 10 ms, then sends two messages before an answer.
        core.sent(at(15));
        core.sent(at(16));
        // The first of two downlink messages needs no answer.
        core.received(at(20));
        core.received(at(21));
        assert_eq!(core.between(at(0), at(21)), ms(11));
        assert_eq!(core.between(at(15), at(21)), ms(6));
        // The answer is sent after the end.
        core.sent(at(23));
        assert_eq!(core.between(at(0), at(21)), ms(11));
        for n in 0..100 {
            core.received(at(31 + 2 * n));
            core.sent(at(32 + 2 * n));
        }
        assert_eq!(core.own.len(), INTERVALS);
    }

    #[test]
    fn the_answer_to_a_page_is_no_wait() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut core = CoreTime::default();
        core.received(at(0));
        core.sent(at(1));
        // Paged at 10, the UE sends its request at 13.
        core.received(at(10));
        core.sent(at(13));
        core.received(at(18));
        assert_eq!(core.between(at(10), at(18)), Duration::from_millis(5));
    }

    #[test]
    fn messages_on_the_radio_are_no_wait() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let ms = Duration::from_millis;
        let mut core = CoreTime::default();
        // The first message of a procedure is 15 ms on the radio.
        core.radio(at(0), at(15));
        core.sent(at(15));
        // The answer is 5 ms on the radio, as the UE's next message. Meanwhile another arrives.
        core.received(at(20));
        core.radio(at(20), at(25));
        core.radio(at(26), at(31));
        core.sent(at(32));
        core.received(at(30));
        core.sent(at(33));
        assert_eq!(core.between(at(0), at(33)), ms(5));
        // The last message ends the procedure after its time on the radio.
        core.received(at(40));
        core.radio(at(40), at(45));
        assert_eq!(core.between(at(0), at(45)), ms(12));
        core.radio(at(45), at(50));
        core.sent(at(51));
        assert_eq!(core.between(at(0), at(45)), ms(12));
    }
}
