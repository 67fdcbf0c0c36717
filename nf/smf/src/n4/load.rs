//! Load and overload control of UPFs (TS 29.244, 6.2.3 and 6.2.4).
use super::N4;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{LoadControlInformation, OverloadControlInformation, SequenceNumber};
use std::net::SocketAddr;
use std::time::Instant;

/// Load and overload of one UPF.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    load: Option<(SequenceNumber, u8)>,
    overload: Option<(SequenceNumber, u8, Option<Instant>)>,
}

/// Whether a sequence number is later than another one, with wrap-around (TS 29.244, 8.2.31).
fn is_newer(this: SequenceNumber, that: SequenceNumber) -> bool {
    this != that && this.0.wrapping_sub(that.0) < 1 << 31
}

impl Load {
    /// Load in per cent; 0 if the UPF reports none.
    pub fn metric(&self) -> u8 {
        self.load.map_or(0, |(_, metric)| metric)
    }

    /// The share of new sessions, in per cent, that go to other UPFs now.
    pub fn reduction(&self, now: Instant) -> u8 {
        let overload = self.overload.filter(|(_, _, until)| until.is_none_or(|until| now < until));
        overload.map_or(0, |(_, metric, _)| metric)
    }

    fn update(
        &mut self,
        load: Option<LoadControlInformation>,
        overload: Option<OverloadControlInformation>,
        now: Instant,
    ) {
        if let Some(load) = load
            && self.load.is_none_or(|(number, _)| is_newer(load.sequence_number, number))
        {
            self.load = Some((load.sequence_number, load.metric.0.min(100)));
        }
        if let Some(overload) = overload
            && self.overload.is_none_or(|(number, ..)| is_newer(overload.sequence_number, number))
        {
            let until = overload.timer.span().map(|span| now + span);
            self.overload = Some((overload.sequence_number, overload.metric.0.min(100), until));
        }
    }
}

impl N4 {
    /// Updates the load of a UPF from a message.
    pub(super) fn update_load(&self, from: SocketAddr, message: &Message) {
        let (load, overload) = match message {
            Message::SessionEstablishmentResponse(m) => (&m.load, &m.overload),
            Message::SessionModificationResponse(m) => (&m.load, &m.overload),
            Message::SessionDeletionResponse(m) => (&m.load, &m.overload),
            Message::SessionReportRequest(m) => (&m.load, &m.overload),
            _ => return,
        };
        if load.is_none() && overload.is_none() {
            return;
        }
        let mut tables = self.tables();
        if let Some(association) =
            tables.associations.iter_mut().find(|a| a.is_up() && a.upf.n4.ip() == from.ip())
        {
            association.load.update(load.clone(), overload.clone(), Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::{Metric, Timer};
    use std::time::Duration;

    #[test]
    fn later_information_replaces_earlier_and_overload_expires() {
        let (mut load, start) = (Load::default(), Instant::now());
        let load_info = |number, metric| LoadControlInformation {
            sequence_number: SequenceNumber(number),
            metric: Metric(metric),
        };
        let overload_info = |number, metric| OverloadControlInformation {
            sequence_number: SequenceNumber(number),
            metric: Metric(metric),
            timer: Timer::of(Duration::from_secs(10)),
            flags: None,
        };
        assert_eq!((load.metric(), load.reduction(start)), (0, 0));
        load.update(Some(load_info(u32::MAX, 30)), Some(overload_info(u32::MAX, 40)), start);
        // Information that arrives out of order is ignored.
        load.update(
            Some(load_info(u32::MAX - 5, 90)),
            Some(overload_info(u32::MAX - 5, 90)),
            start,
        );
        assert_eq!((load.metric(), load.reduction(start)), (30, 40));
        load.update(Some(load_info(1, 50)), Some(overload_info(2, 60)), start);
        assert_eq!((load.metric(), load.reduction(start + Duration::from_secs(9))), (50, 60));
        assert_eq!(load.reduction(start + Duration::from_secs(10)), 0);
    }
}
