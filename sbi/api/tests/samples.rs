//! Bodies of every operation, with all members that a type has and with the mandatory ones alone:
//! each is decoded, encoded again without loss, in JSON and in compact form, and valid by 3GPP's
//! OpenAPI files.
mod validator;

use martlet_sbi::OperationInfo;
use martlet_sbi::compact::{self, Compact};
use martlet_sbi_api::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The samples of a service that no type has consumed yet, and the messages of the others.
struct Samples {
    waiting: BTreeMap<(String, String), Vec<Value>>,
    messages: Vec<Value>,
}

impl Samples {
    fn read(service: &str) -> Self {
        let path = format!("{}/tests/samples/{service}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut waiting: BTreeMap<_, Vec<Value>> = BTreeMap::new();
        for sample in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
            let text = |name: &str| sample[name].as_str().unwrap().to_string();
            waiting.entry((text("operation"), text("direction"))).or_default().push(sample);
        }
        Samples { waiting, messages: Vec::new() }
    }

    fn check<T: Serialize + DeserializeOwned + Compact>(
        &mut self,
        operation: &OperationInfo,
        direction: &str,
    ) {
        let key = (operation.name.to_string(), direction.to_string());
        for sample in self.waiting.remove(&key).unwrap_or_else(|| panic!("no sample of {key:?}")) {
            let body = &sample["body"];
            let value: T = T::deserialize(body).unwrap_or_else(|e| panic!("{key:?}: {e}: {body}"));
            let again = serde_json::to_value(&value).unwrap();
            assert_eq!(&again, body, "{key:?}");
            let mut compact = Vec::new();
            compact::to_vec(&value, &mut compact);
            let value: T =
                compact::from_slice(&compact).unwrap_or_else(|e| panic!("{key:?}: {e}: {body}"));
            assert_eq!(serde_json::to_value(&value).unwrap(), again, "{key:?}, compact");
            self.messages.push(json!({
                "service": operation.api,
                "operation": operation.name,
                "method": operation.method.as_str(),
                "path": operation.path,
                "direction": direction,
                "status": sample.get("status"),
                "body": again,
            }));
        }
    }

    fn finish(self) {
        assert!(self.waiting.is_empty(), "nothing checks {:?}", self.waiting.keys());
        let Some(violations) = validator::violations(&self.messages) else { return };
        assert!(violations.is_empty(), "{}", violations.join("\n"));
    }
}

#[test]
fn namf_callback_bodies() {
    let mut samples = Samples::read("namf-callback");
    use namf_callback::*;
    samples.check::<npcf_am_policy_control::TerminationNotification>(
        NAMF_CALLBACK::am_policy_terminate_notify(),
        "request",
    );
    samples.check::<npcf_am_policy_control::PolicyUpdate>(
        NAMF_CALLBACK::am_policy_update_notify(),
        "request",
    );
    samples.check::<npcf_am_policy_control::AmRequestedValueRep>(
        NAMF_CALLBACK::am_policy_update_notify(),
        "response",
    );
    samples
        .check::<nudm_uecm::DeregistrationData>(NAMF_CALLBACK::deregistration_notify(), "request");
    samples
        .check::<nudm_sdm::ModificationNotification>(NAMF_CALLBACK::sdm_change_notify(), "request");
    samples.check::<nsmf_pdusession::SmContextStatusNotification>(
        NAMF_CALLBACK::sm_context_status_notify(),
        "request",
    );
    samples.finish();
}

#[test]
fn namf_comm_bodies() {
    let mut samples = Samples::read("namf-comm");
    use namf_communication::*;
    samples.check::<SubscriptionData>(NAMF_COMM::amf_status_change_subscribe(), "request");
    samples.check::<SubscriptionData>(NAMF_COMM::amf_status_change_subscribe(), "response");
    samples.check::<UeContextCreateData>(NAMF_COMM::create_ue_context(), "request");
    samples.check::<UeContextCreatedData>(NAMF_COMM::create_ue_context(), "response");
    samples.check::<AssignEbiData>(NAMF_COMM::ebi_assignment(), "request");
    samples.check::<AssignedEbiData>(NAMF_COMM::ebi_assignment(), "response");
    samples
        .check::<UeN1N2InfoSubscriptionCreateData>(NAMF_COMM::n1_n2_message_subscribe(), "request");
    samples.check::<UeN1N2InfoSubscriptionCreatedData>(
        NAMF_COMM::n1_n2_message_subscribe(),
        "response",
    );
    samples.check::<N1N2MessageTransferReqData>(NAMF_COMM::n1_n2_message_transfer(), "request");
    samples.check::<N1N2MessageTransferRspData>(NAMF_COMM::n1_n2_message_transfer(), "response");
    samples.check::<NonUeN2InfoSubscriptionCreateData>(
        NAMF_COMM::non_ue_n2_info_subscribe(),
        "request",
    );
    samples.check::<NonUeN2InfoSubscriptionCreatedData>(
        NAMF_COMM::non_ue_n2_info_subscribe(),
        "response",
    );
    samples
        .check::<N2InformationTransferReqData>(NAMF_COMM::non_ue_n2_message_transfer(), "request");
    samples
        .check::<N2InformationTransferRspData>(NAMF_COMM::non_ue_n2_message_transfer(), "response");
    samples.check::<UeRegStatusUpdateReqData>(NAMF_COMM::registration_status_update(), "request");
    samples.check::<UeRegStatusUpdateRspData>(NAMF_COMM::registration_status_update(), "response");
    samples.check::<UeContextRelease>(NAMF_COMM::release_ue_context(), "request");
    samples.check::<UeContextTransferReqData>(NAMF_COMM::ue_context_transfer(), "request");
    samples.check::<UeContextTransferRspData>(NAMF_COMM::ue_context_transfer(), "response");
    samples.finish();
}

#[test]
fn namf_loc_bodies() {
    let mut samples = Samples::read("namf-loc");
    use namf_location::*;
    samples.check::<RequestPosInfo>(NAMF_LOC::provide_positioning_info(), "request");
    samples.check::<ProvidePosInfo>(NAMF_LOC::provide_positioning_info(), "response");
    samples.finish();
}

#[test]
fn nlmf_loc_bodies() {
    let mut samples = Samples::read("nlmf-loc");
    use nlmf_location::*;
    samples.check::<InputData>(NLMF_LOC::determine_location(), "request");
    samples.check::<LocationData>(NLMF_LOC::determine_location(), "response");
    samples.check::<UpConfig>(NLMF_LOC::up_config(), "request");
    samples.finish();
}

#[test]
fn nlmf_callback_bodies() {
    let mut samples = Samples::read("nlmf-callback");
    use nlmf_callback::*;
    samples.check::<namf_communication::N1MessageNotification>(
        NLMF_CALLBACK::n1_message_notify(),
        "request",
    );
    samples.check::<namf_communication::N2InformationNotification>(
        NLMF_CALLBACK::n2_info_notify(),
        "request",
    );
    samples.check::<namf_communication::N2InformationNotification>(
        NLMF_CALLBACK::non_ue_n2_info_notify(),
        "request",
    );
    samples.finish();
}

#[test]
fn nausf_auth_bodies() {
    let mut samples = Samples::read("nausf-auth");
    use nausf_ueauthentication::*;
    samples.check::<ConfirmationData>(NAUSF_AUTH::confirm_5g_aka(), "request");
    samples.check::<ConfirmationDataResponse>(NAUSF_AUTH::confirm_5g_aka(), "response");
    samples.check::<AuthenticationInfo>(NAUSF_AUTH::ue_authentications_post(), "request");
    samples.check::<UeAuthenticationCtx>(NAUSF_AUTH::ue_authentications_post(), "response");
    samples.finish();
}

#[test]
fn nnrf_disc_bodies() {
    let mut samples = Samples::read("nnrf-disc");
    use nnrf_nfdiscovery::*;
    samples.check::<SearchResult>(NNRF_DISC::search_nf_instances(), "response");
    samples.finish();
}

#[test]
fn nnrf_nfm_bodies() {
    let mut samples = Samples::read("nnrf-nfm");
    use nnrf_nfmanagement::*;
    samples.check::<SubscriptionData>(NNRF_NFM::create_subscription(), "request");
    samples.check::<SubscriptionData>(NNRF_NFM::create_subscription(), "response");
    samples.check::<NfProfile>(NNRF_NFM::get_nf_instance(), "response");
    samples.check::<UriList>(NNRF_NFM::get_nf_instances(), "response");
    samples.check::<NfProfile>(NNRF_NFM::register_nf_instance(), "request");
    samples.check::<NfProfile>(NNRF_NFM::register_nf_instance(), "response");
    samples.check::<NfProfile>(NNRF_NFM::update_nf_instance(), "response");
    samples.check::<SubscriptionData>(NNRF_NFM::update_subscription(), "response");
    samples.finish();
}

#[test]
fn nnrf_nfstatus_callback_bodies() {
    let mut samples = Samples::read("nnrf-nfstatus-callback");
    use nnrf_nfstatus_callback::*;
    samples.check::<nnrf_nfmanagement::NotificationData>(
        NNRF_NFSTATUS_CALLBACK::nf_status_notify(),
        "request",
    );
    samples.finish();
}

#[test]
fn nnssf_nsselection_bodies() {
    let mut samples = Samples::read("nnssf-nsselection");
    use nnssf_ns_selection::*;
    samples.check::<AuthorizedNetworkSliceInfo>(NNSSF_NSSELECTION::ns_selection_get(), "response");
    samples.finish();
}

#[test]
fn npcf_am_policy_control_bodies() {
    let mut samples = Samples::read("npcf-am-policy-control");
    use npcf_am_policy_control::*;
    samples.check::<PolicyAssociationRequest>(
        NPCF_AM_POLICY_CONTROL::create_individual_am_policy_association(),
        "request",
    );
    samples.check::<PolicyAssociation>(
        NPCF_AM_POLICY_CONTROL::create_individual_am_policy_association(),
        "response",
    );
    samples.check::<PolicyAssociation>(
        NPCF_AM_POLICY_CONTROL::read_individual_am_policy_association(),
        "response",
    );
    samples.check::<PolicyAssociationUpdateRequest>(
        NPCF_AM_POLICY_CONTROL::report_observed_event_triggers(),
        "request",
    );
    samples.check::<PolicyUpdate>(
        NPCF_AM_POLICY_CONTROL::report_observed_event_triggers(),
        "response",
    );
    samples.finish();
}

#[test]
fn npcf_smpolicycontrol_bodies() {
    let mut samples = Samples::read("npcf-smpolicycontrol");
    use npcf_sm_policy_control::*;
    samples.check::<SmPolicyContextData>(NPCF_SMPOLICYCONTROL::create_sm_policy(), "request");
    samples.check::<SmPolicyDecision>(NPCF_SMPOLICYCONTROL::create_sm_policy(), "response");
    samples.check::<SmPolicyDeleteData>(NPCF_SMPOLICYCONTROL::delete_sm_policy(), "request");
    samples.check::<SmPolicyControl>(NPCF_SMPOLICYCONTROL::get_sm_policy(), "response");
    samples.check::<SmPolicyUpdateContextData>(NPCF_SMPOLICYCONTROL::update_sm_policy(), "request");
    samples.check::<SmPolicyDecision>(NPCF_SMPOLICYCONTROL::update_sm_policy(), "response");
    samples.finish();
}

#[test]
fn nsmf_callback_bodies() {
    let mut samples = Samples::read("nsmf-callback");
    use nsmf_callback::*;
    samples
        .check::<nudm_uecm::DeregistrationData>(NSMF_CALLBACK::deregistration_notify(), "request");
    samples.check::<namf_communication::N1N2MsgTxfrFailureNotification>(
        NSMF_CALLBACK::n1_n2_transfer_failure_notify(),
        "request",
    );
    samples
        .check::<nudm_sdm::ModificationNotification>(NSMF_CALLBACK::sdm_change_notify(), "request");
    samples.check::<npcf_sm_policy_control::TerminationNotification>(
        NSMF_CALLBACK::sm_policy_terminate_notify(),
        "request",
    );
    samples.check::<npcf_sm_policy_control::SmPolicyNotification>(
        NSMF_CALLBACK::sm_policy_update_notify(),
        "request",
    );
    samples.check::<Vec<npcf_sm_policy_control::PartialSuccessReport>>(
        NSMF_CALLBACK::sm_policy_update_notify(),
        "response",
    );
    samples.finish();
}

#[test]
fn nsmf_pdusession_bodies() {
    let mut samples = Samples::read("nsmf-pdusession");
    use nsmf_pdusession::*;
    samples.check::<SmContextCreateData>(NSMF_PDUSESSION::post_sm_contexts(), "request");
    samples.check::<SmContextCreatedData>(NSMF_PDUSESSION::post_sm_contexts(), "response");
    samples.check::<SmContextReleaseData>(NSMF_PDUSESSION::release_sm_context(), "request");
    samples.check::<SmContextReleasedData>(NSMF_PDUSESSION::release_sm_context(), "response");
    samples.check::<SmContextRetrieveData>(NSMF_PDUSESSION::retrieve_sm_context(), "request");
    samples.check::<SmContextRetrievedData>(NSMF_PDUSESSION::retrieve_sm_context(), "response");
    samples.check::<SmContextUpdateData>(NSMF_PDUSESSION::update_sm_context(), "request");
    samples.check::<SmContextUpdatedData>(NSMF_PDUSESSION::update_sm_context(), "response");
    samples.finish();
}

#[test]
fn nudm_sdm_bodies() {
    let mut samples = Samples::read("nudm-sdm");
    use nudm_sdm::*;
    samples.check::<AccessAndMobilitySubscriptionData>(NUDM_SDM::get_am_data(), "response");
    samples.check::<SubscriptionDataSets>(NUDM_SDM::get_data_sets(), "response");
    samples.check::<Nssai>(NUDM_SDM::get_nssai(), "response");
    samples.check::<SmSubsData>(NUDM_SDM::get_sm_data(), "response");
    samples.check::<SmfSelectionSubscriptionData>(NUDM_SDM::get_smf_sel_data(), "response");
    samples.check::<IdTranslationResult>(NUDM_SDM::get_supi_or_gpsi(), "response");
    samples.check::<UeContextInAmfData>(NUDM_SDM::get_ue_ctx_in_amf_data(), "response");
    samples.check::<UeContextInSmfData>(NUDM_SDM::get_ue_ctx_in_smf_data(), "response");
    samples.check::<AcknowledgeInfo>(NUDM_SDM::snssais_ack(), "request");
    samples.check::<AcknowledgeInfo>(NUDM_SDM::sor_ack_info(), "request");
    samples.check::<SdmSubscription>(NUDM_SDM::subscribe(), "request");
    samples.check::<SdmSubscription>(NUDM_SDM::subscribe(), "response");
    samples.check::<AcknowledgeInfo>(NUDM_SDM::upu_ack(), "request");
    samples.finish();
}

#[test]
fn nudm_ueau_bodies() {
    let mut samples = Samples::read("nudm-ueau");
    use nudm_ueau::*;
    samples.check::<AuthEvent>(NUDM_UEAU::confirm_auth(), "request");
    samples.check::<AuthEvent>(NUDM_UEAU::confirm_auth(), "response");
    samples.check::<AuthEvent>(NUDM_UEAU::delete_auth(), "request");
    samples.check::<AuthenticationInfoRequest>(NUDM_UEAU::generate_auth_data(), "request");
    samples.check::<AuthenticationInfoResult>(NUDM_UEAU::generate_auth_data(), "response");
    samples.finish();
}

#[test]
fn nudm_uecm_bodies() {
    let mut samples = Samples::read("nudm-uecm");
    use nudm_uecm::*;
    samples.check::<Amf3GppAccessRegistration>(NUDM_UECM::get_3gpp_registration(), "response");
    samples.check::<RegistrationDataSets>(NUDM_UECM::get_registrations(), "response");
    samples.check::<SmfRegistrationInfo>(NUDM_UECM::get_smf_registration(), "response");
    samples.check::<SmfRegistration>(NUDM_UECM::registration(), "request");
    samples.check::<SmfRegistration>(NUDM_UECM::registration(), "response");
    samples.check::<Amf3GppAccessRegistration>(NUDM_UECM::registration_3gpp(), "request");
    samples.check::<Amf3GppAccessRegistration>(NUDM_UECM::registration_3gpp(), "response");
    samples.check::<SmfRegistration>(NUDM_UECM::retrieve_smf_registration(), "response");
    samples.check::<Amf3GppAccessRegistrationModification>(
        NUDM_UECM::update_3gpp_registration(),
        "request",
    );
    samples.check::<common::PatchResult>(NUDM_UECM::update_3gpp_registration(), "response");
    samples.finish();
}

#[test]
fn nudr_data_callback_bodies() {
    let mut samples = Samples::read("nudr-data-callback");
    use nudr_callback::*;
    samples.check::<nudr_dr::DataChangeNotify>(NUDR_DATA_CALLBACK::on_data_change(), "request");
    samples.finish();
}

#[test]
fn nudr_policy_callback_bodies() {
    let mut samples = Samples::read("nudr-policy-callback");
    use nudr_callback::*;
    samples.check::<Vec<nudr_dr::PolicyDataChangeNotification>>(
        NUDR_POLICY_CALLBACK::policy_data_change_notification(),
        "request",
    );
    samples.check::<Vec<nudr_dr::TrafficInfluDataNotif>>(
        NUDR_POLICY_CALLBACK::influence_data_change_notification(),
        "request",
    );
    samples.finish();
}

#[test]
fn nudr_dr_bodies() {
    let mut samples = Samples::read("nudr-dr");
    use nudr_dr::*;
    samples.check::<common::PatchResult>(NUDR_DR::amf_context_3gpp(), "response");
    samples.check::<nudm_uecm::Amf3GppAccessRegistration>(
        NUDR_DR::create_amf_context_3gpp(),
        "request",
    );
    samples.check::<nudm_uecm::Amf3GppAccessRegistration>(
        NUDR_DR::create_amf_context_3gpp(),
        "response",
    );
    samples.check::<nudm_ueau::AuthEvent>(NUDR_DR::create_authentication_status(), "request");
    samples.check::<PolicyDataSubscription>(
        NUDR_DR::create_individual_policy_data_subscription(),
        "request",
    );
    samples.check::<PolicyDataSubscription>(
        NUDR_DR::create_individual_policy_data_subscription(),
        "response",
    );
    samples.check::<nudm_uecm::SmfRegistration>(
        NUDR_DR::create_or_update_smf_registration(),
        "request",
    );
    samples.check::<nudm_uecm::SmfRegistration>(
        NUDR_DR::create_or_update_smf_registration(),
        "response",
    );
    samples.check::<nudm_sdm::SdmSubscription>(NUDR_DR::create_sdm_subscriptions(), "request");
    samples.check::<nudm_sdm::SdmSubscription>(NUDR_DR::create_sdm_subscriptions(), "response");
    samples.check::<IdentityData>(NUDR_DR::get_identity_data(), "response");
    samples.check::<common::PatchResult>(NUDR_DR::modify_authentication_subscription(), "response");
    samples
        .check::<nudm_sdm::AccessAndMobilitySubscriptionData>(NUDR_DR::query_am_data(), "response");
    samples.check::<nudm_uecm::Amf3GppAccessRegistration>(
        NUDR_DR::query_amf_context_3gpp(),
        "response",
    );
    samples.check::<AuthenticationSubscription>(NUDR_DR::query_auth_subs_data(), "response");
    samples.check::<nudm_ueau::AuthEvent>(NUDR_DR::query_authentication_status(), "response");
    samples.check::<ProvisionedDataSets>(NUDR_DR::query_provisioned_data(), "response");
    samples.check::<Vec<nudm_sdm::SdmSubscription>>(NUDR_DR::query_sdm_subscriptions(), "response");
    samples.check::<nudm_sdm::SmSubsData>(NUDR_DR::query_sm_data(), "response");
    samples.check::<Vec<nudm_uecm::SmfRegistration>>(NUDR_DR::query_smf_reg_list(), "response");
    samples.check::<nudm_uecm::SmfRegistration>(NUDR_DR::query_smf_registration(), "response");
    samples.check::<nudm_sdm::SmfSelectionSubscriptionData>(
        NUDR_DR::query_smf_select_data(),
        "response",
    );
    samples.check::<AmPolicyData>(NUDR_DR::read_access_and_mobility_policy_data(), "response");
    samples.check::<SmPolicyData>(NUDR_DR::read_session_management_policy_data(), "response");
    samples.check::<Vec<TrafficInfluData>>(NUDR_DR::read_influence_data(), "response");
    for direction in ["request", "response"] {
        samples.check::<TrafficInfluData>(
            NUDR_DR::create_or_replace_individual_influence_data(),
            direction,
        );
        samples.check::<TrafficInfluSub>(
            NUDR_DR::create_individual_influence_data_subscription(),
            direction,
        );
    }
    samples.check::<TrafficInfluSub>(
        NUDR_DR::read_individual_influence_data_subscription(),
        "response",
    );
    samples.check::<SubscriptionDataSubscriptions>(
        NUDR_DR::subscription_data_subscriptions(),
        "request",
    );
    samples.check::<SubscriptionDataSubscriptions>(
        NUDR_DR::subscription_data_subscriptions(),
        "response",
    );
    samples.finish();
}
