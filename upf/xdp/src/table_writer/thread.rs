//! The thread of user space: events of the programs, and datagrams of the socket.
use super::controller::Controller;
use super::non_ip::NonIpRules;
use super::router::Solicitations;
use super::socket::Socket;
use super::{Forwarder, lock};
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_kernel::batch::Batch;
use martlet_upf_kernel::frame::HEADROOM;
use martlet_upf_kernel::limiter::PeerLimiter;
use martlet_upf_kernel::threads::transient;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Next hops are looked up again at least this often, in milliseconds.
const HOPS_MS: u16 = 1000;

/// The thread. Dropping this ends it.
pub(super) struct Thread {
    /// Closed to end it.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    pub fn start(
        forwarder: &Arc<Forwarder>,
        controller: &Arc<Controller>,
        frames: &Arc<Mutex<NonIpRules>>,
        failure: mpsc::Sender<String>,
    ) -> Result<Self, OpenError> {
        let (stop, stopped) = UnixStream::pair().map_err(OpenError::Threads)?;
        let (forwarder, controller, frames) =
            (forwarder.clone(), controller.clone(), frames.clone());
        let work = move || {
            if let Err(error) = serve(&forwarder, &controller, &frames, &stopped) {
                let _ = failure.try_send(format!("the thread upf-xdp failed: {error}"));
            }
        };
        let thread = std::thread::Builder::new()
            .name("upf-xdp".into())
            .spawn(work)
            .map_err(OpenError::Threads)?;
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

fn serve(
    forwarder: &Forwarder,
    controller: &Controller,
    frames: &Mutex<NonIpRules>,
    stopped: &UnixStream,
) -> io::Result<()> {
    let reported_at = lock(&forwarder.ring).descriptors();
    // SAFETY: these descriptors are open while the forwarder lives, which is longer than this
    // function.
    let reported_at: Vec<BorrowedFd<'_>> =
        reported_at.into_iter().map(|fd| unsafe { BorrowedFd::borrow_raw(fd) }).collect();
    let total = forwarder.limits.error_indications_per_second;
    let response_limiter = PeerLimiter::per_second(total, forwarder.responses_per_peer);
    let solicitations = Solicitations::default();
    let mut socket = Socket { response_limiter, solicitations, frame: Vec::new(), out: Vec::new() };
    let mut batch = Batch::default();
    let mut looked_up = Instant::now();
    loop {
        let (has_events, stop, datagrams) = {
            let wait = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut waiting = vec![wait(stopped.as_fd())];
            waiting.extend(reported_at.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)));
            waiting.extend(forwarder.gtpu.each().map(|(_, socket)| wait(socket.as_fd())));
            match poll(&mut waiting, PollTimeout::from(HOPS_MS)) {
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
            let (has_events, datagrams) = waiting[1..].split_at(reported_at.len());
            (
                has_events.iter().any(ready),
                ready(&waiting[0]),
                datagrams.iter().map(ready).collect::<Vec<bool>>(),
            )
        };
        if stop {
            return Ok(());
        }
        if looked_up.elapsed() >= Duration::from_millis(HOPS_MS.into()) {
            looked_up = Instant::now();
            forwarder.write_perimeter();
            forwarder.programs.forget_hops();
            forwarder.sweep_flows();
            forwarder.report_again();
            {
                let state = &mut *forwarder.lock();
                state.forget_retired(&forwarder.programs);
                forwarder.release_noted(state);
            }
            // Maximum age of the counters in the metrics.
            forwarder.refresh();
            forwarder.end_trace();
            forwarder.request_lost_count();
            controller.take_over(&forwarder.programs);
            if controller.is_alone() {
                forwarder.remove_left();
            }
        }
        if has_events {
            let state = &mut *forwarder.lock();
            forwarder.take_events(state);
            forwarder.release_noted(state);
        }
        for ((local, from), _) in forwarder.gtpu.each().zip(datagrams).filter(|(_, ready)| *ready) {
            receive(forwarder, frames, &mut socket, &mut batch, local, from)?;
        }
    }
}

fn receive(
    forwarder: &Forwarder,
    frames: &Mutex<NonIpRules>,
    socket: &mut Socket,
    batch: &mut Batch,
    local: IpAddr,
    gtpu: &UdpSocket,
) -> io::Result<()> {
    match batch.receive(gtpu) {
        Ok(()) => {}
        // A peer's closed port shows here, too.
        Err(error) if transient(&error) => return Ok(()),
        Err(error) => return Err(error),
    }
    let now = Instant::now();
    batch.each(|datagram| {
        forwarder.counters.received_packets.add(1);
        let Some((buffer, from)) = datagram else {
            return forwarder.counters.dropped(DropReason::Malformed);
        };
        let of_frames = lock(frames).take(buffer, from, local, now);
        let reply = of_frames.unwrap_or_else(|| {
            let datagram = buffer.get(HEADROOM..).unwrap_or_default();
            socket.take(forwarder, datagram, from, local, now)
        });
        if let Some(reply) = reply
            && let Err(error) = gtpu.send_to(&reply, from)
        {
            tracing::debug!(peer = %from, %error, "GTP-U answer not sent");
        }
    });
    Ok(())
}
