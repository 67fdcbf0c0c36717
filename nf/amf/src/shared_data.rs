//! Subscription data that many UEs have in common are stored once.
use crate::ue::Subscription;
use martlet_sbi::{Compact, compact};
use martlet_sbi_api::nudm_sdm::{AccessAndMobilitySubscriptionData, SmfSelectionSubscriptionData};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, Weak};

/// Different values that are remembered. More of them are individual data, such as those with a
/// GPSI, and are not shared.
const MAX_VALUES: usize = 1024;

/// The subscription data of all UEs.
#[derive(Default)]
pub(crate) struct SharedSubscriptions {
    access: Interned<AccessAndMobilitySubscriptionData>,
    smf_selection: Interned<SmfSelectionSubscriptionData>,
}

impl SharedSubscriptions {
    /// Makes a subscription, whose data may be shared with other UEs.
    pub fn subscription(
        &self,
        access: AccessAndMobilitySubscriptionData,
        smf_selection: SmfSelectionSubscriptionData,
        sdm_subscription: Option<String>,
    ) -> Subscription {
        Subscription {
            access: self.access.share(Arc::new(access)),
            smf_selection: self.smf_selection.share(Arc::new(smf_selection)),
            sdm_subscription,
        }
    }

    /// Shares the data of a restored subscription.
    pub fn share(&self, subscription: Subscription) -> Subscription {
        Subscription {
            access: self.access.share(subscription.access),
            smf_selection: self.smf_selection.share(subscription.smf_selection),
            sdm_subscription: subscription.sdm_subscription,
        }
    }
}

/// Values in use, by the hash of their binary form.
struct Interned<T>(Mutex<Values<T>>);

struct Values<T> {
    by_hash: HashMap<u64, Weak<T>>,
    /// Values that did not fit since unused ones were removed.
    refused: usize,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Interned(Mutex::new(Values { by_hash: HashMap::new(), refused: 0 }))
    }
}

impl<T: Compact + PartialEq> Interned<T> {
    /// The equal value that is in use, else this one.
    fn share(&self, value: Arc<T>) -> Arc<T> {
        let mut bytes = Vec::new();
        compact::to_vec(&*value, &mut bytes);
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let mut values = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let known = values.by_hash.get(&hash).and_then(Weak::upgrade);
        match known {
            Some(known) if known == value => return known,
            // The hash of another value: this one is not shared.
            Some(_) => return value,
            None => {}
        }
        if values.by_hash.len() >= MAX_VALUES && !values.by_hash.contains_key(&hash) {
            // Not with each value, so that individual data cost little time.
            if values.refused.is_multiple_of(MAX_VALUES) {
                values.by_hash.retain(|_, value| value.strong_count() > 0);
            }
            if values.by_hash.len() >= MAX_VALUES {
                values.refused = values.refused.wrapping_add(1);
                return value;
            }
            values.refused = 0;
        }
        values.by_hash.insert(hash, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(rfsp_index: u16) -> Arc<AccessAndMobilitySubscriptionData> {
        let rfsp_index = Some(rfsp_index);
        Arc::new(AccessAndMobilitySubscriptionData { rfsp_index, ..Default::default() })
    }

    #[test]
    fn equal_data_are_stored_once() {
        let interned = Interned::default();
        let first = interned.share(access(1));
        assert!(Arc::ptr_eq(&first, &interned.share(access(1))));
        let other = interned.share(access(2));
        assert!(!Arc::ptr_eq(&first, &other) && *other == *access(2));
        // A value that no UE has any more is not kept.
        drop(first);
        let again = interned.share(access(1));
        assert_eq!(Arc::strong_count(&again), 1);
    }

    #[test]
    fn individual_data_are_not_stored_beyond_the_limit() {
        let interned = Interned::default();
        let values = |numbers: std::ops::Range<u16>| -> Vec<_> {
            numbers.map(|n| interned.share(access(n))).collect()
        };
        let remembered = || interned.0.lock().unwrap().by_hash.len();
        let first = values(0..1500);
        assert_eq!(remembered(), MAX_VALUES);
        assert!((0..1500).zip(&first).all(|(n, value)| **value == *access(n)));
        // Once no UE has them, there is room for other values.
        drop(first);
        let second = values(2000..4500);
        assert!(Arc::ptr_eq(&second[600], &interned.share(access(2600))));
        assert!(remembered() <= MAX_VALUES);
    }
}
