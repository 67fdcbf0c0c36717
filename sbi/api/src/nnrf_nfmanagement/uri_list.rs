//! The list of NF instances' URIs (TS 29.510, 6.1.6.2.25).
use crate::common::Link;
use martlet_sbi::{Encoded, Payload, Problem, decode_json, encode_json};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// URIs of NF instances, in the format of HAL (TS 29.510, 6.1.6.2.25).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UriList {
    /// `self` with this list's own URI, `items` with those of the instances.
    #[serde(rename = "_links")]
    pub links: Option<BTreeMap<String, Links>>,
    /// Number of instances, where not all are here.
    pub total_item_count: Option<u32>,
}

/// One link or several (TS 29.571, 5.2.4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Links {
    /// Several.
    Many(Vec<Link>),
    /// One.
    One(Link),
}

impl Payload for UriList {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        encode_json(self, "application/3gppHal+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        decode_json(encoded)
    }
}
