//! The shutdown signal of a process.
use tokio::sync::watch;

/// The receiver of the signal. Clones share it.
#[derive(Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// The sender of the signal.
#[derive(Clone)]
pub struct ShutdownTrigger(watch::Sender<bool>);

impl Shutdown {
    /// A new signal: sender and receiver.
    pub fn new() -> (ShutdownTrigger, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownTrigger(sender), Shutdown(receiver))
    }

    /// Waits until the signal is sent or its sender is dropped.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        let _ = receiver.wait_for(|given| *given).await;
    }

    /// Whether the signal was sent.
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }
}

impl ShutdownTrigger {
    /// Sends the signal.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}
