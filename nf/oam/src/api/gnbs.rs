//! gNBs.
use crate::caller::Caller;
use crate::monitor::{GnbFigures, GnbState};
use crate::poll;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// A tracking area of a gNB.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TrackingArea {
    /// PLMN in digits.
    #[schema(example = "00101")]
    plmn: String,
    /// Tracking area code.
    tac: u32,
    /// Slices as SST or SST-SD.
    slices: Vec<String>,
}

/// A gNB after NG setup.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct GnbView {
    /// Global RAN node ID.
    #[schema(example = "00101-000001")]
    id: String,
    /// Name.
    #[serde(default)]
    name: Option<String>,
    /// Address of its association.
    address: String,
    /// Tracking areas.
    tracking_areas: Vec<TrackingArea>,
    /// Connections of UEs that are not authenticated yet.
    unverified_ues: u64,
    /// Connected UEs.
    #[serde(default)]
    connected_ues: u64,
    /// NGAP messages received.
    #[serde(default)]
    received_messages: u64,
    /// Whether its messages deviate from the specification.
    deviates: bool,
}

/// A peer at an interface of the core.
#[derive(Debug, Serialize, ToSchema)]
pub struct InterfaceView {
    /// `N2`, `N3` or `N4`.
    #[schema(example = "N2")]
    interface: &'static str,
    /// Name or address of the peer.
    peer: String,
    /// Whether it is associated.
    up: bool,
    /// Further details in words.
    detail: String,
}

/// A deviation of a peer from the specifications that the core tolerates.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuirkView {
    /// The function that tolerates it.
    #[schema(example = "amf")]
    function: String,
    /// Interface.
    #[schema(example = "n2")]
    interface: String,
    /// Name of the deviation, see the page on interoperability.
    quirk: String,
    /// The peer.
    peer: String,
    /// How often it was met.
    count: u64,
}

/// Interfaces with their peers.
#[derive(Debug, Serialize, ToSchema)]
pub struct InterfacesView {
    /// The peers of N2, N3 and N4.
    interfaces: Vec<InterfaceView>,
    /// Tolerated deviations.
    quirks: Vec<QuirkView>,
}

/// List interfaces and quirks
///
/// The state of N2, N3 and N4 by peer, and the deviations of peers that the core tolerates.
#[utoipa::path(
    get, path = "/interfaces", tag = "gnbs",
    responses(
        (status = 200, body = InterfacesView, description = "interfaces and quirks"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn interfaces(State(oam): State<Arc<Oam>>) -> Json<InterfacesView> {
    let status = match poll::refresh(&oam).await {
        Some(status) => status,
        None => oam.core.status().await,
    };
    Json(interfaces_of(&status, &oam.monitor.overview().gnb_figures))
}

/// `known` has the gNBs that were lost, too, which the AMF does not show.
fn interfaces_of(status: &Value, known: &[GnbFigures]) -> InterfacesView {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (mut interfaces, mut quirks) = (Vec::new(), Vec::new());
    let mut add = |interface, peer, up, detail| {
        interfaces.push(InterfaceView { interface, peer, up, detail });
    };
    for gnb in known.iter().filter(|gnb| gnb.state == GnbState::Lost) {
        add("N2", gnb.name.clone(), false, "its association has ended".into());
    }
    for nf in list(&status["nfs"]) {
        let (function, own) = (text(&nf["name"]), &nf["status"]);
        for gnb in list(&own["gnbs"]) {
            let peer = gnb["name"].as_str().map_or_else(|| text(&gnb["id"]), str::to_string);
            add("N2", peer, true, text(&gnb["address"]));
        }
        for upf in list(&own["upfs"]) {
            add("N4", text(&upf["n4"]), upf["associated"] == true, "UPF of the SMF".into());
        }
        for association in list(&own["associations"]) {
            let sessions = association["sessions"].as_u64().unwrap_or(0);
            let detail = format!("SMF of the UPF, {sessions} sessions");
            add("N4", text(&association["peer"]), association["reachable"] == true, detail);
        }
        let peers = list(&own["sessions"]).into_iter().flat_map(|session| list(&session["remote"]));
        let of_tunnel = |tunnel: Value| text(&tunnel).split_once('@').map(|(_, ip)| ip.to_string());
        let mut tunnels = std::collections::BTreeMap::<String, u64>::new();
        for peer in peers.filter_map(of_tunnel) {
            *tunnels.entry(peer).or_default() += 1;
        }
        for (peer, count) in tunnels {
            add("N3", peer, true, format!("{count} tunnels of the first sessions"));
        }
        for quirk in list(&own["quirks"]) {
            quirks.push(QuirkView {
                function: function.clone(),
                interface: text(&quirk["interface"]),
                quirk: text(&quirk["quirk"]),
                peer: text(&quirk["peer"]),
                count: quirk["count"].as_u64().unwrap_or(0),
            });
        }
    }
    InterfacesView { interfaces, quirks }
}

/// List gNBs
#[utoipa::path(
    get, path = "/gnbs", tag = "gnbs",
    responses(
        (status = 200, body = Vec<GnbView>, description = "the gNBs"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<GnbView>>, Failure> {
    let answer = oam.core.ask("amf", "amf/gnbs".into()).await?;
    serde_json::from_value(answer)
        .map(Json)
        .map_err(|error| Failure::unavailable(format!("the AMF answered otherwise: {error}")))
}

/// Release a gNB
///
/// The AMF aborts its association. The gNB may set it up again.
#[utoipa::path(
    post, path = "/gnbs/{id}/release", tag = "gnbs",
    params(("id" = String, Path, example = "00101-000001")),
    responses(
        (status = 200, body = Object, description = "aborted"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is no such gNB"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn release(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Json<Value>, Failure> {
    if id.is_empty() || id.len() > 64 || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    {
        return Err(Failure::field("id", "not an identity", "write it as GET /gnbs shows it"));
    }
    let done = oam.core.ask("amf", format!("amf/gnb/{id}/release")).await?;
    oam.record(&caller, "gnb.release", id, Value::Null, done.clone()).await?;
    Ok(Json(done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn interfaces_and_quirks_are_those_of_all_functions() {
        let gnb = |name: &str, state| GnbFigures { name: name.into(), state, ..Default::default() };
        let known = [gnb("cellar", GnbState::Lost), gnb("roof", GnbState::Connected)];
        let status = json!({"nfs": [
            {"name": "amf", "status": {"gnbs": [{"id": "00101-1", "name": "roof", "address": "a"}],
                "quirks": [{"interface": "n2", "quirk": "x", "peer": "roof", "count": 3}]}},
            {"name": "smf", "status": {"upfs": [{"n4": "127.0.0.8:8805", "associated": false}]}},
            {"name": "upf", "status": {"sessions": [{"remote": ["0x1@10.0.0.2", "0x2@10.0.0.2"]}]}},
        ]});
        let view = interfaces_of(&status, &known);
        let shown = view.interfaces.iter().map(|i| (i.interface, i.peer.as_str(), i.up));
        let expected = [
            ("N2", "cellar", false),
            ("N2", "roof", true),
            ("N4", "127.0.0.8:8805", false),
            ("N3", "10.0.0.2", true),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        assert_eq!((view.quirks[0].function.as_str(), view.quirks[0].count), ("amf", 3));
    }
}
