//! How much may be on its way at once: a whole message, unless the path takes nothing at all.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Octets on their way before the first acknowledgement: one message, 65,795 octets, with its
/// headers.
pub(super) const WHOLE: u64 = 80_000;
/// A window from which on quinn-proto does not pace: the message goes at once, and what the peer
/// has said that it takes is then the limit ([`super::transport::RECEIVE`]).
const WITHOUT_PACING: u64 = 1 << 40;

/// A phone that is located has a message on its way, and then none. On radio a lost packet is no
/// sign that somebody else needs the path, so that it changes nothing. With a window that each loss
/// makes smaller, and that grows only when it is full, which one message now and then does not do,
/// a path that loses 5 % ends at two packets for each round trip.
///
/// Where everything is lost for three time-outs (persistent congestion, RFC 9002, 7.6), the window
/// begins again with two packets, and doubles with each round trip.
#[derive(Debug, Clone)]
pub(super) struct OneMessage {
    mtu: u64,
    /// Smaller than [`WHOLE`] after persistent congestion.
    window: u64,
    /// What was sent before says nothing of the path as it is now.
    collapsed: Option<Instant>,
}

/// Makes them.
#[derive(Debug)]
pub(super) struct OneMessageConfig;

impl ControllerFactory for OneMessageConfig {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(OneMessage { mtu: mtu.into(), window: WHOLE, collapsed: None })
    }
}

impl Controller for OneMessage {
    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _limited: bool,
        _rtt: &RttEstimator,
    ) {
        if self.window < WHOLE && self.collapsed.is_none_or(|at| sent > at) {
            self.window = (self.window + bytes).min(WHOLE);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, _lost: u64) {
        if persistent && self.collapsed.is_none_or(|at| sent > at) {
            self.window = 2 * self.mtu;
            self.collapsed = Some(now);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
        self.window = self.window.max(2 * self.mtu);
    }

    fn window(&self) -> u64 {
        if self.window < WHOLE { self.window } else { WITHOUT_PACING }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        WHOLE
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_lost_packet_changes_nothing_and_a_dead_path_ends_it_for_a_while() {
        let now = Instant::now();
        let later = |ms| now + Duration::from_millis(ms);
        let mut controller = OneMessage { mtu: 1372, window: WHOLE, collapsed: None };
        controller.on_congestion_event(later(1), now, false, 1372);
        assert_eq!(controller.window(), WITHOUT_PACING);
        controller.on_congestion_event(later(900), later(2), true, 50_000);
        assert_eq!(controller.window(), 2 * 1372);
        // What was sent before counts once.
        controller.on_congestion_event(later(901), later(3), true, 1372);
        assert_eq!(controller.collapsed, Some(later(900)));
        controller.mtu = 1372;
        controller.window += 1372;
        assert_eq!(controller.window(), 3 * 1372);
        controller.window = WHOLE;
        assert_eq!(controller.window(), WITHOUT_PACING);
    }
}
