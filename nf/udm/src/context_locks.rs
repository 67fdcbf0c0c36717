//! Locks of UE contexts that the UDM reads at the UDR before it changes them. Requests about one
//! context wait for each other: a change must not apply to what another request has stored since.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

/// A UE, and the name of one of its contexts.
type Name = (String, String);
type Lock = Arc<tokio::sync::Mutex<()>>;

/// The locks of the contexts that requests change now.
#[derive(Clone, Default)]
pub(crate) struct ContextLocks(Arc<Mutex<HashMap<Name, Lock>>>);

impl ContextLocks {
    fn locks(&self) -> MutexGuard<'_, HashMap<Name, Lock>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Waits until no other request has the lock of a context.
    pub async fn lock(&self, ue_id: &str, context: &str) -> ContextLock {
        let name = (ue_id.to_string(), context.to_string());
        let lock = self.locks().entry(name.clone()).or_default().clone();
        let user = User { all: self.clone(), name, lock: Some(lock.clone()) };
        ContextLock { _guard: lock.lock_owned().await, _user: user }
    }
}

/// A request that has a lock, or waits for it. The last one removes the lock.
struct User {
    all: ContextLocks,
    name: Name,
    lock: Option<Lock>,
}

impl Drop for User {
    fn drop(&mut self) {
        let mut locks = self.all.locks();
        drop(self.lock.take());
        if locks.get(&self.name).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.name);
        }
    }
}

/// The lock of a context until it is dropped. Its members are dropped in their order.
pub(crate) struct ContextLock {
    _guard: OwnedMutexGuard<()>,
    _user: User,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const SHORT: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn requests_about_one_context_wait_for_each_other() {
        let all = ContextLocks::default();
        let first = all.lock("imsi-1", "5").await;
        let _other_context = all.lock("imsi-1", "6").await;
        let _other_ue = all.lock("imsi-2", "5").await;
        let waiting = tokio::spawn({
            let all = all.clone();
            async move { drop(all.lock("imsi-1", "5").await) }
        });
        // A request that is cancelled while it waits.
        assert!(timeout(SHORT, all.lock("imsi-1", "5")).await.is_err());
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
        assert_eq!(all.locks().len(), 2, "those that are still held");
    }
}
