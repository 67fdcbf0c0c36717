//! A gNB and a host of the data network in network namespaces of their own, and the datapath
//! between them.
use super::rig::{Addresses, Opened, SocketRig};
use super::run;
use martlet_interface::Feature;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::OpenError;
use nix::sched::{CloneFlags, setns};
use std::net::{Ipv4Addr, UdpSocket};
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The gNB on N3.
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
/// The host of the data network.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
/// The UE.
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The UPF on N3.
pub const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);

/// Time limit for an expected packet.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A named network namespace at the end of a link, removed on drop.
pub struct Peer(pub String);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

impl Peer {
    /// Creates a link `NAMEa`; its other end `NAMEb` is in a namespace of its own.
    pub fn connect(name: &str, ours: Ipv4Addr, theirs: Ipv4Addr) -> Peer {
        let peer = Peer::connect_plain(name, ours, theirs);
        // Redirected packets are accepted only with GRO; and programs do not complete partial
        // checksums.
        let device = format!("{name}b");
        peer.within(move || {
            martlet_interface::set_feature(&device, Feature::GenericReceive, true)
                .expect("receive offload");
            martlet_interface::set_feature(&device, Feature::TransmitChecksums, false)
                .expect("checksum offload cannot be disabled");
        });
        peer
    }

    /// The same as the kernel makes it: without GRO, and with checksum offload.
    pub fn connect_plain(name: &str, ours: Ipv4Addr, theirs: Ipv4Addr) -> Peer {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let netns = format!(
            "martlet-{name}-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        run("ip", &format!("netns add {netns}"));
        let peer = Peer(netns.clone());
        run("ip", &format!("link add {name}a type veth peer name {name}b netns {netns}"));
        run("ip", &format!("addr add {ours}/24 dev {name}a"));
        run("ip", &format!("link set {name}a up"));
        run("ip", &format!("-n {netns} addr add {theirs}/24 dev {name}b"));
        run("ip", &format!("-n {netns} link set {name}b up"));
        run("ip", &format!("-n {netns} link set lo up"));
        peer
    }

    /// Runs a closure in the namespace.
    pub fn within<T: Send + 'static>(&self, act: impl FnOnce() -> T + Send + 'static) -> T {
        let path = format!("/run/netns/{}", self.0);
        let thread = std::thread::spawn(move || {
            let namespace = std::fs::File::open(path).expect("the namespace");
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("root");
            act()
        });
        thread.join().expect("no panic")
    }
}

/// Sets the receive buffer of a socket, in bytes.
pub fn set_receive_buffer(socket: &UdpSocket, bytes: libc::c_int) {
    // SAFETY: the option is an integer that outlives the call; the socket is open.
    let set = unsafe {
        let value = (&raw const bytes).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, value, 4)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// A datapath between the gNB and the host.
pub struct PeersRig {
    sockets: SocketRig,
    /// The gNB.
    pub access: Peer,
    /// The host of the data network.
    pub network: Peer,
}

impl PeersRig {
    /// Creates the peers, and opens the datapath of `config` between them.
    pub fn new(
        config: &UpfConfig,
        open: impl FnOnce(&UpfConfig) -> Result<Opened, OpenError>,
    ) -> PeersRig {
        PeersRig::over(config, open, Peer::connect)
    }

    /// The same over links as the kernel makes them.
    pub fn plain(
        config: &UpfConfig,
        open: impl FnOnce(&UpfConfig) -> Result<Opened, OpenError>,
    ) -> PeersRig {
        PeersRig::over(config, open, Peer::connect_plain)
    }

    fn over(
        config: &UpfConfig,
        open: impl FnOnce(&UpfConfig) -> Result<Opened, OpenError>,
        connect: fn(&str, Ipv4Addr, Ipv4Addr) -> Peer,
    ) -> PeersRig {
        let access = connect("n3", N3, GNB);
        let network = connect("n6", Ipv4Addr::new(10, 98, 0, 1), HOST);
        run("ip", &format!("-n {} route add 10.45.0.0/16 via 10.98.0.1", network.0));
        let gnb = access.within(|| UdpSocket::bind((GNB, 2152)).expect("the gNB's port"));
        gnb.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        set_receive_buffer(&gnb, 16 << 20);
        let host = |port| {
            let socket =
                network.within(move || UdpSocket::bind((HOST, port)).expect("the host's port"));
            socket.set_nonblocking(true).expect("no waiting");
            socket
        };
        let hosts = vec![host(7000), host(7001)];
        let (datapath, signals) = open(config).expect("the datapath");
        let sockets = SocketRig {
            datapath,
            signals,
            gnb,
            hosts,
            at: Addresses { n3: N3, gnb: GNB, ue: UE, host: HOST },
        };
        PeersRig { sockets, access, network }
    }

    /// Closes the gNB's socket, so that another process can bind the port.
    pub fn release_gnb(&mut self) {
        self.sockets.gnb = self.access.within(|| UdpSocket::bind((GNB, 0)).expect("a port"));
    }
}

impl Deref for PeersRig {
    type Target = SocketRig;

    fn deref(&self) -> &SocketRig {
        &self.sockets
    }
}

impl DerefMut for PeersRig {
    fn deref_mut(&mut self) -> &mut SocketRig {
        &mut self.sockets
    }
}
