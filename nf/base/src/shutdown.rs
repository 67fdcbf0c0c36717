//! One signal that ends everything in order.
use tokio::sync::watch;

/// Told to all tasks; clones share it.
#[derive(Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// Gives the signal.
#[derive(Clone)]
pub struct ShutdownTrigger(watch::Sender<bool>);

impl Shutdown {
    /// A signal that has not been given yet, and the means to give it.
    pub fn new() -> (ShutdownTrigger, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownTrigger(sender), Shutdown(receiver))
    }

    /// Returns once the signal is given, or nobody is left who could give it.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        let _ = receiver.wait_for(|given| *given).await;
    }

    /// Whether the signal was given.
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }
}

impl ShutdownTrigger {
    /// Gives the signal.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}
