//! The positions of the gNBs' transmission and reception points.
use martlet_lcs_position::GeoPoint;
use martlet_sbi_api::common::{GlobalRanNodeId, NfInstanceId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Validity of the TRP information.
const VALIDITY: Duration = Duration::from_secs(60);
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

/// TRPs, and when they were requested, by AMF.
type ByAmf = HashMap<Amf, (Instant, Arc<[Trp]>)>;

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
        let (at, trps) = known.get(amf)?;
        (now.duration_since(*at) < VALIDITY).then(|| trps.clone())
    }

    /// Records the result of a request.
    pub(super) fn insert(&self, now: Instant, amf: Amf, trps: Arc<[Trp]>) {
        let mut known = self.known();
        known.retain(|_, (at, _)| now.duration_since(*at) < RETENTION);
        known.insert(amf, (now, trps));
    }

    /// The known TRPs. A gNB may have several AMFs.
    pub(crate) fn all(&self) -> Vec<Trp> {
        let mut all: Vec<Trp> = Vec::new();
        for trp in self.known().values().flat_map(|(_, trps)| trps.iter()) {
            if !all.iter().any(|it| (&it.gnb, it.id) == (&trp.gnb, trp.id)) {
                all.push(trp.clone());
            }
        }
        all
    }

    /// The number of known TRPs.
    pub(crate) fn count(&self) -> usize {
        self.all().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
