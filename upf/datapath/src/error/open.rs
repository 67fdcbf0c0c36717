//! Errors of opening a datapath.
use super::Cause;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a datapath cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A network namespace cannot be opened or entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// An interface, a route or a socket of N3 or N6 cannot be set up.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The kernel's address translation cannot be set up.
    #[error(transparent)]
    Translation(#[from] TranslationError),
    /// The XDP programs cannot be loaded or attached.
    #[error(transparent)]
    Programs(Cause),
    /// The rule table of the XDP programs has no room for the datapath's own rules.
    #[error("the rule table is full: raise upf.xdp.rules")]
    RuleTableFull,
    /// A thread of the datapath cannot be started.
    #[error("the threads of the datapath cannot be started: {0}; raise the limit of processes")]
    Threads(#[source] io::Error),
    /// A thread that opens a part of the datapath panicked.
    #[error("a thread that opens the datapath panicked: its message is in the log above")]
    Panicked,
    /// The switch or its controller cannot be started.
    #[error(transparent)]
    Switch(#[from] SwitchError),
}

/// Why a network namespace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// It cannot be opened.
    #[error(
        "the network namespace {name} cannot be opened ({source}): create it with `ip netns add \
         {name}`"
    )]
    Open {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It cannot be entered.
    #[error("the network namespace {name} cannot be entered ({source}): run as root")]
    Enter {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
}

/// Why an interface, a route or a socket of N3 or N6 cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// There is no such interface.
    #[error("there is no interface {interface}: change {key}")]
    Missing {
        /// Its name.
        interface: String,
        /// The key that names it.
        key: String,
    },
    /// No interface has the address of N3.
    #[error(
        "no interface has the address {0} of upf.n3.address: change it, or set upf.xdp.interfaces"
    )]
    NoAddress(IpAddr),
    /// The interfaces cannot be listed.
    #[error("the interfaces cannot be listed: {0}")]
    List(#[source] io::Error),
    /// The addresses of the machine are not known.
    #[error("the addresses of interfaces are not known: {0}")]
    Addresses(#[source] io::Error),
    /// Another process has the interface.
    #[error(
        "the interface {interface} is in use by another process: end that, or change \
         upf.n6.interface"
    )]
    InUse {
        /// Its name.
        interface: String,
    },
    /// The name of the interface cannot be claimed.
    #[error("the interface {interface} cannot be claimed: {source}")]
    Claim {
        /// Its name.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// The process may not create interfaces.
    #[error(
        "no permission to create the interface {interface}: run as root, or with the capability \
         CAP_NET_ADMIN"
    )]
    NoPermission {
        /// Its name.
        interface: String,
    },
    /// The kernel does not create the interface.
    #[error("the interface {interface} cannot be created: {source}")]
    Create {
        /// Its name.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// The interface cannot be brought up.
    #[error("the interface {interface} cannot be set up: {source}")]
    SetUp {
        /// Its name.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// A setting of an interface was refused.
    #[error("{setting} of the interface {interface} cannot be set: {source}")]
    Setting {
        /// The setting, such as an address or a file of `/proc/sys`.
        setting: String,
        /// The interface.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// The kernel has no pairs of interfaces.
    #[error("the kernel has no veth: load the module with `modprobe veth`")]
    NoVeth,
    /// The kernel has no TUN devices.
    #[error("/dev/net/tun is missing: load the module with `modprobe tun`")]
    NoTun,
    /// The process may not open TUN devices.
    #[error(
        "/dev/net/tun cannot be opened ({0}): run as root, or with the capability CAP_NET_ADMIN"
    )]
    Tun(#[source] io::Error),
    /// The interfaces of network instances cannot be set up.
    #[error("the network instances of N6 cannot be set up: {0}")]
    NetworkInstances(#[source] io::Error),
    /// A setting of a network instance was refused.
    #[error(
        "{setting} of the network instance {name} (upf.n6.network_instances[{index}]) cannot be \
         set: {source}"
    )]
    NetworkInstance {
        /// The setting.
        setting: String,
        /// Name of the network instance.
        name: String,
        /// Its index in the configuration.
        index: usize,
        /// Why.
        source: io::Error,
    },
    /// The kernel does not forward packets.
    #[error(
        "IP forwarding is off and {file} cannot be set to 1 ({source}): set it as root, or set \
         upf.n6.mode to local"
    )]
    Forwarding {
        /// The file of `/proc/sys`.
        file: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The socket of GTP-U cannot be bound.
    #[error(
        "GTP-U cannot be served at {address} ({source}): change {key} to one of this machine that \
         no other core uses"
    )]
    Gtpu {
        /// The address.
        address: SocketAddr,
        /// The key of the address.
        key: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The socket for frames cannot be opened.
    #[error("frames cannot be sent ({0}): run as root, or with the capability CAP_NET_RAW")]
    PacketSocket(#[source] io::Error),
    /// The kernel refused a route or a policy rule of a running datapath.
    #[error(transparent)]
    Route(io::Error),
}

impl InterfaceError {
    /// A setting of an interface was refused.
    pub fn setting(setting: impl Into<String>, interface: &str, source: io::Error) -> Self {
        InterfaceError::Setting { setting: setting.into(), interface: interface.into(), source }
    }
}

/// Why the kernel does not translate UE addresses.
#[derive(Debug, thiserror::Error)]
pub enum TranslationError {
    /// No program that sets it up is installed.
    #[error(
        "upf.n6.mode is nat, and neither `nft` nor `iptables` is installed: install the package \
         nftables, or set upf.n6.mode to routing"
    )]
    NoProgram,
    /// The program cannot be run.
    #[error("{program} cannot be run: {source}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The program ended before it had read its input.
    #[error("{program} ended early: {source}")]
    Ended {
        /// The program.
        program: String,
        /// What failed.
        source: io::Error,
    },
    /// The program reports an error.
    #[error(
        "UE addresses cannot be translated: {program} failed: {output}; set upf.n6.mode to \
         routing to do without"
    )]
    Failed {
        /// The program.
        program: String,
        /// What it wrote to standard error.
        output: String,
    },
}

/// Why the switch does not start.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The P4 program of the UPF does not compile.
    #[error("upf_pna.p4:{0}")]
    Program(#[source] Cause),
    /// The program of the switch is not of this build.
    #[error("{0}; or set upf.switch.run.program")]
    Build(#[source] Cause),
    /// The process of the switch cannot be started.
    #[error(
        "cannot start the switch {program} ({source}): build martlet-switch, or set \
         upf.switch.run.program"
    )]
    Start {
        /// Its program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The controller of the switch ended at its start.
    #[error("the controller of the switch ended at its start: its message is in the log above")]
    ControllerEnded,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn the_text_says_what_failed_why_and_what_to_do() {
        let source = io::Error::from(io::ErrorKind::AddrInUse);
        let why = source.to_string();
        let address = SocketAddr::from(([127, 0, 0, 8], 2152));
        let error = InterfaceError::Gtpu { address, key: "upf.n3.address", source };
        assert_eq!(
            OpenError::from(error).to_string(),
            format!(
                "GTP-U cannot be served at 127.0.0.8:2152 ({why}): change upf.n3.address to one \
                 of this machine that no other core uses"
            )
        );
    }

    #[test]
    fn the_error_of_the_kernel_is_its_source() {
        let denied = io::Error::from_raw_os_error(1);
        let error = OpenError::from(InterfaceError::setting("the MTU", "upf0", denied));
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.and_then(io::Error::raw_os_error), Some(1), "{error:?}");
    }
}
