//! The network interfaces of a UE in its namespace: a TUN device for each IP session, a TAP device
//! for each Ethernet session.
use super::address;
use super::netns::{Namespace, Netns};
use super::port::Port;
use crate::ue::{PduSession, UeConfig};
use martlet_nas::PduSessionTypeValue;
use std::io;
use std::sync::Arc;

/// MTU if the network provides none: 1500 less GTP-U, UDP and IP, with room to spare (TS 23.060,
/// annex C).
const DEFAULT_MTU: u16 = 1400;

/// The interfaces of a UE. The namespace is created with the first PDU session and removed with the
/// UE.
pub struct Interface {
    namespace_name: Option<(String, bool)>,
    namespace: Option<Arc<Namespace>>,
}

impl Interface {
    /// No interfaces yet; `netns` selects the namespace.
    pub fn new(config: &UeConfig, netns: Netns) -> Self {
        let namespace_name = match netns {
            Netns::None => None,
            Netns::Auto => Some((format!("ue-{}", config.imsi.as_str()), true)),
            Netns::Named(name) => Some((name, false)),
        };
        Interface { namespace_name, namespace: None }
    }

    /// Name of the namespace, if it exists.
    pub fn netns(&self) -> Option<&str> {
        self.namespace.as_ref().map(|namespace| namespace.name())
    }

    /// Creates the interface `pduN` of a PDU session with its address and a default route, and
    /// attaches it to the session's port. Does nothing with [`Netns::None`].
    ///
    /// # Errors
    /// Missing privileges for namespaces and TUN devices, no TUN in the kernel, or a session
    /// without an IPv4 address.
    pub async fn open(&mut self, port: &Port, session: &PduSession) -> io::Result<()> {
        let Some((name, replace)) = self.namespace_name.clone() else { return Ok(()) };
        let frames = session.kind == PduSessionTypeValue::Ethernet;
        if session.ipv4.is_none() && !frames {
            let why = "an interface needs an Ethernet session or one with an IPv4 address";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let address = session.ipv4;
        let namespace = self.namespace.clone();
        let dns = session.dns.clone();
        let (device, psi, mtu) =
            (format!("pdu{}", session.psi), session.psi, session.mtu.unwrap_or(DEFAULT_MTU));
        let created = tokio::task::spawn_blocking(move || {
            let namespace = match namespace {
                Some(namespace) => namespace,
                None => Arc::new(Namespace::open(&name, replace)?),
            };
            let tun = namespace.run(|| {
                // Without this the kernel sends IPv6 packets on the interface, for which an idle UE
                // requests service. A kernel without IPv6 has no such setting.
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
                let builder = tun_rs::DeviceBuilder::new().name(&device).mtu(mtu);
                let builder = match address {
                    Some(address) => builder.ipv4(address, 32, None),
                    // The users of an Ethernet session configure its addresses.
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
        let (namespace, tun) = created.await.map_err(io::Error::other)??;
        self.namespace = Some(namespace);
        port.attach(tun)
    }
}
