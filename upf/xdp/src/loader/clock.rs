//! The kernel's coarse clock.

/// Nanoseconds of the kernel's tick, the resolution of its coarse clock.
pub(crate) fn tick() -> u32 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` that outlives the call.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    if result == 0 && time.tv_nsec > 0 { time.tv_nsec as u32 } else { 4_000_000 }
}
