//! Nudm_SubscriberDataManagement: subscription data, and subscriptions to their changes (TS 29.503,
//! 5.2 and 6.1).
mod access;
mod session;
mod sm_subs_data;
mod subscription;

pub use access::*;
pub use session::*;
pub use sm_subs_data::SmSubsData;
pub use subscription::*;

use crate::common::{Dnn, PlmnId, PlmnIdNid, Snssai};
use crate::nudm_uecm::FeaturesQuery;
use crate::query::{Json, TextList};
use martlet_sbi::{Created, json_payload, query_params, service};

json_payload!(
    AccessAndMobilitySubscriptionData,
    Nssai,
    SmfSelectionSubscriptionData,
    SmSubsData,
    UeContextInSmfData,
    UeContextInAmfData,
    IdTranslationResult,
    SdmSubscription,
    SubscriptionDataSets,
    AcknowledgeInfo,
    ModificationNotification,
);

query_params! {
    /// For which network access and mobility data are read (TS 29.503, 6.1.3).
    pub struct AmDataQuery {
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
        /** Serving network. */
        pub plmn_id: Json<PlmnIdNid> = "plmn-id",
    }
}

query_params! {
    /// For which network data are read (TS 29.503, 6.1.3).
    pub struct PlmnQuery {
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
        /** Serving network. */
        pub plmn_id: Json<PlmnId> = "plmn-id",
    }
}

query_params! {
    /// The query for session management data (TS 29.503, 6.1.3).
    pub struct SmDataQuery {
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
        /** Only this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only this data network. */
        pub dnn: Dnn = "dnn",
        /** Serving network. */
        pub plmn_id: Json<PlmnId> = "plmn-id",
    }
}

query_params! {
    /// Which data sets are read (TS 29.503, 6.1.3).
    pub struct DataSetsQuery {
        /** Their names; mandatory, two at least. */
        pub dataset_names: TextList<DataSetName> = "dataset-names",
        /** Serving network. */
        pub plmn_id: Json<PlmnIdNid> = "plmn-id",
        /** Only this slice. */
        pub single_nssai: Json<Snssai> = "single-nssai",
        /** Only this data network. */
        pub dnn: Dnn = "dnn",
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

query_params! {
    /// Which identity is sought (TS 29.503, 6.1.3).
    pub struct IdTranslationQuery {
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
        /** Application function that asks. */
        pub af_id: String = "af-id",
        /** `MSISDN`, `EXT_ID` or `EXT_GROUP_ID`. */
        pub requested_gpsi_type: String = "requested-gpsi-type",
    }
}

service! {
    /// Subscription data (TS 29.503, 6.1.3).
    pub UdmSubscriberDataManagement / UdmSubscriberDataManagementClient / NUDM_SDM
        = "nudm-sdm" / "v2" {
        /// Reads data of several kinds at once.
        op get_data_sets "GetDataSets": GET "/{supi}",
            path(supi), query(DataSetsQuery), returns(SubscriptionDataSets),
            errors[404 "USER_NOT_FOUND"];
        /// Reads the subscribed slices.
        op get_nssai "GetNSSAI": GET "/{supi}/nssai",
            path(supi), query(PlmnQuery), returns(Nssai),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads which AMFs serve the UE.
        op get_ue_ctx_in_amf_data "GetUeCtxInAmfData": GET "/{supi}/ue-context-in-amf-data",
            path(supi), query(FeaturesQuery), returns(UeContextInAmfData),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads access and mobility data.
        op get_am_data "GetAmData": GET "/{supi}/am-data",
            path(supi), query(AmDataQuery), returns(AccessAndMobilitySubscriptionData),
            errors[403 "ROAMING_NOT_ALLOWED", 404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads the data for the selection of an SMF.
        op get_smf_sel_data "GetSmfSelData": GET "/{supi}/smf-select-data",
            path(supi), query(PlmnQuery), returns(SmfSelectionSubscriptionData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Reads which SMFs serve the UE.
        op get_ue_ctx_in_smf_data "GetUeCtxInSmfData": GET "/{supi}/ue-context-in-smf-data",
            path(supi), query(FeaturesQuery), returns(UeContextInSmfData),
            errors[404 "USER_NOT_FOUND", 404 "CONTEXT_NOT_FOUND"];
        /// Reads session management data.
        op get_sm_data "GetSmData": GET "/{supi}/sm-data",
            path(supi), query(SmDataQuery), returns(SmSubsData),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
        /// Subscribes to changes of a subscriber's data.
        op subscribe "Subscribe": POST "/{ueId}/sdm-subscriptions",
            path(ue_id), body(SdmSubscription), returns(Created<SdmSubscription>),
            errors[404 "USER_NOT_FOUND", 501 "UNSUPPORTED_RESOURCE_URI"];
        /// Ends such a subscription.
        op unsubscribe "Unsubscribe": DELETE "/{ueId}/sdm-subscriptions/{subscriptionId}",
            path(ue_id, subscription_id), returns(()),
            errors[404 "USER_NOT_FOUND", 404 "SUBSCRIPTION_NOT_FOUND"];
        /// Reads the SUPI of a GPSI, or the GPSI of a SUPI.
        op get_supi_or_gpsi "GetSupiOrGpsi": GET "/{ueId}/id-translation-result",
            path(ue_id), query(IdTranslationQuery), returns(IdTranslationResult),
            errors[404 "USER_NOT_FOUND"];
        /// Accepts the UE's acknowledgement of steering of roaming.
        op sor_ack_info "SorAckInfo": PUT "/{supi}/am-data/sor-ack",
            path(supi), body(AcknowledgeInfo), returns(()), errors[404 "USER_NOT_FOUND"];
        /// Accepts the UE's acknowledgement of a parameters update.
        op upu_ack "UpuAck": PUT "/{supi}/am-data/upu-ack",
            path(supi), body(AcknowledgeInfo), returns(()), errors[404 "USER_NOT_FOUND"];
        /// Accepts the UE's acknowledgement of changed slices.
        op snssais_ack "SNSSAIsAck": PUT "/{supi}/am-data/subscribed-snssais-ack",
            path(supi), body(AcknowledgeInfo), returns(()), errors[404 "USER_NOT_FOUND"];
    }
}
