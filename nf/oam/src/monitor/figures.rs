//! The figures of the core at one moment, from the status of its functions.
use super::State;
use crate::accounts;
use crate::core_status::of;
use crate::traffic::{LineFigures, LineInterface, Traffic, ip_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Throughput and usage of a data network.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct DataNetworkFigures {
    /// Name.
    pub name: String,
    /// Addresses in use.
    pub used: u64,
    /// Addresses of the pool.
    pub of: u64,
    /// Bits per second from UEs. Null if no UPF of it reports figures.
    #[serde(default)]
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs. Null if no UPF of it reports figures.
    #[serde(default)]
    pub downlink_bps: Option<f64>,
}

/// A UPF in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct UpfFigures {
    /// N4 address.
    pub n4: String,
    /// Whether it is associated.
    pub associated: bool,
    /// Bits per second from UEs, without tunnel headers. Null, like all rates here, if the UPF does
    /// not report figures to this core, as one of another vendor.
    #[serde(default)]
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs.
    #[serde(default)]
    pub downlink_bps: Option<f64>,
    /// Packets per second from UEs.
    #[serde(default)]
    pub uplink_pps: Option<f64>,
    /// Packets per second to UEs.
    #[serde(default)]
    pub downlink_pps: Option<f64>,
    /// Dropped packets per second.
    #[serde(default)]
    pub drops_per_s: Option<f64>,
    /// Sessions.
    #[serde(default)]
    pub sessions: Option<u64>,
}

/// Whether a gNB is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GnbState {
    /// Associated with the AMF.
    #[default]
    Connected,
    /// Associated; its messages deviate from the specification.
    Deviates,
    /// It was associated, and is not any more.
    Lost,
}

/// A gNB in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct GnbFigures {
    /// Name, or identity if it has none.
    pub name: String,
    /// Global RAN node ID.
    #[schema(example = "00101-000001")]
    pub id: String,
    /// Whether it is there.
    pub state: GnbState,
    /// Connected UEs.
    pub ues_connected: u64,
    /// Bits per second from UEs, at the UPFs that report figures. Null if there is none.
    pub uplink_bps: Option<f64>,
    /// Bits per second to UEs, at the UPFs that report figures. Null if there is none.
    pub downlink_bps: Option<f64>,
}

/// The switch of a UPF that offloads sessions to one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct SwitchFigures {
    /// Whether it is connected.
    pub connected: bool,
    /// Sessions whose packets it forwards.
    pub sessions: u64,
    /// Sessions that were moved to it since the start.
    pub moved_on: u64,
    /// Sessions that were moved back.
    pub moved_off: u64,
}

/// A function in the overview.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct FunctionFigures {
    /// Name, such as `amf`.
    #[schema(example = "amf")]
    pub name: String,
    /// Whether it answers.
    pub running: bool,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Authority of its services.
    pub authority: String,
}

/// The figures of the core at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// Seconds since 1970.
    pub at: u64,
    /// gNBs after NG setup.
    pub gnbs: u64,
    /// UE contexts.
    pub ue_contexts: u64,
    /// Registered UEs.
    pub ues_registered: u64,
    /// Connected UEs.
    pub ues_connected: u64,
    /// PDU sessions.
    pub sessions: u64,
    /// Bits per second from UEs.
    pub uplink_bps: f64,
    /// Bits per second to UEs.
    pub downlink_bps: f64,
    /// Dropped packets per second.
    pub drops_per_s: f64,
    /// Dropped packets by reason, since the start of the UPF.
    pub drops: BTreeMap<String, u64>,
    /// The UPF's datapath in this core; empty if there is none.
    pub datapath: String,
    /// The switch, if the UPF has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchFigures>,
    /// Functions.
    pub functions: Vec<FunctionFigures>,
    /// UPFs of the SMF.
    pub upfs: Vec<UpfFigures>,
    /// Data networks.
    pub data_networks: Vec<DataNetworkFigures>,
    /// Names and identities of the first 64 gNBs.
    pub gnb_names: Vec<String>,
    /// The first gNBs, at most 256, with those that were lost.
    #[serde(default)]
    pub gnb_figures: Vec<GnbFigures>,
    /// Throughput of the lines between gNBs, UPFs and data networks. Lines of a UPF that does not
    /// report figures are left out.
    #[serde(default)]
    pub lines: Vec<LineFigures>,
    /// Subscribers.
    pub subscribers: u64,
    /// Raised alarms.
    pub alarms: u64,
}

/// A point of the series.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// Seconds since 1970.
    pub at: u64,
    /// Registered UEs.
    pub registered: u64,
    /// Connected UEs.
    pub connected: u64,
    /// PDU sessions.
    pub sessions: u64,
    /// Bits per second from UEs.
    pub uplink_bps: f64,
    /// Bits per second to UEs.
    pub downlink_bps: f64,
    /// Dropped packets per second.
    pub drops_per_s: f64,
}

/// The figures of a status, without rates.
pub(super) fn of_status(status: &Value) -> Overview {
    let mut now = Overview { at: accounts::now(), ..Overview::default() };
    for nf in status["nfs"].as_array().into_iter().flatten() {
        let name = nf["name"].as_str().unwrap_or_default();
        // Further UPFs are not functions of this core.
        if now.functions.iter().any(|function| function.name == name) {
            continue;
        }
        now.functions.push(FunctionFigures {
            name: name.into(),
            running: true,
            restarts: 0,
            authority: nf["authority"].as_str().unwrap_or_default().into(),
        });
    }
    for process in status["processes"].as_array().into_iter().flatten() {
        let name = process["name"].as_str().unwrap_or_default();
        let running = process["state"] == "running";
        let restarts = process["restarts"].as_u64().unwrap_or(0);
        match now.functions.iter_mut().find(|function| function.name == name) {
            Some(function) => (function.running, function.restarts) = (running, restarts),
            None => now.functions.push(FunctionFigures {
                name: name.into(),
                running,
                restarts,
                authority: String::new(),
            }),
        }
    }
    if let Some(amf) = of(status, "amf") {
        let gnbs = amf["gnbs"].as_array().cloned().unwrap_or_default();
        now.gnbs = gnbs.len() as u64;
        now.gnb_names = gnbs.iter().take(64).map(gnb_name).collect();
        let number = |name: &str| amf["ues"][name].as_u64().unwrap_or(0);
        now.ue_contexts = number("contexts");
        (now.ues_registered, now.ues_connected) = (number("registered"), number("connected"));
    }
    if let Some(smf) = of(status, "smf") {
        now.sessions = smf["sessions"].as_u64().unwrap_or(0);
        let upf = |upf: &Value| UpfFigures {
            n4: upf["n4"].as_str().unwrap_or_default().into(),
            associated: upf["associated"] == true,
            ..UpfFigures::default()
        };
        now.upfs = smf["upfs"].as_array().into_iter().flatten().map(upf).collect();
        let network = |(name, usage): (&String, &Value)| DataNetworkFigures {
            name: name.clone(),
            used: usage["used"].as_u64().unwrap_or(0),
            of: usage["of"].as_u64().unwrap_or(0),
            ..DataNetworkFigures::default()
        };
        now.data_networks =
            smf["addresses"].as_object().into_iter().flatten().map(network).collect();
    }
    if let Some(upf) = of(status, "upf") {
        now.datapath = upf["datapath"].as_str().unwrap_or_default().into();
        let switch = &upf["datapathDetails"]["switch"];
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        now.switch = switch.is_object().then(|| SwitchFigures {
            connected: switch["connected"] == true,
            sessions: number(&switch["sessions"]["onSwitch"]),
            moved_on: number(&switch["movedOn"]),
            moved_off: number(&switch["movedOff"]),
        });
        let drop = |(name, n): (&String, &Value)| Some((name.clone(), n.as_u64()?));
        now.drops = upf["drops"].as_object().into_iter().flatten().filter_map(drop).collect();
    }
    now.subscribers =
        of(status, "udr").and_then(|udr| udr["subscribers"].as_u64()).unwrap_or_default();
    now
}

pub(super) fn gnb_name(gnb: &Value) -> String {
    gnb["name"].as_str().or(gnb["id"].as_str()).unwrap_or_default().to_string()
}

/// gNBs whose figures are shown.
const MAX_GNBS: usize = 256;

/// The gNBs, those that were lost first.
pub(super) fn of_gnbs(state: &State, status: &Value) -> Vec<GnbFigures> {
    let empty = Vec::new();
    let amf = of(status, "amf");
    let connected = amf.and_then(|amf| amf["gnbs"].as_array()).unwrap_or(&empty);
    let is_lost = |id: &&String| !connected.iter().any(|gnb| gnb["id"] == id.as_str());
    let lost = state.known_gnbs.keys().filter(is_lost).map(|id| GnbFigures {
        name: state.known_gnbs.get(id).cloned().unwrap_or_default(),
        id: id.clone(),
        state: GnbState::Lost,
        ..GnbFigures::default()
    });
    let present = connected.iter().map(|gnb| GnbFigures {
        name: gnb_name(gnb),
        id: gnb["id"].as_str().unwrap_or_default().into(),
        state: if gnb["deviates"] == true { GnbState::Deviates } else { GnbState::Connected },
        ues_connected: gnb["connectedUes"].as_u64().unwrap_or(0),
        ..GnbFigures::default()
    });
    lost.chain(present).take(MAX_GNBS).collect()
}

/// The rates of all parts.
pub(super) fn set_rates(traffic: &Traffic, now: &mut Overview) {
    [now.uplink_bps, now.downlink_bps] = traffic.bps;
    now.drops_per_s = traffic.drops_per_s;
    for upf in &mut now.upfs {
        let Some(rates) = traffic.upfs.get(&ip_of(&upf.n4)) else { continue };
        (upf.uplink_bps, upf.downlink_bps) = (Some(rates.bps[0]), Some(rates.bps[1]));
        (upf.uplink_pps, upf.downlink_pps) = (Some(rates.pps[0]), Some(rates.pps[1]));
        (upf.drops_per_s, upf.sessions) = (Some(rates.drops_per_s), Some(rates.sessions));
    }
    // Without a UPF that reports figures the rates are unknown, and not zero.
    let of_peer = |interface: LineInterface, peer: &str| {
        let of_it = |line: &&LineFigures| line.interface == interface && line.peer == peer;
        let lines = traffic.lines.iter().filter(of_it);
        let sum = lines.fold([0.0; 2], |sum: [f64; 2], line| {
            [sum[0] + line.uplink_bps, sum[1] + line.downlink_bps]
        });
        (!traffic.upfs.is_empty()).then_some(sum)
    };
    for gnb in &mut now.gnb_figures {
        let bps = of_peer(LineInterface::N3, &gnb.id);
        (gnb.uplink_bps, gnb.downlink_bps) = (bps.map(|bps| bps[0]), bps.map(|bps| bps[1]));
    }
    for network in &mut now.data_networks {
        let bps = of_peer(LineInterface::N6, &network.name);
        (network.uplink_bps, network.downlink_bps) = (bps.map(|bps| bps[0]), bps.map(|bps| bps[1]));
    }
    now.lines.clone_from(&traffic.lines);
}
