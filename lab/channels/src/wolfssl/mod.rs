//! TLS by wolfSSL, over buffers in memory. wolfSSL is GPL, and so is a binary that links it.

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

/// Overhead of a record: header, inner content type and tag. When wolfSSL discards early data, it
/// counts whole records against the limit.
#[cfg(wolfssl_early)]
const RECORD_OVERHEAD: usize = 5 + 1 + 16;

/// Limit of a UE's early data, so that one record stays within the LMF's limit.
#[cfg(wolfssl_early)]
const MAX_EARLY: usize = MAX_EARLY_DATA as usize - RECORD_OVERHEAD;

/// The ticket of the previous connection. wolfSSL sends tickets if it was built with them
/// (`lab/channels/wolfssl.site`).
type TicketCell = Arc<Mutex<Option<Ticket>>>;

struct Session {
    tls: Tls,
    ready: bool,
    closed: bool,
    scratch: Vec<u8>,
    description: Description,
    /// Where a UE stores its ticket. None at an LMF.
    ticket_cell: Option<TicketCell>,
    early: Early,
}

/// The state of early data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    /// None: the handshake has begun without.
    None,
    /// A UE may still send early data; an LMF has not yet looked for it.
    Possible,
    /// An LMF has received some, and more may follow.
    Partial,
    /// All early data was sent or received.
    Complete,
}

impl Session {
    fn engine(
        tls: Tls,
        ticket_cell: Option<TicketCell>,
        early: Early,
    ) -> Result<Box<dyn Engine>, ChannelError> {
        let none = || "none".to_string();
        let library = format!("wolfSSL {}", wolfssl::get_wolfssl_version_string());
        let description = Description { protocol: none(), cipher_suite: none(), library };
        let mut session = Session {
            tls,
            ready: false,
            closed: false,
            scratch: vec![0; 16_384],
            description,
            ticket_cell,
            early,
        };
        if early == Early::None {
            // The ClientHello.
            session.negotiate()?;
        }
        Ok(Box::new(session))
    }

    fn is_server(&self) -> bool {
        self.ticket_cell.is_none()
    }

    /// Reads early data at an LMF. Returns false while more may follow.
    #[cfg(wolfssl_early)]
    fn open_early(&mut self, plain: &mut Vec<u8>) -> Result<bool, ChannelError> {
        while self.is_server() && matches!(self.early, Early::Possible | Early::Partial) {
            match self.tls.read_early(&mut self.scratch)? {
                Read::Bytes(count) => {
                    plain.extend_from_slice(&self.scratch[..count]);
                    self.early = Early::Partial;
                }
                Read::Nothing => return Ok(false),
                Read::Closed => {
                    self.early =
                        if self.early == Early::Partial { Early::Complete } else { Early::None }
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
                Read::Bytes(count) => plain.extend_from_slice(&self.scratch[..count]),
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
        if self.early == Early::Possible && !self.is_server() {
            // The UE has no early data: the handshake begins without.
            self.early = Early::None;
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
        if let Some(ticket_cell) = self.ticket_cell.as_ref().filter(|_| self.ready) {
            *ticket_cell.lock().unwrap_or_else(PoisonError::into_inner) = self.tls.ticket();
        }
        self.tls.close();
        wire.append(&mut self.tls.memory().output);
    }

    #[cfg(wolfssl_early)]
    fn early(&mut self, plain: &[u8]) -> usize {
        let may = !self.is_server() && self.early == Early::Possible && plain.len() <= MAX_EARLY;
        // Without a ticket that allows early data, the handshake continues without it.
        if !may || !self.tls.write_early(plain) {
            return 0;
        }
        self.early = Early::Complete;
        plain.len()
    }

    fn may_send(&self) -> bool {
        // An LMF that received early data may respond before the handshake is complete.
        self.is_ready()
            || self.is_server() && matches!(self.early, Early::Partial | Early::Complete)
    }

    fn resumption(&self) -> Resumption {
        #[cfg(wolfssl_early)]
        if matches!(self.early, Early::Partial | Early::Complete)
            && (self.is_server() || self.tls.early_data_accepted())
        {
            return Resumption::Early;
        }
        if self.ready && self.tls.is_resumed() { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }
}

/// Creates an LMF's context.
fn server_context(identity: &Identity) -> Result<Context, ChannelError> {
    // Both calls return a description of the fault.
    identity.chain()?;
    identity.private_key()?;
    let context = Context::new(true, SUITE)?;
    let wrong =
        |error| ChannelError::Identity(format!("the certificate does not match its key: {error}"));
    context.identity(&identity.certificates, &identity.key).map_err(wrong)?;
    Ok(context)
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let context = Arc::new(server_context(identity)?);
    Ok(Arc::new(move || Session::engine(Tls::new(&context)?, None, Early::None)))
}

/// Makes the sessions of an LMF that accepts early data on resumption. A ticket is accepted once
/// ([`tickets`]), so a replayed ClientHello is not.
#[cfg(wolfssl_early)]
pub(crate) fn early_data_servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let mut context = server_context(identity)?;
    context.accept_early_data(MAX_EARLY_DATA, tickets::Tickets::new(SESSION_CACHE_SIZE))?;
    let context = Arc::new(context);
    Ok(Arc::new(move || Session::engine(Tls::new(&context)?, None, Early::Possible)))
}

/// Makes the sessions of a UE, each of which resumes the previous one.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    clients_with(trust, Early::None)
}

/// Makes the sessions of a UE that sends early data when it resumes a session.
#[cfg(wolfssl_early)]
pub(crate) fn early_data_clients(trust: &Trust) -> Result<Engines, ChannelError> {
    clients_with(trust, Early::Possible)
}

fn clients_with(trust: &Trust, early: Early) -> Result<Engines, ChannelError> {
    trust.certificates()?;
    if trust.name.parse::<std::net::IpAddr>().is_ok() {
        let why = "wolfSSL verifies DNS names, not IP addresses: configure the LMF's name \
                   instead of its address";
        return Err(ChannelError::Identity(why.into()));
    }
    let context = Context::new(false, SUITE)?;
    let wrong = |error| ChannelError::Identity(format!("a root certificate is invalid: {error}"));
    context.roots(&trust.roots).map_err(wrong)?;
    let (context, name, ticket_cell) =
        (Arc::new(context), trust.name.clone(), TicketCell::default());
    Ok(Arc::new(move || {
        let mut tls = Tls::new(&context)?;
        // A ticket is used for one connection only (RFC 8446, C.4).
        let ticket = ticket_cell.lock().unwrap_or_else(PoisonError::into_inner).take();
        tls.expect(&name, ticket)?;
        Session::engine(tls, Some(ticket_cell.clone()), early)
    }))
}
