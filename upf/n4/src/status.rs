//! Status, traces and captures for operators.
use super::N4;
use crate::top::{SessionTraffic, Snapshot, top};
use martlet_interop::{Description, N3Quirk, Quirk};
use martlet_upf_datapath::CommandError;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::telemetry::{CaptureRequest, TraceRequest, Volume};
use martlet_upf_rules::{Action, Direction, Pdr, Session, UeAddress};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::time::UNIX_EPOCH;

/// Sessions that a status lists; it counts all of them.
const MAX_SESSIONS: usize = 100;

/// The direction of a PDR's packets, in a word.
fn direction(pdr: &Pdr) -> &'static str {
    match pdr.direction() {
        Direction::Uplink => "uplink",
        Direction::Downlink => "downlink",
    }
}

/// Addresses of a session's UE, as people write them.
fn ue_of(session: &Session) -> Vec<String> {
    let text = |address| match address {
        UeAddress::V4(ip) => ip.to_string(),
        UeAddress::V6(prefix) => {
            format!("{}/64", std::net::Ipv6Addr::from_bits(u128::from(prefix) << 64))
        }
    };
    session.ue_addresses().into_iter().map(text).collect()
}

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
                    "nodeId": node, "peer": a.peer.to_string(), "since": since,
                        "reachable": a.reachable,
                    "sessions": a.sessions.len(),
                })
            })
            .collect();
        let sessions: Vec<Value> =
            self.sessions.values().take(MAX_SESSIONS).map(|c| self.session_status(c)).collect();
        let counters = self.datapath.counters();
        let numbers: Map<String, Value> =
            counters.named().into_iter().map(|(n, v)| (n.to_string(), v.into())).collect();
        let drops: Map<String, Value> = DropReason::ALL
            .into_iter()
            .map(|reason| (reason.name(), counters.drops(reason).get()))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_string(), count.into()))
            .collect();
        let unmarked: Map<String, Value> = counters
            .unmarked_peers
            .all()
            .into_iter()
            .map(|(peer, packets)| (peer.to_string(), packets.into()))
            .collect();
        let met = martlet_interop::status("upf");
        let unmarked_quirks = unmarked.iter().map(|(peer, packets)| {
            let Description { name, .. } = *N3Quirk::NoQfi.description();
            let interface = N3Quirk::INTERFACE.name();
            json!({"interface": interface, "quirk": name, "peer": peer, "count": packets})
        });
        let quirks: Vec<Value> = met.into_iter().chain(unmarked_quirks).collect();
        let own = [self.settings.n3_ipv4.map(IpAddr::V4), self.settings.n3_ipv6.map(IpAddr::V6)];
        let own: Vec<String> = own.into_iter().flatten().map(|ip| ip.to_string()).collect();
        let mut status = json!({
            "n4": self.settings.address.to_string(),
            "n3": own,
            "recovery": self.recovery.0,
            "volumes": self.volumes().status(),
            "datapath": self.datapath.name(),
            "datapathDetails": self.datapath.details(),
            "associations": associations,
            "sessionCount": self.sessions.len(),
            "sessions": sessions,
            "counters": numbers,
            "drops": drops,
            "unmarkedPeers": unmarked,
        });
        if !quirks.is_empty() {
            status["quirks"] = quirks.into();
        }
        status
    }

    /// Traffic of the first sessions, in the order of their SEIDs.
    fn traffic(&self, max: usize) -> Vec<SessionTraffic> {
        let mut seids: Vec<u64> = self.sessions.keys().copied().collect();
        if seids.len() > max {
            // The order is stable for the lifetime of a session.
            seids.select_nth_unstable(max);
            seids.truncate(max);
        }
        seids.sort_unstable();
        let traffic = self.datapath.traffic(&seids);
        let named = seids.into_iter().zip(traffic).filter_map(|(seid, traffic)| {
            let ue = ue_of(&self.sessions.get(&seid)?.session()).join(" ");
            let waiting = self.datapath.buffered(seid).packets as u64;
            Some(SessionTraffic { seid, ue, traffic, waiting })
        });
        named.collect()
    }

    /// A snapshot for metrics.
    pub fn snapshot(&self) -> Snapshot {
        let max = self.settings.telemetry.sessions;
        Snapshot {
            counters: self.datapath.counters(),
            sessions: self.traffic(max),
            tables: self.datapath.tables(),
            volumes: self.volumes(),
            interface_losses: self.datapath.interface_losses(),
        }
    }

    /// See [`Datapath::class_bytes`](martlet_upf_datapath::Datapath::class_bytes).
    pub fn class_bytes(&self) -> [u64; martlet_board::governor::CLASSES] {
        self.datapath.class_bytes()
    }

    /// See [`Datapath::shape`](martlet_upf_datapath::Datapath::shape).
    pub fn shape(&mut self, shaping: &martlet_upf_datapath::Shaping) {
        self.datapath.shape(shaping);
    }

    /// See [`Datapath::renew`](martlet_upf_datapath::Datapath::renew).
    pub fn renew(&self, sample: Option<u32>) -> Result<Value, CommandError> {
        self.datapath.renew(sample).map(|()| json!({"renewed": true}))
    }

    /// Packets dropped for a reason.
    pub fn drops(&self, reason: DropReason) -> u64 {
        self.datapath.counters().drops(reason).get()
    }

    /// The data of `martlet top`.
    pub fn top(&self) -> Value {
        let Snapshot { counters, sessions, tables, .. } = self.snapshot();
        top(self.datapath.name(), &counters, &sessions, self.sessions.len(), &tables)
    }

    /// Traced packets since the last call.
    pub fn trace(&self, request: TraceRequest) -> Result<Value, CommandError> {
        let batch = self.datapath.trace(request)?;
        let session =
            |seid: Option<u64>| seid.and_then(|seid| self.sessions.get(&seid)).map(|c| c.session());
        let packets: Vec<Value> = batch
            .packets
            .iter()
            .map(|packet| {
                let session = session(packet.seid);
                let mut json = packet.describe(session.as_ref());
                json["ue"] = session.as_ref().map_or(Value::Null, |session| ue_of(session).into());
                json
            })
            .collect();
        Ok(json!({"packets": packets, "missed": batch.missed}))
    }

    /// Starts a capture of N6; see [`CaptureRequest::parse`] for the format.
    pub fn begin_capture(&self, request: &str) -> Result<Value, CommandError> {
        let request = CaptureRequest::parse(request)
            .ok_or_else(|| CommandError::Parameters(request.to_owned()))?;
        let Some(folder) = &self.settings.telemetry.captures else {
            return Err(CommandError::NoDirectory);
        };
        self.datapath.begin_capture(folder, request).map(|status| json!(status))
    }

    /// The progress of the capture; `end` stops it.
    pub fn capture(&self, end: bool) -> Result<Value, CommandError> {
        self.datapath.capture(end).map(|status| json!(status)).ok_or(CommandError::NoCapture)
    }

    fn session_status(&self, context: &super::context::Context) -> Value {
        let session = context.session();
        let ue = ue_of(&session);
        let buffered = self.datapath.buffered(session.seid);
        json!({
            "seid": format!("{:#018x}", session.seid),
            "cpSeid": session.cp.seid,
            "ue": ue,
            "localTeids": session.teids().into_iter().map(
                |teid| format!("{teid:#010x}")).collect::<Vec<_>>(),
            "remote": session.remote_tunnels().into_iter().map(|(ip,
                teid)| format!("{teid:#010x}@{ip}")).collect::<Vec<_>>(),
            "pdrs": session.pdrs.len(),
            "buffers": session.fars.values().any(|far| matches!(far.action, Action::Buffer { .. })),
            "bufferedPackets": buffered.packets,
        })
    }

    /// Sessions by their SEIDs in hexadecimal digits, with rules, usage and the engine that applies
    /// them. Unknown ones are left out.
    pub fn describe_sessions(&self, seids: &[&str]) -> Value {
        let number = |text: &&str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let seids: Vec<u64> = seids.iter().filter_map(number).take(MAX_SESSIONS).collect();
        let traffic = self.datapath.traffic(&seids);
        let described = seids.iter().zip(traffic).filter_map(|(seid, traffic)| {
            let context = self.sessions.get(seid)?;
            let session = context.session();
            let mut json = self.session_status(context);
            let volume = |v: Volume| json!({"bytes": v.bytes, "packets": v.packets});
            let of_pdrs = self.datapath.pdr_traffic(*seid);
            let of_pdr = |id: u16| of_pdrs.iter().find(|of_pdr| of_pdr.pdr == id);
            json["engine"] = self.datapath.name().into();
            json["uplink"] = volume(traffic.uplink);
            json["downlink"] = volume(traffic.downlink);
            json["drops"] = crate::top::drops(traffic.drops.iter().copied());
            let rule = |pdr: &Pdr| {
                let far = session.fars.get(&pdr.far);
                let traffic = of_pdr(pdr.id);
                json!({
                    "pdr": pdr.id,
                    "engine": traffic.map(|traffic| traffic.engine),
                    "direction": direction(pdr),
                    "forwarded": traffic.map(|traffic| volume(traffic.forwarded)),
                    "precedence": pdr.precedence,
                    "source": format!("{:?}", pdr.source),
                    "filters": pdr.filters.len(),
                    "qfis": pdr.qfis,
                    "far": pdr.far,
                    "action": far.map(|far| format!("{:?}", far.action)),
                    "destination": far.and_then(|far| far.destination).map(|d| format!("{d:?}")),
                    "qers": pdr.qers,
                    "urrs": pdr.urrs,
                })
            };
            let rate = |rate: Option<martlet_upf_rules::BitRate>| {
                rate.map(|rate| json!({"uplink": rate.uplink, "downlink": rate.downlink}))
            };
            let flow = |qer: &martlet_upf_rules::Qer| {
                let qfi = qer.qfi?;
                let forwarded = |wanted: Direction| {
                    let mut sum = Volume::default();
                    let rules = session
                        .pdrs
                        .values()
                        .filter(|pdr| pdr.direction() == wanted && pdr.qers.contains(&qer.id));
                    for traffic in rules.filter_map(|pdr| of_pdr(pdr.id)) {
                        sum.bytes += traffic.forwarded.bytes;
                        sum.packets += traffic.forwarded.packets;
                    }
                    volume(sum)
                };
                Some(json!({
                    "qfi": qfi, "qer": qer.id, "maximum": rate(qer.mbr),
                    "guaranteed": rate(qer.gbr),
                    "uplink": forwarded(Direction::Uplink),
                    "downlink": forwarded(Direction::Downlink),
                }))
            };
            json["flows"] = session.qers.values().filter_map(flow).collect();
            json["rules"] = session.pdrs.values().map(rule).collect();
            Some(json)
        });
        described.collect()
    }

    /// Sessions and associations.
    pub fn counts(&self) -> (usize, usize) {
        (self.sessions.len(), self.associations.len())
    }
}
