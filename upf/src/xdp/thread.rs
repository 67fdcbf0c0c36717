//! The thread beside the programs: what they tell, and what is left to the socket.
use super::controller::Controller;
use super::forwarder::{Forwarder, lock};
use super::socket::Socket;
use crate::counters::DropReason;
use crate::kernel::batch::Batch;
use crate::kernel::frame::HEADROOM;
use crate::kernel::limiter::Limiter;
use crate::kernel::threads::transient;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Next hops are looked up again at least this often, in milliseconds.
const HOPS_MS: u16 = 1000;

/// The thread; it ends with this.
pub(super) struct Thread {
    /// Closed to end it.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    pub fn start(
        forwarder: &Arc<Forwarder>,
        controller: &Arc<Controller>,
        local: IpAddr,
        failure: mpsc::Sender<String>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the thread of the datapath cannot be started: {error}");
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let (forwarder, controller) = (forwarder.clone(), controller.clone());
        let work = move || {
            if let Err(error) = serve(&forwarder, &controller, local, &stopped) {
                let _ = failure.try_send(format!("upf-xdp can serve no more packets: {error}"));
            }
        };
        let thread = std::thread::Builder::new().name("upf-xdp".into()).spawn(work).map_err(failed)?;
        Ok(Thread { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(forwarder: &Forwarder, controller: &Controller, local: IpAddr, stopped: &UnixStream) -> io::Result<()> {
    let ring = lock(&forwarder.ring).descriptor();
    // SAFETY: the ring's descriptor is open for as long as the forwarder lives, which is longer than this function.
    let ring = unsafe { BorrowedFd::borrow_raw(ring) };
    let complaints = Limiter::per_second(forwarder.limits.complaints_per_second);
    let mut socket = Socket { complaints, local, frame: Vec::new(), out: Vec::new() };
    let mut batch = Batch::new();
    let mut looked_up = Instant::now();
    loop {
        let [told, datagrams, stop] = {
            let wait = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut waiting = [wait(ring), wait(forwarder.gtpu.as_fd()), wait(stopped.as_fd())];
            match poll(&mut waiting, PollTimeout::from(HOPS_MS)) {
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => waiting.map(|fd| fd.any().unwrap_or(true)),
            }
        };
        if stop {
            return Ok(());
        }
        if looked_up.elapsed() >= Duration::from_millis(HOPS_MS.into()) {
            looked_up = Instant::now();
            forwarder.programs.forget_hops();
            forwarder.sweep_flows();
            forwarder.lock().forget_retired(&forwarder.programs);
            // Whoever reads the metrics finds them no older than this.
            forwarder.refresh();
            forwarder.end_trace();
            controller.take_over(&forwarder.programs);
        }
        if told {
            let state = &mut *forwarder.lock();
            for seid in forwarder.take_events(state) {
                forwarder.release(state, seid);
            }
        }
        if datagrams {
            receive(forwarder, &mut socket, &mut batch)?;
        }
    }
}

fn receive(forwarder: &Forwarder, socket: &mut Socket, batch: &mut Batch) -> io::Result<()> {
    match batch.receive(&forwarder.gtpu) {
        Ok(_) => {}
        // A peer's closed port shows here, too.
        Err(error) if transient(&error) => return Ok(()),
        Err(error) => return Err(error),
    }
    let now = Instant::now();
    batch.each(|datagram| {
        forwarder.counters.received_packets.add(1);
        let Some((buffer, from)) = datagram else { return forwarder.counters.dropped(DropReason::Malformed) };
        let datagram = buffer.get(HEADROOM..).unwrap_or_default();
        if let Some(reply) = socket.take(forwarder, datagram, from, now)
            && let Err(error) = forwarder.gtpu.send_to(&reply, from)
        {
            tracing::debug!(peer = %from, %error, "GTP-U answer not sent");
        }
    });
    Ok(())
}
