//! A PDU session's context, and what reaches the task that owns it.
use crate::Smf;
use crate::addresses::Addresses;
use crate::flows::{Decided, Flow};
use crate::limits::Room;
use crate::n4::{N4Error, Subject, Wanted};
pub use crate::place::{Place, SECOND, UpfSession};
use crate::procedures::charging::converged_charging::Charging;
use crate::procedures::handover::n2_handover::Handover;
use crate::procedures::modification::network_requested_modification::Modifying;
use crate::procedures::user_plane::n4_session_establishment;
use crate::protection::UpPolicy;
use martlet_nas::GsmCause;
use martlet_ngap::transfer::GtpTunnel;
use martlet_pfcp::ie::Cause;
use martlet_pfcp::{Message, SessionModificationRequest, SessionReportRequest};
use martlet_sbi::trace::Origin;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::{PcfSmPolicyControlClient, SmPolicyDecision};
use martlet_sbi_api::nsmf_pdusession::{SmContextUpdateData, SmContextUpdatedData};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
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
    /// `upf` has no exit of its own: it is before the anchor because that does not reach the UE's
    /// gNB.
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

    /// Where it is, once it is anywhere.
    pub fn place(&self) -> Option<Place> {
        Some(Place { upf: self.upf?, anchor: self.anchor, intermediate: self.intermediate })
    }

    /// It is there from now on.
    pub fn settle(&mut self, place: Place) {
        (self.upf, self.anchor, self.intermediate) =
            (Some(place.upf), place.anchor, place.intermediate);
        self.locate();
    }

    /// Notes where it is for those who ask by its identity.
    pub fn locate(&self) {
        if let Some(place) = self.place() {
            self.smf.sessions.locate(self.reference, place);
        }
    }

    /// The UPF that counts what the session uses: an uplink classifier, which sees all of it, else
    /// the anchor.
    pub fn counts(&self) -> Option<UpfSession> {
        self.place()?.of(0)
    }

    /// A gNB's end of N3, as the UPF is told.
    pub fn end_of(&self, tunnel: &GtpTunnel) -> (u32, IpAddr) {
        self.upf.map_or((tunnel.teid, tunnel.address), |upf| upf.gnb(tunnel))
    }

    /// Sends the UPF a change of the session. A UPF that has lost the session gets all of it, as it
    /// is to be now.
    pub async fn modify(&mut self, change: SessionModificationRequest) -> Result<(), N4Error> {
        self.modify_at(self.upf.ok_or(N4Error::NoUpf)?, change).await
    }

    /// The same for one of two UPFs.
    pub async fn modify_at(
        &mut self,
        upf: UpfSession,
        change: SessionModificationRequest,
    ) -> Result<(), N4Error> {
        if !self.is_owned().await {
            return Err(N4Error::NoUpf);
        }
        match self.smf.n4.request(upf.upf, Some(upf.seid), change).await? {
            Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => Ok(()),
            Message::SessionModificationResponse(answer)
                if answer.cause == Cause::SESSION_CONTEXT_NOT_FOUND =>
            {
                tracing::warn!(supi = %self.supi, session = self.id, upf = %upf.upf, "the UPF has lost the session");
                n4_session_establishment::restore(self).await
            }
            Message::SessionModificationResponse(answer) => Err(N4Error::Refused(answer.cause.0)),
            other => Err(N4Error::Unexpected(other.name())),
        }
    }
}
