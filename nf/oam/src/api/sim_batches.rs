//! SIM batches: subscribers with consecutive IMSIs and random keys, for the manufacturer of the
//! SIMs.
use super::subscriber_body::SubscriberBody;
use crate::accounts;
use crate::caller::Caller;
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::static_addresses;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use martlet_store::{Secret, StoreError, Subscriber};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Kind of the contexts of batches in the store.
const BATCH: &str = "oam-sim-batch";
/// Maximum number of SIMs of a batch.
const MAX_SIMS: u64 = 10_000;

/// A batch to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// Name of the batch.
    #[schema(example = "spring order")]
    name: String,
    /// Number of SIMs.
    #[schema(minimum = 1, maximum = 10000, example = 10)]
    count: u64,
    /// The first subscriber: all others have its subscription. Keys are not written here.
    template: SubscriberBody,
    /// MSISDN of the first subscriber; the others follow.
    #[serde(default)]
    first_msisdn: Option<String>,
}

/// A batch without keys.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BatchView {
    /// Identity.
    id: String,
    /// Name.
    name: String,
    /// SUPI of the first subscriber.
    first: String,
    /// Number of SIMs.
    count: u64,
    /// Seconds since 1970.
    created: u64,
    /// Who made it.
    by: String,
}

/// The keys of a SIM. They are shown once.
#[derive(Serialize, ToSchema)]
pub struct SimKeys {
    /// IMSI in digits.
    imsi: String,
    /// K.
    key: String,
    /// OPc.
    opc: String,
}

/// A batch with its keys.
#[derive(Serialize, ToSchema)]
pub struct NewBatch {
    /// The batch.
    batch: BatchView,
    /// The keys, for the manufacturer of the SIMs. The API never shows them again.
    sims: Vec<SimKeys>,
}

/// List SIM batches
#[utoipa::path(
    get, path = "/sim-batches", tag = "subscribers",
    responses(
        (status = 200, body = Vec<BatchView>, description = "the batches"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<BatchView>>, Failure> {
    let all = oam.store(|store| Ok(store.contexts("", BATCH)?)).await?;
    let read = |(_, value): &(String, String)| serde_json::from_str(value).ok();
    Ok(Json(all.iter().filter_map(read).collect()))
}

/// Make a SIM batch
///
/// K and OPc are random. The response shows them once, for the manufacturer of the SIMs.
#[utoipa::path(
    post, path = "/sim-batches", tag = "subscribers", request_body = BatchRequest,
    responses(
        (status = 201, body = NewBatch, description = "added, with the keys"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or a subscriber exists"),
    )
)]
pub async fn create(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<BatchRequest>,
) -> Result<(StatusCode, Json<NewBatch>), Failure> {
    let BatchRequest { name, count, mut template, first_msisdn } = request;
    if !(1..=MAX_SIMS).contains(&count) {
        return Err(Failure::field("count", "out of range", "write 1 to 10000"));
    }
    if name.is_empty() || name.len() > 100 {
        return Err(Failure::field("name", "empty or too long", "write 1 to 100 bytes"));
    }
    if template.key.is_some() || template.opc.is_some() || template.op.is_some() {
        return Err(Failure::field("template.key", "keys of a batch are random", "leave it out"));
    }
    let zero = || Some("0".repeat(32).into());
    (template.key, template.opc, template.msisdn) = (zero(), zero(), first_msisdn);
    let first = template.subscriber(None)?;
    let beyond = || Failure::field("count", "the last IMSI would have more digits", "write fewer");
    first.nth(count - 1).ok_or_else(beyond)?;
    let mut sims = Vec::new();
    let mut all: Vec<Subscriber> = Vec::new();
    for n in 0..count {
        let mut subscriber = first.nth(n).ok_or_else(beyond)?;
        let (mut key, mut opc) = ([0; 16], [0; 16]);
        accounts::fill(&mut key)?;
        accounts::fill(&mut opc)?;
        (subscriber.key, subscriber.opc) = (Secret(key), Secret(opc));
        if let Some(msisdn) = &first.msisdn {
            let number = msisdn.parse::<u64>().ok().and_then(|number| number.checked_add(n));
            let number = number.map(|number| format!("{number:0width$}", width = msisdn.len()));
            let number = number.filter(|number| number.len() == msisdn.len());
            subscriber.msisdn = Some(number.ok_or_else(|| {
                Failure::field("first_msisdn", "the last one has more digits", "write fewer SIMs")
            })?);
        }
        sims.push(SimKeys {
            imsi: subscriber.supi.trim_start_matches("imsi-").into(),
            key: subscriber.key.to_hex(),
            opc: subscriber.opc.to_hex(),
        });
        all.push(subscriber);
    }
    let mut id = [0; 6];
    accounts::fill(&mut id)?;
    let batch = BatchView {
        id: hex::encode(id),
        name,
        first: first.supi.clone(),
        count,
        created: accounts::now(),
        by: caller.name.clone(),
    };
    let (shared, stored) = (oam.clone(), batch.clone());
    oam.store(move |store| {
        let _checked = static_addresses::check_all(&shared, store, &all)?;
        store.import(all.iter().map(Ok::<_, StoreError>), false)?;
        store.put_context("", BATCH, &stored.id, &json!(stored).to_string())?;
        Ok(())
    })
    .await?;
    oam.record(&caller, "sim-batch.create", &batch.id, Value::Null, json!(batch)).await?;
    Ok((StatusCode::CREATED, Json(NewBatch { batch, sims })))
}
