//! Events of a UE's task.
use super::Session;
use crate::metrics;
use crate::n2::handover_uplink::PathSwitchRequested;
use crate::n2::{Connection, Gnb, uplink::Uplink};
use bytes::Bytes;
use martlet_event_queue::{Sender, TrySendError};
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
use tokio::sync::oneshot;

/// The address of a UE's task.
#[derive(Debug, Clone)]
pub(crate) struct UeHandle {
    /// Number of the context, never reused.
    pub number: u64,
    /// Bounded: `amf.limits.ue_queue`.
    pub sender: Sender<Event>,
}

impl UeHandle {
    /// Sends an event to the task.
    ///
    /// # Errors
    ///
    /// The answer to the consumer: the queue is full, or the context has just ended.
    pub fn send(&self, event: Event) -> Result<(), Problem> {
        self.sender.try_send(event).map_err(|error| match error {
            TrySendError::Full(_) => {
                metrics::dropped("ue_event");
                let mut problem =
                    Problem::new(503, "NF_CONGESTION").detail("the UE's queue is full");
                problem.retry_after = Some(1);
                problem
            }
            TrySendError::Closed(_) => {
                Problem::new(404, "CONTEXT_NOT_FOUND").detail("the UE's context has just ended")
            }
        })
    }
}

/// INITIAL UE MESSAGE: a new connection with its first NAS message.
pub(crate) struct InitialMessage {
    pub connection: Connection,
    pub nas: Bytes,
    /// The whole NGAP message, encoded.
    pub ngap: Bytes,
    /// See [`InitialUe::rerouted`](crate::n2::uplink::InitialUe).
    pub rerouted: bool,
    /// The gNB has used its share of UEs that are not verified: if this one is not verified either,
    /// it is rejected.
    pub over_share: bool,
    /// The NAS message, once the security context of the UE's task has verified it. Its NAS COUNT
    /// is used then, so it is not verified twice.
    pub verified: Option<Inbound>,
}

/// Result of an N1N2MessageTransfer.
pub(crate) type TransferAnswer = Result<StatusReply<N1N2MessageTransferRspData>, Problem>;

/// An N1N2MessageTransfer (TS 29.518, 5.2.2.3.1).
pub(crate) struct Transfer {
    pub request: N1N2MessageTransferReqData,
    pub n1: Option<Bytes>,
    pub n2: Option<Bytes>,
    /// Trace context of the consumer.
    pub origin: Origin,
    /// `None` once answered.
    pub answer: Option<oneshot::Sender<TransferAnswer>>,
}

impl Transfer {
    /// Answers the consumer. A consumer that has timed out is ignored.
    pub fn answer(&mut self, answer: TransferAnswer) {
        if let Some(sender) = self.answer.take() {
            let _ = sender.send(answer);
        }
    }

    /// The answer N1_N2_TRANSFER_INITIATED.
    pub fn initiated() -> TransferAnswer {
        Ok(StatusReply::ok(N1N2MessageTransferRspData::new(
            N1N2MessageTransferCause::N1N2TransferInitiated,
        )))
    }

    /// Resource URI of a transfer that waits for the UE.
    pub fn location(root: &ApiRoot, supi: &str, psi: u8) -> String {
        let ue = martlet_sbi::path_segment(supi);
        format!("{root}/namf-comm/v1/ue-contexts/{ue}/n1-n2-messages/{psi}")
    }
}

/// Receives the result of CreateUEContext (TS 29.518, 5.2.2.2.3).
pub(crate) type HandoverAnswer = oneshot::Sender<Result<Multipart<UeContextCreatedData>, Problem>>;

/// Receives whether the target AMF takes a rerouted registration (TS 29.518, 5.2.2.3.5).
pub(crate) type ReallocationAnswer = oneshot::Sender<Result<(), Problem>>;

/// What an operator requests of a UE's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperatorRequest {
    /// Release of the UE context at the gNB: the UE enters CM-IDLE.
    Release,
    /// Deregistration, with signalling to a UE that is connected or answers the paging.
    Deregister,
    /// Paging of an idle UE.
    Page,
}

/// An event for a UE's task.
pub(crate) enum Event {
    /// A message with an identity of this UE; not verified yet.
    Initial(Box<InitialMessage>),
    /// An NGAP message on one of the UE's connections.
    Uplink { amf_id: u64, message: Uplink },
    /// PATH SWITCH REQUEST from the target gNB.
    PathSwitch(Arc<Gnb>, Box<PathSwitchRequested>),
    /// N1N2MessageTransfer for the UE or its gNB.
    Transfer(Box<Transfer>),
    /// An LMF subscribes to the UE's positioning messages.
    Subscribe(
        Box<UeN1N2InfoSubscriptionCreateData>,
        oneshot::Sender<Result<UeN1N2InfoSubscriptionCreatedData, Problem>>,
    ),
    /// The LMF ends the subscription.
    Unsubscribe(String, oneshot::Sender<Result<(), Problem>>),
    /// SMContextStatusNotify from an SMF.
    SessionStatus { psi: u8, number: u64, notification: Box<SmContextStatusNotification> },
    /// AM policy update from the PCF.
    PolicyUpdate(Box<PolicyUpdate>),
    /// AM policy termination from the PCF.
    PolicyTerminated,
    /// Deregistration notification from the UDM, and the sender that says that it was acted on.
    Deregister(DeregistrationReason, Option<oneshot::Sender<()>>),
    /// Subscription data change notification from the UDM.
    SubscriptionChanged,
    /// Another task serves the subscriber now and asks for this context's sessions.
    Replaced(oneshot::Sender<Vec<(u8, Session)>>),
    /// ProvideLocationInfo (TS 29.518, 5.5).
    Locate(Box<RequestLocInfo>, oneshot::Sender<Result<ProvideLocInfo, Problem>>),
    /// UEContextTransfer from another AMF, with the UE's registration request.
    ContextTransfer(
        Box<UeContextTransferReqData>,
        Option<Bytes>,
        oneshot::Sender<Result<Multipart<UeContextTransferRspData>, Problem>>,
    ),
    /// RegistrationStatusUpdate from that AMF.
    ContextTransferred(Box<UeRegStatusUpdateReqData>, oneshot::Sender<Result<(), Problem>>),
    /// CreateUEContext from the source AMF of a handover.
    HandoverFromAmf(Box<Multipart<UeContextCreateData>>, HandoverAnswer),
    /// ReleaseUEContext from the source AMF: the handover failed or was cancelled.
    HandoverReleased,
    /// N2InfoNotify from the target AMF: the handover is complete.
    HandoverCompleted,
    /// N1MessageNotify from the initial AMF: run its registration here.
    RegistrationFromAmf(Box<Multipart<N1MessageNotification>>, ReallocationAnswer),
    /// The event subscriptions for the UE have changed.
    SubscriptionsChanged,
    /// Another AMF of the set has taken the UE over.
    Taken,
    /// The context limit is reached: release this deregistered context.
    Evicted,
    /// The AMF stops: release the connection when the UE is quiet.
    PlannedRemoval,
    /// Load re-balancing: move to another AMF of the set when the UE is quiet.
    Rebalance,
    /// A request of the operator.
    Operator(OperatorRequest, oneshot::Sender<Result<serde_json::Value, Problem>>),
}

/// Work that a UE's task runs next.
pub(crate) enum Work {
    Event(Event),
    /// A NAS message that has passed the security check.
    Nas(Box<Inbound>),
    /// The connection is lost.
    ConnectionLost,
    /// The CM-IDLE timer has expired.
    Expired,
}
