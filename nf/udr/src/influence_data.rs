//! Influence of application functions on the routes of traffic (TS 29.519, 6.2.5 to 6.2.8; TS
//! 23.502, 4.3.6): a NEF stores the data, PCFs read those of a session and subscribe to changes.
use crate::contexts::{NO_SUBSCRIBER, kind};
use crate::{Udr, problem};
use martlet_interop::SbiQuirk;
use martlet_nf::callbacks;
use martlet_sbi::{Created, Problem, StatusReply};
use martlet_sbi_api::common::{Dnn, Snssai, Supi};
use martlet_sbi_api::nudr_callback::UdrPolicyCallbackClient;
use martlet_sbi_api::nudr_dr::{
    ANY_UE, InfluenceDataQuery, TrafficInfluData, TrafficInfluDataNotif, TrafficInfluSub,
};
use martlet_store::Store;
use serde::de::DeserializeOwned;
use std::sync::atomic::Ordering;

/// Maximum number of influence data: each session's PCF reads all of them.
const MAX_INFLUENCE_DATA: usize = 1_000;
/// Maximum length of their identity.
const MAX_IDENTITY: usize = 128;
/// The members that identify a subscription beside where its notifications go.
const SUBSCRIPTION: [&str; 7] = [
    "notificationUri",
    "dnns",
    "snssais",
    "internalGroupIds",
    "internalGroupIdsAdd",
    "subscriberCatList",
    "supis",
];

/// Which data a consumer asks for. An empty list matches everything.
#[derive(Default)]
struct Filter<'a> {
    dnns: &'a [Dnn],
    snssais: &'a [Snssai],
    groups: Vec<&'a str>,
    categories: &'a [String],
    supis: &'a [Supi],
}

fn slice<T>(list: Option<&Vec<T>>) -> &[T] {
    list.map_or(&[], Vec::as_slice)
}

impl<'a> Filter<'a> {
    fn of_query(query: &'a InfluenceDataQuery) -> Self {
        let groups = [&query.internal_group_ids, &query.internal_group_ids_add];
        let groups = groups.into_iter().flatten().flat_map(|list| &list.0);
        Filter {
            dnns: slice(query.dnns.as_ref().map(|list| &list.0)),
            snssais: slice(query.snssais.as_ref().map(|list| &list.0)),
            groups: groups.map(String::as_str).collect(),
            categories: slice(query.subscriber_categories.as_ref().map(|list| &list.0)),
            supis: slice(query.supis.as_ref().map(|list| &list.0)),
        }
    }

    fn of_subscription(subscription: &'a TrafficInfluSub) -> Self {
        let groups = [&subscription.internal_group_ids, &subscription.internal_group_ids_add];
        Filter {
            dnns: slice(subscription.dnns.as_ref()),
            snssais: slice(subscription.snssais.as_ref()),
            groups: groups.into_iter().flatten().flatten().map(String::as_str).collect(),
            categories: slice(subscription.subscriber_cat_list.as_ref()),
            supis: slice(subscription.supis.as_ref()),
        }
    }

    /// Whether data apply to one of the sessions. Data without data network or slice apply to all.
    fn matches(&self, data: &TrafficInfluData) -> bool {
        fn is_in<T>(list: &[T], one: Option<&T>, equal: impl Fn(&T, &T) -> bool) -> bool {
            list.is_empty() || one.is_none_or(|one| list.iter().any(|other| equal(other, one)))
        }
        let groups = || data.inter_group_id.iter().chain(data.inter_group_id_list.iter().flatten());
        let is_of_ue = self.supis.is_empty() && self.groups.is_empty()
            || data.supi.as_ref().is_some_and(|supi| self.supis.contains(supi))
            || groups().any(|group| group == ANY_UE || self.groups.contains(&group.as_str()));
        let is_of_category = self.categories.is_empty()
            || data.subscriber_cat_list.as_ref().is_none_or(|categories| {
                categories.iter().any(|category| self.categories.contains(category))
            });
        is_in(self.dnns, data.dnn.as_ref(), |a, b| a.eq_ignore_ascii_case(b))
            && is_in(self.snssais, data.snssai.as_ref(), |a, b| a == b)
            && is_of_ue
            && is_of_category
    }
}

/// 400 unless the data say whose traffic, and which.
fn check(influence_id: &str, data: &TrafficInfluData) -> Result<(), Problem> {
    if influence_id.is_empty() || influence_id.len() > MAX_IDENTITY {
        return Err(Problem::mandatory_ie_incorrect(
            "influenceId",
            "it does not have 1 to 128 octets",
        ));
    }
    let has_ue =
        [data.supi.is_some(), data.inter_group_id.is_some(), data.inter_group_id_list.is_some()];
    let has_traffic = [
        data.af_app_id.is_some(),
        data.traffic_filters.is_some(),
        data.eth_traffic_filters.is_some(),
    ];
    let names = ["supi, interGroupId and interGroupIdList", "afAppId and the traffic filters"];
    for (present, names) in [has_ue, has_traffic].iter().zip(names) {
        if present.iter().filter(|is_present| **is_present).count() != 1 {
            return Err(Problem::new(400, "MANDATORY_IE_MISSING")
                .detail(format!("influence data have one of {names} (TS 29.519, 6.4.2.2)")));
        }
    }
    Ok(())
}

impl Udr {
    /// A context that belongs to no subscriber.
    pub(crate) async fn without_subscriber<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        key: &str,
    ) -> Result<Option<T>, Problem> {
        let key = key.to_string();
        let found = self.serve(move |store| store.context(NO_SUBSCRIBER, kind, &key)).await?;
        let read = |json: String| martlet_erased::from_json(json.as_bytes());
        found.map(|json| read(json).map_err(problem::of_json)).transpose()
    }

    /// All contexts of a kind that belong to no subscriber, with their keys.
    async fn all_without_subscriber<T: DeserializeOwned>(
        &self,
        kind: &'static str,
    ) -> Result<Vec<(String, T)>, Problem> {
        let found = self.serve(move |store| store.contexts(NO_SUBSCRIBER, kind)).await?;
        let parsed =
            |(key, json): (String, String)| Ok((key, martlet_erased::from_json(json.as_bytes())?));
        found.into_iter().map(|entry| parsed(entry).map_err(problem::of_json)).collect()
    }

    fn influence_uri(&self, path: &str) -> String {
        format!("{}/nudr-dr/v2/application-data/influenceData/{path}", self.context.api_root())
    }

    /// The data that a query selects.
    pub(crate) async fn influence_data(
        &self,
        query: &InfluenceDataQuery,
    ) -> Result<Vec<TrafficInfluData>, Problem> {
        let all = self.all_without_subscriber::<TrafficInfluData>(kind::INFLUENCE).await?;
        let filter = Filter::of_query(query);
        let is_asked = |id: &String| query.influence_ids.as_ref().is_none_or(|l| l.0.contains(id));
        let selected = all.into_iter().filter(|(id, data)| is_asked(id) && filter.matches(data));
        Ok(selected.map(|(_, data)| data).collect())
    }

    /// Stores data, and notifies of them.
    pub(crate) async fn put_influence_data(
        &self,
        influence_id: &str,
        mut data: TrafficInfluData,
    ) -> Result<StatusReply<TrafficInfluData>, Problem> {
        check(influence_id, &data)?;
        let before = self.without_subscriber(kind::INFLUENCE, influence_id).await?;
        if before.is_none() {
            let held = self.serve(|store| store.contexts(NO_SUBSCRIBER, kind::INFLUENCE)).await?;
            if held.len() >= MAX_INFLUENCE_DATA {
                return Err(Problem::new(403, "QUOTA_EXCEEDED").detail(format!(
                    "the limit of {MAX_INFLUENCE_DATA} influence data is reached"
                )));
            }
        }
        let location = self.influence_uri(influence_id);
        data.res_uri = Some(location.clone());
        let (id, json) =
            (influence_id.to_string(), serde_json::to_string(&data).map_err(problem::of_json)?);
        let put =
            move |store: &Store| store.put_context(NO_SUBSCRIBER, kind::INFLUENCE, &id, &json);
        let is_new = self.serve(put).await?;
        self.notify_of_influence(&location, before.as_ref(), Some(&data)).await;
        Ok(match is_new {
            true => StatusReply::created(location, data),
            false => StatusReply::no_content(),
        })
    }

    /// Removes data, and notifies of it.
    pub(crate) async fn delete_influence_data(&self, influence_id: &str) -> Result<(), Problem> {
        let before = self.without_subscriber(kind::INFLUENCE, influence_id).await?;
        self.remove(NO_SUBSCRIBER, kind::INFLUENCE, influence_id, "DATA_NOT_FOUND").await?;
        self.notify_of_influence(&self.influence_uri(influence_id), before.as_ref(), None).await;
        Ok(())
    }

    /// Subscribes to changes. A consumer that subscribes again has lost its subscription, which is
    /// replaced.
    pub(crate) async fn subscribe_to_influence_data(
        &self,
        mut body: TrafficInfluSub,
    ) -> Result<Created<TrafficInfluSub>, Problem> {
        self.context.check_callback(&body.notification_uri).await?;
        let selectors = [
            body.dnns.is_some(),
            body.snssais.is_some(),
            body.internal_group_ids.is_some(),
            body.internal_group_ids_add.is_some(),
            body.supis.is_some(),
        ];
        let count = selectors.into_iter().filter(|is_present| *is_present).count();
        let peer = callbacks::authority(&body.notification_uri).unwrap_or_default();
        if count != 1 && !self.context.tolerates(SbiQuirk::InfluenceSelectors, peer) {
            return Err(Problem::new(400, "MANDATORY_IE_INCORRECT").detail(
                "one of dnns, snssais, internalGroupIds, internalGroupIdsAdd and supis has to \
                 be there",
            ));
        }
        let id = self.last_subscription.fetch_add(1, Ordering::Relaxed).to_string();
        body.imm_reports = None;
        self.store_subscription(kind::INFLUENCE_CHANGES, &id, &body, &SUBSCRIPTION).await?;
        if body.imm_rep == Some(true) {
            let all = self.all_without_subscriber::<TrafficInfluData>(kind::INFLUENCE).await?;
            let filter = Filter::of_subscription(&body);
            let matching = all.into_iter().filter(|(_, data)| filter.matches(data));
            let report = |(id, data): (String, TrafficInfluData)| TrafficInfluDataNotif {
                res_uri: self.influence_uri(&id),
                traffic_influ_data: Some(data),
            };
            let reports: Vec<_> = matching.map(report).collect();
            body.imm_reports = (!reports.is_empty()).then_some(reports);
        }
        let location = self.influence_uri(&format!("subs-to-notify/{id}"));
        Ok(Created { location, body })
    }

    /// Notifies those whose sessions the data apply to, or applied to: for the latter they are
    /// removed. The notifications leave after the response.
    async fn notify_of_influence(
        &self,
        uri: &str,
        before: Option<&TrafficInfluData>,
        after: Option<&TrafficInfluData>,
    ) {
        let all = self.all_without_subscriber::<TrafficInfluSub>(kind::INFLUENCE_CHANGES).await;
        let Ok(subscriptions) = all else { return };
        let mut notifications = Vec::new();
        for (id, subscription) in subscriptions {
            if subscription.expiry.as_ref().is_some_and(|expiry| expiry.remaining().is_zero()) {
                let remove = move |store: &Store| {
                    store.remove_context(NO_SUBSCRIBER, kind::INFLUENCE_CHANGES, &id)
                };
                let _ = self.stored(remove).await;
                continue;
            }
            let filter = Filter::of_subscription(&subscription);
            let data = after.filter(|data| filter.matches(data));
            if data.is_none() && !before.is_some_and(|data| filter.matches(data)) {
                continue;
            }
            let notification =
                TrafficInfluDataNotif { res_uri: uri.into(), traffic_influ_data: data.cloned() };
            notifications.push((subscription.notification_uri, notification));
        }
        if notifications.is_empty() {
            return;
        }
        let client = UdrPolicyCallbackClient::new(self.context.callback_peer());
        tokio::spawn(async move {
            for (uri, notification) in notifications {
                let sent = client.influence_data_change_notification(&uri, vec![notification]);
                if let Err(problem) = sent.await {
                    tracing::info!(uri, %problem, "influence data notification failed");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(json: serde_json::Value) -> TrafficInfluData {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn data_match_the_sessions_that_they_apply_to() {
        let query = InfluenceDataQuery {
            dnns: Some(martlet_sbi_api::Repeated(vec!["internet".parse().unwrap()])),
            snssais: Some(martlet_sbi_api::Json(vec![Snssai::new(1, None)])),
            internal_group_ids: Some(martlet_sbi_api::Repeated(vec!["group".into()])),
            supis: Some(martlet_sbi_api::Repeated(vec!["imsi-001010000000001".parse().unwrap()])),
            ..Default::default()
        };
        let filter = Filter::of_query(&query);
        let of = |changes: serde_json::Value| {
            let mut all = serde_json::json!({"afAppId": "app", "supi": "imsi-001010000000001",
                "dnn": "Internet", "snssai": {"sst": 1}});
            for (name, value) in changes.as_object().unwrap() {
                all[name] = value.clone();
            }
            filter.matches(&data(all))
        };
        assert!(of(serde_json::json!({})));
        assert!(of(serde_json::json!({"dnn": null, "snssai": null})));
        assert!(of(serde_json::json!({"supi": null, "interGroupId": "AnyUE"})));
        assert!(of(serde_json::json!({"supi": null, "interGroupIdList": ["other", "group"]})));
        assert!(!of(serde_json::json!({"dnn": "ims"})));
        assert!(!of(serde_json::json!({"snssai": {"sst": 1, "sd": "010203"}})));
        assert!(!of(serde_json::json!({"supi": "imsi-001010000000002"})));
        assert!(!of(serde_json::json!({"supi": null, "interGroupId": "other"})));
        // Without a filter, all.
        assert!(
            Filter::default().matches(&data(serde_json::json!({"supi": "imsi-001010000000009"})))
        );
    }

    #[test]
    fn data_name_one_kind_of_ue_and_of_traffic() {
        let supi = "imsi-001010000000001";
        let good = data(serde_json::json!({"supi": supi, "afAppId": "app"}));
        assert!(check("one", &good).is_ok());
        assert!(check("", &good).is_err() && check(&"x".repeat(129), &good).is_err());
        for bad in [
            serde_json::json!({"supi": supi}),
            serde_json::json!({"afAppId": "app"}),
            serde_json::json!({"supi": supi, "interGroupId": "g", "afAppId": "app"}),
            serde_json::json!({"supi": supi, "afAppId": "app", "trafficFilters": []}),
        ] {
            assert_eq!(check("one", &data(bad)).unwrap_err().cause(), "MANDATORY_IE_MISSING");
        }
    }
}
