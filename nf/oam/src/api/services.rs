//! Slices, data networks, uplink classifiers and policies: read and changed by their fields. A
//! change edits these values in the configuration file, and is checked as the whole file is.
use super::configuration::{ChangeReport, read, report};
use crate::caller::Caller;
use crate::core_access::{Configuration, ConfigurationEdit};
use crate::monitor::DataNetworkFigures;
use crate::page::{self, Body, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Whether only to show what would change.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Check and compare; change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// A slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSetting {
    /// Slice or service type.
    #[schema(example = 1)]
    sst: u8,
    /// Slice differentiator: six hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0000a7", pattern = "^[0-9a-fA-F]{6}$")]
    sd: Option<String>,
}

/// The slices of the network.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// The slices, of which all functions take theirs.
    slices: Vec<SliceSetting>,
}

/// The slices with those of each function.
#[derive(Debug, Serialize, ToSchema)]
pub struct SlicesView {
    /// The slices of the network.
    slices: Vec<SliceSetting>,
    /// PLMNs of the AMF with their slices.
    #[schema(value_type = Vec<Object>)]
    amf: Value,
    /// Slices of the NSSF.
    #[schema(value_type = Vec<Object>)]
    nssf: Value,
    /// Slices of the SMF.
    #[schema(value_type = Vec<Object>)]
    smf: Value,
    /// Keys of the file by which functions have slices of their own.
    own: Vec<String>,
}

/// User plane security of a data network (TS 33.501, 6.6.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPlaneSecurity {
    /// `required`, `preferred` or `not_needed`.
    #[schema(example = "preferred")]
    integrity: String,
    /// `required`, `preferred` or `not_needed`.
    #[schema(example = "preferred")]
    ciphering: String,
}

fn mtu() -> u16 {
    1400
}

fn is_mtu(value: &u16) -> bool {
    *value == mtu()
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// A data network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataNetworkSetting {
    /// DNN.
    #[schema(example = "internet")]
    name: String,
    /// IPv4 pool for UEs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(example = "10.45.0.0/16")]
    pool: String,
    /// IPv6 pool, of which each session gets a /64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(example = "fd45::/48")]
    pool6: String,
    /// DNS servers for UEs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["9.9.9.9"]))]
    dns: Vec<String>,
    /// P-CSCF addresses for UEs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pcscf: Vec<String>,
    /// MTU for UEs.
    #[serde(default = "mtu", skip_serializing_if = "is_mtu")]
    mtu: u16,
    /// Whether it supports Ethernet sessions.
    #[serde(default, skip_serializing_if = "is_false")]
    ethernet: bool,
    /// UDP endpoint for the data of unstructured sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "[fd99::1]:4000")]
    unstructured: Option<String>,
    /// Whether all sessions are always-on.
    #[serde(default, skip_serializing_if = "is_false")]
    always_on: bool,
    /// User plane security for subscriptions without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up_security: Option<UserPlaneSecurity>,
}

/// The data networks of the SMF.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataNetworks {
    /// The data networks.
    networks: Vec<DataNetworkSetting>,
}

/// The data networks with their usage.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataNetworksView {
    /// The data networks.
    networks: Vec<DataNetworkSetting>,
    /// Usage of their pools.
    usage: Vec<DataNetworkFigures>,
}

/// An uplink classifier: a UPF before the anchor, at which some traffic leaves (TS 23.501,
/// 5.6.4.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassifierSetting {
    /// Data network of the sessions that go through it.
    #[schema(example = "internet")]
    dnn: String,
    /// Tracking areas of their UEs; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tacs: Vec<u32>,
    /// N4 address of the UPF, which is among `upfs`.
    #[schema(example = "127.0.0.8:8805")]
    via: String,
    /// Traffic that leaves there.
    #[schema(example = json!(["permit out ip from 10.98.0.0/16 to assigned"]))]
    local: Vec<String>,
}

/// The uplink classifiers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Classifiers {
    /// The classifiers, of which the first one that fits a session applies.
    classifiers: Vec<ClassifierSetting>,
}

/// The uplink classifiers with the UPFs that one may be.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClassifiersView {
    /// The classifiers.
    classifiers: Vec<ClassifierSetting>,
    /// N4 addresses of the UPFs.
    upfs: Vec<String>,
}

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

/// Reads values of the configuration by their fields.
fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    serde_json::from_value(value.clone())
        .map_err(|error| Failure::unavailable(format!("the configuration is otherwise: {error}")))
}

fn tagged(oam: &Oam, configuration: &Configuration, body: impl Serialize) -> Response {
    let mut response = Json(json!(body)).into_response();
    if let Ok(tag) = HeaderValue::from_str(&oam.tag(&configuration.text.clone().into())) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// What a change is about: the word of the audit log, and where the fields of the body are in the
/// configuration.
struct Subject {
    what: &'static str,
    target: &'static str,
    /// The key in the configuration, and the field of the body.
    names: &'static [(&'static str, &'static str)],
}

impl Subject {
    /// The field of the body for a key of the configuration.
    fn field(&self, key: &str) -> String {
        for (of_file, of_body) in self.names {
            if let Some(rest) = key.strip_prefix(of_file) {
                return format!("{of_body}{rest}");
            }
        }
        key.to_string()
    }
}

/// Checks edits of the configuration, and applies them unless it is a dry run.
async fn change(
    oam: &Arc<Oam>,
    caller: &Caller,
    headers: &HeaderMap,
    query: &ChangeQuery,
    subject: Subject,
    edits: impl FnOnce(&Configuration) -> Result<Vec<ConfigurationEdit>, Failure>,
) -> Result<Json<ChangeReport>, Failure> {
    let wanted = page::if_match(headers)?;
    // Held so that no other request changes the file after the comparison.
    let _alone = oam.configuration.lock().await;
    let before = read(oam).await?;
    if !page::matches(&wanted, &oam.tag(&before.text.clone().into())) {
        return Err(Failure::stale());
    }
    let edits = edits(&before)?;
    let (old, write) = (before.text.clone(), !query.dry_run);
    let done = oam.core_blocking(move |core| {
        let text = core.edit_configuration(&old, &edits)?;
        let applied = core.change_configuration(&text, write)?;
        Ok::<_, crate::AccessError>((text, applied))
    });
    let named = |failure: Failure| failure.with_fields(|key| subject.field(key));
    let (text, applied) = done.await?.map_err(|error| named(Failure::from(error)))?;
    let report = report(&before.text, &text, applied);
    if write {
        let after = json!(report);
        oam.record(caller, subject.what, subject.target, Value::Null, after).await?;
    }
    Ok(Json(report))
}

fn edit(path: &[&'static str], value: Value) -> ConfigurationEdit {
    ConfigurationEdit { path: path.to_vec(), value }
}

/// List slices
///
/// Of the network, and of AMF, NSSF and SMF.
#[utoipa::path(
    get, path = "/slices", tag = "network",
    responses(
        (status = 200, body = SlicesView, description = "the slices",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn slices(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let values = &configuration.values;
    let of_network = &configuration.written["network"]["slices"];
    let slices = if of_network.is_array() { of_network } else { &values["nssf"]["slices"] };
    let view = SlicesView {
        slices: typed(slices)?,
        amf: values["amf"]["plmns"].clone(),
        nssf: values["nssf"]["slices"].clone(),
        smf: values["smf"]["slices"].clone(),
        own: own_slices(&configuration.written),
    };
    Ok(tagged(&oam, &configuration, view))
}

/// Keys of the file that set slices of a function, which the network's do not change.
fn own_slices(written: &Value) -> Vec<String> {
    let keys = [("amf", "plmns"), ("nssf", "slices"), ("smf", "slices")];
    let is_set = |(section, key): &(&str, &str)| !written[*section][*key].is_null();
    keys.into_iter().filter(is_set).map(|(section, key)| format!("{section}.{key}")).collect()
}

/// Change the slices of the network
///
/// Functions whose section has slices of its own keep those, see `own`.
#[utoipa::path(
    put, path = "/slices", tag = "network", request_body = Slices,
    params(ChangeQuery, ("If-Match" = String, Header, description = "the ETag that was read")),
    responses(
        (status = 200, body = ChangeReport, description = "changed, or what would change"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, each in `errors`"),
    )
)]
pub async fn change_slices(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<ChangeQuery>,
    Body(body): Body<Slices>,
) -> Result<Json<ChangeReport>, Failure> {
    let names =
        &[("network.slices", "slices"), ("nssf.slices", "slices"), ("smf.slices", "slices")];
    let subject = Subject { what: "slices.change", target: "network.slices", names };
    change(&oam, &caller, &headers, &query, subject, |_| {
        Ok(vec![edit(&["network", "slices"], json!(body.slices))])
    })
    .await
}

/// List data networks
#[utoipa::path(
    get, path = "/data-networks", tag = "network",
    responses(
        (status = 200, body = DataNetworksView, description = "the data networks with their usage",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn data_networks(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let view = DataNetworksView {
        networks: typed(&configuration.values["smf"]["dnns"])?,
        usage: oam.monitor.overview().data_networks,
    };
    Ok(tagged(&oam, &configuration, view))
}

/// Change the data networks
#[utoipa::path(
    put, path = "/data-networks", tag = "network", request_body = DataNetworks,
    params(ChangeQuery, ("If-Match" = String, Header, description = "the ETag that was read")),
    responses(
        (status = 200, body = ChangeReport, description = "changed, or what would change"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, each in `errors`"),
    )
)]
pub async fn change_data_networks(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<ChangeQuery>,
    Body(body): Body<DataNetworks>,
) -> Result<Json<ChangeReport>, Failure> {
    let names = &[("smf.dnns", "networks")];
    let subject = Subject { what: "data-networks.change", target: "smf.dnns", names };
    change(&oam, &caller, &headers, &query, subject, |_| {
        Ok(vec![edit(&["smf", "dnns"], json!(body.networks))])
    })
    .await
}

/// List uplink classifiers
#[utoipa::path(
    get, path = "/uplink-classifiers", tag = "network",
    responses(
        (status = 200, body = ClassifiersView, description = "the classifiers",
            headers(("ETag" = String, description = "of the configuration, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn classifiers(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let smf = &configuration.values["smf"];
    let upfs = smf["upfs"].as_array().into_iter().flatten();
    // A list without items is left out.
    let classifiers = match &smf["branching"] {
        Value::Null => Vec::new(),
        branching => typed(branching)?,
    };
    let view = ClassifiersView {
        classifiers,
        upfs: upfs.filter_map(|upf| upf["n4"].as_str().map(str::to_string)).collect(),
    };
    Ok(tagged(&oam, &configuration, view))
}

/// Change the uplink classifiers
#[utoipa::path(
    put, path = "/uplink-classifiers", tag = "network", request_body = Classifiers,
    params(ChangeQuery, ("If-Match" = String, Header, description = "the ETag that was read")),
    responses(
        (status = 200, body = ChangeReport, description = "changed, or what would change"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, each in `errors`"),
    )
)]
pub async fn change_classifiers(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<ChangeQuery>,
    Body(body): Body<Classifiers>,
) -> Result<Json<ChangeReport>, Failure> {
    let names = &[("smf.branching", "classifiers")];
    let subject = Subject { what: "uplink-classifiers.change", target: "smf.branching", names };
    change(&oam, &caller, &headers, &query, subject, |_| {
        Ok(vec![edit(&["smf", "branching"], json!(body.classifiers))])
    })
    .await
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
pub async fn policies(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let configuration = read(&oam).await?;
    let policies: Policies = typed(&configuration.values["pcf"])?;
    Ok(tagged(&oam, &configuration, policies))
}

/// Change policies
///
/// Running functions apply most of them; the report says what needs a restart.
#[utoipa::path(
    put, path = "/policies", tag = "network", request_body = Policies,
    params(ChangeQuery, ("If-Match" = String, Header, description = "the ETag that was read")),
    responses(
        (status = 200, body = ChangeReport, description = "changed, or what would change"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "the configuration was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, each in `errors`"),
    )
)]
pub async fn change_policies(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<ChangeQuery>,
    Body(body): Body<Policies>,
) -> Result<Json<ChangeReport>, Failure> {
    let subject = Subject { what: "policies.change", target: "pcf", names: &[("pcf.", "")] };
    change(&oam, &caller, &headers, &query, subject, |configuration| {
        let present: Policies = typed(&configuration.values["pcf"])?;
        Ok(changed(&json!(present), &json!(body)))
    })
    .await
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
    fn fields_of_the_file_have_the_names_of_the_body() {
        let names = &[("smf.dnns", "networks")];
        let subject = Subject { what: "", target: "", names };
        assert_eq!(subject.field("smf.dnns[1].pool"), "networks[1].pool");
        assert_eq!(subject.field("upf.n6.pools"), "upf.n6.pools");
        let subject = Subject { what: "", target: "", names: &[("pcf.", "")] };
        assert_eq!(subject.field("pcf.flows[0].five_qi"), "flows[0].five_qi");
    }

    #[test]
    fn only_changed_policies_are_written() {
        let present = json!({"default_5qi": 9, "default_rfsp": 4, "flows": []});
        let wanted = json!({"default_5qi": 8, "flows": []});
        let edits = changed(&present, &wanted);
        let expected =
            [edit(&["pcf", "default_rfsp"], Value::Null), edit(&["pcf", "default_5qi"], json!(8))];
        assert_eq!(edits, expected);
    }

    #[test]
    fn defaults_of_a_data_network_are_not_written() {
        let network = json!({"name": "internet", "pool": "10.45.0.0/16", "mtu": 1400});
        let read: DataNetworkSetting = serde_json::from_value(network).unwrap();
        assert_eq!(json!(read), json!({"name": "internet", "pool": "10.45.0.0/16"}));
    }
}
