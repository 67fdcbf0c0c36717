//! QUIC by MsQuic: one connection with one bidirectional stream. MsQuic calls back on its own
//! threads.

mod library;
mod listener;
mod state;

pub(crate) use listener::MsQuicListener;
pub(crate) use state::Ticket;

use ::msquic as quic;
use library::{ALPN, Files, failed, registration, settings};
use martlet_lcs_channel::{Channel, ChannelError, Description, Options, Resumption, Trust};
use quic::{
    AllowedCipherSuiteFlags, BufferRef, Configuration, Connection, ConnectionEvent, ConnectionRef,
    ConnectionShutdownFlags, CredentialConfig, CredentialFlags, SendFlags, Status, Stream,
    StreamEvent, StreamOpenFlags, StreamRef, StreamShutdownFlags, StreamStartFlags,
};
use state::{Sending, Shared, State};
use std::ffi::c_void;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Limit of bytes that MsQuic holds unsent.
const MAX_UNSENT: usize = 1 << 20;

/// One end of a QUIC connection.
pub(crate) struct MsQuic {
    /// Declared first, so that it is dropped before the state that its callbacks use.
    connection: Option<Connection>,
    shared: Arc<Shared>,
    options: Options,
    _configuration: Arc<Configuration>,
}

// SAFETY: MsQuic's handles may be used by any thread, and a lock guards the state.
unsafe impl Send for MsQuic {}

impl MsQuic {
    pub(crate) fn connect(
        to: SocketAddr,
        trust: &Trust,
        options: &Options,
        ticket: Option<Ticket>,
    ) -> Result<Self, ChannelError> {
        trust.certificates()?;
        let name = trust.server_name()?;
        let registration = registration()?;
        let configuration =
            Configuration::open(registration, &[BufferRef::from(ALPN)], Some(&settings(options)))
                .map_err(failed)?;
        let files = Files::new(&[("roots.pem", &trust.roots)])?;
        let credential = CredentialConfig::new_client()
            .set_credential_flags(
                CredentialFlags::INDICATE_CERTIFICATE_RECEIVED
                    | CredentialFlags::USE_PORTABLE_CERTIFICATES,
            )
            .set_ca_certificate_file(files.path("roots.pem"))
            .set_allowed_cipher_suites(AllowedCipherSuiteFlags::AES_128_GCM_SHA256);
        let wrong = |status| {
            ChannelError::Identity(format!("MsQuic rejects the root certificates: {status}"))
        };
        configuration.load_credential(&credential).map_err(wrong)?;
        let shared = Arc::new(Shared::of(ticket.unwrap_or_default()));
        let state = shared.clone();
        let connection =
            Connection::open(registration, move |at: ConnectionRef, event: ConnectionEvent<'_>| {
                state.on_connection(&at, event, Some(&name))
            })
            .map_err(failed)?;
        let address = quic::Addr::from(to);
        // SAFETY: the address is valid during the call, and the size is its own.
        unsafe {
            let (at, size) = ((&raw const address).cast::<c_void>(), size_of_val(&address) as u32);
            quic::Api::set_param(
                connection.as_raw(),
                quic::ffi::QUIC_PARAM_CONN_REMOTE_ADDRESS,
                size,
                at,
            )
        }
        .map_err(failed)?;
        if let Some(ticket) = shared.ticket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: the ticket is valid during the call, and the size is its own.
            unsafe {
                let (at, size) = (ticket.as_ptr().cast::<c_void>(), ticket.len() as u32);
                quic::Api::set_param(
                    connection.as_raw(),
                    quic::PARAM_CONN_RESUMPTION_TICKET,
                    size,
                    at,
                )
            }
            .map_err(failed)?;
        }
        connection.start(&configuration, &trust.name, to.port()).map_err(failed)?;
        let channel = MsQuic {
            connection: Some(connection),
            shared,
            options: options.clone(),
            _configuration: Arc::new(configuration),
        };
        channel.connected()?;
        channel.open_stream()?;
        Ok(channel)
    }

    /// Waits until the handshake is complete.
    fn connected(&self) -> Result<(), ChannelError> {
        let done = self.shared.wait(&self.options, |state| match (state.connected, state.closed) {
            // Connected, even if the peer has already sent all and closed.
            (true, _) => Some(Ok(())),
            (false, true) => Some(Err(state.why.clone())),
            (false, false) => None,
        });
        done.ok_or(ChannelError::Timeout)?.map_err(|why| why.map_or(ChannelError::Cut, failed))
    }

    fn open_stream(&self) -> Result<(), ChannelError> {
        let Some(connection) = &self.connection else { return Err(ChannelError::Cut) };
        let shared = self.shared.clone();
        let on_event = move |_: StreamRef, event: StreamEvent<'_>| shared.on_stream(event);
        let stream = Stream::open(connection, StreamOpenFlags::NONE, on_event).map_err(failed)?;
        stream.start(StreamStartFlags::NONE).map_err(failed)?;
        self.shared.state().stream = Some(stream);
        Ok(())
    }

    fn closed(state: &State) -> ChannelError {
        state.why.clone().map_or(ChannelError::Cut, failed)
    }
}

impl Drop for MsQuic {
    fn drop(&mut self) {
        // Closing waits for callbacks, which may wait for the lock: the lock must not be held here.
        let stream = self.shared.state().stream.take();
        drop(stream);
        drop(self.connection.take());
    }
}

impl Channel for MsQuic {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        // The LMF's end has no stream until the UE's first bytes arrive.
        let room = self.shared.wait(&self.options, |state| match state {
            State { closed: true, .. } => Some(Err(Self::closed(state))),
            State { stream: Some(stream), unsent: ..MAX_UNSENT, .. } => {
                // SAFETY: the handle is used only while the channel, which owns the stream, is
                // borrowed.
                Some(Ok(unsafe { stream.as_raw() }))
            }
            _ => None,
        });
        let handle = room.ok_or(ChannelError::Timeout)??;
        let bytes = bytes.to_vec();
        let count = bytes.len();
        let buffer = [BufferRef::from(bytes.as_slice())];
        let sending = Box::into_raw(Box::new(Sending { bytes, buffer }));
        self.shared.state().unsent += count;
        // SAFETY: the stream is open, and `sending` is valid until MsQuic completes the send.
        let sent = unsafe {
            let stream = std::mem::ManuallyDrop::new(Stream::from_raw(handle));
            stream.send(&(*sending).buffer, SendFlags::NONE, sending as *const c_void)
        };
        sent.map_err(|status| {
            // SAFETY: MsQuic rejected the send, so it does not complete it.
            drop(unsafe { Box::from_raw(sending) });
            self.shared.state().unsent -= count;
            failed(status)
        })
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let received = self.shared.wait(&self.options, |state| {
            if !state.input.is_empty() {
                out.append(&mut state.input);
                let uncompleted = std::mem::take(&mut state.uncompleted);
                // SAFETY: as in `send`.
                let handle = state.stream.as_ref().map(|it| unsafe { it.as_raw() });
                return Some(Ok((true, handle, uncompleted)));
            }
            match (state.finished, state.closed, &state.why) {
                (true, ..) | (_, true, None) => Some(Ok((false, None, 0))),
                (_, true, Some(_)) => Some(Err(Self::closed(state))),
                _ => None,
            }
        });
        let (more, handle, uncompleted) = received.ok_or(ChannelError::Timeout)??;
        if let Some(handle) = handle.filter(|_| uncompleted > 0) {
            // SAFETY: the stream is open as long as the channel is.
            std::mem::ManuallyDrop::new(unsafe { Stream::from_raw(handle) })
                .receive_complete(uncompleted);
        }
        Ok(more)
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        // SAFETY: as in `send`.
        let handle = self.shared.state().stream.as_ref().map(|stream| unsafe { stream.as_raw() });
        if let Some(handle) = handle {
            // SAFETY: the stream is open as long as the channel is.
            let stream = std::mem::ManuallyDrop::new(unsafe { Stream::from_raw(handle) });
            if stream.shutdown(StreamShutdownFlags::GRACEFUL, 0).is_ok() {
                // Sent bytes must be acknowledged before the connection closes.
                self.shared
                    .wait(&self.options, |state| (state.flushed || state.closed).then_some(()));
            }
        }
        if let Some(connection) = &self.connection {
            connection.shutdown(ConnectionShutdownFlags::NONE, 0);
            let brief = Options { timeout: Duration::from_secs(1), ..self.options.clone() };
            self.shared.wait(&brief, |state| state.closed.then_some(()));
        }
        Ok(())
    }

    fn resumption(&self) -> Resumption {
        if self.shared.state().resumed { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        let suite = self.shared.state().is_expected_suite;
        // SAFETY: the version consists of four 32-bit numbers.
        let version: Result<[u32; 4], Status> = unsafe {
            quic::Api::get_param_auto(
                std::ptr::null_mut(),
                quic::ffi::QUIC_PARAM_GLOBAL_LIBRARY_VERSION,
            )
        };
        let version =
            version.map_or_else(|_| "2".into(), |it| format!("{}.{}.{}", it[0], it[1], it[2]));
        Description {
            protocol: "QUIC v1, TLSv1.3".into(),
            cipher_suite: if suite { "TLS_AES_128_GCM_SHA256" } else { "none" }.into(),
            library: format!("MsQuic {version}, quictls"),
        }
    }
}
