//! TLS by rustls, with the cryptography of AWS-LC.

use crate::tcp::Engines;
use crate::{ChannelError, Description, Engine, Identity, Trust};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::Arc;

/// The one cipher suite.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    // One datagram holds the first message with it.
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519, aws_lc_rs::kx_group::SECP256R1];
    Arc::new(provider)
}

pub(crate) fn server_config(identity: &Identity) -> Result<ServerConfig, ChannelError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ChannelError::tls)?;
    builder
        .with_no_client_auth()
        .with_single_cert(identity.chain()?, identity.private_key()?)
        .map_err(|error| ChannelError::Identity(format!("the certificate and its key do not fit: {error}")))
}

pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, ChannelError> {
    let mut roots = RootCertStore::empty();
    for certificate in trust.certificates()? {
        roots.add(certificate).map_err(|error| ChannelError::Identity(format!("a root cannot be used: {error}")))?;
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ChannelError::tls)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

pub(crate) fn name(trust: &Trust) -> Result<ServerName<'static>, ChannelError> {
    ServerName::try_from(trust.name.clone())
        .map_err(|_| ChannelError::Identity(format!("{:?} is neither a name nor an address", trust.name)))
}

/// A session.
struct Session {
    connection: Connection,
    closed: bool,
}

impl Session {
    fn engine(mut connection: Connection) -> Box<dyn Engine> {
        // What is sealed is taken at once; no more than a message is ever in it.
        connection.set_buffer_limit(None);
        Box::new(Session { connection, closed: false })
    }
}

impl Engine for Session {
    fn open(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !wire.is_empty() {
            self.connection.read_tls(&mut wire)?;
            let state = self.connection.process_new_packets().map_err(ChannelError::tls)?;
            self.closed |= state.peer_has_closed();
            let (from, more) = (plain.len(), state.plaintext_bytes_to_read());
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
        // A vector takes everything.
        let _ = self.pending(wire);
    }

    fn describe(&self) -> Description {
        describe(&self.connection)
    }
}

/// What a connection negotiated.
pub(crate) fn describe(connection: &Connection) -> Description {
    let version = connection.protocol_version().and_then(|version| version.as_str().map(str::to_string));
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    Description {
        protocol: version.map_or("none".into(), |version| version.replace('_', ".")),
        cipher_suite: suite.and_then(|it| it.as_str()).unwrap_or("none").replace("TLS13_", "TLS_"),
        library: "rustls 0.23, AWS-LC".into(),
    }
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let config = Arc::new(server_config(identity)?);
    Ok(Arc::new(move || {
        let connection = ServerConnection::new(config.clone()).map_err(ChannelError::tls)?;
        Ok(Session::engine(connection.into()))
    }))
}

/// The session of a UE.
pub(crate) fn client(trust: &Trust) -> Result<Box<dyn Engine>, ChannelError> {
    let connection = ClientConnection::new(Arc::new(client_config(trust)?), name(trust)?).map_err(ChannelError::tls)?;
    Ok(Session::engine(connection.into()))
}
