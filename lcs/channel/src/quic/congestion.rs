//! Congestion control for single messages: a whole message may be in flight, unless the path is
//! dead.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Initial window, bytes: one message of 65,795 bytes with its headers.
pub(super) const MESSAGE: u64 = 80_000;
/// A window above which quinn-proto does not pace. Flow control is then the limit
/// ([`super::transport::RECEIVE_WINDOW`]).
const WITHOUT_PACING: u64 = 1 << 40;

/// A UE that is positioned sends single messages. On radio, loss is no sign of congestion, so it
/// does not change the window: a window that shrinks with each loss, and grows only when full,
/// would end at two packets per round trip on a path with 5 % loss.
///
/// Persistent congestion (RFC 9002, 7.6) resets the window to two packets. It then doubles with
/// each round trip.
#[derive(Debug, Clone)]
pub(super) struct OneMessage {
    mtu: u64,
    /// Smaller than [`MESSAGE`] after persistent congestion.
    window: u64,
    /// Acknowledgements of packets sent before this time are ignored.
    collapsed: Option<Instant>,
}

/// Creates the controllers.
#[derive(Debug)]
pub(super) struct OneMessageConfig;

impl ControllerFactory for OneMessageConfig {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(OneMessage { mtu: mtu.into(), window: MESSAGE, collapsed: None })
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
        if self.window < MESSAGE && self.collapsed.is_none_or(|at| sent > at) {
            self.window = (self.window + bytes).min(MESSAGE);
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
        if self.window < MESSAGE { self.window } else { WITHOUT_PACING }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        MESSAGE
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
    fn loss_does_not_change_the_window_and_persistent_congestion_resets_it() {
        let now = Instant::now();
        let later = |ms| now + Duration::from_millis(ms);
        let mut controller = OneMessage { mtu: 1372, window: MESSAGE, collapsed: None };
        controller.on_congestion_event(later(1), now, false, 1372);
        assert_eq!(controller.window(), WITHOUT_PACING);
        controller.on_congestion_event(later(900), later(2), true, 50_000);
        assert_eq!(controller.window(), 2 * 1372);
        // Losses of packets sent before the last reduction are ignored.
        controller.on_congestion_event(later(901), later(3), true, 1372);
        assert_eq!(controller.collapsed, Some(later(900)));
        controller.mtu = 1372;
        controller.window += 1372;
        assert_eq!(controller.window(), 3 * 1372);
        controller.window = MESSAGE;
        assert_eq!(controller.window(), WITHOUT_PACING);
    }
}
