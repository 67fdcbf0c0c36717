//! TLS by rustls, with the cryptography of AWS-LC.

use crate::{ChannelError, Description, Engine, Engines, Identity, Resumption, Trust};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::ServerSessionMemoryCache;
use rustls::{
    ClientConfig, ClientConnection, CommonState, Connection, HandshakeKind, RootCertStore,
    ServerConfig, ServerConnection,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// The cryptography: one cipher suite.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    // Key shares that fit with the ClientHello into one datagram.
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519, aws_lc_rs::kx_group::SECP256R1];
    Arc::new(provider)
}

/// Sessions that an LMF caches for resumption. The oldest is evicted.
pub const SESSION_CACHE_SIZE: usize = 8192;

/// Bytes of 0-RTT data that an LMF accepts: enough for the message that binds a connection.
pub const MAX_EARLY_DATA: u32 = 1024;

pub(crate) fn server_config(identity: &Identity) -> Result<ServerConfig, ChannelError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ChannelError::tls)?;
    let config =
        builder.with_no_client_auth().with_single_cert(identity.chain()?, identity.private_key()?);
    let wrong =
        |error| ChannelError::Identity(format!("the certificate does not match its key: {error}"));
    let mut config = config.map_err(wrong)?;
    config.session_storage = ServerSessionMemoryCache::new(SESSION_CACHE_SIZE);
    Ok(config)
}

pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, ChannelError> {
    let mut roots = RootCertStore::empty();
    for certificate in trust.certificates()? {
        roots.add(certificate).map_err(|error| {
            ChannelError::Identity(format!("a root certificate is invalid: {error}"))
        })?;
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ChannelError::tls)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A session.
struct Session {
    connection: Connection,
    closed: bool,
    /// 0-RTT data was sent or received.
    early: bool,
}

impl Session {
    fn engine(mut connection: Connection) -> Box<dyn Engine> {
        // The output is taken at once, so the buffer holds one message at most.
        connection.set_buffer_limit(None);
        Box::new(Session { connection, closed: false, early: false })
    }
}

impl Engine for Session {
    fn open(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !wire.is_empty() {
            self.connection.read_tls(&mut wire)?;
            let state = self.connection.process_new_packets().map_err(ChannelError::tls)?;
            self.closed |= state.peer_has_closed();
            let more = state.plaintext_bytes_to_read();
            if let Connection::Server(server) = &mut self.connection
                && let Some(mut early) = server.early_data()
            {
                self.early |= early.read_to_end(plain)? > 0;
            }
            let from = plain.len();
            if more > 0 {
                plain.resize(from + more, 0);
                self.connection.reader().read_exact(&mut plain[from..])?;
            }
            if self.closed {
                break;
            }
        }
        Ok(())
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.connection.writer().write_all(plain)?;
        self.pending(wire)
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        while self.connection.wants_write() {
            self.connection.write_tls(wire)?;
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        !self.connection.is_handshaking()
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        self.connection.send_close_notify();
        // Writing to a vector never blocks.
        let _ = self.pending(wire);
    }

    fn describe(&self) -> Description {
        describe(&self.connection)
    }

    fn early(&mut self, plain: &[u8]) -> usize {
        let Connection::Client(client) = &mut self.connection else { return 0 };
        let Some(mut early) = client.early_data() else { return 0 };
        if early.bytes_left() < plain.len() || early.write_all(plain).is_err() {
            return 0;
        }
        self.early = true;
        plain.len()
    }

    fn may_send(&self) -> bool {
        // After 0-RTT data a server may send before the end of the handshake.
        self.is_ready() || self.early && matches!(self.connection, Connection::Server(_))
    }

    fn resumption(&self) -> Resumption {
        let taken = match &self.connection {
            Connection::Client(client) => client.is_early_data_accepted(),
            Connection::Server(_) => true,
        };
        match self.connection.handshake_kind() {
            _ if self.early && taken => Resumption::Early,
            Some(HandshakeKind::Resumed) => Resumption::Resumed,
            _ => Resumption::Full,
        }
    }
}

/// What the connection negotiated.
pub(crate) fn describe(connection: &CommonState) -> Description {
    let version =
        connection.protocol_version().and_then(|version| version.as_str().map(str::to_string));
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    Description {
        protocol: version.map_or("none".into(), |version| version.replace('_', ".")),
        cipher_suite: suite.and_then(|it| it.as_str()).unwrap_or("none").replace("TLS13_", "TLS_"),
        library: "rustls 0.23, AWS-LC".into(),
    }
}

/// Makes the sessions of an LMF that accepts 0-RTT data. Sessions are cached here and each is used
/// once, so replayed 0-RTT data finds no session.
pub(crate) fn early_data_servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let mut config = server_config(identity)?;
    (config.max_early_data_size, config.send_half_rtt_data) = (MAX_EARLY_DATA, true);
    let config = Arc::new(config);
    Ok(Arc::new(move || {
        let connection = ServerConnection::new(config.clone()).map_err(ChannelError::tls)?;
        Ok(Session::engine(connection.into()))
    }))
}

/// Makes the sessions of a UE that sends 0-RTT data when it resumes.
pub(crate) fn early_data_clients(trust: &Trust) -> Result<Engines, ChannelError> {
    let mut config = client_config(trust)?;
    config.enable_early_data = true;
    let (config, name) = (Arc::new(config), trust.server_name()?);
    Ok(Arc::new(move || {
        let connection =
            ClientConnection::new(config.clone(), name.clone()).map_err(ChannelError::tls)?;
        Ok(Session::engine(connection.into()))
    }))
}
