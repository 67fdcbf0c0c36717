//! Nnssf_NSSelection: the slices that a UE may use, and the AMFs that serve them (TS 29.531, 5.2
//! and 6.1).
mod models;

pub use models::*;

use crate::common::{NfInstanceId, PlmnId, Tai};
use crate::nnrf_nfmanagement::NfType;
use crate::query::Json;
use martlet_sbi::{json_payload, query_params, service};

json_payload!(AuthorizedNetworkSliceInfo);

query_params! {
    /// The query for slices (TS 29.531, 6.1.3). Exactly one of the `slice_info_request_for_…` is
    /// set.
    pub struct NsSelectionQuery {
        /** Kind of NF that asks; mandatory. */
        pub nf_type: NfType = "nf-type",
        /** The NF that asks; mandatory. */
        pub nf_id: NfInstanceId = "nf-id",
        /** For a registration. */
        pub slice_info_request_for_registration: Json<SliceInfoForRegistration>
            = "slice-info-request-for-registration",
        /** For a PDU session. */
        pub slice_info_request_for_pdu_session: Json<SliceInfoForPduSession>
            = "slice-info-request-for-pdu-session",
        /** For a configuration update. */
        pub slice_info_request_for_ue_cu: Json<SliceInfoForUeConfigurationUpdate>
            = "slice-info-request-for-ue-cu",
        /** Home network, where the UE roams. */
        pub home_plmn_id: Json<PlmnId> = "home-plmn-id",
        /** Tracking area of the UE. */
        pub tai: Json<Tai> = "tai",
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

service! {
    /// The choice of slices (TS 29.531, 6.1.3).
    pub NssfNsSelection / NssfNsSelectionClient / NNSSF_NSSELECTION = "nnssf-nsselection" / "v2" {
        /// Chooses slices for a registration or a session.
        op ns_selection_get "NSSelectionGet": GET "/network-slice-information",
            path(), query(NsSelectionQuery), returns(AuthorizedNetworkSliceInfo),
            errors[400 "MANDATORY_QUERY_PARAM_MISSING", 403 "SNSSAI_NOT_SUPPORTED",
                403 "NOT_AUTHORIZED"];
    }
}
