//! Figures and rates from two readings of the core.
use super::Order;
use crate::table::table_with_numbers;
use martlet_oam::core_status::of_all;
use martlet_oam::traffic::{LineInterface, Sampler, Traffic, ip_of};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Readings whose throughput is kept for the graphs.
const HISTORY: usize = 600;

/// What is read of a core at one moment. What a core does not have is null.
#[derive(Default)]
pub struct Reading {
    /// The UPF of this core.
    pub user_plane: Value,
    /// The status of all functions.
    pub status: Value,
    /// gNBs after NG setup.
    pub gnbs: Value,
}

/// The latest reading, and the one before.
#[derive(Default)]
pub struct Figures {
    now: Value,
    before: Value,
    status: Value,
    gnbs: Value,
    gnbs_before: Value,
    at: Option<Instant>,
    seconds: f64,
    sampler: Sampler,
    /// Rates of UPFs, and of their lines.
    traffic: Traffic,
    /// Bits per second, uplink and downlink, and drops per second.
    history: VecDeque<[f64; 3]>,
}

/// A network function.
pub struct Function {
    pub name: String,
    pub is_running: bool,
    pub restarts: u64,
    pub address: String,
    /// What it has, in words.
    pub details: String,
}

/// A gNB.
pub struct Gnb {
    pub name: String,
    pub id: String,
    pub address: String,
    pub tracking_areas: String,
    pub ues: u64,
    pub unverified: u64,
    /// NGAP messages per second.
    pub messages: f64,
    pub deviates: bool,
    /// Bits per second, uplink and downlink. `None` if no UPF reports figures.
    pub bits: Option<[f64; 2]>,
}

/// A UPF of the SMF.
pub struct Upf {
    pub n4: String,
    pub is_associated: bool,
    /// `None` if it does not report figures.
    pub traffic: Option<UpfTraffic>,
}

/// What a UPF forwards.
pub struct UpfTraffic {
    pub sessions: u64,
    /// Bits per second, uplink and downlink.
    pub bits: [f64; 2],
    /// Packets per second, uplink and downlink.
    pub packets: [f64; 2],
    pub drops: f64,
    /// Its data networks with their bits per second.
    pub networks: String,
}

/// The figures of a UE.
pub struct Ue {
    /// Empty if it is not known.
    pub supi: String,
    /// As the AMF names it; empty if it is not known.
    pub state: String,
    pub gnb: String,
    pub address: String,
    /// Bits per second, uplink and downlink.
    pub bits: [f64; 2],
    /// Packets per second, uplink and downlink.
    pub packets: [f64; 2],
    /// Bytes in all, uplink and downlink.
    pub bytes: [u64; 2],
    pub drops: u64,
    /// Reasons of drops, the most frequent first.
    pub reasons: String,
    pub waiting: u64,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn total(drops: &Value) -> u64 {
    drops.as_object().into_iter().flatten().map(|(_, n)| number(n)).sum()
}

/// `12.3 M`: a number with a decimal prefix.
pub fn short(value: f64) -> String {
    let steps = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match steps.into_iter().find(|(step, _)| value >= *step) {
        Some((step, name)) => format!("{:.1} {name}", value / step),
        None => format!("{value:.0} "),
    }
}

impl Figures {
    /// Adds a reading.
    pub fn update(&mut self, reading: Reading, at: Instant) {
        self.seconds = self.at.map_or(0.0, |before| at.duration_since(before).as_secs_f64());
        self.before = std::mem::replace(&mut self.now, reading.user_plane);
        self.gnbs_before = std::mem::replace(&mut self.gnbs, reading.gnbs);
        self.status = reading.status;
        self.traffic = self.sampler.take(&self.status);
        self.at = Some(at);
        let bits =
            |name: &'static str| self.rate(|value: &Value| number(&value["counters"][name])) * 8.0;
        let point =
            [bits("uplink_bytes"), bits("downlink_bytes"), self.rate(|v| total(&v["drops"]))];
        if self.seconds > 0.0 {
            self.history.push_back(point);
        }
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }

    /// Bits per second, uplink and downlink, and drops per second; the latest ones last.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &[f64; 3]> {
        self.history.iter()
    }

    /// Whether this core has a UPF.
    pub fn has_user_plane(&self) -> bool {
        self.now.is_object()
    }

    fn of(&self, name: &str) -> &Value {
        let nfs = self.status["nfs"].as_array().into_iter().flatten();
        nfs.into_iter().find(|nf| nf["name"] == name).map_or(&Value::Null, |nf| &nf["status"])
    }

    /// The counts of the core: gNBs, registered UEs, connected UEs, PDU sessions.
    pub fn counts(&self) -> [u64; 4] {
        let amf = self.of("amf");
        [
            amf["gnbs"].as_array().map_or(0, |gnbs| gnbs.len() as u64),
            number(&amf["ues"]["registered"]),
            number(&amf["ues"]["connected"]),
            number(&self.of("smf")["sessions"]),
        ]
    }

    /// The functions, those that do not run first.
    pub fn functions(&self) -> Vec<Function> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let nfs = self.status["nfs"].as_array().into_iter().flatten();
        let mut functions: Vec<Function> = nfs
            .map(|nf| Function {
                name: text(&nf["name"]),
                is_running: true,
                restarts: 0,
                address: text(&nf["authority"]),
                details: details(&text(&nf["name"]), &nf["status"]),
            })
            .collect();
        for process in self.status["processes"].as_array().into_iter().flatten() {
            let (name, is_running) = (text(&process["name"]), process["state"] == "running");
            let restarts = number(&process["restarts"]);
            match functions.iter_mut().find(|function| function.name == name) {
                Some(known) => (known.is_running, known.restarts) = (is_running, restarts),
                None => functions.push(Function {
                    name,
                    is_running,
                    restarts,
                    address: String::new(),
                    details: text(&process["lastExit"]),
                }),
            }
        }
        functions.sort_by_key(|function| (function.is_running, function.restarts == 0));
        functions
    }

    /// The gNBs.
    pub fn gnbs(&self) -> Vec<Gnb> {
        // The API and the AMF spell members differently.
        let member = |gnb: &Value, api: &str, amf: &str| match &gnb[api] {
            Value::Null => gnb[amf].clone(),
            value => value.clone(),
        };
        let received = |gnb: &Value| number(&member(gnb, "received_messages", "receivedMessages"));
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let before: HashMap<String, u64> = list(&self.gnbs_before)
            .iter()
            .map(|gnb| (gnb["id"].as_str().unwrap_or_default().to_string(), received(gnb)))
            .collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let gnb = |gnb: &Value| {
            let id = text(&gnb["id"]);
            let messages = match before.get(&id) {
                Some(then) if self.seconds > 0.0 => {
                    received(gnb).saturating_sub(*then) as f64 / self.seconds
                }
                _ => 0.0,
            };
            let areas = member(gnb, "tracking_areas", "trackingAreas");
            let areas = areas.as_array().into_iter().flatten();
            let areas: Vec<String> = areas
                .map(|area| format!("{}-{}", area["plmn"].as_str().unwrap_or("?"), area["tac"]))
                .collect();
            Gnb {
                bits: self.bits_of_gnb(&id),
                name: text(&gnb["name"]),
                address: text(&gnb["address"]),
                tracking_areas: areas.join(", "),
                ues: number(&member(gnb, "connected_ues", "connectedUes")),
                unverified: number(&member(gnb, "unverified_ues", "unverifiedUes")),
                messages,
                deviates: gnb["deviates"] == true,
                id,
            }
        };
        list(&self.gnbs).iter().map(gnb).collect()
    }

    /// What a gNB exchanges with all UPFs that report figures.
    fn bits_of_gnb(&self, id: &str) -> Option<[f64; 2]> {
        let lines = self.traffic.lines.iter();
        let lines = lines.filter(|line| line.interface == LineInterface::N3 && line.peer == id);
        let sum = lines.fold([0.0; 2], |sum: [f64; 2], line| {
            [sum[0] + line.uplink_bps, sum[1] + line.downlink_bps]
        });
        (!self.traffic.upfs.is_empty()).then_some(sum)
    }

    /// The UPFs of the SMF. A core without one has its own UPF.
    pub fn upfs(&self) -> Vec<Upf> {
        let mut known: Vec<(String, bool)> = of_all(&self.status, "smf")
            .flat_map(|smf| smf["upfs"].as_array().into_iter().flatten())
            .map(|upf| (upf["n4"].as_str().unwrap_or_default().into(), upf["associated"] == true))
            .collect();
        for n4 in self.traffic.upfs.keys() {
            if known.iter().all(|(address, _)| ip_of(address) != *n4) {
                known.push((n4.clone(), false));
            }
        }
        let upf = |(n4, is_associated): (String, bool)| {
            let rates = self.traffic.upfs.get(&ip_of(&n4));
            let traffic = rates.map(|rates| UpfTraffic {
                sessions: rates.sessions,
                bits: rates.bps,
                packets: rates.pps,
                drops: rates.drops_per_s,
                networks: self.networks_of(&n4),
            });
            Upf { n4, is_associated, traffic }
        };
        known.into_iter().map(upf).collect()
    }

    /// The data networks of a UPF with their throughput, in words.
    fn networks_of(&self, n4: &str) -> String {
        let lines = self.traffic.lines.iter();
        let lines = lines.filter(|line| line.interface == LineInterface::N6 && line.upf == n4);
        let network = |line: &martlet_oam::traffic::LineFigures| {
            let (up, down) = (short(line.uplink_bps), short(line.downlink_bps));
            format!("{} ↑ {} ↓ {}", line.peer, up.trim_end(), down.trim_end())
        };
        lines.map(network).collect::<Vec<_>>().join(", ")
    }

    /// The tables of the datapath that are in use: name, used, capacity.
    pub fn tables(&self) -> Vec<(String, u64, u64)> {
        let tables = self.now["tables"].as_array().into_iter().flatten();
        tables
            .filter(|table| number(&table["used"]) > 0)
            .map(|t| {
                let name = t["table"].as_str().unwrap_or("?").to_string();
                (name, number(&t["used"]), number(&t["capacity"]))
            })
            .collect()
    }

    fn rate(&self, of: impl Fn(&Value) -> u64) -> f64 {
        if self.seconds == 0.0 || self.before.is_null() {
            return 0.0;
        }
        // Counters restart from 0 with the UPF.
        of(&self.now).saturating_sub(of(&self.before)) as f64 / self.seconds
    }

    /// The UEs in an order.
    pub fn ues(&self, order: Order) -> Vec<Ue> {
        let list = |value: &Value| value["sessions"].as_array().cloned().unwrap_or_default();
        let before: HashMap<String, Value> = list(&self.before)
            .into_iter()
            .map(|s| (s["seid"].as_str().unwrap_or_default().to_string(), s))
            .collect();
        let directions = ["uplink", "downlink"];
        let amf = self.of("amf");
        let first = amf["ues"]["first"].as_array().into_iter().flatten();
        let contexts: HashMap<&str, &Value> =
            first.filter_map(|ue| Some((ue["supi"].as_str()?, ue))).collect();
        let mut ues: Vec<Ue> = list(&self.now)
            .iter()
            .map(|session| {
                let then = session["seid"].as_str().and_then(|seid| before.get(seid));
                let rate = |direction: &str, what: &str| match then {
                    Some(then) if self.seconds > 0.0 => {
                        number(&session[direction][what])
                            .saturating_sub(number(&then[direction][what]))
                            as f64
                            / self.seconds
                    }
                    _ => 0.0,
                };
                let mut reasons: Vec<(String, u64)> = session["drops"]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(reason, n)| (reason.clone(), number(n)))
                    .collect();
                reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
                let supi = session["supi"].as_str().unwrap_or_default().to_string();
                let context = contexts.get(supi.as_str());
                let of = |name: &str| {
                    let value = context.and_then(|context| context[name].as_str());
                    value.unwrap_or_default().to_string()
                };
                Ue {
                    state: of("state"),
                    gnb: of("gnb"),
                    supi,
                    address: session["ue"].as_str().unwrap_or("?").to_string(),
                    bits: directions.map(|direction| rate(direction, "bytes") * 8.0),
                    packets: directions.map(|direction| rate(direction, "packets")),
                    bytes: directions.map(|direction| number(&session[direction]["bytes"])),
                    drops: total(&session["drops"]),
                    reasons: reasons
                        .iter()
                        .map(|(reason, n)| format!("{reason} {n}"))
                        .collect::<Vec<_>>()
                        .join(", "),
                    waiting: number(&session["waiting"]),
                }
            })
            .collect();
        // UEs without a session of this UPF.
        for (supi, context) in contexts {
            if ues.iter().all(|ue| ue.supi != supi) {
                ues.push(Ue {
                    supi: supi.into(),
                    state: context["state"].as_str().unwrap_or_default().into(),
                    gnb: context["gnb"].as_str().unwrap_or_default().into(),
                    address: String::new(),
                    bits: [0.0; 2],
                    packets: [0.0; 2],
                    bytes: [0; 2],
                    drops: 0,
                    reasons: String::new(),
                    waiting: 0,
                });
            }
        }
        ues.sort_by(|a, b| (&a.supi, &a.address).cmp(&(&b.supi, &b.address)));
        match order {
            Order::Rate => ues.sort_by(|a, b| {
                let rate = |ue: &Ue| ue.bits[0] + ue.bits[1];
                rate(b).total_cmp(&rate(a)).then_with(|| b.bytes.cmp(&a.bytes))
            }),
            Order::Drops => ues.sort_by_key(|ue| std::cmp::Reverse(ue.drops)),
            Order::Ue => ues.sort_by(|a, b| a.address.cmp(&b.address)),
            Order::Imsi => {}
        }
        ues
    }

    /// The lines about all packets.
    pub fn head(&self) -> Vec<String> {
        let counter = |name: &'static str| move |value: &Value| number(&value["counters"][name]);
        let direction = |name: &str, packets, octets| {
            format!(
                "{name} {}pkt/s {}bit/s",
                short(self.rate(counter(packets))),
                short(self.rate(counter(octets)) * 8.0)
            )
        };
        let drops = |value: &Value| total(&value["drops"]);
        let latency = |q: &str| match self.now["latencyNs"][q].as_u64() {
            Some(ns) => format!("{q} < {ns} ns"),
            None => format!("{q} ?"),
        };
        let mut lines = vec![
            format!(
                "UPF {}   sessions {}   {}   {}",
                self.now["datapath"].as_str().unwrap_or("?"),
                self.now["sessionCount"],
                direction("up", "uplink_packets", "uplink_bytes"),
                direction("down", "downlink_packets", "downlink_bytes"),
            ),
            format!(
                "dropped {} in all, {}/s   left to the kernel {}   time {}, {}",
                drops(&self.now),
                short(self.rate(drops)).trim_end(),
                number(&self.now["counters"]["passed_packets"]),
                latency("p50"),
                latency("p99"),
            ),
        ];
        let tables = self.tables().into_iter();
        let tables: Vec<String> =
            tables.map(|(name, used, capacity)| format!("{name} {used}/{capacity}")).collect();
        lines.push(format!(
            "tables {}",
            if tables.is_empty() { "empty".into() } else { tables.join("  ") }
        ));
        if let Some(board) = board(&self.now["board"]) {
            lines.push(board);
        }
        if let Some(governor) = self.now["governor"]["state"].as_str() {
            lines.push(format!("governor {governor}"));
        }
        lines
    }

    /// Reasons of drops, in all and per second; the most frequent first.
    pub fn reasons(&self) -> Vec<(String, u64, f64)> {
        let mut reasons: Vec<(String, u64, f64)> = self.now["drops"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(reason, n)| {
                (
                    reason.clone(),
                    number(n),
                    self.rate(|value| number(&value["drops"][reason.as_str()])),
                )
            })
            .collect();
        reasons.sort_by_key(|(_, n, _)| std::cmp::Reverse(*n));
        reasons
    }

    /// All figures as text.
    pub fn text(&self, order: Order, max_ues: usize) -> String {
        let mut out = self.head().join("\n");
        let reasons = self.reasons().into_iter().map(|(reason, n, rate)| {
            vec![reason, n.to_string(), short(rate).trim_end().to_string()]
        });
        let reasons = table_with_numbers(&["REASON", "DROPPED", "PER SECOND"], 1..3, reasons);
        let ues = self.ues(order);
        let rows = ues.iter().take(max_ues).map(|ue| {
            let [up, down] = ue.bits.map(short);
            let [up_packets, down_packets] = ue.packets.map(short);
            let (waiting, drops) = (ue.waiting.to_string(), ue.drops.to_string());
            let (address, imsi) = (ue.address.clone(), ue.imsi().to_string());
            let reasons = ue.reasons.clone();
            vec![address, imsi, up, down, up_packets, down_packets, waiting, drops, reasons]
        });
        let header = [
            "UE",
            "IMSI",
            "UP bit/s",
            "DOWN bit/s",
            "UP pkt/s",
            "DOWN pkt/s",
            "WAITING",
            "DROPPED",
            "REASONS",
        ];
        let ues = table_with_numbers(&header, 2..8, rows);
        out.push_str(&format!("\n\n{reasons}\n\n{ues}\n"));
        out
    }
}

impl Ue {
    /// The digits of the IMSI; `-` if it is not known.
    pub fn imsi(&self) -> &str {
        match self.supi.as_str() {
            "" => "-",
            supi => supi.strip_prefix("imsi-").unwrap_or(supi),
        }
    }
}

/// What a function has, in words.
fn details(name: &str, status: &Value) -> String {
    let count = |pointer: &str| number(status.pointer(pointer).unwrap_or(&Value::Null));
    let length = |member: &str| status[member].as_array().map_or(0, Vec::len);
    match name {
        "amf" => format!(
            "{} gNBs, {} UEs registered, {} connected",
            length("gnbs"),
            count("/ues/registered"),
            count("/ues/connected")
        ),
        "smf" => {
            let upfs = status["upfs"].as_array().into_iter().flatten();
            let associated = upfs.filter(|upf| upf["associated"] == true).count();
            format!(
                "{} sessions, {associated} of {} UPFs associated",
                count("/sessions"),
                length("upfs")
            )
        }
        "upf" => format!(
            "{}, {} sessions",
            status["datapath"].as_str().unwrap_or("?"),
            count("/sessionCount")
        ),
        "udr" => format!("{} subscribers", count("/subscribers")),
        "nrf" => format!("{} functions registered", length("registered")),
        _ => String::new(),
    }
}

fn board(board: &Value) -> Option<String> {
    let mut parts = Vec::new();
    let mut part = |name: &str, unit: &str, digits: usize, factor: f64| {
        if let Some(value) = board[name].as_f64() {
            parts.push(format!("{name} {:.digits$} {unit}", value * factor));
        }
    };
    part("cpu", "%", 0, 100.0);
    part("memory", "%", 0, 100.0);
    part("temperature", "°C", 1, 1.0);
    part("frequency", "MHz", 0, 1e-6);
    part("power", "W", 2, 1.0);
    (!parts.is_empty()).then(|| format!("board {}", parts.join("  ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn reading(bytes: u64, gate: u64) -> Reading {
        let status = serde_json::json!({
            "nfs": [
                {"name": "amf", "authority": "127.0.0.9:7777", "status": {"gnbs": [{}], "ues": {
                    "registered": 2, "connected": 1, "first": [
                        {"supi": "imsi-1", "state": "registered, connected", "gnb": "gnb-1"},
                        {"supi": "imsi-2", "state": "registered, idle"}]}}},
                {"name": "smf", "status": {"sessions": 2, "upfs": [{"associated": true}]}},
            ],
            "processes": [{"name": "amf", "state": "running", "restarts": 0},
                {"name": "lmf", "state": "restarting", "restarts": 3, "lastExit": "signal: 9"}],
        });
        let gnbs = serde_json::json!([{"id": "00101-000001", "name": "gnb-1", "deviates": true,
            "trackingAreas": [{"plmn": "00101", "tac": 1}], "connected_ues": 1,
            "receivedMessages": bytes / 1000}]);
        let user_plane = serde_json::json!({
            "datapath": "xdp", "sessionCount": 2,
            "counters": {"uplink_packets": bytes / 100, "uplink_bytes": bytes},
            "drops": {"gate": gate}, "tables": [{"table": "rules", "used": 4, "capacity": 256}],
            "latencyNs": {"p50": 128, "p99": null}, "board": {"temperature": 51.5},
            "sessions": [
                {"seid": "0x1", "ue": "10.45.0.2", "uplink": {"bytes": 5, "packets": 1},
                 "downlink": {}, "drops": {}},
                {"seid": "0x2", "ue": "10.45.0.3", "supi": "imsi-1",
                 "uplink": {"bytes": bytes, "packets": bytes / 100},
                 "downlink": {"bytes": 0, "packets": 0}, "drops": {"gate": gate}, "waiting": 3},
            ],
        });
        Reading { user_plane, status, gnbs }
    }

    #[test]
    fn functions_gnbs_and_ues_are_joined_from_a_status() {
        let (start, mut figures) = (Instant::now(), Figures::default());
        figures.update(reading(0, 1), start);
        figures.update(reading(1_000_000, 21), start + Duration::from_secs(2));
        let functions = figures.functions();
        let first = &functions[0];
        assert_eq!((first.name.as_str(), first.is_running, first.restarts), ("lmf", false, 3));
        let amf = functions.iter().find(|function| function.name == "amf").unwrap();
        assert_eq!(amf.details, "1 gNBs, 2 UEs registered, 1 connected");
        let gnb = &figures.gnbs()[0];
        assert_eq!((gnb.ues, gnb.messages, gnb.deviates), (1, 500.0, true));
        assert_eq!(gnb.tracking_areas, "00101-1");
        let ues = figures.ues(Order::Imsi);
        let row = |ue: &Ue| (ue.imsi().to_string(), ue.state.clone(), ue.address.clone());
        assert_eq!(
            ues.iter().map(row).collect::<Vec<_>>(),
            [
                ("-".into(), "".into(), "10.45.0.2".into()),
                ("1".into(), "registered, connected".into(), "10.45.0.3".into()),
                ("2".into(), "registered, idle".into(), "".into()),
            ]
        );
        assert_eq!(figures.counts(), [1, 2, 1, 2]);
        assert_eq!(figures.history().last(), Some(&[4e6, 0.0, 10.0]));
    }

    #[test]
    fn gnbs_and_upfs_have_the_throughput_of_their_lines() {
        let reading = |ms: u64, megabytes: u64| {
            let both = serde_json::json!({"uplink": megabytes * 1_000_000, "downlink": 0});
            let mut reading = reading(0, 0);
            reading.status["nfs"] = serde_json::json!([
                {"name": "amf", "status": {"gnbs": [{"id": "00101-000001", "idBits": 24}]}},
                {"name": "smf", "status": {"upfs": [{"n4": "127.0.0.8:8805", "associated": true},
                    {"n4": "10.9.9.9:8805", "associated": true}], "gtpuPeers": {"cells":
                        {"10.0.0.1": {"plmn": "00101", "cell": "000001010"}}}}},
                {"name": "upf", "status": {"n4": "127.0.0.8", "sessionCount": 3, "counters": {},
                    "volumes": {"atMs": ms, "access": {"10.0.0.1": both},
                        "networks": {"internet": both}}}},
            ]);
            reading
        };
        let (start, mut figures) = (Instant::now(), Figures::default());
        figures.update(reading(1000, 1), start);
        figures.update(reading(3000, 3), start + Duration::from_secs(2));
        assert_eq!(figures.gnbs()[0].bits, Some([8e6, 0.0]));
        let upfs = figures.upfs();
        let own = upfs[0].traffic.as_ref().expect("figures");
        assert_eq!((own.sessions, own.networks.as_str()), (3, "internet ↑ 8.0 M ↓ 0"));
        assert!(upfs[1].is_associated && upfs[1].traffic.is_none(), "of another vendor");
    }

    #[test]
    fn rates_are_computed_from_two_readings() {
        let start = Instant::now();
        let mut figures = Figures::default();
        figures.update(reading(0, 1), start);
        assert!(
            figures.ues(Order::Rate).iter().all(|ue| ue.bits == [0.0; 2]),
            "one reading has no rates"
        );
        figures.update(reading(1_000_000, 21), start + Duration::from_secs(2));
        let ues = figures.ues(Order::Rate);
        assert_eq!(
            (ues[0].address.as_str(), ues[0].bits, ues[0].packets),
            ("10.45.0.3", [4e6, 0.0], [5000.0, 0.0])
        );
        assert_eq!(figures.reasons(), [("gate".to_string(), 21, 10.0)]);
        let text = figures.text(Order::Rate, 1);
        assert!(
            text.starts_with(
                "UPF xdp   sessions 2   up 5.0 kpkt/s 4.0 Mbit/s   down 0 pkt/s 0 bit/s\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("p50 < 128 ns, p99 ?\ntables rules 4/256\nboard temperature 51.5 °C\n"),
            "{text}"
        );
        assert!(text.contains("gate         21          10\n"), "{text}");
        assert!(text.contains("10.45.0.3") && text.ends_with("gate 21\n"), "{text}");
        assert!(!text.contains("10.45.0.2"), "the number of UEs is limited to 1");
    }
}
