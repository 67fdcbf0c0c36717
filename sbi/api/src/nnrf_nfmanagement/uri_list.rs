//! The list of NF instances' URIs (TS 29.510, 6.1.6).
use crate::common::Links;
use martlet_sbi::{Compact, tolerant};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// URIs of NF instances, in the format of HAL (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UriList {
    /// `self` with this list's own URI, `item` with those of the instances. free5GC's NRF writes
    /// `_link`.
    #[serde(rename = "_links", alias = "_link", default, deserialize_with = "links")]
    pub links: Option<BTreeMap<String, Links>>,
    /// Number of instances, where not all are here.
    pub total_item_count: Option<u32>,
}

crate::macros::hal_payload!(UriList);

/// Decodes the links, without members that are none: Open5GS's NRF writes the number of instances
/// among them.
fn links<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, Links>>, D::Error> {
    let members: Option<BTreeMap<String, serde_json::Value>> =
        tolerant::without_empty_members(from)?;
    let Some(members) = members else { return Ok(None) };
    let mut links = BTreeMap::new();
    for (name, value) in members {
        let link: Option<Links> = tolerant::member(value, "_links").map_err(D::Error::custom)?;
        links.extend(link.map(|link| (name, link)));
    }
    Ok(Some(links))
}
