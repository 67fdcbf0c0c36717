//! Connections.
use crate::error::{done, free, invalid, object, outcome, write_address};
use crate::events::{MartletEvents, Slot};
use martlet_fabric::BlockingStream;
use std::ffi::{c_char, c_int, c_void};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::Shutdown;
use std::task::{Context, Poll};

/// A connection: bytes in both directions.
pub struct MartletStream {
    stream: BlockingStream,
    /// Of reading, and of writing.
    slots: [Slot; 2],
}

impl MartletStream {
    pub(crate) fn new(stream: BlockingStream) -> Self {
        MartletStream { stream, slots: Default::default() }
    }
}

/// The bytes to be read into.
///
/// # Safety
/// `length` bytes may be written from `place` on, and nobody else uses them for the time of the
/// call.
unsafe fn place<'a>(place: *mut c_void, length: usize) -> Result<&'a mut [u8]> {
    match (place.is_null(), length) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(invalid("there is no place for the bytes")),
        (false, _) if length > isize::MAX as usize => {
            Err(invalid("so many bytes do not fit into memory"))
        }
        // SAFETY: as the caller promises. The bytes may be without a value yet; they are only
        // written to.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(place.cast(), length) }),
    }
}

/// The bytes to be written.
///
/// # Safety
/// `length` bytes may be read from `bytes` on.
unsafe fn bytes<'a>(bytes: *const c_void, length: usize) -> Result<&'a [u8]> {
    match (bytes.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(invalid("there are no bytes")),
        (false, _) if length > isize::MAX as usize => {
            Err(invalid("so many bytes do not fit into memory"))
        }
        // SAFETY: as the caller promises.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), length) }),
    }
}

/// Reads up to `length` bytes, and waits until there is one at least, or until the deadline for
/// reading. Gives how many; 0 at the end of the stream.
///
/// # Safety
/// `stream` was made by this library; `length` bytes may be written from `to` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_read(
    stream: *const MartletStream,
    to: *mut c_void,
    length: usize,
) -> isize {
    // SAFETY: as the caller promises.
    outcome(|| unsafe { (&object(stream, "stream")?.stream).read(place(to, length)?) })
}

/// Writes up to `length` bytes, and waits until there is room for one at least, or until the
/// deadline for writing. Gives how many.
///
/// # Safety
/// `stream` was made by this library; `length` bytes may be read from `from` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_write(
    stream: *const MartletStream,
    from: *const c_void,
    length: usize,
) -> isize {
    // SAFETY: as the caller promises.
    outcome(|| unsafe { (&object(stream, "stream")?.stream).write(bytes(from, length)?) })
}

/// Reads what is there. `-EAGAIN` where there is nothing: `events` says when to try again. Gives
/// how many bytes; 0 at the end of the stream.
///
/// # Safety
/// `stream` was made by this library, `events` by `martlet_events_new`; `length` bytes may be
/// written from `to` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_try_read(
    stream: *const MartletStream,
    to: *mut c_void,
    length: usize,
    events: *const MartletEvents,
    token: u64,
) -> isize {
    outcome(|| {
        // SAFETY: as the caller promises.
        let (stream, events, place) =
            unsafe { (object(stream, "stream")?, object(events, "events")?, place(to, length)?) };
        let waker = stream.slots[0].waker(events, token);
        ready(stream.stream.connection().poll_read(&mut Context::from_waker(&waker), place))
    })
}

/// Writes what there is room for. `-EAGAIN` where there is none: `events` says when to try again.
/// Gives how many bytes.
///
/// # Safety
/// `stream` was made by this library, `events` by `martlet_events_new`; `length` bytes may be read
/// from `from` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_try_write(
    stream: *const MartletStream,
    from: *const c_void,
    length: usize,
    events: *const MartletEvents,
    token: u64,
) -> isize {
    outcome(|| {
        // SAFETY: as the caller promises.
        let (stream, events, bytes) =
            unsafe { (object(stream, "stream")?, object(events, "events")?, bytes(from, length)?) };
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

/// Lets calls that wait to read (`timeout_ms` from now; no limit where that is negative) give up
/// with `-ETIMEDOUT`, those included that wait at the moment.
///
/// # Safety
/// `stream` was made by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_read_deadline(
    stream: *const MartletStream,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        unsafe { object(stream, "stream")? }.stream.set_read_deadline(crate::deadline(timeout_ms));
        Ok(())
    })
}

/// The same for calls that wait to write.
///
/// # Safety
/// `stream` was made by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_write_deadline(
    stream: *const MartletStream,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        unsafe { object(stream, "stream")? }.stream.set_write_deadline(crate::deadline(timeout_ms));
        Ok(())
    })
}

/// Ends a direction, `how` being SHUT_RD, SHUT_WR or SHUT_RDWR: the other side reads the end of the
/// stream, this side lets go of what comes, or both.
///
/// # Safety
/// `stream` was made by this library.
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
            _ => return Err(invalid("a shutdown is SHUT_RD, SHUT_WR or SHUT_RDWR")),
        };
        // SAFETY: as the caller promises.
        unsafe { object(stream, "stream")? }.stream.shutdown(how)
    })
}

/// Writes this side's address as text into `length` bytes from `to` on, 64 are enough; gives how
/// many it has without the zero byte at its end.
///
/// # Safety
/// `stream` was made by this library; `length` bytes may be written from `to` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_local_address(
    stream: *const MartletStream,
    to: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: as the caller promises.
    outcome(|| unsafe { write_address(object(stream, "stream")?.stream.local_addr(), to, length) })
}

/// The same for the other side's address.
///
/// # Safety
/// `stream` was made by this library; `length` bytes may be written from `to` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_peer_address(
    stream: *const MartletStream,
    to: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: as the caller promises.
    outcome(|| unsafe { write_address(object(stream, "stream")?.stream.peer_addr(), to, length) })
}

/// Lets go of a connection: what was written arrives, and calls that wait end with an error.
///
/// # Safety
/// `stream` was made by this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_close(stream: *const MartletStream) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        unsafe { object(stream, "stream")? }.stream.close();
        Ok(())
    })
}

/// Closes and frees a connection.
///
/// # Safety
/// `stream` is null or was made by this library, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_stream_free(stream: *mut MartletStream) {
    // SAFETY: as the caller promises.
    unsafe { free(stream) }
}
