//! The list of NF instances' URIs (TS 29.510, 6.1.6).
use crate::common::Links;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// URIs of NF instances, in the format of HAL (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UriList {
    /// `self` with this list's own URI, `items` with those of the instances. free5GC's NRF writes
    /// `_link` and `item`.
    #[serde(
        rename = "_links",
        alias = "_link",
        default,
        deserialize_with = "martlet_sbi::tolerant::without_empty_members"
    )]
    pub links: Option<BTreeMap<String, Links>>,
    /// Number of instances, where not all are here.
    pub total_item_count: Option<u32>,
}

crate::macros::hal_payload!(UriList);
