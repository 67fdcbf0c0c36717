//! Bit rates that QERs of several sessions share by their QER Correlation ID (TS 29.244, 5.4.4).
use super::bucket::Bucket;
use super::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// The buckets of one correlation identifier, from and to the UE.
pub(super) type Shared = Arc<Mutex<[Option<Bucket>; 2]>>;

/// The same, while some session has them.
type Known = Weak<Mutex<[Option<Bucket>; 2]>>;

/// The correlation identifiers that some session has, with their rates.
#[derive(Default)]
pub(super) struct Correlation(Mutex<HashMap<u32, Known>>);

impl Correlation {
    /// The buckets of an identifier: those of other sessions, or new ones.
    pub fn shared(&self, id: u32) -> Shared {
        let mut known = lock(&self.0);
        if let Some(shared) = known.get(&id).and_then(Weak::upgrade) {
            return shared;
        }
        known.retain(|_, weak| weak.strong_count() > 0);
        let shared = Shared::default();
        known.insert(id, Arc::downgrade(&shared));
        shared
    }
}
