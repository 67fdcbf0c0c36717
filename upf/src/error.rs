//! Why the UPF does not start or work on.
use std::io;
use std::net::SocketAddr;

/// Why the UPF does not start or work on, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum UpfError {
    /// The configuration is wrong.
    #[error("the UPF's configuration is wrong: {0}")]
    Config(String),
    /// An address cannot be served.
    #[error("{interface} cannot be served at {address}/udp: {error}; {advice}")]
    Bind {
        /// `n3` or `n4`.
        interface: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's word.
        error: String,
        /// What to do.
        advice: &'static str,
    },
    /// The data network side cannot be set up.
    #[error("N6 cannot be set up: {0}")]
    N6(String),
    /// The system gives no thread.
    #[error("the thread that carries packets cannot be started: {0}; look at the limits of the system (ulimit -u -n)")]
    Thread(io::Error),
    /// The datapath ended.
    #[error("packets are no longer carried: {0}; start the UPF again")]
    Datapath(io::Error),
    /// N4 ended.
    #[error("N4 is no longer served: {0}; start the UPF again")]
    N4(io::Error),
}

impl UpfError {
    pub(crate) fn bind(interface: &'static str, address: SocketAddr, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "another program serves it: stop that one or write another address",
            io::ErrorKind::AddrNotAvailable => "this machine does not have the address: write one of its own into bind",
            io::ErrorKind::PermissionDenied => "run it with the rights for this port, or write another port",
            _ => "write another address into bind",
        };
        UpfError::Bind { interface, address, error: error.to_string(), advice }
    }
}
