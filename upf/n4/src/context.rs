//! State of a session in N4 in addition to its rules.
use super::Moment;
use super::ue_address::Lease;
use martlet_pfcp::ie::*;
use martlet_upf_datapath::Usage;
use martlet_upf_rules::{ById, Session, StoredSession, Urr};
use std::time::{Duration, Instant, SystemTime};

/// A session.
pub(super) struct Context {
    stored: StoredSession,
    /// The association that it belongs to.
    pub association: u64,
    /// The setup of the association in which the SMF has last confirmed the session.
    pub setup: u64,
    pub established: Instant,
    /// The same as people read it.
    wall: SystemTime,
    /// Usage reporting rules that have measured since another time than the start of the session.
    clocks: ById<u32, UrrClock>,
    /// A notification that a BAR delays.
    pub notification: Option<Notification>,
    /// Addresses that it has of us.
    pub leases: Vec<Lease>,
    /// The activity after which idleness was last reported.
    pub idle_since: Option<Instant>,
}

/// Content of a downlink data report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notification {
    pub pdr: u16,
    pub qfi: Option<u8>,
    pub dscp: u8,
}

/// The time that a usage reporting rule measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UrrClock {
    /// Of its next report.
    pub sequence: u32,
    pub since: Instant,
    pub wall: SystemTime,
    /// When its time quota was granted.
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
        let (stored, established, wall, clocks) =
            (session.into(), now.instant, now.wall, ById::new());
        Context {
            stored,
            association,
            setup: 0,
            established,
            wall,
            clocks,
            notification: None,
            leases,
            idle_since: None,
        }
    }

    fn first_clock(&self) -> UrrClock {
        UrrClock::start(Moment { instant: self.established, wall: self.wall })
    }

    /// The time of a usage reporting rule.
    pub fn clock(&self, urr: u32) -> UrrClock {
        self.clocks.get(&urr).copied().unwrap_or_else(|| self.first_clock())
    }

    /// It is this one from now on.
    pub fn set_clock(&mut self, urr: u32, clock: UrrClock) {
        // A default value needs no memory.
        if clock != self.clock(urr) {
            self.clocks.insert(urr, clock);
        }
    }

    /// The rule was removed.
    pub fn forget_clock(&mut self, urr: u32) {
        self.clocks.remove(&urr);
    }

    /// The session.
    pub fn session(&self) -> Session {
        self.stored.whole()
    }

    /// The session's rules, right but for F-SEIDs, TEIDs and addresses of the UE.
    pub fn rules(&self) -> &Session {
        self.stored.rules()
    }

    /// The CP function's end.
    pub fn cp(&self) -> FSeid {
        self.stored.cp()
    }

    /// The session is another one now.
    pub fn set(&mut self, session: Session) {
        self.stored = session.into();
    }

    /// Closes a measurement and begins the next. `urr` is the rule, which may be one that is being
    /// removed.
    pub fn measured(
        &mut self,
        urr: &Urr,
        usage: &Usage,
        trigger: UsageReportTrigger,
        now: Moment,
    ) -> Measured {
        let mut clock = self.clock(usage.urr);
        let measured = Measured {
            urr: usage.urr,
            sequence: clock.sequence,
            trigger,
            start: clock.wall,
            end: now.wall,
            volume: urr.volume.then(|| VolumeMeasurement {
                octets: triple(usage.uplink_bytes, usage.downlink_bytes),
                packets: triple(usage.uplink_packets, usage.downlink_packets),
            }),
            duration: urr.duration.then(|| now.instant.saturating_duration_since(clock.since)),
        };
        clock.sequence = clock.sequence.wrapping_add(1);
        (clock.since, clock.wall) = (now.instant, now.wall);
        self.set_clock(usage.urr, clock);
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
