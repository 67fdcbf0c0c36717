//! Injection of frames: `again` of `bpf/programs.bpf.c` reads them from shared memory and sends
//! them as the pipeline decides (BPF_PROG_TEST_RUN with live frames, Linux 5.18).
use crate::control::{Control, Work};
use crate::error::XdpError;
use martlet_bpf::{Memory, Run};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

/// Frames per batch, size of `struct slot` (`bpf/ports.h`) in bytes, and the offset of its frame.
pub(crate) const SLOTS: usize = 256;
const SLOT: usize = 2064;
const FRAME: usize = 16;
/// Maximum size of a frame in bytes, as `LONGEST_FRAME` there.
pub const LONGEST: usize = 2032;
const SHORTEST: usize = 14;
/// Frames per run: fewer than the 256 of a veth's queue, which drains with a delay. Frames beyond
/// it are lost.
const AT_ONCE: u32 = 64;

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Dropped.
    Gone,
    /// The frame goes to the other end of its wire, bypassing the pipeline.
    Past,
    /// Out of this port.
    Out(u32),
}

/// A frame for the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The ingress port; a frame of the controller begins with its egress port.
    pub port: u32,
    /// The frame bypasses the pipeline.
    pub past: bool,
    /// Its octets.
    pub octets: Vec<u8>,
}

/// Memory and program.
#[derive(Debug)]
pub(crate) struct Frames {
    program: OwnedFd,
    memory: Memory,
    control: Arc<Control>,
    /// For interfaces that drop redirected frames: a packet socket, and the interface of each
    /// port.
    sockets: Option<(OwnedFd, Vec<(u32, u32)>)>,
}

impl Frames {
    pub fn new(
        program: OwnedFd,
        map: impl Fn(&str, usize) -> Result<Memory, XdpError>,
        control: Arc<Control>,
    ) -> Result<Frames, XdpError> {
        Ok(Frames { program, memory: map("frames", SLOTS * SLOT)?, control, sockets: None })
    }

    /// Selects packet sockets for transmission (with the interface of each port), or the program.
    pub fn by_sockets(&mut self, interfaces: Option<Vec<(u32, u32)>>) {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
        self.sockets = interfaces.and_then(|interfaces| {
            let made = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None);
            let failed = |error: &nix::Error| {
                tracing::warn!(%error,
                    "packets that wait are lost: there is no packet socket")
            };
            Some((made.inspect_err(failed).ok()?, interfaces))
        });
    }

    /// Sends a frame from a port through its socket.
    fn send_by_socket(&self, port: u32, octets: &[u8]) -> io::Result<()> {
        let Some((socket, interfaces)) = &self.sockets else { return Ok(()) };
        let Some((_, ifindex)) = interfaces.iter().find(|(of, _)| *of == port) else {
            return Ok(());
        };
        // SAFETY: `sockaddr_ll` is plain data, valid when zeroed.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = *ifindex as i32;
        // SAFETY: frame and address have the given lengths.
        let sent = unsafe {
            libc::sendto(
                socket.as_raw_fd(),
                octets.as_ptr().cast(),
                octets.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn send_by_sockets(&self, frames: &[Frame]) -> io::Result<Vec<Outcome>> {
        let one = |frame: &Frame| {
            let (outcome, octets) = self.try_one(frame)?;
            let port = match outcome {
                Outcome::Out(port) => port,
                Outcome::Past => {
                    self.control.bypass(frame.port).load(std::sync::atomic::Ordering::Acquire)
                }
                Outcome::Gone => return Ok(outcome),
            };
            self.send_by_socket(port, &octets)?;
            Ok(outcome)
        };
        frames.iter().map(one).collect()
    }

    fn place(&self, n: usize, frame: &Frame) -> io::Result<()> {
        if !(SHORTEST..=LONGEST).contains(&frame.octets.len()) {
            let length = frame.octets.len();
            return Err(io::Error::other(format!(
                "a frame has {SHORTEST} to {LONGEST} octets, not {length}"
            )));
        }
        let head = [frame.octets.len() as u32, frame.port, frame.past.into(), 0]
            .map(u32::to_ne_bytes)
            .concat();
        self.memory.write(n * SLOT, &head);
        self.memory.write(n * SLOT + FRAME, &frame.octets);
        Ok(())
    }

    fn outcome(&self, n: usize) -> Outcome {
        match self.memory.u32(n * SLOT + 12).load(std::sync::atomic::Ordering::Acquire) {
            0 => Outcome::Gone,
            1 => Outcome::Past,
            port => Outcome::Out(port & 0xff),
        }
    }

    /// Sends up to [`SLOTS`] frames in order. Frames for port 6 stay with the caller.
    pub fn send(&self, frames: &[Frame]) -> io::Result<Vec<Outcome>> {
        if self.sockets.is_some() {
            return self.send_by_sockets(frames);
        }
        let mut longest = 60;
        for (n, frame) in frames.iter().enumerate() {
            self.place(n, frame)?;
            longest = longest.max(frame.octets.len());
        }
        self.control.next().store(0, std::sync::atomic::Ordering::Release);
        self.control.work(Work::Again);
        loop {
            let done = self.control.next().load(std::sync::atomic::Ordering::Acquire);
            if done as usize >= frames.len() {
                return Ok((0..frames.len()).map(|n| self.outcome(n)).collect());
            }
            let input = Run { frame: &vec![0; longest], ifindex: 0 };
            match input.live(self.program.as_fd(), frames.len() as u32 - done, AT_ONCE) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }

    /// Whether frames are sent through packet sockets.
    pub fn are_sent_by_sockets(&self) -> bool {
        self.sockets.is_some()
    }

    /// Releases or drops a number of held frames, at most [`AT_ONCE`] per run, during which this
    /// CPU receives nothing.
    pub fn drain(&self, times: u32) -> io::Result<()> {
        self.control.work(Work::Drain);
        Run { frame: &[0; 64], ifindex: 0 }.live(self.program.as_fd(), times.max(1), AT_ONCE)
    }

    /// Sends one frame through a packet socket.
    pub fn send_one_by_socket(&self, frame: &Frame) -> io::Result<Outcome> {
        self.send_by_sockets(std::slice::from_ref(frame)).map(|outcomes| outcomes[0])
    }

    /// Runs one frame through the pipeline without sending it; returns the verdict and the
    /// resulting frame.
    pub fn try_one(&self, frame: &Frame) -> io::Result<(Outcome, Vec<u8>)> {
        self.place(0, frame)?;
        self.control.next().store(0, std::sync::atomic::Ordering::Release);
        self.control.work(Work::Again);
        let mut output = vec![0; 2 * LONGEST];
        let ran = Run { frame: &[0; 64], ifindex: 0 }.dry(self.program.as_fd(), 1, &mut output)?;
        output.truncate(ran.bytes);
        Ok((self.outcome(0), output))
    }
}
