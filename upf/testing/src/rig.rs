//! A datapath whose gNB and host are sockets in the same network namespace.
use super::REMOTE;
use martlet_upf_config::{AllowedService, N6Mode, UpfConfig};
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_datapath::{Datapath, Event, OpenError, Signals};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The gNB on N3.
pub const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The UPF on N3.
pub const N3: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
/// The UE.
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// Time limit for an expected packet.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The addresses around a datapath.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// The UPF on N3.
    pub n3: Ipv4Addr,
    /// The gNB on N3.
    pub gnb: Ipv4Addr,
    /// The UE.
    pub ue: Ipv4Addr,
    /// The host in the data network.
    pub host: Ipv4Addr,
}

/// The addresses on the loopback interface.
pub const HERE: Addresses = Addresses { n3: N3, gnb: GNB, ue: UE, host: REMOTE };

/// An open datapath with its events and failures.
pub type Opened = (Box<dyn Datapath>, Signals);

/// A datapath of a type as one of any type.
pub fn boxed<D: Datapath + 'static>((datapath, signals): (D, Signals)) -> Opened {
    (Box::new(datapath), signals)
}

/// A datapath with a gNB and a host that are sockets.
pub struct SocketRig {
    /// The datapath.
    pub datapath: Box<dyn Datapath>,
    /// Its events and failures.
    pub signals: Signals,
    /// The gNB's socket.
    pub gnb: UdpSocket,
    /// UDP ports from 7000 on.
    pub hosts: Vec<UdpSocket>,
    /// The addresses.
    pub at: Addresses,
}

impl SocketRig {
    /// Opens the datapath of `config`.
    pub fn new(
        config: &UpfConfig,
        open: impl FnOnce(&UpfConfig) -> Result<Opened, OpenError>,
    ) -> Self {
        let gnb = UdpSocket::bind((GNB, 2152)).expect("the gNB's port");
        gnb.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let host = |port| {
            let socket = UdpSocket::bind((REMOTE, port)).expect("the host's port");
            socket.set_nonblocking(true).expect("no waiting");
            socket
        };
        let hosts = vec![host(7000), host(7001)];
        let (datapath, signals) = open(config).expect("the datapath");
        SocketRig { datapath, signals, gnb, hosts, at: HERE }
    }
}

impl Rig for SocketRig {
    fn datapath(&mut self) -> &mut dyn Datapath {
        self.datapath.as_mut()
    }
    fn n3(&self) -> IpAddr {
        self.at.n3.into()
    }
    fn gnb(&self) -> IpAddr {
        self.at.gnb.into()
    }
    fn ue(&self) -> Ipv4Addr {
        self.at.ue
    }
    fn remote(&self) -> Ipv4Addr {
        self.at.host
    }
    fn send_n3(&mut self, datagram: &[u8]) {
        self.gnb.send_to(datagram, (self.at.n3, 2152)).expect("sent");
    }
    fn receive_n3(&mut self) -> Option<Vec<u8>> {
        from_upf(&self.gnb, self.at.n3)
    }
    fn send_n6(&mut self, port: u16, payload: &[u8]) {
        self.hosts[usize::from(port - 7000)].send_to(payload, (self.at.ue, 9000)).expect("sent");
    }
    fn receive_n6(&mut self) -> Option<Vec<u8>> {
        from_any(&self.hosts, TIMEOUT)
    }
    fn event(&mut self) -> Option<Event> {
        next_event(&mut self.signals)
    }
}

/// The next datagram at a gNB, if the UPF sent it.
pub fn from_upf(gnb: &UdpSocket, n3: Ipv4Addr) -> Option<Vec<u8>> {
    let mut buffer = [0; 9216];
    let (length, from) = gnb.recv_from(&mut buffer).ok()?;
    assert_eq!(from, SocketAddr::from((n3, 2152)));
    Some(buffer[..length].to_vec())
}

/// The first datagram at any of some non-blocking sockets.
pub fn from_any(sockets: &[UdpSocket], limit: Duration) -> Option<Vec<u8>> {
    let mut buffer = [0; 9216];
    within(limit, || {
        let received = sockets.iter().find_map(|socket| socket.recv_from(&mut buffer).ok());
        received.map(|(length, _)| buffer[..length].to_vec())
    })
}

/// The next event of a datapath, which may follow shortly after the packet that caused it.
pub fn next_event(signals: &mut Signals) -> Option<Event> {
    within(Duration::from_millis(300), || signals.events.try_recv().ok())
}

fn within<T>(limit: Duration, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(found) = poll() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// A UPF that routes between UEs and sends Error Indications from its start.
pub fn config() -> UpfConfig {
    let mut config = UpfConfig::default();
    config.n6.mode = N6Mode::Routing;
    config.n3.restoration_s = 0;
    opened(config, REMOTE)
}

/// The host of the data network has its address on this machine, which UEs reach only so.
pub fn opened(mut config: UpfConfig, host: Ipv4Addr) -> UpfConfig {
    config.n6.allow.push(AllowedService::all(IpAddr::V4(host).into()));
    config
}
