//! Slices of the network.
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

/// A slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSetting {
    /// Slice or service type.
    #[schema(example = 1)]
    sst: u8,
    /// Slice differentiator: six hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0000a7", pattern = "^[0-9a-fA-F]{6}$")]
    sd: Option<String>,
}

/// The slices of the network.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// The slices, of which all functions take theirs.
    slices: Vec<SliceSetting>,
}

/// The slices with those of each function.
#[derive(Debug, Serialize, ToSchema)]
pub struct SlicesView {
    /// The slices of the network.
    slices: Vec<SliceSetting>,
    /// PLMNs of the AMF with their slices.
    #[schema(value_type = Vec<Object>)]
    amf: Value,
    /// Slices of the NSSF.
    #[schema(value_type = Vec<Object>)]
    nssf: Value,
    /// Slices of the SMF.
    #[schema(value_type = Vec<Object>)]
    smf: Value,
    /// Keys of the file by which functions have slices of their own.
    own: Vec<String>,
}

impl Section for Slices {
    const SUBJECT: Subject = Subject {
        what: "slices.change",
        target: "network.slices",
        names: &[("network.slices", "slices"), ("nssf.slices", "slices"), ("smf.slices", "slices")],
    };

    fn edits(&self, _: &Configuration) -> Result<Vec<ConfigurationEdit>, Failure> {
        Ok(vec![edit(&["network", "slices"], json!(self.slices))])
    }
}

/// List slices
///
/// Of the network, and of AMF, NSSF and SMF.
#[utoipa::path(
    get, path = "/slices", tag = "network",
    responses(
        (status = 200, body = SlicesView, description = "the slices",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let values = &configuration.values;
    let of_network = &configuration.written["network"]["slices"];
    let slices = if of_network.is_array() { of_network } else { &values["nssf"]["slices"] };
    let view = SlicesView {
        slices: typed(slices)?,
        amf: values["amf"]["plmns"].clone(),
        nssf: values["nssf"]["slices"].clone(),
        smf: values["smf"]["slices"].clone(),
        own: own_slices(&configuration.written),
    };
    Ok(tagged(&oam, &configuration, view))
}

/// Keys of the file that set slices of a function, which the network's do not change.
fn own_slices(written: &Value) -> Vec<String> {
    let keys = [("amf", "plmns"), ("nssf", "slices"), ("smf", "slices")];
    let is_set = |(section, key): &(&str, &str)| !written[*section][*key].is_null();
    keys.into_iter().filter(is_set).map(|(section, key)| format!("{section}.{key}")).collect()
}

/// Change the slices of the network
///
/// Functions whose section has slices of its own keep those, see `own`.
#[utoipa::path(
    put, path = "/slices", tag = "network", request_body = Slices,
    params(ChangeQuery, IfMatch), responses(ChangeResponses),
)]
pub async fn change(change: Change<Slices>) -> Result<Json<ChangeReport>, Failure> {
    change.apply().await
}
