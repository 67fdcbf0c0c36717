//! Blocks of sequence numbers that are committed before a subscriber's first authentication, so
//! that its registration has one commit: for all subscribers of a small database when a UDR starts,
//! and for those that are added or changed.
use crate::StoreError;
use crate::postgres_pool::Pool;
use crate::sqn_block::Block;
use crate::statements;
use crate::subscriber_cache::SubscriberCache;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// Subscribers that get a block ahead. Further ones get theirs with their first authentication.
const MAX_AHEAD: usize = 20_000;
/// Subscribers of one statement.
const PAGE: usize = 256;
/// Pause between two statements.
const PAUSE: Duration = Duration::from_millis(20);
/// Pause after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Subscribers for which a block is wanted.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    These(BTreeSet<String>),
}

/// Commits blocks ahead.
pub(crate) struct LeaseAhead {
    wanted: Mutex<Wanted>,
    changed: Notify,
}

impl LeaseAhead {
    /// All subscribers are wanted.
    pub fn new() -> Self {
        LeaseAhead { wanted: Mutex::new(Wanted::All), changed: Notify::new() }
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A subscriber was added or changed.
    pub fn want(&self, supi: &str) {
        let mut wanted = self.wanted();
        if let Wanted::These(supis) = &mut *wanted {
            supis.insert(supi.to_string());
            if supis.len() > MAX_AHEAD {
                *wanted = Wanted::All;
            }
        }
        self.changed.notify_one();
    }

    /// More subscribers were changed than are known.
    pub fn want_all(&self) {
        *self.wanted() = Wanted::All;
        self.changed.notify_one();
    }

    async fn next(&self) -> Wanted {
        loop {
            let next = std::mem::replace(&mut *self.wanted(), Wanted::These(BTreeSet::new()));
            if next != Wanted::These(BTreeSet::new()) {
                return next;
            }
            self.changed.notified().await;
        }
    }

    /// Commits blocks until the future is dropped.
    pub async fn run(&self, pool: &Pool, cache: &Mutex<SubscriberCache>) {
        loop {
            let outcome = match self.next().await {
                Wanted::All => all(pool, cache).await,
                Wanted::These(supis) => these(pool, cache, &Vec::from_iter(supis)).await,
            };
            if outcome.is_err() {
                self.want_all();
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

async fn all(pool: &Pool, cache: &Mutex<SubscriberCache>) -> Result<(), StoreError> {
    let (mut after, mut count) = (String::new(), 0);
    while count < MAX_AHEAD {
        let page = statements::supis(pool, &after, PAGE as i64).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after.clone_from(last);
        count += page.len();
        these(pool, cache, &page).await?;
    }
    Ok(())
}

/// Blocks for those of the subscribers that have none.
async fn these(
    pool: &Pool,
    cache: &Mutex<SubscriberCache>,
    supis: &[String],
) -> Result<(), StoreError> {
    let cache = || cache.lock().unwrap_or_else(|e| e.into_inner());
    for page in supis.chunks(PAGE) {
        let page: Vec<String> = {
            let cache = cache();
            page.iter().filter(|supi| !cache.has_block(supi)).cloned().collect()
        };
        if page.is_empty() {
            continue;
        }
        for (supi, last, revision) in statements::advance_unlocked(pool, &page).await? {
            cache().keep_block(&supi, Block::ending_at(last, revision));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
