//! An association, independent of the stack.
use crate::error::End;
use crate::socket::{Accepted, Read, Socket};
use crate::{Message, Options, SctpError, metrics};
use bytes::Bytes;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, mpsc};

/// An association between two restarts. After a restart, a new one uses the same socket.
pub(crate) struct Association<S>(Arc<Inner<S>>);

struct Inner<S> {
    socket: Arc<S>,
    peer: SocketAddr,
    local: SocketAddr,
    streams: u16,
    options: Options,
    /// Passes restarted associations to the listener, if the association was accepted.
    restarts: Option<mpsc::WeakSender<Association<S>>>,
    ended: OnceLock<End>,
    /// Locked by the receiving task.
    receiving: Mutex<Receiving>,
    /// Locked by the sending task, so that messages keep their order while the buffer is full.
    sending: Mutex<()>,
}

#[derive(Default)]
struct Receiving {
    /// The received part of a message.
    message: Vec<u8>,
    /// The association is lost, with this error cause. The next read returns the reason.
    lost: Option<u16>,
}

impl<S> Clone for Association<S> {
    fn clone(&self) -> Self {
        Association(self.0.clone())
    }
}

impl<S: Socket> Association<S> {
    pub(crate) fn new(
        accepted: Accepted<S>,
        options: Options,
        restarts: Option<mpsc::WeakSender<Association<S>>>,
    ) -> Association<S> {
        let Accepted { socket, peer, local, streams } = accepted;
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

    /// Its socket.
    #[cfg(feature = "usrsctp")]
    pub(crate) fn socket(&self) -> &S {
        &self.0.socket
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
        self.check(stream, &data)?;
        let inner = &*self.0;
        let _permit = inner.sending.lock().await;
        loop {
            if let Some(end) = inner.ended.get() {
                return Err(end.error().unwrap_or(SctpError::Closed));
            }
            match inner.socket.send(stream, ppid, &data) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    metrics::SEND_WAITS.inc();
                    inner.socket.writable().await?;
                }
                // `recv` reports the reason.
                Err(error) if has_ended(&error) => return Err(SctpError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Rejects messages that the stack cannot send.
    fn check(&self, stream: u16, data: &[u8]) -> Result<(), SctpError> {
        let (limit, streams) = (self.0.options.max_message, self.0.streams);
        if data.is_empty() {
            return Err(SctpError::EmptyMessage);
        }
        if data.len() > limit {
            metrics::TOO_LARGE.with_label_values(&["out"]).inc();
            return Err(SctpError::MessageTooLarge { size: data.len(), limit });
        }
        if stream >= streams {
            return Err(SctpError::NoSuchStream { stream, streams });
        }
        Ok(())
    }

    pub(crate) async fn recv(&self) -> Result<Option<Message>, SctpError> {
        let inner = &*self.0;
        let mut receiving = inner.receiving.lock().await;
        loop {
            if let Some(end) = inner.ended.get() {
                return end.error().map_or(Ok(None), Err);
            }
            let Receiving { message, lost } = &mut *receiving;
            let read = inner.socket.read(message);
            match read {
                Ok(Read::Data { .. }) if message.len() > inner.options.max_message => {
                    return Err(self.refuse(message.len()));
                }
                Ok(Read::Data { stream, ppid, end: true }) => {
                    return Ok(Some(Message {
                        stream,
                        ppid,
                        data: std::mem::take(message).into(),
                    }));
                }
                Ok(Read::Data { end: false, .. } | Read::Up { .. } | Read::Other) => {}
                Ok(Read::Lost { cause }) => *lost = Some(cause),
                Ok(Read::Restart { streams }) => self.restart(streams),
                Ok(Read::CannotStart | Read::Shutdown | Read::Eof) => self.end(end_of(*lost, None)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && lost.is_none() => {
                    inner.socket.readable().await?;
                }
                Err(error) => self.end(end_of(*lost, Some(&error))),
            }
        }
    }

    fn end(&self, end: End) {
        // The first end is retained.
        let _ = self.0.ended.set(end);
    }

    /// A message exceeds the limit. It may never end, so it cannot be skipped.
    fn refuse(&self, size: usize) -> SctpError {
        let limit = self.0.options.max_message;
        metrics::TOO_LARGE.with_label_values(&["in"]).inc();
        if let Some(suppressed) = martlet_log_limit::line("too_large", self.0.peer.ip()) {
            tracing::warn!(
                peer = %self.0.peer, size, limit, suppressed,
                "SCTP association aborted: message exceeds the limit"
            );
        }
        self.abort();
        SctpError::MessageTooLarge { size, limit }
    }

    /// The peer restarted the association (RFC 9260, 5.2): this one ends, and the listener gets the
    /// new one.
    fn restart(&self, streams: u16) {
        self.end(End::Restarted);
        let inner = &self.0;
        let accepted = Accepted {
            socket: inner.socket.clone(),
            peer: inner.peer,
            local: inner.local,
            streams,
        };
        let next = Association::new(accepted, inner.options.clone(), inner.restarts.clone());
        let listener = inner.restarts.as_ref().and_then(mpsc::WeakSender::upgrade);
        if listener.is_none_or(|listener| listener.try_send(next.clone()).is_err()) {
            metrics::NOT_ACCEPTED.inc();
            next.abort();
        }
    }

    pub(crate) fn is_acknowledged(&self) -> bool {
        self.0.ended.get().is_none() && self.0.socket.unacknowledged().is_ok_and(|count| count == 0)
    }

    pub(crate) async fn shutdown(&self) {
        if self.0.ended.get().is_some() {
            return;
        }
        let requested = self.0.socket.shutdown();
        let drained = async { while let Ok(Some(_)) = self.recv().await {} };
        if requested.is_err()
            || tokio::time::timeout(self.0.options.shutdown_timeout, drained).await.is_err()
        {
            self.abort();
        }
    }

    pub(crate) fn abort(&self) {
        if self.0.ended.set(End::Closed).is_ok() {
            self.0.socket.abort();
        }
    }
}

/// Waits until a connecting socket is established. Returns the number of outbound streams.
pub(crate) async fn established<S: Socket>(socket: &S) -> Result<u16, SctpError> {
    let mut failed = false;
    let mut nothing = Vec::new();
    loop {
        match socket.read(&mut nothing) {
            Ok(Read::Up { streams }) => return Ok(streams),
            Ok(Read::CannotStart | Read::Lost { .. }) => failed = true,
            Ok(Read::Eof) => return Err(SctpError::Refused),
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                Some(libc::EWOULDBLOCK) if !failed => socket.readable().await?,
                Some(libc::ECONNREFUSED | libc::ECONNRESET) => return Err(SctpError::Refused),
                Some(libc::EWOULDBLOCK | libc::ETIMEDOUT | libc::ECONNABORTED) => {
                    return Err(SctpError::ConnectTimeout);
                }
                _ => return Err(error.into()),
            },
        }
    }
}

/// How an association ended, from its last event and the result of the read after it.
fn end_of(lost: Option<u16>, error: Option<&io::Error>) -> End {
    match (lost, error.and_then(io::Error::raw_os_error)) {
        (cause, Some(libc::ECONNRESET | libc::ECONNREFUSED)) => {
            End::Aborted { cause: cause.unwrap_or(0) }
        }
        // A sending task may have received the reason.
        (Some(cause), None) if cause != 0 => End::Aborted { cause },
        (None, None) => End::Shutdown,
        _ => End::PathFailed,
    }
}

/// Whether a send error means that the association has ended.
fn has_ended(error: &io::Error) -> bool {
    let ended = [
        libc::ECONNRESET,
        libc::EPIPE,
        libc::ENOTCONN,
        libc::ENOENT,
        libc::ECONNABORTED,
        libc::ESHUTDOWN,
        libc::ETIMEDOUT,
    ];
    error.raw_os_error().is_some_and(|code| ended.contains(&code))
}
