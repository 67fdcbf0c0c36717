//! Namf_EventExposure (TS 29.518, 5.3).
use crate::Amf;
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::namf_event_exposure::{
    AmfCreateEventSubscription, AmfCreatedEventSubscription, AmfEventExposure,
};

impl AmfEventExposure for Amf {
    async fn create_subscription(
        &self,
        body: AmfCreateEventSubscription,
    ) -> Result<Created<AmfCreatedEventSubscription>, Problem> {
        self.context.check_callback(&body.subscription.event_notify_uri).await?;
        let id = self.subscribe_events(&body.subscription)?;
        let location = format!("{}/namf-evts/v1/subscriptions/{id}", self.context.api_root());
        let created = AmfCreatedEventSubscription {
            subscription: body.subscription,
            subscription_id: location.clone(),
            report_list: None,
        };
        Ok(Created { location, body: created })
    }

    async fn delete_subscription(&self, subscription_id: &str) -> Result<(), Problem> {
        self.unsubscribe_events(subscription_id)
    }
}
