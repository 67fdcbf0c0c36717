//! Notification of subscription data changes: from the UDR (Nudr_DR_Notify) to AMFs and SMFs
//! (Nudm_SDM_Notification; TS 23.502, 4.5.1; TS 29.503, 5.2.2.5).
use crate::Udm;
use martlet_nf::Criteria;
use martlet_sbi::{Problem, path_segment};
use martlet_sbi_api::common::NotifyItem;
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_sdm::ModificationNotification;
use martlet_sbi_api::nudr_callback::UdrDataCallback;
use martlet_sbi_api::nudr_dr::{
    DataChangeNotify, SubscriptionDataSubscriptions, UdrDataRepositoryClient,
};
use std::time::Duration;

/// Interval of attempts to subscribe at the UDR.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Subscribes at the UDR to changes of all subscribers; retries until it succeeds. Subscribing
/// again after a restart replaces the subscription.
pub async fn subscribe(udm: &Udm) {
    let root = udm.context.api_root();
    let subscription = SubscriptionDataSubscriptions {
        callback_reference: format!("{root}/nudr-data-callback/v1/data-change"),
        monitored_resource_uris: vec!["nudr-dr/v2/subscription-data".into()],
        ue_id: None,
        original_callback_reference: None,
        expiry: None,
        sdm_subscription: None,
        subscription_id: None,
        unique_subscription: None,
        supported_features: None,
        immediate_report: None,
    };
    loop {
        // Wait before the first attempt too: a discovery result without a UDR would be cached, and
        // reject UEs while it is.
        tokio::time::sleep(RETRY_INTERVAL).await;
        let result: Result<_, Problem> = async {
            let peer = udm.context.discover(NfType::Udr, "nudr-dr", &Criteria::default()).await?;
            UdrDataRepositoryClient::new(peer)
                .subscription_data_subscriptions(subscription.clone())
                .await
        }
        .await;
        match result {
            Ok(_) => return tracing::debug!("subscribed to data changes"),
            Err(problem) => {
                tracing::debug!(%problem, "subscription to data changes failed, will retry")
            }
        }
    }
}

impl UdrDataCallback for Udm {
    async fn on_data_change(&self, body: DataChangeNotify) -> Result<(), Problem> {
        let Some(supi) = body.ue_id else {
            return Err(Problem::new(400, "MANDATORY_IE_MISSING").detail("ueId"));
        };
        // The notification names the UDM's resource, not the UDR's.
        let root = self.context.api_root();
        let resource_id = format!("{root}/nudm-sdm/v2/{}", path_segment(&supi));
        let changes =
            body.notify_items.into_iter().flatten().flat_map(|item| item.changes).collect();
        let notify_items = vec![NotifyItem { resource_id, changes }];
        for reference in
            body.original_callback_reference.into_iter().flatten().filter(|uri| !uri.is_empty())
        {
            let notification = ModificationNotification {
                notify_items: notify_items.clone(),
                subscription_id: None,
            };
            // AMFs and SMFs receive the same message, each at its callback URI.
            let consumer = AmfCallbackClient::new(self.context.callback_peer().about(&supi));
            let supi = supi.clone();
            martlet_nf::spawn(async move {
                if let Err(problem) = consumer.sdm_change_notify(&reference, notification).await {
                    tracing::info!(
                        supi,
                        uri = reference,
                        %problem,
                        "data change notification failed"
                    );
                }
            });
        }
        Ok(())
    }
}
