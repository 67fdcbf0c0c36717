//! TLS by wolfSSL, over buffers in memory. wolfSSL is GPL: a build with it is too.

mod native;

use crate::tcp::Engines;
use crate::{ChannelError, Description, Engine, Identity, Resumption, Trust};
use native::{Context, Read, Ticket, Tls};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const SUITE: &str = "TLS13-AES128-GCM-SHA256";

/// What the connection before was given. wolfSSL gives tickets where it was built so (`lcs/channel/wolfssl.site`).
type Kept = Arc<Mutex<Option<Ticket>>>;

struct Session {
    tls: Tls,
    ready: bool,
    closed: bool,
    scratch: Vec<u8>,
    description: Description,
    /// Where a UE keeps what it is given.
    kept: Option<Kept>,
}

impl Session {
    fn engine(tls: Tls, kept: Option<Kept>) -> Result<Box<dyn Engine>, ChannelError> {
        let none = || "none".to_string();
        let library = format!("wolfSSL {}", wolfssl::get_wolfssl_version_string());
        let description = Description { protocol: none(), cipher_suite: none(), library };
        let mut session = Session { tls, ready: false, closed: false, scratch: vec![0; 16_384], description, kept };
        // The client's first message.
        session.negotiate()?;
        Ok(Box::new(session))
    }

    fn negotiate(&mut self) -> Result<(), ChannelError> {
        if self.tls.negotiate()? {
            self.ready = true;
            let (version, suite) = self.tls.names();
            self.description.protocol = version;
            self.description.cipher_suite = if suite == SUITE { "TLS_AES_128_GCM_SHA256".into() } else { suite };
        }
        Ok(())
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.tls.memory().push(wire);
        if !self.ready {
            self.negotiate()?;
            if !self.ready {
                return Ok(());
            }
        }
        loop {
            match self.tls.read(&mut self.scratch)? {
                Read::Octets(count) => plain.extend_from_slice(&self.scratch[..count]),
                Read::Nothing => return Ok(()),
                Read::Closed => {
                    self.closed = true;
                    return Ok(());
                }
            }
        }
    }

    fn seal(&mut self, mut plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !plain.is_empty() {
            let wrote = self.tls.write(plain)?;
            plain = &plain[wrote..];
        }
        self.pending(wire)
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.tls.memory().output);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        if let Some(kept) = self.kept.as_ref().filter(|_| self.ready) {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = self.tls.ticket();
        }
        self.tls.close();
        wire.append(&mut self.tls.memory().output);
    }

    fn resumption(&self) -> Resumption {
        if self.ready && self.tls.is_resumed() { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    // Says what is wrong with either.
    identity.chain()?;
    identity.private_key()?;
    let context = Context::new(true, SUITE)?;
    let wrong = |error| ChannelError::Identity(format!("the certificate and its key do not fit: {error}"));
    context.identity(&identity.certificates, &identity.key).map_err(wrong)?;
    let context = Arc::new(context);
    Ok(Arc::new(move || Session::engine(Tls::new(&context)?, None)))
}

/// Makes the sessions of a UE, each of which goes on with what the one before was given.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    trust.certificates()?;
    if trust.name.parse::<std::net::IpAddr>().is_ok() {
        let why = "wolfSSL looks for names in certificates, not for addresses: trust the LMF by its name";
        return Err(ChannelError::Identity(why.into()));
    }
    let context = Context::new(false, SUITE)?;
    let wrong = |error| ChannelError::Identity(format!("a root cannot be used: {error}"));
    context.roots(&trust.roots).map_err(wrong)?;
    let (context, name, kept) = (Arc::new(context), trust.name.clone(), Kept::default());
    Ok(Arc::new(move || {
        let mut tls = Tls::new(&context)?;
        // A ticket is good for one connection (RFC 8446, C.4).
        let ticket = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        tls.expect(&name, ticket)?;
        Session::engine(tls, Some(kept.clone()))
    }))
}

/// The session of a UE.
pub(crate) fn client(trust: &Trust) -> Result<Box<dyn Engine>, ChannelError> {
    clients(trust)?()
}
