//! Nudr_DataRepository (TS 29.504, 5.2; TS 29.505; TS 29.519).
use crate::contexts::{NO_SUBSCRIBER, SINGLE, kind};
use crate::{Udr, problem, provisioned};
use martlet_nf::callbacks::check_share;
use martlet_sbi::{Created, JsonPatch, PatchError, Problem, StatusReply, path_segment};
use martlet_sbi_api::common::{DateTime, PatchResult};
use martlet_sbi_api::nudm_sdm::{
    AccessAndMobilitySubscriptionData, SdmSubscription, SmSubsData, SmfSelectionSubscriptionData,
};
use martlet_sbi_api::nudm_ueau::AuthEvent;
use martlet_sbi_api::nudm_uecm::{Amf3GppAccessRegistration, FeaturesQuery, SmfRegistration};
use martlet_sbi_api::nudr_dr::{
    AmPolicyData, AuthenticationSubscription, FieldsQuery, IdentityData, InfluenceDataQuery,
    PolicyDataSubscription, PolicyFeaturesQuery, ProvisionedDataQuery, ProvisionedDataSets,
    SmDataQuery, SmPolicyData, SmPolicyDataQuery, SubscriptionDataSubscriptions, TrafficInfluData,
    TrafficInfluSub, UdrDataRepository,
};
use martlet_store::{Store, Urgency};
use std::sync::atomic::Ordering;

/// The only member of authentication data that can be modified (TS 29.504, 5.2.2.4).
const SQN: &str = "/sequenceNumber/sqn";

impl UdrDataRepository for Udr {
    async fn query_auth_subs_data(
        &self,
        ue_id: &str,
        _: FeaturesQuery,
    ) -> Result<AuthenticationSubscription, Problem> {
        let found = self.cut_off.or_refuse(self.data.for_authentication(ue_id)).await?;
        provisioned::authentication_subscription(&*found.ok_or_else(|| crate::unknown(ue_id))?)
    }

    async fn modify_authentication_subscription(
        &self,
        ue_id: &str,
        body: JsonPatch,
    ) -> Result<Option<PatchResult>, Problem> {
        let states = self.cut_off.or_refuse(self.data.before_advance(ue_id)).await?;
        let mut outcome = Err(crate::unknown(ue_id));
        // Of several authentications at the same time, the patch tests for the number of its own.
        for subscriber in states {
            let stored = provisioned::authentication_subscription(&subscriber)?;
            let patched = body.apply_to(&stored).map_err(PatchError::into_problem);
            let is_match = patched.is_ok();
            outcome = patched.map(|patched| (subscriber, stored, patched));
            if is_match {
                break;
            }
        }
        let (subscriber, stored, patched) = outcome?;
        // Whatever the operations are, their result counts.
        let sequence_number = stored.sequence_number.clone();
        if (AuthenticationSubscription { sequence_number, ..patched.clone() }) != stored {
            return Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED")
                .detail("only the sequence number of authentication data can be modified"));
        }
        let text = patched.sequence_number.and_then(|number| number.sqn).unwrap_or_default();
        let valid = text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let next = valid.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        let next = next.ok_or_else(|| {
            Problem::mandatory_ie_incorrect(SQN, "it is not twelve hexadecimal digits")
        })?;
        // The answer leaves after the commit: the UDM makes a vector of a durable number only.
        let advanced = self.data.advance_sqn(ue_id, subscriber.sqn, next).await;
        match advanced.map_err(problem::of_store)? {
            true => Ok(None),
            false => Err(Problem::new(409, "MODIFICATION_CONFLICT")
                .detail("the sequence number was modified concurrently")),
        }
    }

    async fn create_authentication_status(
        &self,
        ue_id: &str,
        body: AuthEvent,
    ) -> Result<(), Problem> {
        // The AMF's registration follows.
        let put = self.put(ue_id, kind::AUTHENTICATION, SINGLE, body, Urgency::WithNext).await;
        put.map(drop)
    }

    async fn query_authentication_status(
        &self,
        ue_id: &str,
        _: FieldsQuery,
    ) -> Result<AuthEvent, Problem> {
        self.get(ue_id, kind::AUTHENTICATION, SINGLE, "DATA_NOT_FOUND").await
    }

    async fn delete_authentication_status(&self, ue_id: &str) -> Result<(), Problem> {
        self.remove(ue_id, kind::AUTHENTICATION, SINGLE, "DATA_NOT_FOUND").await
    }

    async fn query_provisioned_data(
        &self,
        ue_id: &str,
        _serving_plmn_id: &str,
        query: ProvisionedDataQuery,
    ) -> Result<ProvisionedDataSets, Problem> {
        let subscriber = self.subscriber(ue_id).await?;
        let wanted = |name: &str| {
            query.dataset_names.as_ref().is_none_or(|names| names.0.iter().any(|n| n == name))
        };
        let mut sets = ProvisionedDataSets::default();
        if wanted("AM") {
            sets.am_data = Some(provisioned::am_data(&subscriber)?);
        }
        if wanted("SMF_SEL") {
            sets.smf_sel_data = Some(provisioned::smf_selection_data(&subscriber)?);
        }
        if wanted("SM") {
            let (single_nssai, dnn) = (query.single_nssai, query.dnn);
            sets.sm_data = provisioned::sm_data(
                &subscriber,
                &SmDataQuery { single_nssai, dnn, ..Default::default() },
            )?;
        }
        Ok(sets)
    }

    async fn query_am_data(
        &self,
        ue_id: &str,
        _serving_plmn_id: &str,
        _: FieldsQuery,
    ) -> Result<AccessAndMobilitySubscriptionData, Problem> {
        provisioned::am_data(&*self.subscriber(ue_id).await?)
    }

    async fn query_smf_select_data(
        &self,
        ue_id: &str,
        _serving_plmn_id: &str,
        _: FieldsQuery,
    ) -> Result<SmfSelectionSubscriptionData, Problem> {
        provisioned::smf_selection_data(&*self.subscriber(ue_id).await?)
    }

    async fn query_sm_data(
        &self,
        ue_id: &str,
        _serving_plmn_id: &str,
        query: SmDataQuery,
    ) -> Result<SmSubsData, Problem> {
        let data = provisioned::sm_data(&*self.subscriber(ue_id).await?, &query)?;
        data.ok_or_else(|| {
            Problem::new(404, "DATA_NOT_FOUND")
                .detail("the subscription does not include this slice and data network")
        })
    }

    async fn query_amf_context_3gpp(
        &self,
        ue_id: &str,
        _: FieldsQuery,
    ) -> Result<Amf3GppAccessRegistration, Problem> {
        self.get(ue_id, kind::AMF, SINGLE, "CONTEXT_NOT_FOUND").await
    }

    async fn create_amf_context_3gpp(
        &self,
        ue_id: &str,
        body: Amf3GppAccessRegistration,
    ) -> Result<StatusReply<Amf3GppAccessRegistration>, Problem> {
        self.context.check_callback(&body.dereg_callback_uri).await?;
        self.put(ue_id, kind::AMF, SINGLE, body, Urgency::Soon).await
    }

    async fn amf_context_3gpp(
        &self,
        ue_id: &str,
        body: JsonPatch,
    ) -> Result<Option<PatchResult>, Problem> {
        let registered: Amf3GppAccessRegistration =
            self.get(ue_id, kind::AMF, SINGLE, "CONTEXT_NOT_FOUND").await?;
        let changed: Amf3GppAccessRegistration =
            body.apply_to(&registered).map_err(PatchError::into_problem)?;
        self.context.check_callback(&changed.dereg_callback_uri).await?;
        self.put(ue_id, kind::AMF, SINGLE, changed, Urgency::Soon).await?;
        Ok(None)
    }

    async fn query_smf_reg_list(
        &self,
        ue_id: &str,
        _: FeaturesQuery,
    ) -> Result<Vec<SmfRegistration>, Problem> {
        self.all(ue_id, kind::SMF).await
    }

    async fn query_smf_registration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
        _: FieldsQuery,
    ) -> Result<SmfRegistration, Problem> {
        self.get(ue_id, kind::SMF, pdu_session_id, "CONTEXT_NOT_FOUND").await
    }

    async fn create_or_update_smf_registration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
        body: SmfRegistration,
    ) -> Result<StatusReply<SmfRegistration>, Problem> {
        if pdu_session_id.parse::<u8>().is_err() {
            return Err(Problem::mandatory_ie_incorrect(
                "pduSessionId",
                "it is not a number up to 255",
            ));
        }
        self.put(ue_id, kind::SMF, pdu_session_id, body, Urgency::Soon).await
    }

    async fn delete_smf_registration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
    ) -> Result<(), Problem> {
        self.remove(ue_id, kind::SMF, pdu_session_id, "CONTEXT_NOT_FOUND").await
    }

    async fn query_sdm_subscriptions(
        &self,
        ue_id: &str,
        _: FeaturesQuery,
    ) -> Result<Vec<SdmSubscription>, Problem> {
        let mut all: Vec<SdmSubscription> = self.all(ue_id, kind::SDM).await?;
        all.retain(|subscription| !is_over(subscription));
        Ok(all)
    }

    async fn create_sdm_subscriptions(
        &self,
        ue_id: &str,
        body: SdmSubscription,
    ) -> Result<Created<SdmSubscription>, Problem> {
        if !body.callback_reference.is_empty() {
            self.context.check_callback(&body.callback_reference).await?;
        }
        let mut body = body;
        let all: Vec<SdmSubscription> = self.all(ue_id, kind::SDM).await?;
        let (over, held): (Vec<_>, Vec<_>) = all.into_iter().partition(is_over);
        for id in over.into_iter().filter_map(|subscription| subscription.subscription_id) {
            let _ = self.remove_sdm_subscriptions(ue_id, &id).await;
        }
        let again = held.iter().find(|held| is_again(held, &body));
        let again = again.and_then(|held| held.subscription_id.clone());
        if again.is_none() {
            let max = self.config.max_subscriptions;
            if held.len() >= max {
                return Err(Problem::new(403, "QUOTA_EXCEEDED")
                    .detail(format!("{ue_id} has {} subscriptions", held.len())));
            }
            let others = held.iter().map(|held| held.callback_reference.as_str());
            check_share(&body.callback_reference, others, max)?;
        }
        let id = again
            .unwrap_or_else(|| self.last_subscription.fetch_add(1, Ordering::Relaxed).to_string());
        body.subscription_id = Some(id.clone());
        let segment = path_segment(ue_id);
        let location = format!(
            "{}/nudr-dr/v2/subscription-data/{segment}/context-data/sdm-subscriptions/{id}",
            self.context.api_root()
        );
        self.put(ue_id, kind::SDM, &id, body.clone(), Urgency::Soon).await?;
        Ok(Created { location, body })
    }

    async fn remove_sdm_subscriptions(&self, ue_id: &str, subs_id: &str) -> Result<(), Problem> {
        self.remove(ue_id, kind::SDM, subs_id, "SUBSCRIPTION_NOT_FOUND").await
    }

    async fn get_identity_data(&self, ue_id: &str) -> Result<IdentityData, Problem> {
        let supi = match ue_id.starts_with("msisdn-") {
            true => {
                let gpsi = ue_id.to_string();
                self.serve(move |store| store.supi_of(&gpsi)).await?.unwrap_or_default()
            }
            false => ue_id.to_string(),
        };
        provisioned::identity_data(&*self.subscriber(&supi).await?)
    }

    async fn subscription_data_subscriptions(
        &self,
        body: SubscriptionDataSubscriptions,
    ) -> Result<Created<SubscriptionDataSubscriptions>, Problem> {
        self.context.check_callback(&body.callback_reference).await?;
        let mut body = body;
        let id = self.last_subscription.fetch_add(1, Ordering::Relaxed).to_string();
        body.subscription_id = Some(id.clone());
        let location =
            format!("{}/nudr-dr/v2/subscription-data/subs-to-notify/{id}", self.context.api_root());
        self.store_subscription(kind::CHANGES, &id, &body, &CONSUMER).await?;
        Ok(Created { location, body })
    }

    async fn remove_subscription_data_subscriptions(&self, subs_id: &str) -> Result<(), Problem> {
        self.remove(NO_SUBSCRIBER, kind::CHANGES, subs_id, "SUBSCRIPTION_NOT_FOUND").await
    }

    async fn read_access_and_mobility_policy_data(
        &self,
        ue_id: &str,
        _: PolicyFeaturesQuery,
    ) -> Result<AmPolicyData, Problem> {
        self.subscriber(ue_id).await.map(|_| AmPolicyData::default())
    }

    async fn read_session_management_policy_data(
        &self,
        ue_id: &str,
        query: SmPolicyDataQuery,
    ) -> Result<SmPolicyData, Problem> {
        provisioned::sm_policy_data(&*self.subscriber(ue_id).await?, &query)
    }

    async fn create_individual_policy_data_subscription(
        &self,
        body: PolicyDataSubscription,
    ) -> Result<Created<PolicyDataSubscription>, Problem> {
        self.context.check_callback(&body.notification_uri).await?;
        let id = self.last_subscription.fetch_add(1, Ordering::Relaxed).to_string();
        let location =
            format!("{}/nudr-dr/v2/policy-data/subs-to-notify/{id}", self.context.api_root());
        self.store_subscription(kind::POLICY_CHANGES, &id, &body, &CONSUMER).await?;
        Ok(Created { location, body })
    }

    async fn delete_individual_policy_data_subscription(
        &self,
        subs_id: &str,
    ) -> Result<(), Problem> {
        self.remove(NO_SUBSCRIBER, kind::POLICY_CHANGES, subs_id, "SUBSCRIPTION_NOT_FOUND").await
    }

    async fn read_influence_data(
        &self,
        query: InfluenceDataQuery,
    ) -> Result<Vec<TrafficInfluData>, Problem> {
        self.influence_data(&query).await
    }

    async fn create_or_replace_individual_influence_data(
        &self,
        influence_id: &str,
        body: TrafficInfluData,
    ) -> Result<StatusReply<TrafficInfluData>, Problem> {
        self.put_influence_data(influence_id, body).await
    }

    async fn delete_individual_influence_data(&self, influence_id: &str) -> Result<(), Problem> {
        self.delete_influence_data(influence_id).await
    }

    async fn create_individual_influence_data_subscription(
        &self,
        body: TrafficInfluSub,
    ) -> Result<Created<TrafficInfluSub>, Problem> {
        self.subscribe_to_influence_data(body).await
    }

    async fn read_individual_influence_data_subscription(
        &self,
        subscription_id: &str,
    ) -> Result<TrafficInfluSub, Problem> {
        let found = self.without_subscriber(kind::INFLUENCE_CHANGES, subscription_id).await?;
        found.ok_or_else(|| Problem::new(404, "SUBSCRIPTION_NOT_FOUND"))
    }

    async fn delete_individual_influence_data_subscription(
        &self,
        subscription_id: &str,
    ) -> Result<(), Problem> {
        let kind = kind::INFLUENCE_CHANGES;
        self.remove(NO_SUBSCRIBER, kind, subscription_id, "SUBSCRIPTION_NOT_FOUND").await
    }
}

/// Whether an SDM subscription has expired (TS 29.503, 5.2.2.3.2).
pub(crate) fn is_over(subscription: &SdmSubscription) -> bool {
    subscription.expires.as_ref().is_some_and(|end| end.remaining().is_zero())
}

/// Whether a consumer subscribes again: it has lost its subscription, which is replaced. After a
/// restart it may have another identity behind the same callback URI.
fn is_again(held: &SdmSubscription, new: &SdmSubscription) -> bool {
    (held.nf_instance_id == new.nf_instance_id || !new.callback_reference.is_empty())
        && held.callback_reference == new.callback_reference
        && held.monitored_resource_uris == new.monitored_resource_uris
        && (&held.single_nssai, &held.dnn) == (&new.single_nssai, &new.dnn)
}

/// The callback URI of a subscription to changes of subscription data or policy data.
fn uri_of(subscription: &serde_json::Value) -> &str {
    let named = |name: &str| subscription[name].as_str();
    named("callbackReference").or_else(|| named("notificationUri")).unwrap_or_default()
}

/// Maximum number of subscriptions to data changes.
const MAX_CHANGE_SUBSCRIPTIONS: usize = 10_000;

/// The members of a subscription to subscription data or policy data that identify its consumer.
const CONSUMER: [&str; 3] = ["callbackReference", "notificationUri", "ueId"];

impl Udr {
    /// Stores a subscription in place of one with the same values of `consumer`.
    pub(crate) async fn store_subscription<T: serde::Serialize>(
        &self,
        kind: &'static str,
        id: &str,
        body: &T,
        consumer: &[&str],
    ) -> Result<(), Problem> {
        let all = self.serve(|store| store.contexts(NO_SUBSCRIBER, kind)).await?;
        let json = serde_json::to_value(body).map_err(problem::of_json)?;
        let replaced = replaced_by(&json, all, consumer, MAX_CHANGE_SUBSCRIPTIONS)?;
        let (id, json) = (id.to_string(), json.to_string());
        let put = move |store: &Store| store.put_context(NO_SUBSCRIBER, kind, &id, &json);
        self.serve(put).await?;
        for old in replaced {
            self.serve(move |store| store.remove_context(NO_SUBSCRIBER, kind, &old)).await?;
        }
        Ok(())
    }
}

/// The identities of the subscriptions that a new one replaces: a consumer that subscribes again
/// has lost its subscription, and those that have expired have no consumer any more.
///
/// # Errors
/// The other ones reach the limit, or those of the host of the consumer its share.
fn replaced_by(
    new: &serde_json::Value,
    held: Vec<(String, String)>,
    consumer: &[&str],
    max: usize,
) -> Result<Vec<String>, Problem> {
    let (mut replaced, mut others) = (Vec::new(), Vec::new());
    for (id, text) in held {
        let before: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let expiry = before["expiry"].as_str().and_then(|end| end.parse::<DateTime>().ok());
        let is_over = expiry.is_some_and(|end| end.remaining().is_zero());
        match is_over || consumer.iter().all(|name| before[name] == new[name]) {
            true => replaced.push(id),
            false => others.push(uri_of(&before).to_string()),
        }
    }
    if others.len() >= max {
        return Err(Problem::new(403, "QUOTA_EXCEEDED")
            .detail(format!("the limit of {max} subscriptions is reached")));
    }
    check_share(uri_of(new), others.iter().map(String::as_str), max)?;
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_that_subscribes_again_at_the_limit_replaces_its_subscription() {
        const MAX: usize = 4;
        let subscription = |host: usize, ue: &str| {
            let uri = format!("http://127.0.0.{host}:7777/changes");
            serde_json::json!({"callbackReference": uri, "ueId": ue})
        };
        let held = || {
            let all = (1..=MAX).map(|n| (n.to_string(), subscription(n, "imsi-1").to_string()));
            all.collect::<Vec<_>>()
        };
        let replaced = |new| replaced_by(&new, held(), &CONSUMER, MAX);
        assert_eq!(replaced(subscription(2, "imsi-1")).unwrap(), ["2"]);
        for new in [subscription(2, "imsi-2"), subscription(9, "imsi-1")] {
            assert_eq!(replaced(new).unwrap_err().cause(), "QUOTA_EXCEEDED");
        }
    }

    #[test]
    fn an_expired_subscription_makes_room() {
        const MAX: usize = 2;
        let subscription = |host: usize, expiry: Option<DateTime>| {
            let uri = format!("http://127.0.0.{host}:7777/changes");
            serde_json::json!({"callbackReference": uri, "expiry": expiry})
        };
        let replaced = |expiry: Option<DateTime>| {
            let held = [subscription(1, expiry), subscription(2, None)];
            let held = (1..).map(|n: u32| n.to_string()).zip(held.map(|it| it.to_string()));
            replaced_by(&subscription(3, None), held.collect(), &CONSUMER, MAX)
        };
        assert_eq!(replaced(Some(DateTime::now())).unwrap(), ["1"]);
        for expiry in [None, Some(DateTime::after(std::time::Duration::from_secs(60)))] {
            assert_eq!(replaced(expiry).unwrap_err().cause(), "QUOTA_EXCEEDED");
        }
    }

    #[test]
    fn a_restarted_consumer_replaces_its_sdm_subscription() {
        let subscription = |id: &str, uri: &str, dnn: Option<&str>| {
            let monitored = vec!["nudm-sdm/v2/imsi-1/sm-data".to_string()];
            let mut new = SdmSubscription::new(id.parse().unwrap(), uri.into(), monitored);
            new.dnn = dnn.map(|dnn| dnn.parse().unwrap());
            new
        };
        let (one, two) =
            ("6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78", "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f79");
        let held = subscription(one, "http://127.0.0.1/x", None);
        for (id, uri, dnn, expected) in [
            (one, "http://127.0.0.1/x", None, true),
            (two, "http://127.0.0.1/x", None, true),
            (one, "http://127.0.0.2/x", None, false),
            // Each session of an SMF has its own.
            (one, "http://127.0.0.1/x", Some("ims"), false),
        ] {
            let new = subscription(id, uri, dnn);
            assert_eq!(is_again(&held, &new), expected, "{id} {uri} {dnn:?}");
        }
        let without_uri = subscription(one, "", None);
        assert!(!is_again(&without_uri, &subscription(two, "", None)));
        assert!(is_again(&without_uri, &subscription(one, "", None)));
        let ends = |expires| is_over(&SdmSubscription { expires, ..without_uri.clone() });
        assert!(ends(Some(DateTime::now())) && !ends(None));
    }
}
