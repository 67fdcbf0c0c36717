//! The interface between a network function and the program that runs it.
use crate::{NfContext, NotReady, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nmartlet_status::{GnbStatus, UpfStatus};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};

use std::future::Future;
use std::sync::Arc;

/// Nodes without a service-based interface that are connected to a function, and its UEs.
#[derive(Debug, Default)]
pub struct ConnectedNodes {
    /// The UPFs of an SMF.
    pub upfs: Option<Vec<UpfStatus>>,
    /// The gNBs of an AMF.
    pub gnbs: Option<Vec<GnbStatus>>,
    /// The registered UEs of an AMF.
    pub registered_ues: Option<u64>,
}

/// A network function (TS 23.501, 6.2). It is configured, created, registered with the NRF, and run
/// until the shutdown.
pub trait NetworkFunction: Send + Sync + Sized + 'static {
    /// Its NF type (TS 29.510, 6.1.6.3.3).
    const TYPE: NfType;
    /// Its own section of the configuration.
    type Config: serde::de::DeserializeOwned + Default + Send;

    /// Creates the function: opens its databases and sockets. The error has the remedy.
    fn create(
        config: Self::Config,
        context: Arc<NfContext>,
    ) -> impl Future<Output = Result<Arc<Self>, StartError>> + Send;

    /// Its services.
    fn routes(self: &Arc<Self>) -> Vec<Route>;

    /// Adds members of its own (`amfInfo`, `smfInfo`, slices) to its NF profile.
    fn profile(&self, _profile: &mut NfProfile) {}

    /// Runs in the background until the shutdown. After an error or a panic the function is started
    /// again.
    fn run(
        self: Arc<Self>,
        shutdown: Shutdown,
    ) -> impl Future<Output = Result<(), StartError>> + Send {
        async move {
            shutdown.wait().await;
            Ok(())
        }
    }

    /// Answers a request of the command line, such as `martlet locate`. None if the request is not
    /// for this function.
    fn ask(
        self: &Arc<Self>,
        _question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        None
    }

    /// Whether it is ready. The error is what is missing.
    fn ready(&self) -> Result<(), NotReady> {
        Ok(())
    }

    /// Applies a changed configuration while running. Returns what was applied, as text; None if a
    /// restart is needed.
    fn reload(self: &Arc<Self>, _config: Self::Config) -> Option<String> {
        None
    }

    /// UPFs and gNBs that are connected to it, for `martlet status --network`. Other functions
    /// read them.
    fn connected_nodes(&self) -> ConnectedNodes {
        ConnectedNodes::default()
    }

    /// Its part of `martlet status`.
    fn status(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}
