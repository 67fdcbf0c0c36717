//! CPUs that process G-PDUs: see `bpf/uplink_cpus.h`.
use crate::loader::error::table_error;
use crate::loader::{Program, Programs, XdpError, types};
use libbpf_rs::{MapCore, MapFlags};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// The `enum origin` of packets from the queue of a CPU, as `bpf/forwarding.h` has it.
pub(crate) const FROM_CPU: usize = 4;

/// Frames that the queue of a CPU holds.
const QUEUE: u32 = 2048;

impl Programs {
    /// Gives G-PDUs to the CPUs of the settings: to the queue of each, which runs
    /// [`Program::Uplink`]. Call it once the programs are attached, all in native mode, and again
    /// after [`renew`](Self::renew).
    ///
    /// # Errors
    /// The kernel does not create a queue.
    pub fn spread_uplink(&self, cpus: &[u32]) -> Result<(), XdpError> {
        let program = self.fd(Program::Uplink)?;
        // As `struct bpf_cpumap_val` of `linux/bpf.h`.
        let queue = [QUEUE.to_ne_bytes(), program.as_raw_fd().to_ne_bytes()].concat();
        for cpu in cpus {
            self.uplink_cpus
                .update(&cpu.to_ne_bytes(), &queue, MapFlags::ANY)
                .map_err(|error| table_error("uplink_cpus", error))?;
        }
        self.globals.u32(0, offset_of!(types::globals, spread)).store(1, Ordering::Release);
        Ok(())
    }

    /// Packets that each CPU has processed from its queue, by the number of the CPU.
    ///
    /// # Errors
    /// If the kernel cannot read them.
    pub fn uplink_packets(&self) -> Result<Vec<u64>, XdpError> {
        const AT: usize = offset_of!(types::lane, entered) + FROM_CPU * size_of::<u64>();
        let each = self.telemetry.lanes.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let each = each.map_err(|error| table_error("lanes", error))?.unwrap_or_default();
        let packets = |lane: &Vec<u8>| {
            let word = lane.get(AT..AT + size_of::<u64>())?;
            Some(u64::from_ne_bytes(word.try_into().ok()?))
        };
        Ok(each.iter().map(|lane| packets(lane).unwrap_or(0)).collect())
    }

    /// The number that the kernel gives the map of these queues.
    pub(crate) fn uplink_map(&self) -> Result<u32, XdpError> {
        let info = self.uplink_cpus.info();
        info.map(|info| info.info.id).map_err(|error| table_error("uplink_cpus", error))
    }
}
