//! Kernel TLS (data path type 2): rustls performs the handshake in user space; then the kernel gets
//! the keys and record sequence numbers, and encrypts what is written to the socket.
//!
//! The handshake reads the socket record by record, and sends everything before the keys are
//! extracted. So the kernel decrypts every record after the peer's Finished, with the sequence
//! number that rustls counted.

use crate::records::Next;
use crate::tcp::Wire;
use crate::unbuffered::Session;
use crate::wait::until_done;
use crate::{
    Channel, ChannelError, Description, Engine, Identity, Listener, Options, Resumption, Trust,
    rustls as tls,
};
use libc::{tls_crypto_info, tls12_crypto_info_aes_gcm_128};
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TlsGetRecordType, recvmsg, setsockopt};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConnectionTrafficSecrets, ServerConfig};
use std::io::IoSliceMut;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

/// Maximum bytes per receive.
const READ: usize = 131_072;
/// Bytes of a record header (RFC 8446, 5.1). The last two are the length.
const HEADER: usize = 5;

/// Whether the kernel supports TLS. The check loads its module if present.
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let try_it = || -> std::io::Result<bool> {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let stream = TcpStream::connect(listener.local_addr()?)?;
            Ok(setsockopt(&stream, TcpUlp::default(), b"tls").is_ok())
        };
        try_it().unwrap_or(false)
    })
}

/// One end of a connection.
pub(crate) struct Ktls {
    wire: Wire,
    input: Vec<u8>,
    closed: bool,
    description: Description,
    resumption: Resumption,
    /// Processes session tickets.
    next: Next,
}

/// The client configuration of a UE's connections, with the session tickets.
#[derive(Clone)]
pub(crate) struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    pub(crate) fn new(trust: &Trust) -> Result<Self, ChannelError> {
        let mut config = tls::client_config(trust)?;
        config.enable_secret_extraction = true;
        Ok(Client { config: Arc::new(config), name: trust.server_name()? })
    }
}

fn kernel(error: Errno) -> ChannelError {
    match error {
        // A record that does not decrypt, is too long, or is malformed.
        Errno::EBADMSG | Errno::EMSGSIZE | Errno::EINVAL | Errno::EIO => {
            ChannelError::Tls(format!("the kernel rejected a record: {error}"))
        }
        other => ChannelError::Io(other.into()),
    }
}

fn crypto(
    (number, secrets): (u64, ConnectionTrafficSecrets),
) -> Result<TlsCryptoInfo, ChannelError> {
    let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
        return Err(ChannelError::Tls("the cipher suite is not TLS_AES_128_GCM_SHA256".into()));
    };
    let (key, iv) = (key.as_ref(), iv.as_ref());
    let wrong = |_| ChannelError::Tls("a key or an initialization vector of another length".into());
    Ok(TlsCryptoInfo::Aes128Gcm(tls12_crypto_info_aes_gcm_128 {
        info: tls_crypto_info {
            version: libc::TLS_1_3_VERSION,
            cipher_type: libc::TLS_CIPHER_AES_GCM_128,
        },
        iv: iv.get(4..).unwrap_or_default().try_into().map_err(wrong)?,
        key: key.try_into().map_err(wrong)?,
        salt: iv.get(..4).unwrap_or_default().try_into().map_err(wrong)?,
        rec_seq: number.to_be_bytes(),
    }))
}

/// Reads one record from the socket, and nothing of the next.
fn record(wire: &Wire, into: &mut Vec<u8>) -> Result<(), ChannelError> {
    into.resize(HEADER, 0);
    wire.read_exact(into)?;
    let length = usize::from(u16::from_be_bytes([into[3], into[4]]));
    // Pass a malformed header to rustls, which rejects it: content types are 20 to 24, versions
    // begin with 3.
    if !(20..=24).contains(&into[0]) || into[1] != 3 {
        return Ok(());
    }
    into.resize(HEADER + length, 0);
    wire.read_exact(&mut into[HEADER..])
}

impl Ktls {
    pub(crate) fn connect(
        to: SocketAddr,
        client: &Client,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let session = Session::client_for_key_export(&client.config, &client.name)?;
        Self::handshake(Wire::connect(to, options)?, session)
    }

    fn handshake(wire: Wire, mut session: Session) -> Result<Self, ChannelError> {
        // Before the first byte, so that a kernel without TLS fails before the peer is involved.
        setsockopt(wire.stream(), TcpUlp::default(), b"tls").map_err(|error| match error {
            Errno::ENOENT => {
                ChannelError::Identity("this kernel has no TLS: load the module `tls`".into())
            }
            other => ChannelError::Io(other.into()),
        })?;
        let (mut input, mut output) = (Vec::new(), Vec::new());
        loop {
            session.pending(&mut output)?;
            wire.write(&output)?;
            output.clear();
            if session.is_complete() {
                break;
            }
            record(&wire, &mut input)?;
            if let Err(error) = session.open(&input, &mut Vec::new()) {
                // Sends the alert.
                session.pending(&mut output)?;
                let _ = wire.write(&output);
                return Err(error);
            }
        }
        let mut description = session.describe();
        description.library = "the kernel's TLS, handshake by rustls 0.23".into();
        let resumption = session.resumption();
        let (secrets, next) = session.export_keys()?;
        setsockopt(wire.stream(), TcpTlsTx, &crypto(secrets.tx)?).map_err(kernel)?;
        setsockopt(wire.stream(), TcpTlsRx, &crypto(secrets.rx)?).map_err(kernel)?;
        Ok(Ktls { wire, input: vec![0; READ], closed: false, description, resumption, next })
    }

    /// Processes a record that is not application data.
    fn control(&mut self, kind: TlsGetRecordType, count: usize) -> Result<(), ChannelError> {
        /// RFC 8446, 6: close_notify.
        const CLOSE_NOTIFY: u8 = 0;
        /// RFC 8446, 4: new_session_ticket.
        const NEW_SESSION_TICKET: u8 = 4;
        match (kind, &self.input[..count]) {
            (TlsGetRecordType::Alert, [_, CLOSE_NOTIFY]) => {
                self.closed = true;
                Ok(())
            }
            (TlsGetRecordType::Alert, alert) => {
                Err(ChannelError::Tls(format!("the peer's alert {alert:?}")))
            }
            (TlsGetRecordType::Handshake, mut tickets @ [NEW_SESSION_TICKET, ..]) => {
                // Several may be in one record.
                while let [NEW_SESSION_TICKET, a, b, c, rest @ ..] = tickets {
                    let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
                    let Some((ticket, rest)) = rest.split_at_checked(length) else { break };
                    self.next.ticket(ticket).map_err(ChannelError::tls)?;
                    tickets = rest;
                }
                match tickets {
                    [] => Ok(()),
                    _ => Err(ChannelError::Tls(
                        "malformed or truncated message after a ticket".into(),
                    )),
                }
            }
            // KeyUpdate is not supported before Linux 6.14: fail, and let a new connection have new
            // keys.
            (kind, _) => Err(ChannelError::Tls(format!(
                "the kernel cannot process a record of type {kind:?}"
            ))),
        }
    }

    /// Sends an alert (RFC 8446, 6).
    fn alert(&self, bytes: [u8; 2]) -> Result<(), ChannelError> {
        const ALERT: u8 = 21;
        let mut iov =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut space = [0u64; 4];
        // SAFETY: zero is a valid value of its integers and pointers.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &mut iov;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        // SAFETY: `space` is large enough for one byte of control data, and aligned for a header.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(1) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_TLS;
            (*header).cmsg_type = libc::TLS_SET_RECORD_TYPE;
            (*header).cmsg_len = libc::CMSG_LEN(1) as _;
            *libc::CMSG_DATA(header) = ALERT;
        }
        let options = self.wire.options();
        until_done(self.wire.stream(), PollFlags::POLLOUT, options.spin, options.timeout, || {
            // SAFETY: all pointers in the message are to this stack frame.
            match unsafe {
                libc::sendmsg(self.wire.stream().as_raw_fd(), &message, libc::MSG_NOSIGNAL)
            } {
                ..0 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            }
        })
    }
}

impl Channel for Ktls {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.wire.write(bytes)
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        loop {
            if self.closed {
                return Ok(false);
            }
            let (options, socket) = (self.wire.options(), self.wire.stream());
            let mut space = [0u8; 64];
            let received =
                until_done(socket, PollFlags::POLLIN, options.spin, options.timeout, || {
                    let mut iov = [IoSliceMut::new(&mut self.input)];
                    let message = recvmsg::<()>(
                        socket.as_raw_fd(),
                        &mut iov,
                        Some(&mut space),
                        MsgFlags::empty(),
                    )?;
                    let kind = message.cmsgs()?.find_map(|it| match it {
                        ControlMessageOwned::TlsGetRecordType(kind) => Some(kind),
                        _ => None,
                    });
                    Ok((message.bytes, kind))
                });
            let (count, kind) = received.map_err(|error| match error {
                ChannelError::Io(error) => error
                    .raw_os_error()
                    .map_or(ChannelError::Io(error), |code| kernel(Errno::from_raw(code))),
                other => other,
            })?;
            match kind {
                None | Some(TlsGetRecordType::ApplicationData) if count == 0 => {
                    return Err(ChannelError::Cut);
                }
                None | Some(TlsGetRecordType::ApplicationData) => {
                    out.extend_from_slice(&self.input[..count]);
                    return Ok(true);
                }
                Some(kind) => self.control(kind, count)?,
            }
        }
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        // Warning, close_notify.
        let sent = self.alert([1, 0]);
        self.wire.end();
        sent
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn resumption(&self) -> Resumption {
        self.resumption
    }

    fn kernel_socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.stream().as_fd())
    }
}

/// Listens for TLS over TCP.
pub(crate) struct KtlsListener {
    listener: TcpListener,
    config: Arc<ServerConfig>,
    options: Options,
}

impl KtlsListener {
    pub(crate) fn new(
        listener: TcpListener,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let mut config = tls::server_config(identity)?;
        config.enable_secret_extraction = true;
        Ok(KtlsListener { listener, config: Arc::new(config), options: options.clone() })
    }
}

impl Listener for KtlsListener {
    fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let (stream, _) = self.listener.accept()?;
        let wire = Wire::new(stream, &self.options)?;
        Ok(Box::new(Ktls::handshake(wire, Session::server_for_key_export(&self.config)?)?))
    }
}
