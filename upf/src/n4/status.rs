//! What N4 says of itself.
use super::N4;
use crate::counters::DropReason;
use crate::rules::Action;
use serde_json::{Map, Value, json};
use std::time::UNIX_EPOCH;

/// Sessions that a status lists; it counts all of them.
const MOST_SESSIONS: usize = 100;

impl N4 {
    /// Associations, sessions and counters.
    pub fn status(&self) -> Value {
        let associations: Vec<Value> = self
            .associations
            .values()
            .map(|a| {
                let since = a.since.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                let node = match &a.node {
                    martlet_pfcp::ie::NodeId::Ip(ip) => ip.to_string(),
                    martlet_pfcp::ie::NodeId::Fqdn(name) => name.clone(),
                };
                json!({
                    "nodeId": node, "peer": a.peer.to_string(), "since": since, "reachable": a.reachable,
                    "sessions": a.sessions.len(),
                })
            })
            .collect();
        let sessions: Vec<Value> = self.sessions.values().take(MOST_SESSIONS).map(|c| self.session_status(c)).collect();
        let counters = self.datapath.counters();
        let numbers: Map<String, Value> =
            counters.named().into_iter().map(|(n, v)| (n.to_string(), v.into())).collect();
        let drops: Map<String, Value> = DropReason::ALL
            .into_iter()
            .map(|reason| (reason.name(), counters.drops(reason).get()))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_string(), count.into()))
            .collect();
        json!({
            "datapath": self.datapath.name(),
            "datapathDetails": self.datapath.details(),
            "associations": associations,
            "sessionCount": self.sessions.len(),
            "sessions": sessions,
            "counters": numbers,
            "drops": drops,
        })
    }

    fn session_status(&self, context: &super::context::Context) -> Value {
        let session = &context.session;
        let ue: Vec<String> = session
            .ue_addresses()
            .into_iter()
            .map(|address| match address {
                crate::rules::UeAddress::V4(ip) => ip.to_string(),
                crate::rules::UeAddress::V6(prefix) => {
                    format!("{}/64", std::net::Ipv6Addr::from_bits(u128::from(prefix) << 64))
                }
            })
            .collect();
        let buffered = self.datapath.buffered(session.seid);
        json!({
            "seid": format!("{:#018x}", session.seid),
            "cpSeid": session.cp.seid,
            "ue": ue,
            "localTeids": session.teids().into_iter().map(|teid| format!("{teid:#010x}")).collect::<Vec<_>>(),
            "remote": session.remote_tunnels().into_iter().map(|(ip, teid)| format!("{teid:#010x}@{ip}")).collect::<Vec<_>>(),
            "pdrs": session.pdrs.len(),
            "buffers": session.fars.values().any(|far| matches!(far.action, Action::Buffer { .. })),
            "bufferedPackets": buffered.packets,
        })
    }

    /// Sessions and associations.
    pub fn counts(&self) -> (usize, usize) {
        (self.sessions.len(), self.associations.len())
    }
}
