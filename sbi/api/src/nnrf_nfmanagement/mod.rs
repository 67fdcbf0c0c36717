//! Nnrf_NFManagement: NF instances register, and subscribers are notified of changes (TS 29.510,
//! 5.2 and 6.1).
mod info;
mod kinds;
mod profile;
mod subscr_cond;
mod subscription;
mod uri_list;

pub use info::*;
pub use kinds::*;
pub use profile::*;
pub use subscr_cond::SubscrCond;
pub use subscription::*;
pub use uri_list::UriList;

use martlet_sbi::{Created, JsonPatch, StatusReply, json_payload, query_params, service};

json_payload!(NfProfile, SubscriptionData, NotificationData);

/// Feature 1 of Nnrf_NFManagement, "Service-Map", as a bit map (TS 29.510, 6.1.9): an end reads the
/// services of a profile as a map. Feature 6 of Nnrf_NFDiscovery has the same name (6.2.9).
pub const SERVICE_MAP: &str = "1";

query_params! {
    /// Which NF instances are listed (TS 29.510, 6.1.3).
    pub struct NfInstancesQuery {
        /** Only this kind. */
        pub nf_type: NfType = "nf-type",
        /** At most so many. */
        pub limit: u32 = "limit",
        /** Which page, from 1. */
        pub page_number: u32 = "page-number",
        /** So many on a page. */
        pub page_size: u32 = "page-size",
    }
}

query_params! {
    /// Features that the consumer of a profile supports (TS 29.510, 6.1.3).
    pub struct NfInstanceQuery {
        /** Features of the consumer. */
        pub requester_features: String = "requester-features",
    }
}

service! {
    /// The management of NF instances (TS 29.510, 6.1.3).
    pub NfManagement / NfManagementClient / NNRF_NFM = "nnrf-nfm" / "v1" {
        /// Lists the URIs of NF instances.
        op get_nf_instances "GetNFInstances": GET "/nf-instances",
            path(), query(NfInstancesQuery), returns(UriList), errors[400 "INVALID_QUERY_PARAM"];
        /// Reads the profile of an NF instance.
        op get_nf_instance "GetNFInstance": GET "/nf-instances/{nfInstanceID}",
            path(nf_instance_id), query(NfInstanceQuery), returns(NfProfile),
            errors[404 "RESOURCE_NOT_FOUND"];
        /// Registers an NF instance (201) or replaces its profile (200).
        op register_nf_instance "RegisterNFInstance": PUT "/nf-instances/{nfInstanceID}",
            path(nf_instance_id), body(NfProfile), returns(StatusReply<NfProfile>),
            errors[400 "MANDATORY_IE_INCORRECT", 403 "MODIFICATION_NOT_ALLOWED",
                500 "INSUFFICIENT_RESOURCES"];
        /// Changes a profile (200), or reports heartbeat and load of the instance (204).
        op update_nf_instance "UpdateNFInstance": PATCH "/nf-instances/{nfInstanceID}",
            path(nf_instance_id), body(JsonPatch), returns(StatusReply<NfProfile>),
            errors[400 "INVALID_MSG_FORMAT", 403 "MODIFICATION_NOT_ALLOWED",
                404 "RESOURCE_NOT_FOUND"];
        /// Removes an NF instance.
        op deregister_nf_instance "DeregisterNFInstance": DELETE "/nf-instances/{nfInstanceID}",
            path(nf_instance_id), returns(()), errors[404 "RESOURCE_NOT_FOUND"];
        /// Subscribes to changes of NF instances.
        op create_subscription "CreateSubscription": POST "/subscriptions",
            path(), body(SubscriptionData), returns(Created<SubscriptionData>),
            errors[400 "MANDATORY_IE_INCORRECT", 403 "MODIFICATION_NOT_ALLOWED",
                500 "INSUFFICIENT_RESOURCES"];
        /// Changes a subscription, such as its validity time (200 with the differences, or 204).
        op update_subscription "UpdateSubscription": PATCH "/subscriptions/{subscriptionID}",
            path(subscription_id), body(JsonPatch), returns(StatusReply<SubscriptionData>),
            errors[400 "INVALID_MSG_FORMAT", 404 "SUBSCRIPTION_NOT_FOUND"];
        /// Ends a subscription.
        op remove_subscription "RemoveSubscription": DELETE "/subscriptions/{subscriptionID}",
            path(subscription_id), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}
