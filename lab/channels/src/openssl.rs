//! TLS by OpenSSL, over buffers in memory.

use crate::memory::Memory;
use martlet_lcs_channel::{
    ChannelError, Description, Engine, Engines, Identity, Resumption, Trust,
};
use openssl::pkey::PKey;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslContextBuilder, SslMethod, SslSession, SslSessionCacheMode,
    SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

const SUITE: &str = "TLS_AES_128_GCM_SHA256";

impl Read for Memory {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.take(into) {
            0 => Err(std::io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Session {
    stream: SslStream<Memory>,
    closed: bool,
    scratch: Vec<u8>,
}

impl Session {
    fn engine(ssl: Ssl) -> Result<Box<dyn Engine>, ChannelError> {
        let stream = SslStream::new(ssl, Memory::default()).map_err(ChannelError::tls)?;
        let mut session = Session { stream, closed: false, scratch: vec![0; 16_384] };
        // The ClientHello.
        session.negotiate()?;
        Ok(Box::new(session))
    }

    fn negotiate(&mut self) -> Result<(), ChannelError> {
        match self.stream.do_handshake() {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE) => {
                Ok(())
            }
            Err(error) => Err(ChannelError::tls(error)),
        }
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.stream.get_mut().push(wire);
        if !self.is_ready() {
            self.negotiate()?;
            if !self.is_ready() {
                return Ok(());
            }
        }
        loop {
            match self.stream.ssl_read(&mut self.scratch) {
                Ok(count) => plain.extend_from_slice(&self.scratch[..count]),
                Err(error) => match error.code() {
                    ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => return Ok(()),
                    ErrorCode::ZERO_RETURN => {
                        self.closed = true;
                        return Ok(());
                    }
                    _ => return Err(ChannelError::tls(error)),
                },
            }
        }
    }

    fn seal(&mut self, mut plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !plain.is_empty() {
            let wrote = self.stream.ssl_write(plain).map_err(ChannelError::tls)?;
            plain = &plain[wrote..];
        }
        self.pending(wire)
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.stream.get_mut().output);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.stream.ssl().is_init_finished()
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        // Later input of the peer is ignored.
        let _ = self.stream.shutdown();
        wire.append(&mut self.stream.get_mut().output);
    }

    fn resumption(&self) -> Resumption {
        if self.stream.ssl().session_reused() { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        let ssl = self.stream.ssl();
        Description {
            protocol: ssl.version_str().into(),
            cipher_suite: ssl
                .current_cipher()
                .and_then(|it| it.standard_name())
                .unwrap_or("none")
                .into(),
            library: openssl::version::version().into(),
        }
    }
}

fn builder(method: SslMethod) -> Result<SslContextBuilder, ChannelError> {
    let mut builder = SslContext::builder(method).map_err(ChannelError::tls)?;
    let set = builder
        .set_min_proto_version(Some(SslVersion::TLS1_3))
        .and_then(|()| builder.set_max_proto_version(Some(SslVersion::TLS1_3)))
        .and_then(|()| builder.set_ciphersuites(SUITE));
    set.map_err(ChannelError::tls)?;
    Ok(builder)
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let wrong =
        |error| ChannelError::Identity(format!("the certificate does not match its key: {error}"));
    // Both calls return a description of the fault.
    identity.chain()?;
    identity.private_key()?;
    let mut chain =
        X509::stack_from_pem(identity.certificates.as_bytes()).map_err(wrong)?.into_iter();
    let key = PKey::private_key_from_pem(identity.key.as_bytes()).map_err(wrong)?;
    let mut builder = builder(SslMethod::tls_server())?;
    if let Some(own) = chain.next() {
        builder.set_certificate(&own).map_err(wrong)?;
    }
    chain.try_for_each(|other| builder.add_extra_chain_cert(other)).map_err(wrong)?;
    builder.set_private_key(&key).and_then(|()| builder.check_private_key()).map_err(wrong)?;
    let context = builder.build();
    Ok(Arc::new(move || {
        let mut ssl = Ssl::new(&context).map_err(ChannelError::tls)?;
        ssl.set_accept_state();
        Session::engine(ssl)
    }))
}

/// Makes the sessions of a UE, each of which resumes the previous one.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    trust.certificates()?;
    let wrong = |error| ChannelError::Identity(format!("a root certificate is invalid: {error}"));
    let mut builder = builder(SslMethod::tls_client())?;
    builder.set_verify(SslVerifyMode::PEER);
    for root in X509::stack_from_pem(trust.roots.as_bytes()).map_err(wrong)? {
        builder.cert_store_mut().add_cert(root).map_err(wrong)?;
    }
    let ticket_cell: Arc<Mutex<Option<SslSession>>> = Arc::default();
    let keep = ticket_cell.clone();
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
    builder.set_new_session_callback(move |_, session| {
        *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    });
    let (context, name) = (builder.build(), trust.name.clone());
    Ok(Arc::new(move || {
        let mut ssl = Ssl::new(&context).map_err(ChannelError::tls)?;
        let named = match name.parse::<IpAddr>() {
            Ok(address) => ssl.param_mut().set_ip(address),
            Err(_) => ssl.param_mut().set_host(&name).and_then(|()| ssl.set_hostname(&name)),
        };
        named.map_err(|error| {
            ChannelError::Identity(format!("{name:?} is not a valid server name: {error}"))
        })?;
        // A ticket is used for one connection only (RFC 8446, C.4).
        if let Some(session) = ticket_cell.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: the session belongs to this context and to a server of this name.
            unsafe { ssl.set_session(&session) }.map_err(ChannelError::tls)?;
        }
        ssl.set_connect_state();
        Session::engine(ssl)
    }))
}
