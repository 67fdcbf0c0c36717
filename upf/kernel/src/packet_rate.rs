//! Packet rates: at most a number of packets in a span of time (TS 29.244, 5.4.8).
use martlet_upf_rules::PacketRate;
use std::time::Instant;

/// The packets of the current span.
#[derive(Debug, Clone)]
pub(super) struct Window {
    rate: PacketRate,
    since: Instant,
    used: u16,
}

impl Window {
    pub fn new(rate: PacketRate, now: Instant) -> Self {
        Window { rate, since: now, used: 0 }
    }

    pub fn rate(&self) -> PacketRate {
        self.rate
    }

    /// Whether one more packet may pass now.
    pub fn has(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= self.rate.span {
            (self.since, self.used) = (now, 0);
        }
        self.used < self.rate.packets
    }

    /// Counts a packet that passes.
    pub fn take(&mut self) {
        self.used = self.used.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_span_lets_its_packets_pass() {
        let (start, span) = (Instant::now(), Duration::from_secs(60));
        let mut window = Window::new(PacketRate { packets: 2, span }, start);
        for (seconds, passes) in [(0, true), (1, true), (59, false), (60, true), (61, true)] {
            let passed = window.has(start + Duration::from_secs(seconds));
            assert_eq!(passed, passes, "{seconds}");
            if passed {
                window.take();
            }
        }
        assert!(!window.has(start + Duration::from_secs(62)));
    }
}
