//! What reaches a UE's task.
use super::Session;
use crate::n2::handover_uplink::PathSwitchRequested;
use crate::n2::{Connection, Gnb, uplink::Uplink};
use bytes::Bytes;
use martlet_nas::inbound::Inbound;
use martlet_sbi::trace::Origin;
use martlet_sbi::{ApiRoot, Multipart, Problem, StatusReply};
use martlet_sbi_api::namf_communication::{
    N1MessageNotification, N1N2MessageTransferCause, N1N2MessageTransferReqData,
    N1N2MessageTransferRspData, UeContextCreateData, UeContextCreatedData,
    UeContextTransferReqData, UeContextTransferRspData, UeN1N2InfoSubscriptionCreateData,
    UeN1N2InfoSubscriptionCreatedData, UeRegStatusUpdateReqData,
};
use martlet_sbi_api::namf_location::{ProvideLocInfo, RequestLocInfo};
use martlet_sbi_api::npcf_am_policy_control::PolicyUpdate;
use martlet_sbi_api::nsmf_pdusession::SmContextStatusNotification;
use martlet_sbi_api::nudm_uecm::DeregistrationReason;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Leads to a UE's task.
#[derive(Debug, Clone)]
pub(crate) struct UeHandle {
    /// Number of the context, never given twice.
    pub number: u64,
    /// Bounded: `amf.limits.ue_queue`.
    pub sender: mpsc::Sender<Event>,
}

/// INITIAL UE MESSAGE: a connection with the NAS message that began it.
pub(crate) struct InitialMessage {
    pub connection: Connection,
    pub nas: Bytes,
    /// The whole NGAP message, encoded.
    pub ngap: Bytes,
    /// See [`InitialUe::rerouted`](crate::n2::uplink::InitialUe).
    pub rerouted: bool,
}

/// How an N1N2MessageTransfer is answered.
pub(crate) type TransferAnswer = Result<StatusReply<N1N2MessageTransferRspData>, Problem>;

/// An N1N2MessageTransfer (TS 29.518, 5.2.2.3.1).
pub(crate) struct Transfer {
    pub request: N1N2MessageTransferReqData,
    pub n1: Option<Bytes>,
    pub n2: Option<Bytes>,
    /// What its sender was at.
    pub origin: Origin,
    /// Taken when it is answered.
    pub answer: Option<oneshot::Sender<TransferAnswer>>,
}

impl Transfer {
    /// Answers it; a consumer that has given up is no matter.
    pub fn answer(&mut self, answer: TransferAnswer) {
        if let Some(sender) = self.answer.take() {
            let _ = sender.send(answer);
        }
    }

    /// The answer that it is on its way.
    pub fn initiated() -> TransferAnswer {
        Ok(StatusReply::ok(N1N2MessageTransferRspData::new(
            N1N2MessageTransferCause::N1N2TransferInitiated,
        )))
    }

    /// URI of one that waits for the UE.
    pub fn location(root: &ApiRoot, supi: &str, psi: u8) -> String {
        format!("{root}/namf-comm/v1/ue-contexts/{supi}/n1-n2-messages/{psi}")
    }
}

/// Receives the result of CreateUEContext (TS 29.518, 5.2.2.2.3).
pub(crate) type HandoverAnswer = oneshot::Sender<Result<Multipart<UeContextCreatedData>, Problem>>;

/// Receives whether the target AMF takes a rerouted registration (TS 29.518, 5.2.2.3.5).
pub(crate) type ReallocationAnswer = oneshot::Sender<Result<(), Problem>>;

/// An event for a UE's task.
pub(crate) enum Event {
    /// A UE says that it is this one, and has to prove it.
    Initial(Box<InitialMessage>),
    /// The gNB says something about a connection.
    Uplink { amf_id: u64, message: Uplink },
    /// The UE is with another gNB, says that one.
    PathSwitch(Arc<Gnb>, Box<PathSwitchRequested>),
    /// Another NF has something for the UE or its gNB.
    Transfer(Box<Transfer>),
    /// An LMF wants the UE's positioning messages.
    Subscribe(
        Box<UeN1N2InfoSubscriptionCreateData>,
        oneshot::Sender<Result<UeN1N2InfoSubscriptionCreatedData, Problem>>,
    ),
    /// It wants them no more.
    Unsubscribe(String, oneshot::Sender<Result<(), Problem>>),
    /// An SMF tells what became of a session context.
    SessionStatus { psi: u8, number: u64, notification: Box<SmContextStatusNotification> },
    /// The PCF changes the policy.
    PolicyUpdate(Box<PolicyUpdate>),
    /// The PCF ends the policy.
    PolicyTerminated,
    /// The UDM says that this AMF no longer serves the UE.
    Deregister(DeregistrationReason),
    /// Subscription data have changed.
    SubscriptionChanged,
    /// The subscriber has proved itself to another task, which asks for what is left of this
    /// context.
    Replaced(oneshot::Sender<Vec<(u8, Session)>>),
    /// Somebody asks where the UE is.
    Locate(Box<RequestLocInfo>, oneshot::Sender<Result<ProvideLocInfo, Problem>>),
    /// Another AMF asks for the context, with the UE's request as octets.
    ContextTransfer(
        Box<UeContextTransferReqData>,
        Option<Bytes>,
        oneshot::Sender<Result<Multipart<UeContextTransferRspData>, Problem>>,
    ),
    /// It says what became of the context that it got.
    ContextTransferred(Box<UeRegStatusUpdateReqData>, oneshot::Sender<()>),
    /// Another AMF hands the UE over.
    HandoverFromAmf(Box<Multipart<UeContextCreateData>>, HandoverAnswer),
    /// It gives the handover up.
    HandoverGivenUp,
    /// The UE has come to the AMF that it was handed over to.
    Arrived,
    /// A registration that began at another AMF goes on here.
    Rerouted(Box<Multipart<N1MessageNotification>>, ReallocationAnswer),
    /// Who wants to be told of the UE has changed.
    Watched,
    /// Another AMF of the set has gone on with the UE.
    Taken,
    /// There is no room for a context that nobody uses.
    Evicted,
}

/// What a UE's task does next.
pub(crate) enum Work {
    Event(Event),
    /// A NAS message that was opened already.
    Nas(Box<Inbound>),
    /// The connection has ended.
    ConnectionLost,
    /// The timer of an idle UE has expired.
    Expired,
}
