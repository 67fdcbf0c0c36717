//! A raw socket with its kernel filter, which passes packets to ports of our endpoints only.
use crate::ffi::sys;
use crate::{IPPROTO_SCTP, SctpError};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

/// Maximum number of ports in the kernel filter; with more ports, packets are filtered here.
const FILTER_LIMIT: usize = 1000;

/// Opens a raw socket on `local`. No packet passes its filter until an endpoint is added.
pub(super) fn open_socket(local: IpAddr) -> Result<Socket, SctpError> {
    let kind = Type::RAW.nonblocking();
    let domain = Domain::for_address(SocketAddr::new(local, 0));
    let socket = Socket::new(domain, kind, Some(Protocol::from(IPPROTO_SCTP)));
    let socket = socket.map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => SctpError::NeedsRawSocket,
        _ => error.into(),
    })?;
    socket.attach_filter(&program(local.is_ipv4(), &[]))?;
    socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
    // Room for bursts of many peers. The system may grant less.
    let _ = socket.set_recv_buffer_size(4 << 20);
    let _ = socket.set_send_buffer_size(4 << 20);
    if local.is_ipv4() {
        // Fragments packets that exceed the MTU of a later link.
        let dont = libc::IP_PMTUDISC_DONT;
        sys::set_int(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, dont)?;
    } else {
        sys::set_int(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
    }
    Ok(socket)
}

/// A classic BPF program that passes packets to `ports` only. Raw IPv4 sockets include the IP
/// header, IPv6 ones do not.
pub(super) fn program(ipv4: bool, ports: &[u16]) -> Vec<SockFilter> {
    let op = |code: u32, jt, jf, k| SockFilter::new(code as u16, jt, jf, k);
    let pass = || op(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX);
    let drop = op(libc::BPF_RET | libc::BPF_K, 0, 0, 0);
    if ports.len() > FILTER_LIMIT {
        return vec![pass()];
    }
    let mut program = if ipv4 {
        vec![
            op(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0),
            op(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0, 0, 2),
        ]
    } else {
        vec![op(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 2)]
    };
    for port in ports {
        program.push(op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, (*port).into()));
        program.push(pass());
    }
    program.push(drop);
    program
}
