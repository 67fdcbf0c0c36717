//! What UPFs tell of their load, and by how much they want to be spared (TS 29.244, 6.2.3 and
//! 6.2.4).
use super::N4;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{LoadControlInformation, OverloadControlInformation, SequenceNumber};
use std::net::SocketAddr;
use std::time::Instant;

/// Of one UPF.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    load: Option<(SequenceNumber, u8)>,
    overload: Option<(SequenceNumber, u8, Option<Instant>)>,
}

/// Whether a number was given out after another one: they start anew some time (8.2.31).
fn is_newer(this: SequenceNumber, that: SequenceNumber) -> bool {
    this != that && this.0.wrapping_sub(that.0) < 1 << 31
}

impl Load {
    /// Per cent; 0 where nothing was told.
    pub fn metric(&self) -> u8 {
        self.load.map_or(0, |(_, metric)| metric)
    }

    /// The share of new sessions, in per cent, with which it wants to be spared now.
    pub fn reduction(&self, now: Instant) -> u8 {
        let asked = self.overload.filter(|(_, _, until)| until.is_none_or(|until| now < until));
        asked.map_or(0, |(_, metric, _)| metric)
    }

    fn hear(
        &mut self,
        load: Option<LoadControlInformation>,
        overload: Option<OverloadControlInformation>,
        now: Instant,
    ) {
        if let Some(told) = load
            && self.load.is_none_or(|(number, _)| is_newer(told.sequence_number, number))
        {
            self.load = Some((told.sequence_number, told.metric.0.min(100)));
        }
        if let Some(told) = overload
            && self.overload.is_none_or(|(number, ..)| is_newer(told.sequence_number, number))
        {
            let until = told.timer.span().map(|span| now + span);
            self.overload = Some((told.sequence_number, told.metric.0.min(100), until));
        }
    }
}

impl N4 {
    /// Takes up what a message of a UPF tells of its load.
    pub(super) fn hear_load(&self, from: SocketAddr, message: &Message) {
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
            association.load.hear(load.clone(), overload.clone(), Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::{Metric, Timer};
    use std::time::Duration;

    #[test]
    fn what_was_told_later_counts_and_overload_has_an_end() {
        let (mut load, start) = (Load::default(), Instant::now());
        let told = |number, metric| LoadControlInformation {
            sequence_number: SequenceNumber(number),
            metric: Metric(metric),
        };
        let spare = |number, metric| OverloadControlInformation {
            sequence_number: SequenceNumber(number),
            metric: Metric(metric),
            timer: Timer::of(Duration::from_secs(10)),
            flags: None,
        };
        assert_eq!((load.metric(), load.reduction(start)), (0, 0));
        load.hear(Some(told(u32::MAX, 30)), Some(spare(u32::MAX, 40)), start);
        // One that was overtaken on its way says nothing.
        load.hear(Some(told(u32::MAX - 5, 90)), Some(spare(u32::MAX - 5, 90)), start);
        assert_eq!((load.metric(), load.reduction(start)), (30, 40));
        load.hear(Some(told(1, 50)), Some(spare(2, 60)), start);
        assert_eq!((load.metric(), load.reduction(start + Duration::from_secs(9))), (50, 60));
        assert_eq!(load.reduction(start + Duration::from_secs(10)), 0);
    }
}
