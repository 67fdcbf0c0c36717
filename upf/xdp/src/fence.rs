//! Waiting until the programs that run have ended.
use crate::load::Programs;
use crate::{XdpError, load};
use libbpf_rs::{MapCore, MapFlags};
use std::os::fd::{AsFd, AsRawFd};

impl Programs {
    /// Returns once every program that ran when this was called has ended.
    ///
    /// Programs run where no thread can take the processor from them. So once this thread has run on each processor, all of
    /// them have ended; it takes some microseconds. Where it may not run everywhere, or on a real-time kernel, where programs
    /// can be interrupted by threads, the kernel is asked, which takes some milliseconds.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn fence(&self) -> Result<(), XdpError> {
        if !std::path::Path::new("/sys/kernel/realtime").exists() && visit_all_processors() {
            return Ok(());
        }
        let slot = self.fence_slot.as_fd().as_raw_fd().to_ne_bytes();
        self.fence.update(&0u32.to_ne_bytes(), &slot, MapFlags::ANY).map_err(|error| load::table_error("fence", error))
    }
}

/// Has this thread run on each processor; false where it may not.
fn visit_all_processors() -> bool {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the set is plain data for which all zeroes is a value.
    let mut before: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer goes with the size of what it points to, which outlives the call; 0 is this thread.
    if unsafe { libc::sched_getaffinity(0, size, &mut before) } != 0 {
        return false;
    }
    // SAFETY: as above, without a pointer.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    // SAFETY: the set is one.
    let allowed = unsafe { libc::CPU_COUNT(&before) };
    if i64::from(allowed) != online {
        return false;
    }
    let mut everywhere = true;
    for processor in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the number is less than there are places in the set.
        if !unsafe { libc::CPU_ISSET(processor, &before) } {
            continue;
        }
        // SAFETY: as above.
        let moved = unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut one);
            libc::sched_setaffinity(0, size, &one)
        };
        everywhere &= moved == 0;
    }
    // SAFETY: as above.
    unsafe { libc::sched_setaffinity(0, size, &before) };
    everywhere
}
