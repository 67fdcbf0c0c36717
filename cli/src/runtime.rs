//! The runtime of a process, and the signals that end it.
use anyhow::Result;
use martlet_nf::ShutdownTrigger;
use std::future::Future;

/// Runs on this thread alone: a request between two functions of the process costs no wake-up of another thread.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Gives the shutdown signal on the first SIGINT or SIGTERM, and ends the process at once on a second.
pub fn on_signal(trigger: ShutdownTrigger) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        for count in 0.. {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            if count > 0 {
                std::process::exit(130);
            }
            tracing::info!("ending; once more ends at once");
            trigger.trigger();
        }
    });
    Ok(())
}
