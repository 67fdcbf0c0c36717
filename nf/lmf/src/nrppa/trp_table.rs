//! The positions of the gNBs' transmission and reception points.
use martlet_lcs_position::GeoPoint;
use martlet_sbi_api::common::{GlobalRanNodeId, NfInstanceId};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Validity of the TRP information.
const VALIDITY: Duration = Duration::from_secs(60);
/// Time until the next request after one that failed.
const RETRY: Duration = Duration::from_secs(5);
/// Time after which the TRPs of an AMF that is no longer used are removed.
const RETENTION: Duration = Duration::from_secs(3600);

/// A transmission and reception point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trp {
    /// Its gNB.
    pub gnb: GlobalRanNodeId,
    /// TRP ID at the gNB.
    pub id: i64,
    /// Physical cell identity.
    pub pci: u16,
    /// NR cell identity.
    pub cell: u64,
    /// Its position.
    pub position: GeoPoint,
}

/// The AMF of gNBs; None if its instance is not known.
type Amf = Option<NfInstanceId>;

/// The TRPs of an AMF's gNBs.
struct Known {
    /// When they were requested.
    at: Instant,
    /// How long they are valid.
    validity: Duration,
    trps: Arc<[Trp]>,
}

type ByAmf = HashMap<Amf, Known>;

/// The known TRPs of each AMF's gNBs.
#[derive(Default)]
pub(crate) struct TrpTable {
    known: Mutex<ByAmf>,
    /// Held during a request. Others wait for its result.
    pub(super) requesting: tokio::sync::Mutex<()>,
}

impl TrpTable {
    fn known(&self) -> MutexGuard<'_, ByAmf> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The TRPs of an AMF's gNBs. None: they were not requested, or are outdated.
    pub(super) fn valid(&self, now: Instant, amf: &Amf) -> Option<Arc<[Trp]>> {
        let known = self.known();
        let found = known.get(amf)?;
        (now.duration_since(found.at) < found.validity).then(|| found.trps.clone())
    }

    /// Records the result of a request.
    pub(super) fn insert(&self, now: Instant, amf: Amf, trps: Arc<[Trp]>) {
        self.keep(amf, Known { at: now, validity: VALIDITY, trps });
    }

    /// Records that a request failed. The earlier TRPs stay in use until the next one.
    pub(super) fn insert_failed(&self, now: Instant, amf: Amf) {
        let earlier = self.known().get(&amf).map(|known| known.trps.clone());
        let trps = earlier.unwrap_or_else(|| Arc::from([]));
        self.keep(amf, Known { at: now, validity: RETRY, trps });
    }

    fn keep(&self, amf: Amf, new: Known) {
        let mut known = self.known();
        known.retain(|_, it| new.at.duration_since(it.at) < RETENTION);
        known.insert(amf, new);
    }

    /// The known TRPs. A gNB may have several AMFs.
    pub(crate) fn all(&self) -> Vec<Trp> {
        let known = self.known();
        let mut seen = HashSet::new();
        let trps = known.values().flat_map(|known| known.trps.iter());
        trps.filter(|trp| seen.insert((&trp.gnb, trp.id))).cloned().collect()
    }

    /// The number of known TRPs.
    pub(crate) fn count(&self) -> usize {
        self.all().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::PlmnId;

    #[test]
    fn trps_are_valid_for_a_minute_at_their_amf() {
        let amf = |digit: char| -> Amf {
            let id = format!("6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f7{digit}");
            Some(id.parse().unwrap())
        };
        let (table, now) = (TrpTable::default(), Instant::now());
        assert!(table.valid(now, &amf('1')).is_none());
        // An empty answer is one.
        table.insert(now, amf('1'), Arc::from([]));
        assert!(table.valid(now + Duration::from_secs(59), &amf('1')).is_some());
        assert!(table.valid(now + Duration::from_secs(60), &amf('1')).is_none());
        assert!(table.valid(now, &amf('2')).is_none() && table.valid(now, &None).is_none());
        table.insert(now + RETENTION, amf('2'), Arc::from([]));
        assert_eq!(table.known().len(), 1);
    }

    #[test]
    fn a_trp_that_several_amfs_know_counts_once() {
        let amf = |digit: char| -> Amf {
            let id = format!("6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f7{digit}");
            Some(id.parse().unwrap())
        };
        let position = GeoPoint { lat: 1.0, lon: 2.0 };
        let gnb = GlobalRanNodeId::new(PlmnId::new("001", "01").unwrap());
        let trp = |id| Trp { gnb: gnb.clone(), id, pci: 7, cell: 256, position };
        let (table, now) = (TrpTable::default(), Instant::now());
        table.insert(now, amf('1'), Arc::from([trp(1), trp(2)]));
        table.insert(now, amf('2'), Arc::from([trp(2), trp(3)]));
        let mut ids: Vec<i64> = table.all().into_iter().map(|trp| trp.id).collect();
        ids.sort_unstable();
        assert_eq!((ids, table.count()), (vec![1, 2, 3], 3));
    }

    #[test]
    fn trps_are_requested_again_five_seconds_after_a_failure() {
        let (table, now) = (TrpTable::default(), Instant::now());
        table.insert_failed(now, None);
        assert!(table.valid(now + Duration::from_secs(4), &None).is_some_and(|it| it.is_empty()));
        assert!(table.valid(now + Duration::from_secs(5), &None).is_none());
        // What was known stays in use.
        let position = GeoPoint { lat: 1.0, lon: 2.0 };
        let gnb = GlobalRanNodeId::new(PlmnId::new("001", "01").unwrap());
        let trp = Trp { gnb, id: 1, pci: 7, cell: 256, position };
        table.insert(now, None, Arc::from([trp]));
        table.insert_failed(now + VALIDITY, None);
        assert!(table.valid(now + VALIDITY, &None).is_some_and(|it| it.len() == 1));
    }
}
