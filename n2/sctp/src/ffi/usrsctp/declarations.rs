//! What `usrsctp.h` declares, as far as it is used: functions, structures and numbers.
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::size_of;
use std::ptr::null_mut;

#[repr(C)]
pub(super) struct Socket {
    _opaque: [u8; 0],
}

pub(super) const AF_CONN: u16 = 123;
pub(super) const IPPROTO_SCTP: c_int = 132;
pub(super) const MSG_NOTIFICATION: c_int = 0x2000;
pub(super) const MSG_EOR: c_int = 0x80;
pub(super) const SCTP_RTOINFO: c_int = 0x01;
pub(super) const SCTP_ASSOCINFO: c_int = 0x02;
pub(super) const SCTP_INITMSG: c_int = 0x03;
pub(super) const SCTP_NODELAY: c_int = 0x04;
pub(super) const SCTP_PEER_ADDR_PARAMS: c_int = 0x0a;
pub(super) const SCTP_DELAYED_SACK: c_int = 0x0f;
pub(super) const SCTP_EVENT: c_int = 0x1e;
pub(super) const SCTP_RECVRCVINFO: c_int = 0x1f;
pub(super) const SCTP_STATUS: c_int = 0x100;
pub(super) const SCTP_ASSOC_CHANGE: u16 = 0x0001;
pub(super) const SCTP_SENDV_SNDINFO: c_uint = 1;
pub(super) const SCTP_RECVV_RCVINFO: c_uint = 1;
pub(super) const SCTP_ABORT: u16 = 0x0200;
pub(super) const SPP_HB_ENABLE: u32 = 0x01;
pub(super) const SPP_PMTUD_DISABLE: u32 = 0x10;
/// `struct sctp_assoc_change` without its trailing `sac_info`.
pub(super) const ASSOC_CHANGE_LEN: usize = 20;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SockaddrConn {
    pub(super) family: u16,
    pub(super) port: u16,
    pub(super) addr: *mut c_void,
}

impl SockaddrConn {
    /// All local addresses; `port` in host byte order.
    pub(super) fn any(port: u16) -> Self {
        SockaddrConn { family: AF_CONN, port: port.to_be(), addr: null_mut() }
    }

    /// The one address there is, of this machine and of all peers; `port` in host byte order.
    pub(super) fn the_one(port: u16) -> Self {
        SockaddrConn { addr: the_address(), ..Self::any(port) }
    }
}

/// The address by which the library knows both sides. The value is not dereferenced.
pub(super) fn the_address() -> *mut c_void {
    std::ptr::without_provenance_mut(1)
}

#[repr(C)]
pub(super) struct InitMsg {
    pub(super) num_ostreams: u16,
    pub(super) max_instreams: u16,
    pub(super) max_attempts: u16,
    pub(super) max_init_timeo: u16,
}
#[repr(C)]
pub(super) struct RtoInfo {
    pub(super) assoc_id: u32,
    pub(super) initial: u32,
    pub(super) max: u32,
    pub(super) min: u32,
}
#[repr(C)]
pub(super) struct AssocParams {
    pub(super) assoc_id: u32,
    pub(super) peer_rwnd: u32,
    pub(super) local_rwnd: u32,
    pub(super) cookie_life: u32,
    pub(super) asocmaxrxt: u16,
    pub(super) number_peer_destinations: u16,
}
/// `struct sockaddr_storage` with an address of ours in it.
#[repr(C)]
pub(super) struct Storage {
    pub(super) address: SockaddrConn,
    pub(super) rest: [u8; size_of::<libc::sockaddr_storage>() - size_of::<SockaddrConn>()],
}
#[repr(C)]
pub(super) struct PaddrParams {
    pub(super) address: Storage,
    pub(super) assoc_id: u32,
    pub(super) hbinterval: u32,
    pub(super) pathmtu: u32,
    pub(super) flags: u32,
    pub(super) ipv6_flowlabel: u32,
    pub(super) pathmaxrxt: u16,
    pub(super) dscp: u8,
}
#[repr(C)]
pub(super) struct SackInfo {
    pub(super) assoc_id: u32,
    pub(super) delay: u32,
    pub(super) freq: u32,
}
#[repr(C)]
pub(super) struct Event {
    pub(super) assoc_id: u32,
    pub(super) kind: u16,
    pub(super) on: u8,
}
#[repr(C)]
pub(super) struct SndInfo {
    pub(super) sid: u16,
    pub(super) flags: u16,
    pub(super) ppid: u32,
    pub(super) context: u32,
    pub(super) assoc_id: u32,
}
#[repr(C)]
#[derive(Default)]
pub(super) struct RcvInfo {
    pub(super) sid: u16,
    pub(super) ssn: u16,
    pub(super) flags: u16,
    pub(super) ppid: u32,
    pub(super) tsn: u32,
    pub(super) cumtsn: u32,
    pub(super) context: u32,
    pub(super) assoc_id: u32,
}
#[repr(C)]
pub(super) struct PaddrInfo {
    pub(super) address: libc::sockaddr_storage,
    pub(super) assoc_id: u32,
    pub(super) state: i32,
    pub(super) cwnd: u32,
    pub(super) srtt: u32,
    pub(super) rto: u32,
    pub(super) mtu: u32,
}
#[repr(C)]
pub(super) struct Status {
    pub(super) assoc_id: u32,
    pub(super) state: i32,
    pub(super) rwnd: u32,
    pub(super) unackdata: u16,
    pub(super) penddata: u16,
    pub(super) instrms: u16,
    pub(super) outstrms: u16,
    pub(super) fragmentation_point: u32,
    pub(super) primary: PaddrInfo,
}

pub(super) type OutputFn = extern "C" fn(*mut c_void, *mut c_void, usize, u8, u8) -> c_int;
pub(super) type UpcallFn = extern "C" fn(*mut Socket, *mut c_void, c_int);

unsafe extern "C" {
    pub(super) fn usrsctp_init_nothreads(
        port: u16,
        output: OutputFn,
        debug: Option<unsafe extern "C" fn(format: *const c_char, ...)>,
    );
    pub(super) fn usrsctp_socket(
        domain: c_int,
        kind: c_int,
        protocol: c_int,
        receive: *const c_void,
        send: *const c_void,
        threshold: u32,
        info: *mut c_void,
    ) -> *mut Socket;
    pub(super) fn usrsctp_setsockopt(
        so: *mut Socket,
        level: c_int,
        name: c_int,
        value: *const c_void,
        len: u32,
    ) -> c_int;
    pub(super) fn usrsctp_getsockopt(
        so: *mut Socket,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        len: *mut u32,
    ) -> c_int;
    pub(super) fn usrsctp_sendv(
        so: *mut Socket,
        data: *const c_void,
        len: usize,
        to: *mut c_void,
        addrcnt: c_int,
        info: *mut c_void,
        infolen: u32,
        infotype: c_uint,
        flags: c_int,
    ) -> isize;
    pub(super) fn usrsctp_recvv(
        so: *mut Socket,
        data: *mut c_void,
        len: usize,
        from: *mut c_void,
        fromlen: *mut u32,
        info: *mut c_void,
        infolen: *mut u32,
        infotype: *mut c_uint,
        flags: *mut c_int,
    ) -> isize;
    pub(super) fn usrsctp_bind(so: *mut Socket, name: *mut SockaddrConn, len: u32) -> c_int;
    pub(super) fn usrsctp_listen(so: *mut Socket, backlog: c_int) -> c_int;
    pub(super) fn usrsctp_accept(
        so: *mut Socket,
        name: *mut SockaddrConn,
        len: *mut u32,
    ) -> *mut Socket;
    pub(super) fn usrsctp_connect(so: *mut Socket, name: *mut SockaddrConn, len: u32) -> c_int;
    pub(super) fn usrsctp_close(so: *mut Socket);
    pub(super) fn usrsctp_shutdown(so: *mut Socket, how: c_int) -> c_int;
    pub(super) fn usrsctp_set_non_blocking(so: *mut Socket, on: c_int) -> c_int;
    pub(super) fn usrsctp_set_upcall(
        so: *mut Socket,
        upcall: UpcallFn,
        argument: *mut c_void,
    ) -> c_int;
    pub(super) fn usrsctp_get_events(so: *mut Socket) -> c_int;
    pub(super) fn usrsctp_conninput(addr: *mut c_void, packet: *const c_void, len: usize, ecn: u8);
    pub(super) fn usrsctp_handle_timers(milliseconds: u32);
    pub(super) fn usrsctp_register_address(addr: *mut c_void);
    pub(super) fn usrsctp_enable_crc32c_offload();
    pub(super) fn usrsctp_sysctl_set_sctp_ecn_enable(value: u32) -> c_int;
    pub(super) fn usrsctp_sysctl_set_sctp_asconf_enable(value: u32) -> c_int;
    pub(super) fn usrsctp_sysctl_set_sctp_auto_asconf(value: u32) -> c_int;
    pub(super) fn usrsctp_sysctl_set_sctp_auth_enable(value: u32) -> c_int;
    pub(super) fn usrsctp_sysctl_set_sctp_reconfig_enable(value: u32) -> c_int;
    pub(super) fn usrsctp_sysctl_set_sctp_max_chunks_on_queue(value: u32) -> c_int;
}
