//! The snapshot as JSON for `martlet top`.
use crate::volumes::LineVolumes;
use martlet_upf_datapath::counters::{Counters, DropReason};
use martlet_upf_datapath::telemetry::{InterfaceLoss, TableUsage, Traffic, Volume, balance};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Traffic of a session with its identity.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTraffic {
    /// Our SEID.
    pub seid: u64,
    /// The UE's addresses.
    pub ue: String,
    /// Its traffic.
    pub traffic: Traffic,
    /// Packets that wait.
    pub waiting: u64,
}

/// A snapshot of one UPF.
#[derive(Default)]
pub struct Snapshot {
    /// The datapath's counters of the session.
    pub counters: Arc<Counters>,
    /// Traffic of its first sessions.
    pub sessions: Vec<SessionTraffic>,
    /// How full its tables are.
    pub tables: Vec<TableUsage>,
    /// Bytes of its lines.
    pub volumes: LineVolumes,
    /// Packets that its interfaces lost.
    pub interface_losses: Vec<InterfaceLoss>,
}

/// Nonzero drop counters by reason.
pub(crate) fn drops(of: impl IntoIterator<Item = (DropReason, u64)>) -> Value {
    let all: Map<String, Value> = of
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .map(|(reason, n)| (reason.name().into(), n.into()))
        .collect();
    all.into()
}

pub(crate) fn top(
    datapath: &str,
    counters: &Counters,
    sessions: &[SessionTraffic],
    count: usize,
    fill: &[TableUsage],
) -> Value {
    let numbers: Map<String, Value> =
        counters.named().into_iter().map(|(n, v)| (n.to_string(), v.into())).collect();
    let waiting = fill.iter().find(|fill| fill.table == "waiting").map_or(0, |fill| fill.used);
    let (received, sent_or_dropped) = balance(counters, waiting);
    let sessions: Vec<Value> = sessions
        .iter()
        .map(|s| {
            let volume = |v: Volume| json!({"bytes": v.bytes, "packets": v.packets});
            json!({
                "seid": format!("{:#018x}", s.seid), "ue": s.ue, "waiting": s.waiting,
                "uplink": volume(s.traffic.uplink), "downlink": volume(s.traffic.downlink),
                "drops": drops(s.traffic.drops.iter().copied()),
            })
        })
        .collect();
    let tables: Vec<Value> = fill
        .iter()
        .map(|f| json!({"table": f.table, "used": f.used, "capacity": f.capacity}))
        .collect();
    let latency = &counters.latency;
    json!({
        "datapath": datapath, "counters": numbers, "sessionCount": count, "sessions": sessions,
            "tables": tables,
        "drops": drops(
            DropReason::ALL.into_iter().map(|reason| (reason, counters.drops(reason).get()))),
        "balance": {"received": received, "sentOrDropped": sent_or_dropped},
        "latencyNs": {"p50": latency.quantile(0.5), "p99": latency.quantile(0.99),
            "p999": latency.quantile(0.999)},
    })
}
