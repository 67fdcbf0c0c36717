//! Contexts of subscribers: which NFs serve them, who subscribed to their data.
use crate::{Udr, failure};
use martlet_sbi::{JsonPatch, Problem, StatusReply};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Kinds of context in the store.
pub mod kind {
    pub const AUTHENTICATION: &str = "authentication-status";
    pub const AMF: &str = "amf-3gpp-access";
    pub const SMF: &str = "smf-registration";
    pub const SDM: &str = "sdm-subscription";
    pub const CHANGES: &str = "subs-to-notify";
}

/// Where a kind has one context only.
pub const ONLY: &str = "";
/// Owner of what belongs to no subscriber.
pub const NOBODY: &str = "";

impl Udr {
    /// Puts a context of a subscriber in its place: 201 or 204.
    pub(crate) fn put<T: Serialize>(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: T,
    ) -> Result<StatusReply<T>, Problem> {
        self.subscriber(supi)?;
        let json = serde_json::to_string(&value).map_err(failure::of_json)?;
        let made = self.store.put_context(supi, kind, key, &json).map_err(failure::of_store)?;
        let location = || {
            format!(
                "{}/nudr-dr/v2/subscription-data/{supi}/context-data/{kind}/{key}",
                self.context.api_root()
            )
        };
        Ok(if made {
            StatusReply::created(location().trim_end_matches('/'), value)
        } else {
            StatusReply::no_content()
        })
    }

    /// A context of a subscriber, or 404.
    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        cause: &str,
    ) -> Result<T, Problem> {
        self.subscriber(supi)?;
        let found = self.store.context(supi, kind, key).map_err(failure::of_store)?;
        let json = found.ok_or_else(|| {
            Problem::new(404, cause).detail(format!("{supi} has no {kind} {key}"))
        })?;
        serde_json::from_str(&json).map_err(failure::of_json)
    }

    /// All contexts of a kind.
    pub(crate) fn all<T: DeserializeOwned>(
        &self,
        supi: &str,
        kind: &str,
    ) -> Result<Vec<T>, Problem> {
        self.subscriber(supi)?;
        let found = self.store.contexts(supi, kind).map_err(failure::of_store)?;
        found.iter().map(|(_, json)| serde_json::from_str(json).map_err(failure::of_json)).collect()
    }

    /// Takes a context away, or 404.
    pub(crate) fn take(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        cause: &str,
    ) -> Result<(), Problem> {
        match self.store.remove_context(supi, kind, key).map_err(failure::of_store)? {
            true => Ok(()),
            false => Err(Problem::new(404, cause).detail(format!("{supi} has no {kind} {key}"))),
        }
    }
}

/// Applies a JSON patch; a `test` that fails is 409, so that who raced another can read again.
pub fn patch<T: Serialize + DeserializeOwned>(value: &T, patch: &JsonPatch) -> Result<T, Problem> {
    let wrong = |e: &dyn std::fmt::Display| Problem::invalid_message(e.to_string());
    let mut json = serde_json::to_value(value).map_err(failure::of_json)?;
    let items = serde_json::to_value(&patch.0).map_err(failure::of_json)?;
    let items: json_patch::Patch = serde_json::from_value(items).map_err(|e| wrong(&e))?;
    json_patch::patch(&mut json, &items).map_err(|e| match e.kind {
        json_patch::PatchErrorKind::TestFailed => {
            Problem::new(409, "MODIFICATION_CONFLICT").detail(e.to_string())
        }
        _ => wrong(&e),
    })?;
    serde_json::from_value(json).map_err(|e| wrong(&e))
}
