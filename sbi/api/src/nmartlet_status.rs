//! The readiness of a function, and the nodes that are connected to it. 3GPP has no such service:
//! each function of Martlet offers it to the others, for `martlet status --network`. It names no
//! subscriber.
use martlet_sbi::{Compact, json_payload, service};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

json_payload!(FunctionStatus);

/// Maximum number of UPFs or gNBs in a status.
pub const MAX_NODES: usize = 1024;
/// Maximum number of tracking areas of a gNB in a status.
pub const MAX_TRACKING_AREAS: usize = 16;

/// The status of a function.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct FunctionStatus {
    /// What the function lacks; empty if it is ready.
    pub missing: Vec<String>,
    /// Version of the program
    pub version: String,
    /// UPFs of an SMF, at most [`MAX_NODES`]
    pub upfs: Option<Vec<UpfStatus>>,
    /// gNBs of an AMF, at most [`MAX_NODES`]
    pub gnbs: Option<Vec<GnbStatus>>,
    /// Registered UEs of an AMF (RM-REGISTERED), in CM-CONNECTED and CM-IDLE
    pub registered_ues: Option<u64>,
}

/// A UPF, as its SMF knows it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UpfStatus {
    /// Address and port of N4
    pub n4: String,
    /// Node ID of its last association (TS 29.244, 8.2.38)
    pub node_id: Option<String>,
    /// Whether it is associated
    pub associated: bool,
    /// Sessions of this SMF there
    pub sessions: u64,
}

/// A gNB, as its AMF knows it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GnbStatus {
    /// Global gNB ID: PLMN and identity
    pub id: String,
    /// RAN Node Name
    pub name: Option<String>,
    /// Address and port of its association
    pub address: String,
    /// PLMN and decimal TAC of its tracking areas, such as `00101-1`, at most
    /// [`MAX_TRACKING_AREAS`]
    pub tracking_areas: Vec<String>,
    /// UEs in CM-CONNECTED
    pub connected_ues: u64,
}

service! {
    /// The status of a function.
    pub NfStatusService / NfStatusServiceClient / NMARTLET_STATUS = "nmartlet-status" / "v1" {
        /// Its readiness and the nodes that are connected to it.
        op get_status "GetStatus": GET "/status", path(), returns(FunctionStatus), errors[];
    }
}
