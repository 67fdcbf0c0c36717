//! What the system calls of both stacks have in common: addresses, ancillary data, options, and
//! watching.
use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Ancillary data with the alignment of `cmsghdr`.
#[repr(C, align(8))]
pub(super) struct Control([u8; CONTROL_BYTES]);

/// Room for ancillary data.
const CONTROL_BYTES: usize = 128;

impl Control {
    pub(super) fn new() -> Control {
        Control([0; CONTROL_BYTES])
    }

    /// Has the kernel write here. The buffer has to outlive the use of `message`.
    pub(super) fn offer(&mut self, message: &mut libc::msghdr) {
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = self.0.len() as _;
    }
}

/// `sockaddr_in` or `sockaddr_in6` with its length.
#[repr(C)]
pub(super) union Address {
    pub(super) any: libc::sockaddr,
    v4: libc::sockaddr_in,
    pub(super) v6: libc::sockaddr_in6,
}

/// A socket address for system calls.
pub(super) struct Name {
    pub(super) address: Address,
    pub(super) len: u32,
}

impl Name {
    pub(super) fn new(address: SocketAddr) -> Name {
        match address {
            SocketAddr::V4(v4) => {
                let name = libc::sockaddr_in {
                    sin_family: libc::AF_INET as u16,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // The whole union is zeroed first, so that all of its bytes are something.
                let mut address = zeroed_address();
                address.v4 = name;
                Name { address, len: size_of::<libc::sockaddr_in>() as u32 }
            }
            SocketAddr::V6(v6) => {
                let name = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as u16,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                Name { address: Address { v6: name }, len: size_of::<libc::sockaddr_in6>() as u32 }
            }
        }
    }
}

pub(super) fn zeroed_address() -> Address {
    // SAFETY: socket addresses are plain bytes; all zero is AF_UNSPEC.
    unsafe { zeroed() }
}

impl Name {
    /// The bytes of the address.
    pub(super) fn octets(&self) -> &[u8] {
        // SAFETY: every byte of the union is initialised (see `new`), and `len` is at most its
        // size.
        unsafe { std::slice::from_raw_parts((&raw const self.address).cast(), self.len as usize) }
    }
}

/// Puts one element of ancillary data into `control` and names it in `message`.
pub(super) fn add_control<T>(
    message: &mut libc::msghdr,
    control: &mut Control,
    level: i32,
    kind: i32,
    value: T,
) {
    // SAFETY: only arithmetic on a length.
    const { assert!(unsafe { libc::CMSG_SPACE(size_of::<T>() as u32) } as usize <= CONTROL_BYTES) };
    // SAFETY: as above.
    let (space, len) =
        unsafe { (libc::CMSG_SPACE(size_of::<T>() as u32), libc::CMSG_LEN(size_of::<T>() as u32)) };
    control.offer(message);
    message.msg_controllen = space as _;
    // SAFETY: the control buffer is aligned, zeroed and, as asserted at compile time, holds one
    // header and the value.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = len as _;
        libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
    }
}

/// Calls `each` with level, type and bytes of every element of ancillary data that the kernel has
/// written.
pub(super) fn each_control(message: &libc::msghdr, mut each: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: the kernel has set `msg_controllen` to what it wrote into the aligned buffer; the
    // macros walk within it, and the data of an element have the length in its header.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            let head = data as usize - header as usize;
            let len = ((*header).cmsg_len as usize).saturating_sub(head);
            each((*header).cmsg_level, (*header).cmsg_type, std::slice::from_raw_parts(data, len));
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// An integer socket option.
pub(crate) fn set_int(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads the four bytes of `value`.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A socket that an [`AsyncFd`] watches: it stays open with the same descriptor while the `AsyncFd`
/// exists.
pub(crate) struct Watched(Arc<Socket>);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Has the current runtime watch a socket.
pub(crate) fn watch(socket: Arc<Socket>, interest: Interest) -> io::Result<AsyncFd<Watched>> {
    // SAFETY: `Watched` holds a private reference to the socket; `Socket` closes its descriptor
    // only when dropped; so the descriptor is open and the same as long as the `AsyncFd` lives.
    Ok(unsafe { AsyncFd::register_with_interest(Watched(socket), interest) }?)
}
