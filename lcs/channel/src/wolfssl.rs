//! TLS by wolfSSL, over buffers in memory. wolfSSL is GPL: a build with it is too.

use crate::memory::Memory;
use crate::tcp::Engines;
use crate::{ChannelError, Description, Engine, Identity, Trust};
use std::sync::Arc;
use wolfssl::{
    Context, ContextBuilder, CurveGroup, ErrorKind, IOCallbackResult, IOCallbacks, Method, Poll, RootCertificate,
    Secret, SessionConfig, SslVerifyMode,
};

pub(crate) const SUITE: &str = "TLS13-AES128-GCM-SHA256";

impl IOCallbacks for Memory {
    fn recv(&mut self, into: &mut [u8]) -> IOCallbackResult<usize> {
        match self.take(into) {
            0 => IOCallbackResult::WouldBlock,
            count => IOCallbackResult::Ok(count),
        }
    }

    fn send(&mut self, octets: &[u8]) -> IOCallbackResult<usize> {
        self.output.extend_from_slice(octets);
        IOCallbackResult::Ok(octets.len())
    }
}

struct Session {
    session: wolfssl::Session<Memory>,
    ready: bool,
    closed: bool,
    scratch: Vec<u8>,
    description: Description,
}

impl Session {
    fn engine(context: &Context, config: SessionConfig<Memory>) -> Result<Box<dyn Engine>, ChannelError> {
        let session = context.new_session(config).map_err(ChannelError::tls)?;
        let none = || "none".to_string();
        let library = format!("wolfSSL {}", wolfssl::get_wolfssl_version_string());
        let description = Description { protocol: none(), cipher_suite: none(), library };
        let mut session = Session { session, ready: false, closed: false, scratch: vec![0; 16_384], description };
        // The client's first message.
        session.negotiate()?;
        Ok(Box::new(session))
    }

    fn negotiate(&mut self) -> Result<(), ChannelError> {
        match self.session.try_negotiate().map_err(ChannelError::tls)? {
            Poll::Ready(()) => {
                self.ready = true;
                let suite = self.session.get_current_cipher_name().unwrap_or_default();
                self.description.protocol = self.session.version().as_str().replace("tls_1_3", "TLSv1.3");
                self.description.cipher_suite = if suite == SUITE { "TLS_AES_128_GCM_SHA256".into() } else { suite };
            }
            Poll::PendingRead | Poll::PendingWrite | Poll::AppData(_) => {}
        }
        Ok(())
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.session.io_cb_mut().push(wire);
        if !self.ready {
            self.negotiate()?;
            if !self.ready {
                return Ok(());
            }
        }
        loop {
            match self.session.try_read_slice(&mut self.scratch) {
                Ok(Poll::Ready(0)) => {
                    self.closed = true;
                    return Ok(());
                }
                Ok(Poll::Ready(count)) => plain.extend_from_slice(&self.scratch[..count]),
                Ok(Poll::AppData(octets)) => plain.extend_from_slice(&octets),
                Ok(Poll::PendingRead | Poll::PendingWrite) => return Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::PeerClosed) => {
                    self.closed = true;
                    return Ok(());
                }
                Err(error) => return Err(ChannelError::tls(error)),
            }
        }
    }

    fn seal(&mut self, mut plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !plain.is_empty() {
            match self.session.try_write_slice(plain).map_err(ChannelError::tls)? {
                Poll::Ready(wrote) => plain = &plain[wrote..],
                _ => return Err(ChannelError::Tls("wolfSSL does not take what is to be sent".into())),
            }
        }
        self.pending(wire)
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.session.io_cb_mut().output);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        // What the peer still says is of no more use.
        let _ = self.session.try_shutdown();
        wire.append(&mut self.session.io_cb_mut().output);
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }
}

fn builder(method: Method) -> Result<ContextBuilder, ChannelError> {
    let builder = ContextBuilder::new(method).map_err(ChannelError::tls)?;
    builder.with_cipher_list(SUITE).map_err(ChannelError::tls)
}

/// What the sessions of an LMF have in common.
pub(crate) fn server_context(method: Method, identity: &Identity) -> Result<Context, ChannelError> {
    let wrong = |error| ChannelError::Identity(format!("the certificate and its key do not fit: {error}"));
    // Says what is wrong with either.
    identity.chain()?;
    identity.private_key()?;
    let builder = builder(method)?
        .with_certificate(Secret::PemBuffer(identity.certificates.as_bytes()))
        .map_err(wrong)?
        .with_private_key(Secret::PemBuffer(identity.key.as_bytes()))
        .map_err(wrong)?;
    Ok(builder.build())
}

/// What the session of a UE is made from.
pub(crate) fn client_context(method: Method, trust: &Trust) -> Result<Context, ChannelError> {
    trust.certificates()?;
    if trust.name.parse::<std::net::IpAddr>().is_ok() {
        let why = "wolfSSL looks for names in certificates, not for addresses: trust the LMF by its name";
        return Err(ChannelError::Identity(why.into()));
    }
    let wrong = |error| ChannelError::Identity(format!("a root cannot be used: {error}"));
    let builder = builder(method)?
        .with_root_certificate(RootCertificate::PemBuffer(trust.roots.as_bytes()))
        .map_err(wrong)?
        .with_verify_method(SslVerifyMode::SslVerifyPeer);
    Ok(builder.build())
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let context = server_context(Method::TlsServerV1_3, identity)?;
    Ok(Arc::new(move || Session::engine(&context, SessionConfig::new(Memory::default()))))
}

/// The session of a UE.
pub(crate) fn client(trust: &Trust) -> Result<Box<dyn Engine>, ChannelError> {
    let context = client_context(Method::TlsClientV1_3, trust)?;
    let config = SessionConfig::new(Memory::default())
        .with_checked_domain_name(&trust.name)
        .with_keyshare_group(CurveGroup::EccX25519);
    Session::engine(&context, config)
}
