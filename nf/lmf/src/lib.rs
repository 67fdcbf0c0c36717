//! The LMF: determines the positions of UEs (TS 23.501, 6.2.16; TS 23.273), over the user plane (TS
//! 24.572) or the control plane.
//!
//! | module | content |
//! | --- | --- |
//! | `services` | Nlmf_Location and the AMF's callbacks |
//! | `procedures` | location determination; establishment of user plane connections |
//! | `lpp` | LPP procedures with the UE, and the session that carries them |
//! | `nrppa` | NRPPa procedures with gNBs |
//! | `user_plane` | the listener for UEs' channels and the task that owns their connections |
//! | `deadline` | the time limit of a wait for several messages |
//! | `shared` | the state that all of them use, and requests to AMFs |
#![forbid(unsafe_code)]

mod config;
mod deadline;
mod lpp;
mod metrics;
mod nrppa;
mod procedures;
mod services;
mod shared;
mod user_plane;

pub use config::{CellConfig, LmfConfig, RealtimeConfig, UserPlaneConfig};

use martlet_lcs_protocol::{LmfLimits, LmfSide, Timers};
use martlet_lcsupp::upp_cm::LmfAddress;
use martlet_nf::oam::Paths;
use martlet_nf::{NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nlmf_callback::NLMF_CALLBACK;
use martlet_sbi_api::nlmf_location::NLMF_LOC;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use shared::Shared;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex};
use tokio::sync::{Semaphore, mpsc};
use user_plane::{Command, Connections, Listener};

/// Capacity of the command queue of [`Connections`].
const QUEUE: usize = 1024;

/// Sets the configured real-time properties of the process.
fn realtime(wanted: RealtimeConfig) -> Result<(), StartError> {
    let RealtimeConfig { fifo, lock_memory, governor } = wanted;
    if !fifo && !lock_memory && !governor {
        return Ok(());
    }
    let wanted = martlet_lcs_realtime::Wanted { fifo, lock_memory, governor };
    let in_force = martlet_lcs_realtime::enter(wanted);
    let in_force =
        in_force.map_err(|error| StartError::config("lmf.user_plane.realtime", error))?;
    tracing::info!(%in_force, "real-time properties set");
    Ok(())
}

/// The LMF.
pub struct Lmf {
    shared: Arc<Shared>,
    requests: Semaphore,
    /// The parts that `run` takes.
    parts: Mutex<Option<(Option<Listener>, mpsc::Receiver<Command>)>>,
}

impl Lmf {
    /// Where signals are sent from, for operators.
    fn points(&self) -> serde_json::Value {
        let cells = self.shared.config.cells.iter().map(|cell| {
            serde_json::json!({
                "name": cell.nr_cell_id, "source": "configuration", "pci": cell.pci,
                "latitude": cell.position.lat, "longitude": cell.position.lon,
            })
        });
        let trps = self.shared.nrppa.trps.all();
        let trps = trps.iter().map(|trp| {
            serde_json::json!({
                "name": format!("TRP {}", trp.id), "source": "gNB", "pci": trp.pci,
                "gnb": trp.gnb, "cell": format!("{:09x}", trp.cell),
                "latitude": trp.position.lat, "longitude": trp.position.lon,
            })
        });
        cells.chain(trps).collect()
    }
}

/// What the command line and the API request of the LMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OamRequest {
    Points,
    Locate,
}

static REQUESTS: LazyLock<Paths<OamRequest>> = LazyLock::new(|| {
    Paths::new([("lmf/points", OamRequest::Points), ("locate/{supi}", OamRequest::Locate)])
});

impl NetworkFunction for Lmf {
    const TYPE: NfType = NfType::Lmf;
    type Config = LmfConfig;

    async fn create(config: LmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        realtime(config.user_plane.realtime)?;
        let listener = if config.user_plane.enabled {
            Some(Listener::open(&config.user_plane).await?)
        } else {
            None
        };
        let (connections, commands) = mpsc::channel(QUEUE);
        let requests = Semaphore::new(config.max_requests);
        let shared = Shared::new(config, context, connections);
        Ok(Arc::new(Lmf { shared, requests, parts: Mutex::new(Some((listener, commands))) }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NLMF_LOC.routes(self.clone());
        routes.extend(NLMF_CALLBACK.routes(self.clone()));
        routes
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        let parts = self.parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let Some((listener, commands)) = parts else { return Ok(()) };
        let config = &self.shared.config.user_plane;
        let address = match config.address {
            IpAddr::V4(four) => LmfAddress::Ipv4(four),
            IpAddr::V6(six) => LmfAddress::Ipv6(six),
        };
        let limits = LmfLimits {
            ues: config.max_connections,
            early_bytes: config.early_bytes,
            ..LmfLimits::default()
        };
        let lmf = LmfSide::new(Timers::default(), limits, address);
        if let Some(listener) = listener {
            martlet_nf::spawn_essential(
                "listener",
                listener.run(self.shared.connections.clone(), shutdown.clone()),
            );
        }
        Connections::new(self.shared.clone(), lmf, commands).run(shutdown).await;
        Ok(())
    }

    /// `locate/imsi-…`: requests the position from the UE's AMF, as a GMLC does. `lmf/points`: the
    /// configured cells, and the TRPs of gNBs.
    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        let (request, segments) = REQUESTS.find(question)?;
        let shared = self.shared.clone();
        Some(match request {
            OamRequest::Points => Box::pin(std::future::ready(Ok(self.points()))),
            OamRequest::Locate => {
                let supi = segments.into_iter().next()?;
                Box::pin(async move { shared.locate(&supi).await })
            }
        })
    }

    fn status(&self) -> serde_json::Value {
        let user_plane = &self.shared.config.user_plane;
        let free = self.requests.available_permits();
        serde_json::json!({
            "requests in progress": self.shared.config.max_requests.saturating_sub(free),
            "user plane": user_plane.enabled.then(|| user_plane.listener().to_string()),
            "TRPs of gNBs": self.shared.nrppa.trps.count(),
            "cells": self.shared.config.cells.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{OamRequest, REQUESTS};

    #[test]
    fn requests_are_found_by_their_paths() {
        assert_eq!(REQUESTS.find("lmf/points"), Some((OamRequest::Points, Vec::new())));
        let nai = "nai-a/b@x.example";
        let path = format!("locate/{}", martlet_sbi::path_segment(nai));
        assert_eq!(REQUESTS.find(&path), Some((OamRequest::Locate, vec![nai.to_string()])));
        assert_eq!(REQUESTS.find("locate"), None);
    }
}
