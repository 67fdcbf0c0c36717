//! The SCTP listener for gNBs.
use crate::config::{N2Config, SctpStackConfig};
use martlet_nf::StartError;
use martlet_sctp::{Listener, Options, SctpStack, StackChoice};
use std::time::Duration;

/// Listens as configured.
///
/// # Errors
///
/// The configuration key to change.
pub(crate) async fn listen(config: &N2Config) -> Result<(SctpStack, Listener), StartError> {
    let choice = match config.stack {
        SctpStackConfig::Auto => StackChoice::Auto,
        SctpStackConfig::Kernel => StackChoice::Kernel,
        SctpStackConfig::Usrsctp => StackChoice::Usrsctp,
    };
    let stack = SctpStack::open(choice).map_err(|e| StartError(format!("n2.stack: {e}")))?;
    let heartbeat = Duration::from_millis(config.heartbeat_ms.into());
    let options = Options {
        streams: config.streams,
        heartbeat,
        missing_checksums: !config.strict,
        ..Options::default()
    };
    let (bind, port) = (&config.bind, config.port);
    let listener = stack.listen(bind, port, &options).await.map_err(|e| {
        StartError(format!(
            "n2.bind: cannot listen on {bind:?}, SCTP port {port}: {e}; change amf.n2 in the \
             configuration"
        ))
    })?;
    tracing::info!(address = %listener.local_addr(), sctp = stack.kind(), "listening for gNBs");
    Ok((stack, listener))
}
