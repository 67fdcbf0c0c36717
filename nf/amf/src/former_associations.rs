//! gNBs of a former process that was killed while it used SCTP in user space.
//!
//! The kernel has no state of these associations, so it does not end them. The gNBs would detect
//! the loss only at their next heartbeat. The AMF therefore stores what an association needs to be
//! aborted, and its successor sends the ABORT: the gNBs set up new associations at once.
use martlet_context_store::{ContextStore, StoredContexts};
use martlet_sctp::{Association, AssociationRecord, SctpStack};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Prefix of the keys of stored associations. The keys of UE contexts are numbers.
const PREFIX: &str = "n2/";

/// The stored form.
#[derive(Serialize, Deserialize)]
struct PersistedAssociation {
    local: SocketAddr,
    peer: SocketAddr,
    tag: u32,
}

/// Stores the association of a gNB.
pub(crate) fn persist(contexts: &ContextStore, number: u64, association: &Association) {
    let Some(AssociationRecord { local, peer, tag }) = association.record() else { return };
    match serde_json::to_vec(&PersistedAssociation { local, peer, tag }) {
        Ok(value) => contexts.put(format!("{PREFIX}{number}"), value),
        Err(error) => tracing::error!(%peer, %error, "association not stored"),
    }
}

/// Removes an association that has ended.
pub(crate) fn remove(contexts: &ContextStore, number: u64) {
    contexts.remove(format!("{PREFIX}{number}"));
}

/// Takes the associations out of the stored contexts, and aborts them.
pub(crate) fn abort(stack: &SctpStack, contexts: &ContextStore, stored: &mut StoredContexts) {
    let mut records = Vec::new();
    for (id, value) in stored.extract_if(.., |(id, _)| id.starts_with(PREFIX)) {
        match martlet_erased::from_json(&value) {
            Ok(PersistedAssociation { local, peer, tag }) => {
                records.push(AssociationRecord { local, peer, tag });
            }
            Err(error) => tracing::warn!(id, %error, "association not read from the store"),
        }
        contexts.remove(id);
    }
    if records.is_empty() {
        return;
    }
    let aborted = stack.abort_former(&records);
    tracing::info!(associations = records.len(), aborted, "associations of the former process");
}
