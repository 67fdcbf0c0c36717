//! The positions of the gNBs' transmission and reception points.
use martlet_lcs_position::GeoPoint;
use martlet_sbi_api::common::GlobalRanNodeId;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

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

/// The known TRPs, and when they were received.
#[derive(Default)]
pub(crate) struct TrpTable(Mutex<Option<(Instant, Arc<[Trp]>)>>);

impl TrpTable {
    pub(super) fn known(&self) -> MutexGuard<'_, Option<(Instant, Arc<[Trp]>)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The known TRPs.
    pub(crate) fn all(&self) -> Arc<[Trp]> {
        self.known().as_ref().map_or_else(|| Arc::from([]), |(_, trps)| trps.clone())
    }

    /// The number of known TRPs.
    pub(crate) fn count(&self) -> usize {
        self.known().as_ref().map_or(0, |(_, trps)| trps.len())
    }
}
