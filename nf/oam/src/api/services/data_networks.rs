//! Data networks of the SMF.
use super::{Change, ChangeQuery, ChangeReport, ChangeResponses, IfMatch, Section, Subject};
use super::{edit, tagged, typed};
use crate::api::configuration::read;
use crate::core_access::{Configuration, ConfigurationEdit};
use crate::monitor::DataNetworkFigures;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

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
    /// Part of `pool` for subscribed static addresses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(example = "10.45.255.0/24")]
    static_pool: String,
    /// Part of `pool6` for subscribed static prefixes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(example = "fd45:0:0:ff00::/56")]
    static_pool6: String,
    /// DNS servers for UEs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["9.9.9.9"]))]
    dns: Vec<String>,
    /// P-CSCF addresses for UEs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pcscf: Vec<String>,
    /// MTU for UEs, in bytes: 576 at least, and 1280 with `pool6`.
    #[serde(default = "mtu", skip_serializing_if = "is_mtu")]
    #[schema(minimum = 576, example = 1400)]
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

impl Section for DataNetworks {
    const SUBJECT: Subject = Subject {
        what: "data-networks.change",
        target: "smf.dnns",
        names: &[("smf.dnns", "networks")],
    };

    fn edits(&self, _: &Configuration) -> Result<Vec<ConfigurationEdit>, Failure> {
        Ok(vec![edit(&["smf", "dnns"], json!(self.networks))])
    }
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
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
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
    params(ChangeQuery, IfMatch), responses(ChangeResponses),
)]
pub async fn change(change: Change<DataNetworks>) -> Result<Json<ChangeReport>, Failure> {
    change.apply().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_a_data_network_are_not_written() {
        let network = json!({"name": "internet", "pool": "10.45.0.0/16", "mtu": 1400});
        let read: DataNetworkSetting = serde_json::from_value(network).unwrap();
        assert_eq!(json!(read), json!({"name": "internet", "pool": "10.45.0.0/16"}));
    }
}
