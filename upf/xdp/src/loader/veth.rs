//! Whether an interface sends what a program redirects to it.
use libbpf_rs::libbpf_sys as sys;

/// `NETDEV_XDP_ACT_NDO_XMIT` of `linux/netdev.h`: the interface sends redirected frames.
const SENDS_REDIRECTED: u64 = 1 << 2;

/// Whether an interface sends redirected frames. A veth does so only while its other end has GRO or
/// a program of its own, also in another network namespace. `None` if the kernel does not report it
/// (before Linux 6.3).
pub(crate) fn sends_redirected(ifindex: u32) -> Option<bool> {
    let mut options = sys::bpf_xdp_query_opts {
        sz: size_of::<sys::bpf_xdp_query_opts>() as _,
        ..Default::default()
    };
    // SAFETY: the options have their stated length and outlive the call.
    let result = unsafe { sys::bpf_xdp_query(ifindex as i32, 0, &mut options) };
    let flags = options.feature_flags;
    (result == 0 && flags != 0).then_some(flags & SENDS_REDIRECTED != 0)
}
