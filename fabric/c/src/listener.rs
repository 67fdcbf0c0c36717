//! Listeners.
use crate::error::{done, free, give, object, outcome, write_address};
use crate::events::{MartletEvents, Slot};
use crate::stream::MartletStream;
use martlet_fabric::BlockingListener;
use std::ffi::{c_char, c_int};
use std::io::ErrorKind;
use std::task::{Context, Poll};

/// Takes connections at an address.
pub struct MartletListener {
    listener: BlockingListener,
    slot: Slot,
}

impl MartletListener {
    pub(crate) fn new(listener: BlockingListener) -> Self {
        MartletListener { listener, slot: Slot::default() }
    }
}

/// Writes the listener's address as text into `length` bytes from `place` on, 64 are enough; gives
/// how many it has without the zero byte at its end.
///
/// # Safety
/// `listener` was made by `martlet_fabric_listen`; `length` bytes may be written from `place` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_address(
    listener: *const MartletListener,
    place: *mut c_char,
    length: usize,
) -> isize {
    // SAFETY: as the caller promises.
    outcome(|| unsafe {
        write_address(object(listener, "listener")?.listener.local_addr(), place, length)
    })
}

/// Waits up to `timeout_ms` (for ever where that is negative) for the next connection. `-ENOTCONN`
/// once the listener is closed. To be freed with `martlet_stream_free`.
///
/// # Safety
/// `listener` was made by `martlet_fabric_listen`; `stream` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_accept(
    listener: *const MartletListener,
    timeout_ms: i64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let listener = &unsafe { object(listener, "listener")? }.listener;
        let accepted = listener.accept(crate::deadline(timeout_ms))?;
        // SAFETY: as the caller promises.
        unsafe { give(stream, MartletStream::new(accepted)) }
    })
}

/// Takes the next connection if there is one. `-EAGAIN` where there is none: `events` says when to
/// try again.
///
/// # Safety
/// `listener` was made by `martlet_fabric_listen`, `events` by `martlet_events_new`; `stream` may
/// be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_try_accept(
    listener: *const MartletListener,
    events: *const MartletEvents,
    token: u64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let (listener, events) =
            unsafe { (object(listener, "listener")?, object(events, "events")?) };
        let waker = listener.slot.waker(events, token);
        match listener.listener.poll_accept(&mut Context::from_waker(&waker)) {
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            // SAFETY: as the caller promises.
            Poll::Ready(accepted) => unsafe { give(stream, MartletStream::new(accepted?)) },
        }
    })
}

/// Takes no more connections; calls that wait for one end with `-ENOTCONN`.
///
/// # Safety
/// `listener` was made by `martlet_fabric_listen`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_close(listener: *const MartletListener) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        unsafe { object(listener, "listener")? }.listener.close();
        Ok(())
    })
}

/// Closes and frees a listener.
///
/// # Safety
/// `listener` is null or was made by `martlet_fabric_listen`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_listener_free(listener: *mut MartletListener) {
    // SAFETY: as the caller promises.
    unsafe { free(listener) }
}
