//! Nudr_DR_Notify: notifies subscribers of data changes (TS 29.504, 5.2.2.8). It polls the
//! database, since `martlet subscriber` writes to it directly. A server's notifications wake it.
use crate::contexts::{NO_SUBSCRIBER, kind};
use crate::repository::is_over;
use crate::{Udr, cut_off};
use martlet_sbi_api::common::{ChangeItem, ChangeType, NotifyItem};
use martlet_sbi_api::nudm_sdm::SdmSubscription;
use martlet_sbi_api::nudr_callback::UdrDataCallbackClient;
use martlet_sbi_api::nudr_dr::{DataChangeNotify, SubscriptionDataSubscriptions};
use martlet_store::Store;
use std::collections::BTreeSet;
use std::time::Duration;

/// Polling interval.
const INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of changes per poll.
const BATCH: usize = 256;

/// Polls and notifies until the future is dropped.
pub async fn run(udr: &Udr) {
    // Earlier changes need no notification: consumers read the data after they subscribe.
    let mut last = udr.stored(Store::last_change).await.unwrap_or(0);
    let mut counted = last;
    // Changes were seen that are not notified.
    let mut is_behind = true;
    loop {
        // Each poll also shows whether the database answers.
        match udr.data.follow(INTERVAL, cut_off::limit(udr)).await {
            Ok(has_new) => {
                udr.database.available();
                cut_off::end(udr);
                is_behind |= has_new;
            }
            Err(error) => {
                udr.database.unavailable(&error);
                cut_off::check(udr).await;
                continue;
            }
        }
        if !is_behind {
            continue;
        }
        match udr.stored(move |store| store.changes(last, BATCH)).await {
            Ok(changes) => {
                udr.database.available();
                is_behind = !changes.is_empty();
                let Some(newest) = changes.last() else { continue };
                if udr.store.is_remote() && newest.number > counted {
                    counted = newest.number;
                    udr.count().await;
                }
                // Without a subscription of a UDM, changes are kept for the first one.
                if udr
                    .stored(|store| store.contexts(NO_SUBSCRIBER, kind::CHANGES))
                    .await
                    .is_ok_and(|watchers| watchers.is_empty())
                {
                    continue;
                }
                last = newest.number;
                let changed: BTreeSet<String> =
                    changes.into_iter().map(|change| change.supi).collect();
                for supi in changed {
                    notify(udr, &supi).await;
                }
            }
            Err(error) => udr.database.unavailable(&error),
        }
    }
}

async fn notify(udr: &Udr, supi: &str) {
    let watchers = udr.stored(|store| store.contexts(NO_SUBSCRIBER, kind::CHANGES)).await;
    let Ok(watchers) = watchers else { return };
    // Also those of a subscriber that is deleted, and those that were made just before.
    let _ = udr.data.flush().await;
    let of = supi.to_string();
    let sdm_subscriptions = udr.stored(move |store| store.contexts(&of, kind::SDM)).await;
    let Ok(sdm_subscriptions) = sdm_subscriptions else { return };
    if sdm_subscriptions.is_empty() {
        return;
    }
    let subscription = |(_, text): &(String, String)| {
        martlet_erased::from_json::<SdmSubscription>(text.as_bytes()).ok()
    };
    let references: BTreeSet<String> = sdm_subscriptions
        .iter()
        .filter_map(subscription)
        .filter(|subscription| !is_over(subscription))
        .map(|subscription| subscription.callback_reference)
        .collect();
    let of = supi.to_string();
    let found = udr.stored(move |store| store.subscriber(&of)).await;
    let deleted = found.is_ok_and(|found| found.is_none());
    // The database does not record which data changed: the consumer has to read all of it again.
    let op = if deleted { ChangeType::Remove } else { ChangeType::Replace };
    let root = udr.context.api_root();
    let resource_id =
        format!("{root}/nudr-dr/v2/subscription-data/{}", martlet_sbi::path_segment(supi));
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
        let Ok(watcher) =
            martlet_erased::from_json::<SubscriptionDataSubscriptions>(text.as_bytes())
        else {
            continue;
        };
        let is_expired = watcher.expiry.as_ref().is_some_and(|end| end.remaining().is_zero());
        if is_expired || watcher.ue_id.as_ref().is_some_and(|of| of != supi) {
            continue;
        }
        let peer = udr.context.callback_peer().about(supi);
        let outcome = UdrDataCallbackClient::new(peer)
            .on_data_change(&watcher.callback_reference, body.clone())
            .await;
        if let Err(problem) = outcome {
            tracing::info!(
                supi,
                uri = watcher.callback_reference,
                %problem,
                "data change notification failed"
            );
        }
    }
    // The subscriber is deleted: remove its SDM subscriptions.
    if deleted {
        for (id, _) in sdm_subscriptions {
            let of = supi.to_string();
            let _ = udr.stored(move |store| store.remove_context(&of, kind::SDM, &id)).await;
        }
    }
}
