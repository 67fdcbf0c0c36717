//! Bindings of `libusrsctp` 0.9.5 (BSD licence, `usrsctp.h`), as far as this crate uses them.
//!
//! The library is started without threads of its own and has global state. [`Library`] is the lock
//! around all of it: each call below takes it, so the compiler ensures that only one thread is
//! inside.
mod declarations;

use crate::Options;
use crate::options::milliseconds;
use crate::socket::Read;
use declarations::*;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::size_of;
use std::ptr::{NonNull, null_mut};
use std::sync::Once;

/// Proof that the caller holds the lock around the library. Only [`crate::usrsctp::library`] makes
/// one.
pub(crate) struct Library {
    _private: (),
}

/// The program's callbacks. Both run inside a call of the library, on the thread that holds the
/// library lock.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// A packet is to be sent: SCTP common header first, with inner ports and no checksum yet.
    pub output: fn(packet: &mut [u8]),
    /// Something happened on the socket that was registered with this number.
    pub ready: fn(number: usize),
}

static START: Once = Once::new();
static CALLBACKS: std::sync::OnceLock<Callbacks> = std::sync::OnceLock::new();

extern "C" fn output(
    _addr: *mut c_void,
    packet: *mut c_void,
    len: usize,
    _tos: u8,
    _set_df: u8,
) -> c_int {
    if let (Some(callbacks), false) = (CALLBACKS.get(), packet.is_null()) {
        // SAFETY: usrsctp allocates the packet with `len` bytes for this one call and frees it
        // afterwards (`sctp_lowlevel_chunk_output`, case AF_CONN), so nothing else reads or writes
        // it meanwhile.
        let packet = unsafe { std::slice::from_raw_parts_mut(packet.cast::<u8>(), len) };
        (callbacks.output)(packet);
    }
    // A packet that could not be sent is a lost packet, which SCTP repairs.
    0
}

extern "C" fn upcall(_socket: *mut Socket, number: *mut c_void, _flags: c_int) {
    if let Some(callbacks) = CALLBACKS.get() {
        (callbacks.ready)(number as usize);
    }
}

impl Library {
    /// Makes the proof. The caller keeps it behind one lock for the whole process.
    pub(crate) const fn behind_a_lock() -> Library {
        Library { _private: () }
    }

    /// Starts the library, once for the process.
    pub(crate) fn start(&mut self, callbacks: Callbacks) {
        let _ = CALLBACKS.set(callbacks);
        START.call_once(|| {
            // SAFETY: called once, before any other function of the library; `output` is a function
            // and lives for ever. Port 0 means no UDP encapsulation. The sysctls take any value (an
            // error leaves the default).
            unsafe {
                usrsctp_init_nothreads(0, output, None);
                usrsctp_register_address(the_address());
                // The checksum is ours: the ports are rewritten in both directions.
                usrsctp_enable_crc32c_offload();
                // The raw socket does not carry ECN marks; the rest is of no use between one
                // address each.
                usrsctp_sysctl_set_sctp_ecn_enable(0);
                usrsctp_sysctl_set_sctp_asconf_enable(0);
                usrsctp_sysctl_set_sctp_auto_asconf(0);
                usrsctp_sysctl_set_sctp_auth_enable(0);
                usrsctp_sysctl_set_sctp_reconfig_enable(0);
                usrsctp_sysctl_set_sctp_max_chunks_on_queue(4096);
            }
        });
    }

    /// Processes a received packet: SCTP common header first, with inner ports.
    pub(crate) fn input(&mut self, packet: &[u8]) {
        // SAFETY: the library is started (inner ports exist only then); it copies the packet before
        // it returns.
        unsafe { usrsctp_conninput(the_address(), packet.as_ptr().cast(), packet.len(), 0) }
    }

    /// Time has passed; due timers run.
    pub(crate) fn advance(&mut self, milliseconds: u32) {
        // SAFETY: the library is started (`library` calls this only then), and the lock excludes
        // all other callers.
        unsafe { usrsctp_handle_timers(milliseconds) }
    }
}

/// A socket of the library. It has to be given back with [`Handle::close`], else it leaks.
pub(crate) struct Handle(NonNull<Socket>);

// SAFETY: the library has no thread-local state, and every use of the pointer takes the lock, so
// that uses are ordered by its lock whatever the thread.
unsafe impl Send for Handle {}
// SAFETY: as for `Send`; a shared handle can do nothing without the lock, which is exclusive.
unsafe impl Sync for Handle {}

fn checked(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Handle {
    /// A one-to-one socket, set up by `options`; `mtu` is what fits into one IP packet without the
    /// IP header.
    pub(crate) fn new(_library: &mut Library, options: &Options, mtu: u32) -> io::Result<Handle> {
        // SAFETY: plain values; no callbacks of the receive kind are registered.
        let socket = unsafe {
            usrsctp_socket(
                AF_CONN.into(),
                libc::SOCK_STREAM,
                IPPROTO_SCTP,
                std::ptr::null(),
                std::ptr::null(),
                0,
                null_mut(),
            )
        };
        let handle = Handle(NonNull::new(socket).ok_or_else(io::Error::last_os_error)?);
        match handle.configure(options, mtu) {
            Ok(()) => Ok(handle),
            Err(error) => {
                // SAFETY: the socket was made above and is closed once.
                unsafe { usrsctp_close(handle.0.as_ptr()) };
                Err(error)
            }
        }
    }

    fn set<T>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        let (socket, length) = (self.0.as_ptr(), size_of::<T>() as u32);
        let value = (&raw const *value).cast();
        // SAFETY: the socket is open (close consumes the handle); the library copies `length` bytes
        // from `value`, whose type is the one that the option takes.
        let status = unsafe { usrsctp_setsockopt(socket, level, name, value, length) };
        checked(status)
    }

    fn configure(&self, options: &Options, mtu: u32) -> io::Result<()> {
        // SAFETY: the socket is open.
        checked(unsafe { usrsctp_set_non_blocking(self.0.as_ptr(), 1) })?;
        let ms = milliseconds;
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &(options.send_buffer as c_int))?;
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &(options.receive_buffer as c_int))?;
        // Closing aborts: an orderly end is asked for with `shutdown`.
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        self.set(IPPROTO_SCTP, SCTP_NODELAY, &1u32)?;
        self.set(IPPROTO_SCTP, SCTP_RECVRCVINFO, &1u32)?;
        self.set(
            IPPROTO_SCTP,
            SCTP_INITMSG,
            &InitMsg {
                num_ostreams: options.streams,
                max_instreams: options.max_inbound_streams,
                max_attempts: options.init_attempts,
                max_init_timeo: ms(options.init_timeout).min(u16::MAX.into()) as u16,
            },
        )?;
        self.set(
            IPPROTO_SCTP,
            SCTP_RTOINFO,
            &RtoInfo {
                assoc_id: 0,
                initial: ms(options.rto_initial),
                max: ms(options.rto_max),
                min: ms(options.rto_min),
            },
        )?;
        self.set(
            IPPROTO_SCTP,
            SCTP_ASSOCINFO,
            &AssocParams {
                assoc_id: 0,
                peer_rwnd: 0,
                local_rwnd: 0,
                cookie_life: 0,
                asocmaxrxt: options.path_max_retransmissions,
                number_peer_destinations: 0,
            },
        )?;
        self.set(
            IPPROTO_SCTP,
            SCTP_DELAYED_SACK,
            &SackInfo { assoc_id: 0, delay: ms(options.sack_delay).max(1), freq: 2 },
        )?;
        self.path_parameters(SPP_HB_ENABLE | SPP_PMTUD_DISABLE, options, mtu)?;
        self.set(IPPROTO_SCTP, SCTP_EVENT, &Event { assoc_id: 0, kind: SCTP_ASSOC_CHANGE, on: 1 })
    }

    fn path_parameters(&self, flags: u32, options: &Options, mtu: u32) -> io::Result<()> {
        self.set(
            IPPROTO_SCTP,
            SCTP_PEER_ADDR_PARAMS,
            &PaddrParams {
                // All addresses of the peer.
                address: Storage { address: SockaddrConn::any(0), rest: [0; _] },
                assoc_id: 0,
                hbinterval: milliseconds(options.heartbeat),
                // The library adds the common header itself.
                pathmtu: mtu.saturating_sub(12).max(512),
                flags,
                ipv6_flowlabel: 0,
                pathmaxrxt: options.path_max_retransmissions,
                dscp: 0,
            },
        )
    }

    /// Sets what fits into one IP packet without the IP header, once the peer is known.
    pub(crate) fn set_mtu(
        &self,
        _library: &mut Library,
        options: &Options,
        mtu: u32,
    ) -> io::Result<()> {
        self.path_parameters(SPP_PMTUD_DISABLE, options, mtu)
    }

    /// Has [`Callbacks::ready`] called with `number` when something happens.
    pub(crate) fn watch(&self, _library: &mut Library, number: usize) -> io::Result<()> {
        // SAFETY: the socket is open; the argument is a number, which is not dereferenced.
        checked(unsafe { usrsctp_set_upcall(self.0.as_ptr(), upcall, number as *mut c_void) })
    }

    /// Whether it can be read and written.
    pub(crate) fn events(&self, _library: &mut Library) -> (bool, bool) {
        // SAFETY: the socket is open.
        let events = unsafe { usrsctp_get_events(self.0.as_ptr()) };
        (events & 0x5 != 0, events & 0x6 != 0)
    }

    /// Binds to an inner port.
    pub(crate) fn bind(&self, _library: &mut Library, port: u16) -> io::Result<()> {
        let mut name = SockaddrConn::any(port);
        // SAFETY: the socket is open; the name is copied.
        checked(unsafe {
            usrsctp_bind(self.0.as_ptr(), &mut name, size_of::<SockaddrConn>() as u32)
        })
    }

    /// Accepts associations from now on.
    pub(crate) fn listen(&self, _library: &mut Library, backlog: u16) -> io::Result<()> {
        // SAFETY: the socket is open.
        checked(unsafe { usrsctp_listen(self.0.as_ptr(), backlog.into()) })
    }

    /// The next association with the peer's inner port; `WouldBlock` if there is none.
    pub(crate) fn accept(&self, _library: &mut Library) -> io::Result<(Handle, u16)> {
        let mut name = SockaddrConn::any(0);
        let mut len = size_of::<SockaddrConn>() as u32;
        // SAFETY: the socket is open; at most `len` bytes are written to the name.
        let socket = unsafe { usrsctp_accept(self.0.as_ptr(), &mut name, &mut len) };
        let handle = Handle(NonNull::new(socket).ok_or_else(io::Error::last_os_error)?);
        Ok((handle, u16::from_be(name.port)))
    }

    /// Begins to set up an association with the peer of that inner port; how it ends is read as
    /// [`Read::Change`].
    pub(crate) fn connect(&self, _library: &mut Library, port: u16) -> io::Result<()> {
        let mut name = SockaddrConn::the_one(port);
        // SAFETY: the socket is open; the name is copied.
        let result = unsafe {
            usrsctp_connect(self.0.as_ptr(), &mut name, size_of::<SockaddrConn>() as u32)
        };
        match checked(result) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other,
        }
    }

    /// Queues a whole message and sends what the windows allow; `WouldBlock` if it does not fit the
    /// buffer now.
    pub(crate) fn send(
        &self,
        _library: &mut Library,
        stream: u16,
        ppid: u32,
        data: &[u8],
    ) -> io::Result<()> {
        self.sendv(
            data,
            &mut SndInfo { sid: stream, flags: 0, ppid: ppid.to_be(), context: 0, assoc_id: 0 },
        )
    }

    /// Sends ABORT with the cause "user-initiated" and ends the association.
    pub(crate) fn abort(&self, _library: &mut Library) {
        // An association that has ended needs none.
        let _ = self.sendv(
            &[],
            &mut SndInfo { sid: 0, flags: SCTP_ABORT, ppid: 0, context: 0, assoc_id: 0 },
        );
    }

    fn sendv(&self, data: &[u8], info: &mut SndInfo) -> io::Result<()> {
        // SAFETY: the socket is open; the data are copied into the library's buffers before the
        // call returns, and `info` is of the type that its kind says.
        let sent = unsafe {
            usrsctp_sendv(
                self.0.as_ptr(),
                data.as_ptr().cast(),
                data.len(),
                null_mut(),
                0,
                (&raw mut *info).cast(),
                size_of::<SndInfo>() as u32,
                SCTP_SENDV_SNDINFO,
                0,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reads an event, or a part of a message into `buffer`; `WouldBlock` if there is nothing.
    pub(crate) fn read<'b>(
        &self,
        _library: &mut Library,
        buffer: &'b mut [u8],
    ) -> io::Result<(Read, &'b [u8])> {
        let mut info = RcvInfo::default();
        let mut info_len = size_of::<RcvInfo>() as u32;
        let mut info_kind: c_uint = 0;
        let mut flags: c_int = 0;
        let mut from = SockaddrConn::any(0);
        let mut from_len = size_of::<SockaddrConn>() as u32;
        // SAFETY: the socket is open; at most the given lengths are written to the buffer and the
        // structures.
        let len = unsafe {
            usrsctp_recvv(
                self.0.as_ptr(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                (&raw mut from).cast(),
                &mut from_len,
                (&raw mut info).cast(),
                &mut info_len,
                &mut info_kind,
                &mut flags,
            )
        };
        let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
        let data = buffer.get(..len).unwrap_or_default();
        if flags & MSG_NOTIFICATION != 0 {
            return Ok((notification(data), &[]));
        }
        if len == 0 {
            return Ok((Read::Eof, &[]));
        }
        if info_kind != SCTP_RECVV_RCVINFO {
            return Ok((Read::Other, &[]));
        }
        Ok((
            Read::Data {
                stream: info.sid,
                ppid: u32::from_be(info.ppid),
                end: flags & MSG_EOR != 0,
            },
            data,
        ))
    }

    /// Outbound and inbound streams agreed on.
    pub(crate) fn streams(&self, library: &mut Library) -> io::Result<(u16, u16)> {
        let status = self.status(library)?;
        Ok((status.outstrms, status.instrms))
    }

    /// DATA chunks that were sent, and not acknowledged by the peer.
    pub(crate) fn unacknowledged(&self, library: &mut Library) -> io::Result<u16> {
        Ok(self.status(library)?.unackdata)
    }

    fn status(&self, _library: &mut Library) -> io::Result<Status> {
        // SAFETY: plain numbers and bytes; all zero is a value.
        let mut status: Status = unsafe { std::mem::zeroed() };
        let mut len = size_of::<Status>() as u32;
        // SAFETY: the socket is open; at most `len` bytes are written to the structure of the
        // option's type.
        checked(unsafe {
            usrsctp_getsockopt(
                self.0.as_ptr(),
                IPPROTO_SCTP,
                SCTP_STATUS,
                (&raw mut status).cast(),
                &mut len,
            )
        })?;
        Ok(status)
    }

    /// Sends what is queued, then SHUTDOWN.
    pub(crate) fn shutdown(&self, _library: &mut Library) -> io::Result<()> {
        // SAFETY: the socket is open.
        checked(unsafe { usrsctp_shutdown(self.0.as_ptr(), libc::SHUT_WR) })
    }

    /// Closes the socket. An association that still exists is aborted.
    pub(crate) fn close(self, _library: &mut Library) {
        // SAFETY: the socket is open and, since this consumes the only handle, is closed once. The
        // library keeps it alive while it needs it; a late upcall carries a number only.
        unsafe { usrsctp_close(self.0.as_ptr()) }
    }
}

/// The content of an event. `struct sctp_assoc_change` is in host byte order.
fn notification(data: &[u8]) -> Read {
    let half = |at: usize| match data.get(at..at + 2) {
        Some(&[a, b]) => u16::from_ne_bytes([a, b]),
        _ => 0,
    };
    if data.len() < ASSOC_CHANGE_LEN || half(0) != SCTP_ASSOC_CHANGE {
        return Read::Other;
    }
    let (state, error, streams) = (half(8), half(10), half(12));
    match state {
        1 => Read::Up { streams },
        2 => Read::Lost { cause: error },
        3 => Read::Restart { streams },
        4 => Read::Shutdown,
        5 => Read::CannotStart,
        _ => Read::Other,
    }
}
