//! The liveness timestamp of the switch's loop, which BPF programs check.
use crate::bpf::{self, MAP_TYPE_ARRAY, MMAPABLE};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Age of the liveness timestamp from which the kernel forwards frames itself.
pub const TIMEOUT: Duration = Duration::from_millis(70);
/// A word in memory shared with BPF programs: the liveness timestamp of the switch's loop.
#[derive(Debug)]
pub struct Liveness {
    map: OwnedFd,
    word: *mut u64,
}

// SAFETY: only the loop's thread writes the word, which stays mapped while this lives.
unsafe impl Send for Liveness {}
// SAFETY: as above.
unsafe impl Sync for Liveness {}

impl Liveness {
    /// Creates it without a timestamp.
    pub fn new() -> std::io::Result<Arc<Liveness>> {
        let map = bpf::make_map(MAP_TYPE_ARRAY, 8, 1, MMAPABLE, "switch_liveness")?;
        // SAFETY: a new mapping of a page, which the map has.
        let word = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if word == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Arc::new(Liveness { map, word: word.cast() }))
    }

    /// The map, for programs.
    pub(crate) fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// The address that the loop writes to.
    pub(crate) fn word(&self) -> *mut u64 {
        self.word
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        // SAFETY: our mapping; no reference to it is left.
        unsafe { libc::munmap(self.word.cast(), 4096) };
    }
}
