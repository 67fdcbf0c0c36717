//! Events for the task of a session.
use crate::addresses::Addresses;
use martlet_nas::GsmCause;
use martlet_pfcp::SessionReportRequest;
use martlet_sbi::trace::Origin;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::common::{Dnn, Supi};
use martlet_sbi_api::npcf_sm_policy_control::SmPolicyDecision;
use martlet_sbi_api::nsmf_pdusession::{
    SmContextReleaseData, SmContextUpdateData, SmContextUpdatedData,
};
use std::net::SocketAddr;
use tokio::sync::oneshot;

/// The response to an UpdateSMContext request.
pub type UpdateResponse = Result<Option<Multipart<SmContextUpdatedData>>, Problem>;

/// A session that waits for static addresses of its subscriber.
pub struct AddressReclaim {
    pub supi: Supi,
    pub dnn: Dnn,
    pub addresses: Addresses,
    /// The response. It is dropped by a session that keeps its addresses.
    pub released: oneshot::Sender<()>,
}

/// An event for a session. Large values are boxed, because each queue has room for many events.
pub enum SessionEvent {
    /// Nsmf_PDUSession_UpdateSMContext.
    Update(Box<(Multipart<SmContextUpdateData>, Origin)>, oneshot::Sender<UpdateResponse>),
    /// Nsmf_PDUSession_ReleaseSMContext with what the AMF reports. The response precedes the end of
    /// the release.
    Release(Option<Box<SmContextReleaseData>>, oneshot::Sender<()>),
    /// A new session with the same identity waits for the end of this one; or one with another
    /// identity, while this one is ending.
    Replaced(oneshot::Sender<()>),
    /// N4 session report of a UPF.
    Report(Box<SessionReportRequest>),
    /// Namf_Communication_N1N2TransferFailureNotification: the UE did not respond to paging.
    TransferFailed,
    /// Npcf_SMPolicyControl_UpdateNotify with a new decision.
    PolicyDecision(Box<SmPolicyDecision>),
    /// Npcf_SMPolicyControl_UpdateNotify: the PCF terminates the policy association.
    PolicyTerminated,
    /// Nudm_SDM_Notification: the subscription has changed.
    SubscriptionChanged,
    /// Nchf_ConvergedCharging_Notify: the CHF requests reauthorization.
    Reauthorize,
    /// A UPF does not respond.
    UpfFailed(Box<SocketAddr>),
    /// A UPF was associated again and has lost its sessions.
    UpfRestarted(Box<SocketAddr>),
    /// The UPF that the session left after a failure is associated again.
    UpfReturned,
    /// The session's slot for its return to that UPF.
    ReturnToUpf,
    /// A UPF requests the release of its association.
    UpfReleasing(Box<SocketAddr>),
    /// Another UPF serves the UE's location.
    RelocateAnchor,
    /// SSC mode 3: the time is over in which both sessions exist.
    RelocationTimeout,
    /// The time is over in which data of a handover are forwarded.
    ForwardingTimeout,
    /// The UE's gNB does not reach the session's UPF.
    OutOfServiceArea,
    /// The UPF did not answer a change of the downlink.
    DownlinkUnchanged,
    /// The UPF did not answer a change back to an earlier QoS.
    QosUnchanged,
    /// The gNB cannot enforce the required user plane security.
    SecurityNotEnforced,
    /// The gNB has not set up these QoS flows, or has released them.
    FlowsNotSetUp(Box<[u8]>),
    /// The gNB has not added or not changed these QoS flows in the last modification.
    FlowsNotModified(Box<[u8]>),
    /// The gNB has set the session up with an earlier QoS.
    SetUpOutdated,
    /// The user plane is activated of a UE that did not get the last modification.
    ModificationNotAnswered,
    /// The gNB has not set a new session up, whose accept the UE does not have.
    RefusedByGnb(GsmCause),
    /// The addresses of a restored session are in no pool.
    AddressesLost,
    /// The dynamic addresses of the session are static ones of another subscriber, whose session
    /// waits for them.
    AddressesReclaimed(Box<AddressReclaim>),
    /// Another SMF of the set has taken the session over.
    TakenOver,
    /// The user plane was lost outside of an event. The session is released.
    UserPlaneLost,
}
