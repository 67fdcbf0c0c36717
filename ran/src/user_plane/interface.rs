//! The network interfaces of a UE: a TUN device for each PDU session, a TAP device for one of
//! Ethernet, in the UE's namespace.
use super::address;
use super::netns::{Namespace, Netns};
use super::port::Port;
use crate::ue::{PduSession, UeConfig};
use martlet_nas::PduSessionTypeValue;
use std::io;
use std::sync::Arc;

/// MTU where the network names none: 1500 less GTP-U, UDP and IP, with room to spare (TS 23.060,
/// annex C).
const DEFAULT_MTU: u16 = 1400;

/// Where a UE's interfaces are. The namespace is made with the first PDU session and removed with
/// the UE.
pub struct Interface {
    wanted: Option<(String, bool)>,
    namespace: Option<Arc<Namespace>>,
}

impl Interface {
    /// Interfaces as `netns` says.
    pub fn new(config: &UeConfig, netns: Netns) -> Self {
        let wanted = match netns {
            Netns::None => None,
            Netns::Auto => Some((format!("ue-{}", config.imsi.as_str()), true)),
            Netns::Named(name) => Some((name, false)),
        };
        Interface { wanted, namespace: None }
    }

    /// Name of the namespace, where there is one.
    pub fn netns(&self) -> Option<&str> {
        self.namespace.as_ref().map(|namespace| namespace.name())
    }

    /// Make the interface of a PDU session, `pduN` with the session's address and a default route,
    /// and connect it with the session's port. Nothing happens where the UE is to have none.
    ///
    /// # Errors
    /// No right to make namespaces and TUN devices, no TUN in this kernel, or a session without an
    /// IPv4 address.
    pub async fn open(&mut self, port: &Port, session: &PduSession) -> io::Result<()> {
        let Some((name, replace)) = self.wanted.clone() else { return Ok(()) };
        let frames = session.kind == PduSessionTypeValue::Ethernet;
        if session.ipv4.is_none() && !frames {
            let why = "an interface needs a PDU session with an IPv4 address, or one of Ethernet";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let address = session.ipv4;
        let namespace = self.namespace.clone();
        let dns = session.dns.clone();
        let (device, psi, mtu) =
            (format!("pdu{}", session.psi), session.psi, session.mtu.unwrap_or(DEFAULT_MTU));
        let made = tokio::task::spawn_blocking(move || {
            let namespace = match namespace {
                Some(namespace) => namespace,
                None => Arc::new(Namespace::open(&name, replace)?),
            };
            let tun = namespace.run(|| {
                // Else the kernel speaks IPv6 to itself on the interface, now and then, and an idle
                // UE asks for service to send it. A kernel without IPv6 does not
                // know it.
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
                let builder = tun_rs::DeviceBuilder::new().name(&device).mtu(mtu);
                let builder = match address {
                    Some(address) => builder.ipv4(address, 32, None),
                    // Its addresses are those who use it to give.
                    None => builder.layer(tun_rs::Layer::L2),
                };
                let tun = builder.build_sync()?;
                tun.set_nonblocking(true)?;
                if address.is_some() {
                    address::default_route(&device, psi)?;
                }
                Ok(tun)
            });
            let tun = tun.map_err(|e| {
                io::Error::new(e.kind(), format!("interface {device} in {name}: {e}"))
            })?;
            namespace.set_resolvers(&dns);
            io::Result::Ok((namespace, tun))
        });
        let (namespace, tun) = made.await.map_err(io::Error::other)??;
        self.namespace = Some(namespace);
        port.attach(tun)
    }
}
