//! Listeners.
use crate::error::{done, free, give, object, outcome, write_address};
use crate::events::{MartletEvents, Slot};
use crate::stream::MartletStream;
use martlet_fabric::BlockingListener;
use std::ffi::{c_char, c_int};
use std::io::ErrorKind;
use std::task::{Context, Poll};

/// Accepts connections at an address.
pub struct MartletListener {
    listener: BlockingListener,
    slot: Slot,
}

impl MartletListener {
    pub(crate) fn new(listener: BlockingListener) -> Self {
        MartletListener { listener, slot: Slot::default() }
    }
}

/// Writes the listener's address as NUL-terminated text into a buffer of `length` bytes; 64 are
/// enough. Returns the length without the NUL.
///
/// # Safety
/// `listener` was created by `martlet_fabric_listen`; `length` bytes are writable at `buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_address(
    listener: *const MartletListener,
    buffer: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: the caller guarantees it.
    outcome(|| unsafe {
        write_address(object(listener, "listener")?.listener.local_addr(), buffer, length)
    })
}

/// Waits up to `timeout_ms` (without limit if negative) for the next connection. `-ENOTCONN` once
/// the listener is closed. Free the connection with `martlet_stream_free`.
///
/// # Safety
/// `listener` was created by `martlet_fabric_listen`; `stream` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_accept(
    listener: *const MartletListener,
    timeout_ms: i64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let listener = &unsafe { object(listener, "listener")? }.listener;
        let accepted = listener.accept(crate::deadline(timeout_ms))?;
        // SAFETY: the caller guarantees it.
        unsafe { give(stream, MartletStream::new(accepted)) }
    })
}

/// Accepts the next connection without blocking. `-EAGAIN` if there is none: `events` reports
/// `token` when to try again.
///
/// # Safety
/// `listener` was created by `martlet_fabric_listen`, `events` by `martlet_events_new`; `stream` is
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_try_accept(
    listener: *const MartletListener,
    events: *const MartletEvents,
    token: u64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let (listener, events) =
            unsafe { (object(listener, "listener")?, object(events, "events")?) };
        let waker = listener.slot.waker(events, token);
        match listener.listener.poll_accept(&mut Context::from_waker(&waker)) {
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            // SAFETY: the caller guarantees it.
            Poll::Ready(accepted) => unsafe { give(stream, MartletStream::new(accepted?)) },
        }
    })
}

/// Closes the listener. Waiting calls fail with `-ENOTCONN`.
///
/// # Safety
/// `listener` was created by `martlet_fabric_listen`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_close(listener: *const MartletListener) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        unsafe { object(listener, "listener")? }.listener.close();
        Ok(())
    })
}

/// Closes and frees a listener.
///
/// # Safety
/// `listener` is NULL, or was created by `martlet_fabric_listen` and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_free(listener: *mut MartletListener) {
    // SAFETY: the caller guarantees it.
    unsafe { free(listener) }
}
