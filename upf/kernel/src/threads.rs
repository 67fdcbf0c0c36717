//! The forwarding threads: one per N3 address, and one for N6.
use super::batch::Batch;
use super::egress::Egress;
use super::entry::Entry;
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lan::Lan;
use super::offload::{HEADER, Header, segments};
use super::sockets::Sockets;
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::counters::DropReason;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::SockRef;
use std::io::{self, Read};
use std::net::{IpAddr, Shutdown};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Packets read from the device between checks for the end.
const AT_A_TIME: usize = 64;
/// A wait that took longer than this found no packet at first.
const SLEPT: Duration = Duration::from_micros(5);

/// The threads; they end with this.
pub(super) struct Threads {
    /// Closed to end those that poll.
    stop: Option<UnixStream>,
    n3: Option<N3End>,
    threads: Vec<JoinHandle<()>>,
}

/// Ends the threads that wait in a call on a GTP-U socket.
struct N3End {
    forwarder: Arc<Forwarder<Sockets>>,
    is_stopped: Arc<AtomicBool>,
}

impl Drop for N3End {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        for (_, socket) in self.forwarder.egress.gtpu.each() {
            // The call wakes the waiting thread, and fails because the socket has no peer.
            let _ = SockRef::from(socket).shutdown(Shutdown::Read);
        }
    }
}

impl Threads {
    pub fn start(
        forwarder: &Arc<Forwarder<Sockets>>,
        failure: mpsc::Sender<String>,
    ) -> Result<Self, OpenError> {
        let (stop, stopped) = UnixStream::pair().map_err(OpenError::Threads)?;
        let stopped = Arc::new(stopped);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let n3 = N3End { forwarder: forwarder.clone(), is_stopped: is_stopped.clone() };
        let mut threads = Threads { stop: Some(stop), n3: Some(n3), threads: Vec::new() };
        for (local, _) in forwarder.egress.gtpu.each() {
            let (n3, failure) = (forwarder.clone(), failure.clone());
            let (stopped, is_stopped) = (stopped.clone(), is_stopped.clone());
            threads
                .spawn("upf-n3", failure, move || from_n3(&n3, local, &stopped, &is_stopped))
                .map_err(OpenError::Threads)?;
        }
        let n6 = forwarder.clone();
        threads.read_lans(forwarder, &stopped, &failure).map_err(OpenError::Threads)?;
        if n6.egress.device.is_some() {
            threads
                .spawn("upf-n6", failure, move || from_n6(&n6, &stopped))
                .map_err(OpenError::Threads)?;
        }
        Ok(threads)
    }

    /// Only the threads of the networks of Ethernet sessions.
    pub fn of_lans<O: Egress>(
        forwarder: &Arc<Forwarder<O>>,
        failure: mpsc::Sender<String>,
    ) -> Result<Self, OpenError> {
        let (stop, stopped) = UnixStream::pair().map_err(OpenError::Threads)?;
        let mut threads = Threads { stop: Some(stop), n3: None, threads: Vec::new() };
        threads.read_lans(forwarder, &Arc::new(stopped), &failure).map_err(OpenError::Threads)?;
        Ok(threads)
    }

    fn read_lans<O: Egress>(
        &mut self,
        forwarder: &Arc<Forwarder<O>>,
        stopped: &Arc<UnixStream>,
        failure: &mpsc::Sender<String>,
    ) -> io::Result<()> {
        for lan in forwarder.lans.iter().filter(|lan| lan.device.is_some()) {
            let lan = lan.clone();
            let (forwarder, stopped, failure) =
                (forwarder.clone(), stopped.clone(), failure.clone());
            self.spawn("upf-lan", failure, move || from_lan(&forwarder, &lan, &stopped))?;
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        name: &'static str,
        failure: mpsc::Sender<String>,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            if let Err(error) = work() {
                let _ = failure.try_send(format!("{name} can read no more packets: {error}"));
            }
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.take();
        self.n3.take();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Waits until a descriptor is readable; false at the end.
fn readable(source: &impl AsFd, stopped: &UnixStream) -> io::Result<bool> {
    let mut waiting = [
        PollFd::new(source.as_fd(), PollFlags::POLLIN),
        PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
    ];
    loop {
        match poll(&mut waiting, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let [source, stopped] = &waiting;
        if stopped.any().unwrap_or(true) {
            return Ok(false);
        }
        if source.any().unwrap_or(true) {
            return Ok(true);
        }
    }
}

fn from_n3(
    forwarder: &Forwarder<Sockets>,
    local: IpAddr,
    stopped: &UnixStream,
    is_stopped: &AtomicBool,
) -> io::Result<()> {
    let mut sockets = forwarder.egress.gtpu.each();
    let Some((_, socket)) = sockets.find(|(address, _)| *address == local) else { return Ok(()) };
    let mut batch = Batch::default();
    forwarder.egress.queue();
    loop {
        let received = if forwarder.shaper.is_batching() {
            if !readable(socket, stopped)? {
                return Ok(());
            }
            forwarder.shaper.wait_for_batch();
            batch.receive(socket)
        } else {
            batch.wait(socket)
        };
        if is_stopped.load(Ordering::Acquire) {
            return Ok(());
        }
        match received {
            Ok(()) => {}
            // A peer's closed port shows here, too.
            Err(error) if transient(&error) => continue,
            Err(error) => return Err(error),
        }
        let now = Instant::now();
        let sample = forwarder.sampled(now);
        batch.each(|datagram| {
            forwarder.counters.received_packets.add(1);
            let Some((buffer, from)) = datagram else {
                return forwarder.counters.dropped(DropReason::Malformed);
            };
            if let Some(reply) = forwarder.take_datagram(buffer, HEADROOM, from, local, now)
                && let Err(error) = socket.send_to(&reply, from)
            {
                tracing::debug!(peer = %from, %error, "GTP-U answer not sent");
            }
        });
        forwarder.flush();
        sample.each(batch.count());
    }
}

fn from_n6(forwarder: &Forwarder<Sockets>, stopped: &UnixStream) -> io::Result<()> {
    let Some(own) = forwarder.egress.device.as_ref() else { return Ok(()) };
    let mut device = &own.file;
    let from = if own.has_header { 0 } else { HEADROOM };
    let mut buffer = vec![0; HEADROOM.max(HEADER) + 65_535];
    let mut segment = Vec::new();
    forwarder.egress.queue();
    let mut waiting_since = Instant::now();
    while readable(device, stopped)? {
        let reads = if forwarder.shaper.is_batching() {
            forwarder.shaper.wait_for_batch();
            AT_A_TIME
        } else {
            reads_after(waiting_since.elapsed())
        };
        let now = Instant::now();
        let sample = forwarder.sampled(now);
        let mut packets = 0;
        for _ in 0..reads {
            match device.read(buffer.get_mut(from..).unwrap_or_default()) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) if own.has_header => {
                    let filled = buffer.get_mut(..length).unwrap_or_default();
                    let header = Header::parse(filled);
                    let packet = filled.get_mut(HEADER..).unwrap_or_default();
                    let give = |buffer: &mut [u8]| {
                        forwarder.counters.received_packets.add(1);
                        forwarder.take_from_network(Frame::new(buffer, HEADROOM), now);
                        packets += 1;
                    };
                    let split = header
                        .and_then(|header| segments(header, packet, HEADROOM, &mut segment, give));
                    if split.is_none() {
                        forwarder.counters.received_packets.add(1);
                        forwarder.counters.dropped(DropReason::Malformed);
                    }
                }
                Ok(length) => {
                    forwarder.counters.received_packets.add(1);
                    let filled = buffer.get_mut(..HEADROOM + length).unwrap_or_default();
                    forwarder.take_from_network(Frame::new(filled, HEADROOM), now);
                    packets += 1;
                }
                Err(error) if transient(&error) => break,
                Err(error) => return Err(error),
            }
        }
        forwarder.flush();
        sample.each(packets);
        waiting_since = Instant::now();
    }
    Ok(())
}

fn from_lan<O: Egress>(
    forwarder: &Forwarder<O>,
    lan: &Lan<Entry>,
    stopped: &UnixStream,
) -> io::Result<()> {
    let Some(mut device) = lan.device.as_ref() else { return Ok(()) };
    let mut buffer = vec![0; HEADROOM + 65_535];
    forwarder.egress.queue();
    let mut waiting_since = Instant::now();
    while readable(device, stopped)? {
        let now = Instant::now();
        for _ in 0..reads_after(now - waiting_since) {
            match device.read(buffer.get_mut(HEADROOM..).unwrap_or_default()) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let filled = buffer.get_mut(..HEADROOM + length).unwrap_or_default();
                    forwarder.receive_from_lan(lan, &Frame::new(filled, HEADROOM), now);
                }
                Err(error) if transient(&error) => break,
                Err(error) => return Err(error),
            }
        }
        forwarder.flush();
        waiting_since = Instant::now();
    }
    Ok(())
}

/// How many packets to read from a device after waiting for one. A device that was empty has one
/// packet as a rule, and the read that finds no second one costs as much as waiting again.
fn reads_after(waited: Duration) -> usize {
    if waited > SLEPT { 1 } else { AT_A_TIME }
}

/// Whether an I/O error is temporary, so that the socket remains usable.
pub fn transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionRefused)
}
