//! Types of bodies; the first byte of the input selects one.

/// Calls a macro with all types.
macro_rules! with_bodies {
    ($macro:ident) => {
        $macro!(
            api::nnrf_nfmanagement::NfProfile,
            api::nnrf_nfdiscovery::SearchResult,
            api::nausf_ueauthentication::AuthenticationInfo,
            api::nudm_uecm::Amf3GppAccessRegistration,
            api::nudm_sdm::AccessAndMobilitySubscriptionData,
            api::nudm_sdm::SessionManagementSubscriptionData,
            api::nsmf_pdusession::SmContextCreateData,
            api::npcf_sm_policy_control::SmPolicyContextData,
            api::namf_communication::N1N2MessageTransferReqData,
        );
    };
}
