//! UE contexts of another AMF of the set that has failed (TS 23.501, 5.21.2). The AMFs of a set
//! share one database (`amf.context_store.database`). The AMF that a UE reaches takes the UE's
//! context over; only one AMF succeeds.
use crate::Amf;
use crate::persisted::{CONTACT, PersistedUe, identities, owner_of, owner_prefix};
use crate::served::plmn_to_sbi;
use martlet_context_store::{ContextStoreConfig, PeerContexts, SetContexts, StoreError};
use martlet_nas::Guti;
use martlet_nas::identifiers::AmfId;
use martlet_nf::{Criteria, Shutdown};
use martlet_sbi::{ApiRoot, Peer, Problem};
use martlet_sbi_api::common::{self, AccessType, Guami};
use martlet_sbi_api::namf_communication::{TransferReason, UeContextTransferReqData};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How long the index of a peer's contexts is used. A takeover fails for contexts that were removed
/// meanwhile.
const INDEX_LIFETIME: Duration = Duration::from_secs(30);
/// Shortest time between two reads of all contexts, so that requests with unknown identities do
/// not load the database.
const MIN_READ_INTERVAL: Duration = Duration::from_secs(1);

/// Time for an AMF that is not at the NRF to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval between two searches for other members, while there is none.
const MEMBERS_INTERVAL: Duration = Duration::from_secs(1);

/// The contexts of one peer, by the identities of their UEs.
struct Index {
    read_at: Instant,
    contexts: Arc<PeerContexts>,
    by_tmsi: HashMap<u32, String>,
    by_supi: HashMap<String, String>,
}

/// Indexes of the peers' contexts.
#[derive(Default)]
pub(crate) struct PeerIndexes {
    /// The database that the set shares, once it was opened.
    set: OnceLock<Arc<SetContexts>>,
    /// By the peer's owner name.
    by_owner: Mutex<HashMap<String, Index>>,
    /// When all peers were last searched for a SUPI.
    last_supi_search: Mutex<Option<Instant>>,
}

impl PeerIndexes {
    /// The database that the set shares: one connection for all reads. Blocks.
    pub fn set(&self, config: &ContextStoreConfig) -> Result<&Arc<SetContexts>, StoreError> {
        if let Some(set) = self.set.get() {
            return Ok(set);
        }
        let opened = SetContexts::open(config, None)?;
        Ok(self.set.get_or_init(|| opened))
    }

    fn by_owner(&self) -> MutexGuard<'_, HashMap<String, Index>> {
        self.by_owner.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether peers are to be searched for a SUPI now.
    fn may_search(&self, supi: &str) -> bool {
        let mut last = self.last_supi_search.lock().unwrap_or_else(|e| e.into_inner());
        let is_indexed = self.by_owner().values().any(|index| index.by_supi.contains_key(supi));
        let is_recent = last.is_some_and(|at| at.elapsed() < MIN_READ_INTERVAL);
        if is_recent && !is_indexed {
            return false;
        }
        *last = Some(Instant::now());
        true
    }
}

/// A UE context of a peer, not taken over yet.
pub(crate) struct PeerUe {
    contexts: Arc<PeerContexts>,
    id: String,
    /// The AMF that stored the context.
    pub owner: AmfId,
    /// The context as it was read; a takeover may return a later one.
    pub ue: PersistedUe,
}

/// The UE that is searched for.
#[derive(Debug, Clone)]
enum Wanted {
    Tmsi(u32),
    Supi(String),
}

/// An AMF that may have a UE.
pub(crate) struct FormerAmf {
    pub peer: Peer,
    /// It is drained or stops: the NRF does not name it.
    pub is_leaving: bool,
}

impl Amf {
    /// The AMF with this identity, which has or had the UE with this 5G-GUTI: the NRF names it, or
    /// it has stored where it is.
    ///
    /// # Errors
    /// The answer of the NRF, if the AMF has not stored it.
    pub(crate) async fn former_amf(
        self: &Arc<Self>,
        id: &AmfId,
        guti: &Guti,
    ) -> Result<FormerAmf, Problem> {
        let amf_id = common::AmfId::from_parts(id.region(), id.set(), id.pointer());
        let guami = Guami::new(plmn_to_sbi(guti.plmn()), amf_id);
        let criteria = Criteria { guami: Some(guami), ..Default::default() };
        let problem = match self.context.discover(NfType::Amf, "namf-comm", &criteria).await {
            Ok(peer) => return Ok(FormerAmf { peer, is_leaving: false }),
            Err(problem) => problem,
        };
        if !self.config.context_store.is_enabled() || !self.served.is_of_set(guti) {
            return Err(problem);
        }
        let (amf, owner) = (self.clone(), owner_of(id));
        let read = move || amf.peers.set(&amf.config.context_store)?.peer(&owner).context(CONTACT);
        let read = tokio::task::spawn_blocking(read).await.ok();
        let stored = read.and_then(|read| read.inspect_err(log_failed_read).ok()).flatten();
        let root = stored.and_then(|root| martlet_erased::from_json::<ApiRoot>(&root).ok());
        let peer = root.map(|root| self.context.peer_at(root).within(ANSWER_TIMEOUT));
        peer.map(|peer| FormerAmf { peer, is_leaving: true }).ok_or(problem)
    }

    /// A request for a UE context, with the network of this AMF (TS 29.518, 6.1.6.2.24).
    pub(crate) fn transfer_request(&self, reason: TransferReason) -> UeContextTransferReqData {
        let mut request = UeContextTransferReqData::new(reason, AccessType::ThreeGppAccess);
        let plmn = self.served.guamis.first().map(|guami| plmn_to_sbi(guami.plmn));
        request.plmn_id = plmn.map(Into::into);
        request
    }

    /// Stores where other AMFs of the set ask for contexts while this one is suspended at the NRF,
    /// or removes it.
    pub(crate) fn store_contact(&self, is_suspended: bool) {
        match serde_json::to_vec(self.context.api_root()) {
            Ok(root) if is_suspended => self.contexts.put(CONTACT, root),
            _ => self.contexts.remove(CONTACT),
        }
    }

    /// The stored context of the UE with this 5G-GUTI, from the AMF of this set that assigned it.
    pub(crate) async fn peer_ue_of_guti(self: &Arc<Self>, guti: &Guti) -> Option<PeerUe> {
        if !self.config.context_store.is_enabled() || !self.served.is_of_set(guti) {
            return None;
        }
        let (amf, owner, wanted) = (self.clone(), AmfId::of_guti(guti), Wanted::Tmsi(guti.tmsi()));
        tokio::task::spawn_blocking(move || amf.read_peer_ue(&owner, &wanted)).await.ok().flatten()
    }

    /// The stored context of the UE with this SUPI, from any other AMF of this set.
    pub(crate) async fn peer_ue_of_supi(self: &Arc<Self>, supi: &str) -> Option<PeerUe> {
        if !self.config.context_store.is_enabled() || !self.peers.may_search(supi) {
            return None;
        }
        let (amf, wanted) = (self.clone(), Wanted::Supi(supi.to_string()));
        let search = move || {
            let own = amf.served.guamis.first()?.id;
            let peers = amf.peer_ids(&own).inspect_err(log_failed_read).ok()?;
            peers.iter().find_map(|id| amf.read_peer_ue(id, &wanted))
        };
        tokio::task::spawn_blocking(search).await.ok().flatten()
    }

    /// The other AMFs of the set that have stored contexts.
    fn peer_ids(&self, own: &AmfId) -> Result<Vec<AmfId>, StoreError> {
        let prefix = owner_prefix(own);
        let set = self.peers.set(&self.config.context_store)?;
        let owners = set.peer(&owner_of(own)).owners(&prefix)?;
        let pointer = |owner: &String| u8::from_str_radix(owner.strip_prefix(&prefix)?, 16).ok();
        let others = owners.iter().filter_map(pointer).filter(|pointer| *pointer != own.pointer());
        Ok(others.filter_map(|pointer| AmfId::new(own.region(), own.set(), pointer).ok()).collect())
    }

    /// Reads the wanted UE's context of one peer. Blocks.
    fn read_peer_ue(&self, peer: &AmfId, wanted: &Wanted) -> Option<PeerUe> {
        let owner = owner_of(peer);
        let mut indexes = self.peers.by_owner();
        indexes.retain(|_, index| index.read_at.elapsed() < INDEX_LIFETIME);
        // An index from before the peer's failure may lack a UE that registered meanwhile.
        let is_outdated = |index: &Index| {
            index.read_at.elapsed() > MIN_READ_INTERVAL && index.find(wanted).is_none()
        };
        if indexes.get(&owner).is_none_or(is_outdated) {
            let index = self.read_index(&owner).inspect_err(log_failed_read).ok()?;
            indexes.insert(owner.clone(), index);
        }
        let index = indexes.get(&owner)?;
        let id = index.find(wanted)?;
        // The context may have changed since the index was read.
        let value = index.contexts.context(id).inspect_err(log_failed_read).ok()??;
        let ue = martlet_erased::from_json(&value).ok()?;
        Some(PeerUe { contexts: index.contexts.clone(), id: id.clone(), owner: *peer, ue })
    }

    fn read_index(&self, owner: &str) -> Result<Index, StoreError> {
        let contexts = self.peers.set(&self.config.context_store)?.peer(owner);
        let (mut by_tmsi, mut by_supi) = (HashMap::new(), HashMap::new());
        let all = contexts.contexts()?;
        tracing::info!(contexts = all.len(), owner, "contexts of an AMF of the set read");
        for (id, value) in all {
            let (supi, tmsis) = identities(&value);
            by_tmsi.extend(tmsis.into_iter().map(|tmsi| (tmsi, id.clone())));
            by_supi.extend(supi.map(|supi| (supi, id)));
        }
        Ok(Index { read_at: Instant::now(), contexts: contexts.into(), by_tmsi, by_supi })
    }
}

/// Reads the leases of the AMF set twice in the time of a lease while the set has other members, so
/// that a takeover does not wait for a lease that ended before. Ends with the shutdown.
pub(crate) async fn observe_leases(amf: Arc<Amf>, shutdown: Shutdown) {
    loop {
        let mut interval = MEMBERS_INTERVAL;
        if amf.contexts.has_other_members() {
            let amf = amf.clone();
            let read = move || {
                let set = amf.peers.set(&amf.config.context_store)?;
                set.observe_leases(&owner_prefix(&amf.served.set_id()))?;
                Ok(set.lease() / 2)
            };
            let read = tokio::task::spawn_blocking(read).await;
            let read = read.map(|read| read.inspect_err(log_failed_read));
            interval = read.ok().and_then(Result::ok).unwrap_or(interval);
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = shutdown.wait() => return,
        }
    }
}

fn log_failed_read(error: &StoreError) {
    tracing::warn!(%error, "contexts of an AMF of the set cannot be read");
}

impl Index {
    fn find(&self, wanted: &Wanted) -> Option<&String> {
        match wanted {
            Wanted::Tmsi(tmsi) => self.by_tmsi.get(tmsi),
            Wanted::Supi(supi) => self.by_supi.get(supi),
        }
    }
}

impl PeerUe {
    /// Takes the context over. `None` if another AMF did, or if the owner renewed its lease.
    pub async fn take_over(self) -> Option<PersistedUe> {
        let taken = tokio::task::spawn_blocking(move || self.contexts.take_over(&self.id)).await;
        let value = taken.ok()?.inspect_err(log_failed_read).ok()??;
        martlet_erased::from_json(&value).ok()
    }
}
