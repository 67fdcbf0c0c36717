//! Npcf_SMPolicyControl: policies of a PDU session (TS 29.512).
mod context;
mod decision;
mod kinds;

pub use context::*;
pub use decision::*;
pub use kinds::*;

use martlet_sbi::{Created, json_payload, service};

json_payload!(
    SmPolicyContextData,
    SmPolicyUpdateContextData,
    SmPolicyDeleteData,
    SmPolicyDecision,
    SmPolicyControl,
    SmPolicyNotification,
    TerminationNotification,
);

service! {
    /// Session management policy associations (TS 29.512, 5.3).
    pub PcfSmPolicyControl / PcfSmPolicyControlClient / NPCF_SMPOLICYCONTROL
        = "npcf-smpolicycontrol" / "v1" {
        /// Creates an association.
        op create_sm_policy "CreateSMPolicy": POST "/sm-policies",
            path(), body(SmPolicyContextData), returns(Created<SmPolicyDecision>),
            errors[
                400 "USER_UNKNOWN", 400 "ERROR_INITIAL_PARAMETERS", 400 "ERROR_TRIGGER_EVENT",
                403 "ERROR_TRAFFIC_MAPPING_INFO_REJECTED", 403 "ERROR_CONFLICTING_REQUEST",
                403 "POLICY_CONTEXT_DENIED", 403 "VALIDATION_CONDITION_NOT_MET",
            ];
        /// Reads an association.
        op get_sm_policy "GetSMPolicy": GET "/sm-policies/{smPolicyId}",
            path(sm_policy_id), returns(SmPolicyControl),
            errors[404 "POLICY_ASSOCIATION_NOT_FOUND"];
        /// Reports met triggers.
        op update_sm_policy "UpdateSMPolicy": POST "/sm-policies/{smPolicyId}/update",
            path(sm_policy_id), body(SmPolicyUpdateContextData), returns(SmPolicyDecision),
            errors[
                400 "ERROR_TRIGGER_EVENT", 400 "PENDING_TRANSACTION",
                403 "ERROR_TRAFFIC_MAPPING_INFO_REJECTED",
                403 "ERROR_CONFLICTING_REQUEST", 404 "POLICY_ASSOCIATION_NOT_FOUND",
            ];
        /// Ends an association.
        op delete_sm_policy "DeleteSMPolicy": POST "/sm-policies/{smPolicyId}/delete",
            path(sm_policy_id), body(SmPolicyDeleteData), returns(()),
            errors[404 "POLICY_ASSOCIATION_NOT_FOUND"];
    }
}
