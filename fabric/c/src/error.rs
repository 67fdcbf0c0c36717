//! Errors: a negative `errno` for programs, and a text for people.
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// What went wrong in the last call of this thread that failed, for people. It is valid until the
/// thread's next call that fails; empty where none has.
#[unsafe(no_mangle)]
pub extern "C" fn martlet_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The negative `errno` of an error.
pub(crate) fn number(error: &Error) -> c_int {
    use ErrorKind::*;
    -match error.kind() {
        ConnectionRefused => libc::ECONNREFUSED,
        ConnectionReset => libc::ECONNRESET,
        BrokenPipe => libc::EPIPE,
        NotConnected => libc::ENOTCONN,
        AddrInUse => libc::EADDRINUSE,
        TimedOut => libc::ETIMEDOUT,
        WouldBlock => libc::EAGAIN,
        InvalidInput => libc::EINVAL,
        PermissionDenied => libc::EACCES,
        QuotaExceeded | ResourceBusy => libc::ENOBUFS,
        _ => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

pub(crate) fn failed(error: &Error) -> c_int {
    if error.kind() == ErrorKind::WouldBlock {
        // No error, and often: nobody asks for its text.
        return -libc::EAGAIN;
    }
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(text));
    number(error)
}

pub(crate) fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

/// What a function gives back: a number, or a negative `errno`. A panic stays on this side.
pub(crate) fn outcome(work: impl FnOnce() -> std::io::Result<usize>) -> isize {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(number)) => isize::try_from(number).unwrap_or(isize::MAX),
        Ok(Err(error)) => failed(&error) as isize,
        Err(_) => failed(&Error::other(
            "an error in libmartlet_fabric itself; its standard error says which",
        )) as isize,
    }
}

/// The same, for functions whose result is no number of bytes.
pub(crate) fn done(work: impl FnOnce() -> std::io::Result<()>) -> c_int {
    outcome(|| work().map(|()| 0)) as c_int
}

/// A text that was handed over.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> std::io::Result<&'a str> {
    if text.is_null() {
        return Err(invalid(&format!("{what} is NULL")));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| invalid(&format!("{what} is no UTF-8")))
}

/// An object that was handed over.
///
/// # Safety
/// `object` is null or was made by this library and not freed yet.
pub(crate) unsafe fn object<'a, T>(object: *const T, what: &str) -> std::io::Result<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { object.as_ref() }.ok_or_else(|| invalid(&format!("{what} is NULL")))
}

/// Gives an object away.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn give<T>(place: *mut *mut T, value: T) -> std::io::Result<()> {
    if place.is_null() {
        return Err(invalid("there is no place for the result"));
    }
    // SAFETY: as the caller promises.
    unsafe { place.write(Box::into_raw(Box::new(value))) };
    Ok(())
}

/// Takes an object back and ends it.
///
/// # Safety
/// `object` is null or was given away by `give`, is not used by anybody any more, and not freed
/// yet.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: as the caller promises.
        let object = unsafe { Box::from_raw(object) };
        // A panic stays on this side.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
    }
}

/// Writes an address as text with a zero byte at its end.
///
/// # Safety
/// `length` bytes may be written from `place` on.
pub(crate) unsafe fn write_address(
    address: std::net::SocketAddr,
    place: *mut c_char,
    length: usize,
) -> std::io::Result<usize> {
    let text = address.to_string();
    if place.is_null() || length <= text.len() {
        return Err(invalid(&format!("an address needs {} bytes", text.len() + 1)));
    }
    // SAFETY: there is room for the text and a zero byte, as just seen; the texts do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), place, text.len());
        place.add(text.len()).write(0);
    }
    Ok(text.len())
}
