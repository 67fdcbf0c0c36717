//! Restoration of sessions, and of releases of charging sessions, after a restart of the SMF (TS
//! 23.527, 4.3).
use crate::persisted::{self, Allocation, PersistedSmf, RestoreError, SMF, Stored};
use crate::procedures::charging::unanswered_release;
use crate::procedures::subscription::smf_registration;
use crate::shared::Smf;
use martlet_context_store::StoredContexts;
use std::sync::Arc;

/// Restores what a former process has stored, the sessions each with its task. `peers` are the
/// sessions of other members of the set, some of which have addresses from this SMF's pools, and
/// TEIDs of its range.
pub fn restore(smf: &Arc<Smf>, stored: Stored, peers: StoredContexts) {
    for (id, value) in peers {
        let (Ok(reference), Ok(Allocation { dnn, addresses, n4_teids })) =
            (id.parse::<u64>(), martlet_erased::from_json(&value))
        else {
            continue;
        };
        n4_teids.iter().for_each(|teids| smf.n4.restore_teids(reference, teids));
        if smf.pools.mark_used(&dnn, &addresses) {
            smf.pools.retain(reference, &dnn, &addresses);
        }
    }
    let root = Some(smf.context.api_root().clone());
    let own = PersistedSmf { recovery: smf.n4.recovery(), root };
    smf.contexts.put(SMF, serde_json::to_vec(&own).unwrap_or_default());
    for (key, value) in stored.charging_releases {
        unanswered_release::restore(smf, &key, &value);
    }
    martlet_context_store::restore(&smf.contexts, stored.sessions, |reference, session| {
        let mut session = Box::new(persisted::session(smf, reference, session, false)?);
        martlet_sbi::trace::spawn(Default::default(), async move {
            // The former process may have ended before it registered the session.
            if !session.udm.is_registered {
                // Boxed, so that the task of an idle session is small.
                let registered = Box::pin(smf_registration::register_again(&session)).await;
                session.udm.is_registered = registered;
            }
            session.run().await;
        });
        Ok::<_, RestoreError>(())
    });
}
