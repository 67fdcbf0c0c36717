//! The little of wolfSSL that a channel needs, over buffers in memory, by its bindings: the crate
//! above them gives no sessions that go on.

use crate::memory::Memory;
use martlet_lcs_channel::ChannelError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wolfssl_sys as sys;

/// wolfSSL is built without locks: references are counted by one thread at a time.
static COUNTING: Mutex<()> = Mutex::new(());

fn counting() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What wolfSSL says of an error.
pub(super) fn why(code: c_int) -> ChannelError {
    let mut text = [0 as c_char; 96];
    // SAFETY: it writes a text with its end into the room that it is told; the code is a number.
    let said = unsafe {
        sys::wolfSSL_ERR_error_string_n(code as _, text.as_mut_ptr(), text.len() as _);
        CStr::from_ptr(text.as_ptr())
    };
    ChannelError::Tls(format!("wolfSSL: {}", said.to_string_lossy()))
}

fn done(code: c_int) -> Result<(), ChannelError> {
    if code == sys::WOLFSSL_SUCCESS as c_int { Ok(()) } else { Err(why(code)) }
}

/// What connections have in common.
pub(super) struct Context {
    at: NonNull<sys::WOLFSSL_CTX>,
    /// At an address that wolfSSL has, too.
    #[cfg(wolfssl_early)]
    tickets: Option<Box<super::tickets::Tickets>>,
}

// SAFETY: once it is made, only its count of references changes, which is done by one thread at a
// time.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Of a UE or of an LMF, TLS 1.3 with one cipher suite.
    pub(super) fn new(server: bool, suite: &str) -> Result<Self, ChannelError> {
        // It begins with the library, once.
        wolfssl::ContextBuilder::new(wolfssl::Method::TlsClientV1_3).map_err(ChannelError::tls)?;
        let suite = CString::new(suite).map_err(ChannelError::tls)?;
        // SAFETY: the method goes over to the context; the callbacks have the types that they are
        // declared with.
        unsafe {
            let method = if server {
                sys::wolfTLSv1_3_server_method()
            } else {
                sys::wolfTLSv1_3_client_method()
            };
            let context = NonNull::new(sys::wolfSSL_CTX_new(method));
            let at = context.ok_or_else(|| ChannelError::Tls("wolfSSL makes no context".into()))?;
            let context = Context {
                at,
                #[cfg(wolfssl_early)]
                tickets: None,
            };
            // It would invite to it unasked.
            #[cfg(wolfssl_early)]
            sys::wolfSSL_CTX_set_max_early_data(at.as_ptr(), 0);
            sys::wolfSSL_CTX_SetIORecv(context.at.as_ptr(), Some(receive));
            sys::wolfSSL_CTX_SetIOSend(context.at.as_ptr(), Some(send));
            // One cache for the whole process, which it has, has no lock; who goes on brings a
            // ticket.
            sys::wolfSSL_CTX_set_session_cache_mode(
                context.at.as_ptr(),
                sys::WOLFSSL_SESS_CACHE_OFF as _,
            );
            done(sys::wolfSSL_CTX_set_cipher_list(context.at.as_ptr(), suite.as_ptr()))?;
            // Of all that it has, servers take others than the one whose key comes with the first
            // message, and ask for that.
            let mut groups =
                [sys::WOLFSSL_ECC_X25519 as c_int, sys::WOLFSSL_ECC_SECP256R1 as c_int];
            done(sys::wolfSSL_CTX_set_groups(
                context.at.as_ptr(),
                groups.as_mut_ptr(),
                groups.len() as c_int,
            ))?;
            Ok(context)
        }
    }

    /// An LMF's certificates and its key, PEM.
    pub(super) fn identity(&self, certificates: &str, key: &str) -> Result<(), ChannelError> {
        let (context, pem) = (self.at.as_ptr(), sys::WOLFSSL_FILETYPE_PEM as c_int);
        // SAFETY: both texts are read as far as they are long, before this returns.
        unsafe {
            done(sys::wolfSSL_CTX_use_certificate_chain_buffer(
                context,
                certificates.as_ptr(),
                certificates.len() as _,
            ))?;
            done(sys::wolfSSL_CTX_use_PrivateKey_buffer(
                context,
                key.as_ptr(),
                key.len() as _,
                pem,
            ))?;
            done(sys::wolfSSL_CTX_check_private_key(context))
        }
    }

    /// An LMF's: it takes so many octets with a first flight, of who has a ticket of these.
    #[cfg(wolfssl_early)]
    pub(super) fn take_early(
        &mut self,
        most: u32,
        tickets: super::tickets::Tickets,
    ) -> Result<(), ChannelError> {
        let tickets = self.tickets.insert(Box::new(tickets));
        let (context, tickets) =
            (self.at.as_ptr(), std::ptr::from_mut::<super::tickets::Tickets>(tickets));
        // SAFETY: the tickets live as long as the context, at the same address, and the callback is
        // for them.
        unsafe {
            done(sys::wolfSSL_CTX_set_TicketEncCb(context, Some(super::tickets::ticket)))?;
            done(sys::wolfSSL_CTX_set_TicketEncCtx(context, tickets.cast()))?;
            match sys::wolfSSL_CTX_set_max_early_data(context, most) {
                0 => Ok(()),
                error => Err(why(error)),
            }
        }
    }

    /// Whom a UE believes, PEM.
    pub(super) fn roots(&self, roots: &str) -> Result<(), ChannelError> {
        let (context, pem) = (self.at.as_ptr(), sys::WOLFSSL_FILETYPE_PEM as c_int);
        // SAFETY: the text is read as far as it is long, before this returns.
        unsafe {
            sys::wolfSSL_CTX_set_verify(context, sys::WOLFSSL_VERIFY_PEER as c_int, None);
            done(sys::wolfSSL_CTX_load_verify_buffer(
                context,
                roots.as_ptr(),
                roots.len() as _,
                pem,
            ))
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _counting = counting();
        // SAFETY: it is ours, and not used any more.
        unsafe { sys::wolfSSL_CTX_free(self.at.as_ptr()) };
    }
}

/// What a connection was given for the next one.
pub(super) struct Ticket(NonNull<sys::WOLFSSL_SESSION>);

// SAFETY: it is used by one thread at a time: by who holds it.
unsafe impl Send for Ticket {}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _counting = counting();
        // SAFETY: the reference is ours.
        unsafe { sys::wolfSSL_SESSION_free(self.0.as_ptr()) };
    }
}

/// What reading came to.
pub(super) enum Read {
    Octets(usize),
    Nothing,
    Closed,
}

/// A connection.
pub(super) struct Tls {
    session: NonNull<sys::WOLFSSL>,
    /// From a box, to which it goes back in the end; wolfSSL has the same address.
    memory: NonNull<Memory>,
    _context: Arc<Context>,
}

// SAFETY: it is used by one thread at a time, since what uses it takes it mutably.
unsafe impl Send for Tls {}

unsafe extern "C" fn receive(
    _: *mut sys::WOLFSSL,
    into: *mut c_char,
    room: c_int,
    memory: *mut c_void,
) -> c_int {
    // SAFETY: it is the address that `Tls::new` gave, which nobody else uses while wolfSSL is at
    // work, and a buffer as large as it says.
    let (memory, into) = unsafe {
        (
            &mut *memory.cast::<Memory>(),
            std::slice::from_raw_parts_mut(into.cast::<u8>(), room as usize),
        )
    };
    match memory.take(into) {
        0 => sys::IOerrors_WOLFSSL_CBIO_ERR_WANT_READ as c_int,
        count => count as c_int,
    }
}

unsafe extern "C" fn send(
    _: *mut sys::WOLFSSL,
    octets: *mut c_char,
    count: c_int,
    memory: *mut c_void,
) -> c_int {
    // SAFETY: as in `receive`.
    let (memory, octets) = unsafe {
        (
            &mut *memory.cast::<Memory>(),
            std::slice::from_raw_parts(octets.cast::<u8>(), count as usize),
        )
    };
    memory.output.extend_from_slice(octets);
    count
}

impl Tls {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, ChannelError> {
        let _counting = counting();
        // SAFETY: the context lives as long as this; the memory, too, at the same address.
        unsafe {
            let session = NonNull::new(sys::wolfSSL_new(context.at.as_ptr()));
            let session =
                session.ok_or_else(|| ChannelError::Tls("wolfSSL makes no session".into()))?;
            let memory = NonNull::from(Box::leak(Box::<Memory>::default()));
            sys::wolfSSL_SetIOReadCtx(session.as_ptr(), memory.as_ptr().cast());
            sys::wolfSSL_SetIOWriteCtx(session.as_ptr(), memory.as_ptr().cast());
            Ok(Tls { session, memory, _context: context.clone() })
        }
    }

    /// A UE's: whose certificate it has to be, and what was given before.
    pub(super) fn expect(
        &mut self,
        name: &str,
        ticket: Option<Ticket>,
    ) -> Result<(), ChannelError> {
        let name = CString::new(name)
            .map_err(|_| ChannelError::Identity(format!("{name:?} is no name")))?;
        let (session, counting) = (self.session.as_ptr(), counting());
        // SAFETY: the name is copied; the session counts its own reference to what was given
        // before.
        unsafe {
            done(sys::wolfSSL_check_domain_name(session, name.as_ptr()))?;
            done(sys::wolfSSL_UseKeyShare(session, sys::WOLFSSL_ECC_X25519 as _))?;
            // A ticket that allows nothing early says nothing of it, which wolfSSL takes for this.
            #[cfg(wolfssl_early)]
            sys::wolfSSL_set_max_early_data(session, 0);
            if let Some(ticket) = &ticket {
                // One that is too old is not taken, and the handshake is as if there was none.
                let _ = sys::wolfSSL_set_session(session, ticket.0.as_ptr());
            }
        }
        drop(counting);
        Ok(())
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        // SAFETY: wolfSSL uses it only while it is called, for which this has to be borrowed.
        unsafe { self.memory.as_mut() }
    }

    fn error(&mut self, code: c_int) -> c_int {
        // SAFETY: it looks at the last error.
        unsafe { sys::wolfSSL_get_error(self.session.as_ptr(), code) }
    }

    /// Go on with the handshake: whether it is done.
    pub(super) fn negotiate(&mut self) -> Result<bool, ChannelError> {
        // SAFETY: it reads and writes through the callbacks alone.
        let code = unsafe { sys::wolfSSL_negotiate(self.session.as_ptr()) };
        if code == sys::WOLFSSL_SUCCESS as c_int {
            return Ok(true);
        }
        match self.error(code) {
            error if error == sys::WOLFSSL_ERROR_WANT_READ as c_int => Ok(false),
            error => Err(why(error)),
        }
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<Read, ChannelError> {
        // SAFETY: it writes no more than it is told.
        let count = unsafe {
            sys::wolfSSL_read(self.session.as_ptr(), into.as_mut_ptr().cast(), into.len() as c_int)
        };
        if count > 0 {
            return Ok(Read::Octets(count as usize));
        }
        match self.error(count) {
            error if error == sys::WOLFSSL_ERROR_WANT_READ as c_int => Ok(Read::Nothing),
            error if error == sys::WOLFSSL_ERROR_ZERO_RETURN as c_int => Ok(Read::Closed),
            error if error == sys::wolfSSL_ErrorCodes_ZERO_RETURN as c_int => Ok(Read::Closed),
            error => Err(why(error)),
        }
    }

    /// A UE's first flight, with these octets in it. Whether they are.
    #[cfg(wolfssl_early)]
    pub(super) fn write_early(&mut self, octets: &[u8]) -> bool {
        let mut count = 0;
        let (at, length) = (octets.as_ptr().cast(), octets.len() as c_int);
        // SAFETY: it reads no more than it is told, and writes a number.
        let code =
            unsafe { sys::wolfSSL_write_early_data(self.session.as_ptr(), at, length, &mut count) };
        code > 0 && count == length
    }

    /// An LMF's end: what came with the first flight, [`Read::Closed`] once no more of it comes.
    #[cfg(wolfssl_early)]
    pub(super) fn read_early(&mut self, into: &mut [u8]) -> Result<Read, ChannelError> {
        let mut count = 0;
        let (at, room) = (into.as_mut_ptr().cast(), into.len() as c_int);
        // SAFETY: it writes no more than it is told, and a number.
        let code =
            unsafe { sys::wolfSSL_read_early_data(self.session.as_ptr(), at, room, &mut count) };
        if count > 0 {
            return Ok(Read::Octets(count as usize));
        }
        if code >= 0 {
            return Ok(Read::Closed);
        }
        match self.error(code) {
            error if error == sys::WOLFSSL_ERROR_WANT_READ as c_int => Ok(Read::Nothing),
            error => Err(why(error)),
        }
    }

    /// Whether the other end took what went with the first flight.
    #[cfg(wolfssl_early)]
    pub(super) fn took_early(&self) -> bool {
        // SAFETY: it looks at the session.
        unsafe {
            sys::wolfSSL_get_early_data_status(self.session.as_ptr())
                == sys::WOLFSSL_EARLY_DATA_ACCEPTED as c_int
        }
    }

    /// How many octets it took.
    pub(super) fn write(&mut self, octets: &[u8]) -> Result<usize, ChannelError> {
        // SAFETY: it reads no more than it is told.
        let count = unsafe {
            sys::wolfSSL_write(self.session.as_ptr(), octets.as_ptr().cast(), octets.len() as c_int)
        };
        if count > 0 { Ok(count as usize) } else { Err(why(self.error(count))) }
    }

    /// Say that nothing more comes.
    pub(super) fn close(&mut self) {
        // SAFETY: it writes through a callback. What the peer still says is of no more use.
        let _ = unsafe { sys::wolfSSL_shutdown(self.session.as_ptr()) };
    }

    #[cfg(wolfssl_tickets)]
    fn has_ticket(&mut self) -> bool {
        let mut room = [0u8; 4096];
        let mut length = room.len() as sys::word32;
        // SAFETY: it writes no more than it is told there is room for, and how much it was.
        let code = unsafe {
            sys::wolfSSL_get_SessionTicket(self.session.as_ptr(), room.as_mut_ptr(), &mut length)
        };
        code == sys::WOLFSSL_SUCCESS as c_int && length > 0
    }

    #[cfg(not(wolfssl_tickets))]
    fn has_ticket(&mut self) -> bool {
        false
    }

    /// What is kept for the next connection, where the server gave something.
    pub(super) fn ticket(&mut self) -> Option<Ticket> {
        if !self.has_ticket() {
            return None;
        }
        let _counting = counting();
        // SAFETY: the reference is the caller's.
        NonNull::new(unsafe { sys::wolfSSL_get1_session(self.session.as_ptr()) }).map(Ticket)
    }

    /// Whether it goes on with what a connection before was given.
    pub(super) fn is_resumed(&self) -> bool {
        // SAFETY: it looks at the session.
        unsafe { sys::wolfSSL_session_reused(self.session.as_ptr()) == 1 }
    }

    /// Version and cipher suite, as wolfSSL calls them.
    pub(super) fn names(&self) -> (String, String) {
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: what is not null is a text with its end, which is wolfSSL's own.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        // SAFETY: they look at the session.
        unsafe {
            let version = sys::wolfSSL_get_version(self.session.as_ptr());
            (text(version), text(sys::wolfSSL_get_cipher_name(self.session.as_ptr())))
        }
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _counting = counting();
        // SAFETY: the session is ours and not used any more, and then nor is the memory, which came
        // from a box.
        unsafe {
            sys::wolfSSL_free(self.session.as_ptr());
            drop(Box::from_raw(self.memory.as_ptr()));
        }
    }
}
