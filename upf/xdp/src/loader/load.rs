//! The programs, loaded.
use crate::loader::cells::Cells;
use crate::loader::clock::tick;
use crate::loader::error::table_error;
use crate::loader::nat::NatTables;
use crate::loader::perimeter::PerimeterTables;
use crate::loader::skeleton::ProgramsSkelBuilder;
use crate::loader::table::Table;
use crate::loader::telemetry::{TelemetryTables, sample_mask};
use crate::loader::{Program, Programs, Sizes, XdpError, types};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use martlet_bpf::GracePeriod;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

fn load_error(error: libbpf_rs::Error) -> XdpError {
    XdpError::Load(format!("{error:#}"))
}

/// Two hints for each flow on average, in groups of four.
fn nat_hints(sizes: &Sizes) -> u32 {
    sizes.nat_flows.div_ceil(2).max(1)
}

/// Settings that follow from sizes and the kernel.
fn complete(settings: &mut types::settings, sizes: &Sizes) -> (u32, u32, u32) {
    // Cells for keys. Few keys are in them, unless sessions have lists: then a cell has four keys
    // on average.
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
                unmarked_peers: handle(&maps.unmarked_peers)?,
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

impl Programs {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn grace_period(&self) -> Result<(), XdpError> {
        self.grace_period.wait().map_err(|error| table_error("fence", error))
    }
}
