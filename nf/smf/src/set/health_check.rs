//! Health checks of the other members of the set. The sessions of a failed member are taken over.
//! Addresses are released of which the sessions have ended at another member.
use super::peers;
use super::takeover::{adopt, is_alive, is_removed};
use crate::persisted::SMF;
use crate::procedures::charging::unanswered_release;
use crate::shared::Smf;
use martlet_context_store::StoreError;
use martlet_nf::Shutdown;
use martlet_outage::Dependency;
use martlet_store::DatabaseUrl;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Failed checks in a row after which a member counts as failed.
const MAX_FAILED_CHECKS: u32 = 2;

/// Sessions that one transaction takes over, or one query reads.
const BATCH: usize = 256;

/// Checks the other members until the shutdown.
pub async fn run(smf: Arc<Smf>, shutdown: Shutdown) {
    let (Some(set), Some(contexts)) = (&smf.config.set, &smf.set) else { return };
    let interval = Duration::from_millis(set.health_check_ms.max(10).into());
    let database = DatabaseUrl::parse(&smf.config.context_store.database);
    // Without it, the sessions of a failed member stay there.
    let outage = Dependency::new("smf", "set", database);
    let mut failed_checks: HashMap<String, u32> = HashMap::new();
    // The last session whose end at another member was checked.
    let mut last = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = shutdown.wait() => return,
        }
        let (config, contexts) = (smf.config.clone(), contexts.clone());
        let retained = smf.pools.retained(last, BATCH);
        last = retained.last().copied().unwrap_or_default();
        let read = move || {
            let members = peers::members(&contexts, &config)?;
            Ok::<_, StoreError>((members, peers::ended(&contexts, &config, retained)?))
        };
        let (members, ended) = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => {
                outage.unavailable(&error);
                continue;
            }
            Err(_) => continue,
        };
        outage.available();
        smf.n4.sessions_ended(&ended);
        ended.into_iter().for_each(|reference| smf.pools.release_retained(reference));
        for (owner, root) in members {
            let failed = failed_checks.entry(owner.clone()).or_default();
            match is_alive(&smf, root).await {
                true => *failed = 0,
                false => *failed += 1,
            }
            if *failed == MAX_FAILED_CHECKS && !take_over_all(&smf, &owner).await {
                // Again after the next check.
                *failed_checks.entry(owner).or_default() = MAX_FAILED_CHECKS - 1;
            }
        }
    }
}

/// Takes over all sessions of a member. Returns whether the database answered.
async fn take_over_all(smf: &Arc<Smf>, owner: &str) -> bool {
    let Some(set) = &smf.set else { return true };
    let peer = set.peer(owner);
    let contexts = peer.clone();
    let Ok(Ok(all)) = tokio::task::spawn_blocking(move || contexts.contexts()).await else {
        return false;
    };
    // The sessions, and releases of charging sessions, without the member's own entry.
    let ids: Vec<String> = all.into_iter().map(|(id, _)| id).filter(|id| id != SMF).collect();
    let sessions = ids.iter().filter(|id| id.parse::<u64>().is_ok()).count();
    tracing::warn!(owner, sessions, "SMF of the set does not respond, taking its sessions over");
    let started = Instant::now();
    let mut taken_over = 0;
    // Without sessions, too: an earlier attempt may have taken some over without knowing it.
    for batch in ids.chunks(BATCH).chain(ids.is_empty().then_some(&[][..])) {
        let mut free = Vec::new();
        for id in batch {
            // A session that the failed SMF had taken over from this one ends first.
            if is_removed(smf, id).await {
                free.push(id.clone());
            }
        }
        let (contexts, batch) = (peer.clone(), free);
        let claim = move || contexts.take_over_all(&batch);
        let taken = match tokio::task::spawn_blocking(claim).await {
            Ok(Ok(taken)) => taken,
            Ok(Err(error)) => {
                tracing::warn!(owner, %error, "sessions of the SMF set cannot be taken over");
                return false;
            }
            Err(_) => return false,
        };
        for (id, value) in taken {
            match id.parse::<u64>() {
                Ok(reference) if smf.sessions.get(&id).is_none() => {
                    taken_over += usize::from(adopt(smf, reference, &value).await.is_some());
                }
                Ok(_) => {}
                Err(_) => {
                    smf.contexts.regain(&id);
                    unanswered_release::restore(smf, &id, &value);
                }
            }
        }
    }
    let ms = started.elapsed().as_millis() as u64;
    tracing::info!(owner, sessions = taken_over, ms, "sessions taken over from a failed SMF");
    true
}
