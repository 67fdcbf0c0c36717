//! Policies of the PCF.
use super::{Change, ChangeQuery, ChangeReport, ChangeResponses, IfMatch, Section, Subject};
use super::{edit, tagged, typed};
use crate::api::configuration::read;
use crate::core_access::{Configuration, ConfigurationEdit};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// A QoS flow of sessions besides the default one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSetting {
    /// Its name.
    #[schema(example = "voice")]
    name: String,
    /// Data network of the sessions with this flow. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    dnn: String,
    /// Subscribers whose sessions have this flow. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    supis: Vec<String>,
    /// 5QI.
    #[schema(minimum = 1, example = 1)]
    five_qi: u8,
    /// ARP priority level. 0: that of the session.
    #[serde(default)]
    #[schema(maximum = 15)]
    arp: u8,
    /// Traffic: IP filter rules of the downlink, or Ethernet frames.
    #[schema(example = json!(["permit out 17 from 10.0.0.0/8 5060 to assigned"]))]
    filters: Vec<String>,
    /// Precedence of the rule; the lowest is evaluated first.
    #[serde(default)]
    #[schema(maximum = 254)]
    precedence: u8,
    /// Rating group. Absent: that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rating_group: Option<u32>,
    /// Guaranteed bit rate uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "1 Mbps")]
    guaranteed_uplink: Option<String>,
    /// Guaranteed bit rate downlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guaranteed_downlink: Option<String>,
    /// Maximum bit rate uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maximum_uplink: Option<String>,
    /// Maximum bit rate downlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maximum_downlink: Option<String>,
}

/// Limits of what UEs request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UeRequestSetting {
    /// Permitted 5QIs. Empty: none.
    five_qis: Vec<u8>,
    /// Maximum number of flows per session.
    max_flows: u8,
    /// Maximum guaranteed bit rate of one flow. Absent: no GBR flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guaranteed: Option<String>,
}

/// The policies of the PCF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Policies {
    /// Maximum number of UE policy associations.
    max_am_policies: u64,
    /// Maximum number of session policy associations.
    max_sm_policies: u64,
    /// RFSP index of UEs. Absent: as subscribed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 256)]
    default_rfsp: Option<u16>,
    /// 5QI of a session's default flow.
    #[schema(minimum = 1, example = 9)]
    default_5qi: u8,
    /// ARP priority level.
    #[schema(minimum = 1, maximum = 15, example = 8)]
    default_arp: u8,
    /// Session AMBR.
    #[schema(example = "1 Gbps")]
    default_ambr: String,
    /// QoS flows of sessions besides the default one.
    flows: Vec<FlowSetting>,
    /// Limits of what UEs request.
    ue_requests: UeRequestSetting,
}

impl Section for Policies {
    const SUBJECT: Subject =
        Subject { what: "policies.change", target: "pcf", names: &[("pcf.", "")] };

    fn edits(&self, before: &Configuration) -> Result<Vec<ConfigurationEdit>, Failure> {
        let present: Policies = typed(&before.values["pcf"])?;
        Ok(changed(&json!(present), &json!(self)))
    }
}

/// Show policies
///
/// Of the PCF: defaults, QoS flows, and limits of what UEs request.
#[utoipa::path(
    get, path = "/policies", tag = "network",
    responses(
        (status = 200, body = Policies, description = "the policies",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let policies: Policies = typed(&configuration.values["pcf"])?;
    Ok(tagged(&oam, &configuration, policies))
}

/// Change policies
///
/// Running functions apply most of them; the report says what needs a restart.
#[utoipa::path(
    put, path = "/policies", tag = "network", request_body = Policies,
    params(ChangeQuery, IfMatch), responses(ChangeResponses),
)]
pub async fn change(change: Change<Policies>) -> Result<Json<ChangeReport>, Failure> {
    change.apply().await
}

/// Keys of the policies.
const POLICIES: [&str; 8] = [
    "max_am_policies",
    "max_sm_policies",
    "default_rfsp",
    "default_5qi",
    "default_arp",
    "default_ambr",
    "flows",
    "ue_requests",
];

/// The values that differ. Others are not written into the file, so that defaults stay defaults.
fn changed(present: &Value, wanted: &Value) -> Vec<ConfigurationEdit> {
    let none = Map::new();
    let wanted = wanted.as_object().unwrap_or(&none);
    let value = |key: &str| wanted.get(key).cloned().unwrap_or_default();
    let differs = |key: &&'static str| value(key) != present[*key];
    POLICIES.into_iter().filter(differs).map(|key| edit(&["pcf", key], value(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_policies_are_written() {
        let present = json!({"default_5qi": 9, "default_rfsp": 4, "flows": []});
        let wanted = json!({"default_5qi": 8, "flows": []});
        let edits = changed(&present, &wanted);
        let expected =
            [edit(&["pcf", "default_rfsp"], Value::Null), edit(&["pcf", "default_5qi"], json!(8))];
        assert_eq!(edits, expected);
    }
}
