//! What N4 keeps of a session beside its rules.
use super::Moment;
use super::ue_address::Lease;
use crate::datapath::Usage;
use crate::rules::{ById, KeptSession, Session, Urr};
use martlet_pfcp::ie::*;
use std::time::{Duration, Instant, SystemTime};

/// A session.
pub(super) struct Context {
    kept: KeptSession,
    /// The association that it belongs to.
    pub association: u64,
    pub established: Instant,
    pub clocks: ById<u32, UrrClock>,
    /// A notification that a BAR delays.
    pub notification: Option<Notification>,
    /// Addresses that it has of us.
    pub leases: Vec<Lease>,
    /// The activity after which idleness was last reported.
    pub idle_since: Option<Instant>,
}

/// What a notification of downlink data says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notification {
    pub pdr: u16,
    pub qfi: Option<u8>,
    pub dscp: u8,
}

/// The time that a usage reporting rule measures.
pub(super) struct UrrClock {
    /// Of its next report.
    pub sequence: u32,
    pub since: Instant,
    pub wall: SystemTime,
    /// When its time quota was given.
    pub quota_since: Instant,
}

impl UrrClock {
    pub fn start(now: Moment) -> Self {
        UrrClock { sequence: 0, since: now.instant, wall: now.wall, quota_since: now.instant }
    }
}

/// The elements of a usage report, whichever message carries it.
pub(super) struct Measured {
    urr: u32,
    sequence: u32,
    trigger: UsageReportTrigger,
    start: SystemTime,
    end: SystemTime,
    volume: Option<VolumeMeasurement>,
    duration: Option<Duration>,
}

impl Context {
    pub fn new(session: Session, association: u64, leases: Vec<Lease>, now: Moment) -> Self {
        let clocks = session.urrs.keys().map(|id| (*id, UrrClock::start(now))).collect();
        let (kept, established) = (session.into(), now.instant);
        Context { kept, association, established, clocks, notification: None, leases, idle_since: None }
    }

    /// The session.
    pub fn session(&self) -> Session {
        self.kept.whole()
    }

    /// The session's rules, right but for F-SEIDs, TEIDs and addresses of the UE.
    pub fn rules(&self) -> &Session {
        self.kept.rules()
    }

    /// The CP function's end.
    pub fn cp(&self) -> FSeid {
        self.kept.cp()
    }

    /// The session is another one now.
    pub fn set(&mut self, session: Session) {
        self.kept = session.into();
    }

    /// Closes a measurement and begins the next. `urr` is the rule, which may be one that is being removed.
    pub fn measured(&mut self, urr: &Urr, usage: &Usage, trigger: UsageReportTrigger, now: Moment) -> Measured {
        let clock = self.clocks.get_or_insert_with(usage.urr, || UrrClock::start(now));
        let measured = Measured {
            urr: usage.urr,
            sequence: clock.sequence,
            trigger,
            start: clock.wall,
            end: now.wall,
            volume: urr.volume.then(|| VolumeMeasurement {
                octets: triple(usage.uplink_octets, usage.downlink_octets),
                packets: triple(usage.uplink_packets, usage.downlink_packets),
            }),
            duration: urr.duration.then(|| now.instant.saturating_duration_since(clock.since)),
        };
        clock.sequence = clock.sequence.wrapping_add(1);
        (clock.since, clock.wall) = (now.instant, now.wall);
        measured
    }
}

/// In all, from and to the UE.
fn triple(uplink: u64, downlink: u64) -> [Option<u64>; 3] {
    [Some(uplink.saturating_add(downlink)), Some(uplink), Some(downlink)]
}

macro_rules! from_measured {
    ($($report:ident),*) => {$(
        impl From<Measured> for $report {
            fn from(m: Measured) -> Self {
                let seconds = |time: Duration| DurationMeasurement(u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
                $report {
                    urr_id: UrrId(m.urr),
                    ur_seqn: UrSeqn(m.sequence),
                    trigger: m.trigger,
                    start: Some(StartTime(super::clock::ntp_seconds(m.start))),
                    end: Some(EndTime(super::clock::ntp_seconds(m.end))),
                    volume: m.volume,
                    duration: m.duration.map(seconds),
                }
            }
        }
    )*};
}

from_measured!(UsageReport, UsageReportInModification, UsageReportInDeletion);
