//! Nsmf_PDUSession: PDU sessions of UEs, for AMFs (TS 29.502).
mod errors;
mod kinds;
mod retrieval;
mod sm_context;

pub use kinds::*;
pub use retrieval::*;
pub use sm_context::*;

use martlet_sbi::{Created, Multipart, json_payload, service};

json_payload!(
    SmContextReleasedData,
    SmContextRetrieveData,
    SmContextRetrievedData,
    SmContextStatusNotification,
);

service! {
    /// Session contexts, which an AMF has at an SMF (TS 29.502, 6.1.3).
    ///
    /// Rejections carry [`SmContextCreateError`] or [`SmContextUpdateError`] with the 5GSM message
    /// for the UE; see their `into_problem` and `from_problem`.
    pub SmfPduSession / SmfPduSessionClient / NSMF_PDUSESSION = "nsmf-pdusession" / "v1" {
        /// Creates a session context.
        op post_sm_contexts "PostSmContexts": POST "/sm-contexts",
            path(), body(Multipart<SmContextCreateData>),
            returns(Created<Multipart<SmContextCreatedData>>),
            errors[
                403 "N1_SM_ERROR", 403 "N2_SM_ERROR", 403 "SNSSAI_DENIED", 403 "DNN_DENIED",
                403 "PDUTYPE_DENIED", 403 "PDUTYPE_NOT_SUPPORTED", 403 "SSC_DENIED",
                403 "SSC_NOT_SUPPORTED",
                403 "SUBSCRIPTION_DENIED", 403 "DNN_NOT_SUPPORTED", 403 "OUT_OF_LADN_SERVICE_AREA",
                403 "PRIORITIZED_SERVICES_ONLY", 404 "CONTEXT_NOT_FOUND",
                500 "INSUFFICIENT_RESOURCES_SLICE", 500 "INSUFFICIENT_RESOURCES_SLICE_DNN",
                503 "DNN_CONGESTION", 503 "S_NSSAI_CONGESTION", 504 "PEER_NOT_RESPONDING",
                504 "NETWORK_FAILURE",
            ];
        /// Changes a session context: a 5GSM message, N2 information, the user plane connection
        /// (200, 204).
        op update_sm_context "UpdateSmContext": POST "/sm-contexts/{smContextRef}/modify",
            path(sm_context_ref), body(Multipart<SmContextUpdateData>),
            returns(Option<Multipart<SmContextUpdatedData>>),
            errors[
                403 "N1_SM_ERROR", 403 "N2_SM_ERROR", 403 "SUBSCRIPTION_DENIED",
                403 "OUT_OF_LADN_SERVICE_AREA",
                403 "PRIORITIZED_SERVICES_ONLY", 403 "PDU_SESSION_ANCHOR_CHANGE",
                404 "CONTEXT_NOT_FOUND",
                500 "INSUFFICIENT_RESOURCES_SLICE_DNN", 503 "DNN_CONGESTION",
                503 "S_NSSAI_CONGESTION",
                504 "PEER_NOT_RESPONDING",
            ];
        /// Ends a session context (200, 204).
        op release_sm_context "ReleaseSmContext": POST "/sm-contexts/{smContextRef}/release",
            path(sm_context_ref), body(Option<Multipart<SmContextReleaseData>>),
            returns(Option<SmContextReleasedData>), errors[404 "CONTEXT_NOT_FOUND"];
        /// Reads a session context that moves.
        op retrieve_sm_context "RetrieveSmContext": POST "/sm-contexts/{smContextRef}/retrieve",
            path(sm_context_ref), body(Option<SmContextRetrieveData>),
            returns(SmContextRetrievedData),
            errors[403 "TARGET_MME_CAPABILITY", 404 "CONTEXT_NOT_FOUND"];
    }
}
