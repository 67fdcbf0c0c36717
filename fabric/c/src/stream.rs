//! Connections.
use crate::error::{done, free, invalid, object, outcome, write_address};
use crate::events::{MartletEvents, Slot};
use martlet_fabric::BlockingStream;
use std::ffi::{c_char, c_int, c_void};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::Shutdown;
use std::task::{Context, Poll};

/// A connection: a byte stream in both directions.
pub struct MartletStream {
    stream: BlockingStream,
    /// For reading and for writing.
    slots: [Slot; 2],
}

impl MartletStream {
    pub(crate) fn new(stream: BlockingStream) -> Self {
        MartletStream { stream, slots: Default::default() }
    }
}

/// The buffer to read into.
///
/// # Safety
/// `length` bytes are writable at `buffer`, and nothing else accesses them during the call.
unsafe fn buffer_mut<'a>(buffer: *mut c_void, length: usize) -> Result<&'a mut [u8]> {
    match (buffer.is_null(), length) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(invalid("the buffer is NULL")),
        (false, _) if length > isize::MAX as usize => {
            Err(invalid("length exceeds the address space"))
        }
        // SAFETY: the caller guarantees it. The bytes may be uninitialised; they are only written.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(buffer.cast(), length) }),
    }
}

/// The buffer to write from.
///
/// # Safety
/// `length` bytes are readable at `bytes`.
unsafe fn buffer<'a>(bytes: *const c_void, length: usize) -> Result<&'a [u8]> {
    match (bytes.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(invalid("the buffer is NULL")),
        (false, _) if length > isize::MAX as usize => {
            Err(invalid("length exceeds the address space"))
        }
        // SAFETY: the caller guarantees it.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), length) }),
    }
}

/// Reads up to `length` bytes. Waits for at least one, until the read deadline. Returns the number
/// of bytes; 0 at the end of the stream.
///
/// # Safety
/// `stream` was created by this library; `length` bytes are writable at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_read(
    stream: *const MartletStream,
    to: *mut c_void,
    length: usize,
) -> isize {
    // SAFETY: the caller guarantees it.
    outcome(|| unsafe { (&object(stream, "stream")?.stream).read(buffer_mut(to, length)?) })
}

/// Writes up to `length` bytes. Waits for room for at least one, until the write deadline. Returns
/// the number of bytes.
///
/// # Safety
/// `stream` was created by this library; `length` bytes are readable at `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_write(
    stream: *const MartletStream,
    from: *const c_void,
    length: usize,
) -> isize {
    // SAFETY: the caller guarantees it.
    outcome(|| unsafe { (&object(stream, "stream")?.stream).write(buffer(from, length)?) })
}

/// Reads without blocking. Returns the number of bytes; 0 at the end of the stream; `-EAGAIN` if
/// there is no data: `events` reports `token` when to try again.
///
/// # Safety
/// `stream` was created by this library, `events` by `martlet_events_new`; `length` bytes are
/// writable at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_try_read(
    stream: *const MartletStream,
    to: *mut c_void,
    length: usize,
    events: *const MartletEvents,
    token: u64,
) -> isize {
    outcome(|| {
        // SAFETY: the caller guarantees it.
        let (stream, events, target) = unsafe {
            (object(stream, "stream")?, object(events, "events")?, buffer_mut(to, length)?)
        };
        let waker = stream.slots[0].waker(events, token);
        ready(stream.stream.connection().poll_read(&mut Context::from_waker(&waker), target))
    })
}

/// Writes without blocking. Returns the number of bytes; `-EAGAIN` if there is no room: `events`
/// reports `token` when to try again.
///
/// # Safety
/// `stream` was created by this library, `events` by `martlet_events_new`; `length` bytes are
/// readable at `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_try_write(
    stream: *const MartletStream,
    from: *const c_void,
    length: usize,
    events: *const MartletEvents,
    token: u64,
) -> isize {
    outcome(|| {
        // SAFETY: the caller guarantees it.
        let (stream, events, bytes) = unsafe {
            (object(stream, "stream")?, object(events, "events")?, buffer(from, length)?)
        };
        let waker = stream.slots[1].waker(events, token);
        ready(stream.stream.connection().poll_write(&mut Context::from_waker(&waker), bytes))
    })
}

fn ready(poll: Poll<Result<usize>>) -> Result<usize> {
    match poll {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(ErrorKind::WouldBlock.into()),
    }
}

/// Sets the read deadline to `timeout_ms` from now; a negative value removes it. Reads, including
/// waiting ones, then fail with `-ETIMEDOUT`.
///
/// # Safety
/// `stream` was created by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_read_deadline(
    stream: *const MartletStream,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        unsafe { object(stream, "stream")? }.stream.set_read_deadline(crate::deadline(timeout_ms));
        Ok(())
    })
}

/// Sets the write deadline, like `martlet_stream_read_deadline`.
///
/// # Safety
/// `stream` was created by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_write_deadline(
    stream: *const MartletStream,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        unsafe { object(stream, "stream")? }.stream.set_write_deadline(crate::deadline(timeout_ms));
        Ok(())
    })
}

/// Closes one or both directions; `how` is SHUT_RD, SHUT_WR or SHUT_RDWR. After SHUT_WR the peer
/// reads the end of the stream; after SHUT_RD received data is discarded.
///
/// # Safety
/// `stream` was created by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_shutdown(
    stream: *const MartletStream,
    how: c_int,
) -> c_int {
    done(|| {
        let how = match how {
            libc::SHUT_RD => Shutdown::Read,
            libc::SHUT_WR => Shutdown::Write,
            libc::SHUT_RDWR => Shutdown::Both,
            _ => return Err(invalid("how must be SHUT_RD, SHUT_WR or SHUT_RDWR")),
        };
        // SAFETY: the caller guarantees it.
        unsafe { object(stream, "stream")? }.stream.shutdown(how)
    })
}

/// Writes this side's address as NUL-terminated text into a buffer of `length` bytes; 64 are
/// enough. Returns the length without the NUL.
///
/// # Safety
/// `stream` was created by this library; `length` bytes are writable at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_local_address(
    stream: *const MartletStream,
    to: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: the caller guarantees it.
    outcome(|| unsafe { write_address(object(stream, "stream")?.stream.local_addr(), to, length) })
}

/// Writes the peer's address, like `martlet_stream_local_address`.
///
/// # Safety
/// `stream` was created by this library; `length` bytes are writable at `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_peer_address(
    stream: *const MartletStream,
    to: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: the caller guarantees it.
    outcome(|| unsafe { write_address(object(stream, "stream")?.stream.peer_addr(), to, length) })
}

/// Closes a connection. Written data still arrives; waiting calls fail.
///
/// # Safety
/// `stream` was created by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_close(stream: *const MartletStream) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        unsafe { object(stream, "stream")? }.stream.close();
        Ok(())
    })
}

/// Closes and frees a connection.
///
/// # Safety
/// `stream` is NULL, or was created by this library and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_free(stream: *mut MartletStream) {
    // SAFETY: the caller guarantees it.
    unsafe { free(stream) }
}
