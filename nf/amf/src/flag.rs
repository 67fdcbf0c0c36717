//! A state of the AMF that associations watch: it is cut off, or it ends before it stops.
use tokio::sync::watch;

/// A flag with tasks that wait until it is set.
pub(crate) struct Flag(watch::Sender<bool>);

impl Default for Flag {
    fn default() -> Self {
        Flag(watch::Sender::new(false))
    }
}

impl Flag {
    /// Sets or clears it. Returns whether it was set.
    pub fn set(&self, value: bool) -> bool {
        self.0.send_replace(value)
    }

    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is set.
    pub async fn until_set(&self) {
        let mut state = self.0.subscribe();
        // The sender lives as long as this.
        let _ = state.wait_for(|is_set| *is_set).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn those_who_wait_are_woken_when_the_flag_is_set() {
        let flag = Flag::default();
        let mut waiting = Box::pin(flag.until_set());
        assert!(!flag.is_set() && (&mut waiting).now_or_never().is_none());
        assert!(!flag.set(true));
        assert!((&mut waiting).now_or_never().is_some());
        // Later ones do not wait until it is cleared.
        assert!(flag.until_set().now_or_never().is_some());
        assert!(flag.set(false));
        assert!(!flag.is_set() && flag.until_set().now_or_never().is_none());
    }
}
