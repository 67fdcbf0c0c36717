//! Resource limits (getrlimit(2)).
use crate::error::ReductionError;

/// Open files: gNBs, connections of the SBI, channels of the fabric.
const FILES: u64 = 65_536;
/// Threads of the user, of all functions together.
const THREADS: u64 = 4096;

/// No core dumps, which would contain keys. Files and threads have limits; raising one beyond the
/// hard limit of the process needs a capability that it does not have.
pub fn apply() -> Result<(), ReductionError> {
    limit(libc::RLIMIT_CORE, "RLIMIT_CORE", 0)?;
    limit(libc::RLIMIT_NOFILE, "RLIMIT_NOFILE", FILES)?;
    limit(libc::RLIMIT_NPROC, "RLIMIT_NPROC", THREADS)
}

fn limit(
    resource: libc::__rlimit_resource_t,
    name: &'static str,
    max: u64,
) -> Result<(), ReductionError> {
    let mut held = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls take a pointer to a limit that outlives them.
    let outcome = unsafe {
        if libc::getrlimit(resource, &raw mut held) != 0 {
            -1
        } else {
            let limit = held.rlim_max.min(max);
            let wanted = libc::rlimit { rlim_cur: limit, rlim_max: limit };
            libc::setrlimit(resource, &raw const wanted)
        }
    };
    match outcome {
        0 => Ok(()),
        _ => Err(ReductionError::Limit { resource: name, error: std::io::Error::last_os_error() }),
    }
}
