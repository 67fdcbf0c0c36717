//! The configuration file, and the plan of the map.
use crate::caller::Caller;
use crate::core_access::{AppliedConfiguration, Configuration};
use crate::difference::difference;
use crate::page::{self, Body};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::MutexGuard;
use utoipa::ToSchema;

/// Kind of the context of the plan in the store.
const PLAN: &str = "oam-plan";
/// Maximum length of the image of a plan in bytes, as a data URL.
const MAX_IMAGE: usize = 4 << 20;

/// The configuration.
#[derive(Serialize, ToSchema)]
pub struct ConfigurationView {
    /// The file; absent for the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Its text. A secret value is shown as `(hidden)`.
    text: String,
    /// All values, with those of the defaults and without secrets.
    #[schema(value_type = Object)]
    values: Value,
}

/// A changed configuration.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationText {
    /// The text of the file. A value `(hidden)` stays as it is.
    text: String,
}

/// What a change does.
#[derive(Serialize, ToSchema)]
pub struct ChangeReport {
    /// Changed keys.
    changed: Vec<String>,
    /// What the running functions applied, in words.
    applied: Vec<String>,
    /// Keys that need a restart.
    restart: Vec<String>,
    /// Removed lines of the file with `- `, added ones with `+ `.
    difference: Vec<String>,
}

/// The plan of the map: an image, and two points of it with their positions.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name.
    name: String,
    /// The image as a data URL: PNG or JPEG.
    image: String,
    /// Two points.
    references: Vec<Reference>,
}

/// A point of the image and its position.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Pixels from the left.
    x: f64,
    /// Pixels from the top.
    y: f64,
    /// Degrees north.
    latitude: f64,
    /// Degrees east.
    longitude: f64,
}

pub(super) async fn read(oam: &Oam) -> Result<Configuration, Failure> {
    Ok(oam.core_blocking(|core| core.configuration()).await??)
}

/// The configuration, whose entity tag the caller has read. It is the same until the guard is
/// dropped: no other request changes the file after the comparison.
///
/// # Errors
/// `If-Match` is missing, or has another entity tag.
pub(super) async fn matching<'a>(
    oam: &'a Oam,
    headers: &HeaderMap,
) -> Result<(MutexGuard<'a, ()>, Configuration), Failure> {
    let wanted = page::if_match(headers)?;
    let alone = oam.configuration.lock().await;
    let before = read(oam).await?;
    match page::matches(&wanted, &oam.tag(&before.text.clone().into())) {
        true => Ok((alone, before)),
        false => Err(Failure::stale()),
    }
}

/// Show the configuration
#[utoipa::path(
    get, path = "/configuration", tag = "administration",
    responses(
        (status = 200, body = ConfigurationView, description = "the configuration",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let Configuration { file, text, values, .. } = read(&oam).await?;
    let tag = oam.tag(&text.clone().into());
    let file = file.map(|file| file.display().to_string());
    Ok(page::tagged(&tag, ConfigurationView { file, text, values }))
}

/// What a change of the text does.
pub(super) fn report(before: &str, after: &str, applied: AppliedConfiguration) -> ChangeReport {
    let AppliedConfiguration { changed, applied, restart } = applied;
    ChangeReport { changed, applied, restart, difference: difference(before, after) }
}

/// Records a change of the file in the audit log: the lines before and after. The lines come from
/// the file, which has no secrets; the new text may have some.
pub(super) async fn record(
    oam: &Arc<Oam>,
    caller: &Caller,
    (what, target): (&'static str, &'static str),
    before: &str,
    applied: &AppliedConfiguration,
) -> Result<(), Failure> {
    let lines = difference(&unnumbered(before), &unnumbered(&read(oam).await?.text));
    let of = |sign: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(sign)).collect()
    };
    let before = json!({"lines": of("- ")});
    let after = json!({
        "lines": of("+ "), "changed": applied.changed, "applied": applied.applied,
        "restart": applied.restart,
    });
    oam.record(caller, what, target, before, after).await
}

/// The text with the same mark for each secret: their numbers change with the number of secrets.
fn unnumbered(text: &str) -> String {
    const MARK: &str = "(hidden";
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        out.push_str(MARK);
        let number = part.strip_prefix(' ').and_then(|rest| rest.split_once(')'));
        match number.filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit())) {
            Some((_, rest)) => out.extend([")", rest]),
            None => out.push_str(part),
        }
    }
    out
}

/// Change the configuration
///
/// The text is checked as a whole. What the running functions can apply is applied, and the answer
/// lists what needs a restart.
#[utoipa::path(
    put, path = "/configuration", tag = "administration", request_body = ConfigurationText,
    params(("If-Match" = String, Header, description = "the ETag that was read, or *")),
    responses(
        (status = 200, body = ChangeReport, description = "changed"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "it was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration has errors, each with its line"),
    )
)]
pub async fn change(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Body(body): Body<ConfigurationText>,
) -> Result<Json<ChangeReport>, Failure> {
    let (_alone, before) = matching(&oam, &headers).await?;
    let text = body.text.clone();
    let applied = oam.core_blocking(move |core| core.change_configuration(&text, true)).await??;
    record(&oam, &caller, ("configuration.change", "file"), &before.text, &applied).await?;
    Ok(Json(report(&before.text, &body.text, applied)))
}

/// Check a configuration
///
/// Nothing is changed.
#[utoipa::path(
    post, path = "/configuration/check", tag = "administration", request_body = ConfigurationText,
    responses(
        (status = 200, body = ChangeReport, description = "what would change"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration has errors, each with its line"),
    )
)]
pub async fn check(
    State(oam): State<Arc<Oam>>,
    Body(body): Body<ConfigurationText>,
) -> Result<Json<ChangeReport>, Failure> {
    let _alone = oam.configuration.lock().await;
    let before = read(&oam).await?.text;
    let text = body.text.clone();
    let checked = oam.core_blocking(move |core| core.change_configuration(&text, false));
    Ok(Json(report(&before, &body.text, checked.await??)))
}

/// Show the plan of the map
#[utoipa::path(
    get, path = "/plan", tag = "network",
    responses(
        (status = 200, body = Plan, description = "the plan",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is none"),
    )
)]
pub async fn plan(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let plan = stored_plan(&oam).await?.ok_or_else(|| Failure::not_found("there is no plan"))?;
    Ok(page::tagged(&oam.tag(&json!(plan)), plan))
}

async fn stored_plan(oam: &Oam) -> Result<Option<Plan>, Failure> {
    let text = oam.store(|store| Ok(store.context("", PLAN, "plan")?)).await?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// A plan in the audit log: the hash of the image in place of the image.
fn without_image(plan: &Plan) -> Value {
    let image = crate::accounts::sha256(&plan.image);
    json!({"name": plan.name, "references": plan.references, "image_sha256": image})
}

/// Set the plan of the map
#[utoipa::path(
    put, path = "/plan", tag = "network", request_body = Plan,
    params(
        ("If-Match" = Option<String>, Header, description = "the ETag that was read"),
        ("If-None-Match" = Option<String>, Header, description = "*: only if there is no plan"),
    ),
    responses(
        (status = 204, description = "set"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "it was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong"),
    )
)]
pub async fn set_plan(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Body(plan): Body<Plan>,
) -> Result<StatusCode, Failure> {
    let is_image = ["data:image/png;base64,", "data:image/jpeg;base64,"]
        .iter()
        .any(|start| plan.image.starts_with(start));
    if !is_image || plan.image.len() > MAX_IMAGE {
        return Err(Failure::field("image", "not a PNG or JPEG of 3 MB at most", "write another"));
    }
    if plan.name.len() > 100 {
        return Err(Failure::field("name", "too long", "write 100 bytes at most"));
    }
    let [one, other] = plan.references.as_slice() else {
        return Err(Failure::field("references", "not two points", "write two"));
    };
    let is_on_earth = |r: &Reference| r.latitude.abs() <= 85.0 && r.longitude.abs() <= 180.0;
    let is_apart = (one.x - other.x).hypot(one.y - other.y) >= 1.0
        && (one.latitude - other.latitude).hypot(one.longitude - other.longitude) > 1e-7;
    if !is_on_earth(one) || !is_on_earth(other) || !is_apart {
        return Err(Failure::field(
            "references",
            "the points are the same, or not on the earth",
            "write two points that are apart, in pixels and in degrees",
        ));
    }
    let _alone = oam.compared.lock().await;
    let before = stored_plan(&oam).await?;
    let tag = before.as_ref().map(|plan| oam.tag(&json!(plan)));
    page::check_if_match(&headers, tag.as_deref())?;
    page::check_if_none_match(&headers, tag.as_deref())?;
    let text = json!(plan).to_string();
    oam.store(move |store| Ok(store.put_context("", PLAN, "plan", &text)?)).await?;
    let (old, new) = (json!(before.as_ref().map(without_image)), without_image(&plan));
    oam.record(&caller, "plan.set", plan.name, old, new).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::unnumbered;

    #[test]
    fn marks_lose_their_numbers() {
        let text = "a: \"(hidden 12)\" # (hidden\nb: x://u:(hidden 1)@h (hidden x)";
        let expected = "a: \"(hidden)\" # (hidden\nb: x://u:(hidden)@h (hidden x)";
        assert_eq!(unnumbered(text), expected);
    }
}
