//! TLS by Mbed TLS, over buffers in memory.

use crate::memory::Memory;
use martlet_lcs_channel::{
    ChannelError, Description, Engine, Engines, Identity, Resumption, Trust,
};
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// The functions of `mbedtls/src/shim.c`.
mod shim {
    use super::*;

    pub(super) const WANT: c_int = -1;
    pub(super) const CLOSED: c_int = -2;
    /// MBEDTLS_ERR_SSL_WANT_READ: the input is empty.
    pub(super) const WANT_READ: c_int = -0x6900;

    #[repr(C)]
    pub(super) struct Context {
        _opaque: [u8; 0],
    }

    #[repr(C)]
    pub(super) struct Session {
        _opaque: [u8; 0],
    }

    pub(super) type Send = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize) -> c_int;
    pub(super) type Receive = unsafe extern "C" fn(*mut c_void, *mut c_uchar, usize) -> c_int;

    unsafe extern "C" {
        pub(super) fn martlet_mbedtls_context(
            certificates: *const c_uchar,
            certificates_size: usize,
            key: *const c_uchar,
            key_size: usize,
            error: *mut c_int,
        ) -> *mut Context;
        pub(super) fn martlet_mbedtls_free(context: *mut Context);
        pub(super) fn martlet_mbedtls_session(
            context: *const Context,
            name: *const c_char,
            io: *mut c_void,
            send: Send,
            receive: Receive,
            error: *mut c_int,
        ) -> *mut Session;
        pub(super) fn martlet_mbedtls_resume(
            session: *mut Session,
            ticket: *const c_uchar,
            size: usize,
        );
        pub(super) fn martlet_mbedtls_resumed(session: *const Session) -> c_int;
        pub(super) fn martlet_mbedtls_ticket(
            session: *const Session,
            size: *mut usize,
        ) -> *const c_uchar;
        pub(super) fn martlet_mbedtls_session_free(session: *mut Session);
        pub(super) fn martlet_mbedtls_handshake(session: *mut Session) -> c_int;
        pub(super) fn martlet_mbedtls_read(
            session: *mut Session,
            bytes: *mut c_uchar,
            count: usize,
        ) -> c_int;
        pub(super) fn martlet_mbedtls_write(
            session: *mut Session,
            bytes: *const c_uchar,
            count: usize,
        ) -> c_int;
        pub(super) fn martlet_mbedtls_close(session: *mut Session);
        pub(super) fn martlet_mbedtls_protocol(session: *const Session) -> *const c_char;
        pub(super) fn martlet_mbedtls_cipher_suite(session: *const Session) -> *const c_char;
        pub(super) fn martlet_mbedtls_session_error(session: *const Session) -> c_int;
        pub(super) fn martlet_mbedtls_explain(error: c_int, text: *mut c_char, size: usize);
        pub(super) fn martlet_mbedtls_version() -> *const c_char;
    }
}

unsafe extern "C" fn send(io: *mut c_void, bytes: *const c_uchar, count: usize) -> c_int {
    // SAFETY: `io` is the `Memory` that the session was created with. Only the session uses it
    // during the call.
    let memory = unsafe { &mut *io.cast::<Memory>() };
    // SAFETY: Mbed TLS owns `bytes`, which has `count` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, count) };
    memory.output.extend_from_slice(bytes);
    count as c_int
}

unsafe extern "C" fn receive(io: *mut c_void, bytes: *mut c_uchar, count: usize) -> c_int {
    // SAFETY: as for `send`.
    let memory = unsafe { &mut *io.cast::<Memory>() };
    // SAFETY: Mbed TLS owns `bytes`, which has room for `count` bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, count) };
    match memory.take(bytes) {
        0 => shim::WANT_READ,
        count => count as c_int,
    }
}

fn text(of: *const c_char) -> String {
    // SAFETY: Mbed TLS's names are static strings that end with NUL.
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

fn explain(error: c_int) -> String {
    let mut bytes = [0u8; 200];
    // SAFETY: the call writes at most this size, including the NUL.
    unsafe { shim::martlet_mbedtls_explain(error, bytes.as_mut_ptr().cast(), bytes.len()) };
    CStr::from_bytes_until_nul(&bytes)
        .map_or_else(|_| error.to_string(), |text| text.to_string_lossy().into_owned())
}

/// The certificates, and the key of an LMF, that sessions share.
struct Context(NonNull<shim::Context>);

// SAFETY: it is not modified after its creation, and Mbed TLS is built for use by several threads.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: each session holds a reference, so no session exists any more.
        unsafe { shim::martlet_mbedtls_free(self.0.as_ptr()) }
    }
}

impl Context {
    fn new(certificates: &str, key: Option<&str>) -> Result<Self, ChannelError> {
        let wrong = |why: String| {
            ChannelError::Identity(format!("Mbed TLS rejects the certificate: {why}"))
        };
        let pem = |text: &str| CString::new(text).map_err(|error| wrong(error.to_string()));
        let (certificates, key) = (pem(certificates)?, key.map(pem).transpose()?);
        let certificates = certificates.as_bytes_with_nul();
        let key = key.as_ref().map(|key| key.as_bytes_with_nul());
        let (key_at, key_size) = key.map_or((std::ptr::null(), 0), |key| (key.as_ptr(), key.len()));
        let mut error = 0;
        // SAFETY: both lengths are those of the buffers, which are read only within the call.
        let context = unsafe {
            shim::martlet_mbedtls_context(
                certificates.as_ptr(),
                certificates.len(),
                key_at,
                key_size,
                &mut error,
            )
        };
        NonNull::new(context).map(Context).ok_or_else(|| wrong(explain(error)))
    }
}

struct Session {
    session: NonNull<shim::Session>,
    /// The session's input and output. The address is stable, since Mbed TLS holds a pointer to it.
    memory: NonNull<Memory>,
    _context: Arc<Context>,
    scratch: Vec<u8>,
    ready: bool,
    closed: bool,
    /// Where a UE stores the ticket for its next connection.
    ticket_cell: Option<TicketCell>,
}

type TicketCell = Arc<Mutex<Option<Vec<u8>>>>;

// SAFETY: a session may be used by any thread, by one at a time.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: both were allocated in `engine`, and no other reference exists.
        unsafe {
            shim::martlet_mbedtls_session_free(self.session.as_ptr());
            drop(Box::from_raw(self.memory.as_ptr()));
        }
    }
}

impl Session {
    fn engine(
        context: Arc<Context>,
        name: Option<&str>,
        ticket_cell: Option<TicketCell>,
    ) -> Result<Box<dyn Engine>, ChannelError> {
        let named = name
            .map(CString::new)
            .transpose()
            .map_err(|error| ChannelError::Identity(error.to_string()))?;
        let memory = NonNull::from(Box::leak(Box::<Memory>::default()));
        let (at, mut error) = (named.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()), 0);
        // SAFETY: the session holds the context and the memory, and the memory is not moved.
        let session = unsafe {
            let io = memory.as_ptr().cast();
            shim::martlet_mbedtls_session(context.0.as_ptr(), at, io, send, receive, &mut error)
        };
        let Some(session) = NonNull::new(session) else {
            // SAFETY: no session was created that refers to it.
            drop(unsafe { Box::from_raw(memory.as_ptr()) });
            return Err(ChannelError::Identity(format!(
                "{:?} is not a valid server name: {}",
                name.unwrap_or(""),
                explain(error)
            )));
        };
        let scratch = vec![0; 16_384];
        let ticket = ticket_cell.as_ref().and_then(|ticket_cell| {
            ticket_cell.lock().unwrap_or_else(PoisonError::into_inner).take()
        });
        let mut session = Session {
            session,
            memory,
            _context: context,
            scratch,
            ready: false,
            closed: false,
            ticket_cell,
        };
        if let Some(ticket) = ticket {
            // SAFETY: the session is valid, its handshake has not begun, and the bytes are read
            // only within the call.
            unsafe {
                shim::martlet_mbedtls_resume(
                    session.session.as_ptr(),
                    ticket.as_ptr(),
                    ticket.len(),
                )
            };
        }
        // The ClientHello.
        session.negotiate()?;
        Ok(Box::new(session))
    }

    /// The session's buffers, while no call into Mbed TLS uses them.
    fn memory(&mut self) -> &mut Memory {
        // SAFETY: the memory lives as long as `self`, which stays borrowed as long as the result.
        unsafe { self.memory.as_mut() }
    }

    /// Stores the ticket for the next connection, if the LMF sent one.
    fn store_ticket(&mut self) {
        let Some(ticket_cell) = &self.ticket_cell else { return };
        let mut size = 0;
        // SAFETY: the session is valid.
        let at = unsafe { shim::martlet_mbedtls_ticket(self.session.as_ptr(), &mut size) };
        if !at.is_null() && size > 0 {
            // SAFETY: the ticket has `size` bytes and is valid until the session is used again.
            let ticket = unsafe { std::slice::from_raw_parts(at, size) };
            *ticket_cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket.to_vec());
        }
    }

    fn error(&self) -> ChannelError {
        // SAFETY: the session is valid.
        ChannelError::Tls(explain(unsafe {
            shim::martlet_mbedtls_session_error(self.session.as_ptr())
        }))
    }

    fn negotiate(&mut self) -> Result<(), ChannelError> {
        // SAFETY: the session is valid, and its memory is not borrowed.
        match unsafe { shim::martlet_mbedtls_handshake(self.session.as_ptr()) } {
            shim::WANT => Ok(()),
            shim::CLOSED => {
                Err(ChannelError::Tls("the peer closed the connection during the handshake".into()))
            }
            0 => {
                self.ready = true;
                Ok(())
            }
            _ => Err(self.error()),
        }
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        self.memory().push(wire);
        if !self.ready {
            self.negotiate()?;
            if !self.ready {
                return Ok(());
            }
        }
        loop {
            let (at, size) = (self.scratch.as_mut_ptr(), self.scratch.len());
            // SAFETY: the session is valid, its memory is not borrowed, and the call writes at most
            // the length of the scratch buffer.
            match unsafe { shim::martlet_mbedtls_read(self.session.as_ptr(), at, size) } {
                shim::WANT => {
                    self.store_ticket();
                    return Ok(());
                }
                shim::CLOSED => {
                    self.closed = true;
                    return Ok(());
                }
                count if count > 0 => plain.extend_from_slice(&self.scratch[..count as usize]),
                _ => return Err(self.error()),
            }
        }
    }

    fn seal(&mut self, mut plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        while !plain.is_empty() {
            // SAFETY: the session is valid, its memory is not borrowed, and the bytes are read only
            // within the call.
            match unsafe {
                shim::martlet_mbedtls_write(self.session.as_ptr(), plain.as_ptr(), plain.len())
            } {
                count if count > 0 => plain = &plain[count as usize..],
                shim::WANT => {
                    return Err(ChannelError::Tls(
                        "Mbed TLS does not accept the bytes to send".into(),
                    ));
                }
                _ => return Err(self.error()),
            }
        }
        self.pending(wire)
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.memory().output);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        // SAFETY: the session is valid, and its memory is not borrowed.
        unsafe { shim::martlet_mbedtls_close(self.session.as_ptr()) };
        wire.append(&mut self.memory().output);
    }

    fn resumption(&self) -> Resumption {
        // SAFETY: the session is valid.
        let resumed = self.ticket_cell.is_some()
            && unsafe { shim::martlet_mbedtls_resumed(self.session.as_ptr()) } != 0;
        if resumed { Resumption::Resumed } else { Resumption::Full }
    }

    fn describe(&self) -> Description {
        // SAFETY: the session is valid.
        let (protocol, suite) = unsafe {
            let session = self.session.as_ptr();
            (shim::martlet_mbedtls_protocol(session), shim::martlet_mbedtls_cipher_suite(session))
        };
        Description {
            protocol: text(protocol),
            // Mbed TLS writes cipher suites with hyphens: TLS1-3-AES-128-GCM-SHA256.
            cipher_suite: text(suite).replace("TLS1-3-", "TLS_").replace('-', "_"),
            // SAFETY: the call has no arguments.
            library: text(unsafe { shim::martlet_mbedtls_version() }),
        }
    }
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    // Both calls return a description of the fault.
    identity.chain()?;
    identity.private_key()?;
    let context = Arc::new(Context::new(&identity.certificates, Some(&identity.key))?);
    Ok(Arc::new(move || Session::engine(context.clone(), None, None)))
}

/// Makes the sessions of a UE, each of which resumes the previous one.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    trust.certificates()?;
    let (context, name, ticket_cell) =
        (Arc::new(Context::new(&trust.roots, None)?), trust.name.clone(), TicketCell::default());
    Ok(Arc::new(move || Session::engine(context.clone(), Some(&name), Some(ticket_cell.clone()))))
}
