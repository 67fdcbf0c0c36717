//! The LMF: determines where UEs are (TS 23.501, 6.2.16; TS 23.273), over the user plane where they
//! have it (TS 24.572).
//!
//! [`owner`](self) is the task that owns the connections of all UEs; `user_plane` is where their
//! channels come in; `determine_location` is the procedure, `lpp` what it says to the UE, `nrppa`
//! what to gNBs, and `session` how that gets there.
#![forbid(unsafe_code)]

mod config;
mod determine_location;
mod listening;
mod lpp;
mod metrics;
mod nrppa;
mod owner;
mod services;
mod session;
mod shared;
mod user_plane;

pub use config::{CellConfig, LmfConfig, RealtimeConfig, UserPlaneConfig};

use martlet_lcs_protocol::{LmfLimits, LmfSide, Timers};
use martlet_lcsupp::upp_cm::LmfAddress;
use martlet_nf::{NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nlmf_callback::NLMF_CALLBACK;
use martlet_sbi_api::nlmf_location::NLMF_LOC;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use owner::{Command, Owner};
use shared::Shared;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, mpsc};
use user_plane::Door;

/// Commands that may wait for the owner of the connections.
const QUEUE: usize = 1024;

/// Gives the process the real-time properties that are asked for, and says what is in force.
fn realtime(wanted: RealtimeConfig) -> Result<(), StartError> {
    let RealtimeConfig { fifo, lock_memory, governor } = wanted;
    if !fifo && !lock_memory && !governor {
        return Ok(());
    }
    let wanted = martlet_lcs_realtime::Wanted { fifo, lock_memory, governor };
    let in_force = martlet_lcs_realtime::enter(wanted);
    let in_force = in_force.map_err(|why| StartError(format!("lmf.user_plane.realtime: {why}")))?;
    tracing::info!(%in_force, "the LMF's process has real-time properties");
    Ok(())
}

/// The LMF.
pub struct Lmf {
    shared: Arc<Shared>,
    requests: Semaphore,
    /// Taken when the LMF runs.
    waiting: Mutex<Option<(Option<Door>, mpsc::Receiver<Command>)>>,
}

impl NetworkFunction for Lmf {
    const TYPE: NfType = NfType::Lmf;
    type Config = LmfConfig;

    async fn create(config: LmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        realtime(config.user_plane.realtime)?;
        let door = if config.user_plane.enabled {
            Some(Door::open(&config.user_plane).await?)
        } else {
            None
        };
        let (owner, commands) = mpsc::channel(QUEUE);
        let requests = Semaphore::new(config.max_requests);
        let shared = Shared::new(config, context, owner);
        Ok(Arc::new(Lmf { shared, requests, waiting: Mutex::new(Some((door, commands))) }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NLMF_LOC.routes(self.clone());
        routes.extend(NLMF_CALLBACK.routes(self.clone()));
        routes
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        let waiting = self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let Some((door, commands)) = waiting else { return Ok(()) };
        let config = &self.shared.config.user_plane;
        let address = match config.address {
            IpAddr::V4(four) => LmfAddress::Ipv4(four),
            IpAddr::V6(six) => LmfAddress::Ipv6(six),
        };
        let limits = LmfLimits {
            ues: config.max_connections,
            early: config.early_octets,
            ..LmfLimits::default()
        };
        let side = LmfSide::new(Timers::default(), limits, address);
        if let Some(door) = door {
            tokio::spawn(door.run(self.shared.owner.clone(), shutdown.clone()));
        }
        Owner::new(self.shared.clone(), side, commands).run(shutdown).await;
        Ok(())
    }

    /// `locate/imsi-…`: as a GMLC would ask the UE's AMF.
    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        let supi = question.strip_prefix("locate/")?.to_string();
        let shared = self.shared.clone();
        Some(Box::pin(async move { shared.locate(&supi).await }))
    }

    fn status(&self) -> serde_json::Value {
        let free = self.requests.available_permits();
        serde_json::json!({
            "requests under way": self.shared.config.max_requests.saturating_sub(free),
            "user plane": self.shared.config.user_plane.enabled.then(|| self.shared.config.user_plane.bind.to_string()),
            "transmission points of gNBs": self.shared.nrppa.trps.count(),
            "cells": self.shared.config.cells.len(),
        })
    }
}
