//! Safe wrappers of wolfSSL's C functions that a channel needs. The `wolfssl` crate does not expose
//! sessions that can be resumed.

use crate::memory::Memory;
use martlet_lcs_channel::ChannelError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wolfssl_sys as sys;

/// wolfSSL is built without locks: only one thread at a time may change a reference count.
static COUNTING: Mutex<()> = Mutex::new(());

fn counting() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// wolfSSL's text of an error.
pub(super) fn why(code: c_int) -> ChannelError {
    let mut text = [0 as c_char; 96];
    // SAFETY: the call writes a NUL-terminated text within the buffer's length.
    let text = unsafe {
        sys::wolfSSL_ERR_error_string_n(code as _, text.as_mut_ptr(), text.len() as _);
        CStr::from_ptr(text.as_ptr())
    };
    ChannelError::Tls(format!("wolfSSL: {}", text.to_string_lossy()))
}

fn done(code: c_int) -> Result<(), ChannelError> {
    if code == sys::WOLFSSL_SUCCESS as c_int { Ok(()) } else { Err(why(code)) }
}

/// The settings that connections share.
pub(super) struct Context {
    at: NonNull<sys::WOLFSSL_CTX>,
    /// Boxed, since wolfSSL holds a pointer to it.
    #[cfg(wolfssl_early)]
    tickets: Option<Box<super::tickets::Tickets>>,
}

// SAFETY: after its creation only the reference count changes, under `COUNTING`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Of a UE or of an LMF, TLS 1.3 with one cipher suite.
    pub(super) fn new(server: bool, suite: &str) -> Result<Self, ChannelError> {
        // Initialises the library once.
        wolfssl::ContextBuilder::new(wolfssl::Method::TlsClientV1_3).map_err(ChannelError::tls)?;
        let suite = CString::new(suite).map_err(ChannelError::tls)?;
        // SAFETY: the context takes ownership of the method; the callbacks have the declared types.
        unsafe {
            let method = if server {
                sys::wolfTLSv1_3_server_method()
            } else {
                sys::wolfTLSv1_3_client_method()
            };
            let context = NonNull::new(sys::wolfSSL_CTX_new(method));
            let at = context.ok_or_else(|| {
                ChannelError::Tls("wolfSSL failed to create a context: out of memory".into())
            })?;
            let context = Context {
                at,
                #[cfg(wolfssl_early)]
                tickets: None,
            };
            // By default, tickets would permit early data.
            #[cfg(wolfssl_early)]
            sys::wolfSSL_CTX_set_max_early_data(at.as_ptr(), 0);
            sys::wolfSSL_CTX_SetIORecv(context.at.as_ptr(), Some(receive));
            sys::wolfSSL_CTX_SetIOSend(context.at.as_ptr(), Some(send));
            // wolfSSL's session cache is shared by the process and has no lock. Clients resume with
            // tickets instead.
            sys::wolfSSL_CTX_set_session_cache_mode(
                context.at.as_ptr(),
                sys::WOLFSSL_SESS_CACHE_OFF as _,
            );
            done(sys::wolfSSL_CTX_set_cipher_list(context.at.as_ptr(), suite.as_ptr()))?;
            // By default, servers ask for a group other than that of the client's key share, which
            // costs a round trip.
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

    /// Sets an LMF's certificate chain and its key, both PEM.
    pub(super) fn identity(&self, certificates: &str, key: &str) -> Result<(), ChannelError> {
        let (context, pem) = (self.at.as_ptr(), sys::WOLFSSL_FILETYPE_PEM as c_int);
        // SAFETY: both texts are read within their lengths, during the call.
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

    /// Makes an LMF accept up to `max` bytes of early data, with tickets from this store.
    #[cfg(wolfssl_early)]
    pub(super) fn accept_early_data(
        &mut self,
        max: u32,
        tickets: super::tickets::Tickets,
    ) -> Result<(), ChannelError> {
        let tickets = self.tickets.insert(Box::new(tickets));
        let (context, tickets) =
            (self.at.as_ptr(), std::ptr::from_mut::<super::tickets::Tickets>(tickets));
        // SAFETY: the tickets live as long as the context, at a stable address, and are what the
        // callback expects.
        unsafe {
            done(sys::wolfSSL_CTX_set_TicketEncCb(context, Some(super::tickets::ticket)))?;
            done(sys::wolfSSL_CTX_set_TicketEncCtx(context, tickets.cast()))?;
            match sys::wolfSSL_CTX_set_max_early_data(context, max) {
                0 => Ok(()),
                error => Err(why(error)),
            }
        }
    }

    /// Sets the root certificates that a UE trusts, PEM.
    pub(super) fn roots(&self, roots: &str) -> Result<(), ChannelError> {
        let (context, pem) = (self.at.as_ptr(), sys::WOLFSSL_FILETYPE_PEM as c_int);
        // SAFETY: the text is read within its length, during the call.
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
        // SAFETY: this is the owner, and the last use.
        unsafe { sys::wolfSSL_CTX_free(self.at.as_ptr()) };
    }
}

/// A session to resume.
pub(super) struct Ticket(NonNull<sys::WOLFSSL_SESSION>);

// SAFETY: one thread at a time uses it, its owner.
unsafe impl Send for Ticket {}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _counting = counting();
        // SAFETY: this is the owner of the reference.
        unsafe { sys::wolfSSL_SESSION_free(self.0.as_ptr()) };
    }
}

/// The result of a read.
pub(super) enum Read {
    Bytes(usize),
    Nothing,
    Closed,
}

/// A connection.
pub(super) struct Tls {
    session: NonNull<sys::WOLFSSL>,
    /// From `Box::into_raw`; freed on drop. wolfSSL holds the same address.
    memory: NonNull<Memory>,
    _context: Arc<Context>,
}

// SAFETY: wolfSSL is called through `&mut self`, hence by one thread at a time.
unsafe impl Send for Tls {}

unsafe extern "C" fn receive(
    _: *mut sys::WOLFSSL,
    into: *mut c_char,
    room: c_int,
    memory: *mut c_void,
) -> c_int {
    // SAFETY: this is the address that `Tls::new` set, which no other code uses during a call of
    // wolfSSL, and the buffer has the given size.
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
    bytes: *mut c_char,
    count: c_int,
    memory: *mut c_void,
) -> c_int {
    // SAFETY: as in `receive`.
    let (memory, bytes) = unsafe {
        (
            &mut *memory.cast::<Memory>(),
            std::slice::from_raw_parts(bytes.cast::<u8>(), count as usize),
        )
    };
    memory.output.extend_from_slice(bytes);
    count
}

impl Tls {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, ChannelError> {
        let _counting = counting();
        // SAFETY: the context and the memory outlive the session, and the memory's address is
        // stable.
        unsafe {
            let session = NonNull::new(sys::wolfSSL_new(context.at.as_ptr()));
            let session = session.ok_or_else(|| {
                ChannelError::Tls("wolfSSL failed to create a session: out of memory".into())
            })?;
            let memory = NonNull::from(Box::leak(Box::<Memory>::default()));
            sys::wolfSSL_SetIOReadCtx(session.as_ptr(), memory.as_ptr().cast());
            sys::wolfSSL_SetIOWriteCtx(session.as_ptr(), memory.as_ptr().cast());
            Ok(Tls { session, memory, _context: context.clone() })
        }
    }

    /// Sets the name that the LMF's certificate must have, and the ticket to resume with.
    pub(super) fn expect(
        &mut self,
        name: &str,
        ticket: Option<Ticket>,
    ) -> Result<(), ChannelError> {
        let name = CString::new(name)
            .map_err(|_| ChannelError::Identity(format!("{name:?} is not a valid server name")))?;
        let (session, counting) = (self.session.as_ptr(), counting());
        // SAFETY: the name is copied, and the session takes its own reference to the ticket's
        // session.
        unsafe {
            done(sys::wolfSSL_check_domain_name(session, name.as_ptr()))?;
            done(sys::wolfSSL_UseKeyShare(session, sys::WOLFSSL_ECC_X25519 as _))?;
            // A ticket without early data does not set this limit, so wolfSSL would use the
            // default.
            #[cfg(wolfssl_early)]
            sys::wolfSSL_set_max_early_data(session, 0);
            if let Some(ticket) = &ticket {
                // An expired ticket is rejected, and the handshake is a full one.
                let _ = sys::wolfSSL_set_session(session, ticket.0.as_ptr());
            }
        }
        drop(counting);
        Ok(())
    }

    pub(super) fn memory(&mut self) -> &mut Memory {
        // SAFETY: wolfSSL uses the memory only during calls, which borrow `self`.
        unsafe { self.memory.as_mut() }
    }

    fn error(&mut self, code: c_int) -> c_int {
        // SAFETY: the call reads the last error.
        unsafe { sys::wolfSSL_get_error(self.session.as_ptr(), code) }
    }

    /// Continues the handshake. Returns whether it is complete.
    pub(super) fn negotiate(&mut self) -> Result<bool, ChannelError> {
        // SAFETY: the call reads and writes through the callbacks only.
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
        // SAFETY: the call writes at most the given length.
        let count = unsafe {
            sys::wolfSSL_read(self.session.as_ptr(), into.as_mut_ptr().cast(), into.len() as c_int)
        };
        if count > 0 {
            return Ok(Read::Bytes(count as usize));
        }
        match self.error(count) {
            error if error == sys::WOLFSSL_ERROR_WANT_READ as c_int => Ok(Read::Nothing),
            error if error == sys::WOLFSSL_ERROR_ZERO_RETURN as c_int => Ok(Read::Closed),
            error if error == sys::wolfSSL_ErrorCodes_ZERO_RETURN as c_int => Ok(Read::Closed),
            error => Err(why(error)),
        }
    }

    /// Sends a UE's ClientHello with early data. Returns whether the data was included.
    #[cfg(wolfssl_early)]
    pub(super) fn write_early(&mut self, bytes: &[u8]) -> bool {
        let mut count = 0;
        let (at, length) = (bytes.as_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the call reads at most the given length, and writes a number.
        let code =
            unsafe { sys::wolfSSL_write_early_data(self.session.as_ptr(), at, length, &mut count) };
        code > 0 && count == length
    }

    /// Reads early data at an LMF. Returns [`Read::Closed`] when no more follows.
    #[cfg(wolfssl_early)]
    pub(super) fn read_early(&mut self, into: &mut [u8]) -> Result<Read, ChannelError> {
        let mut count = 0;
        let (at, room) = (into.as_mut_ptr().cast(), into.len() as c_int);
        // SAFETY: the call writes at most the given length, and a number.
        let code =
            unsafe { sys::wolfSSL_read_early_data(self.session.as_ptr(), at, room, &mut count) };
        if count > 0 {
            return Ok(Read::Bytes(count as usize));
        }
        if code >= 0 {
            return Ok(Read::Closed);
        }
        match self.error(code) {
            error if error == sys::WOLFSSL_ERROR_WANT_READ as c_int => Ok(Read::Nothing),
            error => Err(why(error)),
        }
    }

    /// Whether the LMF accepted the early data.
    #[cfg(wolfssl_early)]
    pub(super) fn early_data_accepted(&self) -> bool {
        // SAFETY: the call only reads the session.
        unsafe {
            sys::wolfSSL_get_early_data_status(self.session.as_ptr())
                == sys::WOLFSSL_EARLY_DATA_ACCEPTED as c_int
        }
    }

    /// Returns the number of bytes written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError> {
        // SAFETY: the call reads at most the given length.
        let count = unsafe {
            sys::wolfSSL_write(self.session.as_ptr(), bytes.as_ptr().cast(), bytes.len() as c_int)
        };
        if count > 0 { Ok(count as usize) } else { Err(why(self.error(count))) }
    }

    /// Sends close_notify.
    pub(super) fn close(&mut self) {
        // SAFETY: the call writes through a callback. Later input of the peer is ignored.
        let _ = unsafe { sys::wolfSSL_shutdown(self.session.as_ptr()) };
    }

    #[cfg(wolfssl_tickets)]
    fn has_ticket(&mut self) -> bool {
        let mut room = [0u8; 4096];
        let mut length = room.len() as sys::word32;
        // SAFETY: the call writes at most the given length, and the length written.
        let code = unsafe {
            sys::wolfSSL_get_SessionTicket(self.session.as_ptr(), room.as_mut_ptr(), &mut length)
        };
        code == sys::WOLFSSL_SUCCESS as c_int && length > 0
    }

    #[cfg(not(wolfssl_tickets))]
    fn has_ticket(&mut self) -> bool {
        false
    }

    /// The session with which the next connection resumes, if the LMF sent a ticket.
    pub(super) fn ticket(&mut self) -> Option<Ticket> {
        if !self.has_ticket() {
            return None;
        }
        let _counting = counting();
        // SAFETY: the caller owns the returned reference.
        NonNull::new(unsafe { sys::wolfSSL_get1_session(self.session.as_ptr()) }).map(Ticket)
    }

    /// Whether the connection resumed a session.
    pub(super) fn is_resumed(&self) -> bool {
        // SAFETY: the call only reads the session.
        unsafe { sys::wolfSSL_session_reused(self.session.as_ptr()) == 1 }
    }

    /// Version and cipher suite, in wolfSSL's notation.
    pub(super) fn names(&self) -> (String, String) {
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: a pointer that is not null is a static NUL-terminated string.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        // SAFETY: the calls only read the session.
        unsafe {
            let version = sys::wolfSSL_get_version(self.session.as_ptr());
            (text(version), text(sys::wolfSSL_get_cipher_name(self.session.as_ptr())))
        }
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _counting = counting();
        // SAFETY: this is the owner of both, and the last use. The memory was created by
        // `Box::into_raw`.
        unsafe {
            sys::wolfSSL_free(self.session.as_ptr());
            drop(Box::from_raw(self.memory.as_ptr()));
        }
    }
}
