//! What all parts of the SMF share: configuration, pools, tables and connections.
use crate::addresses::Pools;
use crate::config::SmfConfig;
use crate::gtpu_peers::GtpuPeers;
use crate::limits::SessionLimits;
use crate::n4::N4;
use crate::return_pace::ReturnPace;
use crate::session_table::SessionTable;
use martlet_context_store::{ContextStore, SetContexts};
use martlet_nf::NfContext;
use martlet_sbi_api::common::NfInstanceId;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;

/// The SMF.
pub struct Smf {
    pub(crate) context: Arc<NfContext>,
    pub(crate) instance_id: NfInstanceId,
    pub(crate) config: SmfConfig,
    pub(crate) pools: Pools,
    pub(crate) sessions: SessionTable,
    pub(crate) limits: SessionLimits,
    pub(crate) n4: N4,
    pub(crate) gtpu_peers: GtpuPeers,
    /// The stored sessions.
    pub(crate) contexts: ContextStore,
    /// The contexts of the other members of the set.
    pub(crate) set: Option<Arc<SetContexts>>,
    /// Limits concurrent restorations.
    pub(crate) restorations: Semaphore,
    /// Limits concurrent releases of sessions whose address is in no pool.
    pub(crate) address_losses: Semaphore,
    /// Limits the releases of charging sessions that are repeated.
    pub(crate) charging_releases: Arc<Semaphore>,
    /// Limits the rate at which sessions return to a UPF.
    pub(crate) return_pace: ReturnPace,
    /// For the tasks of sessions, which outlive the request that created them.
    pub(crate) itself: Weak<Smf>,
}

impl Smf {
    /// The identity of its SMF set (TS 23.003, 28.12); None without a set.
    pub(crate) fn set_id(&self) -> Option<String> {
        self.config.set.as_ref().map(|set| set.member().set_name())
    }
}
