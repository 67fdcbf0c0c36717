//! Slices, data networks, uplink classifiers and policies: read and changed by their fields. Each
//! is a [`Section`]; [`Change`] is what all their changes do. A change edits these values in the
//! configuration file, and is checked as the whole file is.
pub mod classifiers;
pub mod data_networks;
pub mod policies;
pub mod slices;

use super::configuration::{ChangeReport, matching, record, report};
use crate::caller::Caller;
use crate::core_access::{Configuration, ConfigurationEdit};
use crate::page::{self, Body, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::Response;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, IntoResponses};

/// Whether only to show what would change.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Check and compare; change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// The version that a change is made to.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code)]
pub struct IfMatch {
    /// the ETag that was read
    #[param(rename = "If-Match")]
    if_match: String,
}

/// The responses to a change.
#[derive(IntoResponses)]
#[allow(dead_code)]
pub enum ChangeResponses {
    /// changed, or what would change
    #[response(status = 200)]
    Changed(ChangeReport),
    /// the configuration was changed meanwhile
    #[response(status = 412, content_type = "application/problem+json")]
    Stale(ProblemDetails),
    /// a field is wrong, each in `errors`
    #[response(status = "4XX", content_type = "application/problem+json")]
    Wrong(ProblemDetails),
}

/// Reads values of the configuration by their fields.
fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    serde_json::from_value(value.clone())
        .map_err(|error| Failure::unavailable(format!("the configuration is otherwise: {error}")))
}

fn tagged(oam: &Oam, configuration: &Configuration, body: impl Serialize) -> Response {
    page::tagged(&oam.tag(&configuration.text.clone().into()), body)
}

/// What a change is about: the word of the audit log, and where the fields of the body are in the
/// configuration.
pub struct Subject {
    what: &'static str,
    target: &'static str,
    /// The key in the configuration, and the field of the body.
    names: &'static [(&'static str, &'static str)],
}

impl Subject {
    /// The field of the body for a key of the configuration.
    fn field(&self, key: &str) -> String {
        for (of_file, of_body) in self.names {
            if let Some(rest) = key.strip_prefix(of_file) {
                return format!("{of_body}{rest}");
            }
        }
        key.to_string()
    }
}

/// A part of the configuration that is the body of a change.
pub trait Section: DeserializeOwned + Send {
    /// What a change of it is about.
    const SUBJECT: Subject;

    /// The values to change in a configuration.
    ///
    /// # Errors
    /// The configuration does not have the section's present values.
    fn edits(&self, before: &Configuration) -> Result<Vec<ConfigurationEdit>, Failure>;
}

/// A request to change a section.
pub struct Change<S> {
    oam: Arc<Oam>,
    caller: Caller,
    headers: HeaderMap,
    query: ChangeQuery,
    section: S,
}

impl<S: Section> FromRequest<Arc<Oam>> for Change<S> {
    type Rejection = Failure;

    async fn from_request(request: Request, oam: &Arc<Oam>) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, oam).await?;
        let Query(query) = Query::from_request_parts(&mut parts, oam).await?;
        let headers = parts.headers.clone();
        let Body(section) = Body::from_request(Request::from_parts(parts, body), oam).await?;
        Ok(Change { oam: oam.clone(), caller, headers, query, section })
    }
}

impl<S: Section> Change<S> {
    /// Checks the section in the configuration whose entity tag the caller has read. Unless it is a
    /// dry run, writes the file, reloads what running functions can apply, and records the change
    /// in the audit log. Reports what needs a restart.
    ///
    /// # Errors
    /// The entity tag is missing or not the current one, or values are wrong: each with its field
    /// of the body.
    pub async fn apply(self) -> Result<Json<ChangeReport>, Failure> {
        let Change { oam, caller, headers, query, section } = self;
        let (_alone, before) = matching(&oam, &headers).await?;
        let edits = section.edits(&before)?;
        let (old, write) = (before.text.clone(), !query.dry_run);
        let done = oam.core_blocking(move |core| {
            let text = core.edit_configuration(&old, &edits)?;
            let applied = core.change_configuration(&text, write)?;
            Ok::<_, crate::AccessError>((text, applied))
        });
        let named = |failure: Failure| failure.with_fields(|key| S::SUBJECT.field(key));
        let (text, applied) = done.await?.map_err(|error| named(Failure::from(error)))?;
        if write {
            let Subject { what, target, .. } = S::SUBJECT;
            record(&oam, &caller, (what, target), &before.text, &applied).await?;
        }
        Ok(Json(report(&before.text, &text, applied)))
    }
}

fn edit(path: &[&'static str], value: Value) -> ConfigurationEdit {
    ConfigurationEdit { path: path.to_vec(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_file_have_the_names_of_the_body() {
        let subject = data_networks::DataNetworks::SUBJECT;
        assert_eq!(subject.field("smf.dnns[1].pool"), "networks[1].pool");
        assert_eq!(subject.field("upf.n6.pools"), "upf.n6.pools");
        assert_eq!(policies::Policies::SUBJECT.field("pcf.flows[0].five_qi"), "flows[0].five_qi");
    }
}
