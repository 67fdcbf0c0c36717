//! Writes that come within a few milliseconds are one transaction: to begin and to end one costs
//! several times what a write within it does. Who reads through the same store sees them at once; a
//! process that is killed loses what it had gathered, but for sequence numbers: the next one leaves
//! out those that it may have told.
use crate::Store;
use std::time::Duration;
use tokio::sync::Notify;

/// Tells that a transaction has begun, and has to be ended.
#[derive(Default)]
pub(crate) struct Gathering(Notify);

impl Gathering {
    pub fn begun(&self) {
        self.0.notify_one();
    }
}

impl Store {
    /// Gathers writes for so long until the future is dropped; then what is left is written. Does
    /// nothing but wait where the database is one that gathers by itself, or where the time is
    /// zero. `failed` is told of what could not be written.
    pub async fn gather_writes(&self, time: Duration, failed: impl Fn(crate::StoreError)) {
        let Some(gathering) = self.backend.gathering().filter(|_| !time.is_zero()) else {
            return std::future::pending().await;
        };
        struct Until<'a>(&'a Store);
        impl Drop for Until<'_> {
            fn drop(&mut self) {
                // Whatever is wrong with it the next call finds, too.
                let _ = self.0.backend.gather(false);
            }
        }
        let _until = Until(self);
        if let Err(error) = self.backend.gather(true) {
            failed(error);
        }
        self.forget();
        loop {
            gathering.0.notified().await;
            tokio::time::sleep(time).await;
            if let Err(error) = self.backend.commit() {
                failed(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Secret, Store, Subscriber};
    use std::time::Duration;

    const SUPI: &str = "imsi-001010000000001";
    const TIME: Duration = Duration::from_millis(30);

    /// Two stores of one file: what the first gathers, the second does not see yet.
    fn beds(name: &str) -> (std::path::PathBuf, Store, Store) {
        let folder =
            std::env::temp_dir().join(format!("martlet-gathering-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let one = Store::open(&folder.join("martlet.db")).unwrap();
        one.add(&[Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet")], false)
            .unwrap();
        let other = Store::open(&folder.join("martlet.db")).unwrap();
        (folder, one, other)
    }

    fn put(store: &Store, key: &str) {
        store.put_context(SUPI, "kind", key, "value").unwrap();
    }

    fn sees(store: &Store, key: &str) -> bool {
        store.context(SUPI, "kind", key).unwrap().is_some()
    }

    async fn never(error: crate::StoreError) {
        panic!("{error}");
    }

    #[tokio::test]
    async fn gathered_writes_are_seen_here_at_once_and_elsewhere_soon() {
        let (folder, one, other) = beds("soon");
        let gather = one.gather_writes(TIME, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&one, "a");
            assert!(one.move_sqn(SUPI, 0, 32).unwrap() && !one.move_sqn(SUPI, 0, 32).unwrap());
            assert!(sees(&one, "a") && !sees(&other, "a"));
            assert_eq!(one.subscriber(SUPI).unwrap().unwrap().sqn, 32);
            tokio::time::sleep(3 * TIME).await;
            assert!(sees(&other, "a"));
            assert_eq!(other.subscriber(SUPI).unwrap().unwrap().sqn, 32);
            // A transaction of its own is not mixed with what was gathered before.
            put(&one, "b");
            let second = Subscriber::new(
                "imsi-001010000000002",
                Secret([1; 16]),
                Secret([2; 16]),
                "internet",
            );
            one.add(&[second], false).unwrap();
            assert!(sees(&other, "b"));
            put(&one, "c");
        };
        tokio::select! { () = gather => {}, () = test => {} }
        assert!(sees(&other, "c"), "what is left is written at the end");
        put(&one, "d");
        assert!(sees(&other, "d"), "and from then on each write by itself");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn who_was_killed_told_no_sequence_number_that_is_told_again() {
        let (folder, one, _) = beds("killed");
        let copy = folder.join("copy.db");
        let gather = one.gather_writes(TIME, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            assert!(one.move_sqn(SUPI, 0, 32).unwrap());
            // What a process that is killed here leaves behind.
            for end in ["", "-wal"] {
                std::fs::copy(
                    folder.join(format!("martlet.db{end}")),
                    folder.join(format!("copy.db{end}")),
                )
                .unwrap();
            }
        };
        tokio::select! { () = gather => {}, () = test => {} }
        std::fs::copy(folder.join("martlet.db.key"), folder.join("copy.db.key")).unwrap();
        let sqn = |store: &Store| store.subscriber(SUPI).unwrap().unwrap().sqn;
        let gathered = async |store: &Store| {
            let gather = store.gather_writes(TIME, |error| drop(never(error)));
            tokio::select! { () = gather => {}, () = tokio::time::sleep(TIME) => {} }
        };
        let next = Store::open(&copy).unwrap();
        assert_eq!(sqn(&next), 0, "it was not written");
        gathered(&next).await;
        let moved = sqn(&next);
        assert!(moved > 32 && moved.is_multiple_of(32), "{moved}");
        // Who ended in order leaves nothing to be left out.
        gathered(&next).await;
        assert_eq!(sqn(&next), moved);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn who_writes_beside_others_keeps_the_file_for_one_write_only() {
        let (folder, one, other) = beds("others");
        let gather = one.gather_writes(TIME, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&other, "a");
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&one, "b");
            assert!(sees(&other, "b"), "seen at once");
        };
        tokio::select! { () = gather => {}, () = test => {} }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
