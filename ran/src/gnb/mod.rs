//! The gNB: NGAP procedures, each in a file named after it, and the UEs in its cell.
mod command;
mod config;
mod core_time;
mod dispatch;
mod error;
mod link;
mod procedures;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod ue;
mod ue_commands;
mod ue_connection;
mod ue_events;
mod ue_task;

pub use command::UeEvent;
pub(crate) use command::{Command, Reply};
pub use config::GnbConfig;
pub use error::{GnbError, UeError};
pub use procedures::handover::handover_preparation::{HandoverOutcome, HandoverPlan, HandoverTurn};
pub use link::{LinkError, N2Link, N2Message, N2Peer};
pub use procedures::interface_management::ng_setup::AmfInfo;
pub use procedures::handover::path_switch_request::XnPlan;
pub use ue::{Ue, UeStatus};
pub(crate) use ue_task::{Fault, ToUe, UeTask};

use crate::sample::{Procedure, Sample, Samples};
use crate::ue::{UeConfig, UeNas};
use crate::user_plane::{Counters, Interface, Netns, UserPlane};
use bytes::Bytes;
use config::Identity;
use martlet_ngap::ngap::{Cause, CauseProtocol};
use procedures::interface_management::{error_indication, ng_setup};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};
use table::UeTable;
use tokio::sync::{Mutex as AsyncMutex, broadcast, mpsc, watch};

/// Packets that may wait for [`Ue::recv_ip`].
const DOWNLINK_PACKETS: usize = 1024;

/// A gNB; clones are the same gNB.
#[derive(Clone)]
pub struct Gnb(Arc<Inner>);

struct Inner {
    config: GnbConfig,
    identity: Identity,
    link: N2Link,
    table: UeTable,
    samples: Samples,
    user_plane: Option<UserPlane>,
    amf: OnceLock<AmfInfo>,
    tap: Mutex<Option<broadcast::Sender<Bytes>>>,
    lost: watch::Sender<Option<Arc<str>>>,
    next_teid: AtomicU32,
    error_indications: AtomicU64,
    status_transfers: AtomicU64,
    overflows: AtomicU64,
    /// OVERLOAD START came, and no OVERLOAD STOP.
    overloaded: AtomicBool,
    /// GUAMIs that the AMF no longer serves.
    unavailable_guamis: AtomicU64,
    /// UEs that other gNBs have announced, by the gNB's identifier and theirs there.
    announced: Mutex<HashMap<(u32, u32), table::Mailbox>>,
    /// This gNB's associations, with each AMF one.
    associations: Associations,
}

/// The associations of one gNB with several AMFs, each of which is a [`Gnb`] of its own that knows
/// the others.
type Associations = Arc<Mutex<Vec<Weak<Inner>>>>;

impl Gnb {
    /// Whether two are the same gNB, on the same association.
    fn is(&self, other: &Gnb) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// UEs that other gNBs have announced.
    fn announced(&self) -> std::sync::MutexGuard<'_, HashMap<(u32, u32), table::Mailbox>> {
        self.0.announced.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Connect to the AMF and set the NG interface up. Samples go to a collector of its own.
    ///
    /// # Errors
    /// The AMF is not reached or refuses, or the N3 address is not to be had.
    pub async fn connect(config: GnbConfig) -> Result<Gnb, GnbError> {
        Gnb::connect_with(config, Samples::default()).await
    }

    /// Connect to the AMF; samples go to `samples`, which several gNBs may share.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_with(config: GnbConfig, samples: Samples) -> Result<Gnb, GnbError> {
        let link = Gnb::link_to(&config).await?;
        Gnb::attach(config, link, samples).await
    }

    async fn link_to(config: &GnbConfig) -> Result<N2Link, GnbError> {
        let link = tokio::time::timeout(config.setup_timeout, N2Link::connect(config)).await;
        let link = match link {
            Err(_) => Err(martlet_sctp::SctpError::ConnectTimeout),
            Ok(outcome) => outcome,
        };
        link.map_err(|error| GnbError::Connect {
            gnb: config.name.clone(),
            amf: config.amf.to_string(),
            error,
        })
    }

    /// Set the NG interface up over a link that exists.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn attach(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
    ) -> Result<Gnb, GnbError> {
        let gnb = Gnb::open(config, link, samples, None, Associations::default())?;
        gnb.set_up().await
    }

    /// Connect to another AMF of the same set, too (TS 23.501, 5.21): the same gNB with the same
    /// user plane. When an AMF is lost, or says that it goes, UEs turn to one that is left, and
    /// are paged by it.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_also(&self, amf: std::net::SocketAddr) -> Result<Gnb, GnbError> {
        let config = GnbConfig { amf, ..self.0.config.clone() };
        let link = Gnb::link_to(&config).await?;
        let (samples, user_plane) = (self.0.samples.clone(), self.0.user_plane.clone());
        Gnb::open(config, link, samples, user_plane, self.0.associations.clone())?.set_up().await
    }

    /// The association with another AMF that is there, where this one's AMF is lost or on its way
    /// out.
    pub(crate) fn instead(&self) -> Option<Gnb> {
        let gone = |gnb: &Gnb| gnb.0.lost.borrow().is_some() || gnb.unavailable_guamis() > 0;
        if !gone(self) {
            return None;
        }
        let all = self.0.associations.lock().unwrap_or_else(|e| e.into_inner());
        let mut others = all.iter().filter_map(Weak::upgrade).map(Gnb).filter(|gnb| !gnb.is(self));
        others.find(|gnb| !gone(gnb))
    }

    /// The association with an AMF of a set.
    fn of_set(&self, set: u16) -> Option<Gnb> {
        let all = self.0.associations.lock().unwrap_or_else(|e| e.into_inner());
        let mut others = all.iter().filter_map(Weak::upgrade).map(Gnb).filter(|gnb| !gnb.is(self));
        others.find(|gnb| {
            gnb.0.lost.borrow().is_none() && gnb.amf().is_some_and(|amf| amf.sets.contains(&set))
        })
    }

    /// The UE that another association of this gNB has with a RAN UE NGAP ID.
    fn with_another_amf(&self, ran_id: u32) -> Option<table::Mailbox> {
        let all = self.0.associations.lock().unwrap_or_else(|e| e.into_inner());
        let mut others = all.iter().filter_map(Weak::upgrade).map(Gnb).filter(|gnb| !gnb.is(self));
        others.find_map(|gnb| gnb.table().by_ran_id(ran_id))
    }

    /// Connect anew after the association ended: the same gNB with the same user plane, so that
    /// interfaces of its UEs live on. The UEs are moved to it with [`Ue::move_to`].
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_again(&self) -> Result<Gnb, GnbError> {
        let link = Gnb::link_to(&self.0.config).await?;
        let (samples, user_plane) = (self.0.samples.clone(), self.0.user_plane.clone());
        let gnb = Gnb::open(
            self.0.config.clone(),
            link,
            samples,
            user_plane,
            self.0.associations.clone(),
        )?;
        gnb.set_up().await
    }

    async fn set_up(self) -> Result<Gnb, GnbError> {
        let gnb = self;
        let amf = ng_setup::run(&gnb).await?;
        tracing::info!(gnb = gnb.name(), amf = amf.name, "NG setup");
        let _ = gnb.0.amf.set(amf);
        gnb.serve();
        Ok(gnb)
    }

    /// A gNB that serves its link without NG SETUP, for tests of an AMF that meets one that does
    /// not begin with it.
    ///
    /// # Errors
    /// The N3 address is not to be had.
    pub fn attach_without_setup(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
    ) -> Result<Gnb, GnbError> {
        let gnb = Gnb::open(config, link, samples, None, Associations::default())?;
        gnb.serve();
        Ok(gnb)
    }

    fn open(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
        user_plane: Option<UserPlane>,
        associations: Associations,
    ) -> Result<Gnb, GnbError> {
        let identity = Identity::of(&config)
            .map_err(|e| GnbError::Config { gnb: config.name.clone(), reason: e.to_string() })?;
        let user_plane = match config.n3 {
            _ if user_plane.is_some() => user_plane,
            Some(address) => {
                let local = (address, config.n3_port).into();
                let started =
                    UserPlane::start_with(local, config.radio.as_ref()).map_err(|error| {
                        GnbError::UserPlane {
                            gnb: config.name.clone(),
                            address: format!("{local}"),
                            error,
                        }
                    })?;
                Some(started)
            }
            None => None,
        };
        let number = {
            let mut all = associations.lock().unwrap_or_else(|e| e.into_inner());
            all.retain(|other| other.strong_count() > 0);
            u32::try_from(all.len()).unwrap_or(0) & 0xff
        };
        let gnb = Gnb(Arc::new(Inner {
            config,
            identity,
            link,
            table: UeTable::beginning_at((number << 24) + 1),
            samples,
            user_plane,
            amf: OnceLock::new(),
            tap: Mutex::new(None),
            lost: watch::channel(None).0,
            next_teid: AtomicU32::new(1),
            error_indications: AtomicU64::new(0),
            status_transfers: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
            overloaded: AtomicBool::new(false),
            unavailable_guamis: AtomicU64::new(0),
            announced: Mutex::default(),
            associations: associations.clone(),
        }));
        associations.lock().unwrap_or_else(|e| e.into_inner()).push(Arc::downgrade(&gnb.0));
        Ok(gnb)
    }

    fn serve(&self) {
        let gnb = self.clone();
        tokio::spawn(async move {
            let reason: Arc<str> = dispatch::run(&gnb).await.into();
            tracing::info!(gnb = gnb.name(), %reason, "N2 connection ended");
            gnb.0.lost.send_replace(Some(reason.clone()));
            for mailbox in gnb.0.table.all() {
                let _ = mailbox.send(ToUe::LinkLost(gnb.clone(), reason.clone())).await;
            }
        });
    }

    /// A UE in the cell of this gNB, switched on and deregistered, without an interface of its own.
    ///
    /// # Errors
    /// A configuration of which no SUCI can be made.
    pub fn new_ue(&self, config: UeConfig) -> Result<Ue, GnbError> {
        self.new_ue_in(config, Netns::None)
    }

    /// A UE with interfaces in a network namespace.
    ///
    /// # Errors
    /// As [`Gnb::new_ue`]; the namespace is made with the first PDU session.
    pub fn new_ue_in(&self, config: UeConfig, netns: Netns) -> Result<Ue, GnbError> {
        let interface = Interface::new(&config, netns);
        let nas = UeNas::new(config, self.0.config.plmn).map_err(|e| GnbError::Config {
            gnb: self.0.config.name.clone(),
            reason: e.to_string(),
        })?;
        let (commands, commanded) = mpsc::channel(16);
        let (downlink_ip, packets) = mpsc::channel(DOWNLINK_PACKETS);
        let supi = nas.supi().into();
        tokio::spawn(
            ue_task::UeTask::new(nas, self.clone(), interface, commanded, downlink_ip).run(),
        );
        Ok(Ue {
            commands,
            supi,
            timeout: self.0.config.procedure_timeout,
            downlink_ip: AsyncMutex::new(packets),
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &GnbConfig {
        &self.0.config
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// What the AMF said about itself.
    pub fn amf(&self) -> Option<&AmfInfo> {
        self.0.amf.get()
    }

    /// Latencies.
    pub fn samples(&self) -> &Samples {
        &self.0.samples
    }

    /// Connected UEs, and idle ones that listen to paging.
    pub fn ue_counts(&self) -> (usize, usize) {
        self.0.table.counts()
    }

    /// Whether the AMF has asked to keep signalling away (OVERLOAD START), and has not taken it
    /// back.
    pub fn is_overloaded(&self) -> bool {
        self.0.overloaded.load(Ordering::Relaxed)
    }

    /// GUAMIs that the AMF has said it no longer serves (AMF STATUS INDICATION).
    pub fn unavailable_guamis(&self) -> u64 {
        self.0.unavailable_guamis.load(Ordering::Relaxed)
    }

    /// ERROR INDICATIONs that the AMF sent.
    pub fn error_indications(&self) -> u64 {
        self.0.error_indications.load(Ordering::Relaxed)
    }

    /// RAN statuses that have come here from the source of a handover, as they were.
    pub fn ran_status_transfers(&self) -> u64 {
        self.0.status_transfers.load(Ordering::Relaxed)
    }

    pub(super) fn status_transfers(&self) -> &AtomicU64 {
        &self.0.status_transfers
    }

    /// Messages that were dropped because a UE did not take them from its queue in time.
    pub fn overflows(&self) -> u64 {
        self.0.overflows.load(Ordering::Relaxed)
    }

    /// Send octets as an NGAP message, whatever they are.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn send_raw_ngap(
        &self,
        stream: u16,
        message: impl Into<Bytes>,
    ) -> Result<(), LinkError> {
        self.0.link.send(stream, message.into()).await
    }

    /// Every NGAP message that comes from the AMF from now on. Bounded: a reader that falls behind
    /// loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<Bytes> {
        let mut tap = self.0.tap.lock().unwrap_or_else(|e| e.into_inner());
        tap.get_or_insert_with(|| broadcast::channel(256).0).subscribe()
    }

    /// Wait until the N2 connection has ended, and say why it did.
    pub async fn lost(&self) -> Arc<str> {
        let mut lost = self.0.lost.subscribe();
        match lost.wait_for(|reason| reason.is_some()).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| "ended".into()),
            Err(_) => "ended".into(),
        }
    }

    /// End the N2 association in good order.
    pub async fn shutdown(&self) {
        self.0.link.shutdown().await;
    }

    /// Be gone, as a gNB that loses its power: the association is aborted.
    pub fn vanish(&self) {
        self.0.link.abort();
    }

    fn identity(&self) -> &Identity {
        &self.0.identity
    }

    fn link(&self) -> &N2Link {
        &self.0.link
    }

    fn table(&self) -> &UeTable {
        &self.0.table
    }

    /// Counters of its user plane, where it has one.
    pub fn user_plane_counters(&self) -> Option<Arc<Counters>> {
        self.user_plane().map(|it| it.counters().clone())
    }

    fn user_plane(&self) -> Option<&UserPlane> {
        self.0.user_plane.as_ref()
    }

    /// A TEID for a gNB without a user plane.
    fn next_teid(&self) -> u32 {
        self.0.next_teid.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a UE is connected through it with this RAN UE NGAP ID.
    pub(crate) fn serves(&self, ran_id: u32) -> bool {
        self.table().by_ran_id(ran_id).is_some()
    }

    /// Streams other than 0 are for UEs (TS 38.412, 7): one UE keeps to one, so that its messages
    /// stay in order.
    pub(crate) fn stream_of(&self, ran_id: u32) -> u16 {
        match self.0.link.streams() {
            0 | 1 => 0,
            streams => u16::try_from(1 + ran_id % (u32::from(streams) - 1)).unwrap_or(1),
        }
    }

    fn deliver(&self, mailbox: &table::Mailbox, message: ToUe) {
        if mailbox.try_send(message).is_err() {
            self.0.overflows.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn tap(&self, message: &Bytes) {
        let tap = self.0.tap.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(tap) = tap.as_ref() {
            let _ = tap.send(message.clone());
        }
    }

    fn count_error_indication(&self) {
        self.0.error_indications.fetch_add(1, Ordering::Relaxed);
    }

    fn record(
        &self,
        procedure: Procedure,
        subject: Arc<str>,
        start: Instant,
        received: Instant,
        core: Duration,
        failure: Option<String>,
    ) {
        let latency = received.saturating_duration_since(start);
        let total = start.elapsed().max(latency);
        self.0.samples.push(Sample { procedure, subject, start, latency, total, core, failure });
    }

    async fn not_understood(&self, amf_id: Option<u64>, ran_id: Option<u32>) {
        let cause = Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state);
        error_indication::send(self, cause, (amf_id, ran_id)).await;
    }

    async fn faulty_ie(&self, amf_id: Option<u64>, ran_id: Option<u32>) {
        let cause = Cause::protocol(CauseProtocol::abstract_syntax_error_reject);
        error_indication::send(self, cause, (amf_id, ran_id)).await;
    }
}
