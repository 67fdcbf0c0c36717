//! Buffering action rules (TS 29.244, 5.2.4).
use martlet_pfcp::ie::{CreateBar, UpdateBar};
use std::time::Duration;

/// How downlink packets are buffered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bar {
    /// BAR ID.
    pub id: u8,
    /// Delay of the downlink data notification.
    pub notification_delay: Duration,
    /// Packets that the CP function suggests to buffer.
    pub suggested_packets: Option<u8>,
}

/// In multiples of 50 ms (TS 29.244, 8.2.28).
fn delay(units: u8) -> Duration {
    Duration::from_millis(50 * u64::from(units))
}

impl From<&CreateBar> for Bar {
    fn from(ie: &CreateBar) -> Self {
        Bar {
            id: ie.bar_id.0,
            notification_delay: delay(ie.notification_delay.map_or(0, |d| d.0)),
            suggested_packets: ie.suggested_packets.map(|p| p.0),
        }
    }
}

impl Bar {
    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdateBar) {
        if let Some(units) = ie.notification_delay {
            self.notification_delay = delay(units.0);
        }
        if let Some(packets) = ie.suggested_packets {
            self.suggested_packets = Some(packets.0);
        }
    }
}
