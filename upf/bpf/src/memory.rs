//! Memory shared with the kernel: an array map or a socket ring. The kernel accesses it
//! concurrently, so shared words are atomics.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

const PAGE: usize = 4096;

/// What this process may do with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
}

/// A mapping.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is this value's alone in this process; what is shared is read and written as
// atomics say.
unsafe impl Send for Memory {}
// SAFETY: as above: shared references give atomics, and copies whose callers keep others away.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps so many bytes of what a descriptor stands for; `from` is a multiple of a page.
    ///
    /// # Errors
    /// It cannot be mapped, or not so much of it.
    pub fn map(
        fd: BorrowedFd<'_>,
        from: usize,
        bytes: usize,
        access: Access,
    ) -> io::Result<Memory> {
        let from = libc::off_t::try_from(from).map_err(io::Error::other)?;
        Memory::of(bytes, access, libc::MAP_SHARED, fd.as_raw_fd(), from)
    }

    /// Memory of our own, of zeroes.
    ///
    /// # Errors
    /// There is none.
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
        // SAFETY: a new mapping is asked for, at no address of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, from) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Memory { start, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The place of so many bytes, for who knows what lies there.
    ///
    /// # Panics
    /// They are not within the memory.
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "within the memory"
        );
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A word of 4 bytes that others use at the same time.
    ///
    /// # Panics
    /// It is not within the memory, or not at a multiple of 4.
    pub fn u32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: within the mapping, which lives as long as `self`, and aligned.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// The same, of 8 bytes.
    ///
    /// # Panics
    /// It is not within the memory, or not at a multiple of 8.
    pub fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// The same, with a sign.
    ///
    /// # Panics
    /// As [`Memory::u64`].
    pub fn i64(&self, offset: usize) -> &AtomicI64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicI64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// Copies bytes that nobody writes now.
    ///
    /// # Panics
    /// They are not within the memory.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        // SAFETY: within the mapping; who calls keeps writers away.
        unsafe { self.at(offset, to.len()).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
    }

    /// Writes bytes that nobody reads now.
    ///
    /// # Panics
    /// They are not within the memory.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: within the mapping; who calls keeps readers away.
        unsafe {
            self.at(offset, bytes.len()).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        }
    }

    /// Writes zeroes over what nobody reads now.
    ///
    /// # Panics
    /// They are not within the memory.
    pub fn clear(&self, offset: usize, bytes: usize) {
        // SAFETY: as above.
        unsafe { self.at(offset, bytes).write_bytes(0, bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our mapping, of this length, which nothing borrows any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_thing_are_the_same_memory() {
        let file = nix::sys::memfd::memfd_create(c"memory", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)
            .expect("a file");
        nix::unistd::ftruncate(&file, 2 * PAGE as i64).expect("room");
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
    fn nothing_beyond_the_memory_is_given() {
        let memory = Memory::new(16).expect("memory");
        memory.u64(PAGE - 8).store(1, Ordering::Release);
        for (offset, bytes) in [(PAGE, 1), (PAGE - 3, 4), (usize::MAX, 2)] {
            let extras =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.at(offset, bytes)));
            assert!(extras.is_err(), "{bytes} at {offset}");
        }
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.u32(2))).is_err());
    }
}
