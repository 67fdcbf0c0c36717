//! Injection of frames: `inject` of `bpf/programs.bpf.c` reads them from shared memory and sends
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
const FRAMES_PER_RUN: u32 = 64;

/// The result for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Dropped.
    Dropped,
    /// Forwarded to the other end of its wire, bypassing the pipeline.
    Bypassed,
    /// The frame leaves through this port.
    Out(u32),
}

/// A frame to inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The ingress port; a frame of the controller begins with its egress port.
    pub port: u32,
    /// The frame bypasses the pipeline.
    pub bypass: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The program and its memory.
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
            let opened = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None);
            let failed = |error: &nix::Error| {
                tracing::warn!(%error,
                    "no packet socket: held packets will be lost")
            };
            Some((opened.inspect_err(failed).ok()?, interfaces))
        });
    }

    /// Sends a frame from a port through its socket.
    fn send_by_socket(&self, port: u32, bytes: &[u8]) -> io::Result<()> {
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
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn send_by_sockets(&self, frames: &[Frame]) -> io::Result<Vec<Outcome>> {
        let one = |frame: &Frame| {
            let (outcome, bytes) = self.try_one(frame)?;
            let port = match outcome {
                Outcome::Out(port) => port,
                Outcome::Bypassed => {
                    self.control.bypass(frame.port).load(std::sync::atomic::Ordering::Acquire)
                }
                Outcome::Dropped => return Ok(outcome),
            };
            self.send_by_socket(port, &bytes)?;
            Ok(outcome)
        };
        frames.iter().map(one).collect()
    }

    fn write(&self, n: usize, frame: &Frame) -> io::Result<()> {
        if !(SHORTEST..=LONGEST).contains(&frame.bytes.len()) {
            let length = frame.bytes.len();
            return Err(io::Error::other(format!(
                "a frame has {SHORTEST} to {LONGEST} bytes, not {length}"
            )));
        }
        let head = [frame.bytes.len() as u32, frame.port, frame.bypass.into(), 0]
            .map(u32::to_ne_bytes)
            .concat();
        self.memory.write(n * SLOT, &head);
        self.memory.write(n * SLOT + FRAME, &frame.bytes);
        Ok(())
    }

    fn outcome(&self, n: usize) -> Outcome {
        match self.memory.u32(n * SLOT + 12).load(std::sync::atomic::Ordering::Acquire) {
            0 => Outcome::Dropped,
            1 => Outcome::Bypassed,
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
            self.write(n, frame)?;
            longest = longest.max(frame.bytes.len());
        }
        self.control.next().store(0, std::sync::atomic::Ordering::Release);
        self.control.work(Work::Inject);
        loop {
            let done = self.control.next().load(std::sync::atomic::Ordering::Acquire);
            if done as usize >= frames.len() {
                return Ok((0..frames.len()).map(|n| self.outcome(n)).collect());
            }
            let input = Run { frame: &vec![0; longest], ifindex: 0 };
            match input.live(self.program.as_fd(), frames.len() as u32 - done, FRAMES_PER_RUN) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }

    /// Whether frames are sent through packet sockets.
    pub fn are_sent_by_sockets(&self) -> bool {
        self.sockets.is_some()
    }

    /// Releases or drops a number of held frames, at most [`FRAMES_PER_RUN`] per run, during which
    /// this CPU receives nothing.
    pub fn drain(&self, times: u32) -> io::Result<()> {
        self.control.work(Work::Drain);
        Run { frame: &[0; 64], ifindex: 0 }.live(self.program.as_fd(), times.max(1), FRAMES_PER_RUN)
    }

    /// Sends one frame through a packet socket.
    pub fn send_one_by_socket(&self, frame: &Frame) -> io::Result<Outcome> {
        self.send_by_sockets(std::slice::from_ref(frame)).map(|outcomes| outcomes[0])
    }

    /// Runs one frame through the pipeline without sending it; returns the verdict and the
    /// resulting frame.
    pub fn try_one(&self, frame: &Frame) -> io::Result<(Outcome, Vec<u8>)> {
        self.write(0, frame)?;
        self.control.next().store(0, std::sync::atomic::Ordering::Release);
        self.control.work(Work::Inject);
        let mut output = vec![0; 2 * LONGEST];
        let ran = Run { frame: &[0; 64], ifindex: 0 }.dry(self.program.as_fd(), 1, &mut output)?;
        output.truncate(ran.bytes);
        Ok((self.outcome(0), output))
    }
}
