//! QUIC by MsQuic: one connection with one stream for both directions. MsQuic has threads of its own, which call back here.

use crate::{Channel, ChannelError, Description, Identity, Listener, Options, Resumption, Trust, rustls as tls};
use ::msquic as quic;
use quic::{
    AllowedCipherSuiteFlags, BufferRef, CertificateFile, Configuration, Connection, ConnectionEvent, ConnectionRef,
    ConnectionShutdownFlags, Credential, CredentialConfig, CredentialFlags, ListenerEvent, Registration,
    RegistrationConfig, SendFlags, ServerResumptionLevel, Settings, Status, StatusCode, Stream, StreamEvent,
    StreamOpenFlags, StreamRef, StreamShutdownFlags, StreamStartFlags,
};
use rustls_pki_types::{CertificateDer, ServerName};
use std::ffi::c_void;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// The application protocol: QUIC has to have one (RFC 9001, 8.1).
const ALPN: &[u8] = b"lcs-upp";
/// QUIC_SEND_RESUMPTION_FLAG_FINAL: no other ticket follows.
const SEND_RESUMPTION_FINAL: quic::ffi::QUIC_SEND_RESUMPTION_FLAGS = 1;
/// The largest packet that MsQuic makes.
const MTU: u16 = 1500;
/// Octets that are received before they are asked for: what is more waits at the peer.
const AHEAD: usize = 262_144;
/// Octets that are given to MsQuic before it has sent others.
const UNSENT: usize = 1 << 20;

fn failed(status: Status) -> ChannelError {
    match status.try_as_status_code() {
        Ok(StatusCode::QUIC_STATUS_CONNECTION_IDLE | StatusCode::QUIC_STATUS_CONNECTION_TIMEOUT) => {
            ChannelError::Timeout
        }
        Ok(StatusCode::QUIC_STATUS_UNREACHABLE | StatusCode::QUIC_STATUS_CONNECTION_REFUSED) => {
            ChannelError::Io(std::io::ErrorKind::ConnectionRefused.into())
        }
        Ok(StatusCode::QUIC_STATUS_ADDRESS_IN_USE) => ChannelError::Io(std::io::ErrorKind::AddrInUse.into()),
        _ => ChannelError::Tls(format!("MsQuic: {status}")),
    }
}

/// What all connections of the process share. It stays until the process ends, since MsQuic's threads do.
fn registration() -> Result<&'static Registration, ChannelError> {
    static REGISTRATION: OnceLock<Result<Registration, Status>> = OnceLock::new();
    let made = REGISTRATION.get_or_init(|| Registration::new(&RegistrationConfig::new()));
    made.as_ref().map_err(|status| failed(status.clone()))
}

fn settings(options: &Options) -> Settings {
    // MsQuic counts the headers of IP and UDP in.
    Settings::new()
        .set_PeerBidiStreamCount(1)
        .set_IdleTimeoutMs(0)
        .set_HandshakeIdleTimeoutMs(options.timeout.as_millis() as u64)
        .set_MaximumMtu(options.mtu.clamp(1280, MTU))
        .set_MinimumMtu(options.mtu.clamp(1280, MTU))
        .set_InitialRttMs(50)
        .set_ServerResumptionLevel(ServerResumptionLevel::ResumeOnly)
        .set_StreamRecvWindowDefault(AHEAD as u32)
}

/// Files with PEM, which MsQuic wants; gone when this is.
struct Files(PathBuf);

impl Files {
    fn new(named: &[(&str, &str)]) -> Result<Self, ChannelError> {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = format!("martlet-msquic-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let files = Files(std::env::temp_dir().join(folder));
        std::fs::DirBuilder::new().mode(0o700).create(&files.0)?;
        for (name, text) in named {
            let mut file = std::fs::OpenOptions::new();
            let mut file = file.write(true).create_new(true).mode(0o600).open(files.0.join(name))?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
        }
        Ok(files)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What MsQuic's threads tell.
#[derive(Default)]
struct State {
    connected: bool,
    resumed: bool,
    /// Whether the cipher suite is the one that it has to be.
    is_the_suite: bool,
    input: Vec<u8>,
    /// Octets in `input` of which MsQuic has not been told yet that they were taken.
    owed: u64,
    /// Octets given to MsQuic that it still holds.
    unsent: usize,
    stream: Option<Stream>,
    /// The peer finished its side of the stream.
    finished: bool,
    /// All that was sent arrived.
    flushed: bool,
    /// The connection is over, and why where that is no clean end.
    over: bool,
    why: Option<Status>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Where a UE keeps what it is given for its next connection.
    ticket: Ticket,
}

/// What a UE was given for its next connection.
pub(crate) type Ticket = Arc<Mutex<Option<Vec<u8>>>>;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Until `done`, or the time is over: None then.
    fn wait<T>(&self, options: &Options, mut done: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
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
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn on_stream(&self, event: StreamEvent<'_>) -> Result<(), Status> {
        match event {
            StreamEvent::Receive { buffers, .. } => {
                let mut result = Ok(());
                self.change(|state| {
                    let before = state.input.len();
                    buffers.iter().for_each(|buffer| state.input.extend_from_slice(buffer.as_bytes()));
                    if state.input.len() > AHEAD {
                        state.owed = (state.input.len() - before) as u64;
                        result = Err(StatusCode::QUIC_STATUS_PENDING.into());
                    }
                });
                return result;
            }
            StreamEvent::SendComplete { client_context, .. } => {
                // SAFETY: it was leaked in `send`, and MsQuic completes each once.
                let sent = unsafe { Box::from_raw(client_context as *mut Sending) };
                self.change(|state| state.unsent -= sent.octets.len());
            }
            StreamEvent::PeerSendShutdown => self.change(|state| state.finished = true),
            StreamEvent::PeerSendAborted { .. } => self.change(|state| state.over = true),
            StreamEvent::SendShutdownComplete { .. } => self.change(|state| state.flushed = true),
            StreamEvent::ShutdownComplete { .. } => self.change(|state| (state.finished, state.flushed) = (true, true)),
            _ => {}
        }
        Ok(())
    }

    fn on_connection(
        self: &Arc<Self>,
        connection: &ConnectionRef,
        event: ConnectionEvent<'_>,
        name: Option<&ServerName<'_>>,
    ) -> Result<(), Status> {
        match event {
            ConnectionEvent::ResumptionTicketReceived { resumption_ticket } => {
                *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(resumption_ticket.to_vec());
            }
            ConnectionEvent::Connected { session_resumed, .. } => {
                if name.is_none() {
                    // An LMF's end. Without a ticket the UE begins anew the next time.
                    // SAFETY: the connection is there for the time of the call, and nothing goes with the ticket.
                    let _ = unsafe {
                        quic::Api::get_ffi()
                            .ConnectionSendResumptionTicket
                            .map(|send| send(connection.as_raw(), SEND_RESUMPTION_FINAL, 0, std::ptr::null()))
                    };
                }
                // Later MsQuic does not know it any more.
                // SAFETY: this is the structure that MsQuic fills for this parameter.
                let info: Result<quic::ffi::QUIC_HANDSHAKE_INFO, Status> =
                    unsafe { quic::Api::get_param_auto(connection.as_raw(), quic::PARAM_TLS_HANDSHAKE_INFO) };
                let suite = info.map_or(0, |info| info.CipherSuite);
                self.change(|state| {
                    state.connected = true;
                    state.resumed = session_resumed;
                    state.is_the_suite = suite == quic::CIPHER_SUITE_TLS_AES_128_GCM_SHA256;
                });
            }
            ConnectionEvent::PeerStreamStarted { stream, .. } => {
                let shared = self.clone();
                stream.set_callback_handler(move |_: StreamRef, event: StreamEvent<'_>| shared.on_stream(event));
                // SAFETY: a stream that the peer started is the application's to close; this is the one that does.
                let stream = unsafe { Stream::from_raw(stream.as_raw()) };
                self.change(|state| state.stream = Some(stream));
            }
            ConnectionEvent::ShutdownInitiatedByTransport { status, .. } => self.change(|state| {
                state.over = true;
                state.why.get_or_insert(status);
            }),
            ConnectionEvent::ShutdownInitiatedByPeer { error_code } => self.change(|state| {
                state.over = true;
                if error_code != 0 {
                    state.why.get_or_insert(StatusCode::QUIC_STATUS_ABORTED.into());
                }
            }),
            ConnectionEvent::ShutdownComplete { .. } => self.change(|state| state.over = true),
            ConnectionEvent::PeerCertificateReceived { certificate, .. } => {
                let Some(name) = name else { return Ok(()) };
                // MsQuic vouches for the chain with OpenSSL, but does not look at the name.
                // SAFETY: with portable certificates this is a buffer with the certificate's DER, for the time of the call.
                let buffer = unsafe { BufferRef::from_ffi_ref(&*certificate.cast()) };
                let der = CertificateDer::from(buffer.as_bytes());
                let parsed = rustls::server::ParsedCertificate::try_from(&der);
                let good = parsed.and_then(|parsed| rustls::client::verify_server_name(&parsed, name));
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

/// Octets on their way.
struct Sending {
    octets: Vec<u8>,
    buffer: [BufferRef; 1],
}

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
// SAFETY: as above; the buffer points into its own octets.
unsafe impl Send for State {}

impl MsQuic {
    pub(crate) fn connect(
        to: SocketAddr,
        trust: &Trust,
        options: &Options,
        ticket: Option<Ticket>,
    ) -> Result<Self, ChannelError> {
        trust.certificates()?;
        let name = tls::name(trust)?;
        let registration = registration()?;
        let configuration =
            Configuration::open(registration, &[BufferRef::from(ALPN)], Some(&settings(options))).map_err(failed)?;
        let files = Files::new(&[("roots.pem", &trust.roots)])?;
        let credential = CredentialConfig::new_client()
            .set_credential_flags(
                CredentialFlags::INDICATE_CERTIFICATE_RECEIVED | CredentialFlags::USE_PORTABLE_CERTIFICATES,
            )
            .set_ca_certificate_file(files.path("roots.pem"))
            .set_allowed_cipher_suites(AllowedCipherSuiteFlags::AES_128_GCM_SHA256);
        let wrong = |status| ChannelError::Identity(format!("MsQuic does not take the roots: {status}"));
        configuration.load_credential(&credential).map_err(wrong)?;
        let shared = Arc::new(Shared { ticket: ticket.unwrap_or_default(), ..Shared::default() });
        let told = shared.clone();
        let connection = Connection::open(registration, move |at: ConnectionRef, event: ConnectionEvent<'_>| {
            told.on_connection(&at, event, Some(&name))
        })
        .map_err(failed)?;
        let address = quic::Addr::from(to);
        // SAFETY: the address is there for the time of the call, with the size that is said.
        unsafe {
            let (at, size) = ((&raw const address).cast::<c_void>(), size_of_val(&address) as u32);
            quic::Api::set_param(connection.as_raw(), quic::ffi::QUIC_PARAM_CONN_REMOTE_ADDRESS, size, at)
        }
        .map_err(failed)?;
        if let Some(ticket) = shared.ticket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: the ticket is there for the time of the call, with the size that is said.
            unsafe {
                let (at, size) = (ticket.as_ptr().cast::<c_void>(), ticket.len() as u32);
                quic::Api::set_param(connection.as_raw(), quic::PARAM_CONN_RESUMPTION_TICKET, size, at)
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
                // SAFETY: the handle is used only while the channel, which owns the stream, is borrowed.
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
        // SAFETY: the stream is open, and what is sent stays where it is until MsQuic says that it is done.
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
                self.shared.wait(&self.options, |state| (state.flushed || state.over).then_some(()));
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
        let version: Result<[u32; 4], Status> =
            unsafe { quic::Api::get_param_auto(std::ptr::null_mut(), quic::ffi::QUIC_PARAM_GLOBAL_LIBRARY_VERSION) };
        let version = version.map_or_else(|_| "2".into(), |it| format!("{}.{}.{}", it[0], it[1], it[2]));
        Description {
            protocol: "QUIC v1, TLSv1.3".into(),
            cipher_suite: if suite { "TLS_AES_128_GCM_SHA256" } else { "none" }.into(),
            library: format!("MsQuic {version}, quictls"),
        }
    }
}

/// Waits for QUIC.
pub(crate) struct MsQuicListener {
    listener: quic::Listener,
    at: SocketAddr,
    /// Taken by one thread at a time.
    arrived: mpsc::Receiver<(Connection, Arc<Shared>)>,
    configuration: Arc<Configuration>,
    options: Options,
}

// SAFETY: as for the channel.
unsafe impl Send for MsQuicListener {}

/// Connections whose handshakes are not done.
const WAITING: usize = 256;

impl MsQuicListener {
    pub(crate) fn new(at: SocketAddr, identity: &Identity, options: &Options) -> Result<Self, ChannelError> {
        identity.chain()?;
        identity.private_key()?;
        let registration = registration()?;
        let alpn = [BufferRef::from(ALPN)];
        let configuration = Configuration::open(registration, &alpn, Some(&settings(options))).map_err(failed)?;
        let files = Files::new(&[("chain.pem", &identity.certificates), ("key.pem", &identity.key)])?;
        let credential = CredentialConfig::new()
            .set_credential(Credential::CertificateFile(CertificateFile::new(
                files.path("key.pem"),
                files.path("chain.pem"),
            )))
            .set_allowed_cipher_suites(AllowedCipherSuiteFlags::AES_128_GCM_SHA256);
        let wrong = |status| ChannelError::Identity(format!("the certificate and its key do not fit: {status}"));
        configuration.load_credential(&credential).map_err(wrong)?;
        let configuration = Arc::new(configuration);
        let (arrive, arrived) = mpsc::sync_channel(WAITING);
        let config = configuration.clone();
        let listener = quic::Listener::open(registration, move |_, event| {
            let ListenerEvent::NewConnection { connection, .. } = event else { return Ok(()) };
            let shared = Arc::new(Shared::default());
            let told = shared.clone();
            connection.set_callback_handler(move |at: ConnectionRef, event: ConnectionEvent<'_>| {
                told.on_connection(&at, event, None)
            });
            connection.set_configuration(&config)?;
            // SAFETY: a connection that was taken is the application's to close; this is the one that does.
            let owned = unsafe { Connection::from_raw(connection.as_raw()) };
            arrive.try_send((owned, shared)).map_err(|refused| {
                let (mpsc::TrySendError::Full((owned, _)) | mpsc::TrySendError::Disconnected((owned, _))) = refused;
                // MsQuic closes what was refused itself.
                // SAFETY: nothing else has the handle.
                unsafe { owned.into_raw() };
                StatusCode::QUIC_STATUS_CONNECTION_REFUSED.into()
            })
        })
        .map_err(failed)?;
        listener.start(&alpn, Some(&quic::Addr::from(at))).map_err(failed)?;
        let at = listener.get_local_addr().map_err(failed)?.as_socket().unwrap_or(at);
        Ok(MsQuicListener { listener, at, arrived, configuration, options: options.clone() })
    }
}

impl Drop for MsQuicListener {
    fn drop(&mut self) {
        self.listener.stop();
    }
}

impl Listener for MsQuicListener {
    fn local_addr(&self) -> SocketAddr {
        self.at
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let (connection, shared) = self.arrived.recv().map_err(|_| ChannelError::Cut)?;
        let channel = MsQuic {
            connection: Some(connection),
            shared,
            options: self.options.clone(),
            _configuration: self.configuration.clone(),
        };
        channel.connected()?;
        Ok(Box::new(channel))
    }
}
