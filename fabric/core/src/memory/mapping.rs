//! A channel's memory as this process sees it: made by the manager, sealed, handed over, mapped.
use super::attention::Attention;
use super::layout::{Layout, SLOT};
use super::pool::BufferId;
use super::ring::{Indices, RingMemory};
use crate::sync::AtomicU64;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// What the kernel is asked never to allow: with these, no access to the mapping can fail for want
/// of memory behind it.
const SEALS: SealFlag =
    SealFlag::F_SEAL_SHRINK.union(SealFlag::F_SEAL_GROW).union(SealFlag::F_SEAL_SEAL);

/// Makes memory for a channel: zeroed, of fixed size, unnamed in the file system. Pages come into
/// being when they are first used. With `huge`, huge pages are used if the machine has set enough
/// aside.
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

fn sealed(flags: MFdFlags, octets: usize) -> std::io::Result<OwnedFd> {
    let fd = memfd_create(c"martlet-sbi", flags)?;
    nix::unistd::ftruncate(&fd, octets as i64)?;
    if flags.contains(MFdFlags::MFD_HUGETLB) {
        // Huge pages are reserved by a mapping, not by the size: find out now rather than at the
        // first access.
        drop(Mapping::of(&fd, octets)?);
    }
    fcntl(&fd, FcntlArg::F_ADD_SEALS(SEALS))?;
    Ok(fd)
}

/// A mapping that ends with its last user.
struct Mapping {
    start: NonNull<libc::c_void>,
    octets: usize,
}

// SAFETY: the mapping is a range of addresses; what lies there is only reached as atomics (see
// `Shared`).
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn of(fd: &OwnedFd, octets: usize) -> std::io::Result<Mapping> {
        let length = NonZeroUsize::new(octets).ok_or(std::io::ErrorKind::InvalidInput)?;
        let (access, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses; it replaces none.
        let start = unsafe { mmap(None, length, access, flags, fd.as_fd(), 0)? };
        Ok(Mapping { start, octets })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `of` mapped; every `Shared` into it holds the `Arc` of this value,
        // so none is left.
        let _ = unsafe { munmap(self.start, self.octets) };
    }
}

/// What may lie in shared memory: sound with any bit pattern, while another process writes it.
///
/// # Safety
/// The type must consist of atomics (and padding) alone.
pub unsafe trait Atomic {}
// SAFETY: atomics and padding.
unsafe impl Atomic for Indices {}
// SAFETY: atomics and padding.
unsafe impl Atomic for Attention {}
// SAFETY: an atomic.
unsafe impl Atomic for AtomicU64 {}
// SAFETY: an array of atomics.
unsafe impl<const N: usize> Atomic for [AtomicU64; N] {}

/// A slice in shared memory, which keeps the mapping alive.
pub struct Shared<T> {
    start: NonNull<T>,
    length: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: a reference to atomics, which threads may share, and to a mapping that lives as long as
// this value.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Atomic> Shared<T> {
    fn at(mapping: &Arc<Mapping>, offset: usize, length: usize) -> std::io::Result<Shared<T>> {
        let octets =
            length.checked_mul(size_of::<T>()).and_then(|octets| octets.checked_add(offset));
        if octets.is_none_or(|end| end > mapping.octets) || !offset.is_multiple_of(align_of::<T>())
        {
            return Err(std::io::Error::other("a part lies outside of the channel's memory"));
        }
        // SAFETY: within the mapping, as just checked.
        let start = unsafe { mapping.start.cast::<u8>().add(offset) }.cast();
        Ok(Shared { start, length, _mapping: mapping.clone() })
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `at` checked bounds and alignment (mappings start at a page); `T: Atomic` is
        // valid with any bits and may change at any time; the mapping lives as long as
        // `self`.
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
    /// The words of a buffer; `None` for a number that no buffer has.
    pub fn get(&self, id: BufferId) -> Option<&[AtomicU64]> {
        let (offset, octets) = self.layout.buffer(id)?;
        self.words.get(offset / 8..(offset + octets) / 8)
    }
}

/// One direction of a channel.
pub struct DirectionMemory {
    /// Descriptors.
    pub ring: SharedRing<8>,
    /// Buffers given back.
    pub returns: SharedRing<1>,
    /// Buffers.
    pub buffers: Buffers,
}

/// A channel's memory, from one end.
pub struct ChannelMemory {
    /// This end's flags.
    pub own: SharedOne<Attention>,
    /// The other end's flags.
    pub peer: SharedOne<Attention>,
    /// From here.
    pub out: DirectionMemory,
    /// To here.
    pub into: DirectionMemory,
}

impl ChannelMemory {
    /// Maps memory that was handed over, for `end` 0 or 1. The memory must be of the size that the
    /// layout says and sealed against another one; a program that could make it shorter could
    /// end this process.
    pub fn map(fd: &OwnedFd, layout: &Arc<Layout>, end: usize) -> std::io::Result<ChannelMemory> {
        let seals = SealFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GET_SEALS)?);
        if !seals.contains(SEALS) {
            return Err(std::io::Error::other(
                "a channel's memory is not sealed against a change of its size",
            ));
        }
        let size = nix::sys::stat::fstat(fd)?.st_size;
        let size = usize::try_from(size).map_err(std::io::Error::other)?;
        if size < layout.total() {
            return Err(std::io::Error::other(format!(
                "a channel has {size} octets instead of {}",
                layout.total()
            )));
        }
        let mapping = Arc::new(Mapping::of(fd, size)?);
        let attention = |end| {
            Ok::<_, std::io::Error>(SharedOne(Shared::at(&mapping, layout.attention(end), 1)?))
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
                    words: Shared::at(&mapping, parts.buffers, layout.buffer_octets() / 8)?,
                    layout: layout.clone(),
                },
            })
        };
        const _: () = assert!(size_of::<[AtomicU64; 8]>() == SLOT);
        Ok(ChannelMemory {
            own: attention(end)?,
            peer: attention(1 - (end & 1))?,
            out: direction(end)?,
            into: direction(1 - (end & 1))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::layout::Sizes;
    use crate::memory::octets;

    #[test]
    fn what_one_end_writes_the_other_reads() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        let fd = create(&layout, false).unwrap();
        let (a, b) = (
            ChannelMemory::map(&fd, &layout, 0).unwrap(),
            ChannelMemory::map(&fd, &layout, 1).unwrap(),
        );
        octets::write(a.out.buffers.get(BufferId(135)).unwrap(), b"over there");
        let mut got = Vec::new();
        octets::read(b.into.buffers.get(BufferId(135)).unwrap(), 10, &mut got);
        assert_eq!(got, b"over there");
        assert!(
            a.out.buffers.get(BufferId(136)).is_none()
                && a.out.buffers.get(BufferId(u32::MAX)).is_none()
        );
        b.own.sleep();
        assert!(a.peer.after_sending() && !a.peer.after_sending() && !b.peer.after_sending());
    }

    #[test]
    fn memory_that_could_shrink_or_is_too_small_is_refused() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        let open = memfd_create(c"open", MFdFlags::MFD_ALLOW_SEALING).unwrap();
        nix::unistd::ftruncate(&open, layout.total() as i64).unwrap();
        assert!(ChannelMemory::map(&open, &layout, 0).is_err());
        let small = sealed(MFdFlags::MFD_ALLOW_SEALING, 4096).unwrap();
        assert!(ChannelMemory::map(&small, &layout, 0).is_err());
        assert!(nix::unistd::ftruncate(&small, 0).is_err());
    }

    #[test]
    fn huge_pages_or_not_it_works() {
        let layout = Arc::new(Layout::of(&Sizes::default()).unwrap());
        ChannelMemory::map(&create(&layout, true).unwrap(), &layout, 1).unwrap();
    }
}
