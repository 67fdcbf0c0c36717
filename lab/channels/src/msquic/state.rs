//! The state that MsQuic's callbacks update, and on which the channel waits.

use ::msquic as quic;
use martlet_lcs_channel::Options;
use quic::{
    BufferRef, ConnectionEvent, ConnectionRef, Status, StatusCode, Stream, StreamEvent, StreamRef,
};
use rustls_pki_types::{CertificateDer, ServerName};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// QUIC_SEND_RESUMPTION_FLAG_FINAL: no other ticket follows.
const SEND_RESUMPTION_FINAL: quic::ffi::QUIC_SEND_RESUMPTION_FLAGS = 1;
/// Limit of received bytes that are buffered before the channel reads them; flow control delays the
/// rest.
pub(super) const MAX_INPUT: usize = 262_144;

/// The state of a connection and its stream.
#[derive(Default)]
pub(super) struct State {
    pub(super) connected: bool,
    pub(super) resumed: bool,
    /// Whether TLS_AES_128_GCM_SHA256 was negotiated.
    pub(super) is_expected_suite: bool,
    pub(super) input: Vec<u8>,
    /// Bytes in `input` whose reception is not yet completed towards MsQuic.
    pub(super) uncompleted: u64,
    /// Bytes that MsQuic holds unsent.
    pub(super) unsent: usize,
    pub(super) stream: Option<Stream>,
    /// The peer ended its direction of the stream.
    pub(super) finished: bool,
    /// The peer acknowledged all sent bytes.
    pub(super) flushed: bool,
    /// The connection is closed; `why` is set unless it was closed cleanly.
    pub(super) closed: bool,
    pub(super) why: Option<Status>,
}

#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Where a UE stores the ticket for its next connection.
    pub(super) ticket: Ticket,
}

/// A UE's ticket for its next connection.
pub(crate) type Ticket = Arc<Mutex<Option<Vec<u8>>>>;

impl Shared {
    /// The state of a UE's connection that stores its ticket in `ticket`.
    pub(super) fn of(ticket: Ticket) -> Self {
        Shared { ticket, ..Shared::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until `done` returns a value. None after the timeout.
    pub(super) fn wait<T>(
        &self,
        options: &Options,
        mut done: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let start = Instant::now();
        while start.elapsed() < options.spin {
            if let Ok(mut state) = self.state.try_lock()
                && let Some(done) = done(&mut state)
            {
                return Some(done);
            }
            std::hint::spin_loop();
        }
        let mut state = self.state();
        loop {
            if let Some(done) = done(&mut state) {
                return Some(done);
            }
            let left = options.timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return None;
            }
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn on_stream(&self, event: StreamEvent<'_>) -> Result<(), Status> {
        match event {
            StreamEvent::Receive { buffers, .. } => {
                let mut result = Ok(());
                self.change(|state| {
                    let before = state.input.len();
                    buffers
                        .iter()
                        .for_each(|buffer| state.input.extend_from_slice(buffer.as_bytes()));
                    if state.input.len() > MAX_INPUT {
                        state.uncompleted = (state.input.len() - before) as u64;
                        result = Err(StatusCode::QUIC_STATUS_PENDING.into());
                    }
                });
                return result;
            }
            StreamEvent::SendComplete { client_context, .. } => {
                // SAFETY: `send` leaked it, and MsQuic completes each send once.
                let sent = unsafe { Box::from_raw(client_context as *mut Sending) };
                self.change(|state| state.unsent -= sent.bytes.len());
            }
            StreamEvent::PeerSendShutdown => self.change(|state| state.finished = true),
            StreamEvent::PeerSendAborted { .. } => self.change(|state| state.closed = true),
            StreamEvent::SendShutdownComplete { .. } => self.change(|state| state.flushed = true),
            StreamEvent::ShutdownComplete { .. } => {
                self.change(|state| (state.finished, state.flushed) = (true, true))
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn on_connection(
        self: &Arc<Self>,
        connection: &ConnectionRef,
        event: ConnectionEvent<'_>,
        name: Option<&ServerName<'_>>,
    ) -> Result<(), Status> {
        match event {
            ConnectionEvent::ResumptionTicketReceived { resumption_ticket } => {
                *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(resumption_ticket.to_vec());
            }
            ConnectionEvent::Connected { session_resumed, .. } => {
                if name.is_none() {
                    // At an LMF: sends a ticket. If that fails, the UE's next handshake is a full
                    // one. SAFETY: the connection is valid during the call, and the ticket carries
                    // no application data.
                    let _ = unsafe {
                        quic::Api::get_ffi().ConnectionSendResumptionTicket.map(|send| {
                            send(connection.as_raw(), SEND_RESUMPTION_FINAL, 0, std::ptr::null())
                        })
                    };
                }
                // MsQuic discards this information later. SAFETY: this is the structure that MsQuic
                // fills for this parameter.
                let info: Result<quic::ffi::QUIC_HANDSHAKE_INFO, Status> = unsafe {
                    quic::Api::get_param_auto(connection.as_raw(), quic::PARAM_TLS_HANDSHAKE_INFO)
                };
                let suite = info.map_or(0, |info| info.CipherSuite);
                self.change(|state| {
                    state.connected = true;
                    state.resumed = session_resumed;
                    state.is_expected_suite = suite == quic::CIPHER_SUITE_TLS_AES_128_GCM_SHA256;
                });
            }
            ConnectionEvent::PeerStreamStarted { stream, .. } => {
                let shared = self.clone();
                stream.set_callback_handler(move |_: StreamRef, event: StreamEvent<'_>| {
                    shared.on_stream(event)
                });
                // SAFETY: the application closes a stream that the peer started; this handle is the
                // one that does.
                let stream = unsafe { Stream::from_raw(stream.as_raw()) };
                self.change(|state| state.stream = Some(stream));
            }
            ConnectionEvent::ShutdownInitiatedByTransport { status, .. } => self.change(|state| {
                state.closed = true;
                state.why.get_or_insert(status);
            }),
            ConnectionEvent::ShutdownInitiatedByPeer { error_code } => self.change(|state| {
                state.closed = true;
                if error_code != 0 {
                    state.why.get_or_insert(StatusCode::QUIC_STATUS_ABORTED.into());
                }
            }),
            ConnectionEvent::ShutdownComplete { .. } => self.change(|state| state.closed = true),
            ConnectionEvent::PeerCertificateReceived { certificate, .. } => {
                let Some(name) = name else { return Ok(()) };
                // MsQuic verifies the chain with OpenSSL, but not the name. SAFETY: with portable
                // certificates this is a buffer with the certificate's DER, valid during the call.
                let buffer = unsafe { BufferRef::from_ffi_ref(&*certificate.cast()) };
                let der = CertificateDer::from(buffer.as_bytes());
                let parsed = rustls::server::ParsedCertificate::try_from(&der);
                let good =
                    parsed.and_then(|parsed| rustls::client::verify_server_name(&parsed, name));
                if good.is_err() {
                    let wrong = || Status::from(StatusCode::QUIC_STATUS_BAD_CERTIFICATE);
                    self.change(|state| state.why = Some(wrong()));
                    return Err(wrong());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

// SAFETY: MsQuic's handles may be used by any thread, and a lock guards the state.
unsafe impl Send for State {}

/// Bytes that MsQuic is sending.
pub(super) struct Sending {
    pub(super) bytes: Vec<u8>,
    pub(super) buffer: [BufferRef; 1],
}
