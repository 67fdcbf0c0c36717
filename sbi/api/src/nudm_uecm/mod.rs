//! Nudm_UEContextManagement: which AMF and SMFs serve a UE (TS 29.503, 5.3 and 6.2).
mod models;

pub use models::*;

use crate::common::{Dnn, NfInstanceId, PatchResult, Snssai};
use crate::query::{Json, TextList};
use martlet_sbi::{MergePatch, StatusReply, json_payload, query_params, service};

json_payload!(
    Amf3GppAccessRegistration,
    SmfRegistration,
    SmfRegistrationInfo,
    RegistrationDataSets,
    DeregistrationData,
    PatchResult,
);

query_params! {
    /// Features that the consumer supports (TS 29.500, 6.6.2).
    pub struct FeaturesQuery {
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

query_params! {
    /// Which registrations are read (TS 29.503, 6.2.3).
    pub struct RegistrationsQuery {
        /** Kinds of registration; mandatory, two at least. */
        pub registration_dataset_names: TextList<RegistrationDataSetName>
            = "registration-dataset-names",
        /** Only SMFs for this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only SMFs for this data network. */
        pub dnn: Dnn = "dnn",
    }
}

query_params! {
    /// Which SMFs are read (TS 29.503, 6.2.3).
    pub struct SmfRegistrationsQuery {
        /** Only SMFs for this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only SMFs for this data network. */
        pub dnn: Dnn = "dnn",
    }
}

query_params! {
    /// Selects the registration to end (TS 29.503, 6.2.3).
    pub struct SmfDeregistrationQuery {
        /** Set of the SMF. */
        pub smf_set_id: String = "smf-set-id",
        /** The SMF. */
        pub smf_instance_id: NfInstanceId = "smf-instance-id",
    }
}

service! {
    /// The NFs that serve a UE (TS 29.503, 6.2.3).
    pub UdmUeContextManagement / UdmUeContextManagementClient / NUDM_UECM = "nudm-uecm" / "v1" {
        /// Reads registrations of several kinds.
        op get_registrations "GetRegistrations": GET "/{ueId}/registrations",
            path(ue_id), query(RegistrationsQuery), returns(RegistrationDataSets),
            errors[404 "USER_NOT_FOUND"];
        /// Registers an AMF for 3GPP access (201), or replaces or refreshes its registration (200,
        /// 204). The previous AMF is notified.
        op registration_3gpp "3GppRegistration": PUT "/{ueId}/registrations/amf-3gpp-access",
            path(ue_id), body(Amf3GppAccessRegistration),
            returns(StatusReply<Amf3GppAccessRegistration>),
            errors[
                403 "UNKNOWN_5GS_SUBSCRIPTION", 403 "NO_PS_SUBSCRIPTION", 403 "ROAMING_NOT_ALLOWED",
                403 "ACCESS_NOT_ALLOWED", 403 "RAT_NOT_ALLOWED", 403 "REAUTHENTICATION_REQUIRED",
                404 "USER_NOT_FOUND",
            ];
        /// Changes an AMF's registration; with `purge_flag` the AMF no longer serves the UE.
        op update_3gpp_registration "Update3GppRegistration":
            PATCH "/{ueId}/registrations/amf-3gpp-access",
            path(ue_id), body(MergePatch<Amf3GppAccessRegistrationModification>),
            returns(Option<PatchResult>),
            errors[403 "INVALID_GUAMI", 404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND",
                422 "UNPROCESSABLE_REQUEST"];
        /// Reads which AMF is registered for 3GPP access.
        op get_3gpp_registration "Get3GppRegistration": GET "/{ueId}/registrations/amf-3gpp-access",
            path(ue_id), query(FeaturesQuery), returns(Amf3GppAccessRegistration),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads which SMFs are registered.
        op get_smf_registration "GetSmfRegistration": GET "/{ueId}/registrations/smf-registrations",
            path(ue_id), query(SmfRegistrationsQuery), returns(SmfRegistrationInfo),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Registers an SMF for a PDU session (201), or replaces or refreshes its registration
        /// (200, 204).
        op registration "Registration":
            PUT "/{ueId}/registrations/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), body(SmfRegistration),
            returns(StatusReply<SmfRegistration>),
            errors[
                403 "UNKNOWN_5GS_SUBSCRIPTION", 403 "NO_PS_SUBSCRIPTION", 403 "ROAMING_NOT_ALLOWED",
                403 "DNN_NOT_ALLOWED", 404 "USER_NOT_FOUND",
            ];
        /// Ends an SMF's registration for a PDU session.
        op smf_deregistration "SmfDeregistration":
            DELETE "/{ueId}/registrations/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), query(SmfDeregistrationQuery), returns(()),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND", 422 "UNPROCESSABLE_REQUEST"];
        /// Reads which SMF serves a PDU session.
        op retrieve_smf_registration "RetrieveSmfRegistration":
            GET "/{ueId}/registrations/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), returns(SmfRegistration),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
    }
}
