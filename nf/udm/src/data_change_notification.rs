//! Changes of subscription data on their way from the UDR to AMFs and SMFs (TS 23.502, 4.5.1; TS
//! 29.503, 5.2.2.5).
use crate::Udm;
use martlet_nf::Criteria;
use martlet_sbi::Problem;
use martlet_sbi_api::common::NotifyItem;
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_sdm::ModificationNotification;
use martlet_sbi_api::nudr_callback::UdrDataCallback;
use martlet_sbi_api::nudr_dr::{
    DataChangeNotify, SubscriptionDataSubscriptions, UdrDataRepositoryClient,
};
use std::time::Duration;

/// Between attempts to reach a UDR that is not there yet.
const PAUSE: Duration = Duration::from_millis(200);

/// Asks the UDR to tell of changes of any subscriber, however long it takes. The UDR keeps it, and
/// this UDM asks for the same after each start.
pub async fn subscribe(udm: &Udm) {
    let root = udm.context.api_root();
    let wanted = SubscriptionDataSubscriptions {
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
        // First a moment: that there is no UDR yet, as the NRF would say now, is remembered for a
        // while and refuses UEs.
        tokio::time::sleep(PAUSE).await;
        let made: Result<_, Problem> = async {
            let peer = udm.context.discover(NfType::Udr, "nudr-dr", &Criteria::default()).await?;
            UdrDataRepositoryClient::new(peer).subscription_data_subscriptions(wanted.clone()).await
        }
        .await;
        match made {
            Ok(_) => return tracing::debug!("the UDR tells of changes"),
            Err(problem) => tracing::debug!(%problem, "the UDR does not tell of changes yet"),
        }
    }
}

impl UdrDataCallback for Udm {
    async fn on_data_change(&self, body: DataChangeNotify) -> Result<(), Problem> {
        let Some(supi) = body.ue_id else {
            return Err(Problem::new(400, "MANDATORY_IE_MISSING").detail("ueId"));
        };
        // The subscriber's data as the UDM offers them stand for those of the UDR.
        let resource_id = format!("{}/nudm-sdm/v2/{supi}", self.context.api_root());
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
            // AMFs and SMFs take the same message, each at the URI that it gave.
            let consumer = AmfCallbackClient::new(self.context.callback_peer().about(&supi));
            let supi = supi.clone();
            tokio::spawn(async move {
                if let Err(problem) = consumer.sdm_change_notify(&reference, notification).await {
                    tracing::info!(supi, to = reference, %problem, "a change of a subscription was not told");
                }
            });
        }
        Ok(())
    }
}
