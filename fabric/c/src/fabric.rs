//! A process's membership in the fabric, and connections that are being opened.
use crate::error::{done, free, give, invalid, object, text};
use crate::events::{MartletEvents, Slot};
use crate::listener::MartletListener;
use crate::stream::MartletStream;
use martlet_fabric::{BlockingFabric, Dial, MembershipState, ProcessLimits, default_socket};
use std::ffi::{c_char, c_int};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::task::{Context, Poll};

/// A process's membership in the fabric of its machine.
pub struct MartletFabric {
    pub(crate) fabric: BlockingFabric,
}

/// A connection that is being opened without blocking.
pub struct MartletDial {
    dial: Mutex<Option<Dial>>,
    slot: Slot,
}

/// The version of the library, such as "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn martlet_fabric_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Enables log output to standard error, from a level such as "debug" or "warn" on. Only the first
/// call has an effect. By default the library logs nothing.
///
/// # Safety
/// `level` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_log(level: *const c_char) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let level = unsafe { text(level, "level")? };
        let filter = tracing_subscriber::EnvFilter::try_new(level)
            .map_err(|e| invalid(&format!("level: {e}")))?;
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .try_init();
        Ok(())
    })
}

/// Starts to take part in the fabric. `name` is a display name; `socket` is the path of the
/// manager's socket, or NULL for the default. It is not an error if the manager is not running: the
/// process joins as soon as it is, and again after a restart. Free it with `martlet_fabric_free`.
///
/// # Safety
/// The texts are NUL-terminated; `fabric` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_start(
    name: *const c_char,
    socket: *const c_char,
    fabric: *mut *mut MartletFabric,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let name = unsafe { text(name, "name")? };
        let socket = match socket.is_null() {
            true => default_socket(),
            // SAFETY: the caller guarantees it.
            false => unsafe { text(socket, "socket")? }.into(),
        };
        let started = BlockingFabric::start(name, socket, ProcessLimits::default())?;
        // SAFETY: the caller guarantees it.
        unsafe { give(fabric, MartletFabric { fabric: started }) }
    })
}

/// Waits up to `timeout_ms` (without limit if negative) until the process has joined. `-EACCES` if
/// the manager refused it, `-ETIMEDOUT` after the timeout.
///
/// # Safety
/// `fabric` was created by `martlet_fabric_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_joined(
    fabric: *const MartletFabric,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let fabric = &unsafe { object(fabric, "fabric")? }.fabric;
        let state =
            fabric.joined(crate::deadline(timeout_ms)).map_err(|error| match fabric.state() {
                MembershipState::Disconnected(reason) => {
                    Error::new(error.kind(), format!("fabric manager unreachable: {reason}"))
                }
                _ => error,
            })?;
        match state {
            MembershipState::Refused(reason) => {
                Err(Error::new(ErrorKind::PermissionDenied, reason))
            }
            _ => Ok(()),
        }
    })
}

/// Frees the handle. The process leaves the fabric when all its listeners and streams are freed
/// too.
///
/// # Safety
/// `fabric` is NULL, or was created by `martlet_fabric_start` and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_free(fabric: *mut MartletFabric) {
    // SAFETY: the caller guarantees it.
    unsafe { free(fabric) }
}

fn address(text: &str) -> Result<SocketAddr> {
    text.parse().map_err(|_| {
        invalid(&format!("invalid address {text:?}: use e.g. 127.0.0.1:80 or [::1]:80"))
    })
}

/// Opens a listener at an address such as `127.0.0.1:80` or `[::1]:80`; port 0 selects a free port.
/// `-EADDRINUSE` if another listener of the security domain has the address. Free it with
/// `martlet_listener_free`.
///
/// # Safety
/// `fabric` was created by `martlet_fabric_start`; `at` is NUL-terminated; `listener` is
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_listen(
    fabric: *const MartletFabric,
    at: *const c_char,
    listener: *mut *mut MartletListener,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let (fabric, at) = unsafe { (object(fabric, "fabric")?, text(at, "the address")?) };
        let bound = fabric.fabric.listen(address(at)?)?;
        // SAFETY: the caller guarantees it.
        unsafe { give(listener, MartletListener::new(bound)) }
    })
}

/// Opens a connection to an address, within `timeout_ms` (without limit if negative).
/// `-ECONNREFUSED` if no process of the fabric listens there; TCP may reach the address then. Free
/// it with `martlet_stream_free`.
///
/// # Safety
/// `fabric` was created by `martlet_fabric_start`; `to` is NUL-terminated; `stream` is
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_connect(
    fabric: *const MartletFabric,
    to: *const c_char,
    timeout_ms: i64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let (fabric, to) = unsafe { (object(fabric, "fabric")?, text(to, "the address")?) };
        let connected = fabric.fabric.connect(address(to)?, crate::deadline(timeout_ms))?;
        // SAFETY: the caller guarantees it.
        unsafe { give(stream, MartletStream::new(connected)) }
    })
}

/// Starts to open a connection; `martlet_dial_try` continues it. Free it with `martlet_dial_free`,
/// which cancels an unfinished connection.
///
/// # Safety
/// `fabric` was created by `martlet_fabric_start`; `to` is NUL-terminated; `dial` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_dial(
    fabric: *const MartletFabric,
    to: *const c_char,
    dial: *mut *mut MartletDial,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let (fabric, to) = unsafe { (object(fabric, "fabric")?, text(to, "the address")?) };
        let begun = fabric.fabric.dial(address(to)?);
        // SAFETY: the caller guarantees it.
        unsafe { give(dial, MartletDial { dial: Mutex::new(Some(begun)), slot: Slot::default() }) }
    })
}

/// Continues to open a connection. `-EAGAIN` if it is not open yet: `events` reports `token` when
/// to try again.
///
/// # Safety
/// `dial` was created by `martlet_fabric_dial`, `events` by `martlet_events_new`; `stream` is
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_dial_try(
    dial: *const MartletDial,
    events: *const MartletEvents,
    token: u64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let (dial, events) = unsafe { (object(dial, "dial")?, object(events, "events")?) };
        let waker = dial.slot.waker(events, token);
        let mut pending = dial.dial.lock().unwrap_or_else(|e| e.into_inner());
        let Some(begun) = pending.as_mut() else {
            return Err(invalid("the connection is open already, or has failed"));
        };
        match begun.poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            Poll::Ready(connected) => {
                *pending = None;
                // SAFETY: the caller guarantees it.
                unsafe { give(stream, MartletStream::new(connected?)) }
            }
        }
    })
}

/// Frees a connection that is being opened.
///
/// # Safety
/// `dial` is NULL, or was created by `martlet_fabric_dial` and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_dial_free(dial: *mut MartletDial) {
    // SAFETY: the caller guarantees it.
    unsafe { free(dial) }
}
