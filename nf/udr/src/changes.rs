//! Tells of changes of subscribers, whoever made them (TS 29.504, 5.2.2.8): `martlet subscriber`
//! writes into the same database.
use crate::Udr;
use crate::contexts::{NOBODY, kind};
use martlet_sbi_api::common::{ChangeItem, ChangeType, NotifyItem};
use martlet_sbi_api::nudm_sdm::SdmSubscription;
use martlet_sbi_api::nudr_callback::UdrDataCallbackClient;
use martlet_sbi_api::nudr_dr::{DataChangeNotify, SubscriptionDataSubscriptions};
use std::collections::BTreeSet;
use std::time::Duration;

/// How often the database is asked.
const INTERVAL: Duration = Duration::from_millis(500);
/// Changes that are looked at together.
const AT_ONCE: usize = 256;

/// Tells until the future is dropped.
pub async fn tell(udr: &Udr) {
    // What changed before is read by whoever asks.
    let mut last = udr.store.last_change().unwrap_or(0);
    loop {
        tokio::time::sleep(INTERVAL).await;
        match udr.store.changes(last, AT_ONCE) {
            Ok(changes) => {
                let Some(newest) = changes.last() else { continue };
                // They wait for the first who wants to know.
                if udr
                    .store
                    .contexts(NOBODY, kind::CHANGES)
                    .is_ok_and(|watchers| watchers.is_empty())
                {
                    continue;
                }
                last = newest.number;
                let changed: BTreeSet<String> =
                    changes.into_iter().map(|change| change.supi).collect();
                for supi in changed {
                    of_subscriber(udr, &supi).await;
                }
            }
            Err(error) => tracing::warn!(%error, "changes of subscribers cannot be read"),
        }
    }
}

async fn of_subscriber(udr: &Udr, supi: &str) {
    let Ok(watchers) = udr.store.contexts(NOBODY, kind::CHANGES) else { return };
    let Ok(behind) = udr.store.contexts(supi, kind::SDM) else { return };
    if behind.is_empty() {
        return;
    }
    let subscription =
        |(_, text): &(String, String)| serde_json::from_str::<SdmSubscription>(text).ok();
    let references: BTreeSet<String> = behind
        .iter()
        .filter_map(subscription)
        .map(|subscription| subscription.callback_reference)
        .collect();
    let gone = udr.store.subscriber(supi).is_ok_and(|found| found.is_none());
    // Which of its data have changed the database does not say: all of them are to be read anew.
    let op = if gone { ChangeType::Remove } else { ChangeType::Replace };
    let resource_id = format!("{}/nudr-dr/v2/subscription-data/{supi}", udr.context.api_root());
    let body = DataChangeNotify {
        original_callback_reference: Some(references.into_iter().collect()),
        ue_id: Some(supi.to_string()),
        notify_items: Some(vec![NotifyItem {
            resource_id,
            changes: vec![ChangeItem::new(op, String::new())],
        }]),
        ..Default::default()
    };
    for (_, text) in watchers {
        let Ok(watcher) = serde_json::from_str::<SubscriptionDataSubscriptions>(&text) else {
            continue;
        };
        if watcher.ue_id.as_ref().is_some_and(|of| of != supi) {
            continue;
        }
        let peer = udr.context.callback_peer().about(supi);
        let outcome = UdrDataCallbackClient::new(peer)
            .on_data_change(&watcher.callback_reference, body.clone())
            .await;
        if let Err(problem) = outcome {
            tracing::info!(supi, to = watcher.callback_reference, %problem, "a change of a subscriber was not told");
        }
    }
    // Nobody is left who could end them.
    if gone {
        for (id, _) in behind {
            let _ = udr.store.remove_context(supi, kind::SDM, &id);
        }
    }
}
