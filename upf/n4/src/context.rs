//! State of a session in N4 in addition to its rules.
use super::Moment;
use super::teid::ChosenTunnel;
use super::ue_address::Lease;
use super::volumes::SessionLines;
use martlet_pfcp::ie::*;
use martlet_upf_datapath::Usage;
use martlet_upf_rules::{ById, Session, StoredSession, Urr, VolumeLimit};
use std::time::{Duration, Instant, SystemTime};

/// A session.
pub(super) struct Context {
    stored: StoredSession,
    /// The association that it belongs to.
    pub association: u64,
    /// The setup of the association in which the SMF has last confirmed the session.
    pub setup: u64,
    pub established: Instant,
    /// The same in readable form.
    wall: SystemTime,
    /// Usage reporting rules that have measured since another time than the start of the session.
    clocks: ById<u32, UrrClock>,
    /// A notification that a BAR delays.
    pub notification: Option<Notification>,
    /// Addresses that it has of us.
    pub leases: Vec<Lease>,
    /// Its allocated tunnels.
    pub chosen: Box<[ChosenTunnel]>,
    /// The activity after which inactivity was reported, and when it is reported again.
    pub inactivity_reported: Option<(Instant, Instant)>,
    /// Downlink data reports in a row that were not answered.
    pub silent_reports: u8,
    /// Measurements that few rules have.
    progress: Option<Box<ById<u32, Progress>>>,
    /// Connection sets to which it belongs.
    csids: Box<[(CsidNode, u16)]>,
    /// The lines on which its bytes count.
    pub lines: SessionLines,
}

/// What a usage reporting rule measures beyond volume and plain duration.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The usage before the Monitoring Time, which is reported with the next report.
    pub before: Option<Measured>,
    /// The volume threshold from the next report on.
    pub next_threshold: Option<VolumeLimit>,
    /// When events occurred since the last report.
    pub events: Vec<SystemTime>,
    /// How many since the last report, and since the quota was granted.
    pub counted: [u32; 2],
    /// Traffic passes since then; only if its starts and stops are detected.
    pub running: Option<Instant>,
    /// For how long it passed before, since the last report.
    pub metered: Duration,
    /// What was left of the time threshold and the time quota when traffic stopped.
    pub paused: [Option<Duration>; 2],
}

/// Times of events in one report; their number counts all of them.
const MAX_EVENTS: usize = 16;

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
    /// Sequence number of the next report.
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
#[derive(Debug, Clone)]
pub(super) struct Measured {
    urr: u32,
    sequence: u32,
    trigger: UsageReportTrigger,
    start: SystemTime,
    end: SystemTime,
    volume: Option<VolumeMeasurement>,
    duration: Option<Duration>,
    first: Option<SystemTime>,
    last: Option<SystemTime>,
    application: Option<Vec<u8>>,
    information: Option<UsageInformation>,
    events: Vec<SystemTime>,
}

impl Measured {
    /// Of before the Monitoring Time (1), or after it (2).
    pub fn of_part(mut self, part: u8) -> Self {
        self.information = Some(UsageInformation(part));
        self
    }

    /// Of the start or stop of an application's traffic.
    pub fn of_application(mut self, id: Option<Vec<u8>>) -> Self {
        self.application = id;
        self
    }
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
            chosen: Box::default(),
            inactivity_reported: None,
            silent_reports: 0,
            progress: None,
            csids: Box::default(),
            lines: SessionLines::default(),
        }
    }

    /// Sets its connection sets; without any, the previous ones remain.
    pub fn join(&mut self, sets: &[FqCsid]) {
        if !sets.is_empty() {
            let each = |set: &FqCsid| {
                let node = set.node;
                set.csids.iter().map(move |csid| (node, *csid)).collect::<Vec<_>>()
            };
            self.csids = sets.iter().flat_map(each).collect();
        }
    }

    /// Whether it belongs to one of these connection sets.
    pub fn is_in(&self, sets: &[FqCsid]) -> bool {
        let within = |(node, csid): &(CsidNode, u16)| {
            sets.iter().any(|set| set.node == *node && set.csids.contains(csid))
        };
        self.csids.iter().any(within)
    }

    /// What a rule has measured beyond volume and plain duration, if anything.
    pub fn progress(&self, urr: u32) -> Option<&Progress> {
        self.progress.as_ref()?.get(&urr)
    }

    /// The same, to change it.
    pub fn progress_mut(&mut self, urr: u32) -> &mut Progress {
        self.progress.get_or_insert_default().get_or_insert_with(urr, Progress::default)
    }

    fn first_clock(&self) -> UrrClock {
        UrrClock::start(Moment { instant: self.established, wall: self.wall })
    }

    /// The time of a usage reporting rule.
    pub fn clock(&self, urr: u32) -> UrrClock {
        self.clocks.get(&urr).copied().unwrap_or_else(|| self.first_clock())
    }

    /// Sets it.
    pub fn set_clock(&mut self, urr: u32, clock: UrrClock) {
        // A default value needs no memory.
        if clock != self.clock(urr) {
            self.clocks.insert(urr, clock);
        }
    }

    /// The rule was removed.
    pub fn forget_clock(&mut self, urr: u32) {
        self.clocks.remove(&urr);
        if let Some(progress) = &mut self.progress {
            progress.remove(&urr);
        }
    }

    /// The session.
    pub fn session(&self) -> Session {
        self.stored.whole()
    }

    /// The session's rules, correct except for F-SEIDs, TEIDs and addresses of the UE.
    pub fn rules(&self) -> &Session {
        self.stored.rules()
    }

    /// The CP function's end.
    pub fn cp(&self) -> FSeid {
        self.stored.cp()
    }

    /// Replaces the session.
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
        let mut events = Vec::new();
        let mut duration = now.instant.saturating_duration_since(clock.since);
        if let Some(progress) =
            self.progress.as_mut().and_then(|progress| progress.get_mut(&usage.urr))
        {
            events = std::mem::take(&mut progress.events);
            progress.counted[0] = 0;
            if urr.inactivity.is_some() {
                let running = progress.running.map(|since| since.max(clock.since));
                let since = running
                    .map_or(Duration::ZERO, |since| now.instant.saturating_duration_since(since));
                duration = std::mem::take(&mut progress.metered) + since;
            }
        }
        events.truncate(MAX_EVENTS);
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
            duration: urr.duration.then_some(duration),
            first: usage.first,
            last: usage.last,
            application: None,
            information: None,
            events,
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
                let seconds = |time: Duration| {
                    DurationMeasurement(u32::try_from(time.as_secs()).unwrap_or(u32::MAX))
                };
                let ntp = super::clock::ntp_seconds;
                $report {
                    urr_id: UrrId(m.urr),
                    ur_seqn: UrSeqn(m.sequence),
                    trigger: m.trigger,
                    start: Some(StartTime(super::clock::ntp_seconds(m.start))),
                    end: Some(EndTime(super::clock::ntp_seconds(m.end))),
                    volume: m.volume,
                    duration: m.duration.map(seconds),
                    application: m.application.map(|id| ApplicationDetectionInformation {
                        application_id: ApplicationId(id),
                    }),
                    first_packet: m.first.map(|time| TimeOfFirstPacket(ntp(time))),
                    last_packet: m.last.map(|time| TimeOfLastPacket(ntp(time))),
                    information: m.information,
                    events: m.events.into_iter().map(|time| EventTimeStamp(ntp(time))).collect(),
                }
            }
        }
    )*};
}

from_measured!(UsageReport, UsageReportInModification, UsageReportInDeletion);
