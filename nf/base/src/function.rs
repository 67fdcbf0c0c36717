//! What a network function is to the program that runs it.
use crate::{NfContext, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};

use std::future::Future;
use std::sync::Arc;

/// A network function (TS 23.501, 6.2): configured, created, registered with the NRF, and run until
/// told to end.
pub trait NetworkFunction: Send + Sync + Sized + 'static {
    /// Its NF type (TS 29.510, 6.1.6.3.3).
    const TYPE: NfType;
    /// Its own section of the configuration.
    type Config: serde::de::DeserializeOwned + Default + Send;

    /// Builds the function: opens what it stores in and listens on. An error says what to do.
    fn create(
        config: Self::Config,
        context: Arc<NfContext>,
    ) -> impl Future<Output = Result<Arc<Self>, StartError>> + Send;

    /// The services that it produces.
    fn routes(self: &Arc<Self>) -> Vec<Route>;

    /// Adds what is particular to the function (`amfInfo`, `smfInfo`, slices) to the profile that
    /// the NRF gets.
    fn profile(&self, _profile: &mut NfProfile) {}

    /// Works beside the services until the shutdown. An error ends the process.
    fn run(
        self: Arc<Self>,
        shutdown: Shutdown,
    ) -> impl Future<Output = Result<(), StartError>> + Send {
        async move {
            shutdown.wait().await;
            Ok(())
        }
    }

    /// Answers a question that a person asks the running function, such as `martlet locate`; none
    /// where it has no answer to such questions.
    fn ask(
        self: &Arc<Self>,
        _question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        None
    }

    /// Whether it can do its work at this moment; the error says what is missing.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Takes a changed section of the configuration while it is at work; what it took, in words, or
    /// none where it needs a new start for it.
    fn reload(self: &Arc<Self>, _config: Self::Config) -> Option<String> {
        None
    }

    /// What `martlet status` shows of it.
    fn status(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}
