//! The SCTP listener for gNBs.
use crate::config::{N2Config, SctpStackConfig};
use martlet_nf::StartError;
use martlet_sctp::{Listener, Options, SctpError, SctpStack, StackChoice};
use std::time::Duration;

fn choice(config: &N2Config) -> StackChoice {
    match config.stack {
        SctpStackConfig::Auto => StackChoice::Auto,
        SctpStackConfig::Kernel => StackChoice::Kernel,
        SctpStackConfig::Usrsctp => StackChoice::Usrsctp,
    }
}

/// Opens the raw socket of SCTP in user space, if it will be used. A process that calls this before
/// it drops CAP_NET_RAW does not need the capability later.
///
/// # Errors
/// Raw sockets are not permitted, or the address of `amf.n2.bind` is not one of this machine.
pub fn prepare_raw_socket(config: &N2Config) -> Result<(), SctpError> {
    martlet_sctp::prepare_raw_socket(choice(config), &config.bind)
}

/// Listens as configured.
///
/// # Errors
///
/// The configuration key to change.
pub(crate) async fn listen(config: &N2Config) -> Result<(SctpStack, Listener), StartError> {
    let stack = SctpStack::open(choice(config))
        .map_err(|error| StartError::config("amf.n2.stack", error))?;
    let heartbeat = Duration::from_millis(config.heartbeat_ms.into());
    let options = Options {
        streams: config.streams,
        heartbeat,
        missing_checksums: !config.strict,
        ..Options::default()
    };
    let (bind, port) = (&config.bind, config.port);
    let listener = stack.listen(bind, port, &options).await.map_err(|error| {
        StartError::listen(format!("{bind:?}, SCTP port {port}"), "amf.n2", error)
    })?;
    tracing::info!(address = %listener.local_addr(), sctp = stack.kind(), "listening for gNBs");
    Ok((stack, listener))
}
