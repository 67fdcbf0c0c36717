//! A gNB: its association with an AMF, the UEs in its cells, its user plane and its counters.
use super::config::{GnbConfig, Identity};
use super::error::GnbError;
use super::link::{LinkError, N2Link};
use super::ue_table::UeTable;
use crate::sample::{Procedure, Sample, Samples};
use crate::user_plane::{Counters, UserPlane};
use bytes::Bytes;
use martlet_ngap::ie;
use martlet_ngap::ngap::{NGAP_PDU, UENGAPIDs};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc, watch};

/// What the AMF reported about itself in NG SETUP RESPONSE (TS 38.413, 9.2.6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmfInfo {
    /// AMF name.
    pub name: String,
    /// Relative AMF capacity, 0 to 255.
    pub capacity: u8,
    /// AMF set identifiers of the served GUAMIs.
    pub sets: Vec<u16>,
    /// AMF set identifier and AMF pointer of each served GUAMI.
    pub guamis: Vec<(u16, u8)>,
}

/// A downlink NGAP message of one UE.
pub(crate) struct Downlink {
    pub(crate) pdu: NGAP_PDU,
    /// When it was received.
    pub(crate) at: Instant,
    /// The association that received it: during a handover a UE has two.
    pub(crate) gnb: Gnb,
}

impl Downlink {
    /// AMF UE NGAP ID of the message.
    pub(super) fn amf_id(&self) -> Option<u64> {
        amf_ue_ngap_id(&self.pdu)
    }

    /// RAN UE NGAP ID of the message.
    pub(super) fn ran_id(&self) -> Option<u32> {
        if let Some(Ok(id)) = self.pdu.ie::<ie::RAN_UE_NGAP_ID>() {
            return Some(id.0);
        }
        match self.pdu.ie::<ie::UE_NGAP_IDs>() {
            Some(Ok(UENGAPIDs::uE_NGAP_ID_pair(pair))) => Some(pair.ran_ue_ngap_id.0),
            _ => None,
        }
    }
}

/// AMF UE NGAP ID of a message.
pub(super) fn amf_ue_ngap_id(pdu: &NGAP_PDU) -> Option<u64> {
    if let Some(Ok(id)) = pdu.ie::<ie::AMF_UE_NGAP_ID>() {
        return Some(id.0);
    }
    match pdu.ie::<ie::UE_NGAP_IDs>() {
        Some(Ok(UENGAPIDs::uE_NGAP_ID_pair(pair))) => Some(pair.amf_ue_ngap_id.0),
        Some(Ok(UENGAPIDs::aMF_UE_NGAP_ID(id))) => Some(id.0),
        _ => None,
    }
}

/// Input of a UE's task from its gNB.
pub(crate) enum UeInput {
    /// An NGAP message about the UE.
    Downlink(Box<Downlink>),
    /// The UE is paged.
    Paged {
        /// When.
        at: Instant,
    },
    /// The AMF has dropped the UE's context without a release procedure.
    ContextLost(Gnb, &'static str),
    /// The association with the AMF has ended.
    LinkLost(Gnb, Arc<str>),
    /// An uplink packet waits because its session has no tunnel.
    UplinkData {
        /// PDU session identity.
        psi: u8,
    },
}

/// Sends input to one UE's task.
pub(crate) type UeInbox = mpsc::Sender<UeInput>;

/// A gNB. Clones are handles of the same gNB.
#[derive(Clone)]
pub struct Gnb(Arc<Inner>);

struct Inner {
    config: GnbConfig,
    identity: Identity,
    link: N2Link,
    ues: UeTable<UeInput>,
    samples: Samples,
    user_plane: Option<UserPlane>,
    amf: OnceLock<AmfInfo>,
    /// Relative capacity in the last AMF CONFIGURATION UPDATE; none yet: a value above 255.
    capacity: AtomicU32,
    tap: Mutex<Option<broadcast::Sender<Bytes>>>,
    lost: watch::Sender<Option<Arc<str>>>,
    next_teid: AtomicU32,
    error_indications: AtomicU64,
    status_transfers: AtomicU64,
    overflows: AtomicU64,
    /// Between OVERLOAD START and OVERLOAD STOP.
    overloaded: AtomicBool,
    /// Messages for unknown UEs are ignored.
    ignores_unknown: AtomicBool,
    /// Nanoseconds of a round trip of RRC messages.
    rrc_round_trip: AtomicU64,
    /// Number of GUAMIs in AMF STATUS INDICATIONs.
    unavailable_guamis: AtomicU64,
    /// UEs for which other gNBs prepare a handover to this one, by the source's gNB identifier and
    /// the RAN UE NGAP ID there.
    announced: Mutex<HashMap<(u32, u32), UeInbox>>,
    associations: Associations,
}

/// The associations of one gNB with several AMFs. Each is a [`Gnb`] value of its own.
type Associations = Arc<Mutex<Vec<Weak<Inner>>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Opening and association state.
impl Gnb {
    /// A gNB with its N3 socket open, before NG setup.
    pub(super) fn open(config: GnbConfig, link: N2Link, samples: Samples) -> Result<Gnb, GnbError> {
        let user_plane = match config.n3 {
            Some(address) => {
                let local = (address, config.n3_port).into();
                let started = UserPlane::start_with(local, config.radio.as_ref());
                Some(started.map_err(|error| GnbError::UserPlane {
                    gnb: config.name.clone(),
                    address: format!("{local}"),
                    error,
                })?)
            }
            None => None,
        };
        Gnb::with_parts(config, link, samples, user_plane, Associations::default())
    }

    /// Another association of this gNB, before NG setup. It shares samples and user plane.
    pub(super) fn open_additional(&self, config: GnbConfig, link: N2Link) -> Result<Gnb, GnbError> {
        let (samples, user_plane) = (self.0.samples.clone(), self.0.user_plane.clone());
        Gnb::with_parts(config, link, samples, user_plane, self.0.associations.clone())
    }

    fn with_parts(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
        user_plane: Option<UserPlane>,
        associations: Associations,
    ) -> Result<Gnb, GnbError> {
        let identity = Identity::of(&config)
            .map_err(|e| GnbError::Config { gnb: config.name.clone(), reason: e.to_string() })?;
        // RAN UE NGAP IDs are unique across the associations of a gNB: the association's number is
        // in the upper 8 bits.
        let number = {
            let mut all = lock(&associations);
            all.retain(|other| other.strong_count() > 0);
            u32::try_from(all.len()).unwrap_or(0) & 0xff
        };
        let rrc_round_trip = u64::try_from(config.rrc_round_trip.as_nanos()).unwrap_or(u64::MAX);
        let gnb = Gnb(Arc::new(Inner {
            config,
            identity,
            link,
            ues: UeTable::beginning_at((number << 24) + 1),
            samples,
            user_plane,
            amf: OnceLock::new(),
            capacity: AtomicU32::new(u32::MAX),
            tap: Mutex::new(None),
            lost: watch::channel(None).0,
            next_teid: AtomicU32::new(1),
            error_indications: AtomicU64::new(0),
            status_transfers: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
            overloaded: AtomicBool::new(false),
            ignores_unknown: AtomicBool::new(false),
            rrc_round_trip: rrc_round_trip.into(),
            unavailable_guamis: AtomicU64::new(0),
            announced: Mutex::default(),
            associations: associations.clone(),
        }));
        lock(&associations).push(Arc::downgrade(&gnb.0));
        Ok(gnb)
    }

    pub(super) fn set_amf(&self, amf: AmfInfo) {
        let _ = self.0.amf.set(amf);
    }

    pub(super) fn set_amf_capacity(&self, capacity: u8) {
        self.0.capacity.store(capacity.into(), Ordering::Relaxed);
    }

    pub(super) fn set_lost(&self, reason: Arc<str>) {
        self.0.lost.send_replace(Some(reason));
    }

    /// Whether both are the same association.
    pub(super) fn is(&self, other: &Gnb) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn other_associations(&self) -> Vec<Gnb> {
        let all = lock(&self.0.associations);
        all.iter().filter_map(Weak::upgrade).map(Gnb).filter(|gnb| !gnb.is(self)).collect()
    }

    /// An association with an available AMF, where this association's AMF is lost or unavailable.
    pub(crate) fn alternative(&self) -> Option<Gnb> {
        let unusable = |gnb: &Gnb| gnb.0.lost.borrow().is_some() || gnb.unavailable_guamis() > 0;
        if !unusable(self) {
            return None;
        }
        self.other_associations().into_iter().find(|gnb| !unusable(gnb))
    }

    /// The associations with available AMFs, this one among them.
    pub(super) fn available_associations(&self) -> Vec<Gnb> {
        let is_available =
            |gnb: &Gnb| gnb.0.lost.borrow().is_none() && gnb.unavailable_guamis() == 0;
        let mut all = vec![self.clone()];
        all.extend(self.other_associations());
        all.retain(is_available);
        all
    }

    /// Another association, with an AMF of this set.
    pub(super) fn association_with_set(&self, set: u16) -> Option<Gnb> {
        self.other_associations().into_iter().find(|gnb| {
            gnb.0.lost.borrow().is_none() && gnb.amf().is_some_and(|amf| amf.sets.contains(&set))
        })
    }

    /// The idle UE with a 5G-S-TMSI in the gNB's cell, whichever AMF it used last.
    pub(super) fn idle_ue(&self, s_tmsi: u64) -> Option<UeInbox> {
        let others = || self.other_associations().iter().find_map(|gnb| gnb.ues().camped(s_tmsi));
        self.ues().camped(s_tmsi).or_else(others)
    }

    /// The UE that another association of this gNB has with a RAN UE NGAP ID.
    pub(super) fn ue_of_other_association(&self, ran_id: u32) -> Option<UeInbox> {
        self.other_associations().iter().find_map(|gnb| gnb.ues().by_ran_id(ran_id))
    }
}

/// What a caller can read, and what a test can do to the association.
impl Gnb {
    /// The configuration.
    pub fn config(&self) -> &GnbConfig {
        &self.0.config
    }

    /// RAN node name.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// What the AMF reported in NG SETUP RESPONSE.
    pub fn amf(&self) -> Option<&AmfInfo> {
        self.0.amf.get()
    }

    /// The relative capacity of the AMF, as it reported last; 0 before NG setup.
    pub fn amf_capacity(&self) -> u8 {
        let of_setup = || self.amf().map_or(0, |amf| amf.capacity);
        u8::try_from(self.0.capacity.load(Ordering::Relaxed)).unwrap_or_else(|_| of_setup())
    }

    /// Latency samples.
    pub fn samples(&self) -> &Samples {
        &self.0.samples
    }

    /// Number of connected UEs, and of idle UEs that listen to paging.
    pub fn ue_counts(&self) -> (usize, usize) {
        self.0.ues.counts()
    }

    /// Ignores messages for unknown UEs, in place of ERROR INDICATION. A test that sends messages
    /// of UEs itself uses it, so that these UEs seem not to answer.
    pub fn ignore_unknown_ues(&self) {
        self.0.ignores_unknown.store(true, Ordering::Relaxed);
    }

    pub(super) fn ignores_unknown_ues(&self) -> bool {
        self.0.ignores_unknown.load(Ordering::Relaxed)
    }

    /// Sets the round trip of RRC messages, in place of [`GnbConfig::rrc_round_trip`].
    pub fn set_rrc_round_trip(&self, round_trip: Duration) {
        let nanoseconds = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX);
        self.0.rrc_round_trip.store(nanoseconds, Ordering::Relaxed);
    }

    /// The round trip of RRC messages.
    pub fn rrc_round_trip(&self) -> Duration {
        Duration::from_nanos(self.0.rrc_round_trip.load(Ordering::Relaxed))
    }

    /// Whether the AMF has sent OVERLOAD START and not yet OVERLOAD STOP.
    pub fn is_overloaded(&self) -> bool {
        self.0.overloaded.load(Ordering::Relaxed)
    }

    /// Number of GUAMIs that the AMF reported as unavailable (AMF STATUS INDICATION).
    pub fn unavailable_guamis(&self) -> u64 {
        self.0.unavailable_guamis.load(Ordering::Relaxed)
    }

    /// Number of ERROR INDICATIONs from the AMF.
    pub fn error_indications(&self) -> u64 {
        self.0.error_indications.load(Ordering::Relaxed)
    }

    /// Number of RAN status containers that arrived unchanged from the source of a handover.
    pub fn ran_status_transfers(&self) -> u64 {
        self.0.status_transfers.load(Ordering::Relaxed)
    }

    /// Number of messages dropped because a UE's queue was full.
    pub fn overflows(&self) -> u64 {
        self.0.overflows.load(Ordering::Relaxed)
    }

    /// Counters of the user plane; `None` without N3.
    pub fn user_plane_counters(&self) -> Option<Arc<Counters>> {
        self.user_plane().map(|it| it.counters().clone())
    }

    /// Sends bytes as an NGAP message, valid or not.
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

    /// Every NGAP message from the AMF from now on. The queue is bounded: a slow reader loses the
    /// oldest messages.
    pub fn subscribe(&self) -> broadcast::Receiver<Bytes> {
        lock(&self.0.tap).get_or_insert_with(|| broadcast::channel(256).0).subscribe()
    }

    /// Waits until the N2 connection has ended. Returns the reason.
    pub async fn lost(&self) -> Arc<str> {
        let mut lost = self.0.lost.subscribe();
        match lost.wait_for(|reason| reason.is_some()).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| "ended".into()),
            Err(_) => "ended".into(),
        }
    }

    /// Shuts the N2 association down gracefully (SCTP SHUTDOWN).
    pub async fn shutdown(&self) {
        self.0.link.shutdown().await;
    }

    /// Aborts the association (SCTP ABORT), as a power loss does.
    pub fn abort(&self) {
        self.0.link.abort();
    }
}

/// What procedures use.
impl Gnb {
    pub(super) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    pub(super) fn link(&self) -> &N2Link {
        &self.0.link
    }

    /// Sends an NGAP message, with its information elements in the order of the configuration.
    pub(super) async fn send(&self, stream: u16, message: Bytes) -> Result<(), LinkError> {
        let order = self.config().deviations.element_order;
        let message = order.applied(message.clone()).unwrap_or(message);
        self.0.link.send(stream, message).await
    }

    pub(super) fn ues(&self) -> &UeTable<UeInput> {
        &self.0.ues
    }

    pub(super) fn user_plane(&self) -> Option<&UserPlane> {
        self.0.user_plane.as_ref()
    }

    /// UEs for which other gNBs prepare a handover to this one.
    pub(super) fn announced(&self) -> MutexGuard<'_, HashMap<(u32, u32), UeInbox>> {
        lock(&self.0.announced)
    }

    /// A TEID for a gNB without a user plane.
    pub(super) fn next_teid(&self) -> u32 {
        self.0.next_teid.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a UE is connected with this RAN UE NGAP ID.
    pub(super) fn serves(&self, ran_id: u32) -> bool {
        self.ues().by_ran_id(ran_id).is_some()
    }

    /// The SCTP stream of a UE. Stream 0 is for non-UE-associated signalling (TS 38.412, 7); one
    /// UE uses one stream, so its messages stay in order.
    pub(super) fn stream_of(&self, ran_id: u32) -> u16 {
        match self.0.link.streams() {
            0 | 1 => 0,
            streams => u16::try_from(1 + ran_id % (u32::from(streams) - 1)).unwrap_or(1),
        }
    }

    /// Queues input for a UE's task; a full queue drops it.
    pub(super) fn deliver(&self, inbox: &UeInbox, message: UeInput) {
        if inbox.try_send(message).is_err() {
            self.0.overflows.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Passes a received message to the subscribers of [`Gnb::subscribe`].
    pub(super) fn tap(&self, message: &Bytes) {
        if let Some(tap) = lock(&self.0.tap).as_ref() {
            let _ = tap.send(message.clone());
        }
    }

    pub(super) fn count_error_indication(&self) {
        self.0.error_indications.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_status_transfer(&self) {
        self.0.status_transfers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_unavailable_guamis(&self, guamis: u64) {
        self.0.unavailable_guamis.fetch_add(guamis, Ordering::Relaxed);
    }

    pub(super) fn set_overloaded(&self, overloaded: bool) {
        self.0.overloaded.store(overloaded, Ordering::Relaxed);
    }

    pub(super) fn record(
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
}
