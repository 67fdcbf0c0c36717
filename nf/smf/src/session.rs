//! A PDU session's context, the task that owns it, and the table of all of them.
use crate::addresses::Addresses;
use crate::flows::{Decided, Flow};
use crate::limits::Room;
use crate::n4::{N4Error, SessionLayer, Subject, Wanted};
pub use crate::place::{Place, SECOND, UpfSession};
use crate::procedures::charging::{self, Charging};
use crate::procedures::handover::{self, Handover};
use crate::procedures::modification::{self, Modifying};
use crate::procedures::{audit, downlink_data, intermediate_upf, release, relocation, update, user_plane};
use crate::protection::UpPolicy;
use crate::{Smf, metrics};
use martlet_nas::GsmCause;
use martlet_ngap::transfer::GtpTunnel;
use martlet_pfcp::ie::{Cause, ReportType};
use martlet_pfcp::{Message, SessionModificationRequest, SessionReportRequest};
use martlet_sbi::trace::Origin;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::{PcfSmPolicyControlClient, SmPolicyDecision};
use martlet_sbi_api::nsmf_pdusession::{SmContextUpdateData, SmContextUpdatedData};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The answer to an UpdateSmContext.
pub type Updated = Result<Option<Multipart<SmContextUpdatedData>>, Problem>;

/// What reaches a session's task. Small, since a queue has room for many.
pub enum SessionEvent {
    /// The AMF changes the session.
    Update(Box<(Multipart<SmContextUpdateData>, Origin)>, oneshot::Sender<Updated>),
    /// The AMF ends the session.
    Release(oneshot::Sender<()>),
    /// The UPF reports something.
    Report(Box<SessionReportRequest>),
    /// The UE was not reached.
    TransferFailed,
    /// The PCF has decided anew.
    Policy(Box<SmPolicyDecision>),
    /// The PCF ends the policy: the session ends.
    PolicyEnded,
    /// The subscriber's data have changed.
    SubscriptionChanged,
    /// The CHF asks to be asked anew.
    ChargingAsked,
    /// A UPF does not answer any more.
    UpfLost(Box<SocketAddr>),
    /// Another UPF serves the UE's place.
    Relocate,
    /// The time is over in which the session is beside the one that takes over.
    RelocationOver,
    /// A UPF has been associated anew.
    AssociatedAnew(Box<SocketAddr>),
    /// A UPF is about to end.
    UpfLeaves(Box<SocketAddr>),
    /// What the source gNB of a handover had to forward has been forwarded.
    ForwardingOver,
    /// The UE has come back in a place that its UPF does not reach.
    OutOfArea,
    /// The gNB cannot protect the user plane as it is required.
    Unprotected,
    /// Another SMF of the set has gone on with the session.
    Taken,
}

/// A PDU session. Owned by its task.
pub struct Session {
    pub smf: Arc<Smf>,
    /// Identity of the context, and our session endpoint identifier at the UPF.
    pub reference: u64,
    pub(crate) inbox: mpsc::Receiver<SessionEvent>,
    pub supi: Supi,
    pub id: u8,
    pub pti: u8,
    pub slice: Snssai,
    pub dnn: Dnn,
    pub plmn: PlmnId,
    pub amf: AmfCommunicationClient,
    pub status_uri: String,
    pub kind: PduSessionType,
    pub addresses: Addresses,
    /// Session and service continuity mode, 1 to 3 (TS 23.501, 5.6.9).
    pub ssc_mode: u8,
    /// Networks behind the UE.
    pub routes: Vec<String>,
    /// Where the data of an unstructured session go.
    pub server: Option<SocketAddrV6>,
    /// Always on (TS 23.501, 5.6.13): its user plane comes with every connection.
    pub always_on: bool,
    pub ambr: Ambr,
    pub five_qi: u8,
    pub arp: Arp,
    pub policy: Option<(PcfSmPolicyControlClient, String)>,
    /// What the policy says beside bit rate and default flow.
    pub decided: Arc<Decided>,
    /// QoS flows beside the default one.
    pub flows: Vec<Flow>,
    /// Identity of the subscription to changes of the subscriber's data.
    pub sdm_subscription: Option<String>,
    /// How it is charged.
    pub charging: Option<Box<Charging>>,
    /// With which cause the UE is refused, should the session not come up.
    pub refusal: GsmCause,
    /// What the UE was told to change, and has not answered yet.
    pub modifying: Option<Modifying>,
    pub registered: bool,
    pub upf: Option<UpfSession>,
    /// The UPF that leads to the data network, where `upf` is another one before it.
    pub anchor: Option<UpfSession>,
    /// `upf` has no exit of its own: it is before the anchor because that does not reach the UE's gNB.
    pub intermediate: bool,
    /// Tracking area of the UE.
    pub tac: Option<u32>,
    /// The UE was told to ask for a session with another UPF, or is to be.
    pub relocating: bool,
    /// The gNB's end of N3, while the session is active.
    pub gnb: Option<(u32, IpAddr)>,
    /// The gNB has resources for the session.
    pub active: bool,
    /// The AMF has the gNB set the session up, and has not said yet how it fared.
    pub activating: bool,
    /// Downlink data came meanwhile.
    pub waiting: bool,
    /// The gNB has lost the session's tunnel, and still counts the session among its own.
    pub stale: bool,
    /// How often the UE was told to release the session; it has not answered yet.
    pub release_commands: u8,
    /// The UPF has lost the session and does not take it again.
    pub lost: bool,
    /// A handover that is being prepared.
    pub handover: Option<Handover>,
    /// UPFs that forward what the source gNB of a handover sends on.
    pub forwards: Vec<UpfSession>,
    /// Intermediate UPFs of before a handover.
    pub left: Vec<UpfSession>,
    /// What it takes of the limits of its slice and data network.
    pub room: Room,
    /// How the user plane is to be protected.
    pub protection: Option<UpPolicy>,
}

/// QoS flow identifier of the default flow.
pub const QFI: u8 = 1;

impl Session {
    /// Takes events until the session ends.
    pub async fn run(mut self: Box<Self>) {
        loop {
            let patience = match (self.is_releasing(), &self.modifying) {
                (true, _) => Duration::from_millis(self.smf.config.t3592_ms.into()),
                (false, Some(_)) => Duration::from_millis(self.smf.config.t3591_ms.into()),
                (false, None) => self.smf.config.audit(),
            };
            let event = tokio::time::timeout(patience, self.inbox.recv()).await;
            if !self.is_ours().await {
                return self.leave_to_another();
            }
            // On the heap while it lasts, so that the task of a session at rest is small.
            if !Box::pin(self.act(event.ok())).await {
                break;
            }
            self.keep();
        }
        self.forget();
    }

    /// Which UPF it wants.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { dnn: &self.dnn, slice: self.slice, tac: self.tac }
    }

    /// Whose packets the UPF's rules are for.
    pub fn subject(&self) -> Subject<'_> {
        Subject { kind: &self.kind, ue: self.addresses, dnn: &self.dnn, routes: &self.routes }
    }

    /// Whether the UE was told to release the session.
    pub fn is_releasing(&self) -> bool {
        self.release_commands > 0
    }

    /// Acts on an event, or on the end of the session's patience: false where the session has ended.
    async fn act(&mut self, event: Option<Option<SessionEvent>>) -> bool {
        Origin::default().adopt();
        let goes_on = match event {
            Some(Some(SessionEvent::Update(body, reply))) => {
                let (body, origin) = *body;
                origin.adopt();
                let (answer, goes_on) = update::run(self, body).await;
                let _ = reply.send(answer);
                goes_on
            }
            Some(Some(SessionEvent::Release(reply))) => {
                release::finish(self, false).await;
                let _ = reply.send(());
                false
            }
            Some(Some(SessionEvent::Report(report))) => {
                let silent = report.report_type.has(ReportType::UPIR);
                downlink_data::report(self, *report).await && (!silent || audit::run(self).await)
            }
            Some(Some(SessionEvent::UpfLost(upf))) => relocation::upf_lost(self, *upf).await,
            Some(Some(SessionEvent::Relocate)) => relocation::run(self).await,
            Some(Some(SessionEvent::RelocationOver)) => relocation::over(self).await,
            Some(Some(SessionEvent::ChargingAsked)) => charging::asked_anew(self).await,
            Some(Some(SessionEvent::TransferFailed)) => {
                downlink_data::not_reached(self).await;
                true
            }
            // The UE makes it anew, at another UPF if there is one.
            Some(Some(SessionEvent::UpfLeaves(upf))) if self.place().is_some_and(|place| place.is_at(*upf)) => {
                release::by_network(self, GsmCause::ReactivationRequested).await
            }
            Some(Some(SessionEvent::UpfLeaves(_))) => true,
            Some(Some(SessionEvent::AssociatedAnew(upf))) => {
                user_plane::associated_anew(self, *upf).await;
                true
            }
            Some(Some(SessionEvent::ForwardingOver)) => {
                handover::forwarding_over(self).await;
                true
            }
            Some(Some(SessionEvent::OutOfArea)) => {
                intermediate_upf::follow(self).await;
                true
            }
            Some(Some(SessionEvent::Policy(decision))) => {
                modification::by_policy(self, *decision).await;
                true
            }
            Some(Some(SessionEvent::SubscriptionChanged)) => modification::by_subscription(self).await,
            // TS 23.502, 4.3.2.2.1, step 16: there is no session then.
            Some(Some(SessionEvent::Unprotected)) => {
                release::by_network(self, GsmCause::RequestRejectedUnspecified).await
            }
            Some(Some(SessionEvent::PolicyEnded)) => release::by_network(self, GsmCause::ReactivationRequested).await,
            Some(Some(SessionEvent::Taken)) => true,
            Some(None) => false,
            None if self.is_releasing() => release::command_again(self).await,
            None if self.modifying.is_some() => {
                modification::command_again(self).await;
                true
            }
            None => audit::run(self).await,
        };
        if goes_on && self.lost {
            release::finish(self, true).await;
        }
        goes_on && !self.lost
    }

    /// Where it is, once it is anywhere.
    pub fn place(&self) -> Option<Place> {
        Some(Place { upf: self.upf?, anchor: self.anchor, intermediate: self.intermediate })
    }

    /// It is there from now on.
    pub fn settle(&mut self, place: Place) {
        (self.upf, self.anchor, self.intermediate) = (Some(place.upf), place.anchor, place.intermediate);
        self.locate();
    }

    /// Notes where it is for those who ask by its identity.
    pub fn locate(&self) {
        if let Some(place) = self.place() {
            self.smf.sessions.locate(self.reference, place);
        }
    }

    /// The UPF that counts what the session uses: an uplink classifier, which sees all of it, else the anchor.
    pub fn counts(&self) -> Option<UpfSession> {
        self.place()?.of(0)
    }

    /// A gNB's end of N3, as the UPF is told.
    pub fn end_of(&self, tunnel: &GtpTunnel) -> (u32, IpAddr) {
        self.upf.map_or((tunnel.teid, tunnel.address), |upf| upf.gnb(tunnel))
    }

    /// Sends the UPF a change of the session. A UPF that has lost the session gets all of it, as it is to be now.
    pub async fn modify(&mut self, change: SessionModificationRequest) -> Result<(), N4Error> {
        self.modify_at(self.upf.ok_or(N4Error::NoUpf)?, change).await
    }

    /// The same for one of two UPFs.
    pub async fn modify_at(&mut self, upf: UpfSession, change: SessionModificationRequest) -> Result<(), N4Error> {
        if !self.is_ours().await {
            return Err(N4Error::NoUpf);
        }
        match self.smf.n4.request(upf.upf, Some(upf.seid), change).await? {
            Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => Ok(()),
            Message::SessionModificationResponse(answer) if answer.cause == Cause::SESSION_CONTEXT_NOT_FOUND => {
                tracing::warn!(supi = %self.supi, session = self.id, upf = %upf.upf, "the UPF has lost the session");
                user_plane::restore(self).await
            }
            Message::SessionModificationResponse(answer) => Err(N4Error::Refused(answer.cause.0)),
            other => Err(N4Error::Unexpected(other.name())),
        }
    }
}

/// The way to a session's task.
#[derive(Clone)]
pub struct SessionHandle(mpsc::Sender<SessionEvent>);

impl SessionHandle {
    /// Sends an event: false where the session has ended or has too many waiting.
    pub fn send(&self, event: SessionEvent) -> bool {
        self.0.try_send(event).is_ok()
    }
}

/// A session in the table.
struct Entry {
    handle: SessionHandle,
    subject: (String, u8),
    place: Option<Place>,
}

#[derive(Default)]
struct Tables {
    by_reference: HashMap<u64, Entry>,
    by_subject: HashMap<(String, u8), u64>,
    last: u64,
}

impl Tables {
    /// Takes a session in; its inbox.
    fn enter(&mut self, reference: u64, supi: &str, id: u8, queue: usize) -> mpsc::Receiver<SessionEvent> {
        let (sender, inbox) = mpsc::channel(queue);
        let subject = (supi.to_string(), id);
        self.by_subject.insert(subject.clone(), reference);
        let handle = SessionHandle(sender);
        self.by_reference.insert(reference, Entry { handle, subject, place: None });
        metrics::SESSIONS.set(self.by_reference.len() as i64);
        inbox
    }
}

/// All sessions. Held for moments, never over an await.
pub struct Sessions {
    tables: Mutex<Tables>,
    most: usize,
    /// What identities of this SMF's own sessions begin with.
    own: u64,
}

/// Of an identity, the bits that say by which member of an SMF set the session was made.
const MEMBER: u64 = 0x7f << 56;

impl Sessions {
    /// For the member of a set with this number, 0 to 127.
    pub fn new(most: usize, member: u8) -> Self {
        // Identities of one start differ from those of the one before.
        let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let own = u64::from(member & 0x7f) << 56;
        let tables = Tables { last: own | (epoch.as_secs() & 0xffff_ffff) << 24, ..Tables::default() };
        Sessions { tables: Mutex::new(tables), most, own }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a session: its identity and inbox; `None` where there is no room.
    pub fn add(&self, supi: &str, id: u8, queue: usize) -> Option<(u64, mpsc::Receiver<SessionEvent>)> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.most {
            return None;
        }
        tables.last += 1;
        let reference = tables.last;
        Some((reference, tables.enter(reference, supi, id, queue)))
    }

    /// Takes a session in that was there before this SMF was started again: its inbox; `None` where there is no room.
    pub fn add_again(&self, reference: u64, supi: &str, id: u8, queue: usize) -> Option<mpsc::Receiver<SessionEvent>> {
        let mut tables = self.tables();
        if tables.by_reference.len() >= self.most || tables.by_reference.contains_key(&reference) {
            return None;
        }
        if self.is_own(reference) {
            tables.last = tables.last.max(reference);
        }
        Some(tables.enter(reference, supi, id, queue))
    }

    /// Whether this SMF has made a session, and not another one of its set.
    pub fn is_own(&self, reference: u64) -> bool {
        reference & MEMBER == self.own
    }

    /// Takes a session out of the table.
    pub fn remove(&self, reference: u64) {
        let mut tables = self.tables();
        if let Some(Entry { subject, .. }) = tables.by_reference.remove(&reference)
            && tables.by_subject.get(&subject) == Some(&reference)
        {
            tables.by_subject.remove(&subject);
        }
        metrics::SESSIONS.set(tables.by_reference.len() as i64);
    }

    /// A session by its identity in URIs.
    pub fn get(&self, reference: &str) -> Option<SessionHandle> {
        let reference = reference.parse::<u64>().ok()?;
        self.tables().by_reference.get(&reference).map(|entry| entry.handle.clone())
    }

    /// All sessions of a UE.
    pub fn all_of(&self, supi: &str) -> Vec<SessionHandle> {
        let ids = 1..=15;
        ids.filter_map(|id| self.of(supi, id)).collect()
    }

    /// A UE's session.
    pub fn of(&self, supi: &str, id: u8) -> Option<SessionHandle> {
        let tables = self.tables();
        let reference = tables.by_subject.get(&(supi.to_string(), id))?;
        tables.by_reference.get(reference).map(|entry| entry.handle.clone())
    }

    /// Notes where a session's user plane is.
    pub fn locate(&self, reference: u64, place: Place) {
        if let Some(entry) = self.tables().by_reference.get_mut(&reference) {
            entry.place = Some(place);
        }
    }

    pub fn len(&self) -> usize {
        self.tables().by_reference.len()
    }
}

impl Tables {
    /// Sessions that have something at a UPF.
    fn at(&self, upf: SocketAddr) -> impl Iterator<Item = &Entry> {
        self.by_reference.values().filter(move |entry| entry.place.is_some_and(|place| place.is_at(upf)))
    }
}

impl SessionLayer for Sessions {
    fn sessions_at(&self, upf: SocketAddr) -> usize {
        self.tables().at(upf).count()
    }

    fn upf_leaves(&self, upf: SocketAddr) {
        for entry in self.tables().at(upf) {
            entry.handle.send(SessionEvent::UpfLeaves(upf.into()));
        }
    }

    fn user_plane(&self, seid: u64) -> Option<UpfSession> {
        self.tables().by_reference.get(&(seid & !SECOND))?.place?.of(seid)
    }

    fn upf_lost(&self, upf: SocketAddr) {
        let tables = self.tables();
        let told = tables.at(upf).filter(|entry| entry.handle.send(SessionEvent::UpfLost(upf.into()))).count();
        tracing::warn!(%upf, sessions = told, "the UPF does not answer");
    }

    fn report(&self, seid: u64, report: SessionReportRequest) -> bool {
        let tables = self.tables();
        let Some(entry) = tables.by_reference.get(&(seid & !SECOND)) else { return false };
        // An anchor behind an uplink classifier has nothing to say that the classifier does not say.
        let silent = seid & SECOND != 0 && entry.place.is_none_or(|place| !place.intermediate);
        silent || entry.handle.send(SessionEvent::Report(report.into()))
    }

    fn associated_anew(&self, upf: SocketAddr) {
        let tables = self.tables();
        let (mut told, mut busy) = (0, 0);
        for entry in tables.at(upf) {
            match entry.handle.send(SessionEvent::AssociatedAnew(upf.into())) {
                true => told += 1,
                // Its next change finds out, and restores it.
                false => busy += 1,
            }
        }
        tracing::warn!(%upf, sessions = told, busy, "the UPF has lost its sessions, which are restored now");
    }
}
