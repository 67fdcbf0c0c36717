//! The stored sessions of the other members of the set.
use crate::config::SmfConfig;
use crate::persisted::{self, SMF, owner, owner_prefix};
use martlet_context_store::{PeerContexts, StoreError};
use martlet_sbi::ApiRoot;

/// A session that another member has stored.
pub struct PeerSession {
    pub contexts: PeerContexts,
    /// API root of the member.
    pub root: Option<ApiRoot>,
}

/// Opens the contexts of a member.
pub fn open(config: &SmfConfig, owner: &str) -> Result<PeerContexts, StoreError> {
    PeerContexts::open(&config.context_store, owner)
}

/// The owner names of the other members.
fn owners(config: &SmfConfig) -> Result<Vec<String>, StoreError> {
    let (Some(set), own) = (&config.set, owner(config)) else { return Ok(Vec::new()) };
    let mut owners = open(config, &own)?.owners(&owner_prefix(&set.id))?;
    owners.retain(|owner| *owner != own);
    Ok(owners)
}

/// The owner names of the other members, and the API roots of their services.
pub fn members(config: &SmfConfig) -> Result<Vec<(String, ApiRoot)>, StoreError> {
    let mut all = Vec::new();
    for owner in owners(config)? {
        let own_entry = open(config, &owner)?.context(SMF)?;
        let root = own_entry.and_then(|value| persisted::root(&value));
        all.extend(root.map(|root| (owner, root)));
    }
    Ok(all)
}

/// The stored sessions of all other members.
///
/// # Errors
/// The database fails.
pub fn all_sessions(config: &SmfConfig) -> Result<Vec<Vec<u8>>, StoreError> {
    let read = || {
        let mut all = Vec::new();
        for owner in owners(config)? {
            let contexts = open(config, &owner)?.contexts()?;
            all.extend(contexts.into_iter().filter(|(id, _)| id != SMF).map(|(_, value)| value));
        }
        Ok(all)
    };
    // The PostgreSQL client must not run within an asynchronous runtime.
    let read = std::thread::scope(|scope| scope.spawn(read).join());
    read.unwrap_or_else(|_| Ok(Vec::new()))
}

/// Finds a session among those of the other members.
pub fn find(config: &SmfConfig, reference: &str) -> Result<Option<PeerSession>, StoreError> {
    for owner in owners(config)? {
        let contexts = open(config, &owner)?;
        if contexts.context(reference)?.is_some() {
            let root = contexts.context(SMF)?.and_then(|value| persisted::root(&value));
            return Ok(Some(PeerSession { contexts, root }));
        }
    }
    Ok(None)
}
