//! Subscribers.
use super::subscriber_body::{SubscriberBody, SubscriberView, tagged, view};
use crate::caller::Caller;
use crate::page::{self, Body, Order, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::static_addresses;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use martlet_store::{Store, StoreError, Subscriber};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Rows that one request with a filter reads. The page has a cursor for the rest.
const MAX_SCANNED: usize = 2000;
/// Rows that are read at once.
const CHUNK: usize = 500;

/// Which subscribers a page has.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// `next` of the page before.
    cursor: Option<String>,
    /// Number of subscribers, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Order of the SUPIs: `asc` if it is absent, or `desc`.
    #[serde(default)]
    #[param(inline, required = false)]
    order: Order,
    /// First digits of the IMSI, the whole MSISDN, or `nai-` and the beginning of an NAI.
    search: Option<String>,
    /// Only with this data network.
    dnn: Option<String>,
    /// Only with a slice of this SST.
    sst: Option<u8>,
    /// Only of this group.
    group: Option<String>,
}

/// A page of subscribers in the requested order of their SUPI.
#[derive(Serialize, ToSchema)]
pub struct SubscriberPage {
    /// The subscribers. A page with a filter may have fewer than its limit.
    items: Vec<SubscriberView>,
    /// Cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Number of all subscribers; on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// What subscribers have in common.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    /// A data network.
    pub dnn: Option<&'a str>,
    /// The SST of a slice.
    pub sst: Option<u8>,
    /// A group.
    pub group: Option<&'a str>,
}

impl Filter<'_> {
    fn is_empty(&self) -> bool {
        self.dnn.is_none() && self.sst.is_none() && self.group.is_none()
    }

    /// Whether a subscriber has all of it.
    pub fn admits(&self, subscriber: &Subscriber) -> bool {
        let has_dnn = |name: &str| {
            let mut dnns = subscriber.slices.iter().flat_map(|slice| &slice.dnns);
            dnns.any(|dnn| dnn.name == name)
        };
        let has_sst = |sst: u8| subscriber.slices.iter().any(|slice| slice.sst == sst);
        let is_in = |group: &str| subscriber.groups.iter().any(|of| of == group);
        self.dnn.is_none_or(has_dnn) && self.sst.is_none_or(has_sst) && self.group.is_none_or(is_in)
    }
}

impl ListQuery {
    fn filter(&self) -> Filter<'_> {
        Filter { dnn: self.dnn.as_deref(), sst: self.sst, group: self.group.as_deref() }
    }
}

fn page(store: &Store, query: &ListQuery) -> Result<SubscriberPage, Failure> {
    let limit = page::limit(query.limit)?;
    let mut after = page::read_cursor(query.cursor.as_deref())?;
    // SQLite counts by reading an index, which takes a millisecond for 100,000 rows.
    let total = if query.cursor.is_none() { Some(store.count()?) } else { None };
    let search = query.search.as_deref().unwrap_or_default().trim_start_matches("imsi-");
    let is_nai = search.starts_with("nai-");
    if !is_nai && (search.len() > 15 || !search.bytes().all(|b| b.is_ascii_digit())) {
        let remedy = "write up to 15 digits, or nai- and the beginning of the identifier";
        return Err(Failure::field("search", "not an IMSI or MSISDN", remedy));
    }
    let prefix = match search {
        "" => String::new(),
        search if is_nai => search.to_string(),
        search => format!("imsi-{search}"),
    };
    let filter = query.filter();
    let is_descending = query.order == Order::Desc;
    let mut items = Vec::new();
    if !search.is_empty() {
        if after.is_empty() {
            if let Some(supi) = store.supi_of(&format!("msisdn-{search}"))?
                && let Some(subscriber) = store.subscriber(&supi)?
                && filter.admits(&subscriber)
                && !supi.starts_with(&prefix)
            {
                items.push(view(&subscriber)?);
            }
            // The prefix itself sorts before all that begin with it.
            if !is_descending {
                after = prefix.clone();
                if let Some(subscriber) = store.subscriber(&prefix)?
                    && filter.admits(&subscriber)
                {
                    items.push(view(&subscriber)?);
                }
            }
        } else if !after.starts_with(&prefix) {
            return Err(Failure::field("cursor", "it belongs to another search", "leave it out"));
        }
    }
    if is_descending && after.is_empty() {
        // The last character of all: this sorts behind all SUPIs with the prefix.
        after = format!("{prefix}{}", char::MAX);
    }
    let is_filtered = !filter.is_empty();
    let mut scanned = 0;
    loop {
        let wanted = limit.saturating_sub(items.len());
        if wanted == 0 || scanned >= MAX_SCANNED {
            let next = Some(page::write_cursor(&after));
            return Ok(SubscriberPage { items, next, total });
        }
        let chunk = if is_filtered { CHUNK } else { wanted + 1 };
        let rows = match query.order {
            Order::Asc => store.list_without_keys(&after, chunk)?,
            Order::Desc => store.list_descending_without_keys(&after, chunk)?,
        };
        let is_last = rows.len() < chunk;
        scanned += rows.len();
        for row in &rows {
            if !row.supi.starts_with(&prefix) {
                return Ok(SubscriberPage { items, next: None, total });
            }
            if items.len() == limit {
                let next = Some(page::write_cursor(&after));
                return Ok(SubscriberPage { items, next, total });
            }
            after = row.supi.clone();
            if filter.admits(row) {
                items.push(view(row)?);
            }
        }
        if is_last {
            return Ok(SubscriberPage { items, next: None, total });
        }
    }
}

/// Checks a SUPI of a path.
pub fn check_supi(supi: &str) -> Result<(), Failure> {
    match martlet_store::is_supi(supi) {
        true => Ok(()),
        false => Err(Failure::field(
            "supi",
            "not a SUPI",
            "write imsi- and 14 or 15 digits, such as imsi-001010000000001, or nai-user@realm",
        )),
    }
}

fn unknown(supi: &str) -> Failure {
    Failure::not_found(format!("there is no subscriber {supi}"))
}

fn with_tag(status: StatusCode, tag: &str, body: impl IntoResponse) -> Response {
    let mut response = (status, body).into_response();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// List subscribers
#[utoipa::path(
    get, path = "/subscribers", tag = "subscribers", params(ListQuery),
    responses(
        (status = 200, body = SubscriberPage, description = "a page"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a parameter is wrong"),
    )
)]
pub async fn list(
    State(oam): State<Arc<Oam>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<SubscriberPage>, Failure> {
    Ok(Json(oam.store(move |store| page(store, &query)).await?))
}

/// Add a subscriber
#[utoipa::path(
    post, path = "/subscribers", tag = "subscribers", request_body = SubscriberBody,
    responses(
        (status = 201, body = SubscriberView, description = "added",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, the subscriber exists, or another one has the static \
                           address"),
    )
)]
pub async fn create(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(body): Body<SubscriberBody>,
) -> Result<Response, Failure> {
    let subscriber = body.subscriber(None)?;
    let (shared, added) = (oam.clone(), subscriber.clone());
    oam.store(move |store| {
        let _checked = static_addresses::check(&shared, store, None, &added)?;
        let taken = added.msisdn.as_ref().map(|number| format!("msisdn-{number}"));
        if let Some(gpsi) = taken
            && store.supi_of(&gpsi)?.is_some()
        {
            return Err(Failure::conflict("another subscriber has this MSISDN")
                .remedy("write another one, or change the other subscriber"));
        }
        Ok(store.add(&[added], false)?)
    })
    .await?;
    let shown = view(&subscriber)?;
    oam.record(&caller, "subscriber.create", &subscriber.supi, Value::Null, json!(shown)).await?;
    Ok(with_tag(StatusCode::CREATED, &oam.tag(&tagged(&subscriber)), Json(shown)))
}

/// Show a subscriber
#[utoipa::path(
    get, path = "/subscribers/{supi}", tag = "subscribers",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = SubscriberView, description = "the subscriber, without keys",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn show(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
) -> Result<Response, Failure> {
    check_supi(&supi)?;
    let subscriber =
        oam.store(move |store| store.subscriber(&supi)?.ok_or_else(|| unknown(&supi))).await?;
    Ok(with_tag(StatusCode::OK, &oam.tag(&tagged(&subscriber)), Json(view(&subscriber)?)))
}

/// Why a change was not made.
enum Refusal {
    Store(StoreError),
    Failure(Box<Failure>),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::Store(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Store(error) => error.into(),
            Refusal::Failure(failure) => *failure,
        }
    }
}

/// Changes a subscriber if its entity tag is that of `If-Match`.
async fn change_with(
    oam: &Arc<Oam>,
    caller: &Caller,
    headers: &HeaderMap,
    supi: String,
    make: impl FnOnce(&Subscriber) -> Result<Subscriber, Failure> + Send + 'static,
) -> Result<Response, Failure> {
    check_supi(&supi)?;
    let wanted = page::if_match(headers)?;
    let (shared, name) = (oam.clone(), supi.clone());
    let (before, after) = oam
        .store(move |store| {
            let (mut before, mut checked) = (None, None);
            let changed = store.change(&name, |subscriber| {
                if !page::matches(&wanted, &shared.tag(&tagged(subscriber))) {
                    return Err(Refusal::Failure(Failure::stale().into()));
                }
                let made = make(subscriber).map_err(|failure| Refusal::Failure(failure.into()))?;
                if made.supi != subscriber.supi {
                    return Err(Refusal::Failure(
                        Failure::field(
                            "supi",
                            "a subscriber keeps its SUPI",
                            "add a subscriber with the other SUPI, and remove this one",
                        )
                        .into(),
                    ));
                }
                let addresses = static_addresses::check(&shared, store, Some(&*subscriber), &made);
                checked = addresses.map_err(|failure| Refusal::Failure(failure.into()))?;
                before = Some(subscriber.clone());
                *subscriber = made;
                Ok(())
            });
            // The addresses are written: the next request finds them.
            drop(checked);
            let changed = changed.map_err(Failure::from)?.ok_or_else(|| unknown(&name))?;
            Ok((before, changed))
        })
        .await?;
    let (old, new) = (before.as_ref().map(view).transpose()?, view(&after)?);
    oam.record(caller, "subscriber.change", &supi, json!(old), json!(new)).await?;
    Ok(with_tag(StatusCode::OK, &oam.tag(&tagged(&after)), Json(new)))
}

/// Replace a subscriber
///
/// Keys that the body does not have stay.
#[utoipa::path(
    put, path = "/subscribers/{supi}", tag = "subscribers", request_body = SubscriberBody,
    params(
        ("supi" = String, Path, example = "imsi-001010000000001"),
        ("If-Match" = String, Header, description = "the ETag that was read, or *"),
    ),
    responses(
        (status = 200, body = SubscriberView, description = "changed",
            headers(("ETag" = String, description = "of the new version"))),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "it was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or another subscriber has the static address"),
    )
)]
pub async fn replace(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
    headers: HeaderMap,
    Body(body): Body<SubscriberBody>,
) -> Result<Response, Failure> {
    change_with(&oam, &caller, &headers, supi, move |old| body.subscriber(Some(old))).await
}

/// Change fields of a subscriber
///
/// The body is a JSON merge patch (RFC 7396).
#[utoipa::path(
    patch, path = "/subscribers/{supi}", tag = "subscribers",
    request_body(content = Object, content_type = "application/merge-patch+json",
        example = json!({"msisdn": "491700000001"})),
    params(
        ("supi" = String, Path, example = "imsi-001010000000001"),
        ("If-Match" = String, Header, description = "the ETag that was read, or *"),
    ),
    responses(
        (status = 200, body = SubscriberView, description = "changed",
            headers(("ETag" = String, description = "of the new version"))),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "it was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or another subscriber has the static address"),
    )
)]
pub async fn change(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
    headers: HeaderMap,
    Body(patch): Body<Value>,
) -> Result<Response, Failure> {
    if !patch.is_object() {
        return Err(Failure::field("body", "not an object", "send the fields to change"));
    }
    change_with(&oam, &caller, &headers, supi, move |old| {
        let mut value = json!(view(old)?);
        json_patch::merge(&mut value, &patch);
        let body: SubscriberBody = serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            Failure::field(&path, error.inner().to_string(), "see /api/v1/openapi.json")
        })?;
        body.subscriber(Some(old))
    })
    .await
}

/// Remove a subscriber
///
/// A UE of it that is registered stays so until it is deregistered or authenticates again.
#[utoipa::path(
    delete, path = "/subscribers/{supi}", tag = "subscribers",
    params(
        ("supi" = String, Path, example = "imsi-001010000000001"),
        ("If-Match" = String, Header, description = "the ETag that was read, or *"),
    ),
    responses(
        (status = 204, description = "removed"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "it was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn remove(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<StatusCode, Failure> {
    check_supi(&supi)?;
    let wanted = page::if_match(&headers)?;
    let (shared, name) = (oam.clone(), supi.clone());
    let removed = oam
        .store(move |store| {
            let removed = store.remove_if(&name, |subscriber| {
                match page::matches(&wanted, &shared.tag(&tagged(subscriber))) {
                    true => Ok(()),
                    false => Err(Refusal::Failure(Failure::stale().into())),
                }
            });
            removed.map_err(Failure::from)?.ok_or_else(|| unknown(&name))
        })
        .await?;
    oam.record(&caller, "subscriber.remove", &supi, json!(view(&removed)?), Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_store::Secret;

    fn query(text: &str) -> ListQuery {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn pages_follow_each_other_and_a_search_begins_with_the_digits() {
        let store = Store::in_memory().unwrap();
        let first =
            Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
        let mut all: Vec<_> = (0..25).filter_map(|n| first.nth(n)).collect();
        all[7].msisdn = Some("491700000008".into());
        all[9].slices[0].dnns[0].name = "ims".into();
        all[11].groups = vec!["sensors".into()];
        store.add(&all, false).unwrap();
        for order in ["asc", "desc"] {
            let mut expected = all.clone();
            if order == "desc" {
                expected.reverse();
            }
            let (mut seen, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let text = json!({"limit": 10, "cursor": cursor, "order": order}).to_string();
                let page = page(&store, &query(&text)).unwrap();
                assert_eq!(page.total, cursor.is_none().then_some(25));
                let views: Vec<_> = expected[seen.len()..].iter().take(10).map(view).collect();
                let shown = page.items.iter().zip(&views);
                assert!(shown.clone().count() > 0, "an empty page");
                shown.for_each(|(item, view)| assert_eq!(Some(item), view.as_ref().ok()));
                seen.extend(page.items.into_iter().map(|item| item.supi));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected.iter().map(|s| s.supi.clone()).collect::<Vec<_>>());
        }
        let found = |text: &str| {
            page(&store, &query(text))
                .unwrap()
                .items
                .into_iter()
                .map(|i| i.supi)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(r#"{"search": "00101000000002"}"#).len(), 6);
        let descending = found(r#"{"search": "00101000000002", "order": "desc"}"#);
        let ascending = found(r#"{"search": "00101000000002"}"#);
        assert!(descending.iter().eq(ascending.iter().rev()), "{descending:?}");
        let all = found(r#"{"limit": 1000}"#);
        let descending = found(r#"{"limit": 1000, "order": "desc"}"#);
        assert!(!all.is_empty() && descending.iter().eq(all.iter().rev()), "{descending:?}");
        let none = found(r#"{"search": "nai-a.long.name@realm.example", "order": "desc"}"#);
        assert!(none.is_empty(), "{none:?}");
        for order in ["asc", "desc"] {
            let whole = json!({"search": "001010000000025", "order": order}).to_string();
            assert_eq!(found(&whole), ["imsi-001010000000025"]);
        }
        assert_eq!(found(r#"{"search": "491700000008"}"#), ["imsi-001010000000008"]);
        assert_eq!(found(r#"{"dnn": "ims"}"#), ["imsi-001010000000010"]);
        assert_eq!(found(r#"{"group": "sensors"}"#), ["imsi-001010000000012"]);
        assert!(page(&store, &query(r#"{"search": "x"}"#)).is_err());
        // Text of an NAI is a value of the statement, not a part of it.
        for text in ["nai-' OR '1'='1", "nai-%", "nai-_", "nai-\"; DROP TABLE subscriber; --"] {
            let found = found(&json!({"search": text, "limit": 10}).to_string());
            assert!(found.is_empty(), "{text}: {found:?}");
        }
        assert_eq!(store.count().unwrap(), 25);
    }
}
