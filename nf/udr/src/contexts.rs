//! Context data of subscribers: registrations, authentication status and subscriptions.
use crate::{Udr, problem};
use martlet_sbi::{Problem, StatusReply, path_segment};
use martlet_store::Urgency;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Kinds of context in the store.
pub mod kind {
    pub const AUTHENTICATION: &str = "authentication-status";
    pub const AMF: &str = "amf-3gpp-access";
    pub const SMF: &str = "smf-registration";
    pub const SDM: &str = "sdm-subscription";
    pub const CHANGES: &str = "subs-to-notify";
    pub const POLICY_CHANGES: &str = "policy-data-subs-to-notify";
    pub const INFLUENCE: &str = "influence-data";
    pub const INFLUENCE_CHANGES: &str = "influence-data-subs-to-notify";
}

/// The key of kinds with one context per subscriber.
pub const SINGLE: &str = "";
/// The owner of contexts that belong to no subscriber.
pub const NO_SUBSCRIBER: &str = "";

impl Udr {
    /// Creates (201) or replaces (204) a context of a subscriber.
    pub(crate) async fn put<T: Serialize>(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: T,
        urgency: Urgency,
    ) -> Result<StatusReply<T>, Problem> {
        self.subscriber(supi).await?;
        self.read_before_write(supi, kind, key).await?;
        let json = serde_json::to_string(&value).map_err(problem::of_json)?;
        let put = self.data.put(supi, kind, key, json, urgency).await;
        let made = put.map_err(problem::of_store)?;
        let location = || {
            let supi = path_segment(supi);
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

    /// Reads a context that is to be written, so that the write finds it in the cache. A write must
    /// not be refused once it has begun: consumers would repeat it elsewhere.
    async fn read_before_write(&self, supi: &str, kind: &str, key: &str) -> Result<(), Problem> {
        match self.store.is_remote() {
            true => self.cut_off.or_refuse(self.data.context(supi, kind, key)).await.map(drop),
            false => Ok(()),
        }
    }

    /// Returns a context of a subscriber, or 404.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        cause: &str,
    ) -> Result<T, Problem> {
        self.subscriber(supi).await?;
        let found = self.cut_off.or_refuse(self.data.context(supi, kind, key)).await?;
        let json = found.ok_or_else(|| {
            Problem::new(404, cause).detail(format!("{supi} has no {kind} {key}"))
        })?;
        martlet_erased::from_json(json.as_bytes()).map_err(problem::of_json)
    }

    /// Returns all contexts of a kind.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        supi: &str,
        kind: &str,
    ) -> Result<Vec<T>, Problem> {
        self.subscriber(supi).await?;
        let found = self.cut_off.or_refuse(self.data.contexts(supi, kind)).await?;
        let read = |json: &String| martlet_erased::from_json(json.as_bytes());
        found.iter().map(|(_, json)| read(json).map_err(problem::of_json)).collect()
    }

    /// Removes a context, or 404.
    pub(crate) async fn remove(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        cause: &str,
    ) -> Result<(), Problem> {
        let removed = match supi {
            // No subscriber has it.
            NO_SUBSCRIBER => {
                let [kind, key] = [kind, key].map(str::to_string);
                self.serve(move |store| store.remove_context(NO_SUBSCRIBER, &kind, &key)).await?
            }
            supi => {
                self.read_before_write(supi, kind, key).await?;
                self.data.remove(supi, kind, key).await.map_err(problem::of_store)?
            }
        };
        match removed {
            true => Ok(()),
            false => Err(Problem::new(404, cause).detail(format!("{supi} has no {kind} {key}"))),
        }
    }
}
