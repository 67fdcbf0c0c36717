//! Health checks of the other members of the set. The sessions of a failed member are taken over.
use super::peers::{self, PeerSession};
use super::takeover::{is_alive, take_over_from};
use crate::shared::Smf;
use martlet_nf::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Failed checks in a row after which a member counts as failed.
const MAX_FAILED_CHECKS: u32 = 2;

/// Checks the other members until the shutdown.
pub async fn run(smf: Arc<Smf>, shutdown: Shutdown) {
    let Some(set) = &smf.config.set else { return };
    let interval = Duration::from_millis(set.health_check_ms.max(10).into());
    let mut failed_checks: HashMap<String, u32> = HashMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = shutdown.wait() => return,
        }
        let config = smf.config.clone();
        let members = tokio::task::spawn_blocking(move || peers::members(&config)).await;
        let Ok(Ok(members)) = members else { continue };
        for (owner, root) in members {
            let failed = failed_checks.entry(owner.clone()).or_default();
            match is_alive(&smf, root).await {
                true => *failed = 0,
                false => *failed += 1,
            }
            if *failed == MAX_FAILED_CHECKS {
                take_over_all(&smf, &owner).await;
            }
        }
    }
}

async fn take_over_all(smf: &Arc<Smf>, owner: &str) {
    let (config, of) = (smf.config.clone(), owner.to_string());
    let all = tokio::task::spawn_blocking(move || peers::open(&config, &of)?.contexts()).await;
    let Ok(Ok(all)) = all else { return };
    let sessions = all.len().saturating_sub(1);
    tracing::warn!(owner, sessions, "SMF of the set does not respond, taking its sessions over");
    for (id, _) in all {
        let Ok(reference) = id.parse() else { continue };
        let (config, of) = (smf.config.clone(), owner.to_string());
        let opened = tokio::task::spawn_blocking(move || peers::open(&config, &of)).await;
        let Ok(Ok(contexts)) = opened else { return };
        take_over_from(smf, reference, PeerSession { contexts, root: None }).await;
    }
}
