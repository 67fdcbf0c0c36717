//! An association.
use super::endpoint::Endpoint;
use super::gate;
use super::socket::Core;
use super::stack::end_of;
use super::tables::{self, Path};
use crate::error::End;
use crate::ffi::usrsctp::{Read, change};
use crate::{Message, Options, SctpError, metrics};
use bytes::Bytes;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use tokio::sync::Mutex;
use tokio::sync::mpsc;

/// The socket of an association with what it needs to send. Dropped in this order: the ABORT of a socket that is
/// closed still has to find its way.
pub(super) struct SharedSocket {
    pub(super) core: Arc<Core>,
    pub(super) _pin: Pin,
    pub(super) endpoint: Arc<Endpoint>,
}

/// A peer that is remembered while its association lives.
pub(super) struct Pin {
    endpoint: u16,
    peer: u16,
    pub(super) path: Path,
}

impl Pin {
    pub(super) fn new(endpoint: u16, peer: u16) -> Option<Pin> {
        let path = tables::lock().pin(endpoint, peer)?;
        Some(Pin { endpoint, peer, path })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        tables::lock().unpin(self.endpoint, self.peer);
    }
}

/// One life of an association: when the peer restarts it, another one goes on with the same socket.
#[derive(Clone)]
pub(crate) struct Association(Arc<Inner>);

struct Inner {
    socket: Arc<SharedSocket>,
    peer: SocketAddr,
    local: SocketAddr,
    streams: u16,
    options: Options,
    /// To the listener, if one accepted this.
    restarts: Option<mpsc::WeakSender<Association>>,
    ended: OnceLock<End>,
    /// Held by the one who receives.
    receiving: Mutex<Receiving>,
    /// Held by the one who sends, so that messages keep their order while the buffer is full.
    sending: Mutex<()>,
}

#[derive(Default)]
struct Receiving {
    /// What has come of a message.
    partial: Vec<u8>,
    /// The association is lost, with this error cause; why, the next read tells.
    lost: Option<u16>,
}

/// What a read brings.
enum Step {
    Message(Message),
    Again,
    Wait,
    End(End),
    Restart { streams: u16 },
}

impl Association {
    pub(super) fn new(
        socket: Arc<SharedSocket>,
        peer: SocketAddr,
        local: IpAddr,
        streams: u16,
        options: Options,
        restarts: Option<mpsc::WeakSender<Association>>,
    ) -> Association {
        let local = SocketAddr::new(local, socket.endpoint.port());
        Association(Arc::new(Inner {
            socket,
            peer,
            local,
            streams,
            options,
            restarts,
            ended: OnceLock::new(),
            receiving: Mutex::default(),
            sending: Mutex::default(),
        }))
    }

    pub(crate) fn peer_addr(&self) -> SocketAddr {
        self.0.peer
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.0.local
    }

    pub(crate) fn streams(&self) -> u16 {
        self.0.streams
    }

    pub(crate) async fn send(&self, stream: u16, ppid: u32, data: Bytes) -> Result<(), SctpError> {
        let core = &self.0.socket.core;
        let _turn = self.0.sending.lock().await;
        loop {
            if let Some(end) = self.0.ended.get() {
                return Err(end.error().unwrap_or(SctpError::Closed));
            }
            let sent = {
                let mut gate = gate::enter();
                let sent = core.send(&mut gate, stream, ppid, &data);
                if would_block(&sent) {
                    core.wait_to_write();
                }
                sent
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(_) if would_block(&sent) => {
                    metrics::SEND_WAITS.inc();
                    core.writable.notified().await;
                }
                // Why it has ended, `recv` will tell.
                Err(error) if has_ended(&error) => return Err(SctpError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) async fn recv(&self) -> Result<Option<Message>, SctpError> {
        let mut receiving = self.0.receiving.lock().await;
        loop {
            if let Some(end) = self.0.ended.get() {
                return end.error().map_or(Ok(None), Err);
            }
            match self.read(&mut receiving)? {
                Step::Message(message) => return Ok(Some(message)),
                Step::Again => {}
                Step::Wait => self.0.socket.core.readable.notified().await,
                Step::End(end) => {
                    let _ = self.0.ended.set(end);
                }
                Step::Restart { streams } => self.restart(streams),
            }
        }
    }

    /// Reads a part of a message or an event.
    fn read(&self, receiving: &mut Receiving) -> Result<Step, SctpError> {
        let mut gate = gate::enter();
        let partial = &mut receiving.partial;
        Ok(match gate.read(&self.0.socket.core) {
            Ok((Read::Data { .. }, data)) if partial.len() + data.len() > self.0.options.max_message => {
                let size = partial.len() + data.len();
                drop(gate);
                return Err(self.refuse(size));
            }
            Ok((Read::Data { end: false, .. }, data)) => {
                partial.extend_from_slice(data);
                Step::Again
            }
            Ok((Read::Data { stream, ppid, .. }, data)) if partial.is_empty() => {
                Step::Message(Message { stream, ppid, data: Bytes::copy_from_slice(data) })
            }
            Ok((Read::Data { stream, ppid, .. }, data)) => {
                partial.extend_from_slice(data);
                Step::Message(Message { stream, ppid, data: std::mem::take(partial).into() })
            }
            Ok((Read::Change { state: change::LOST, error, .. }, _)) => {
                receiving.lost = Some(error);
                Step::Again
            }
            Ok((Read::Change { state: change::RESTART, outbound, .. }, _)) => Step::Restart { streams: outbound },
            Ok((Read::Change { state: change::SHUTDOWN, .. } | Read::Eof, _)) => Step::End(end_of(receiving.lost, None)),
            Ok((Read::Change { .. } | Read::Other, _)) => Step::Again,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && receiving.lost.is_none() => Step::Wait,
            Err(error) => Step::End(end_of(receiving.lost, Some(&error))),
        })
    }

    /// The peer sent more than was agreed on: no way to skip it, since it may never end.
    fn refuse(&self, size: usize) -> SctpError {
        let limit = self.0.options.max_message;
        metrics::TOO_LARGE.with_label_values(&["in"]).inc();
        tracing::warn!(peer = %self.0.peer, size, limit, "an SCTP peer sends a message above the limit: aborted");
        self.abort();
        SctpError::MessageTooLarge { size, limit }
    }

    /// The peer has lost its state and begins anew: this life ends, the next one is accepted from the listener.
    fn restart(&self, streams: u16) {
        let _ = self.0.ended.set(End::Restarted);
        let inner = &self.0;
        let next = Association::new(
            inner.socket.clone(),
            inner.peer,
            inner.local.ip(),
            streams,
            inner.options.clone(),
            inner.restarts.clone(),
        );
        let listener = inner.restarts.as_ref().and_then(mpsc::WeakSender::upgrade);
        if listener.is_none_or(|listener| listener.try_send(next.clone()).is_err()) {
            metrics::NOT_ACCEPTED.inc();
            next.abort();
        }
    }

    pub(crate) async fn shutdown(&self) {
        if self.0.ended.get().is_some() {
            return;
        }
        let asked = self.0.socket.core.shutdown(&mut gate::enter());
        let drained = async { while let Ok(Some(_)) = self.recv().await {} };
        if asked.is_err() || tokio::time::timeout(self.0.options.shutdown_timeout, drained).await.is_err() {
            self.abort();
        }
    }

    pub(crate) fn abort(&self) {
        if self.0.ended.set(End::Closed).is_ok() {
            self.0.socket.core.abort(&mut gate::enter());
        }
        // Whoever waits is to look again.
        self.0.socket.core.wait_to_write();
        self.0.socket.core.signal(true, true);
    }
}

fn would_block(result: &io::Result<()>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn has_ended(error: &io::Error) -> bool {
    let ended =
        [libc::ECONNRESET, libc::EPIPE, libc::ENOTCONN, libc::ENOENT, libc::ECONNABORTED, libc::EINVAL, libc::ETIMEDOUT];
    error.raw_os_error().is_some_and(|code| ended.contains(&code))
}
