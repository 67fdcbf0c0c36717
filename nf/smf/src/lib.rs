//! The SMF: PDU sessions, from the UE's request to the UPF's rules (TS 23.501, 6.2.2; TS 29.502; TS
//! 29.244).
//!
//! | module | content |
//! | --- | --- |
//! | `services` | what other NFs call: each request becomes an event of its session |
//! | `task` | one task per session, which dispatches events to procedures |
//! | `procedures` | the procedures of TS 23.502, one file each |
//! | `set`, `restart` | takeover within an SMF set, and restoration after a restart |
//! | `session` | the context of a session, with its states |
//! | `n4` | associations with UPFs, PFCP requests and the rules of a session |
#![forbid(unsafe_code)]

mod addresses;
mod config;
mod gtpu_peers;
mod limits;
mod metrics;
mod n1;
mod n4;
mod packet_filter;
mod persisted;
mod procedures;
mod qos_flows;
mod restart;
mod return_pace;
mod services;
mod session;
mod session_event;
mod session_table;
mod set;
mod shared;
mod task;
mod up_security;
mod usage;
mod user_plane_path;

pub use config::{
    BranchingConfig, ChargingConfig, ChargingMode, DnnConfig, LimitConfig, N1Config, N4Config,
    NetworkInstanceEncoding, OnFailure, PoolError, SetConfig, SliceConfig, SmfConfig, UpfConfig,
};

use addresses::Pools;
use gtpu_peers::GtpuPeers;
use martlet_nf::oam::Paths;
use martlet_nf::{ConnectedNodes, NetworkFunction, NfContext, NotReady, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::common::AccessType;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType, SmfInfo, SnssaiSmfInfoItem};
use martlet_sbi_api::nsmf_callback::NSMF_CALLBACK;
use martlet_sbi_api::nsmf_pdusession::NSMF_PDUSESSION;
use procedures::charging::unanswered_release;
use procedures::release::address_loss;
use return_pace::ReturnPace;
use session_table::SessionTable;
pub use shared::Smf;
use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// Sessions that are restored at UPFs at the same time.
const MAX_RESTORATIONS: usize = 64;

/// What the command line and the API request of the SMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OamRequest {
    Sessions,
    Address,
    Owners,
}

static REQUESTS: LazyLock<Paths<OamRequest>> = LazyLock::new(|| {
    Paths::new([
        ("smf/sessions/{supi}", OamRequest::Sessions),
        ("smf/address/{address}", OamRequest::Address),
        ("smf/owners/{seids}", OamRequest::Owners),
        // No sessions.
        ("smf/owners/", OamRequest::Owners),
    ])
});

impl NetworkFunction for Smf {
    const TYPE: NfType = NfType::Smf;
    type Config = SmfConfig;

    async fn create(config: SmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let instance_id = context.instance_id().parse()?;
        let pools =
            Pools::new(&config.dnns).map_err(|error| StartError::config("smf.dnns", error))?;
        let (contexts, stored) = persisted::open(&config)?;
        let set = set::open(&config).map_err(persisted::start_error)?;
        let peers = match &set {
            Some(set) => set::all_sessions(set, &config).map_err(persisted::start_error)?,
            None => Vec::new(),
        };
        let n4 = n4::N4::open(&config, stored.recovery, contexts.is_enabled()).await?;
        let member = config.set.as_ref().map_or(0, |set| set.member);
        let sessions = SessionTable::new(config.max_sessions, member);
        let restorations = Semaphore::new(MAX_RESTORATIONS);
        let address_losses = Semaphore::new(address_loss::MAX_CONCURRENT);
        let charging_releases = Arc::new(Semaphore::new(unanswered_release::MAX_PENDING));
        let return_pace = ReturnPace::new(config.n4.return_per_s);
        let limits = limits::SessionLimits::new(&config.limits);
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
                gtpu_peers: GtpuPeers::default(),
                contexts,
                set,
                restorations,
                address_losses,
                charging_releases,
                return_pace,
                itself,
            }
        });
        restart::restore(&smf, stored, peers);
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
            profile.nf_set_id_list = self.set_id().map(|set| vec![set]);
            profile.priority = Some(set.priority);
        }
        profile.smf_info = Some(SmfInfo {
            s_nssai_smf_info_list: list,
            access_type: Some(vec![AccessType::ThreeGppAccess]),
            ..Default::default()
        });
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        martlet_nf::spawn_essential(
            "health check of the set",
            set::health_check::run(self.clone(), shutdown.clone()),
        );
        tokio::select! {
            ended = self.n4.run(&self.sessions, shutdown.clone()) => ended,
            Err(ended) = set::lease::watch(&self, &shutdown) => Err(ended),
        }
    }

    /// `smf/sessions/SUPI`: the sessions of a UE with their N4 sessions. `smf/owners/SEID,SEID`:
    /// the SUPI of each N4 session, by the SEID of its UPF. `smf/address/IP`: the SUPIs whose
    /// sessions have the address, or the prefix of it.
    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        let (request, argument) = REQUESTS.find(question)?;
        let argument = argument.first().map(String::as_str).unwrap_or_default();
        let answer = match request {
            OamRequest::Sessions => serde_json::json!(self.sessions.describe(argument)),
            OamRequest::Address => {
                serde_json::json!(self.sessions.supis_of(argument.parse().ok()?))
            }
            OamRequest::Owners => {
                let number = |seid: &str| u64::from_str_radix(seid.strip_prefix("0x")?, 16).ok();
                let seids: Vec<u64> = argument.split(',').filter_map(number).collect();
                let owners = self.sessions.owners(&seids).into_iter();
                let owners: serde_json::Map<String, serde_json::Value> =
                    owners.map(|(seid, supi)| (format!("{seid:#018x}"), supi.into())).collect();
                owners.into()
            }
        };
        Some(Box::pin(std::future::ready(Ok(answer))))
    }

    fn ready(&self) -> Result<(), NotReady> {
        let upf = match self.n4.is_associated() {
            true => Ok(()),
            false => Err(NotReady::Waiting("no UPF is associated: check smf.upfs")),
        };
        match (upf, self.contexts.ready()) {
            (Err(upf), Err(database)) => Err(NotReady::Each(vec![upf, database])),
            (upf, database) => upf.and(database),
        }
    }

    fn connected_nodes(&self) -> ConnectedNodes {
        let mut upfs = self.n4.upfs();
        self.sessions.count_by_upf(&mut upfs);
        let upfs = upfs.into_iter().map(|(_, status)| status).collect();
        ConnectedNodes { upfs: Some(upfs), ..Default::default() }
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({
            "sessions": self.sessions.len(),
            "addresses": self.pools.status(),
            "upfs": self.n4.status(),
            "gtpuPeers": self.gtpu_peers.status(),
            "context_store": self.contexts.status(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{OamRequest, REQUESTS};

    #[test]
    fn requests_are_found_by_their_paths() {
        let found = |path: &str| REQUESTS.find(path);
        let nai = "nai-a/b@x.example";
        let path = format!("smf/sessions/{}", martlet_sbi::path_segment(nai));
        assert_eq!(found(&path), Some((OamRequest::Sessions, vec![nai.to_string()])));
        let address = "2001:db8::1".to_string();
        let path = format!("smf/address/{address}");
        assert_eq!(found(&path), Some((OamRequest::Address, vec![address])));
        let seids = "0x1,0x2".to_string();
        assert_eq!(found("smf/owners/0x1,0x2"), Some((OamRequest::Owners, vec![seids])));
        assert_eq!(found("smf/owners/"), Some((OamRequest::Owners, Vec::new())));
        assert_eq!(found("amf/sessions/imsi-1"), None);
    }
}
