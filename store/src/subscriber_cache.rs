//! The cache of subscribers that are read from a server.
//!
//! An entry is valid until the change of its subscriber is seen among the changes in the database.
//! Unless these changes are read, nothing is cached. Contexts, which another UDR may write without
//! such a change, are valid for [`CONTEXT_VALIDITY`]: a procedure's time.
use crate::Subscriber;
use crate::sqn_block::{Block, Taken};
use crate::statements::Contexts;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Subscribers in the cache; a full cache is cleared.
const MAX_CACHED: usize = 20_000;
/// Subscribers with a reserved sequence number; a full table is cleared.
const MAX_RESERVED: usize = 20_000;
/// Subscribers with a block of sequence numbers; a full table is cleared. What is not handed out is
/// lost then.
const MAX_BLOCKS: usize = 100_000;
/// Reserved sequence numbers of a subscriber.
const MAX_RESERVED_EACH: usize = 8;

/// How long contexts are valid after a read.
pub(crate) const CONTEXT_VALIDITY: Duration = Duration::from_secs(1);

/// A subscriber with its contexts.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub subscriber: Arc<Subscriber>,
    /// [`revision`](crate::statements::revision) of its row.
    pub revision: u64,
    pub contexts: Contexts,
}

struct Entry {
    record: Arc<Record>,
    read: Instant,
}

/// A sequence number of a committed block that the UDM has read and not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub from: u64,
    pub to: u64,
}

#[derive(Default)]
pub(crate) struct SubscriberCache {
    entries: HashMap<String, Entry>,
    reserved: HashMap<String, Vec<Reservation>>,
    blocks: HashMap<String, Block>,
    /// Counts what made entries invalid: a read that began before is not cached.
    generation: u64,
    /// Whether changes in the database are seen.
    is_followed: bool,
}

impl SubscriberCache {
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A subscriber, if it was read within `validity`.
    pub fn get(&self, supi: &str, validity: Option<Duration>) -> Option<Arc<Record>> {
        let entry = self.entries.get(supi)?;
        let is_valid = validity.is_none_or(|validity| entry.read.elapsed() < validity);
        is_valid.then(|| entry.record.clone())
    }

    /// Caches a record that was read since `generation`.
    pub fn insert(&mut self, supi: &str, record: Arc<Record>, generation: u64) {
        if !self.is_followed || self.generation != generation {
            return;
        }
        if self.entries.len() >= MAX_CACHED {
            self.entries.clear();
        }
        self.entries.insert(supi.to_string(), Entry { record, read: Instant::now() });
    }

    /// A context was written or removed by this process.
    pub fn set_context(&mut self, supi: &str, kind: &str, key: &str, value: Option<&str>) {
        let Some(entry) = self.entries.get_mut(supi) else { return };
        let contexts = &mut Arc::make_mut(&mut entry.record).contexts;
        let name = (kind.to_string(), key.to_string());
        match value {
            Some(value) => drop(contexts.insert(name, value.to_string())),
            None => drop(contexts.remove(&name)),
        }
    }

    /// A subscriber was changed.
    pub fn invalidate(&mut self, supi: &str) {
        self.generation += 1;
        self.entries.remove(supi);
        self.reserved.remove(supi);
        self.blocks.remove(supi);
    }

    /// Any subscriber may have been changed. `is_followed`: changes are seen from now on.
    pub fn clear(&mut self, is_followed: bool) {
        self.generation += 1;
        self.entries.clear();
        self.is_followed = is_followed;
    }

    pub fn has_block(&self, supi: &str) -> bool {
        self.blocks.contains_key(supi)
    }

    /// Takes a sequence number of a subscriber's block after its row was read. A block that cannot
    /// be used is removed.
    pub fn take_number(&mut self, supi: &str, row: &Record) -> Taken {
        let Some(block) = self.blocks.get_mut(supi) else { return Taken::Above(0) };
        let taken = block.take(row.subscriber.sqn, row.revision);
        if matches!(taken, Taken::Above(_)) {
            self.blocks.remove(supi);
        }
        taken
    }

    /// Keeps a block that was committed, unless a later one is kept.
    pub fn keep_block(&mut self, supi: &str, block: Block) {
        let held = self.blocks.get(supi).map(Block::last);
        if held.is_some_and(|held| held > block.last()) {
            return;
        }
        if self.blocks.len() >= MAX_BLOCKS && held.is_none() {
            self.blocks.clear();
        }
        self.blocks.insert(supi.to_string(), block);
    }

    /// Those of the subscribers whose block is low.
    pub fn low_blocks<'a>(&self, supis: impl Iterator<Item = &'a String>) -> Vec<String> {
        let is_low = |supi: &&String| self.blocks.get(*supi).is_some_and(Block::is_low);
        let mut all: Vec<String> = supis.filter(is_low).cloned().collect();
        all.dedup();
        all
    }

    /// A block that ends at `last` was committed.
    pub fn renew_block(&mut self, supi: &str, last: u64) {
        if let Some(block) = self.blocks.get_mut(supi) {
            block.renew(last);
        }
    }

    pub fn reserve(&mut self, supi: &str, reservation: Reservation) {
        if self.reserved.len() >= MAX_RESERVED && !self.reserved.contains_key(supi) {
            self.reserved.clear();
        }
        let all = self.reserved.entry(supi.to_string()).or_default();
        if all.len() >= MAX_RESERVED_EACH {
            all.remove(0);
        }
        all.push(reservation);
    }

    pub fn reserved(&self, supi: &str) -> &[Reservation] {
        self.reserved.get(supi).map_or(&[], Vec::as_slice)
    }

    /// Removes the reservation that begins at `from`.
    pub fn take_reservation(&mut self, supi: &str, from: u64) -> Option<Reservation> {
        let all = self.reserved.get_mut(supi)?;
        let at = all.iter().position(|reservation| reservation.from == from)?;
        let reservation = all.remove(at);
        if all.is_empty() {
            self.reserved.remove(supi);
        }
        Some(reservation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn record() -> Arc<Record> {
        let secret = Secret([1; 16]);
        let subscriber = Arc::new(Subscriber::new("imsi-1", secret.clone(), secret, "internet"));
        Arc::new(Record { subscriber, revision: 0, contexts: Contexts::new() })
    }

    #[test]
    fn a_read_that_began_before_a_change_is_not_cached() {
        let mut cache = SubscriberCache::default();
        cache.insert("imsi-1", record(), cache.generation());
        assert!(cache.get("imsi-1", None).is_none(), "changes are not followed");
        cache.clear(true);
        let began = cache.generation();
        cache.invalidate("imsi-1");
        cache.insert("imsi-1", record(), began);
        assert!(cache.get("imsi-1", None).is_none());
        cache.insert("imsi-1", record(), cache.generation());
        assert!(cache.get("imsi-1", None).is_some());
        assert!(cache.get("imsi-1", Some(Duration::ZERO)).is_none());
        cache.set_context("imsi-1", "kind", "key", Some("value"));
        assert_eq!(cache.get("imsi-1", None).unwrap().contexts.len(), 1);
    }

    #[test]
    fn a_reservation_is_taken_once() {
        let mut cache = SubscriberCache::default();
        for from in 0..10 {
            cache.reserve("imsi-1", Reservation { from, to: from + 1 });
        }
        assert_eq!(cache.reserved("imsi-1").len(), MAX_RESERVED_EACH);
        assert_eq!(cache.take_reservation("imsi-1", 9), Some(Reservation { from: 9, to: 10 }));
        assert_eq!(cache.take_reservation("imsi-1", 9), None);
        assert_eq!(cache.take_reservation("imsi-1", 0), None);
    }
}
