//! The AMF (TS 23.501, 6.2.1): gNBs reach it over N2, UEs over N1, other network functions over the
//! SBI.
//!
//! One task owns the context of each UE ([`ue`]). [`dispatch`] and [`services`] send events to it;
//! the task runs the procedure for each event. The [`procedures`] are in folders named after groups
//! of TS 23.502 and TS 38.413, one file each.
#![forbid(unsafe_code)]

mod concurrency;
mod config;
mod consumers;
mod cut_off;
mod dispatch;
mod flag;
mod former_associations;
mod metrics;
mod n2;
mod nssf_answers;
mod operator;
mod persisted;
mod procedures;
mod rebalancing;
mod served;
mod services;
mod shared_data;
mod takeover;
mod ue;

#[cfg(test)]
mod tests;

pub use config::{
    AllowConfig, AmfConfig, CipheringName, ConcurrencyConfig, GuamiConfig, IntegrityName, Limit,
    LimitsConfig, N1Config, N2Config, NeighboursConfig, NetworkNameConfig, PlmnConfig,
    RebalancingConfig, SctpStackConfig, SecurityConfig, TaiConfig, TimersConfig, XnNeighbours,
};
pub use n2::prepare_raw_socket;

use concurrency::Concurrency;
use flag::Flag;
use martlet_context_store::ContextStore;
use martlet_event_queue as event_queue;
use martlet_nf::{
    ConnectedNodes, NetworkFunction, NfContext, NotReady, Shutdown, StartError, refuse_while,
};
use martlet_sbi::{BoxFuture, Problem, Route, trace};
use martlet_sbi_api::common::{ExtSnssai, NfInstanceId};
use martlet_sbi_api::namf_callback::NAMF_CALLBACK;
use martlet_sbi_api::namf_communication::NAMF_COMM;
use martlet_sbi_api::namf_event_exposure::NAMF_EVTS;
use martlet_sbi_api::namf_location::NAMF_LOC;
use martlet_sbi_api::nmartlet_status::GnbStatus;
use martlet_sbi_api::nnrf_nfmanagement::{
    AmfInfo, DefaultNotificationSubscription, N2InterfaceAmfInfo, NfProfile, NfType,
    NotificationType, PlmnSnssai,
};
use martlet_sctp::{Listener, SctpStack};
use n2::Gnbs;
use procedures::n2::{amf_configuration_update, overload_control, planned_removal};
use procedures::positioning::event_exposure::EventSubscriptions;
use procedures::positioning::nrppa_transport::NonUeSubscriptions;
use procedures::registration::{amf_load_rebalancing, amf_reallocation};
use served::{Served, ServedGuami, ServedPlmn, plmn_to_sbi, slice_to_sbi};
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::Semaphore;
use ue::tables::{Summary, Tables};
use ue::{ProcedureLayer, Ue, UeHandle};

/// The AMF.
pub struct Amf {
    config: AmfConfig,
    served: Served,
    context: Arc<NfContext>,
    instance_id: NfInstanceId,
    tables: Tables,
    gnbs: Gnbs,
    concurrency: Concurrency,
    /// Rejects with #22 (congestion) since the start.
    congestion_rejects: AtomicU64,
    /// Itself, for handlers that start UE tasks.
    itself: Weak<Amf>,
    /// The stored UE contexts.
    contexts: ContextStore,
    /// Whether the AMF is cut off from the database of its set.
    cut_off: Flag,
    /// Whether the AMF has ended what it had begun, before it stops.
    procedures_ended: Flag,
    /// UE contexts of the other AMFs of the set.
    peers: takeover::PeerIndexes,
    /// Moves of UEs to other AMFs of the set.
    rebalancing: rebalancing::Rebalancing,
    /// Limits the restored UEs that call their SMFs at the same time.
    restorations: Semaphore,
    /// Subscriptions to UE events (TS 29.518, 5.3).
    event_subscriptions: EventSubscriptions,
    /// Subscription data that UEs have in common.
    subscriptions: shared_data::SharedSubscriptions,
    /// Answers of the NSSF that still hold.
    nssf_answers: nssf_answers::NssfAnswers,
    /// LMF subscriptions to NRPPa messages that belong to no UE.
    nrppa_subscriptions: NonUeSubscriptions,
    /// Subscriptions to the state of the AMF (TS 29.518, 5.2.2.5).
    status_subscriptions: services::StatusSubscriptions,
    /// The N2 listener; taken by `run`.
    listener: Mutex<Option<Listener>>,
}

/// Restored UEs that deactivate their user planes at the same time.
const RESTORATIONS: usize = 32;

/// UE contexts beyond `limits.max_ues` that exist only to be rejected.
const HEADROOM: usize = 256;

impl Amf {
    fn new(
        config: AmfConfig,
        context: Arc<NfContext>,
        listener: Option<(SctpStack, Listener)>,
    ) -> Result<Arc<Self>, StartError> {
        let served = Served::new(&config)?;
        let instance_id = context.instance_id().parse()?;
        let concurrency = Concurrency::new(&config.concurrency);
        let (contexts, mut stored) = persisted::open(&config, context.instance_id())?;
        if let Some((stack, _)) = &listener {
            former_associations::abort(stack, &contexts, &mut stored);
        }
        let amf = Arc::new_cyclic(|itself| Amf {
            itself: itself.clone(),
            config,
            served,
            context,
            instance_id,
            tables: Tables::default(),
            gnbs: Gnbs::default(),
            concurrency,
            congestion_rejects: AtomicU64::new(0),
            contexts,
            cut_off: Flag::default(),
            procedures_ended: Flag::default(),
            peers: takeover::PeerIndexes::default(),
            rebalancing: rebalancing::Rebalancing::default(),
            restorations: Semaphore::new(RESTORATIONS),
            event_subscriptions: EventSubscriptions::default(),
            subscriptions: shared_data::SharedSubscriptions::default(),
            nssf_answers: nssf_answers::NssfAnswers::default(),
            nrppa_subscriptions: NonUeSubscriptions::default(),
            status_subscriptions: services::StatusSubscriptions::default(),
            listener: Mutex::new(listener.map(|(_, listener)| listener)),
        });
        persisted::restore(&amf, stored);
        Ok(amf)
    }

    /// Itself; `None` during the shutdown.
    fn this(&self) -> Option<Arc<Amf>> {
        self.itself.upgrade()
    }

    /// Starts the task of a new UE; `None` at the context limit.
    fn new_ue(self: &Arc<Self>) -> Option<UeHandle> {
        let (ues, max) = (self.tables.len(), self.config.limits.max_ues);
        if ues >= max.saturating_add(HEADROOM) {
            return None;
        }
        // A deregistered context makes room.
        let over_limit = ues >= max && !self.tables.evict();
        let (sender, inbox) = event_queue::bounded(self.config.limits.ue_queue);
        let handle = UeHandle { number: self.tables.next_number(), sender };
        self.tables.add(&handle);
        let ue = Box::new(Ue::new(self.clone(), handle.clone(), inbox, over_limit));
        trace::spawn(trace::Origin::default(), ue.run());
        Some(handle)
    }
}

impl NetworkFunction for Amf {
    const TYPE: NfType = NfType::Amf;
    type Config = AmfConfig;

    async fn create(config: AmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        // The configuration is checked before a socket is opened.
        Served::new(&config)?;
        let listener = n2::listen(&config.n2).await?;
        Amf::new(config, context, Some(listener))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NAMF_COMM.routes(self.clone());
        routes.extend(NAMF_CALLBACK.routes(self.clone()));
        routes.extend(NAMF_LOC.routes(self.clone()));
        routes.extend(NAMF_EVTS.routes(self.clone()));
        // Another AMF of the set takes over what requests concern.
        let amf = self.clone();
        refuse_while(routes, move || amf.cut_off.is_set())
    }

    fn profile(&self, profile: &mut NfProfile) {
        let first = &self.served.guamis[0].sbi.amf_id;
        // The profile's AMF name is a domain name (TS 23.003, 28.3.2.5); the NGAP name may be any
        // text.
        let amf_name = Some(&self.config.name).filter(|name| name.contains('.')).cloned();
        let mut n2 = N2InterfaceAmfInfo { amf_name, ..Default::default() };
        for address in &self.config.n2.bind {
            match address {
                IpAddr::V4(address) => {
                    n2.ipv4_endpoint_address.get_or_insert_default().push(*address)
                }
                IpAddr::V6(address) => {
                    n2.ipv6_endpoint_address.get_or_insert_default().push(*address)
                }
            }
        }
        let set = |guami: &ServedGuami| {
            let (plmn, id) = (guami.plmn, &guami.id);
            // TS 23.003, 28.12.
            format!(
                "set{:03x}.region{:02x}.amfset.5gc.mnc{:0>3}.mcc{}",
                id.set(),
                id.region(),
                plmn.mnc(),
                plmn.mcc()
            )
        };
        profile.nf_set_id_list = Some(self.served.guamis.iter().map(set).collect());
        profile.amf_info = Some(AmfInfo {
            amf_set_id: first.set_id(),
            amf_region_id: first.region_id(),
            guami_list: self.served.guamis.iter().map(|guami| guami.sbi.clone()).collect(),
            tai_list: Some(self.served.tais.iter().map(|tai| tai.to_sbi()).collect()),
            n2_interface_amf_info: Some(n2),
            ..Default::default()
        });
        let root = self.context.api_root();
        let uri = format!("{root}/namf-callback/v1/n1-message-notify");
        let mut subscription =
            DefaultNotificationSubscription::new(NotificationType::N1Messages, uri);
        subscription.n1_message_class = Some(amf_reallocation::CLASS.into());
        profile.default_notification_subscriptions = Some(vec![subscription]);
        profile.plmn_list =
            Some(self.served.plmns.iter().map(|served| plmn_to_sbi(served.plmn)).collect());
        let slices = |served: &ServedPlmn| {
            let slices: Vec<ExtSnssai> =
                served.slices.iter().map(|slice| slice_to_sbi(*slice).into()).collect();
            (!slices.is_empty()).then(|| PlmnSnssai::new(plmn_to_sbi(served.plmn), slices))
        };
        let slices: Vec<_> = self.served.plmns.iter().filter_map(slices).collect();
        profile.per_plmn_snssai_list = Some(slices).filter(|list| !list.is_empty());
        profile.nf_instance_name = Some(self.config.name.clone());
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        let listener = self.listener.lock().unwrap_or_else(|e| e.into_inner()).take();
        martlet_nf::spawn_essential(
            "overload control",
            overload_control::watch(self.clone(), shutdown.clone()),
        );
        martlet_nf::spawn_essential(
            "leases",
            takeover::observe_leases(self.clone(), shutdown.clone()),
        );
        martlet_nf::spawn_essential("cut-off", cut_off::watch(self.clone(), shutdown.clone()));
        martlet_nf::spawn_essential(
            "relative capacity",
            amf_configuration_update::watch(self.clone(), shutdown.clone()),
        );
        martlet_nf::spawn_essential(
            "load rebalancing",
            amf_load_rebalancing::watch(self.clone(), shutdown.clone()),
        );
        if let Some(listener) = &listener {
            tokio::select! {
                () = dispatch::accept(self.clone(), listener, shutdown.clone()) => {}
                ended = ue::lease::watch(&self, &shutdown) => ended?,
            }
        }
        shutdown.wait().await;
        tokio::join!(planned_removal::run(&self), services::unavailable(&self));
        Ok(())
    }

    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        operator::answer(self, question)
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.contexts.ready()
    }

    fn connected_nodes(&self) -> ConnectedNodes {
        let connections = self.tables.connections_by_gnb();
        let gnb = |gnb: &Arc<n2::Gnb>| {
            let connected_ues = connections.get(&gnb.number).copied().unwrap_or(0);
            Some(GnbStatus { connected_ues, ..gnb.network_status()? })
        };
        let gnbs = self.gnbs.all().iter().filter_map(gnb).collect();
        let registered_ues = Some(self.tables.registered() as u64);
        ConnectedNodes { gnbs: Some(gnbs), registered_ues, ..Default::default() }
    }

    fn status(&self) -> serde_json::Value {
        let (contexts, registered, connected, first) = self.tables.overview(self.config.status_ues);
        let connections = self.tables.connections_by_gnb();
        let gnb = |gnb: &Arc<n2::Gnb>| {
            let mut status = gnb.status()?;
            status["connectedUes"] = connections.get(&gnb.number).copied().unwrap_or(0).into();
            Some(status)
        };
        let gnbs: Vec<_> = self.gnbs.all().iter().filter_map(gnb).collect();
        let ues: Vec<_> = first.iter().filter_map(Summary::status).collect();
        serde_json::json!({
            "gnbs": gnbs,
            "ues": {
                "contexts": contexts, "registered": registered, "connected": connected,
                    "first": ues,
            },
            "procedures": self.concurrency.status(),
            "context_store": self.contexts.status(),
        })
    }
}
