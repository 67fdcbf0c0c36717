//! TLS by wolfSSL, over buffers in memory. wolfSSL is GPL: a build with it is too.

mod native;
#[cfg(wolfssl_early)]
mod tickets;

use martlet_lcs_channel::{
    ChannelError, Description, Engine, Engines, Identity, Resumption, Trust,
};
#[cfg(wolfssl_early)]
use martlet_lcs_channel::{MAX_EARLY_DATA, SESSION_CACHE_SIZE};
use native::{Context, Read, Ticket, Tls};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const SUITE: &str = "TLS13-AES128-GCM-SHA256";

/// A record's header, its inner type and its tag: wolfSSL counts whole records against the limit
/// where it takes none of them.
#[cfg(wolfssl_early)]
const AROUND: usize = 5 + 1 + 16;

/// Octets that a UE gives to the first flight: in one record, it is within the limit.
#[cfg(wolfssl_early)]
const MOST_EARLY: usize = MAX_EARLY_DATA as usize - AROUND;

/// What the connection before was given. wolfSSL gives tickets where it was built so
/// (`lab/channels/wolfssl.site`).
type Kept = Arc<Mutex<Option<Ticket>>>;

struct Session {
    tls: Tls,
    ready: bool,
    closed: bool,
    scratch: Vec<u8>,
    description: Description,
    /// Where a UE keeps what it is given.
    kept: Option<Kept>,
    early: Early,
}

/// What goes with the first flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    /// Nothing; the handshake has begun.
    Nothing,
    /// A UE may say what goes with it; an LMF looks for what comes with it.
    Open,
    /// There was something, at an LMF; more may come.
    Coming,
    /// There was something.
    Gone,
}

impl Session {
    fn engine(tls: Tls, kept: Option<Kept>, early: Early) -> Result<Box<dyn Engine>, ChannelError> {
        let none = || "none".to_string();
        let library = format!("wolfSSL {}", wolfssl::get_wolfssl_version_string());
        let description = Description { protocol: none(), cipher_suite: none(), library };
        let mut session = Session {
            tls,
            ready: false,
            closed: false,
            scratch: vec![0; 16_384],
            description,
            kept,
            early,
        };
        if early == Early::Nothing {
            // The client's first message.
            session.negotiate()?;
        }
        Ok(Box::new(session))
    }

    fn is_server(&self) -> bool {
        self.kept.is_none()
    }

    /// An LMF's: what came with the first flight; false while more of that may come.
    #[cfg(wolfssl_early)]
    fn open_early(&mut self, plain: &mut Vec<u8>) -> Result<bool, ChannelError> {
        while self.is_server() && matches!(self.early, Early::Open | Early::Coming) {
            match self.tls.read_early(&mut self.scratch)? {
                Read::Octets(count) => {
                    plain.extend_from_slice(&self.scratch[..count]);
                    self.early = Early::Coming;
                }
                Read::Nothing => return Ok(false),
                Read::Closed => {
                    self.early =
                        if self.early == Early::Coming { Early::Gone } else { Early::Nothing }
                }
            }
        }
        Ok(true)
    }

    fn negotiate(&mut self) -> Result<(), ChannelError> {
        if self.tls.negotiate()? {
            self.ready = true;
            let (version, suite) = self.tls.names();
            self.description.protocol = version;
            self.description.cipher_suite =
                if suite == SUITE { "TLS_AES_128_GCM_SHA256".into() } else { suite };
        }
        Ok(())
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.tls.memory().push(wire);
        #[cfg(wolfssl_early)]
        if !self.open_early(plain)? {
            return Ok(());
        }
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
        if self.early == Early::Open && !self.is_server() {
            // A UE that had nothing to say early.
            self.early = Early::Nothing;
            self.negotiate()?;
        }
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

    #[cfg(wolfssl_early)]
    fn early(&mut self, plain: &[u8]) -> usize {
        let may = !self.is_server() && self.early == Early::Open && plain.len() <= MOST_EARLY;
        // Where there is no ticket that allows it, the handshake goes on without them.
        if !may || !self.tls.write_early(plain) {
            return 0;
        }
        self.early = Early::Gone;
        plain.len()
    }

    fn may_send(&self) -> bool {
        // With what came early comes the right to answer before the handshake is done.
        self.is_ready() || self.is_server() && matches!(self.early, Early::Coming | Early::Gone)
    }

    fn resumption(&self) -> Resumption {
        #[cfg(wolfssl_early)]
        if matches!(self.early, Early::Coming | Early::Gone)
            && (self.is_server() || self.tls.took_early())
        {
            return Resumption::Early;
        }
        if self.ready && self.tls.is_resumed() { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }
}

/// An LMF's context.
fn server_context(identity: &Identity) -> Result<Context, ChannelError> {
    // Says what is wrong with either.
    identity.chain()?;
    identity.private_key()?;
    let context = Context::new(true, SUITE)?;
    let wrong =
        |error| ChannelError::Identity(format!("the certificate and its key do not fit: {error}"));
    context.identity(&identity.certificates, &identity.key).map_err(wrong)?;
    Ok(context)
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let context = Arc::new(server_context(identity)?);
    Ok(Arc::new(move || Session::engine(Tls::new(&context)?, None, Early::Nothing)))
}

/// Makes the sessions of an LMF that takes octets with the first flight of who was here before. A
/// ticket is good for one connection ([`tickets`]), so that a flight that is sent again is not
/// taken.
#[cfg(wolfssl_early)]
pub(crate) fn early_data_servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let mut context = server_context(identity)?;
    context.take_early(MAX_EARLY_DATA, tickets::Tickets::new(SESSION_CACHE_SIZE))?;
    let context = Arc::new(context);
    Ok(Arc::new(move || Session::engine(Tls::new(&context)?, None, Early::Open)))
}

/// Makes the sessions of a UE, each of which goes on with what the one before was given.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    clients_with(trust, Early::Nothing)
}

/// Makes the sessions of a UE that sends octets with its first flight where it was there before.
#[cfg(wolfssl_early)]
pub(crate) fn early_data_clients(trust: &Trust) -> Result<Engines, ChannelError> {
    clients_with(trust, Early::Open)
}

fn clients_with(trust: &Trust, early: Early) -> Result<Engines, ChannelError> {
    trust.certificates()?;
    if trust.name.parse::<std::net::IpAddr>().is_ok() {
        let why =
            "wolfSSL looks for names in certificates, not for addresses: trust the LMF by its name";
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
        Session::engine(tls, Some(kept.clone()), early)
    }))
}
