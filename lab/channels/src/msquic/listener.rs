//! The LMF's listener.

use super::MsQuic;
use super::library::{ALPN, Files, failed, registration, settings};
use super::state::Shared;
use ::msquic as quic;
use martlet_lcs_channel::{Channel, ChannelError, Identity, Listener, Options};
use quic::{
    AllowedCipherSuiteFlags, BufferRef, CertificateFile, Configuration, Connection,
    ConnectionEvent, ConnectionRef, Credential, CredentialConfig, ListenerEvent, StatusCode,
};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

/// Listens for QUIC.
pub(crate) struct MsQuicListener {
    listener: quic::Listener,
    at: SocketAddr,
    /// Used by one thread at a time.
    arrived: mpsc::Receiver<(Connection, Arc<Shared>)>,
    configuration: Arc<Configuration>,
    options: Options,
}

// SAFETY: as for the channel.
unsafe impl Send for MsQuicListener {}

/// Limit of connections that are in their handshake.
const WAITING: usize = 256;

impl MsQuicListener {
    pub(crate) fn new(
        at: SocketAddr,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        identity.chain()?;
        identity.private_key()?;
        let registration = registration()?;
        let alpn = [BufferRef::from(ALPN)];
        let configuration =
            Configuration::open(registration, &alpn, Some(&settings(options))).map_err(failed)?;
        let files =
            Files::new(&[("chain.pem", &identity.certificates), ("key.pem", &identity.key)])?;
        let credential = CredentialConfig::new()
            .set_credential(Credential::CertificateFile(CertificateFile::new(
                files.path("key.pem"),
                files.path("chain.pem"),
            )))
            .set_allowed_cipher_suites(AllowedCipherSuiteFlags::AES_128_GCM_SHA256);
        let wrong = |status| {
            ChannelError::Identity(format!("the certificate does not match its key: {status}"))
        };
        configuration.load_credential(&credential).map_err(wrong)?;
        let configuration = Arc::new(configuration);
        let (arrive, arrived) = mpsc::sync_channel(WAITING);
        let config = configuration.clone();
        let listener = quic::Listener::open(registration, move |_, event| {
            let ListenerEvent::NewConnection { connection, .. } = event else { return Ok(()) };
            let shared = Arc::new(Shared::default());
            let state = shared.clone();
            connection.set_callback_handler(
                move |at: ConnectionRef, event: ConnectionEvent<'_>| {
                    state.on_connection(&at, event, None)
                },
            );
            connection.set_configuration(&config)?;
            // SAFETY: the application closes an accepted connection; this handle is the one that
            // does.
            let owned = unsafe { Connection::from_raw(connection.as_raw()) };
            arrive.try_send((owned, shared)).map_err(|refused| {
                let (mpsc::TrySendError::Full((owned, _))
                | mpsc::TrySendError::Disconnected((owned, _))) = refused;
                // MsQuic closes rejected connections itself. SAFETY: no other copy of the handle is
                // used.
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
