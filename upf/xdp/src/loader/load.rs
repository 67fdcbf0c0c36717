//! The programs, loaded.
use crate::loader::cells::Cells;
use crate::loader::clock::tick;
use crate::loader::error::table_error;
use crate::loader::nat::NatTables;
use crate::loader::perimeter::PerimeterTables;
use crate::loader::skeleton::{
    OpenProgramsMaps, OpenProgramsProgs, ProgramsMaps, ProgramsProgs, ProgramsSkelBuilder,
};
use crate::loader::table::Table;
use crate::loader::telemetry::{TelemetryTables, sample_mask};
use crate::loader::{Bench, Program, Programs, Sizes, XdpError, types};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut};
use martlet_bpf::GracePeriod;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

fn load_error(error: libbpf_rs::Error) -> XdpError {
    XdpError::Load(format!("{error:#}"))
}

/// Entries of tables that follow from the configured sizes.
struct TableSizes {
    cells: u32,
    groups: u32,
    cache_slots: u32,
    rules: u32,
    nat_lines: u32,
    /// Keyed lines of flows, and lines of overflow entries.
    nat_all_lines: u32,
    nat_overflow: u32,
    nat_hints: u32,
}

impl TableSizes {
    fn of(sizes: &Sizes) -> Self {
        // Both directions of a flow, two in a line, and twice the room.
        let nat_lines = (sizes.nat_flows * 2).max(2).next_multiple_of(2);
        let nat_flows = sizes.nat_flows.max(1);
        TableSizes {
            // Few keys are in them, unless sessions have lists: then a cell has four keys on
            // average.
            cells: (sizes.sessions / 4).max(16),
            // A list pads its last group.
            groups: sizes.filters / 2 + sizes.spare() / 4 + 2,
            // A TEID and an address for each session, and some spare slots: a dense table stays in
            // the CPU caches.
            cache_slots: (sizes.sessions.max(16) / 8 * 9 + 2).next_multiple_of(2),
            rules: sizes.rules + sizes.spare(),
            nat_lines,
            // Few keys find no free slot of their own.
            nat_all_lines: 2 + nat_lines + nat_flows.div_ceil(4) + 32,
            nat_overflow: nat_flows.div_ceil(2) + 64,
            // Two hints for each flow on average, in groups of four.
            nat_hints: sizes.nat_flows.div_ceil(2).max(1),
        }
    }

    /// Completes the settings with these sizes, and with the kernel's tick.
    fn complete(&self, settings: &mut types::settings, sizes: &Sizes) {
        (settings.teid_cells, settings.ue4_cells) = (self.cells, self.cells);
        settings.cache_slots = self.cache_slots;
        settings.tick = tick();
        (settings.nat.lines, settings.nat.flows) = (self.nat_lines, sizes.nat_flows);
        settings.nat.hints = self.nat_hints;
    }

    /// Sets the sizes of the maps before they are created.
    fn resize(&self, maps: &mut OpenProgramsMaps<'_>, sizes: &Sizes) -> Result<(), XdpError> {
        let nat_flows = sizes.nat_flows.max(1);
        let bench = sizes.bench.max(1);
        let entries = [
            (&mut maps.by_teid, sizes.rules),
            (&mut maps.by_ue4, sizes.sessions),
            (&mut maps.by_ue6, sizes.sessions),
            (&mut maps.routes4, sizes.sessions),
            (&mut maps.routes6, sizes.sessions),
            (&mut maps.rules, self.cache_slots * 2 + 2 + self.rules),
            (&mut maps.cold_rules, self.rules + 1),
            (&mut maps.teid_cells, self.cells),
            (&mut maps.ue4_cells, self.cells),
            (&mut maps.groups, self.groups),
            (&mut maps.filters, self.groups * GROUP),
            (&mut maps.sessions, sizes.sessions + 1),
            (&mut maps.buckets, self.rules + 1),
            (&mut maps.limits, self.rules * 2 + 1),
            (&mut maps.events, sizes.ring),
            (&mut maps.nat_lines, self.nat_all_lines),
            (&mut maps.nat_blocks, (self.nat_all_lines * 2).div_ceil(crate::loader::nat::BLOCK)),
            (&mut maps.nat_by_key, self.nat_overflow),
            (&mut maps.nat_hints, self.nat_hints),
            (&mut maps.nat_free, self.nat_overflow),
            (&mut maps.nat_of_ue, nat_flows),
            (&mut maps.nat_of_public, nat_flows),
            (&mut maps.bare_by_teid, bench),
            (&mut maps.bare_by_ue, bench),
            (&mut maps.bench_publics, bench),
        ];
        for (map, entries) in entries {
            map.set_max_entries(entries).map_err(load_error)?;
        }
        Ok(())
    }
}

/// Leaves out the programs for several CPUs, or the one for the receiving CPU alone.
fn choose_port(progs: &mut OpenProgramsProgs<'_>, spreads: bool) {
    progs.martlet_port.set_autoload(!spreads);
    progs.martlet_spread.set_autoload(spreads);
    progs.martlet_uplink.set_autoload(spreads);
}

/// Leaves the benchmark programs out.
fn skip_bench(progs: &mut OpenProgramsProgs<'_>) {
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

fn owned(fd: BorrowedFd<'_>) -> Result<OwnedFd, XdpError> {
    fd.try_clone_to_owned().map_err(|error| XdpError::Load(error.to_string()))
}

/// The loaded programs.
fn programs_of(
    progs: &ProgramsProgs<'_>,
    with_bench: bool,
    spreads: bool,
) -> Result<Vec<(Program, Arc<OwnedFd>)>, XdpError> {
    let mut programs = vec![
        (Program::Inner, progs.martlet_inner.as_fd()),
        (Program::Outer, progs.martlet_outer.as_fd()),
        (Program::Release, progs.martlet_release.as_fd()),
        (Program::Socket, progs.martlet_socket.as_fd()),
        (Program::Clock, progs.martlet_clock.as_fd()),
    ];
    if spreads {
        programs.extend([
            (Program::Port, progs.martlet_spread.as_fd()),
            (Program::Uplink, progs.martlet_uplink.as_fd()),
        ]);
    } else {
        programs.push((Program::Port, progs.martlet_port.as_fd()));
    }
    if with_bench {
        programs.extend([
            (Program::Bench(Bench::NothingUp), progs.bench_nothing_up.as_fd()),
            (Program::Bench(Bench::NothingDown), progs.bench_nothing_down.as_fd()),
            (Program::Bench(Bench::BareUplink), progs.bench_bare_uplink.as_fd()),
            (Program::Bench(Bench::BareDownlink), progs.bench_bare_downlink.as_fd()),
            (Program::Bench(Bench::Uplink), progs.bench_uplink.as_fd()),
            (Program::Bench(Bench::Downlink), progs.bench_downlink.as_fd()),
            (Program::SendUp, progs.bench_send_up.as_fd()),
            (Program::SendDown, progs.bench_send_down.as_fd()),
            (Program::Receive, progs.bench_receive.as_fd()),
        ]);
    }
    programs.into_iter().map(|(program, fd)| Ok((program, Arc::new(owned(fd)?)))).collect()
}

/// All maps but the settings, by name.
fn shared_maps(object: &libbpf_rs::Object) -> Result<Vec<(String, OwnedFd)>, XdpError> {
    let mut shared = Vec::new();
    for map in object.maps() {
        let name = map.name().to_string_lossy().into_owned();
        if !name.contains(".rodata") {
            shared.push((name, owned(map.as_fd())?));
        }
    }
    Ok(shared)
}

fn handle(map: &MapMut<'_>) -> Result<MapHandle, XdpError> {
    MapHandle::try_from(map).map_err(load_error)
}

/// Maps all entries of a table into memory.
fn table<T: Copy>(name: &'static str, map: &MapMut<'_>) -> Result<Table<T>, XdpError> {
    Table::map(name, map.as_fd(), map.max_entries() as usize)
}

impl NatTables {
    fn open(maps: &ProgramsMaps<'_>) -> Result<Self, XdpError> {
        let flows = maps.nat_lines.max_entries() as usize * 2;
        Ok(NatTables {
            flows: Table::map("nat_lines", maps.nat_lines.as_fd(), flows)?,
            blocks: table("nat_blocks", &maps.nat_blocks)?,
            by_key: handle(&maps.nat_by_key)?,
            free: handle(&maps.nat_free)?,
            of_ue: handle(&maps.nat_of_ue)?,
            of_public: handle(&maps.nat_of_public)?,
        })
    }
}

impl TelemetryTables {
    fn open(maps: &ProgramsMaps<'_>) -> Result<Self, XdpError> {
        Ok(TelemetryTables {
            lanes: handle(&maps.lanes)?,
            session_drops: handle(&maps.session_drops)?,
            unmarked_peers: handle(&maps.unmarked_peers)?,
            traces: handle(&maps.traces)?,
            captures: handle(&maps.captures)?,
            trace: Table::map("trace", maps.data_trace.as_fd(), 1)?,
        })
    }
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
            || self.answers.failed()
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
        let entries = TableSizes::of(sizes);
        entries.complete(&mut settings, sizes);
        let mut object = MaybeUninit::uninit();
        let mut open = ProgramsSkelBuilder::default().open(&mut object).map_err(load_error)?;
        if let Some(data) = open.maps.rodata_data.as_mut() {
            data.settings = settings;
            data.sample_mask = sample_mask(sizes.sample);
        }
        entries.resize(&mut open.maps, sizes)?;
        let cpus = settings.uplink_cpu.iter().take(settings.uplink_cpus as usize);
        let queues = cpus.max().map_or(1, |highest| highest + 1);
        open.maps.uplink_cpus.set_max_entries(queues).map_err(load_error)?;
        for mut map in open.open_object_mut().maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if let Some((_, table)) = tables.iter().find(|(known, _)| *known == name) {
                map.reuse_fd(table.as_fd()).map_err(load_error)?;
            }
        }
        let spreads = settings.uplink_cpus > 0;
        choose_port(&mut open.progs, spreads);
        if sizes.bench == 0 {
            skip_bench(&mut open.progs);
        }
        let loaded = open.load().map_err(load_error)?;
        let programs = programs_of(&loaded.progs, sizes.bench > 0, spreads)?;
        let shared = shared_maps(loaded.object())?;
        Self::open_tables(&loaded.maps, programs, shared, (settings, sizes.clone()), &entries)
    }

    /// Maps the tables of loaded programs.
    fn open_tables(
        maps: &ProgramsMaps<'_>,
        programs: Vec<(Program, Arc<OwnedFd>)>,
        shared: Vec<(String, OwnedFd)>,
        made: (types::settings, Sizes),
        entries: &TableSizes,
    ) -> Result<Programs, XdpError> {
        let cells = entries.cells as usize;
        Ok(Programs {
            programs: Mutex::new(programs),
            shared,
            made: Mutex::new(made),
            bare: [handle(&maps.bare_by_teid)?, handle(&maps.bare_by_ue)?],
            bench: Table::map("bench", maps.data_bench.as_fd(), 1)?,
            bench_publics: table("bench_publics", &maps.bench_publics)?,
            bench_received: handle(&maps.bench_received)?,
            by_teid: Cells {
                name: "by_teid",
                cells: Table::map("teid_cells", maps.teid_cells.as_fd(), cells)?,
                more: handle(&maps.by_teid)?,
            },
            by_ue4: Cells {
                name: "by_ue4",
                cells: Table::map("ue4_cells", maps.ue4_cells.as_fd(), cells)?,
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
            socket_queues: table("socket_queues", &maps.socket_queues)?,
            uplink_cpus: handle(&maps.uplink_cpus)?,
            nat: NatTables::open(maps)?,
            telemetry: TelemetryTables::open(maps)?,
            governor: Table::map("governor", maps.data_governor.as_fd(), 1)?,
            grace_period: GracePeriod {
                grace_period: handle(&maps.grace_period)?,
                slot: handle(&maps.grace_slot)?,
            },
            globals: Table::map("data", maps.data.as_fd(), 1)?,
            cache_slots: entries.cache_slots,
            nat_lines: entries.nat_lines,
            rates: table("rates", &maps.rates)?,
            rules: table("rules", &maps.rules)?,
            cold_rules: table("cold_rules", &maps.cold_rules)?,
            groups: table("groups", &maps.groups)?,
            filters: table("filters", &maps.filters)?,
            sessions: table("sessions", &maps.sessions)?,
            buckets: table("buckets", &maps.buckets)?,
            answers: table("answers", &maps.answers)?,
            limits: table("limits", &maps.limits)?,
        })
    }

    /// The descriptor of a program.
    ///
    /// # Errors
    /// The program was left out when the others were loaded.
    pub(crate) fn fd(&self, program: Program) -> Result<Arc<OwnedFd>, XdpError> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = programs.iter().find(|(loaded, _)| *loaded == program);
        let missing = || XdpError::Load(format!("{program:?} was left out"));
        found.map(|(_, fd)| fd.clone()).ok_or_else(missing)
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

impl Programs {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn grace_period(&self) -> Result<(), XdpError> {
        self.grace_period.wait().map_err(|error| table_error("grace_period", error))
    }
}
