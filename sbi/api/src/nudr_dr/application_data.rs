//! Application data in the UDR: influence of application functions on the routes of traffic (TS
//! 29.519, 6.4.2).
use crate::common::{DateTime, Dnn, Snssai, Supi};
use crate::npcf_sm_policy_control::EthFlowDescription;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// The group of data that apply to each UE.
pub const ANY_UE: &str = "AnyUE";

/// The traffic of an application, and where it is to be routed (TS 29.519, 6.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TrafficInfluData {
    /// Correlation identifier of notifications of the user plane path
    pub up_path_chg_notif_corre_id: Option<String>,
    /// The application can be relocated
    pub app_relo_ind: Option<bool>,
    /// The application; else its traffic is described
    pub af_app_id: Option<String>,
    /// The data network; all if absent
    pub dnn: Option<Dnn>,
    /// Frames of the application
    pub eth_traffic_filters: Option<Vec<EthFlowDescription>>,
    /// The slice; all if absent
    pub snssai: Option<Snssai>,
    /// The group of UEs, or [`ANY_UE`]
    pub inter_group_id: Option<String>,
    /// Groups of UEs, at least two
    pub inter_group_id_list: Option<Vec<String>>,
    /// Categories of subscribers
    pub subscriber_cat_list: Option<Vec<String>>,
    /// The UE
    pub supi: Option<Supi>,
    /// Packets of the application
    pub traffic_filters: Option<Vec<FlowInfo>>,
    /// Where the traffic is routed on N6 (TS 29.571, 5.4.4)
    pub traffic_routes: Option<Vec<Value>>,
    /// Configured chain of service functions downlink
    pub sfc_id_dl: Option<String>,
    /// Configured chain of service functions uplink
    pub sfc_id_ul: Option<String>,
    /// Information for service functions
    pub metadata: Option<String>,
    /// The UEs of the group use one route
    pub traff_corre_ind: Option<bool>,
    /// Correlation of the traffic of several UEs
    pub tfc_corre_info: Option<Value>,
    /// Start
    pub valid_start_time: Option<DateTime>,
    /// Expiry
    pub valid_end_time: Option<DateTime>,
    /// Recurring times
    pub temp_validities: Option<Vec<Value>>,
    /// Area of the UEs
    pub nw_area_info: Option<Value>,
    /// URI for notifications of the user plane path
    pub up_path_chg_notif_uri: Option<String>,
    /// Headers of the notifications
    pub headers: Option<Vec<String>>,
    /// Events that are notified
    pub subscribed_events: Option<Vec<String>>,
    /// Early or late notification of a change of the route
    pub dnai_chg_type: Option<String>,
    /// The application function confirms
    pub af_ack_ind: Option<bool>,
    /// The UE keeps its address
    pub addr_preser_ind: Option<bool>,
    /// Maximum latency in milliseconds
    pub max_allowed_up_lat: Option<u32>,
    /// The former route stays for a while
    pub sim_conn_ind: Option<bool>,
    /// For how many seconds
    pub sim_conn_term: Option<u32>,
    /// Features
    pub supported_features: Option<String>,
    /// The resource of the data
    pub res_uri: Option<String>,
    /// Identities for a reset
    pub reset_ids: Option<Vec<String>>,
    /// Features of the consumer by service
    pub nsc_supp_feats: Option<BTreeMap<String, String>>,
}

/// Packets (TS 29.122, 5.2.1).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct FlowInfo {
    /// Identity
    pub flow_id: u32,
    /// Content, as IPFilterRule, one for each direction
    pub flow_descriptions: Option<Vec<String>>,
    /// Type of service or traffic class with its mask, in hexadecimal digits
    #[serde(rename = "tosTC")]
    pub tos_tc: Option<String>,
}

/// A subscription to changes of influence data (TS 29.519, 6.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TrafficInfluSub {
    /// Data networks
    pub dnns: Option<Vec<Dnn>>,
    /// Slices
    pub snssais: Option<Vec<Snssai>>,
    /// Groups of UEs
    pub internal_group_ids: Option<Vec<String>>,
    /// Further groups of UEs
    pub internal_group_ids_add: Option<Vec<String>>,
    /// Categories of subscribers
    pub subscriber_cat_list: Option<Vec<String>>,
    /// UEs
    pub supis: Option<Vec<Supi>>,
    /// Notification URI
    pub notification_uri: String,
    /// When the subscription ends
    pub expiry: Option<DateTime>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
    /// Identities for a reset
    pub reset_ids: Option<Vec<String>>,
    /// The response is to contain the data
    pub imm_rep: Option<bool>,
    /// The data
    pub imm_reports: Option<Vec<TrafficInfluDataNotif>>,
}

/// Influence data have changed (TS 29.519, 6.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TrafficInfluDataNotif {
    /// The resource of the data
    pub res_uri: String,
    /// The data; removed if absent
    pub traffic_influ_data: Option<TrafficInfluData>,
}
