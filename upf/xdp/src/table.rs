//! A table of the programs as memory of this process. Entries are read and written by programs at the same time: only
//! through a copy of what nobody else changes, or atomically.
use crate::XdpError;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Octets that are mapped at a time: what is mapped counts as this process's memory, used or not.
const CHUNK: usize = 1 << 18;
const PAGE: usize = 4096;

/// An array of the programs, mapped into memory piece by piece, as entries are used.
pub struct Table<T> {
    name: &'static str,
    map: OwnedFd,
    /// Each with so much of the next one that no entry is cut in two.
    chunks: Box<[OnceLock<NonNull<u8>>]>,
    octets: usize,
    entries: usize,
    /// Octets from one entry to the next.
    stride: usize,
    _of: PhantomData<T>,
}

// SAFETY: the memory belongs to this value until it is dropped; what is shared with others is used atomically alone.
unsafe impl<T> Send for Table<T> {}
// SAFETY: as above: a shared reference gives access to copies and atomics only.
unsafe impl<T> Sync for Table<T> {}

impl<T: Copy> Table<T> {
    /// Maps a table. `T` is the type of its entries.
    pub(crate) fn map(name: &'static str, fd: BorrowedFd<'_>, entries: usize) -> Result<Self, XdpError> {
        let stride = size_of::<T>().next_multiple_of(8);
        let octets = (stride * entries).next_multiple_of(PAGE);
        let failed = |error| XdpError::Table { table: name, error };
        let map = fd.try_clone_to_owned().map_err(failed)?;
        let chunks = (0..octets.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
        let table = Table { name, map, chunks, octets, entries, stride, _of: PhantomData };
        // What cannot be mapped is said at once, and not at some entry later.
        let first = table.map_chunk(0).map_err(failed)?;
        table.chunks.first().map(|chunk| chunk.set(first));
        Ok(table)
    }

    fn map_chunk(&self, chunk: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: a new mapping is asked for, at no address of ours, within the array; the descriptor is open.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let (length, at) = (self.length(chunk), (chunk * CHUNK) as libc::off_t);
            libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, self.map.as_raw_fd(), at)
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(start),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.entries
    }

    fn at(&self, index: u32, offset: usize, size: usize) -> *mut u8 {
        assert!((index as usize) < self.entries && offset + size <= self.stride, "within the table");
        let place = index as usize * self.stride;
        let chunk = place / CHUNK;
        let start = self.chunks[chunk].get_or_init(|| {
            // Without address space for a quarter of a megabyte nothing else works either.
            self.map_chunk(chunk).unwrap_or_else(|error| panic!("the table {} cannot be mapped: {error}", self.name))
        });
        // SAFETY: the entry begins within the chunk, and its end lies within the mapping, which is longer by an entry.
        unsafe { start.as_ptr().add(place % CHUNK + offset) }
    }

    /// Writes an entry that no program uses yet.
    pub fn write(&self, index: u32, entry: T) {
        let place = self.at(index, 0, size_of::<T>());
        // SAFETY: the place is within the mapping, and as aligned as the kernel's own use of the type asks: entries begin
        // at multiples of 8 octets of a page. That nobody else uses the entry is the caller's word; programs that read
        // it all the same see octets of the one or the other, which are valid for them whatever they are.
        unsafe { place.cast::<T>().write(entry) }
    }

    /// A copy of an entry, of which some octets may be newer than others.
    pub fn read(&self, index: u32) -> T {
        let place = self.at(index, 0, size_of::<T>());
        // SAFETY: as for `write`; the types are integers and arrays of them, for which any octets are a value.
        unsafe { place.cast::<T>().read_volatile() }
    }

    /// A field of 4 octets, `offset` into the entry.
    pub fn u32(&self, index: u32, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: it is within the mapping, aligned, and lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.at(index, offset, 4).cast()) }
    }

    /// A field of 8 octets, `offset` into the entry.
    pub fn u64(&self, index: u32, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at(index, offset, 8).cast()) }
    }

    /// The same, with a sign.
    pub fn i64(&self, index: u32, offset: usize) -> &AtomicI64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicI64::from_ptr(self.at(index, offset, 8).cast()) }
    }
}

impl<T> Table<T> {
    /// Octets of a chunk's mapping.
    fn length(&self, chunk: usize) -> usize {
        (CHUNK + self.stride.next_multiple_of(PAGE)).min(self.octets - chunk * CHUNK)
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            if let Some(start) = chunk.get() {
                // SAFETY: the mapping was made by `map_chunk` with this length, and nothing borrows it any more.
                unsafe { libc::munmap(start.as_ptr().cast(), self.length(number)) };
            }
        }
    }
}
