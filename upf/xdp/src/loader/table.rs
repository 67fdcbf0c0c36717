//! A BPF array map as memory of this process. Programs read and write entries concurrently, so
//! this side copies entries that no program writes, and uses atomics for all others.
use crate::loader::XdpError;
use martlet_bpf::{Access, Memory};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Bytes that are mapped at a time: mapped memory counts as this process's, used or not.
const CHUNK: usize = 1 << 18;
const PAGE: usize = 4096;

/// An array of the programs, mapped into memory piece by piece, as entries are used.
pub struct Table<T> {
    name: &'static str,
    map: OwnedFd,
    chunks: Box<[OnceLock<Memory>]>,
    /// Replaces chunks that cannot be mapped.
    spare: Memory,
    failed: AtomicBool,
    bytes: usize,
    entries: usize,
    /// Bytes from one entry to the next.
    stride: usize,
    _of: PhantomData<T>,
}

impl<T: Copy> Table<T> {
    /// Maps a table. `T` is the type of its entries.
    pub(crate) fn map(
        name: &'static str,
        fd: BorrowedFd<'_>,
        entries: usize,
    ) -> Result<Self, XdpError> {
        let stride = size_of::<T>().next_multiple_of(8);
        let bytes = (stride * entries).next_multiple_of(PAGE);
        let failed = |error| XdpError::Table { table: name, error };
        let map = fd.try_clone_to_owned().map_err(failed)?;
        let chunks = (0..bytes.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
        let spare = Memory::new(CHUNK + stride.next_multiple_of(PAGE)).map_err(failed)?;
        let table = Table {
            name,
            map,
            chunks,
            spare,
            failed: AtomicBool::new(false),
            bytes,
            entries,
            stride,
            _of: PhantomData,
        };
        // The first chunk is mapped now, so that a lack of permission is an error of the start.
        let first = table.map_chunk(0).map_err(failed)?;
        table.chunks.first().map(|chunk| chunk.set(first));
        Ok(table)
    }

    fn map_chunk(&self, chunk: usize) -> io::Result<Memory> {
        // With the beginning of the next one, so that no entry is split.
        let length = (CHUNK + self.stride.next_multiple_of(PAGE)).min(self.bytes - chunk * CHUNK);
        Memory::map(self.map.as_fd(), chunk * CHUNK, length, Access::ReadWrite)
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The mapping of bytes of an entry, and where in it they are.
    fn locate(&self, index: u32, offset: usize, size: usize) -> (&Memory, usize) {
        assert!(
            (index as usize) < self.entries && offset + size <= self.stride,
            "within the table"
        );
        let at = index as usize * self.stride;
        let number = at / CHUNK;
        (self.chunk(number), at % CHUNK + offset)
    }

    /// A chunk, mapped at its first use. If that fails, `spare` replaces it and `failed` reports
    /// it: its entries are not visible to the programs.
    fn chunk(&self, number: usize) -> &Memory {
        let chunk = &self.chunks[number];
        if let Some(mapped) = chunk.get() {
            return mapped;
        }
        match self.map_chunk(number) {
            Ok(mapped) => chunk.get_or_init(|| mapped),
            Err(error) => {
                if !self.failed.swap(true, Ordering::Relaxed) {
                    tracing::error!(table = self.name, %error, "table of XDP programs not mapped");
                }
                &self.spare
            }
        }
    }

    /// Whether a part of the table could not be mapped.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn at(&self, index: u32) -> *mut T {
        let (chunk, at) = self.locate(index, 0, size_of::<T>());
        chunk.at(at, size_of::<T>()).cast()
    }

    /// Writes an entry that no program uses yet.
    pub fn write(&self, index: u32, entry: T) {
        // SAFETY: the address is within the mapping, and aligned as the type requires: entries
        // start at multiples of 8 bytes of a page. The caller guarantees exclusive use; programs
        // that read concurrently see old or new bytes, each of which is valid for them.
        unsafe { self.at(index).write(entry) }
    }

    /// A copy of an entry, of which some bytes may be newer than others.
    pub fn read(&self, index: u32) -> T {
        // SAFETY: as for `write`; the types are integers and arrays of them, for which any bytes
        // are a value.
        unsafe { self.at(index).read_volatile() }
    }

    /// A field of 4 bytes, `offset` into the entry.
    pub fn u32(&self, index: u32, offset: usize) -> &AtomicU32 {
        let (chunk, at) = self.locate(index, offset, 4);
        chunk.u32(at)
    }

    /// A field of 8 bytes, `offset` into the entry.
    pub fn u64(&self, index: u32, offset: usize) -> &AtomicU64 {
        let (chunk, at) = self.locate(index, offset, 8);
        chunk.u64(at)
    }

    /// The same, with a sign.
    pub fn i64(&self, index: u32, offset: usize) -> &AtomicI64 {
        let (chunk, at) = self.locate(index, offset, 8);
        chunk.i64(at)
    }
}
