//! A channel's memory: created and sealed by the manager, mapped by both ends.
use super::layout::{Layout, SLOT_BYTES};
use super::need_wakeup::NeedWakeup;
use super::pool::BufferId;
use super::ring::{Indices, RingMemory};
use crate::sync::AtomicU64;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, munmap};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// The seals that a channel's memory must have. A mapping whose file cannot shrink never raises
/// `SIGBUS`.
const SEALS: SealFlag =
    SealFlag::F_SEAL_SHRINK.union(SealFlag::F_SEAL_GROW).union(SealFlag::F_SEAL_SEAL);

/// Creates a channel's memory: a zeroed, sealed `memfd`. The kernel allocates pages on first use.
/// `huge` requests huge pages; without enough of them, normal pages are used.
pub fn create(layout: &Layout, huge: bool) -> std::io::Result<OwnedFd> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    if huge
        && let Ok(fd) =
            sealed(flags | MFdFlags::MFD_HUGETLB, layout.total().next_multiple_of(2 << 20))
    {
        return Ok(fd);
    }
    sealed(flags, layout.total())
}

fn sealed(flags: MFdFlags, bytes: usize) -> std::io::Result<OwnedFd> {
    let fd = memfd_create(c"martlet-fabric", flags)?;
    nix::unistd::ftruncate(&fd, bytes as i64)?;
    if flags.contains(MFdFlags::MFD_HUGETLB) {
        // The kernel reserves huge pages at mmap, not at ftruncate: fail here, not on first use.
        drop(Mapping::of(&fd, bytes)?);
    }
    fcntl(&fd, FcntlArg::F_ADD_SEALS(SEALS))?;
    Ok(fd)
}

/// A mapping, unmapped on drop.
struct Mapping {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the mapping is a range of addresses; its contents are only accessed as atomics (see
// `Shared`).
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn of(fd: &OwnedFd, bytes: usize) -> std::io::Result<Mapping> {
        let length = NonZeroUsize::new(bytes).ok_or(std::io::ErrorKind::InvalidInput)?;
        let (access, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe { mmap(None, length, access, flags, fd.as_fd(), 0)? };
        let mapping = Mapping { start, bytes };
        // Messages may carry keys: they stay out of core dumps of both ends.
        // SAFETY: the range that was just mapped. The advice changes no memory.
        unsafe { madvise(start, bytes, MmapAdvise::MADV_DONTDUMP)? };
        Ok(mapping)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range that `of` mapped. Every `Shared` holds an `Arc` of this value, so no
        // reference into it is left.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}

/// A type that may lie in shared memory: valid for any bit pattern, even while another process
/// writes it.
///
/// # Safety
/// The type must consist of atomics and padding only.
pub unsafe trait Atomic {}
// SAFETY: atomics and padding.
unsafe impl Atomic for Indices {}
// SAFETY: atomics and padding.
unsafe impl Atomic for NeedWakeup {}
// SAFETY: an atomic.
unsafe impl Atomic for AtomicU64 {}
// SAFETY: an array of atomics.
unsafe impl<const N: usize> Atomic for [AtomicU64; N] {}

/// A slice in shared memory. It keeps the mapping alive.
pub struct Shared<T> {
    start: NonNull<T>,
    length: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: a reference to atomics, which threads may share, in a mapping that this value keeps
// alive.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Atomic> Shared<T> {
    fn at(mapping: &Arc<Mapping>, offset: usize, length: usize) -> std::io::Result<Shared<T>> {
        let bytes = length.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        if bytes.is_none_or(|end| end > mapping.bytes) || !offset.is_multiple_of(align_of::<T>()) {
            return Err(std::io::Error::other(
                "layout does not fit the channel's memory: use the sizes that created it",
            ));
        }
        // SAFETY: the offset is within the mapping, as checked above.
        let start = unsafe { mapping.start.cast::<u8>().add(offset) }.cast();
        Ok(Shared { start, length, _mapping: mapping.clone() })
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `at` checked bounds and alignment (mappings are page-aligned). `T: Atomic` is
        // valid for any bits and may change at any time. `self` keeps the mapping alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

/// One value in shared memory.
pub struct SharedOne<T>(Shared<T>);

impl<T> Deref for SharedOne<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0[0]
    }
}

/// A ring in shared memory.
pub struct SharedRing<const W: usize> {
    indices: SharedOne<Indices>,
    slots: Shared<[AtomicU64; W]>,
}

impl<const W: usize> RingMemory<W> for SharedRing<W> {
    fn indices(&self) -> &Indices {
        &self.indices
    }
    fn slots(&self) -> &[[AtomicU64; W]] {
        &self.slots
    }
}

/// The buffers of one direction.
pub struct Buffers {
    words: Shared<AtomicU64>,
    layout: Arc<Layout>,
}

impl Buffers {
    /// The words of a buffer. `None` if no buffer has this number.
    pub fn get(&self, id: BufferId) -> Option<&[AtomicU64]> {
        let (offset, bytes) = self.layout.buffer(id)?;
        self.words.get(offset / 8..(offset + bytes) / 8)
    }
}

/// One direction of a channel.
pub struct DirectionMemory {
    /// The descriptor ring.
    pub ring: SharedRing<8>,
    /// The ring of returned buffers.
    pub returns: SharedRing<1>,
    /// The buffers.
    pub buffers: Buffers,
}

/// A channel's memory as seen from one end.
pub struct ChannelMemory {
    /// This end's need-wakeup flags.
    pub own: SharedOne<NeedWakeup>,
    /// The peer's need-wakeup flags.
    pub peer: SharedOne<NeedWakeup>,
    /// The direction from this end to the peer.
    pub out: DirectionMemory,
    /// The direction from the peer to this end.
    pub into: DirectionMemory,
}

impl ChannelMemory {
    /// Maps received memory for `end` 0 or 1.
    ///
    /// # Errors
    /// The memory is smaller than the layout requires, or it is not sealed against a change of its
    /// size. A process that could shrink it could kill this one with `SIGBUS`.
    pub fn map(fd: &OwnedFd, layout: &Arc<Layout>, end: usize) -> std::io::Result<ChannelMemory> {
        let seals = SealFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GET_SEALS)?);
        if !seals.contains(SEALS) {
            return Err(std::io::Error::other(
                "the channel's memory is not sealed against a change of its size",
            ));
        }
        let size = nix::sys::stat::fstat(fd)?.st_size;
        let size = usize::try_from(size).map_err(std::io::Error::other)?;
        if size < layout.total() {
            return Err(std::io::Error::other(format!(
                "the channel's memory has {size} bytes instead of {}",
                layout.total()
            )));
        }
        let mapping = Arc::new(Mapping::of(fd, size)?);
        let need_wakeup = |end| {
            Ok::<_, std::io::Error>(SharedOne(Shared::at(&mapping, layout.need_wakeup(end), 1)?))
        };
        let direction = |from: usize| {
            let parts = layout.from(from);
            Ok::<_, std::io::Error>(DirectionMemory {
                ring: SharedRing {
                    indices: SharedOne(Shared::at(&mapping, parts.indices, 1)?),
                    slots: Shared::at(&mapping, parts.slots, layout.sizes().slots as usize)?,
                },
                returns: SharedRing {
                    indices: SharedOne(Shared::at(&mapping, parts.return_indices, 1)?),
                    slots: Shared::at(&mapping, parts.return_slots, layout.return_slots())?,
                },
                buffers: Buffers {
                    words: Shared::at(&mapping, parts.buffers, layout.buffer_bytes() / 8)?,
                    layout: layout.clone(),
                },
            })
        };
        const _: () = assert!(size_of::<[AtomicU64; 8]>() == SLOT_BYTES);
        Ok(ChannelMemory {
            own: need_wakeup(end)?,
            peer: need_wakeup(1 - (end & 1))?,
            out: direction(end)?,
            into: direction(1 - (end & 1))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::copy;
    use crate::memory::layout::Sizes;

    #[test]
    fn one_end_reads_what_the_other_wrote() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        let fd = create(&layout, false).unwrap();
        let (a, b) = (
            ChannelMemory::map(&fd, &layout, 0).unwrap(),
            ChannelMemory::map(&fd, &layout, 1).unwrap(),
        );
        copy::to_shared(a.out.buffers.get(BufferId(135)).unwrap(), b"some bytes");
        let mut got = Vec::new();
        copy::from_shared(b.into.buffers.get(BufferId(135)).unwrap(), 10, &mut got);
        assert_eq!(got, b"some bytes");
        assert!(
            a.out.buffers.get(BufferId(136)).is_none()
                && a.out.buffers.get(BufferId(u32::MAX)).is_none()
        );
        b.own.arm_receive();
        assert!(a.peer.take_receive() && !a.peer.take_receive() && !b.peer.take_receive());
    }

    #[test]
    fn unsealed_or_too_small_memory_is_rejected() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        let open = memfd_create(c"open", MFdFlags::MFD_ALLOW_SEALING).unwrap();
        nix::unistd::ftruncate(&open, layout.total() as i64).unwrap();
        assert!(ChannelMemory::map(&open, &layout, 0).is_err());
        let small = sealed(MFdFlags::MFD_ALLOW_SEALING, 4096).unwrap();
        assert!(ChannelMemory::map(&small, &layout, 0).is_err());
        assert!(nix::unistd::ftruncate(&small, 0).is_err());
    }

    #[test]
    fn mapping_works_with_or_without_huge_pages() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        ChannelMemory::map(&create(&layout, true).unwrap(), &layout, 1).unwrap();
    }
}
