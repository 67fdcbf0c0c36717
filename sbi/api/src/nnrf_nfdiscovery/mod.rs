//! Nnrf_NFDiscovery: finds NF instances that match a query (TS 29.510, 5.3 and 6.2).
mod result;

pub use result::*;

use crate::common::{
    AccessType, Dnn, ExtSnssai, Gpsi, GroupId, Guami, NfInstanceId, PlmnId, Snssai, Supi, Tai,
};
use crate::nnrf_nfmanagement::{DataSetId, NfType, ServiceName};
use crate::query::{Json, TextList};
use martlet_sbi::{json_payload, query_params, service};

json_payload!(SearchResult);

query_params! {
    /// The query for NF instances (TS 29.510, 6.2.3).
    pub struct SearchQuery {
        /** Kind of NF that is sought; mandatory. */
        pub target_nf_type: NfType = "target-nf-type",
        /** Kind of NF that seeks; mandatory. */
        pub requester_nf_type: NfType = "requester-nf-type",
        /** The NF that seeks. */
        pub requester_nf_instance_id: NfInstanceId = "requester-nf-instance-id",
        /** Host name of the NF that seeks. */
        pub requester_nf_instance_fqdn: String = "requester-nf-instance-fqdn",
        /** Services of which one at least is offered. */
        pub service_names: TextList<ServiceName> = "service-names",
        /** Networks of which one is served. */
        pub target_plmn_list: Json<Vec<PlmnId>> = "target-plmn-list",
        /** Networks of the NF that seeks. */
        pub requester_plmn_list: Json<Vec<PlmnId>> = "requester-plmn-list",
        /** One instance. */
        pub target_nf_instance_id: NfInstanceId = "target-nf-instance-id",
        /** Host name of an instance. */
        pub target_nf_fqdn: String = "target-nf-fqdn",
        /** Slices of which one is served. */
        pub snssais: Json<Vec<Snssai>> = "snssais",
        /** Slices of the NF that seeks. */
        pub requester_snssais: Json<Vec<ExtSnssai>> = "requester-snssais",
        /** Slice instances of which one is served. */
        pub nsi_list: TextList<String> = "nsi-list",
        /** Data network that is served. */
        pub dnn: Dnn = "dnn",
        /** SMF service area of a UPF. */
        pub smf_serving_area: String = "smf-serving-area",
        /** Tracking area that is served. */
        pub tai: Json<Tai> = "tai",
        /** Region of an AMF. */
        pub amf_region_id: String = "amf-region-id",
        /** Set of an AMF. */
        pub amf_set_id: String = "amf-set-id",
        /** GUAMI of an AMF. */
        pub guami: Json<Guami> = "guami",
        /** Subscriber that is served. */
        pub supi: Supi = "supi",
        /** Subscriber that is served. */
        pub gpsi: Gpsi = "gpsi",
        /** Group of subscribers that is served. */
        pub internal_group_identity: GroupId = "internal-group-identity",
        /** Data that a UDR holds. */
        pub data_set: DataSetId = "data-set",
        /** Routing indicator of a SUCI. */
        pub routing_indicator: String = "routing-indicator",
        /** NF groups of which it is in one. */
        pub group_id_list: TextList<String> = "group-id-list",
        /** NF set of which it is. */
        pub target_nf_set_id: String = "target-nf-set-id",
        /** Features that are supported. */
        pub supported_features: String = "supported-features",
        /** Features of the NF that seeks. */
        pub requester_features: String = "requester-features",
        /** Where it is, by preference. */
        pub preferred_locality: String = "preferred-locality",
        /** Tracking area that is served, by preference. */
        pub preferred_tai: Json<Tai> = "preferred-tai",
        /** Access that is supported. */
        pub access_type: AccessType = "access-type",
        /** Areas that are served, in an operator's terms. */
        pub serving_scope: TextList<String> = "serving-scope",
        /** Identity of an LMF. */
        pub lmf_id: Json<String> = "lmf-id",
        /** At most so many instances. */
        pub limit: u32 = "limit",
        /** At most so many thousand octets. */
        pub max_payload_size: u32 = "max-payload-size",
    }
}

service! {
    /// The discovery of NF instances (TS 29.510, 6.2.3).
    pub NfDiscovery / NfDiscoveryClient / NNRF_DISC = "nnrf-disc" / "v1" {
        /// Finds NF instances.
        op search_nf_instances "SearchNFInstances": GET "/nf-instances",
            path(), query(SearchQuery), returns(SearchResult),
            errors[400 "MANDATORY_QUERY_PARAM_MISSING", 400 "INVALID_QUERY_PARAM",
                403 "REQUEST_NOT_ALLOWED"];
    }
}
