//! Errors: a negative `errno` as the return value, and a text from `martlet_error`.
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The text of the last error of this thread. It is valid until the next error of the thread, and
/// empty if there was none. `-EAGAIN` sets no text.
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
        // Frequent and not a failure: skip the text.
        return -libc::EAGAIN;
    }
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(text));
    number(error)
}

pub(crate) fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

/// Converts a result into a number or a negative `errno`. A panic does not unwind into C.
pub(crate) fn outcome(work: impl FnOnce() -> std::io::Result<usize>) -> isize {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(number)) => isize::try_from(number).unwrap_or(isize::MAX),
        Ok(Err(error)) => failed(&error) as isize,
        Err(_) => failed(&Error::other(
            "internal error of libmartlet_fabric: see the program's standard error",
        )) as isize,
    }
}

/// Like [`outcome`], for functions that return 0.
pub(crate) fn done(work: impl FnOnce() -> std::io::Result<()>) -> c_int {
    outcome(|| work().map(|()| 0)) as c_int
}

/// A text argument.
///
/// # Safety
/// `text` is NULL or NUL-terminated.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> std::io::Result<&'a str> {
    if text.is_null() {
        return Err(invalid(&format!("{what} is NULL")));
    }
    // SAFETY: the caller guarantees it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| invalid(&format!("{what} is not UTF-8")))
}

/// An object argument.
///
/// # Safety
/// `object` is NULL, or was created by this library and is not freed.
pub(crate) unsafe fn object<'a, T>(object: *const T, what: &str) -> std::io::Result<&'a T> {
    // SAFETY: the caller guarantees it.
    unsafe { object.as_ref() }.ok_or_else(|| invalid(&format!("{what} is NULL")))
}

/// Transfers an object to the caller.
///
/// # Safety
/// `target` is NULL or writable.
pub(crate) unsafe fn give<T>(target: *mut *mut T, value: T) -> std::io::Result<()> {
    if target.is_null() {
        return Err(invalid("the result pointer is NULL"));
    }
    // SAFETY: the caller guarantees it.
    unsafe { target.write(Box::into_raw(Box::new(value))) };
    Ok(())
}

/// Takes an object back and drops it.
///
/// # Safety
/// `object` is NULL, or was transferred by `give`, is not freed, and is not in use.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: the caller guarantees it.
        let object = unsafe { Box::from_raw(object) };
        // A panic must not unwind into C.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
    }
}

/// Writes an address as NUL-terminated text.
///
/// # Safety
/// `length` bytes are writable at `buffer`.
pub(crate) unsafe fn write_address(
    address: std::net::SocketAddr,
    buffer: *mut c_char,
    length: usize,
) -> std::io::Result<usize> {
    let text = address.to_string();
    if buffer.is_null() || length <= text.len() {
        let needed = text.len() + 1;
        return Err(invalid(&format!("the buffer is too small: the address needs {needed} bytes")));
    }
    // SAFETY: the buffer has room for the text and a NUL, as checked above; they do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(text.len())
}
