//! Memory shared with the kernel: an array map or a socket ring. The kernel accesses it
//! concurrently, so shared words are atomics.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

const PAGE: usize = 4096;

/// Access rights of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    ReadWrite,
}

/// A mapping.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: only this value owns the mapping in this process; shared words are accessed as atomics.
unsafe impl Send for Memory {}
// SAFETY: as above; the callers of the copying functions exclude concurrent access.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `bytes` bytes of a file descriptor from offset `from`, a multiple of the page size.
    ///
    /// # Errors
    /// The range cannot be mapped.
    pub fn map(
        fd: BorrowedFd<'_>,
        from: usize,
        bytes: usize,
        access: Access,
    ) -> io::Result<Memory> {
        let from = libc::off_t::try_from(from).map_err(io::Error::other)?;
        Memory::of(bytes, access, libc::MAP_SHARED, fd.as_raw_fd(), from)
    }

    /// Allocates zeroed private memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(bytes: usize) -> io::Result<Memory> {
        Memory::of(bytes, Access::ReadWrite, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    fn of(
        bytes: usize,
        access: Access,
        flags: i32,
        fd: i32,
        from: libc::off_t,
    ) -> io::Result<Memory> {
        let bytes = bytes.next_multiple_of(PAGE);
        let access = match access {
            Access::Read => libc::PROT_READ,
            Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: a new mapping at an address that the kernel selects.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, from) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Memory { start, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// A pointer to `bytes` bytes at `offset`, after a bounds check.
    ///
    /// # Panics
    /// The range exceeds the mapping.
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "the range exceeds the mapping"
        );
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A shared word of 4 bytes.
    ///
    /// # Panics
    /// The word exceeds the mapping, or its offset is not a multiple of 4.
    pub fn u32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: within the mapping, which lives as long as `self`, and aligned.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// A shared word of 8 bytes.
    ///
    /// # Panics
    /// The word exceeds the mapping, or its offset is not a multiple of 8.
    pub fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// A shared signed word of 8 bytes.
    ///
    /// # Panics
    /// As [`Memory::u64`].
    pub fn i64(&self, offset: usize) -> &AtomicI64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicI64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// Copies bytes that have no concurrent writer.
    ///
    /// # Panics
    /// The range exceeds the mapping.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        // SAFETY: within the mapping; the caller excludes writers.
        unsafe { self.at(offset, to.len()).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
    }

    /// Writes bytes that have no concurrent reader.
    ///
    /// # Panics
    /// The range exceeds the mapping.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: within the mapping; the caller excludes readers.
        unsafe {
            self.at(offset, bytes.len()).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        }
    }

    /// Zeroes bytes that have no concurrent reader.
    ///
    /// # Panics
    /// The range exceeds the mapping.
    pub fn clear(&self, offset: usize, bytes: usize) {
        // SAFETY: as above.
        unsafe { self.at(offset, bytes).write_bytes(0, bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and has this length; no reference to it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_a_file_share_memory() {
        let file = nix::sys::memfd::memfd_create(c"memory", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)
            .expect("a file");
        nix::unistd::ftruncate(&file, 2 * PAGE as i64).expect("a size");
        let whole = Memory::map(file.as_fd(), 0, 2 * PAGE, Access::ReadWrite).expect("memory");
        let second = Memory::map(file.as_fd(), PAGE, 8, Access::Read).expect("memory");
        whole.write(PAGE, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(
            second.u64(0).load(Ordering::Acquire),
            u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8])
        );
        whole.clear(PAGE, 4);
        let mut bytes = [0xff; 8];
        second.read(0, &mut bytes);
        assert_eq!(bytes, [0, 0, 0, 0, 5, 6, 7, 8]);
    }

    #[test]
    fn access_outside_of_the_mapping_panics() {
        let memory = Memory::new(16).expect("memory");
        memory.u64(PAGE - 8).store(1, Ordering::Release);
        for (offset, bytes) in [(PAGE, 1), (PAGE - 3, 4), (usize::MAX, 2)] {
            let outcome =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.at(offset, bytes)));
            assert!(outcome.is_err(), "{bytes} at {offset}");
        }
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.u32(2))).is_err());
    }
}
