//! Uplink classifiers of the SMF.
use super::{Change, ChangeQuery, ChangeReport, ChangeResponses, IfMatch, Section, Subject};
use super::{edit, tagged, typed};
use crate::api::configuration::read;
use crate::core_access::{Configuration, ConfigurationEdit};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// An uplink classifier: a UPF before the anchor, at which some traffic leaves (TS 23.501,
/// 5.6.4.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassifierSetting {
    /// Data network of the sessions that go through it.
    #[schema(example = "internet")]
    dnn: String,
    /// Tracking areas of their UEs; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tacs: Vec<u32>,
    /// N4 address of the UPF, which is among `upfs`.
    #[schema(example = "127.0.0.8:8805")]
    via: String,
    /// Traffic that leaves there.
    #[schema(example = json!(["permit out ip from 10.98.0.0/16 to assigned"]))]
    local: Vec<String>,
}

/// The uplink classifiers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Classifiers {
    /// The classifiers, of which the first one that fits a session applies.
    classifiers: Vec<ClassifierSetting>,
}

/// The uplink classifiers with the UPFs that one may be.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClassifiersView {
    /// The classifiers.
    classifiers: Vec<ClassifierSetting>,
    /// N4 addresses of the UPFs.
    upfs: Vec<String>,
}

impl Section for Classifiers {
    const SUBJECT: Subject = Subject {
        what: "uplink-classifiers.change",
        target: "smf.branching",
        names: &[("smf.branching", "classifiers")],
    };

    fn edits(&self, _: &Configuration) -> Result<Vec<ConfigurationEdit>, Failure> {
        Ok(vec![edit(&["smf", "branching"], json!(self.classifiers))])
    }
}

/// List uplink classifiers
#[utoipa::path(
    get, path = "/uplink-classifiers", tag = "network",
    responses(
        (status = 200, body = ClassifiersView, description = "the classifiers",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let smf = &configuration.values["smf"];
    let upfs = smf["upfs"].as_array().into_iter().flatten();
    // A list without items is left out.
    let classifiers = match &smf["branching"] {
        Value::Null => Vec::new(),
        branching => typed(branching)?,
    };
    let view = ClassifiersView {
        classifiers,
        upfs: upfs.filter_map(|upf| upf["n4"].as_str().map(str::to_string)).collect(),
    };
    Ok(tagged(&oam, &configuration, view))
}

/// Change the uplink classifiers
#[utoipa::path(
    put, path = "/uplink-classifiers", tag = "network", request_body = Classifiers,
    params(ChangeQuery, IfMatch), responses(ChangeResponses),
)]
pub async fn change(change: Change<Classifiers>) -> Result<Json<ChangeReport>, Failure> {
    change.apply().await
}
