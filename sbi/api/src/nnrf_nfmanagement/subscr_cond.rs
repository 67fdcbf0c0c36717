//! The condition of a subscription (TS 29.510, 6.1.6).
use super::{NfType, ServiceName};
use crate::common::{Guami, NfInstanceId, Snssai};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Which NF instances a subscription is about (TS 29.510, 6.1.6).
///
/// 3GPP has one type for each condition, distinguished by their members. Here all members are in
/// one type: those of one condition are set, the others absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscrCond {
    /// One instance.
    pub nf_instance_id: Option<NfInstanceId>,
    /// Several instances.
    pub nf_instance_id_list: Option<Vec<NfInstanceId>>,
    /// All instances of a kind; with `nf_group_id`, those of the group.
    pub nf_type: Option<NfType>,
    /// Instances of a group.
    pub nf_group_id: Option<String>,
    /// Instances with a service.
    pub service_name: Option<ServiceName>,
    /// AMFs of a set.
    pub amf_set_id: Option<String>,
    /// AMFs of a region.
    pub amf_region_id: Option<String>,
    /// AMFs that serve these GUAMIs.
    pub guami_list: Option<Vec<Guami>>,
    /// Instances that serve these slices.
    pub snssai_list: Option<Vec<Snssai>>,
    /// Instances of a set.
    pub nf_set_id: Option<String>,
}

impl SubscrCond {
    /// All instances of a kind.
    pub fn nf_type(nf_type: NfType) -> Self {
        SubscrCond { nf_type: Some(nf_type), ..Default::default() }
    }
    /// One instance.
    pub fn nf_instance(nf_instance_id: NfInstanceId) -> Self {
        SubscrCond { nf_instance_id: Some(nf_instance_id), ..Default::default() }
    }
    /// All instances with a service.
    pub fn service(service_name: ServiceName) -> Self {
        SubscrCond { service_name: Some(service_name), ..Default::default() }
    }
}
