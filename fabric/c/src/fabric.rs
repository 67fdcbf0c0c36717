//! A process's part in the fabric, and connections that are being made.
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

/// A process's part in the fabric of its machine.
pub struct MartletFabric {
    pub(crate) fabric: BlockingFabric,
}

/// A connection that is being made, for programs that do not want to block.
pub struct MartletDial {
    dial: Mutex<Option<Dial>>,
    slot: Slot,
}

/// Version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn martlet_fabric_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Writes what the library has to say to standard error, from a level on such as "debug" or "warn";
/// only the first call does something. Without it the library is silent.
///
/// # Safety
/// `level` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_log(level: *const c_char) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
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

/// Takes part in the fabric from now on. `name` is for people; `socket` is the manager's, or NULL
/// for the usual one. It is no error if there is no manager yet: the process joins as soon as there
/// is one, and again after that one ended. To be freed with `martlet_fabric_free`.
///
/// # Safety
/// The texts end with a zero byte; `fabric` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_start(
    name: *const c_char,
    socket: *const c_char,
    fabric: *mut *mut MartletFabric,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let name = unsafe { text(name, "name")? };
        let socket = match socket.is_null() {
            true => default_socket(),
            // SAFETY: as the caller promises.
            false => unsafe { text(socket, "socket")? }.into(),
        };
        let started = BlockingFabric::start(name, socket, ProcessLimits::default())?;
        // SAFETY: as the caller promises.
        unsafe { give(fabric, MartletFabric { fabric: started }) }
    })
}

/// Waits up to `timeout_ms` (for ever where that is negative) until the process has joined.
/// `-EACCES` where the manager does not want it, `-ETIMEDOUT` where there is none in time.
///
/// # Safety
/// `fabric` was made by `martlet_fabric_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_joined(
    fabric: *const MartletFabric,
    timeout_ms: i64,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let fabric = &unsafe { object(fabric, "fabric")? }.fabric;
        let state =
            fabric.joined(crate::deadline(timeout_ms)).map_err(|error| match fabric.state() {
                MembershipState::Disconnected(reason) => {
                    Error::new(error.kind(), format!("no manager of the fabric: {reason}"))
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

/// Leaves the fabric when the last listener and stream that were made with it are freed as well.
///
/// # Safety
/// `fabric` is null or was made by `martlet_fabric_start`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_free(fabric: *mut MartletFabric) {
    // SAFETY: as the caller promises.
    unsafe { free(fabric) }
}

fn address(text: &str) -> Result<SocketAddr> {
    text.parse()
        .map_err(|_| invalid(&format!("{text:?} is no address such as 127.0.0.1:80 or [::1]:80")))
}

/// Listens at an address such as "127.0.0.1:80" or "[::1]:80"; port 0 becomes a free one.
/// `-EADDRINUSE` where another process of the security domain does. To be freed with
/// `martlet_listener_free`.
///
/// # Safety
/// `fabric` was made by `martlet_fabric_start`; `at` ends with a zero byte; `listener` may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_listen(
    fabric: *const MartletFabric,
    at: *const c_char,
    listener: *mut *mut MartletListener,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let (fabric, at) = unsafe { (object(fabric, "fabric")?, text(at, "the address")?) };
        let bound = fabric.fabric.listen(address(at)?)?;
        // SAFETY: as the caller promises.
        unsafe { give(listener, MartletListener::new(bound)) }
    })
}

/// Connects to who listens at an address, within `timeout_ms` (without a limit where that is
/// negative). `-ECONNREFUSED` where nobody of the fabric does: perhaps somebody does over TCP. To
/// be freed with `martlet_stream_free`.
///
/// # Safety
/// `fabric` was made by `martlet_fabric_start`; `to` ends with a zero byte; `stream` may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_connect(
    fabric: *const MartletFabric,
    to: *const c_char,
    timeout_ms: i64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let (fabric, to) = unsafe { (object(fabric, "fabric")?, text(to, "the address")?) };
        let connected = fabric.fabric.connect(address(to)?, crate::deadline(timeout_ms))?;
        // SAFETY: as the caller promises.
        unsafe { give(stream, MartletStream::new(connected)) }
    })
}

/// Begins to connect. Goes on with `martlet_dial_try`. To be freed with `martlet_dial_free`, which
/// gives up what is not connected yet.
///
/// # Safety
/// `fabric` was made by `martlet_fabric_start`; `to` ends with a zero byte; `dial` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_fabric_dial(
    fabric: *const MartletFabric,
    to: *const c_char,
    dial: *mut *mut MartletDial,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let (fabric, to) = unsafe { (object(fabric, "fabric")?, text(to, "the address")?) };
        let begun = fabric.fabric.dial(address(to)?);
        // SAFETY: as the caller promises.
        unsafe { give(dial, MartletDial { dial: Mutex::new(Some(begun)), slot: Slot::default() }) }
    })
}

/// Goes on with a connection that is being made. `-EAGAIN` where it is not there yet: `events` says
/// when to try again.
///
/// # Safety
/// `dial` was made by `martlet_fabric_dial`, `events` by `martlet_events_new`; `stream` may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_dial_try(
    dial: *const MartletDial,
    events: *const MartletEvents,
    token: u64,
    stream: *mut *mut MartletStream,
) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let (dial, events) = unsafe { (object(dial, "dial")?, object(events, "events")?) };
        let waker = dial.slot.waker(events, token);
        let mut kept = dial.dial.lock().unwrap_or_else(|e| e.into_inner());
        let Some(begun) = kept.as_mut() else {
            return Err(invalid("this connection was made already, or failed"));
        };
        match begun.poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            Poll::Ready(connected) => {
                *kept = None;
                // SAFETY: as the caller promises.
                unsafe { give(stream, MartletStream::new(connected?)) }
            }
        }
    })
}

/// Frees a connection that was being made.
///
/// # Safety
/// `dial` is null or was made by `martlet_fabric_dial`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_dial_free(dial: *mut MartletDial) {
    // SAFETY: as the caller promises.
    unsafe { free(dial) }
}
