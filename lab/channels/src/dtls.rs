//! DTLS 1.3 by wolfSSL over UDP, with the retransmission and ordering of [`crate::arq`] above it.
//! wolfSSL is GPL, and so is a binary that links it.

use crate::arq::{Arq, HEADER};
use crate::wolfssl::SUITE;
use martlet_lcs_channel::udp;
use martlet_lcs_channel::wait::{is_readable, sleep, until_done};
use martlet_lcs_channel::{Channel, ChannelError, Description, Identity, Listener, Options, Trust};
use nix::poll::PollFlags;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use wolfssl::{
    Context, ContextBuilder, CurveGroup, ErrorKind, IOCallbackResult, IOCallbacks, Method, Poll,
    RootCertificate, Secret, Session, SessionConfig, SslVerifyMode,
};

/// Bytes of the IPv4 and UDP headers.
const HEADERS: u16 = 28;
/// The largest datagram; a record has at most 16,384 bytes.
const LARGEST: u16 = 16_000;
/// Bytes that DTLS adds to a record (RFC 9147, 4), rounded up.
const RECORD: u16 = 48;
/// How long a closing end waits for the acknowledgement of its data.
const LINGER: Duration = Duration::from_secs(2);
/// Limit of received datagrams that are queued for wolfSSL.
const MAX_QUEUED: usize = 256;

/// Datagrams queued from and to wolfSSL.
#[derive(Default)]
struct Datagrams {
    input: VecDeque<Vec<u8>>,
    output: Vec<Vec<u8>>,
}

impl IOCallbacks for Datagrams {
    fn recv(&mut self, into: &mut [u8]) -> IOCallbackResult<usize> {
        let Some(datagram) = self.input.pop_front() else { return IOCallbackResult::WouldBlock };
        let count = datagram.len().min(into.len());
        into[..count].copy_from_slice(&datagram[..count]);
        IOCallbackResult::Ok(count)
    }

    fn send(&mut self, bytes: &[u8]) -> IOCallbackResult<usize> {
        self.output.push(bytes.to_vec());
        IOCallbackResult::Ok(bytes.len())
    }
}

fn builder(method: Method) -> Result<ContextBuilder, ChannelError> {
    let builder = ContextBuilder::new(method).map_err(ChannelError::tls)?;
    builder.with_cipher_list(SUITE).map_err(ChannelError::tls)
}

/// The context that all sessions of an LMF share.
fn server_context(method: Method, identity: &Identity) -> Result<Context, ChannelError> {
    let wrong =
        |error| ChannelError::Identity(format!("the certificate does not match its key: {error}"));
    // Both calls return a description of the fault.
    identity.chain()?;
    identity.private_key()?;
    let builder = builder(method)?
        .with_certificate(Secret::PemBuffer(identity.certificates.as_bytes()))
        .map_err(wrong)?
        .with_private_key(Secret::PemBuffer(identity.key.as_bytes()))
        .map_err(wrong)?;
    Ok(builder.build())
}

/// The context of a UE's sessions.
fn client_context(method: Method, trust: &Trust) -> Result<Context, ChannelError> {
    trust.certificates()?;
    if trust.name.parse::<std::net::IpAddr>().is_ok() {
        let why = "wolfSSL verifies DNS names, not IP addresses: configure the LMF's name \
                   instead of its address";
        return Err(ChannelError::Identity(why.into()));
    }
    let wrong = |error| ChannelError::Identity(format!("a root certificate is invalid: {error}"));
    let builder = builder(method)?
        .with_root_certificate(RootCertificate::PemBuffer(trust.roots.as_bytes()))
        .map_err(wrong)?
        .with_verify_method(SslVerifyMode::SslVerifyPeer);
    Ok(builder.build())
}

/// One end of a connection.
pub(crate) struct Dtls {
    socket: UdpSocket,
    options: Options,
    session: Session<Datagrams>,
    arq: Arq,
    input: Vec<u8>,
    scratch: Vec<u8>,
    datagram: Vec<u8>,
    /// The peer sent a close_notify alert.
    closed: bool,
    description: Description,
}

impl Dtls {
    pub(crate) fn connect(
        to: SocketAddr,
        trust: &Trust,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let context = client_context(Method::DtlsClientV1_3, trust)?;
        let local: SocketAddr = udp::any_for(to);
        let socket = udp::bind_shared(local)?;
        socket.connect(to)?;
        let config = SessionConfig::new(Datagrams::default())
            .with_checked_domain_name(&trust.name)
            .with_keyshare_group(CurveGroup::EccX25519);
        Self::handshake(socket, &context, config, options)
    }

    fn handshake(
        socket: UdpSocket,
        context: &Context,
        config: SessionConfig<Datagrams>,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        let largest = options.mtu.saturating_sub(HEADERS).clamp(512, LARGEST);
        let config = config.with_dtls_nonblocking(true).with_dtls_mtu(largest);
        let session = context.new_session(config).map_err(ChannelError::tls)?;
        let library = format!("wolfSSL {}", wolfssl::get_wolfssl_version_string());
        let mut dtls = Dtls {
            socket,
            options: options.clone(),
            session,
            arq: Arq::new(usize::from(largest - RECORD) - HEADER),
            input: vec![0; 65_536],
            scratch: vec![0; 16_384],
            datagram: Vec::new(),
            closed: false,
            description: Description {
                protocol: "none".into(),
                cipher_suite: "none".into(),
                library,
            },
        };
        let until = Instant::now() + options.timeout;
        loop {
            let negotiated = dtls.session.try_negotiate();
            // Before the error is returned, so that the alert is sent.
            dtls.flush()?;
            if let Poll::Ready(()) = negotiated.map_err(ChannelError::tls)? {
                break;
            }
            let repeat = Instant::now() + dtls.session.dtls_current_timeout();
            if !dtls.datagram(repeat.min(until), None)? {
                if Instant::now() >= until {
                    return Err(ChannelError::Timeout);
                }
                // Retransmits the handshake messages.
                let _ = dtls.session.dtls_has_timed_out();
                dtls.flush()?;
            }
        }
        let suite = dtls.session.get_current_cipher_name().unwrap_or_default();
        dtls.description.protocol = match dtls.session.version().as_str() {
            "dtls_1_3" => "DTLS 1.3, TLSv1.3".into(),
            other => other.into(),
        };
        dtls.description.cipher_suite =
            if suite == crate::wolfssl::SUITE { "TLS_AES_128_GCM_SHA256".into() } else { suite };
        Ok(dtls)
    }

    /// Sends the datagrams that wolfSSL wrote.
    fn flush(&mut self) -> Result<(), ChannelError> {
        let Options { spin, timeout, .. } = self.options;
        for datagram in std::mem::take(&mut self.session.io_cb_mut().output) {
            match until_done(&self.socket, PollFlags::POLLOUT, spin, timeout, || {
                self.socket.send(&datagram)
            }) {
                // The peer's socket is not open yet, or is closed; retransmission or its timeout
                // decides which.
                Err(ChannelError::Io(error))
                    if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                sent => drop(sent?),
            }
        }
        Ok(())
    }

    /// Waits for a datagram and queues it for wolfSSL. Returns false if none was received in time.
    fn datagram(
        &mut self,
        until: Instant,
        other: Option<BorrowedFd<'_>>,
    ) -> Result<bool, ChannelError> {
        let spinning = Instant::now() + self.options.spin;
        loop {
            match self.socket.recv(&mut self.input) {
                Ok(count) => {
                    let queued = &mut self.session.io_cb_mut().input;
                    if queued.len() < MAX_QUEUED {
                        queued.push_back(self.input[..count].to_vec());
                    }
                    return Ok(true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            let now = Instant::now();
            if now >= until {
                return Ok(false);
            }
            match now < spinning {
                true => std::hint::spin_loop(),
                false => {
                    if sleep(&self.socket, PollFlags::POLLIN, until - now, other)? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Sends the segments and acknowledgements that are due.
    fn send_due(&mut self) -> Result<(), ChannelError> {
        let now = Instant::now();
        while self.arq.poll(now, &mut self.datagram) {
            match self.session.try_write_slice(&self.datagram).map_err(ChannelError::tls)? {
                Poll::Ready(_) => {}
                _ => {
                    return Err(ChannelError::Tls(
                        "wolfSSL does not accept the datagram to send".into(),
                    ));
                }
            }
        }
        self.flush()
    }

    /// Waits for a datagram or a timer and handles it.
    fn wait(&mut self, until: Instant, other: Option<BorrowedFd<'_>>) -> Result<(), ChannelError> {
        let timer = self.arq.deadline();
        if self.datagram(timer.map_or(until, |timer| timer.min(until)), other)? {
            loop {
                match self.session.try_read_slice(&mut self.scratch) {
                    Ok(Poll::Ready(0)) => self.closed = true,
                    Ok(Poll::Ready(count)) => {
                        self.arq.received(Instant::now(), &self.scratch[..count]);
                        continue;
                    }
                    Ok(Poll::AppData(bytes)) => {
                        self.arq.received(Instant::now(), &bytes);
                        continue;
                    }
                    Ok(Poll::PendingRead | Poll::PendingWrite) => {}
                    Err(error) if matches!(error.kind(), ErrorKind::PeerClosed) => {
                        self.closed = true
                    }
                    Err(error) => return Err(ChannelError::tls(error)),
                }
                break;
            }
        } else if timer.is_some_and(|timer| timer <= Instant::now()) {
            self.arq.timeout(Instant::now());
        } else if Instant::now() >= until {
            return Err(ChannelError::Timeout);
        }
        self.send_due()
    }
}

impl Channel for Dtls {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        while !self.arq.has_room() {
            if self.closed {
                return Err(ChannelError::Cut);
            }
            self.wait(until, None)?;
        }
        self.arq.write(bytes);
        self.send_due()
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let (before, until) = (out.len(), Instant::now() + self.options.timeout);
        loop {
            self.arq.take(out);
            if out.len() > before {
                return Ok(true);
            }
            if self.arq.is_ended() {
                return Ok(false);
            }
            if self.closed {
                return Err(ChannelError::Cut);
            }
            self.wait(until, None)?;
        }
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        self.arq.finish();
        self.send_due()?;
        let until = Instant::now() + self.options.timeout.min(LINGER);
        while !self.arq.is_flushed() && !self.closed && Instant::now() < until {
            match self.wait(until, None) {
                Ok(()) | Err(ChannelError::Timeout) => {}
                Err(error) => return Err(error),
            }
        }
        let _ = self.session.try_shutdown();
        self.flush()
    }

    fn idle(&mut self, max: Duration, other: Option<BorrowedFd<'_>>) -> Result<(), ChannelError> {
        let until = Instant::now() + max;
        while !self.closed && Instant::now() < until {
            match self.wait(until, other) {
                Ok(()) | Err(ChannelError::Timeout) => {}
                Err(error) => return Err(error),
            }
            if other.is_some_and(|other| is_readable(&other)) {
                break;
            }
        }
        Ok(())
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }
}

/// Listens for DTLS. Each peer gets a connected socket of its own, on the same port.
pub(crate) struct DtlsListener {
    socket: UdpSocket,
    context: Context,
    options: Options,
}

impl DtlsListener {
    pub(crate) fn new(
        at: SocketAddr,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let context = server_context(Method::DtlsServerV1_3, identity)?;
        Ok(DtlsListener { socket: udp::bind_shared(at)?, context, options: options.clone() })
    }
}

impl Listener for DtlsListener {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        /// The content type of a plaintext handshake message, such as a ClientHello (RFC 9147, 4).
        const HANDSHAKE: u8 = 22;
        let mut bytes = vec![0; 65_536];
        loop {
            let (count, peer) = self.socket.recv_from(&mut bytes)?;
            // Other datagrams are late ones of closed connections.
            if bytes[..count].first() != Some(&HANDSHAKE) {
                continue;
            }
            let socket = udp::bind_shared(self.local_addr())?;
            socket.connect(peer)?;
            let mut datagrams = Datagrams::default();
            datagrams.input.push_back(bytes[..count].to_vec());
            let config = SessionConfig::new(datagrams);
            return Ok(Box::new(Dtls::handshake(socket, &self.context, config, &self.options)?));
        }
    }
}
