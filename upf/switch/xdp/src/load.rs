//! The programs and their maps, loaded.
use crate::error::XdpError;
use crate::ring::Ring;
use libbpf_rs::{MapCore, MapHandle, Object, ObjectBuilder};
use martlet_bpf::{Access, Memory};
use martlet_p4c_swx::ebpf::Output;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

/// As build.rs has made it.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/programs.bpf.o"));

/// The loaded BPF objects.
pub(crate) struct Loaded {
    object: Object,
    /// The number of possible CPUs.
    pub processors: u32,
    pub bell: OwnedFd,
    pub for_controller: OwnedFd,
}

fn failed(what: &str) -> impl Fn(std::io::Error) -> XdpError + '_ {
    move |error| XdpError::Table(what.into(), error)
}

fn missing(what: &str) -> XdpError {
    failed(what)(std::io::ErrorKind::NotFound.into())
}

impl Loaded {
    pub fn new(made: &Output) -> Result<Loaded, XdpError> {
        let processors = libbpf_rs::num_possible_cpus()? as u32;
        let mut open = ObjectBuilder::default().name("martlet_switch")?.open_memory(PROGRAMS)?;
        let info = &made.program.info;
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let counter =
                info.counters.iter().find(|of| name.strip_suffix("_counter") == Some(&of.alias));
            let each = match (counter, name.as_str()) {
                (Some(counter), _) => counter.size,
                (_, "port_counts") => crate::switch::PORTS,
                (_, "made") => 1,
                _ => continue,
            };
            map.set_max_entries(each * processors)?;
        }
        let object = open.load()?;
        let fd = |name: &str| {
            let map = object
                .maps()
                .find(|map| map.name() == OsStr::new(name))
                .ok_or_else(|| missing(name))?;
            map.as_fd().try_clone_to_owned().map_err(failed(name))
        };
        let (bell, for_controller) = (fd("bell")?, fd("for_controller")?);
        Ok(Loaded { object, processors, bell, for_controller })
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

    /// The size of an array in bytes.
    pub fn memory(&self, name: &str, octets: usize) -> Result<Memory, XdpError> {
        Memory::map(self.map(name)?.as_fd(), 0, octets, Access::ReadWrite).map_err(failed(name))
    }

    /// The size of a ring in bytes.
    pub fn ring(&self, name: &str, octets: usize) -> Result<Ring, XdpError> {
        Ring::map(self.map(name)?, octets).map_err(failed(name))
    }

    /// The program in its forms: on ports, for injected frames, and for held frames.
    pub fn enter(&self) -> Result<OwnedFd, XdpError> {
        const NAME: &str = "enter";
        let program = self.object.progs().find(|program| program.name() == OsStr::new(NAME));
        program.ok_or_else(|| missing(NAME))?.as_fd().try_clone_to_owned().map_err(failed(NAME))
    }
}
