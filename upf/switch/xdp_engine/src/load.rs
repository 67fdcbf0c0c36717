//! The programs and their maps, loaded.
use crate::error::XdpError;
use crate::ring::Ring;
use libbpf_rs::{MapCore, MapHandle, Object, ObjectBuilder};
use martlet_bpf::{Access, Memory};
use martlet_p4c_swx::ebpf::Output;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

/// Compiled by build.rs.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.bpf.o"));

/// The loaded BPF objects.
pub(crate) struct Loaded {
    object: Object,
    /// The number of possible CPUs.
    pub cpus: u32,
    pub held_ring: OwnedFd,
    pub for_controller: OwnedFd,
}

fn failed(what: &str) -> impl Fn(std::io::Error) -> XdpError + '_ {
    move |error| XdpError::Table(what.into(), error)
}

fn missing(what: &str) -> XdpError {
    failed(what)(std::io::ErrorKind::NotFound.into())
}

impl Loaded {
    pub fn new(compiled: &Output) -> Result<Loaded, XdpError> {
        let cpus = libbpf_rs::num_possible_cpus()? as u32;
        let mut open = ObjectBuilder::default().name("martlet_switch")?.open_memory(PROGRAMS)?;
        let info = &compiled.program.info;
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let counter =
                info.counters.iter().find(|of| name.strip_suffix("_counter") == Some(&of.alias));
            let each = match (counter, name.as_str()) {
                (Some(counter), _) => counter.size,
                (_, "port_counts") => crate::ports::PORTS,
                (_, "scratch") => 1,
                _ => continue,
            };
            map.set_max_entries(each * cpus)?;
        }
        let object = open.load()?;
        let fd = |name: &str| {
            let map = object
                .maps()
                .find(|map| map.name() == OsStr::new(name))
                .ok_or_else(|| missing(name))?;
            map.as_fd().try_clone_to_owned().map_err(failed(name))
        };
        let (held_ring, for_controller) = (fd("held_ring")?, fd("for_controller")?);
        Ok(Loaded { object, cpus, held_ring, for_controller })
    }

    /// A map.
    pub fn map(&self, name: &str) -> Result<MapHandle, XdpError> {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == OsStr::new(name))
            .ok_or_else(|| missing(name))?;
        Ok(MapHandle::try_from(&map)?)
    }

    /// Maps an array of this size in bytes.
    pub fn memory(&self, name: &str, bytes: usize) -> Result<Memory, XdpError> {
        Memory::map(self.map(name)?.as_fd(), 0, bytes, Access::ReadWrite).map_err(failed(name))
    }

    /// Maps a ring of this size in bytes.
    pub fn ring(&self, name: &str, bytes: usize) -> Result<Ring, XdpError> {
        Ring::map(self.map(name)?, bytes).map_err(failed(name))
    }

    /// The program for ports, injected frames and held frames.
    pub fn enter(&self) -> Result<OwnedFd, XdpError> {
        const NAME: &str = "enter";
        let program = self.object.progs().find(|program| program.name() == OsStr::new(NAME));
        program.ok_or_else(|| missing(NAME))?.as_fd().try_clone_to_owned().map_err(failed(NAME))
    }
}
