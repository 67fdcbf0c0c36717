//! An array of the programs as memory of this process. Programs read it, and write some of it, at the same time: user space reads
//! and writes whole words there, or what no program looks at.
use crate::error::XdpError;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

const PAGE: usize = 4096;

/// A mapping of an array.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    octets: usize,
}

// SAFETY: the mapping is this value's alone in this process; what is shared is read and written as atomics say.
unsafe impl Send for Memory {}
// SAFETY: as above: shared references give atomics, and copies through `read` and `write`, whose callers keep others away.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `octets` of an array.
    pub fn map(name: &str, fd: BorrowedFd<'_>, octets: usize) -> Result<Memory, XdpError> {
        Memory::map_at(fd, octets, 0, libc::PROT_READ | libc::PROT_WRITE)
            .map_err(|error| XdpError::Table(name.into(), error))
    }

    /// Maps a part of what a descriptor stands for.
    pub fn map_at(fd: BorrowedFd<'_>, octets: usize, from: usize, access: i32) -> io::Result<Memory> {
        let octets = octets.next_multiple_of(PAGE);
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: a new mapping is asked for, at no address of ours; the descriptor is open.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), octets, access, libc::MAP_SHARED, fd, from as libc::off_t) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Memory { start, octets }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn at(&self, offset: usize, octets: usize) -> *mut u8 {
        assert!(offset.checked_add(octets).is_some_and(|end| end <= self.octets), "within the memory");
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A word that programs use at the same time.
    pub fn u32(&self, offset: usize) -> &AtomicU32 {
        assert_eq!(offset % 4, 0);
        // SAFETY: within the mapping, which lives as long as `self`, and aligned.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// The same, of eight octets.
    pub fn u64(&self, offset: usize) -> &AtomicU64 {
        assert_eq!(offset % 8, 0);
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// Copies octets that nobody writes now.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        // SAFETY: within the mapping; who calls keeps writers away.
        unsafe { self.at(offset, to.len()).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
    }

    /// Writes octets that nobody reads now.
    pub fn write(&self, offset: usize, octets: &[u8]) {
        // SAFETY: within the mapping; who calls keeps readers away.
        unsafe { self.at(offset, octets.len()).copy_from_nonoverlapping(octets.as_ptr(), octets.len()) }
    }

    /// Writes zeroes over what nobody reads now.
    pub fn clear(&self, offset: usize, octets: usize) {
        // SAFETY: as above.
        unsafe { self.at(offset, octets).write_bytes(0, octets) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our mapping, of this length, which nothing borrows any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.octets) };
    }
}
