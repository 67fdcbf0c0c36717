//! The stored sessions of the other members of the set, over one connection.
use crate::config::SmfConfig;
use crate::persisted::{self, SMF, owner};
use martlet_context_store::{PeerContexts, SetContexts, StoreError, StoredContexts};
use martlet_sbi::ApiRoot;
use std::sync::Arc;

/// A session that another member has stored.
pub struct PeerSession {
    pub contexts: PeerContexts,
    /// API root of the member.
    pub root: Option<ApiRoot>,
}

/// The database that the set shares; `None` for an SMF without a set, or without contexts.
///
/// # Errors
/// The database cannot be opened.
pub fn open(config: &SmfConfig) -> Result<Option<Arc<SetContexts>>, StoreError> {
    match config.set.is_some() && config.context_store.is_enabled() {
        true => SetContexts::open(&config.context_store, Some(&owner(config))).map(Some),
        false => Ok(None),
    }
}

/// The prefix of the members' names, and this member's own.
fn names(config: &SmfConfig) -> Option<(String, String)> {
    Some((config.set.as_ref()?.member().owner_prefix(), owner(config)))
}

/// The owner names of the other members, and the API roots of their services.
pub fn members(
    set: &SetContexts,
    config: &SmfConfig,
) -> Result<Vec<(String, ApiRoot)>, StoreError> {
    let Some((prefix, own)) = names(config) else { return Ok(Vec::new()) };
    let others = set.members(&prefix, SMF)?.into_iter().filter(|(owner, _)| *owner != own);
    Ok(others.filter_map(|(owner, value)| Some((owner, persisted::root(&value?)?))).collect())
}

/// Those of the sessions that no member has.
///
/// # Errors
/// The database fails.
pub fn ended(
    set: &SetContexts,
    config: &SmfConfig,
    references: Vec<u64>,
) -> Result<Vec<u64>, StoreError> {
    let Some((prefix, _)) = names(config).filter(|_| !references.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids: Vec<String> = references.iter().map(u64::to_string).collect();
    let existing = set.existing(&prefix, &ids)?;
    let ended = references.into_iter().zip(ids).filter(|(_, id)| !existing.contains(id));
    Ok(ended.map(|(reference, _)| reference).collect())
}

/// The stored sessions of all other members.
///
/// # Errors
/// The database fails.
pub fn all_sessions(
    set: &Arc<SetContexts>,
    config: &SmfConfig,
) -> Result<StoredContexts, StoreError> {
    let read = || {
        let Some((prefix, own)) = names(config) else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for (owner, _) in set.members(&prefix, SMF)? {
            if owner == own {
                continue;
            }
            let contexts = set.peer(&owner).contexts()?;
            all.extend(contexts.into_iter().filter(|(id, _)| id != SMF));
        }
        Ok(all)
    };
    // The PostgreSQL client must not run within an asynchronous runtime.
    let read = std::thread::scope(|scope| scope.spawn(read).join());
    read.unwrap_or_else(|_| Ok(Vec::new()))
}

/// Finds a session among those of the other members.
pub fn find(
    set: &Arc<SetContexts>,
    config: &SmfConfig,
    reference: &str,
) -> Result<Option<PeerSession>, StoreError> {
    let Some((prefix, own)) = names(config) else { return Ok(None) };
    let owner = set.owner_of(&prefix, reference)?.filter(|owner| *owner != own);
    let Some(owner) = owner else { return Ok(None) };
    let contexts = set.peer(&owner);
    let root = contexts.context(SMF)?.and_then(|value| persisted::root(&value));
    Ok(Some(PeerSession { contexts, root }))
}
