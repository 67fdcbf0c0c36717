//! Access and mobility policy associations (TS 29.507, 5.6.2).
use crate::common::{
    AccessType, Ambr, Dnn, Gpsi, GroupId, Guami, Pei, PlmnIdNid, PresenceInfo, RatType,
    ServiceAreaRestriction, Snssai, Supi, TraceData, UserLocation,
};
use crate::macros::open_enum;
use crate::nnrf_nfmanagement::ServiceName;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

open_enum! {
    /// Request triggers (TS 29.507, 5.6).
    pub enum RequestTrigger {
        LocCh = "LOC_CH",
        PraCh = "PRA_CH",
        ServAreaCh = "SERV_AREA_CH",
        RfspCh = "RFSP_CH",
        AllowedNssaiCh = "ALLOWED_NSSAI_CH",
        UeAmbrCh = "UE_AMBR_CH",
        UeSliceMbrCh = "UE_SLICE_MBR_CH",
        SmfSelectCh = "SMF_SELECT_CH",
        AccessTypeCh = "ACCESS_TYPE_CH",
        NwdafDataCh = "NWDAF_DATA_CH",
        TargetNssai = "TARGET_NSSAI",
        SliceReplaceMgmt = "SLICE_REPLACE_MGMT",
        FeatReneg = "FEAT_RENEG",
        PartiallyAllowedNssaiCh = "PARTIALLY_ALLOWED_NSSAI_CH",
        SnssaisPartiallyRejectedCh = "SNSSAIS_PARTIALLY_REJECTED_CH",
        RejectedSnssaisCh = "REJECTED_SNSSAIS_CH",
        PendingNssaiCh = "PENDING_NSSAI_CH",
    }
}

open_enum! {
    /// Why a PCF ends an association (TS 29.507, 5.6).
    pub enum PolicyAssociationReleaseCause {
        Unspecified = "UNSPECIFIED",
        UeSubscription = "UE_SUBSCRIPTION",
        InsufficientRes = "INSUFFICIENT_RES",
    }
}

/// A policy request of an AMF (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAssociationRequest {
    /// Notification URI of the consumer; the PCF appends `/update` or `/terminate`
    pub notification_uri: String,
    /// Other IPv4 addresses for the same
    pub alt_notif_ipv4_addrs: Option<Vec<Ipv4Addr>>,
    /// Other host names for the same
    pub alt_notif_fqdns: Option<Vec<String>>,
    /// The subscriber
    pub supi: Supi,
    /// Its public identity
    pub gpsi: Option<Gpsi>,
    /// Access
    pub access_type: Option<AccessType>,
    /// Accesses
    pub access_types: Option<Vec<AccessType>>,
    /// Equipment
    pub pei: Option<Pei>,
    /// Location of the UE
    pub user_loc: Option<UserLocation>,
    /// Time zone of the UE
    pub time_zone: Option<String>,
    /// Serving network
    pub serving_plmn: Option<PlmnIdNid>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Radio technologies
    pub rat_types: Option<Vec<RatType>>,
    /// Groups
    pub group_ids: Option<Vec<GroupId>>,
    /// Service area restriction as subscribed
    pub serv_area_res: Option<ServiceAreaRestriction>,
    /// RFSP index as subscribed
    pub rfsp: Option<u16>,
    /// UE-AMBR as subscribed
    pub ue_ambr: Option<Ambr>,
    /// Slices allowed in 3GPP access
    pub allowed_snssais: Option<Vec<Snssai>>,
    /// Target slices
    pub target_snssais: Option<Vec<Snssai>>,
    /// Slices allowed in non-3GPP access
    pub n3g_allowed_snssais: Option<Vec<Snssai>>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
    /// Service of the AMF (3GPP spells the member `serviveName`)
    #[serde(rename = "serviveName")]
    pub service_name: Option<ServiceName>,
    /// Trace data
    pub trace_req: Option<TraceData>,
    /// Features of the AMF
    pub supp_feat: String,
}

impl PolicyAssociationRequest {
    /// A value with the mandatory members only.
    pub fn new(notification_uri: String, supi: Supi, supp_feat: String) -> Self {
        PolicyAssociationRequest {
            notification_uri,
            supi,
            supp_feat,
            alt_notif_ipv4_addrs: None,
            alt_notif_fqdns: None,
            gpsi: None,
            access_type: None,
            access_types: None,
            pei: None,
            user_loc: None,
            time_zone: None,
            serving_plmn: None,
            rat_type: None,
            rat_types: None,
            group_ids: None,
            serv_area_res: None,
            rfsp: None,
            ue_ambr: None,
            allowed_snssais: None,
            target_snssais: None,
            n3g_allowed_snssais: None,
            guami: None,
            service_name: None,
            trace_req: None,
        }
    }
}

/// An access and mobility policy association (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAssociation {
    /// The AMF's request
    pub request: Option<PolicyAssociationRequest>,
    /// Request triggers
    pub triggers: Option<Vec<RequestTrigger>>,
    /// Service area restriction
    pub serv_area_res: Option<ServiceAreaRestriction>,
    /// RFSP index
    pub rfsp: Option<u16>,
    /// Seconds for which the RFSP index holds
    pub rfsp_val_time: Option<u32>,
    /// RFSP index of the target
    pub target_rfsp: Option<u16>,
    /// When to request the selection of an SMF
    pub smf_sel_info: Option<SmfSelectionData>,
    /// UE-AMBR
    pub ue_ambr: Option<Ambr>,
    /// Presence reporting areas by their identity
    pub pras: Option<BTreeMap<String, PresenceInfo>>,
    /// Features of both
    pub supp_feat: String,
}

/// An update request of an AMF when a trigger is met (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAssociationUpdateRequest {
    /// New URI for changes
    pub notification_uri: Option<String>,
    /// Triggers that are met
    pub triggers: Option<Vec<RequestTrigger>>,
    /// Service area restriction as subscribed
    pub serv_area_res: Option<ServiceAreaRestriction>,
    /// RFSP index as subscribed
    pub rfsp: Option<u16>,
    /// Slices that the UE requested
    pub smf_sel_info: Option<SmfSelectionData>,
    /// UE-AMBR as subscribed
    pub ue_ambr: Option<Ambr>,
    /// Presence by area
    pub pra_statuses: Option<BTreeMap<String, PresenceInfo>>,
    /// Location of the UE
    pub user_loc: Option<UserLocation>,
    /// Slices allowed in 3GPP access
    pub allowed_snssais: Option<Vec<Snssai>>,
    /// Target slices
    pub target_snssais: Option<Vec<Snssai>>,
    /// Accesses
    pub access_types: Option<Vec<AccessType>>,
    /// Radio technologies
    pub rat_types: Option<Vec<RatType>>,
    /// Slices allowed in non-3GPP access
    pub n3g_allowed_snssais: Option<Vec<Snssai>>,
    /// Trace data
    pub trace_req: Option<TraceData>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
    /// Features of the AMF
    pub supp_feat: Option<String>,
}

/// Changes of an association (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyUpdate {
    /// The association
    pub resource_uri: String,
    /// Request triggers
    pub triggers: Option<Vec<RequestTrigger>>,
    /// Service area restriction
    pub serv_area_res: Option<ServiceAreaRestriction>,
    /// RFSP index
    pub rfsp: Option<u16>,
    /// Seconds for which the RFSP index holds
    pub rfsp_val_time: Option<u32>,
    /// RFSP index of the target
    pub target_rfsp: Option<u16>,
    /// When to request the selection of an SMF
    pub smf_sel_info: Option<SmfSelectionData>,
    /// UE-AMBR
    pub ue_ambr: Option<Ambr>,
    /// Presence reporting areas by their identity
    pub pras: Option<BTreeMap<String, Option<PresenceInfo>>>,
    /// Features of both
    pub supp_feat: Option<String>,
}

/// The PCF requests the termination of an association (TS 29.507, 5.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TerminationNotification {
    /// The association
    pub resource_uri: String,
    /// Cause
    pub cause: PolicyAssociationReleaseCause,
}

/// When the PCF takes part in the selection of an SMF (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmfSelectionData {
    /// For data networks that the network does not have
    pub unsupp_dnn: Option<bool>,
    /// For these slices and data networks, by slice
    pub candidates: Option<BTreeMap<String, Option<CandidateForReplacement>>>,
    /// Slice that the UE requested
    pub snssai: Option<Snssai>,
    /// Slice of the home network
    pub mapping_snssai: Option<Snssai>,
    /// Data network
    pub dnn: Option<Dnn>,
}

/// Data networks of a slice that may be replaced (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct CandidateForReplacement {
    /// The slice
    pub snssai: Snssai,
    /// The data networks
    pub dnns: Option<Vec<Dnn>>,
}

impl CandidateForReplacement {
    /// A value with the mandatory members only.
    pub fn new(snssai: Snssai) -> Self {
        CandidateForReplacement { snssai, dnns: None }
    }
}

/// Values that the PCF requested (TS 29.507, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmRequestedValueRep {
    /// Location of the UE
    pub user_loc: Option<UserLocation>,
    /// Presence by area
    pub pra_statuses: Option<BTreeMap<String, PresenceInfo>>,
    /// Accesses
    pub access_types: Option<Vec<AccessType>>,
    /// Radio technologies
    pub rat_types: Option<Vec<RatType>>,
    /// Slices allowed in 3GPP access
    pub allowed_snssais: Option<Vec<Snssai>>,
}
