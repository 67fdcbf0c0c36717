//! The SMF: PDU sessions, from the UE's request to the UPF's rules (TS 23.501, 6.2.2; TS 29.502; TS
//! 29.244).
//!
//! A session's context ([`session`]) belongs to one task ([`task`]), in which its procedures run
//! one after the other ([`procedures`]). Requests of the AMF and reports of the UPF reach it as
//! events.
#![forbid(unsafe_code)]

mod addresses;
mod config;
mod filter;
mod flows;
mod limits;
mod metrics;
mod n1;
mod n4;
mod persisted;
mod place;
mod procedures;
mod protection;
mod services;
mod session;
mod sessions;
mod set;
mod task;
mod usage;

pub use config::{
    BranchingConfig, ChargingConfig, ChargingMode, DnnConfig, LimitConfig, N4Config, OnFailure,
    SetConfig, SliceConfig, SmfConfig, UpfConfig,
};

use addresses::Pools;
use martlet_context_store::ContextStore;
use martlet_nf::{NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::Route;
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType, SmfInfo, SnssaiSmfInfoItem};
use martlet_sbi_api::nsmf_callback::NSMF_CALLBACK;
use martlet_sbi_api::nsmf_pdusession::NSMF_PDUSESSION;
use sessions::Sessions;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;

/// Sessions that are restored at the same time: what a UPF that has just started is asked at once.
const RESTORATIONS: usize = 64;

/// The SMF.
pub struct Smf {
    context: Arc<NfContext>,
    instance_id: NfInstanceId,
    config: SmfConfig,
    pools: Pools,
    sessions: Sessions,
    limits: limits::RoomLimits,
    n4: n4::N4,
    /// The stored sessions.
    contexts: ContextStore,
    /// Sessions that are restored at their UPF at the same time.
    restorations: Semaphore,
    /// For the tasks of sessions, which outlive the request that began them.
    itself: Weak<Smf>,
}

impl NetworkFunction for Smf {
    const TYPE: NfType = NfType::Smf;
    type Config = SmfConfig;

    async fn create(config: SmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let instance_id = context.instance_id().parse();
        let instance_id =
            instance_id.map_err(|e| StartError(format!("sbi.instance_id: {e}; write a UUID")))?;
        let pools = Pools::new(&config.dnns).map_err(StartError)?;
        let (contexts, stored) = persisted::open(&config)?;
        let elsewhere = match contexts.is_enabled() {
            true => set::elsewhere(&config).map_err(persisted::start_error)?,
            false => Vec::new(),
        };
        let n4 = n4::N4::open(&config, stored.recovery, contexts.is_enabled()).await?;
        let sessions =
            Sessions::new(config.max_sessions, config.set.as_ref().map_or(0, |set| set.member));
        let restorations = Semaphore::new(RESTORATIONS);
        let limits = limits::RoomLimits::new(&config.limits);
        let smf = Arc::new_cyclic(|itself| {
            let itself = itself.clone();
            Smf {
                context,
                instance_id,
                config,
                pools,
                sessions,
                limits,
                n4,
                contexts,
                restorations,
                itself,
            }
        });
        persisted::restore(&smf, stored, elsewhere);
        Ok(smf)
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NSMF_PDUSESSION.routes(self.clone());
        routes.extend(NSMF_CALLBACK.routes(self.clone()));
        routes
    }

    fn profile(&self, profile: &mut NfProfile) {
        let dnn =
            |dnn: &DnnConfig| serde_json::from_value(serde_json::json!({"dnn": dnn.name})).ok();
        let item = |slice: &SliceConfig| SnssaiSmfInfoItem {
            s_nssai: slice.snssai().into(),
            dnn_smf_info_list: self.config.dnns.iter().filter_map(dnn).collect(),
        };
        profile.s_nssais =
            Some(self.config.slices.iter().map(|slice| slice.snssai().into()).collect());
        let list = self.config.slices.iter().map(item).collect();
        if let Some(set) = &self.config.set {
            profile.nf_set_id_list = Some(vec![set.name()]);
            profile.priority = Some(set.priority);
        }
        profile.smf_info = Some(SmfInfo { s_nssai_smf_info_list: list, ..Default::default() });
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        tokio::spawn(set::watch(self.clone(), shutdown.clone()));
        tokio::select! {
            ended = self.n4.run(&self.sessions, shutdown.clone()) => ended,
            Err(ended) = set::fence(&self, &shutdown) => Err(ended),
        }
    }

    fn ready(&self) -> Result<(), String> {
        match self.n4.is_associated() {
            true => Ok(()),
            false => Err("no UPF is associated".into()),
        }
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({
            "sessions": self.sessions.len(),
            "addresses": self.pools.status(),
            "upfs": self.n4.status(),
            "context_store": self.contexts.status(),
        })
    }
}
