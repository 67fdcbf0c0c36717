//! QUIC by MsQuic: one connection with one stream for both directions. MsQuic has threads of its
//! own, which call back here.

mod library;
mod listener;
mod told;

pub(crate) use listener::MsQuicListener;
pub(crate) use told::Ticket;

use ::msquic as quic;
use library::{ALPN, Files, failed, registration, settings};
use martlet_lcs_channel::{Channel, ChannelError, Description, Options, Resumption, Trust};
use quic::{
    AllowedCipherSuiteFlags, BufferRef, Configuration, Connection, ConnectionEvent, ConnectionRef,
    ConnectionShutdownFlags, CredentialConfig, CredentialFlags, SendFlags, Status, Stream,
    StreamEvent, StreamOpenFlags, StreamRef, StreamShutdownFlags, StreamStartFlags,
};
use std::ffi::c_void;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use told::{Sending, Shared, State};

/// Octets that are given to MsQuic before it has sent others.
const UNSENT: usize = 1 << 20;

/// One end of a QUIC connection.
pub(crate) struct MsQuic {
    /// Dropped before what its callbacks use.
    connection: Option<Connection>,
    shared: Arc<Shared>,
    options: Options,
    _configuration: Arc<Configuration>,
}

// SAFETY: MsQuic's handles may be used by any thread, and the state is behind a lock.
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
        let wrong =
            |status| ChannelError::Identity(format!("MsQuic does not take the roots: {status}"));
        configuration.load_credential(&credential).map_err(wrong)?;
        let shared = Arc::new(Shared::of(ticket.unwrap_or_default()));
        let told = shared.clone();
        let connection =
            Connection::open(registration, move |at: ConnectionRef, event: ConnectionEvent<'_>| {
                told.on_connection(&at, event, Some(&name))
            })
            .map_err(failed)?;
        let address = quic::Addr::from(to);
        // SAFETY: the address is there for the time of the call, with the size that is said.
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
            // SAFETY: the ticket is there for the time of the call, with the size that is said.
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

    /// Wait until the handshake is done.
    fn connected(&self) -> Result<(), ChannelError> {
        let done = self.shared.wait(&self.options, |state| match (state.connected, state.over) {
            // A peer that has sent all, and gone, was there.
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

    fn over(state: &State) -> ChannelError {
        state.why.clone().map_or(ChannelError::Cut, failed)
    }
}

impl Drop for MsQuic {
    fn drop(&mut self) {
        // Closing waits for callbacks, which may wait for the lock.
        let stream = self.shared.state().stream.take();
        drop(stream);
        drop(self.connection.take());
    }
}

impl Channel for MsQuic {
    fn send(&mut self, octets: &[u8]) -> Result<(), ChannelError> {
        // The LMF's side has its stream from the first octets of the UE on.
        let room = self.shared.wait(&self.options, |state| match state {
            State { over: true, .. } => Some(Err(Self::over(state))),
            State { stream: Some(stream), unsent: ..UNSENT, .. } => {
                // SAFETY: the handle is used only while the channel, which owns the stream, is
                // borrowed.
                Some(Ok(unsafe { stream.as_raw() }))
            }
            _ => None,
        });
        let handle = room.ok_or(ChannelError::Timeout)??;
        let octets = octets.to_vec();
        let count = octets.len();
        let buffer = [BufferRef::from(octets.as_slice())];
        let sending = Box::into_raw(Box::new(Sending { octets, buffer }));
        self.shared.state().unsent += count;
        // SAFETY: the stream is open, and what is sent stays where it is until MsQuic says that it
        // is done.
        let sent = unsafe {
            let stream = std::mem::ManuallyDrop::new(Stream::from_raw(handle));
            stream.send(&(*sending).buffer, SendFlags::NONE, sending as *const c_void)
        };
        sent.map_err(|status| {
            // SAFETY: MsQuic did not take it.
            drop(unsafe { Box::from_raw(sending) });
            self.shared.state().unsent -= count;
            failed(status)
        })
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let came = self.shared.wait(&self.options, |state| {
            if !state.input.is_empty() {
                out.append(&mut state.input);
                let owed = std::mem::take(&mut state.owed);
                // SAFETY: as in `send`.
                let handle = state.stream.as_ref().map(|it| unsafe { it.as_raw() });
                return Some(Ok((true, handle, owed)));
            }
            match (state.finished, state.over, &state.why) {
                (true, ..) | (_, true, None) => Some(Ok((false, None, 0))),
                (_, true, Some(_)) => Some(Err(Self::over(state))),
                _ => None,
            }
        });
        let (more, handle, owed) = came.ok_or(ChannelError::Timeout)??;
        if let Some(handle) = handle.filter(|_| owed > 0) {
            // SAFETY: the stream is open as long as the channel is.
            std::mem::ManuallyDrop::new(unsafe { Stream::from_raw(handle) }).receive_complete(owed);
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
                // What was sent has to arrive before the connection goes.
                self.shared
                    .wait(&self.options, |state| (state.flushed || state.over).then_some(()));
            }
        }
        if let Some(connection) = &self.connection {
            connection.shutdown(ConnectionShutdownFlags::NONE, 0);
            let brief = Options { timeout: Duration::from_secs(1), ..self.options.clone() };
            self.shared.wait(&brief, |state| state.over.then_some(()));
        }
        Ok(())
    }

    fn resumption(&self) -> Resumption {
        if self.shared.state().resumed { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        let suite = self.shared.state().is_the_suite;
        // SAFETY: the version is four numbers of 32 bits.
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
