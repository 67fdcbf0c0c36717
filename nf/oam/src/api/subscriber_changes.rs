//! Groups of subscribers, and changes of many subscribers as a job with a preview.
use super::subscriber_body::{differences, tagged};
use super::subscribers::{Filter, check_supi};
use crate::caller::Caller;
use crate::jobs::{Job, Running};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::subscriber_groups::GroupView;
use aws_lc_rs::digest;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use martlet_store::{Store, StoreError, Subscriber};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Rows that are read at once.
const CHUNK: usize = 500;
/// Subscribers that are changed before the progress is shown.
const STEP: usize = 100;
/// Subscribers whose difference is in the result.
const MAX_SHOWN: usize = 20;
/// Subscribers that a request may name.
const MAX_NAMED: usize = 10_000;
/// Which subscribers: those that fit everything that is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// All subscribers.
    #[serde(default)]
    all: bool,
    /// Of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "sensors")]
    group: Option<String>,
    /// First digits of the IMSI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imsi: Option<String>,
    /// With this data network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dnn: Option<String>,
    /// With a slice of this SST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sst: Option<u8>,
    /// These subscribers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    supis: Vec<String>,
}

/// New values of a data network, in each slice that has it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataNetworkChange {
    /// DNN.
    #[schema(example = "internet")]
    name: String,
    /// Session AMBR uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "100 Mbps")]
    ambr_uplink: Option<String>,
    /// Session AMBR downlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ambr_downlink: Option<String>,
    /// 5QI of the default flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    five_qi: Option<u8>,
    /// ARP priority level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 15)]
    arp_priority: Option<u8>,
}

/// A change of many subscribers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "select": {"group": "sensors"}, "ambr_uplink": "5 Mbps", "dry_run": true
}))]
pub struct ManyChange {
    /// Which subscribers.
    select: Selection,
    /// UE AMBR uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ambr_uplink: Option<String>,
    /// UE AMBR downlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ambr_downlink: Option<String>,
    /// Values of a data network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_network: Option<DataNetworkChange>,
    /// Groups that they join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    add_groups: Vec<String>,
    /// Groups that they leave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remove_groups: Vec<String>,
    /// Whether only to report what would change.
    #[serde(default)]
    dry_run: bool,
    /// `version` of the preview: if subscribers were changed since, nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

impl ManyChange {
    fn check(&self) -> Result<(), Failure> {
        let select = &self.select;
        let is_given = select.all
            || select.group.is_some()
            || select.imsi.is_some()
            || select.dnn.is_some()
            || select.sst.is_some()
            || !select.supis.is_empty();
        if !is_given {
            let remedy = "write a group, first digits, a data network, an SST, SUPIs, or all: true";
            return Err(Failure::field("select", "no subscriber is selected", remedy));
        }
        if select.supis.len() > MAX_NAMED {
            return Err(Failure::field("select.supis", "too many", "write 10000 at most"));
        }
        select.supis.iter().try_for_each(|supi| {
            check_supi(supi).map_err(|failure| failure.with_fields(|_| "select.supis".into()))
        })?;
        let imsi = select.imsi.as_deref().unwrap_or_default();
        if imsi.len() > 15 || !imsi.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Failure::field("select.imsi", "not an IMSI", "write up to 15 digits"));
        }
        let changes = self.ambr_uplink.is_some()
            || self.ambr_downlink.is_some()
            || self.data_network.is_some()
            || !self.add_groups.is_empty()
            || !self.remove_groups.is_empty();
        if !changes {
            let remedy = "write ambr_uplink, ambr_downlink, data_network, add_groups or \
                          remove_groups";
            return Err(Failure::field("body", "nothing is changed", remedy));
        }
        // The values are wrong for each subscriber or for none.
        let mut sample = Subscriber::new(
            "imsi-001010000000001",
            martlet_store::Secret([0; 16]),
            martlet_store::Secret([0; 16]),
            self.data_network.as_ref().map_or("internet", |network| &network.name),
        );
        self.apply(&mut sample);
        sample.check().map_err(|invalid| {
            let failure = Failure::from(StoreError::from(invalid));
            failure.with_fields(|field| match field.strip_prefix("slices.dnns.") {
                Some(rest) => format!("data_network.{rest}"),
                None if field == "groups" => "add_groups".into(),
                None => field.to_string(),
            })
        })
    }

    fn admits(&self, subscriber: &Subscriber) -> bool {
        let Selection { group, dnn, sst, imsi, supis, .. } = &self.select;
        let digits = subscriber.supi.trim_start_matches("imsi-");
        Filter { group: group.as_deref(), dnn: dnn.as_deref(), sst: *sst }.admits(subscriber)
            && imsi.as_ref().is_none_or(|imsi| digits.starts_with(imsi.as_str()))
            && (supis.is_empty() || supis.contains(&subscriber.supi))
    }

    fn apply(&self, subscriber: &mut Subscriber) {
        let set = |to: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                to.clone_from(value);
            }
        };
        set(&mut subscriber.ambr_uplink, &self.ambr_uplink);
        set(&mut subscriber.ambr_downlink, &self.ambr_downlink);
        if let Some(change) = &self.data_network {
            let dnns = subscriber.slices.iter_mut().flat_map(|slice| &mut slice.dnns);
            for dnn in dnns.filter(|dnn| dnn.name == change.name) {
                set(&mut dnn.ambr_uplink, &change.ambr_uplink);
                set(&mut dnn.ambr_downlink, &change.ambr_downlink);
                dnn.five_qi = change.five_qi.unwrap_or(dnn.five_qi);
                dnn.arp_priority = change.arp_priority.unwrap_or(dnn.arp_priority);
            }
        }
        subscriber.groups.retain(|group| !self.remove_groups.contains(group));
        for group in &self.add_groups {
            if !subscriber.groups.contains(group) {
                subscriber.groups.push(group.clone());
            }
        }
    }
}

/// Passes each selected subscriber on.
fn each_selected(
    store: &Store,
    change: &ManyChange,
    mut with: impl FnMut(&Subscriber) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let supis = &change.select.supis;
    if !supis.is_empty() {
        let mut sorted: Vec<&String> = supis.iter().collect();
        sorted.sort();
        sorted.dedup();
        for supi in sorted {
            let Some(subscriber) = store.subscriber(supi)? else {
                let detail = format!("there is no subscriber {supi}");
                return Err(Failure::field("select.supis", detail, "leave it out"));
            };
            if change.admits(&subscriber) {
                with(&subscriber)?;
            }
        }
        return Ok(());
    }
    let mut after = String::new();
    loop {
        let rows = store.list(&after, CHUNK)?;
        for row in rows.iter().filter(|row| change.admits(row)) {
            with(row)?;
        }
        match rows.last() {
            Some(last) if rows.len() == CHUNK => after = last.supi.clone(),
            _ => return Ok(()),
        }
    }
}

/// What a change does.
struct Preview {
    report: Value,
    version: String,
    supis: Vec<String>,
}

fn preview(store: &Store, change: &ManyChange) -> Result<Preview, Failure> {
    let (mut matching, mut supis, mut first) = (0_u64, Vec::new(), Vec::new());
    let mut fields: BTreeMap<String, u64> = BTreeMap::new();
    let mut hash = digest::Context::new(&digest::SHA256);
    each_selected(store, change, |subscriber| {
        matching += 1;
        hash.update(tagged(subscriber).to_string().as_bytes());
        let mut changed = subscriber.clone();
        change.apply(&mut changed);
        if changed == *subscriber {
            return Ok(());
        }
        changed.check().map_err(|invalid| {
            let supi = &subscriber.supi;
            Failure::conflict(format!("{supi}: {invalid}")).remedy("select others")
        })?;
        let differences = differences(subscriber, &changed)?;
        for difference in &differences {
            let field = difference["field"].as_str().unwrap_or_default();
            *fields.entry(field.to_string()).or_default() += 1;
        }
        if first.len() < MAX_SHOWN {
            first.push(json!({"supi": subscriber.supi, "differences": differences}));
        }
        supis.push(subscriber.supi.clone());
        Ok(())
    })?;
    let version = hex::encode(&hash.finish().as_ref()[..12]);
    let report = json!({
        "matching": matching, "changed": supis.len(), "equal": matching - supis.len() as u64,
        "fields": fields, "first": first, "version": version, "dry_run": change.dry_run,
    });
    Ok(Preview { report, version, supis })
}

/// Changes some subscribers. Each one is changed as it is now, so that a key or a sequence number
/// that was written meanwhile stays.
fn apply(store: &Store, change: &ManyChange, supis: &[String]) -> Result<u64, Failure> {
    let mut done = 0;
    for supi in supis {
        let once = || {
            store.change(supi, |subscriber| {
                change.apply(subscriber);
                Ok::<_, StoreError>(())
            })
        };
        let changed = match once() {
            Err(StoreError::Concurrent(_)) => once()?,
            other => other?,
        };
        done += u64::from(changed.is_some());
    }
    Ok(done)
}

async fn work(
    oam: &Arc<Oam>,
    caller: &Caller,
    change: ManyChange,
    running: Running,
) -> Result<Value, Failure> {
    let change = Arc::new(change);
    let shared = change.clone();
    let Preview { mut report, version, supis } =
        oam.store(move |store| preview(store, &shared)).await?;
    if change.dry_run {
        return Ok(report);
    }
    if change.version.as_ref().is_some_and(|expected| *expected != version) {
        return Err(Failure::conflict("subscribers were changed since the preview")
            .remedy("read a new preview"));
    }
    running.change(|job| job.total = Some(supis.len() as u64));
    // A job that is cancelled or fails has changed some of them: it is recorded before.
    let first = json!({"first": report["first"]});
    let recorded = json!({"change": *change, "fields": report["fields"]});
    let target = format!("{} subscribers", supis.len());
    oam.record(caller, "subscriber.change-many", target, first, recorded).await?;
    let mut done = 0;
    for step in supis.chunks(STEP) {
        let (shared, step) = (change.clone(), step.to_vec());
        done += oam.store(move |store| apply(store, &shared, &step)).await?;
        running.change(|job| job.done = done);
    }
    report["done"] = done.into();
    Ok(report)
}

/// Change many subscribers
///
/// A job. With `dry_run` its result is a preview: the numbers of matching, changed and equal
/// subscribers, the fields that change, the difference of the first subscribers, and a `version`.
/// Sent with the request, the change is made only if the preview still holds. A job that is
/// cancelled has changed the subscribers that it shows as done.
#[utoipa::path(
    post, path = "/subscriber-changes", tag = "subscribers", request_body = ManyChange,
    responses(
        (status = 202, body = Job, description = "the job, see /jobs/{id}"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong"),
    )
)]
pub async fn start(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(change): Body<ManyChange>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    change.check()?;
    let (shared, by) = (oam.clone(), caller.clone());
    let job = oam.jobs.start("subscriber-change", &caller.name, None, |running| async move {
        work(&shared, &by, change, running).await
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// List groups of subscribers
///
/// A group exists while a subscriber is in it: write `groups` of a subscriber, or add many with
/// `POST /subscriber-changes`.
#[utoipa::path(
    get, path = "/subscriber-groups", tag = "subscribers",
    responses(
        (status = 200, body = Vec<GroupView>, description = "the groups by name"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn groups(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<GroupView>>, Failure> {
    if let Some(known) = oam.groups.get() {
        return Ok(Json(known));
    }
    let found = oam.store(counted).await?;
    oam.groups.set(&found);
    Ok(Json(found))
}

fn counted(store: &Store) -> Result<Vec<GroupView>, Failure> {
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    let mut after = String::new();
    loop {
        let rows = store.list(&after, CHUNK)?;
        for group in rows.iter().flat_map(|row| &row.groups) {
            *numbers.entry(group.clone()).or_default() += 1;
        }
        match rows.last() {
            Some(last) if rows.len() == CHUNK => after = last.supi.clone(),
            _ => break,
        }
    }
    let view = |(name, subscribers)| GroupView { name, subscribers };
    Ok(numbers.into_iter().map(view).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_store::Secret;

    fn store() -> Store {
        let store = Store::in_memory().unwrap();
        let first =
            Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
        let mut all: Vec<_> = (0..12).filter_map(|n| first.nth(n)).collect();
        all[3].groups = vec!["sensors".into()];
        all[4].groups = vec!["sensors".into(), "north".into()];
        store.add(&all, false).unwrap();
        store
    }

    fn change(value: Value) -> ManyChange {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_group_is_changed_as_the_preview_shows() {
        let store = store();
        let change = change(json!({
            "select": {"group": "sensors"}, "ambr_uplink": "5 Mbps", "add_groups": ["slow"],
            "data_network": {"name": "internet", "five_qi": 8},
        }));
        change.check().unwrap();
        let found = preview(&store, &change).unwrap();
        assert_eq!(found.report["matching"], 2);
        let fields: Vec<_> = found.report["fields"].as_object().unwrap().keys().collect();
        assert_eq!(fields, ["ambr_uplink", "groups", "slices[0].dnns[0].five_qi"]);
        assert_eq!(apply(&store, &change, &found.supis).unwrap(), 2);
        let again = preview(&store, &change).unwrap();
        assert_eq!(
            (again.report["changed"].clone(), again.report["equal"].clone()),
            (0.into(), 2.into())
        );
        assert_ne!(again.version, found.version, "a preview holds until a change");
        let one = store.subscriber("imsi-001010000000005").unwrap().unwrap();
        assert_eq!(one.groups, ["sensors", "north", "slow"]);
        let other = store.subscriber("imsi-001010000000006").unwrap().unwrap();
        assert_eq!((other.ambr_uplink.as_str(), other.groups.len()), ("1 Gbps", 0));
        let names: Vec<_> =
            counted(&store).unwrap().into_iter().map(|g| (g.name, g.subscribers)).collect();
        assert_eq!(names, [("north".into(), 1), ("sensors".into(), 2), ("slow".into(), 2)]);
    }

    #[test]
    fn an_authentication_meanwhile_is_no_change_of_the_preview() {
        let store = store();
        let change = change(json!({"select": {"all": true}, "ambr_uplink": "5 Mbps"}));
        let version = preview(&store, &change).unwrap().version;
        assert!(store.advance_sqn("imsi-001010000000002", 0, 32).unwrap());
        assert_eq!(preview(&store, &change).unwrap().version, version);
        apply(&store, &change, &["imsi-001010000000002".into()]).unwrap();
        assert_eq!(store.subscriber("imsi-001010000000002").unwrap().unwrap().sqn, 32);
    }

    #[test]
    fn wrong_values_name_their_field() {
        let field = |value: Value| {
            change(value).check().unwrap_err().problem().field.clone().unwrap_or_default()
        };
        let all = || json!({"all": true});
        assert_eq!(field(json!({"select": {}, "ambr_uplink": "1 Gbps"})), "select");
        assert_eq!(field(json!({"select": all()})), "body");
        assert_eq!(field(json!({"select": all(), "ambr_uplink": "fast"})), "ambr_uplink");
        assert_eq!(field(json!({"select": all(), "add_groups": ["a b"]})), "add_groups");
        let network = json!({"name": "internet", "five_qi": 0});
        let wrong = json!({"select": all(), "data_network": network});
        assert_eq!(field(wrong), "data_network.five_qi");
        let wrong = json!({"select": {"supis": ["x"]}, "ambr_uplink": "1 Gbps"});
        assert_eq!(field(wrong), "select.supis");
    }
}
