//! Nudr_DataRepository: data of UDM and PCF about subscribers (TS 29.504; data of TS 29.505 and TS
//! 29.519).
//!
//! Data that UDM and UDR share have the UDM's types ([`crate::nudm_sdm`], [`crate::nudm_uecm`],
//! [`crate::nudm_ueau`]).
mod application_data;
mod policy_data;
mod subscription_data;

pub use application_data::*;
pub use policy_data::*;
pub use subscription_data::*;

use crate::common::{Dnn, PatchResult, Snssai, Supi};
use crate::nudm_sdm::{
    AccessAndMobilitySubscriptionData, SdmSubscription, SmSubsData, SmfSelectionSubscriptionData,
};
use crate::nudm_ueau::AuthEvent;
use crate::nudm_uecm::{Amf3GppAccessRegistration, FeaturesQuery, SmfRegistration};
use crate::query::{Json, Repeated, TextList};
use martlet_sbi::{Created, JsonPatch, StatusReply, json_payload, query_params, service};

json_payload!(
    AuthenticationSubscription,
    SubscriptionDataSubscriptions,
    DataChangeNotify,
    IdentityData,
    ProvisionedDataSets,
    AmPolicyData,
    SmPolicyData,
    PolicyDataSubscription,
    TrafficInfluData,
    TrafficInfluSub,
    TrafficInfluDataNotif,
);

query_params! {
    /// Which members are read (TS 29.505, 5.2).
    pub struct FieldsQuery {
        /** JSON pointers of the members; all where absent. */
        pub fields: TextList<String> = "fields",
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

query_params! {
    /// Which provisioned data are read at once (TS 29.505, 5.2).
    pub struct ProvisionedDataQuery {
        /** Kinds of data, such as `AM`, `SMF_SEL`, `SM`; all where absent. */
        pub dataset_names: TextList<String> = "dataset-names",
        /** Only this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only this data network. */
        pub dnn: Dnn = "dnn",
    }
}

query_params! {
    /// Which session management data are read (TS 29.505, 5.2).
    pub struct SmDataQuery {
        /** Only this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only this data network. */
        pub dnn: Dnn = "dnn",
        /** JSON pointers of the members; all where absent. */
        pub fields: TextList<String> = "fields",
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

query_params! {
    /// Features that the consumer supports, as the policy data spell it (TS 29.519, 5.2).
    pub struct PolicyFeaturesQuery {
        /** Features of the consumer. */
        pub supp_feat: String = "supp-feat",
    }
}

query_params! {
    /// Which session policy data are read (TS 29.519, 5.2).
    pub struct SmPolicyDataQuery {
        /** Only this slice. */
        pub snssai: Json<Snssai> = "snssai",
        /** Only this data network. */
        pub dnn: Dnn = "dnn",
        /** JSON pointers of the members; all where absent. */
        pub fields: TextList<String> = "fields",
        /** Features of the consumer. */
        pub supp_feat: String = "supp-feat",
    }
}

query_params! {
    /// Which influence data are read (TS 29.519, 6.2).
    pub struct InfluenceDataQuery {
        /** Identities of the data. */
        pub influence_ids: Repeated<String> = "influence-Ids",
        /** Only of these data networks. */
        pub dnns: Repeated<Dnn> = "dnns",
        /** Only of these slices. */
        pub snssais: Json<Vec<Snssai>> = "snssais",
        /** Only for these groups of UEs. */
        pub internal_group_ids: Repeated<String> = "internal-Group-Ids",
        /** Only for these groups, too. */
        pub internal_group_ids_add: Repeated<String> = "internal-group-ids-Add",
        /** Only for these categories of subscribers. */
        pub subscriber_categories: Repeated<String> = "subscriber-categories",
        /** Only for these UEs. */
        pub supis: Repeated<Supi> = "supis",
        /** Features of the consumer. */
        pub supp_feat: String = "supp-feat",
    }
}

service! {
    /// The data of subscribers (TS 29.504, 6.1.3).
    pub UdrDataRepository / UdrDataRepositoryClient / NUDR_DR = "nudr-dr" / "v2" {
        /// Reads how a subscriber is authenticated.
        op query_auth_subs_data "QueryAuthSubsData":
            GET "/subscription-data/{ueId}/authentication-data/authentication-subscription",
            path(ue_id), query(FeaturesQuery), returns(AuthenticationSubscription),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Changes how a subscriber is authenticated: the sequence number.
        op modify_authentication_subscription "ModifyAuthenticationSubscription":
            PATCH "/subscription-data/{ueId}/authentication-data/authentication-subscription",
            path(ue_id), body(JsonPatch), returns(Option<PatchResult>),
            errors[403 "MODIFICATION_NOT_ALLOWED", 404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Stores the result of an authentication.
        op create_authentication_status "CreateAuthenticationStatus":
            PUT "/subscription-data/{ueId}/authentication-data/authentication-status",
            path(ue_id), body(AuthEvent), returns(()), errors[404 "USER_NOT_FOUND"];
        /// Reads the outcome of an authentication.
        op query_authentication_status "QueryAuthenticationStatus":
            GET "/subscription-data/{ueId}/authentication-data/authentication-status",
            path(ue_id), query(FieldsQuery), returns(AuthEvent),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Deletes the outcome of an authentication.
        op delete_authentication_status "DeleteAuthenticationStatus":
            DELETE "/subscription-data/{ueId}/authentication-data/authentication-status",
            path(ue_id), returns(()), errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads provisioned data of several kinds at once.
        op query_provisioned_data "QueryProvisionedData":
            GET "/subscription-data/{ueId}/{servingPlmnId}/provisioned-data",
            path(ue_id, serving_plmn_id), query(ProvisionedDataQuery), returns(ProvisionedDataSets),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads access and mobility data.
        op query_am_data "QueryAmData":
            GET "/subscription-data/{ueId}/{servingPlmnId}/provisioned-data/am-data",
            path(ue_id, serving_plmn_id), query(FieldsQuery),
            returns(AccessAndMobilitySubscriptionData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads the data for the selection of an SMF.
        op query_smf_select_data "QuerySmfSelectData":
            GET "/subscription-data/{ueId}/{servingPlmnId}/provisioned-data/\
                smf-selection-subscription-data",
            path(ue_id, serving_plmn_id), query(FieldsQuery), returns(SmfSelectionSubscriptionData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads session management data.
        op query_sm_data "QuerySmData":
            GET "/subscription-data/{ueId}/{servingPlmnId}/provisioned-data/sm-data",
            path(ue_id, serving_plmn_id), query(SmDataQuery), returns(SmSubsData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads which AMF is registered for 3GPP access.
        op query_amf_context_3gpp "QueryAmfContext3gpp":
            GET "/subscription-data/{ueId}/context-data/amf-3gpp-access",
            path(ue_id), query(FieldsQuery), returns(Amf3GppAccessRegistration),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Stores the AMF registered for 3GPP access (201 new, 204 replaced).
        op create_amf_context_3gpp "CreateAmfContext3gpp":
            PUT "/subscription-data/{ueId}/context-data/amf-3gpp-access",
            path(ue_id), body(Amf3GppAccessRegistration),
            returns(StatusReply<Amf3GppAccessRegistration>),
            errors[404 "USER_NOT_FOUND"];
        /// Changes an AMF's registration.
        op amf_context_3gpp "AmfContext3gpp":
            PATCH "/subscription-data/{ueId}/context-data/amf-3gpp-access",
            path(ue_id), body(JsonPatch), returns(Option<PatchResult>),
            errors[403 "MODIFICATION_NOT_ALLOWED", 404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads which SMFs are registered.
        op query_smf_reg_list "QuerySmfRegList":
            GET "/subscription-data/{ueId}/context-data/smf-registrations",
            path(ue_id), query(FeaturesQuery), returns(Vec<SmfRegistration>),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads which SMF serves a PDU session.
        op query_smf_registration "QuerySmfRegistration":
            GET "/subscription-data/{ueId}/context-data/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), query(FieldsQuery), returns(SmfRegistration),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Stores the SMF that serves a PDU session (201 new, 204 replaced).
        op create_or_update_smf_registration "CreateOrUpdateSmfRegistration":
            PUT "/subscription-data/{ueId}/context-data/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), body(SmfRegistration),
            returns(StatusReply<SmfRegistration>),
            errors[404 "USER_NOT_FOUND"];
        /// Deletes the SMF that serves a PDU session.
        op delete_smf_registration "DeleteSmfRegistration":
            DELETE "/subscription-data/{ueId}/context-data/smf-registrations/{pduSessionId}",
            path(ue_id, pdu_session_id), returns(()),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads the subscriptions at the UDM.
        op query_sdm_subscriptions "Querysdmsubscriptions":
            GET "/subscription-data/{ueId}/context-data/sdm-subscriptions",
            path(ue_id), query(FeaturesQuery), returns(Vec<SdmSubscription>),
            errors[404 "USER_NOT_FOUND"];
        /// Stores a subscription at the UDM.
        op create_sdm_subscriptions "CreateSdmSubscriptions":
            POST "/subscription-data/{ueId}/context-data/sdm-subscriptions",
            path(ue_id), body(SdmSubscription), returns(Created<SdmSubscription>),
            errors[404 "USER_NOT_FOUND"];
        /// Deletes a subscription at the UDM.
        op remove_sdm_subscriptions "RemovesdmSubscriptions":
            DELETE "/subscription-data/{ueId}/context-data/sdm-subscriptions/{subsId}",
            path(ue_id, subs_id), returns(()),
            errors[404 "USER_NOT_FOUND", 404 "SUBSCRIPTION_NOT_FOUND"];
        /// Reads the identities of a subscriber, by any of them.
        op get_identity_data "GetIdentityData": GET "/subscription-data/{ueId}/identity-data",
            path(ue_id), returns(IdentityData), errors[404 "USER_NOT_FOUND"];
        /// Subscribes to changes of subscription data.
        op subscription_data_subscriptions "SubscriptionDataSubscriptions":
            POST "/subscription-data/subs-to-notify",
            path(), body(SubscriptionDataSubscriptions),
            returns(Created<SubscriptionDataSubscriptions>),
            errors[404 "USER_NOT_FOUND", 501 "UNSUPPORTED_MONITORED_URI"];
        /// Ends such a subscription.
        op remove_subscription_data_subscriptions "RemovesubscriptionDataSubscriptions":
            DELETE "/subscription-data/subs-to-notify/{subsId}",
            path(subs_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
        /// Reads policy data for access and mobility.
        op read_access_and_mobility_policy_data "ReadAccessAndMobilityPolicyData":
            GET "/policy-data/ues/{ueId}/am-data",
            path(ue_id), query(PolicyFeaturesQuery), returns(AmPolicyData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads policy data for sessions.
        op read_session_management_policy_data "ReadSessionManagementPolicyData":
            GET "/policy-data/ues/{ueId}/sm-data",
            path(ue_id), query(SmPolicyDataQuery), returns(SmPolicyData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Subscribes to changes of policy data.
        op create_individual_policy_data_subscription "CreateIndividualPolicyDataSubscription":
            POST "/policy-data/subs-to-notify",
            path(), body(PolicyDataSubscription), returns(Created<PolicyDataSubscription>),
            errors[404 "USER_NOT_FOUND", 501 "UNSUPPORTED_MONITORED_URI"];
        /// Ends such a subscription.
        op delete_individual_policy_data_subscription "DeleteIndividualPolicyDataSubscription":
            DELETE "/policy-data/subs-to-notify/{subsId}",
            path(subs_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
        /// Reads influence data, as those of a session.
        op read_influence_data "ReadInfluenceData": GET "/application-data/influenceData",
            path(), query(InfluenceDataQuery), returns(Vec<TrafficInfluData>), errors[];
        /// Stores influence data (201 new, 204 replaced).
        op create_or_replace_individual_influence_data "CreateOrReplaceIndividualInfluenceData":
            PUT "/application-data/influenceData/{influenceId}",
            path(influence_id), body(TrafficInfluData), returns(StatusReply<TrafficInfluData>),
            errors[403 "QUOTA_EXCEEDED"];
        /// Removes influence data.
        op delete_individual_influence_data "DeleteIndividualInfluenceData":
            DELETE "/application-data/influenceData/{influenceId}",
            path(influence_id), returns(()), errors[404 "DATA_NOT_FOUND"];
        /// Subscribes to changes of influence data.
        op create_individual_influence_data_subscription
            "CreateIndividualInfluenceDataSubscription":
            POST "/application-data/influenceData/subs-to-notify",
            path(), body(TrafficInfluSub), returns(Created<TrafficInfluSub>),
            errors[403 "QUOTA_EXCEEDED"];
        /// Reads such a subscription.
        op read_individual_influence_data_subscription "ReadIndividualInfluenceDataSubscription":
            GET "/application-data/influenceData/subs-to-notify/{subscriptionId}",
            path(subscription_id), returns(TrafficInfluSub),
            errors[404 "SUBSCRIPTION_NOT_FOUND"];
        /// Ends such a subscription.
        op delete_individual_influence_data_subscription
            "DeleteIndividualInfluenceDataSubscription":
            DELETE "/application-data/influenceData/subs-to-notify/{subscriptionId}",
            path(subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}
