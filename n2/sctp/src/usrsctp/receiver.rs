//! The raw sockets of a runtime, one for each local address, and the tasks that receive from them.
use super::addresses;
use super::library::{self, LibraryGuard};
use super::raw_socket::RawSocket;
use super::timers::Timers;
use crate::SctpError;
use crate::ffi::sys;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::io::Interest;
use tokio::task::JoinHandle;

/// Largest IP packet, bytes.
const PACKET_LIMIT: usize = 65_536;
/// Packets handled before other tasks run.
const BATCH: usize = 64;

/// A raw socket with the tasks that receive and that send bundles. They end with the last endpoint.
pub(super) struct Receiver {
    pub(super) raw: Arc<RawSocket>,
    task: JoinHandle<()>,
    flush: JoinHandle<()>,
}

impl Receiver {
    fn spawn(local: IpAddr, timers: Arc<Timers>) -> Result<Receiver, SctpError> {
        let raw = Arc::new(RawSocket::open(local)?);
        let task = tokio::spawn(receive(raw.clone(), timers));
        let flush = tokio::spawn(raw.clone().flush_bundles());
        Ok(Receiver { raw, task, flush })
    }

    /// Whether the task still runs. It ends with its runtime.
    fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
        self.flush.abort();
    }
}

/// The raw sockets of one runtime, and the task that runs the timers.
#[derive(Default)]
pub(super) struct Receivers {
    receivers: Mutex<HashMap<IpAddr, Weak<Receiver>>>,
    timers: Arc<Timers>,
    timer_task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Receivers {
    fn drop(&mut self) {
        if let Some(task) = self.timer_task.get_mut().unwrap_or_else(PoisonError::into_inner).take()
        {
            task.abort();
        }
    }
}

impl Receivers {
    /// The raw socket for a local address, opened on first use.
    pub(super) fn of(&self, local: IpAddr) -> Result<Arc<Receiver>, SctpError> {
        let mut timer_task = self.timer_task.lock().unwrap_or_else(PoisonError::into_inner);
        if timer_task.as_ref().is_none_or(JoinHandle::is_finished) {
            *timer_task = Some(tokio::spawn(self.timers.clone().run()));
        }
        drop(timer_task);
        let mut receivers = self.receivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) =
            receivers.get(&local).and_then(Weak::upgrade).filter(|receiver| receiver.is_alive())
        {
            return Ok(receiver);
        }
        let receiver = Arc::new(Receiver::spawn(local, self.timers.clone())?);
        receivers.retain(|_, receiver| receiver.strong_count() > 0);
        receivers.insert(local, Arc::downgrade(&receiver));
        Ok(receiver)
    }

    /// Resumes the timers after a packet or message.
    pub(super) fn resume_timers(&self) {
        self.timers.resume();
    }
}

/// Passes received packets to the library, until the task is aborted.
async fn receive(raw: Arc<RawSocket>, timers: Arc<Timers>) {
    let fd = match sys::watch(raw.socket(), Interest::READABLE) {
        Ok(fd) => fd,
        Err(error) => {
            tracing::error!(
                %error,
                "SCTP raw socket cannot be watched: no packets are received on it"
            );
            return;
        }
    };
    let mut buffer = vec![0; PACKET_LIMIT];
    loop {
        let mut ready = match fd.readable().await {
            Ok(ready) => ready,
            Err(error) => {
                tracing::error!(%error, "SCTP raw socket failed");
                return;
            }
        };
        let drained = receive_batch(&raw, &mut buffer);
        timers.resume();
        if drained {
            ready.clear_ready();
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// Handles up to [`BATCH`] packets. Returns whether the socket is empty.
fn receive_batch(raw: &RawSocket, buffer: &mut [u8]) -> bool {
    let mut library = library::lock();
    for _ in 0..BATCH {
        match receive_one(raw, buffer, &mut library) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            // An ICMP error of an earlier packet. SCTP's timers detect failed paths.
            Err(error) => tracing::debug!(%error, "error on an SCTP raw socket"),
        }
    }
    false
}

/// Passes one packet to the library, with inner ports. `WouldBlock` if there is none.
fn receive_one(raw: &RawSocket, buffer: &mut [u8], library: &mut LibraryGuard) -> io::Result<()> {
    let Some((path, route, sctp)) = raw.receive(buffer)? else { return Ok(()) };
    let peer = addresses::lock().peer(route.endpoint, path);
    let (Some(peer), Some((ports, _))) = (peer, sctp.split_first_chunk_mut::<4>()) else {
        return Ok(());
    };
    let ([s1, s2], [d1, d2]) = (peer.to_be_bytes(), route.endpoint.to_be_bytes());
    *ports = [s1, s2, d1, d2];
    library.input(sctp);
    Ok(())
}
