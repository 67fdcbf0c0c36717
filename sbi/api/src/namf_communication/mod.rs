//! Namf_Communication: messages to UEs and RAN nodes through the AMF, and UE contexts between AMFs
//! (TS 29.518, 5.2 and 6.1).
mod amf_status;
mod ebi;
mod kinds;
mod n1n2;
mod ue_context;

pub use amf_status::*;
pub use ebi::*;
pub use kinds::*;
pub use n1n2::*;
pub use ue_context::*;

use martlet_sbi::{Created, Multipart, StatusReply, json_payload, service};

json_payload!(
    N1N2MessageTransferRspData,
    N1N2MessageTransferError,
    N1N2MsgTxfrFailureNotification,
    UeN1N2InfoSubscriptionCreateData,
    UeN1N2InfoSubscriptionCreatedData,
    N2InformationTransferRspData,
    N2InformationTransferError,
    NonUeN2InfoSubscriptionCreateData,
    NonUeN2InfoSubscriptionCreatedData,
    UeContextRelease,
    UeRegStatusUpdateReqData,
    UeRegStatusUpdateRspData,
    SubscriptionData,
    AmfStatusChangeNotification,
    AssignEbiData,
    AssignedEbiData,
    AssignEbiError,
);

service! {
    /// Services of an AMF to other NFs (TS 29.518, 6.1.3). UE contexts are identified by SUPI
    /// (`imsi-…`), PEI (`imei-…`) or 5G-GUTI (`5g-guti-…`).
    pub AmfCommunication / AmfCommunicationClient / NAMF_COMM = "namf-comm" / "v1" {
        /// Delivers an N1 message to a UE, or N2 information to its RAN node: at once (200), or
        /// after the UE was paged (202, with the transfer's URI in `location`).
        op n1_n2_message_transfer "N1N2MessageTransfer":
            POST "/ue-contexts/{ueContextId}/n1-n2-messages",
            path(ue_context_id), body(Multipart<N1N2MessageTransferReqData>),
            returns(StatusReply<N1N2MessageTransferRspData>),
            errors[
                403 "UE_IN_NON_ALLOWED_AREA", 403 "UE_WITHOUT_N1_LPP_SUPPORT", 403 "UNSPECIFIED",
                404 "CONTEXT_NOT_FOUND", 409 "TEMPORARY_REJECT_REGISTRATION_ONGOING",
                409 "TEMPORARY_REJECT_HANDOVER_ONGOING", 409 "HIGHER_PRIORITY_REQUEST_ONGOING",
                504 "UE_NOT_REACHABLE", 504 "UE_IN_CM_IDLE_STATE",
            ];
        /// Subscribes to a UE's N1 messages or N2 information.
        op n1_n2_message_subscribe "N1N2MessageSubscribe":
            POST "/ue-contexts/{ueContextId}/n1-n2-messages/subscriptions",
            path(ue_context_id), body(UeN1N2InfoSubscriptionCreateData),
            returns(Created<UeN1N2InfoSubscriptionCreatedData>), errors[404 "CONTEXT_NOT_FOUND"];
        /// Ends such a subscription.
        op n1_n2_message_unsubscribe "N1N2MessageUnSubscribe":
            DELETE "/ue-contexts/{ueContextId}/n1-n2-messages/subscriptions/{subscriptionId}",
            path(ue_context_id, subscription_id), returns(()),
            errors[404 "CONTEXT_NOT_FOUND", 404 "SUBSCRIPTION_NOT_FOUND"];
        /// Assigns EPS bearer identities to a session.
        op ebi_assignment "EBIAssignment": POST "/ue-contexts/{ueContextId}/assign-ebi",
            path(ue_context_id), body(AssignEbiData), returns(AssignedEbiData),
            errors[
                403 "EBI_EXHAUSTED", 403 "EBI_REJECTED_LOCAL_POLICY", 403 "EBI_REJECTED_NO_N26",
                404 "CONTEXT_NOT_FOUND", 409 "TEMPORARY_REJECT_REGISTRATION_ONGOING",
                409 "TEMPORARY_REJECT_HANDOVER_ONGOING",
            ];
        /// Creates a UE context for a handover.
        op create_ue_context "CreateUEContext": PUT "/ue-contexts/{ueContextId}",
            path(ue_context_id), body(Multipart<UeContextCreateData>),
            returns(Created<Multipart<UeContextCreatedData>>), errors[403 "HANDOVER_FAILURE"];
        /// Cancels a handover.
        op release_ue_context "ReleaseUEContext": POST "/ue-contexts/{ueContextId}/release",
            path(ue_context_id), body(UeContextRelease), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// Transfers a UE's context to the AMF where the UE registers.
        op ue_context_transfer "UEContextTransfer": POST "/ue-contexts/{ueContextId}/transfer",
            path(ue_context_id), body(Multipart<UeContextTransferReqData>),
            returns(Multipart<UeContextTransferRspData>),
            errors[403 "INTEGRITY_CHECK_FAIL", 404 "CONTEXT_NOT_FOUND"];
        /// Reports to the old AMF whether the new one took the context over.
        op registration_status_update "RegistrationStatusUpdate":
            POST "/ue-contexts/{ueContextId}/transfer-update",
            path(ue_context_id), body(UeRegStatusUpdateReqData), returns(UeRegStatusUpdateRspData),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// Delivers N2 information that is not about one UE to RAN nodes.
        op non_ue_n2_message_transfer "NonUeN2MessageTransfer": POST "/non-ue-n2-messages/transfer",
            path(), body(Multipart<N2InformationTransferReqData>),
            returns(N2InformationTransferRspData),
            errors[403 "UNSPECIFIED", 404 "CONTEXT_NOT_FOUND"];
        /// Subscribes to N2 information that is not about one UE.
        op non_ue_n2_info_subscribe "NonUeN2InfoSubscribe":
            POST "/non-ue-n2-messages/subscriptions",
            path(), body(NonUeN2InfoSubscriptionCreateData),
            returns(Created<NonUeN2InfoSubscriptionCreatedData>),
            errors[400 "MANDATORY_IE_INCORRECT"];
        /// Ends such a subscription.
        op non_ue_n2_info_unsubscribe "NonUeN2InfoUnSubscribe":
            DELETE "/non-ue-n2-messages/subscriptions/{n2NotifySubscriptionId}",
            path(n2_notify_subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
        /// Subscribes to the state of the AMF.
        op amf_status_change_subscribe "AMFStatusChangeSubscribe": POST "/subscriptions",
            path(), body(SubscriptionData), returns(Created<SubscriptionData>),
            errors[400 "MANDATORY_IE_INCORRECT"];
        /// Ends such a subscription.
        op amf_status_change_unsubscribe "AMFStatusChangeUnSubscribe":
            DELETE "/subscriptions/{subscriptionId}",
            path(subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}

service! {
    /// Receives the notification that an AMF or its GUAMIs become unavailable (TS 29.518,
    /// 5.2.2.5.3).
    pub AmfStatusCallback / AmfStatusCallbackClient / NAMF_STATUS_CALLBACK
        = "namf-status-callback" / "v1" {
        /// The state of an AMF has changed; its URI is `amfStatusUri`.
        callback amf_status_change_notify "AmfStatusChangeNotify": POST "/amf-status/{id}",
            path(id), body(AmfStatusChangeNotification), returns(()),
            errors[];
    }
}
