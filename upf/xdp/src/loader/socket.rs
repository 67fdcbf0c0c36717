//! AF_XDP receive sockets (Linux, `networking/af_xdp.rst`): shared memory with a fill ring and an
//! RX ring.
//!
//! The kernel copies (`XDP_COPY`): with zero copy, all packets of the queue would pass through this
//! memory, forwarded ones too.
use crate::loader::Programs;
use crate::loader::error::table_error;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags};
use martlet_bpf::{Access, Memory};
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes per frame, of which the kernel reserves 256; `SOCKET_FRAME_MAX` in `bpf/structs.h` is the
/// rest.
const CHUNK: usize = 2048;

/// A socket at one receive queue of an interface, and the memory in which frames lie.
#[derive(Debug)]
pub struct Receiver {
    // Dropped before its memory.
    socket: OwnedFd,
    free: Ring,
    filled: Ring,
    frames: Memory,
    room: u32,
}

/// A ring with one producer and one consumer, one of which is the kernel.
#[derive(Debug)]
struct Ring {
    memory: Memory,
    offsets: libc::xdp_ring_offset,
    entries: u32,
}

impl Ring {
    fn map(
        socket: &OwnedFd,
        place: usize,
        offsets: libc::xdp_ring_offset,
        entries: u32,
        entry: usize,
    ) -> io::Result<Self> {
        let bytes = offsets.desc as usize + entries as usize * entry;
        let memory = Memory::map(socket.as_fd(), place, bytes, Access::ReadWrite)?;
        Ok(Ring { memory, offsets, entries })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        self.memory.u32(offset as usize)
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    /// The n-th entry that ever was.
    fn entry<T>(&self, n: u32) -> *mut T {
        let place = (n & (self.entries - 1)) as usize;
        self.memory.at(self.offsets.desc as usize + place * size_of::<T>(), size_of::<T>()).cast()
    }
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer has the length of its value, which outlives the call; the socket is open.
    let outcome = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            option,
            value,
            size_of::<T>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get<T: Copy>(socket: &OwnedFd, option: libc::c_int, mut value: T) -> io::Result<T> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: as for `set`; the types used here consist of integers, so any bytes are a valid
    // value.
    let outcome = unsafe {
        let value = std::ptr::from_mut(&mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, value, &mut length)
    };
    if outcome == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

impl Receiver {
    /// Opens a socket at a queue of an interface of this network namespace, with a number of
    /// frames; a power of two.
    ///
    /// # Errors
    /// The kernel has no such sockets (CONFIG_XDP_SOCKETS), another one is at the queue, or the
    /// right to have one is missing.
    pub fn open(ifindex: u32, queue: u32, room: u32) -> io::Result<Receiver> {
        if !room.is_power_of_two() {
            return Err(io::Error::other("room for a power of two of frames is needed"));
        }
        // SAFETY: no memory is involved.
        let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, which has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let frames = Memory::new(room as usize * CHUNK)?;
        // SAFETY: plain data for which zero is a valid value, here and below.
        let mut memory: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        let bytes = room as usize * CHUNK;
        (memory.addr, memory.len) = (frames.at(0, bytes) as u64, bytes as u64);
        memory.chunk_size = CHUNK as u32;
        set(&socket, libc::XDP_UMEM_REG, &memory)?;
        set(&socket, libc::XDP_UMEM_FILL_RING, &room)?;
        // Nothing is sent, but the kernel requires a completion ring.
        set(&socket, libc::XDP_UMEM_COMPLETION_RING, &2u32)?;
        set(&socket, libc::XDP_RX_RING, &room)?;
        // SAFETY: see above.
        let offsets = get(&socket, libc::XDP_MMAP_OFFSETS, unsafe {
            std::mem::zeroed::<libc::xdp_mmap_offsets>()
        })?;
        let place = libc::XDP_UMEM_PGOFF_FILL_RING as usize;
        let free = Ring::map(&socket, place, offsets.fr, room, size_of::<u64>())?;
        let filled = Ring::map(
            &socket,
            libc::XDP_PGOFF_RX_RING as usize,
            offsets.rx,
            room,
            size_of::<libc::xdp_desc>(),
        )?;
        for n in 0..room {
            // SAFETY: an entry of the ring, which the kernel reads only after the producer has
            // passed it.
            unsafe { free.entry::<u64>(n).write(n as u64 * CHUNK as u64) };
        }
        free.producer().store(room, Ordering::Release);
        // SAFETY: see above.
        let mut address: libc::sockaddr_xdp = unsafe { std::mem::zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = libc::XDP_COPY;
        (address.sxdp_ifindex, address.sxdp_queue_id) = (ifindex, queue);
        // SAFETY: the pointer has the length of its value, which outlives the call; the socket is
        // open.
        let bound = unsafe {
            let length = size_of_val(&address) as libc::socklen_t;
            libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
        };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Receiver { socket, free, filled, frames, room })
    }

    /// Calls `take` for each received frame in order, and returns their number. Their slots are
    /// free then.
    pub fn take(&mut self, mut each: impl FnMut(&[u8])) -> u32 {
        let first = self.filled.consumer().load(Ordering::Relaxed);
        let frames =
            self.filled.producer().load(Ordering::Acquire).wrapping_sub(first).min(self.room);
        let free = self.free.producer().load(Ordering::Relaxed);
        for n in 0..frames {
            // SAFETY: the kernel wrote this entry before it moved the producer.
            let frame =
                unsafe { self.filled.entry::<libc::xdp_desc>(first.wrapping_add(n)).read() };
            let place = self.frames.at(frame.addr as usize, frame.len as usize);
            // SAFETY: within our memory, and ours until the chunk is returned.
            each(unsafe { std::slice::from_raw_parts(place, frame.len as usize) });
            let chunk = frame.addr & !(CHUNK as u64 - 1);
            // SAFETY: there are as many entries as chunks, so the kernel has released this one.
            unsafe { self.free.entry::<u64>(free.wrapping_add(n)).write(chunk) };
        }
        self.filled.consumer().store(first.wrapping_add(frames), Ordering::Release);
        self.free.producer().store(free.wrapping_add(frames), Ordering::Release);
        frames
    }

    /// Frames that the kernel dropped after a program redirected them; none in normal operation.
    pub fn lost(&self) -> u64 {
        // SAFETY: see `open`.
        let none = unsafe { std::mem::zeroed::<libc::xdp_statistics>() };
        get(&self.socket, libc::XDP_STATISTICS, none).map_or(0, |s| s.rx_dropped + s.rx_ring_full)
    }
}

impl AsFd for Receiver {
    /// Readable while a frame is there.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Programs {
    /// Makes programs redirect frames of a queue to a socket, the `index`-th.
    ///
    /// # Errors
    /// At the limit of sockets.
    pub fn add_socket(
        &self,
        index: u32,
        ifindex: u32,
        queue: u32,
        receiver: &Receiver,
    ) -> Result<(), XdpError> {
        let room = types::socket_queue { room: receiver.room.into(), ..Default::default() };
        let (key, at) =
            ([ifindex.to_ne_bytes(), queue.to_ne_bytes()].concat(), index.to_ne_bytes());
        let fd = receiver.socket.as_raw_fd().to_ne_bytes();
        self.sockets
            .update(&at, &fd, MapFlags::ANY)
            .map_err(|error| table_error("sockets", error))?;
        self.socket_queues.write(index, room);
        self.socket_of
            .update(&key, &at, MapFlags::ANY)
            .map_err(|error| table_error("socket_of", error))
    }

    /// Reports that frames were taken from a socket and their chunks are free.
    pub fn taken(&self, index: u32, frames: u32) {
        let taken = self.socket_queues.u64(index, offset_of!(types::socket_queue, taken));
        taken.fetch_add(frames.into(), Ordering::Release);
    }

    /// Frames that programs have redirected to a socket and that were not taken yet.
    pub fn untaken(&self, index: u32) -> u64 {
        let read = |offset| self.socket_queues.u64(index, offset).load(Ordering::Acquire);
        let taken = read(offset_of!(types::socket_queue, taken));
        read(offset_of!(types::socket_queue, given)).saturating_sub(taken)
    }
}
