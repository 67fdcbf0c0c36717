//! XDP programs on ports, attached while the [`Links`] live. The kernel detaches them when the
//! process ends in any way, and frames then take the path without a switch.
//!
//! A veth peer receives redirected frames only if it has an XDP program or GRO. A probe frame
//! checks this at the start, and again when frames are missing ([monitor](crate::PeerMonitor)).
//! Where the peer drops it, all ports use generic XDP, which is slower but always delivered.
use crate::error::XdpError;
use crate::frames::Frame;
use crate::ports::{CONTROLLER, PORTS};
use crate::switch::XdpSwitch;
use libbpf_rs::{MapCore, MapFlags, libbpf_sys};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::Release;

/// A port in its wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wired {
    /// Its number.
    pub port: u32,
    /// Its interface.
    pub interface: String,
    /// The port at the other end of the wire, for frames that bypass the pipeline.
    pub bypass: u32,
    /// The native UPF is behind it: if the veth peer is on this machine, it is configured to
    /// accept redirected frames.
    pub native: bool,
}

/// Packets that an interface has sent; 0 where the kernel does not report it.
pub(crate) fn sent_by(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == interface).then(|| numbers.split_whitespace().nth(9)?.parse().ok())?
    };
    table.lines().find_map(line).unwrap_or(0)
}

/// The attachments of the programs.
#[derive(Debug)]
pub struct Links {
    _links: Vec<OwnedFd>,
    /// Whether the programs run in native mode.
    pub in_driver: bool,
}

impl XdpSwitch {
    fn link(&self, program: &OwnedFd, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
        let options = libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
            flags,
            ..Default::default()
        };
        // SAFETY: the program's descriptor is open, and the options have the given size and outlive
        // the call.
        let link = unsafe {
            libbpf_sys::bpf_link_create(
                program.as_raw_fd(),
                ifindex as i32,
                libbpf_sys::BPF_XDP,
                &raw const options,
            )
        };
        if link < 0 {
            return Err(io::Error::from_raw_os_error(-link));
        }
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(link) })
    }

    /// Whether the veth peer accepts redirected frames.
    pub(crate) fn accepts_redirected(&self, port: &Wired) -> bool {
        if !martlet_interface::is_veth(&port.interface) {
            return true;
        }
        let mut bytes = port.port.to_be_bytes().to_vec();
        // EtherType for local experiments, to an address that bridges do not forward.
        bytes.extend([0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0, 0x88, 0xb5]);
        bytes.resize(64, 0);
        let before = sent_by(&port.interface);
        let sent = self.send_frames(&[Frame { port: CONTROLLER, bypass: false, bytes }]);
        sent.is_ok() && sent_by(&port.interface) > before
    }

    /// Attaches the programs to these interfaces.
    ///
    /// # Errors
    /// An interface is missing, or has another XDP program.
    pub fn attach(&self, ports: &[Wired]) -> Result<Links, XdpError> {
        let port_devmap = self.loaded.map("port_devmap")?;
        let mut numbers = Vec::new();
        for port in ports {
            let failed = |why: String| XdpError::Port(port.interface.clone(), why);
            let ifindex = nix::net::if_::if_nametoindex(port.interface.as_str())
                .map_err(|error| failed(format!("the interface does not exist ({error})")))?;
            if port.port >= PORTS || port.bypass >= PORTS {
                return Err(failed(format!("ports have the numbers 0 to {}", PORTS - 1)));
            }
            port_devmap
                .update(&port.port.to_ne_bytes(), &ifindex.to_ne_bytes(), MapFlags::ANY)
                .map_err(|error| failed(format!("cannot register it for redirection: {error}")))?;
            if port.native
                && let Some(far) = martlet_interface::peer(&port.interface)
                && let Err(error) = martlet_interface::set_feature(
                    &far,
                    martlet_interface::Feature::GenericReceive,
                    true,
                )
            {
                tracing::debug!(far, %error, "cannot enable generic receive offload");
            }
            self.control.bypass(port.port).store(port.bypass, Release);
            self.control.ifindex(port.port).store(ifindex, Release);
            numbers.push(ifindex);
        }
        let program = self.loaded.enter()?;
        let all = |flags| -> Result<Vec<OwnedFd>, (usize, io::Error)> {
            let link = |(n, ifindex): (usize, &u32)| {
                self.link(&program, *ifindex, flags).map_err(|error| (n, error))
            };
            numbers.iter().enumerate().map(link).collect()
        };
        let failed = |(n, error): (usize, io::Error)| {
            let why = match error.raw_os_error() {
                Some(libc::EBUSY) => {
                    "another XDP program is attached: ip link set dev IFACE xdp off removes it"
                        .into()
                }
                _ => format!("cannot attach the program: {error}"),
            };
            XdpError::Port(ports[n].interface.clone(), why)
        };
        match all(libbpf_sys::XDP_FLAGS_DRV_MODE) {
            Ok(links) => {
                let Some(port) = ports.iter().find(|port| !self.accepts_redirected(port)) else {
                    self.send_by_sockets(None);
                    return Ok(Links { _links: links, in_driver: true });
                };
                tracing::warn!(
                    interface = port.interface,
                    "the veth peer drops redirected frames (enable GRO there: ethtool -K IFACE gro \
                     on): using generic XDP, which is slower"
                );
            }
            Err((_, error)) if error.raw_os_error() == Some(libc::EBUSY) => {
                return Err(failed((0, error)));
            }
            Err((n, error)) => {
                tracing::warn!(
                    interface = ports[n].interface, %error,
                    "native XDP is unavailable: using generic XDP, which is slower"
                )
            }
        }
        // Receive offloads would make frames too long.
        for port in ports {
            let _ = martlet_interface::set_feature(
                &port.interface,
                martlet_interface::Feature::GenericReceive,
                false,
            );
        }
        let links = all(libbpf_sys::XDP_FLAGS_SKB_MODE).map_err(failed)?;
        self.send_by_sockets(Some(
            ports.iter().zip(&numbers).map(|(port, ifindex)| (port.port, *ifindex)).collect(),
        ));
        Ok(Links { _links: links, in_driver: false })
    }
}
