//! Group commit: writes within a few milliseconds share one SQLite transaction, because beginning
//! and committing one costs several times what a write within it costs.
//!
//! Readers through the same store see the writes at once. A process that is killed loses the open
//! group. Sequence numbers are committed before they are used
//! ([`Store::advance_sqn_in_group`]): those that are advanced at the same time share a transaction.
//! After a kill or a power failure the next process also skips numbers, since the disk may have
//! lost the last transactions.
use crate::{Store, StoreError};
use std::time::Duration;

impl Store {
    /// Commits writes in groups, one group per interval, until the future is dropped. Dropping it
    /// commits the open group. Calls `failed` with the error of each group that was not written.
    ///
    /// Only waits if the interval is zero, or if the database is PostgreSQL, which groups commits
    /// itself.
    pub async fn group_commits(&self, interval: Duration, failed: impl Fn(StoreError)) {
        let Some(signal) = self.database.group_signal().filter(|_| !interval.is_zero()) else {
            return std::future::pending().await;
        };
        struct DisableOnDrop<'a>(&'a Store);
        impl Drop for DisableOnDrop<'_> {
            fn drop(&mut self) {
                // An error shows again with the next call.
                let _ = self.0.database.set_group_commit(false);
            }
        }
        let _disable = DisableOnDrop(self);
        if let Err(error) = self.database.set_group_commit(true) {
            failed(error);
        }
        self.clear_cache();
        loop {
            signal.opened().await;
            tokio::time::sleep(interval).await;
            let outcome = self.database.commit(true);
            if let Err(error) = outcome {
                self.written(Some(&error));
                self.clear_cache();
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
    const INTERVAL: Duration = Duration::from_millis(30);

    /// Two stores of one file: the second does not see the first one's open group.
    fn two_stores(name: &str) -> (std::path::PathBuf, Store, Store) {
        let folder = std::env::temp_dir()
            .join(format!("martlet-group-commit-{name}-{}", std::process::id()));
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
    async fn grouped_writes_are_visible_here_at_once_and_elsewhere_after_the_interval() {
        let (folder, one, other) = two_stores("soon");
        let grouping = one.group_commits(INTERVAL, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&one, "a");
            assert!(sees(&one, "a") && !sees(&other, "a"));
            tokio::time::sleep(3 * INTERVAL).await;
            assert!(sees(&other, "a"));
            // A transaction of several writes commits the open group first.
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
        tokio::select! { () = grouping => {}, () = test => {} }
        assert!(sees(&other, "c"), "dropping the future commits the open group");
        put(&one, "d");
        assert!(sees(&other, "d"), "from then on each write is a transaction");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn sequence_numbers_that_advance_at_once_share_a_transaction_and_are_durable() {
        let (folder, one, other) = two_stores("sqn");
        let second = |n| format!("imsi-00101000000010{n}");
        let several: Vec<_> = (0..9)
            .map(|n| Subscriber::new(&second(n), Secret([1; 16]), Secret([2; 16]), "internet"))
            .collect();
        one.add(&several, false).unwrap();
        let grouping = one.group_commits(INTERVAL, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            // The first write opens a group, which the first number commits.
            put(&one, "a");
            assert!(!sees(&other, "a"));
            let advance = async |n| one.advance_sqn_in_group(&second(n), 0, 32).await.unwrap();
            let all = tokio::join!(advance(0), advance(1), advance(2));
            assert_eq!(all, (true, true, true));
            assert!(sees(&other, "a"));
            for n in 0..3 {
                assert_eq!(other.subscriber(&second(n)).unwrap().unwrap().sqn, 32);
            }
            assert!(!one.advance_sqn_in_group(&second(0), 0, 32).await.unwrap());
            assert_eq!(one.failure(), None);
        };
        tokio::select! { () = grouping => {}, () = test => {} }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn sequence_numbers_after_a_kill_are_skipped() {
        let (folder, one, _) = two_stores("killed");
        let copy = folder.join("copy.db");
        let grouping = one.group_commits(INTERVAL, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            assert!(one.advance_sqn(SUPI, 0, 32).unwrap());
            // The files that a process leaves that is killed now.
            for end in ["", "-wal"] {
                std::fs::copy(
                    folder.join(format!("martlet.db{end}")),
                    folder.join(format!("copy.db{end}")),
                )
                .unwrap();
            }
        };
        tokio::select! { () = grouping => {}, () = test => {} }
        std::fs::copy(folder.join("martlet.db.key"), folder.join("copy.db.key")).unwrap();
        let sqn = |store: &Store| store.subscriber(SUPI).unwrap().unwrap().sqn;
        let open_and_close = async |store: &Store| {
            let grouping = store.group_commits(INTERVAL, |error| drop(never(error)));
            tokio::select! { () = grouping => {}, () = tokio::time::sleep(INTERVAL) => {} }
        };
        let next = Store::open(&copy).unwrap();
        assert_eq!(sqn(&next), 32, "the number was committed");
        open_and_close(&next).await;
        let moved = sqn(&next);
        assert!(moved > 32 && moved.is_multiple_of(32), "{moved}");
        // An orderly end leaves nothing to skip.
        open_and_close(&next).await;
        assert_eq!(sqn(&next), moved);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_second_writer_makes_each_write_its_own_transaction() {
        let (folder, one, other) = two_stores("others");
        let grouping = one.group_commits(INTERVAL, |error| drop(never(error)));
        let test = async {
            tokio::task::yield_now().await;
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&other, "a");
            assert!(one.subscriber(SUPI).unwrap().is_some());
            put(&one, "b");
            assert!(sees(&other, "b"), "visible at once");
        };
        tokio::select! { () = grouping => {}, () = test => {} }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
