//! The kernel's SCTP sockets (RFC 6458, `linux/sctp.h`): options, messages and events.
use super::sys::{self, Control, Name, add_control, each_control};
use crate::options::milliseconds;
use crate::socket::Read;
use crate::{IPPROTO_SCTP, Options};
use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

const SCTP_RTOINFO: i32 = 0;
const SCTP_ASSOCINFO: i32 = 1;
const SCTP_INITMSG: i32 = 2;
const SCTP_NODELAY: i32 = 3;
const SCTP_PEER_ADDR_PARAMS: i32 = 9;
const SCTP_EVENTS: i32 = 11;
const SCTP_STATUS: i32 = 14;
const SCTP_DELAYED_SACK: i32 = 16;
const SCTP_RECVRCVINFO: i32 = 32;
const SCTP_SOCKOPT_BINDX_ADD: i32 = 100;
/// Types of ancillary data.
const SCTP_SNDINFO: i32 = 2;
const SCTP_RCVINFO: i32 = 3;
const MSG_NOTIFICATION: i32 = 0x8000;
const SPP_HB_ENABLE: u32 = 1;
const SCTP_ASSOC_CHANGE: u16 = 0x8001;
/// `struct sctp_assoc_change` without its trailing `sac_info`.
const ASSOC_CHANGE_LEN: usize = 20;

#[repr(C)]
struct InitMsg {
    num_ostreams: u16,
    max_instreams: u16,
    max_attempts: u16,
    max_init_timeo: u16,
}
#[repr(C)]
struct RtoInfo {
    assoc_id: i32,
    initial: u32,
    max: u32,
    min: u32,
}
#[repr(C)]
struct AssocParams {
    assoc_id: i32,
    asocmaxrxt: u16,
    number_peer_destinations: u16,
    peer_rwnd: u32,
    local_rwnd: u32,
    cookie_life: u32,
}
/// Packed, and aligned to 4, in the kernel's header: the fields have no gaps, so those that are not
/// aligned are byte arrays; the end is padded.
#[repr(C)]
struct PaddrParams {
    assoc_id: i32,
    address: [u8; 128],
    hbinterval: u32,
    pathmaxrxt: [u8; 2],
    pathmtu: [u8; 4],
    sackdelay: [u8; 4],
    flags: [u8; 4],
    ipv6_flowlabel: [u8; 4],
    dscp: u8,
    fill: u8,
}
#[repr(C)]
struct SackInfo {
    assoc_id: i32,
    delay: u32,
    freq: u32,
}
#[repr(C)]
struct SndInfo {
    sid: u16,
    flags: u16,
    ppid: u32,
    context: u32,
    assoc_id: i32,
}
/// The begin of `struct sctp_status`, and room for the rest.
#[repr(C)]
struct Status {
    assoc_id: i32,
    state: i32,
    rwnd: u32,
    unackdata: u16,
    penddata: u16,
    instrms: u16,
    outstrms: u16,
    rest: [u32; 64],
}

fn set<T>(socket: &Socket, name: i32, value: &T) -> io::Result<()> {
    set_bytes(socket, name, (&raw const *value).cast(), size_of::<T>())
}

/// `value` points to `len` bytes.
fn set_bytes(socket: &Socket, name: i32, value: *const libc::c_void, len: usize) -> io::Result<()> {
    // SAFETY: both callers give a pointer to `len` readable bytes, which the kernel copies.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), IPPROTO_SCTP, name, value, len as u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets a one-to-one socket up by the options.
pub(crate) fn configure(socket: &Socket, options: &Options) -> io::Result<()> {
    let ms = milliseconds;
    set(
        socket,
        SCTP_INITMSG,
        &InitMsg {
            num_ostreams: options.streams,
            max_instreams: options.max_inbound_streams,
            max_attempts: options.init_attempts,
            max_init_timeo: ms(options.init_timeout).min(u16::MAX.into()) as u16,
        },
    )?;
    set(
        socket,
        SCTP_RTOINFO,
        &RtoInfo {
            assoc_id: 0,
            initial: ms(options.rto_initial),
            max: ms(options.rto_max),
            min: ms(options.rto_min),
        },
    )?;
    set(
        socket,
        SCTP_ASSOCINFO,
        &AssocParams {
            assoc_id: 0,
            asocmaxrxt: options.path_max_retransmissions,
            number_peer_destinations: 0,
            peer_rwnd: 0,
            local_rwnd: 0,
            cookie_life: 0,
        },
    )?;
    set(
        socket,
        SCTP_PEER_ADDR_PARAMS,
        &PaddrParams {
            assoc_id: 0,
            address: [0; 128],
            hbinterval: ms(options.heartbeat),
            pathmaxrxt: options.path_max_retransmissions.to_ne_bytes(),
            pathmtu: [0; 4],
            sackdelay: [0; 4],
            flags: SPP_HB_ENABLE.to_ne_bytes(),
            ipv6_flowlabel: [0; 4],
            dscp: 0,
            fill: 0,
        },
    )?;
    set(
        socket,
        SCTP_DELAYED_SACK,
        &SackInfo { assoc_id: 0, delay: ms(options.sack_delay).max(1), freq: 2 },
    )?;
    set(socket, SCTP_NODELAY, &1i32)?;
    set(socket, SCTP_RECVRCVINFO, &1i32)?;
    // `struct sctp_event_subscribe`, one byte an event: the second one is SCTP_ASSOC_CHANGE.
    set(socket, SCTP_EVENTS, &[0u8, 1])
}

/// Adds local addresses to a bound socket (RFC 6458, 9.1 `sctp_bindx`).
pub(crate) fn bind_more(socket: &Socket, addresses: &[IpAddr], port: u16) -> io::Result<()> {
    let mut packed: Vec<u8> = Vec::new();
    for address in addresses {
        packed.extend(Name::new(SocketAddr::new(*address, port)).octets());
    }
    set_bytes(socket, SCTP_SOCKOPT_BINDX_ADD, packed.as_ptr().cast(), packed.len())
}

/// Outbound streams agreed on.
pub(crate) fn outbound_streams(socket: &Socket) -> io::Result<u16> {
    Ok(status(socket)?.outstrms)
}

/// DATA chunks that were sent, and not acknowledged by the peer.
pub(crate) fn unacknowledged(socket: &Socket) -> io::Result<u16> {
    Ok(status(socket)?.unackdata)
}

fn status(socket: &Socket) -> io::Result<Status> {
    // SAFETY: plain numbers; all zero is a value.
    let mut status: Status = unsafe { zeroed() };
    let mut len = size_of::<Status>() as u32;
    // SAFETY: the kernel writes at most `len` bytes to the structure.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            IPPROTO_SCTP,
            SCTP_STATUS,
            (&raw mut status).cast(),
            &mut len,
        )
    };
    if result == 0 { Ok(status) } else { Err(io::Error::last_os_error()) }
}

/// Queues a whole message; `WouldBlock` if it does not fit the buffer now.
pub(crate) fn send(fd: BorrowedFd<'_>, stream: u16, ppid: u32, data: &[u8]) -> io::Result<()> {
    send_with(
        fd,
        data,
        SndInfo { sid: stream, flags: 0, ppid: ppid.to_be(), context: 0, assoc_id: 0 },
    )
}

/// Sends ABORT. Linux does so for a one-to-one socket only when it is closed without lingering:
/// `SCTP_ABORT` in a message is refused there (EINVAL). So the socket is closed under its number,
/// which a socket without a peer takes over: others may still hold the number, and what they do
/// with it fails.
pub(crate) fn abort(socket: &Socket) -> io::Result<()> {
    let unconnected =
        Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM.nonblocking(), None)?;
    // SAFETY: both numbers are open and owned by the two values; afterwards each still owns its
    // number.
    let taken = unsafe { libc::dup3(unconnected.as_raw_fd(), socket.as_raw_fd(), libc::O_CLOEXEC) };
    if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn send_with(fd: BorrowedFd<'_>, data: &[u8], info: SndInfo) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    let mut control = Control::new();
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    add_control(&mut message, &mut control, IPPROTO_SCTP, SCTP_SNDINFO, info);
    // SAFETY: the header points to the locals above and to `data`; the kernel only reads them.
    let sent =
        unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an event, or a part of a message into `buffer`; `WouldBlock` if there is nothing.
pub(crate) fn receive<'b>(
    fd: BorrowedFd<'_>,
    buffer: &'b mut [u8],
) -> io::Result<(Read, &'b [u8])> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control::new();
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    control.offer(&mut message);
    // SAFETY: the header points to the locals above and to `buffer`, each given with its size.
    let len = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut info = None;
    each_control(&message, |level, kind, data| {
        if level == IPPROTO_SCTP && kind == SCTP_RCVINFO {
            info = rcv_info(data);
        }
    });
    let (flags, data) = (message.msg_flags, buffer.get(..len).unwrap_or_default());
    if flags & MSG_NOTIFICATION != 0 {
        return Ok((notification(data), &[]));
    }
    match info {
        _ if len == 0 => Ok((Read::Eof, &[])),
        Some((stream, ppid)) => {
            Ok((Read::Data { stream, ppid, end: flags & libc::MSG_EOR != 0 }, data))
        }
        None => Ok((Read::Other, &[])),
    }
}

/// Stream and payload protocol identifier from `struct sctp_rcvinfo`.
fn rcv_info(data: &[u8]) -> Option<(u16, u32)> {
    let stream = u16::from_ne_bytes(data.get(..2)?.try_into().ok()?);
    // Passed through as it is on the wire.
    let ppid = u32::from_be_bytes(data.get(8..12)?.try_into().ok()?);
    Some((stream, ppid))
}

/// The content of an event. `struct sctp_assoc_change` is in host byte order, but for the error
/// cause, which Linux leaves as it is on the wire.
fn notification(data: &[u8]) -> Read {
    let half = |at: usize| match data.get(at..at + 2) {
        Some(&[a, b]) => u16::from_ne_bytes([a, b]),
        _ => 0,
    };
    if data.len() < ASSOC_CHANGE_LEN || half(0) != SCTP_ASSOC_CHANGE {
        return Read::Other;
    }
    let (state, error, streams) = (half(8), u16::from_be(half(10)), half(12));
    match state {
        0 => Read::Up { streams },
        1 => Read::Lost { cause: error },
        2 => Read::Restart { streams },
        3 => Read::Shutdown,
        4 => Read::CannotStart,
        _ => Read::Other,
    }
}

/// Whether the kernel has SCTP, by trying. Loads its module where the system does that by itself.
pub(crate) fn probe() -> io::Result<()> {
    open(true).map(drop)
}

/// A one-to-one socket that does not block.
pub(crate) fn open(ipv4: bool) -> io::Result<Socket> {
    let domain = if ipv4 { socket2::Domain::IPV4 } else { socket2::Domain::IPV6 };
    let socket =
        Socket::new(domain, socket2::Type::STREAM.nonblocking(), Some(IPPROTO_SCTP.into()))?;
    // Closing aborts: an orderly end is asked for with `shutdown`.
    socket.set_linger(Some(std::time::Duration::ZERO))?;
    Ok(socket)
}

/// Sets a buffer, beyond the system's limit where this process may.
pub(crate) fn set_buffers(socket: &Socket, options: &Options) {
    use std::os::fd::AsFd;
    let fd = socket.as_fd();
    let sizes = [
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, options.send_buffer),
        // The kernel counts its own overhead in and gives half of it to the peer as window.
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.receive_buffer),
    ];
    for (force, plain, size) in sizes {
        let size = size as i32;
        if sys::set_int(fd, libc::SOL_SOCKET, force, size).is_err() {
            // What the system allows will do.
            let _ = sys::set_int(fd, libc::SOL_SOCKET, plain, size);
        }
    }
}
