//! The programs, loaded.
use crate::loader::cells::Cells;
use crate::loader::nat::NatTables;
use crate::loader::perimeter::PerimeterTables;
use crate::loader::skeleton::ProgramsSkelBuilder;
use crate::loader::table::Table;
use crate::loader::telemetry::{TelemetryTables, sample_mask};
use crate::loader::{XdpError, types};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use martlet_bpf::GracePeriod;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// How large the tables are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Sessions.
    pub sessions: u32,
    /// Rules of all sessions.
    pub rules: u32,
    /// Filters of all rules.
    pub filters: u32,
    /// Bytes of the ring buffer for packets and events; a power of two, at least 64 KiB.
    pub ring: u32,
    /// Capacity for translated flows; 0 without translation.
    pub nat_flows: u32,
    /// Capacity for generated sessions; 0 outside the lab.
    pub bench: u32,
    /// One of this number of packets is timed; 0 for none.
    pub sample: u32,
}

impl Sizes {
    /// Additional capacity for rules: replaced ones remain for a grace period, and a session within
    /// the limits must be accepted.
    fn spare(&self) -> u32 {
        (self.rules / 8).clamp(1024, 16_384)
    }
}

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// For interfaces towards gNBs and data networks.
    Port,
    /// For the programs' end of the link with the kernel.
    Inner,
    /// For the kernel's end.
    Outer,
    /// Run on packets that waited.
    Release,
    /// Runs on packets that the kernel reassembled.
    Socket,
    /// Returns the programs' time.
    Clock,
    /// Generates and sends packets of gNBs; see [`Traffic`](crate::loader::Traffic).
    SendUp,
    /// Generates and sends packets to UEs.
    SendDown,
    /// Counts received packets.
    Receive,
    /// The measured programs; see [`Bench`](crate::loader::Bench).
    Bench(crate::loader::Bench),
}

impl Program {
    fn place(self) -> usize {
        match self {
            Program::Port => 0,
            Program::Inner => 1,
            Program::Outer => 2,
            Program::Release => 3,
            Program::Socket => 4,
            Program::Clock => 5,
            Program::Bench(bench) => 6 + bench as usize,
            Program::SendUp => 12,
            Program::SendDown => 13,
            Program::Receive => 14,
        }
    }
}

/// The programs and their tables. They end with this, unless they are attached somewhere.
pub struct Programs {
    programs: Mutex<Vec<Arc<OwnedFd>>>,
    /// All tables but the settings, by name, for the programs that replace these.
    shared: Vec<(String, OwnedFd)>,
    made: Mutex<(types::settings, Sizes)>,
    bare: [MapHandle; 2],
    pub(crate) bench: Table<types::bench>,
    pub(crate) bench_publics: Table<types::bench_public>,
    pub(crate) bench_received: MapHandle,
    pub(crate) by_teid: Cells,
    pub(crate) by_ue4: Cells,
    pub(crate) by_ue6: MapHandle,
    pub(crate) routes: [MapHandle; 2],
    pub(crate) ports: MapHandle,
    pub(crate) perimeter: PerimeterTables,
    pub(crate) stats: MapHandle,
    pub(crate) events: MapHandle,
    pub(crate) sockets: MapHandle,
    pub(crate) socket_of: MapHandle,
    pub(crate) socket_queues: Table<types::socket_queue>,
    pub(crate) nat: NatTables,
    pub(crate) telemetry: TelemetryTables,
    /// Rates of classes of flows.
    pub governor: Table<types::governor>,
    pub(crate) grace_period: GracePeriod,
    pub(crate) globals: Table<types::globals>,
    pub(crate) homes: u32,
    nat_lines: u32,
    /// Rules. The first two are unused; then come those of the cache, in pairs, then others.
    pub rules: Table<types::rule>,
    /// Rates. The first one is unused.
    pub rates: Table<types::rate>,
    /// Rarely used parts of rules. The first one is unused.
    pub cold_rules: Table<types::rule_cold>,
    /// Filters of rules, in lists of groups.
    pub groups: Table<types::group>,
    /// Rarely used conditions of filters, by slot of their candidate.
    pub filters: Table<types::filter>,
    /// Sessions. The first one is unused.
    pub sessions: Table<types::session>,
    /// Token buckets. The first one limits packets that only user space answers.
    pub buckets: Table<types::bucket>,
    /// Remaining volumes of limits.
    pub limits: Table<i64>,
}

fn load_error(error: libbpf_rs::Error) -> XdpError {
    XdpError::Load(format!("{error:#}"))
}

/// Of each flow two hints on average, which lie four together.
fn nat_hints(sizes: &Sizes) -> u32 {
    sizes.nat_flows.div_ceil(2).max(1)
}

/// Settings that follow from sizes and the kernel.
fn complete(settings: &mut types::settings, sizes: &Sizes) -> (u32, u32, u32) {
    // Few keys are in them, unless sessions have lists: on average four are in the same ones then.
    let cells = (sizes.sessions / 4).max(16);
    // A list pads its last group.
    let groups = sizes.filters / 2 + sizes.spare() / 4 + 2;
    (settings.teid_cells, settings.ue4_cells) = (cells, cells);
    // A TEID and an address for each session, and some spare cells: a dense table stays in the CPU
    // caches.
    settings.cache_slots = (sizes.sessions.max(16) / 8 * 9 + 2).next_multiple_of(2);
    settings.tick = tick();
    // Both directions of a flow, two in a line, and twice the room.
    let nat_lines = (sizes.nat_flows * 2).max(2).next_multiple_of(2);
    (settings.nat.lines, settings.nat.flows) = (nat_lines, sizes.nat_flows);
    settings.nat.hints = nat_hints(sizes);
    (cells, groups, nat_lines)
}

impl Programs {
    /// Whether a part of a table could not be mapped; see [`Table::failed`].
    pub fn tables_failed(&self) -> bool {
        self.rules.failed()
            || self.rates.failed()
            || self.cold_rules.failed()
            || self.groups.failed()
            || self.filters.failed()
            || self.sessions.failed()
            || self.buckets.failed()
            || self.limits.failed()
    }

    /// Loads the programs.
    ///
    /// # Errors
    /// The right to do so, the memory, or the kernel's consent is missing.
    pub fn load(settings: types::settings, sizes: &Sizes) -> Result<Programs, XdpError> {
        Self::load_with(settings, sizes, &[])
    }

    /// As [`load`](Self::load), with existing tables.
    fn load_with(
        mut settings: types::settings,
        sizes: &Sizes,
        tables: &[(String, OwnedFd)],
    ) -> Result<Programs, XdpError> {
        let (cells, groups, nat_lines) = complete(&mut settings, sizes);
        let homes = settings.cache_slots;
        let rules = sizes.rules + sizes.spare();
        let nat_flows = sizes.nat_flows.max(1);
        // Few keys find no free slot of their own.
        let (nat_overflow_size, nat_all) =
            (nat_flows.div_ceil(2) + 64, 2 + nat_lines + nat_flows.div_ceil(4) + 32);
        let mut place = MaybeUninit::uninit();
        let mut open = ProgramsSkelBuilder::default().open(&mut place).map_err(load_error)?;
        if let Some(data) = open.maps.rodata_data.as_mut() {
            data.settings = settings;
            data.sample_mask = sample_mask(sizes.sample);
        }
        let maps = &mut open.maps;
        let entries = [
            (&mut maps.by_teid, sizes.rules),
            (&mut maps.by_ue4, sizes.sessions),
            (&mut maps.by_ue6, sizes.sessions),
            (&mut maps.routes4, sizes.sessions),
            (&mut maps.routes6, sizes.sessions),
            (&mut maps.rules, homes * 2 + 2 + rules),
            (&mut maps.cold_rules, rules + 1),
            (&mut maps.teid_cells, cells),
            (&mut maps.ue4_cells, cells),
            (&mut maps.groups, groups),
            (&mut maps.filters, groups * GROUP),
            (&mut maps.sessions, sizes.sessions + 1),
            (&mut maps.buckets, rules + 1),
            (&mut maps.limits, rules * 2 + 1),
            (&mut maps.events, sizes.ring),
            (&mut maps.nat_lines, nat_all),
            (&mut maps.nat_blocks, (nat_all * 2).div_ceil(crate::loader::nat::BLOCK)),
            (&mut maps.nat_by_key, nat_overflow_size),
            (&mut maps.nat_hints, nat_hints(sizes)),
            (&mut maps.nat_free, nat_overflow_size),
            (&mut maps.nat_of_ue, nat_flows),
            (&mut maps.nat_of_public, nat_flows),
            (&mut maps.bare_by_teid, sizes.bench.max(1)),
            (&mut maps.bare_by_ue, sizes.bench.max(1)),
            (&mut maps.bench_publics, sizes.bench.max(1)),
        ];
        for (map, entries) in entries {
            map.set_max_entries(entries).map_err(load_error)?;
        }
        for mut map in open.open_object_mut().maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if let Some((_, table)) = tables.iter().find(|(known, _)| *known == name) {
                map.reuse_fd(table.as_fd()).map_err(load_error)?;
            }
        }
        if sizes.bench == 0 {
            let progs = &mut open.progs;
            progs.bench_nothing_up.set_autoload(false);
            progs.bench_nothing_down.set_autoload(false);
            progs.bench_uplink.set_autoload(false);
            progs.bench_downlink.set_autoload(false);
            progs.bench_bare_uplink.set_autoload(false);
            progs.bench_bare_downlink.set_autoload(false);
            progs.bench_send_up.set_autoload(false);
            progs.bench_send_down.set_autoload(false);
            progs.bench_receive.set_autoload(false);
        }
        let loaded = open.load().map_err(load_error)?;
        let (maps, progs) = (&loaded.maps, &loaded.progs);
        let owned = |fd: BorrowedFd<'_>| {
            fd.try_clone_to_owned().map_err(|error| XdpError::Load(error.to_string()))
        };
        let mut programs = vec![
            owned(progs.martlet_port.as_fd())?,
            owned(progs.martlet_inner.as_fd())?,
            owned(progs.martlet_outer.as_fd())?,
            owned(progs.martlet_release.as_fd())?,
            owned(progs.martlet_socket.as_fd())?,
            owned(progs.martlet_clock.as_fd())?,
        ];
        if sizes.bench > 0 {
            programs.extend([
                owned(progs.bench_nothing_up.as_fd())?,
                owned(progs.bench_nothing_down.as_fd())?,
                owned(progs.bench_bare_uplink.as_fd())?,
                owned(progs.bench_bare_downlink.as_fd())?,
                owned(progs.bench_uplink.as_fd())?,
                owned(progs.bench_downlink.as_fd())?,
                owned(progs.bench_send_up.as_fd())?,
                owned(progs.bench_send_down.as_fd())?,
                owned(progs.bench_receive.as_fd())?,
            ]);
        }
        let handle = |map| MapHandle::try_from(map).map_err(load_error);
        let entries = |map: &libbpf_rs::MapMut<'_>| map.max_entries() as usize;
        let mut shared = Vec::new();
        for map in loaded.object().maps() {
            let name = map.name().to_string_lossy().into_owned();
            if !name.contains(".rodata") {
                shared.push((name, owned(map.as_fd())?));
            }
        }
        let programs = Programs {
            programs: Mutex::new(programs.into_iter().map(Arc::new).collect()),
            shared,
            made: Mutex::new((settings, sizes.clone())),
            bare: [handle(&maps.bare_by_teid)?, handle(&maps.bare_by_ue)?],
            bench: Table::map("bench", maps.data_bench.as_fd(), 1)?,
            bench_publics: Table::map(
                "bench_publics",
                maps.bench_publics.as_fd(),
                entries(&maps.bench_publics),
            )?,
            bench_received: handle(&maps.bench_received)?,
            by_teid: Cells {
                name: "by_teid",
                cells: Table::map("teid_cells", maps.teid_cells.as_fd(), cells as usize)?,
                more: handle(&maps.by_teid)?,
            },
            by_ue4: Cells {
                name: "by_ue4",
                cells: Table::map("ue4_cells", maps.ue4_cells.as_fd(), cells as usize)?,
                more: handle(&maps.by_ue4)?,
            },
            by_ue6: handle(&maps.by_ue6)?,
            routes: [handle(&maps.routes4)?, handle(&maps.routes6)?],
            ports: handle(&maps.ports)?,
            perimeter: PerimeterTables {
                classes: [handle(&maps.perimeter4)?, handle(&maps.perimeter6)?],
                sources: [handle(&maps.sources4)?, handle(&maps.sources6)?],
                services: handle(&maps.services)?,
            },
            stats: handle(&maps.stats)?,
            events: handle(&maps.events)?,
            sockets: handle(&maps.sockets)?,
            socket_of: handle(&maps.socket_of)?,
            socket_queues: Table::map(
                "socket_queues",
                maps.socket_queues.as_fd(),
                entries(&maps.socket_queues),
            )?,
            nat: NatTables {
                flows: Table::map(
                    "nat_lines",
                    maps.nat_lines.as_fd(),
                    entries(&maps.nat_lines) * 2,
                )?,
                blocks: Table::map(
                    "nat_blocks",
                    maps.nat_blocks.as_fd(),
                    entries(&maps.nat_blocks),
                )?,
                by_key: handle(&maps.nat_by_key)?,
                free: handle(&maps.nat_free)?,
                of_ue: handle(&maps.nat_of_ue)?,
                of_public: handle(&maps.nat_of_public)?,
            },
            governor: Table::map("governor", maps.data_governor.as_fd(), 1)?,
            telemetry: TelemetryTables {
                lanes: handle(&maps.lanes)?,
                session_drops: handle(&maps.session_drops)?,
                traces: handle(&maps.traces)?,
                captures: handle(&maps.captures)?,
                trace: Table::map("trace", maps.data_trace.as_fd(), 1)?,
            },
            grace_period: GracePeriod {
                grace_period: handle(&maps.grace_period)?,
                slot: handle(&maps.grace_slot)?,
            },
            globals: Table::map("data", maps.data.as_fd(), 1)?,
            homes,
            nat_lines,
            rates: Table::map("rates", maps.rates.as_fd(), entries(&maps.rates))?,
            rules: Table::map("rules", maps.rules.as_fd(), entries(&maps.rules))?,
            cold_rules: Table::map(
                "cold_rules",
                maps.cold_rules.as_fd(),
                entries(&maps.cold_rules),
            )?,
            groups: Table::map("groups", maps.groups.as_fd(), entries(&maps.groups))?,
            filters: Table::map("filters", maps.filters.as_fd(), entries(&maps.filters))?,
            sessions: Table::map("sessions", maps.sessions.as_fd(), entries(&maps.sessions))?,
            buckets: Table::map("buckets", maps.buckets.as_fd(), entries(&maps.buckets))?,
            limits: Table::map("limits", maps.limits.as_fd(), entries(&maps.limits))?,
        };
        Ok(programs)
    }

    pub(crate) fn fd(&self, program: Program) -> Arc<OwnedFd> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)[program.place()].clone()
    }

    /// Loads the programs again, with the same tables, and with settings modified by `change`. The
    /// attached ones remain until [`replace`](Self::replace).
    ///
    /// # Errors
    /// As for [`load`](Self::load). The previous programs remain.
    pub fn renew(
        &self,
        change: impl FnOnce(&mut types::settings, &mut Sizes),
    ) -> Result<(), XdpError> {
        let made = &mut *self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut settings, mut sizes) = made.clone();
        change(&mut settings, &mut sizes);
        let fresh = Self::load_with(settings, &sizes, &self.shared)?;
        let fresh = fresh.programs.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.programs.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        *made = (settings, sizes);
        Ok(())
    }

    /// An entry for the bare programs: `key` is a TEID or an address in packet order.
    pub(crate) fn set_bare(
        &self,
        uplink: bool,
        key: [u8; 4],
        entry: &[u8],
    ) -> Result<(), XdpError> {
        let map = &self.bare[usize::from(!uplink)];
        map.update(&key, entry, MapFlags::ANY).map_err(|error| table_error("bare", error))
    }

    /// The first flow slot outside the hash table.
    pub(crate) fn nat_overflow_base(&self) -> u32 {
        self.nat_lines * 2 + crate::loader::nat::FIRST
    }

    /// Capacity for translated flows.
    pub(crate) fn nat_alive(&self) -> &std::sync::atomic::AtomicU32 {
        self.globals.u32(0, offset_of!(types::globals, nat_flows))
    }
}

/// Candidates in a group; as `bpf/structs.h` has it.
const GROUP: u32 = 7;

/// Nanoseconds of the kernel's tick, the resolution of its coarse clock.
pub(crate) fn tick() -> u32 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` that outlives the call.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    if result == 0 && time.tv_nsec > 0 { time.tv_nsec as u32 } else { 4_000_000 }
}

impl Programs {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn grace_period(&self) -> Result<(), XdpError> {
        self.grace_period.wait().map_err(|error| table_error("fence", error))
    }
}

pub(crate) fn table_error(table: &'static str, error: libbpf_rs::Error) -> XdpError {
    XdpError::Table { table, error: io::Error::other(format!("{error:#}")) }
}
