//! Npcf_AMPolicyControl: access and mobility policies of a UE (TS 29.507).
mod models;

pub use models::*;

use martlet_sbi::{Created, json_payload, service};

json_payload!(
    PolicyAssociation,
    PolicyAssociationRequest,
    PolicyAssociationUpdateRequest,
    PolicyUpdate,
    TerminationNotification,
    AmRequestedValueRep,
);

service! {
    /// Access and mobility policy associations (TS 29.507, 5.3).
    pub PcfAmPolicyControl / PcfAmPolicyControlClient / NPCF_AM_POLICY_CONTROL
        = "npcf-am-policy-control" / "v1" {
        /// Creates an association.
        op create_individual_am_policy_association "CreateIndividualAMPolicyAssociation":
            POST "/policies",
            path(), body(PolicyAssociationRequest), returns(Created<PolicyAssociation>),
            errors[400 "USER_UNKNOWN", 400 "ERROR_REQUEST_PARAMETERS", 403 "POLICY_CONTEXT_DENIED"];
        /// Reads an association.
        op read_individual_am_policy_association "ReadIndividualAMPolicyAssociation":
            GET "/policies/{polAssoId}",
            path(pol_asso_id), returns(PolicyAssociation),
            errors[404 "POLICY_ASSOCIATION_NOT_FOUND"];
        /// Reports met triggers.
        op report_observed_event_triggers
            "ReportObservedEventTriggersForIndividualAMPolicyAssociation":
            POST "/policies/{polAssoId}/update",
            path(pol_asso_id), body(PolicyAssociationUpdateRequest), returns(PolicyUpdate),
            errors[400 "ERROR_REQUEST_PARAMETERS", 404 "POLICY_ASSOCIATION_NOT_FOUND"];
        /// Ends an association.
        op delete_individual_am_policy_association "DeleteIndividualAMPolicyAssociation":
            DELETE "/policies/{polAssoId}",
            path(pol_asso_id), returns(()), errors[404 "POLICY_ASSOCIATION_NOT_FOUND"];
    }
}
