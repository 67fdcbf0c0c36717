//! Bytes by peer of N3 and N9, and by data network: the lines between the UPF and its neighbours.
//!
//! Nothing is counted per packet for them. Each session belongs to a line on its access side and to
//! one on its core side. What it has forwarded since the last read is added to both, when the
//! volumes are read and before the session changes its lines or ends.
use super::N4;
use martlet_pfcp::ie::Interface;
use martlet_upf_rules::{Action, Direction, Far, Pdr, Session};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Peers, and data networks, that have a line. Sessions with others are counted on none.
const MAX_LINES: usize = 1024;
/// Two readers within this time share the work of one.
const MIN_AGE: Duration = Duration::from_millis(500);

/// Bytes from UEs, and to UEs.
pub type Bytes = [u64; 2];

/// The far end of a line on the core side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CoreEnd {
    /// A data network, by its network instance.
    Network(Arc<[u8]>),
    /// Another UPF.
    Upf(IpAddr),
}

/// A line and its bytes.
struct Line<K> {
    end: K,
    bytes: Bytes,
    sessions: u32,
}

/// The lines of one side.
struct Side<K> {
    numbers: HashMap<K, u16>,
    lines: Vec<Line<K>>,
}

impl<K> Default for Side<K> {
    fn default() -> Self {
        Side { numbers: HashMap::new(), lines: Vec::new() }
    }
}

impl<K: Clone + Eq + Hash> Side<K> {
    /// The line to an end, which has one more session now. `None` if there are too many.
    fn join(&mut self, end: K) -> Option<u16> {
        let number = match self.numbers.get(&end) {
            Some(number) => *number,
            None => self.open(end)?,
        };
        let line = self.lines.get_mut(usize::from(number))?;
        line.sessions = line.sessions.saturating_add(1);
        Some(number)
    }

    /// A new line. It replaces a line without sessions if there are too many.
    fn open(&mut self, end: K) -> Option<u16> {
        let line = Line { end: end.clone(), bytes: [0; 2], sessions: 0 };
        let at = if self.lines.len() < MAX_LINES {
            self.lines.push(line);
            self.lines.len() - 1
        } else {
            let at = self.lines.iter().position(|line| line.sessions == 0)?;
            let old = std::mem::replace(self.lines.get_mut(at)?, line);
            self.numbers.remove(&old.end);
            at
        };
        let number = u16::try_from(at).ok()?;
        self.numbers.insert(end, number);
        Some(number)
    }

    fn leave(&mut self, number: u16) {
        if let Some(line) = self.lines.get_mut(usize::from(number)) {
            line.sessions = line.sessions.saturating_sub(1);
        }
    }

    fn add(&mut self, number: u16, more: Bytes) {
        if let Some(line) = self.lines.get_mut(usize::from(number)) {
            line.bytes = sum(line.bytes, more);
        }
    }
}

fn sum(one: Bytes, other: Bytes) -> Bytes {
    [one[0].saturating_add(other[0]), one[1].saturating_add(other[1])]
}

fn growth(now: Bytes, before: Bytes) -> Bytes {
    [now[0].saturating_sub(before[0]), now[1].saturating_sub(before[1])]
}

/// The lines of a session, and what has been added to them.
#[derive(Debug, Default)]
pub(super) struct SessionLines {
    /// Bytes that the datapath had counted at the last read.
    seen: Bytes,
    access: Option<u16>,
    core: CoreLines,
}

#[derive(Debug, Default)]
enum CoreLines {
    #[default]
    None,
    /// All packets pass one line.
    One(u16),
    /// An uplink classifier has several.
    ByPdr(Box<[PdrLine]>),
}

/// The line of a PDR.
#[derive(Debug)]
struct PdrLine {
    pdr: u16,
    number: u16,
    direction: Direction,
    /// Its bytes at the last read.
    seen: u64,
}

/// All lines of the UPF.
#[derive(Default)]
pub(super) struct Volumes {
    access: Side<IpAddr>,
    core: Side<CoreEnd>,
    counted: Option<Instant>,
}

/// Bytes of each line since the start of the UPF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineVolumes {
    /// Milliseconds from the start of the UPF to the read.
    pub at_ms: u64,
    /// By peer on the access side: the N3 address of a gNB, or the N9 address of a UPF.
    pub access: BTreeMap<IpAddr, Bytes>,
    /// By data network.
    pub networks: BTreeMap<String, Bytes>,
    /// By peer on the core side: the N9 address of a UPF.
    pub upfs: BTreeMap<IpAddr, Bytes>,
}

impl LineVolumes {
    /// For `martlet status` and the northbound API.
    pub fn status(&self) -> Value {
        fn each<K: ToString>(lines: &BTreeMap<K, Bytes>) -> Value {
            let line = |(end, bytes): (&K, &Bytes)| {
                (end.to_string(), json!({"uplink": bytes[0], "downlink": bytes[1]}))
            };
            lines.iter().map(line).collect::<Map<String, Value>>().into()
        }
        json!({
            "atMs": self.at_ms,
            "access": each(&self.access),
            "networks": each(&self.networks),
            "upfs": each(&self.upfs),
        })
    }
}

/// The peer to which a session's downlink is sent. Of several FARs, the first one counts.
fn access_end(session: &Session) -> Option<IpAddr> {
    let to_access = session.fars.values().find(|far| {
        far.action == Action::Forward
            && far.destination == Some(Interface::Access)
            && far.tunnel.is_some()
    });
    Some(to_access?.tunnel?.peer)
}

/// Where a FAR of the uplink sends packets. The CP function is no line.
fn core_end(far: &Far) -> Option<CoreEnd> {
    if let Some(Interface::Access | Interface::CpFunction) = far.destination {
        return None;
    }
    match far.tunnel {
        Some(tunnel) => Some(CoreEnd::Upf(tunnel.peer)),
        None => far.network_instance.clone().map(CoreEnd::Network),
    }
}

/// The core end of each PDR. Downlink packets in a tunnel come from the UPF to which the uplink
/// goes.
fn core_ends(session: &Session) -> Vec<(&Pdr, CoreEnd)> {
    let uplink = |pdr: &&Pdr| pdr.direction() == Direction::Uplink;
    let end_of = |far: &u32| session.fars.get(far).and_then(core_end);
    let is_upf = |end: &CoreEnd| matches!(end, CoreEnd::Upf(_));
    let upf = session.pdrs.values().filter(uplink).filter_map(|pdr| end_of(&pdr.far)).find(is_upf);
    let named = |name: &Option<Arc<[u8]>>| name.clone().map(CoreEnd::Network);
    let end = |pdr: &Pdr| match (pdr.direction(), pdr.local) {
        (Direction::Uplink, _) => end_of(&pdr.far),
        (Direction::Downlink, Some(_)) => {
            let of_upf = !matches!(pdr.source, Interface::Access | Interface::CpFunction);
            upf.clone().filter(|_| of_upf)
        }
        (Direction::Downlink, None) => named(&pdr.network_instance),
    };
    session.pdrs.values().filter_map(|pdr| Some((pdr, end(pdr)?))).collect()
}

impl Volumes {
    fn lines_of(&mut self, session: &Session) -> (Option<u16>, CoreLines) {
        let access = access_end(session).and_then(|peer| self.access.join(peer));
        let ends = core_ends(session);
        let Some((_, first)) = ends.first() else { return (access, CoreLines::None) };
        if ends.iter().all(|(_, end)| end == first) {
            let one = self.core.join(first.clone()).map_or(CoreLines::None, CoreLines::One);
            return (access, one);
        }
        let line = |(pdr, end): (&Pdr, CoreEnd)| {
            let number = self.core.join(end)?;
            Some(PdrLine { pdr: pdr.id, number, direction: pdr.direction(), seen: 0 })
        };
        (access, CoreLines::ByPdr(ends.into_iter().filter_map(line).collect()))
    }

    /// The lines of a session that has not forwarded anything.
    pub fn begin(&mut self, session: &Session) -> SessionLines {
        let (access, core) = self.lines_of(session);
        SessionLines { seen: [0; 2], access, core }
    }

    /// A session has other lines, or has ended.
    pub fn leave(&mut self, lines: &SessionLines) {
        if let Some(number) = lines.access {
            self.access.leave(number);
        }
        match &lines.core {
            CoreLines::None => {}
            CoreLines::One(number) => self.core.leave(*number),
            CoreLines::ByPdr(all) => all.iter().for_each(|line| self.core.leave(line.number)),
        }
    }
}

impl N4 {
    /// The sessions to be counted for a reader of the volumes. `None` if that was done just now.
    pub fn sessions_to_count(&mut self, now: Instant) -> Option<Vec<u64>> {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < MIN_AGE;
        if self.volumes.counted.is_some_and(is_recent) {
            return None;
        }
        self.volumes.counted = Some(now);
        Some(self.sessions.keys().copied().collect())
    }

    /// Adds what these sessions have forwarded to their lines.
    pub fn count_volumes(&mut self, seids: &[u64]) {
        let forwarded = self.datapath.forwarded_by(seids);
        for (seid, now) in seids.iter().zip(forwarded) {
            let Some(context) = self.sessions.get_mut(seid) else { continue };
            let lines = &mut context.lines;
            let more = growth(now, lines.seen);
            // A datapath that takes over a session may begin at zero.
            lines.seen = now;
            if more == [0; 2] {
                continue;
            }
            if let Some(access) = lines.access {
                self.volumes.access.add(access, more);
            }
            match &mut lines.core {
                CoreLines::None => {}
                CoreLines::One(number) => self.volumes.core.add(*number, more),
                CoreLines::ByPdr(all) => {
                    for traffic in self.datapath.pdr_traffic(*seid) {
                        let known = all.iter_mut().find(|line| line.pdr == traffic.pdr);
                        let Some(line) = known else { continue };
                        let more = traffic.forwarded.bytes.saturating_sub(line.seen);
                        line.seen = traffic.forwarded.bytes;
                        let more = match line.direction {
                            Direction::Uplink => [more, 0],
                            Direction::Downlink => [0, more],
                        };
                        self.volumes.core.add(line.number, more);
                    }
                }
            }
        }
    }

    /// The rules of a session are new: what it forwards counts on their lines from now on.
    pub(super) fn change_lines(&mut self, seid: u64, session: &Session) {
        self.count_volumes(&[seid]);
        let (access, mut core) = self.volumes.lines_of(session);
        let Some(context) = self.sessions.get_mut(&seid) else { return };
        if let CoreLines::ByPdr(all) = &mut core {
            let of_pdrs = self.datapath.pdr_traffic(seid);
            for line in all.iter_mut() {
                let traffic = of_pdrs.iter().find(|traffic| traffic.pdr == line.pdr);
                line.seen = traffic.map_or(0, |traffic| traffic.forwarded.bytes);
            }
        }
        let seen = context.lines.seen;
        let old = std::mem::replace(&mut context.lines, SessionLines { seen, access, core });
        self.volumes.leave(&old);
    }

    /// Bytes of each line as of the last [`N4::count_volumes`].
    pub fn volumes(&self) -> LineVolumes {
        let counted = self.volumes.counted.unwrap_or(self.started);
        let since = counted.saturating_duration_since(self.started);
        let mut all = LineVolumes {
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            ..LineVolumes::default()
        };
        for line in &self.volumes.access.lines {
            all.access.insert(line.end, line.bytes);
        }
        for line in &self.volumes.core.lines {
            match &line.end {
                CoreEnd::Upf(peer) => drop(all.upfs.insert(*peer, line.bytes)),
                CoreEnd::Network(name) => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    // Two names that differ in invalid bytes only read the same.
                    let before = all.networks.entry(name).or_default();
                    *before = sum(*before, line.bytes);
                }
            }
        }
        all
    }
}
