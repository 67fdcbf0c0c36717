//! Rates of the user plane: by UPF, and by line between UPFs, gNBs and data networks.
//!
//! A UPF counts bytes since its start. A rate is the growth between two polls by the clock of that
//! UPF. A UPF that does not report to this core, such as one of another vendor, has no rates.
use crate::core_status::of_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;
use utoipa::ToSchema;

/// The interface of a line (TS 23.501, 4.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineInterface {
    /// Between a gNB and a UPF.
    N3,
    /// Between a UPF and a data network.
    N6,
    /// Between two UPFs.
    N9,
}

/// Throughput of a line of the picture: bytes of IP packets or frames, without tunnel headers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LineFigures {
    /// The interface.
    pub interface: LineInterface,
    /// N4 address of the UPF; on N9, of the one that is nearer to the gNB.
    #[schema(example = "127.0.0.8:8805")]
    pub upf: String,
    /// The other end: on N3 the identity of the gNB, or the address of an unknown one; on N6 the
    /// data network; on N9 the N4 address of the UPF behind it, or the N9 address of an unknown
    /// one.
    #[schema(example = "00101-000001")]
    pub peer: String,
    /// Bits per second from UEs.
    pub uplink_bps: f64,
    /// Bits per second to UEs.
    pub downlink_bps: f64,
}

/// Rates of a UPF.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UpfRates {
    /// Bits per second from and to UEs.
    pub bps: [f64; 2],
    /// Packets per second from and to UEs.
    pub pps: [f64; 2],
    /// Dropped packets per second.
    pub drops_per_s: f64,
    /// Sessions.
    pub sessions: u64,
}

/// Rates of the user plane.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traffic {
    /// By the IP address of N4.
    pub upfs: BTreeMap<String, UpfRates>,
    /// All lines of those UPFs.
    pub lines: Vec<LineFigures>,
    /// Bits per second from and to UEs of all UPFs. What passes two of them counts once.
    pub bps: [f64; 2],
    /// Dropped packets per second of all UPFs.
    pub drops_per_s: f64,
}

/// A side of a UPF, as its status names it.
type Side = &'static str;
const ACCESS: Side = "access";
const NETWORKS: Side = "networks";
const CORE_UPFS: Side = "upfs";

type LineBytes = BTreeMap<(Side, String), [u64; 2]>;
type LineRates = BTreeMap<(Side, String), [f64; 2]>;

/// The counters of a UPF at a poll.
struct Sample {
    /// By which a restart is noticed.
    recovery: u64,
    at: Instant,
    /// Bytes from and to UEs, packets from and to UEs, and drops.
    counters: [u64; 5],
    rates: [f64; 5],
    /// Of the lines, milliseconds since the UPF's start.
    lines_at_ms: u64,
    lines: LineBytes,
    line_rates: LineRates,
}

/// The last sample of each UPF.
#[derive(Default)]
pub struct Sampler(HashMap<String, Sample>);

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// The IP address of a socket address.
pub fn ip_of(address: &str) -> String {
    address.parse::<std::net::SocketAddr>().map_or_else(|_| address.into(), |a| a.ip().to_string())
}

fn bytes_of_lines(upf: &Value) -> LineBytes {
    let mut all = LineBytes::new();
    for side in [ACCESS, NETWORKS, CORE_UPFS] {
        for (end, line) in upf["volumes"][side].as_object().into_iter().flatten() {
            let bytes = [number(&line["uplink"]), number(&line["downlink"])];
            all.insert((side, end.clone()), bytes);
        }
    }
    all
}

impl Sample {
    /// The sample of a UPF's status, with rates since `before`.
    fn take(upf: &Value, before: Option<&Sample>, at: Instant) -> Self {
        let counter = |name: &str| number(&upf["counters"][name]);
        let drops = upf["drops"].as_object().into_iter().flatten().map(|(_, n)| number(n)).sum();
        let counters = [
            counter("uplink_bytes"),
            counter("downlink_bytes"),
            counter("uplink_packets"),
            counter("downlink_packets"),
            drops,
        ];
        let recovery = number(&upf["recovery"]);
        let lines = bytes_of_lines(upf);
        let lines_at_ms = number(&upf["volumes"]["atMs"]);
        let mut sample = Sample {
            recovery,
            at,
            counters,
            rates: [0.0; 5],
            lines_at_ms,
            lines,
            line_rates: LineRates::new(),
        };
        let Some(before) = before else { return sample };
        let is_same_run = before.recovery == recovery;
        let seconds = at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
        for (n, rate) in sample.rates.iter_mut().enumerate() {
            let start = if is_same_run { before.counters[n] } else { 0 };
            *rate = counters[n].saturating_sub(start) as f64 / seconds;
        }
        if is_same_run && lines_at_ms == before.lines_at_ms {
            sample.line_rates.clone_from(&before.line_rates);
            return sample;
        }
        let start_ms = if is_same_run { before.lines_at_ms } else { 0 };
        let seconds = (lines_at_ms.saturating_sub(start_ms) as f64 / 1e3).max(0.001);
        for (line, now) in &sample.lines {
            let start = before.lines.get(line).filter(|_| is_same_run).copied().unwrap_or_default();
            let rate = |n: usize| 8.0 * now[n].saturating_sub(start[n]) as f64 / seconds;
            sample.line_rates.insert(line.clone(), [rate(0), rate(1)]);
        }
        sample
    }
}

/// The gNB to which a cell belongs: the first bits of the NR cell identity are the gNB's (TS
/// 38.413, 9.3.1.7).
fn gnb_of_cell(cell: &Value, gnbs: &[Value]) -> Option<String> {
    let nr_cell = u64::from_str_radix(cell["cell"].as_str()?, 16).ok()?;
    let plmn = cell["plmn"].as_str()?;
    gnbs.iter().find_map(|gnb| {
        let id = gnb["id"].as_str()?;
        let bits = gnb["idBits"].as_u64().filter(|bits| (22..=32).contains(bits))?;
        let (of_plmn, value) = id.split_once('-')?;
        let value = u64::from_str_radix(value, 16).ok()?;
        (of_plmn == plmn && nr_cell >> (36 - bits) == value).then(|| id.to_string())
    })
}

impl Sampler {
    /// Takes a status.
    pub fn take(&mut self, status: &Value) -> Traffic {
        let at = Instant::now();
        for upf in of_all(status, "upf").filter(|upf| upf["counters"].is_object()) {
            let n4 = text(&upf["n4"]);
            let sample = Sample::take(upf, self.0.get(&n4), at);
            // One that is missing now may be back at the next poll.
            self.0.insert(n4, sample);
        }
        self.traffic(status)
    }

    fn traffic(&self, status: &Value) -> Traffic {
        let mut traffic = Traffic::default();
        let names = Names::read(status);
        let counting: HashSet<String> = of_all(status, "upf").map(|upf| text(&upf["n4"])).collect();
        for upf in of_all(status, "upf") {
            let n4 = text(&upf["n4"]);
            let Some(sample) = self.0.get(&n4) else { continue };
            let [up, down, up_packets, down_packets, drops_per_s] = sample.rates;
            let bps = [8.0 * up, 8.0 * down];
            let pps = [up_packets, down_packets];
            let sessions = number(&upf["sessionCount"]);
            traffic.bps = [traffic.bps[0] + bps[0], traffic.bps[1] + bps[1]];
            traffic.drops_per_s += drops_per_s;
            let own = names.n4_of(&n4);
            for ((side, end), rates) in &sample.line_rates {
                let line = |interface, upf: String, peer: String| LineFigures {
                    interface,
                    upf,
                    peer,
                    uplink_bps: rates[0],
                    downlink_bps: rates[1],
                };
                let line = match (*side, names.upf_at(end)) {
                    (ACCESS, Some(before)) => {
                        if counting.contains(&ip_of(&before)) {
                            // The UPF before this one has counted it, too.
                            traffic.bps[0] -= rates[0];
                            traffic.bps[1] -= rates[1];
                            continue;
                        }
                        line(LineInterface::N9, before, own.clone())
                    }
                    (ACCESS, None) => line(LineInterface::N3, own.clone(), names.gnb_at(end)),
                    (NETWORKS, _) => line(LineInterface::N6, own.clone(), end.clone()),
                    (_, behind) => {
                        line(LineInterface::N9, own.clone(), behind.unwrap_or_else(|| end.clone()))
                    }
                };
                add(&mut traffic.lines, line);
            }
            traffic.upfs.insert(n4, UpfRates { bps, pps, drops_per_s, sessions });
        }
        // Two readings that belong together are some milliseconds apart.
        traffic.bps = traffic.bps.map(|bps| bps.max(0.0));
        traffic
            .lines
            .sort_by(|a, b| (a.interface, &a.upf, &a.peer).cmp(&(b.interface, &b.upf, &b.peer)));
        traffic
    }
}

/// Adds a line. A gNB with two addresses has one line.
fn add(lines: &mut Vec<LineFigures>, line: LineFigures) {
    let is_same = |a: &&mut LineFigures| {
        (a.interface, &a.upf, &a.peer) == (line.interface, &line.upf, &line.peer)
    };
    match lines.iter_mut().find(is_same) {
        Some(known) => {
            known.uplink_bps += line.uplink_bps;
            known.downlink_bps += line.downlink_bps;
        }
        None => lines.push(line),
    }
}

/// Who has which address.
struct Names {
    /// The N4 address with its port, by IP address.
    n4: HashMap<String, String>,
    /// The N4 address of a UPF by its GTP-U address.
    upfs: HashMap<String, String>,
    /// The identity of a gNB by its GTP-U address.
    gnbs: HashMap<String, String>,
}

impl Names {
    fn read(status: &Value) -> Self {
        let empty = Vec::new();
        let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
        let gnbs: Vec<Value> = of_all(status, "amf").flat_map(|amf| list(&amf["gnbs"])).collect();
        let mut names = Names { n4: HashMap::new(), upfs: HashMap::new(), gnbs: HashMap::new() };
        for smf in of_all(status, "smf") {
            for upf in smf["upfs"].as_array().unwrap_or(&empty) {
                let n4 = text(&upf["n4"]);
                names.n4.insert(ip_of(&n4), n4);
            }
            for (address, n4) in smf["gtpuPeers"]["upfs"].as_object().into_iter().flatten() {
                names.upfs.insert(address.clone(), text(n4));
            }
            for (address, cell) in smf["gtpuPeers"]["cells"].as_object().into_iter().flatten() {
                if let Some(gnb) = gnb_of_cell(cell, &gnbs) {
                    names.gnbs.insert(address.clone(), gnb);
                }
            }
        }
        for upf in of_all(status, "upf") {
            let n4 = names.n4_of(&text(&upf["n4"]));
            for address in upf["n3"].as_array().unwrap_or(&empty) {
                names.upfs.insert(text(address), n4.clone());
            }
        }
        // An address that a gNB has used is not a UPF's.
        names.upfs.retain(|address, _| !names.gnbs.contains_key(address));
        names
    }

    fn n4_of(&self, ip: &str) -> String {
        self.n4.get(ip).cloned().unwrap_or_else(|| ip.to_string())
    }

    fn upf_at(&self, address: &str) -> Option<String> {
        self.upfs.get(address).cloned()
    }

    fn gnb_at(&self, address: &str) -> String {
        self.gnbs.get(address).cloned().unwrap_or_else(|| address.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MEGABYTE: u64 = 1_000_000;

    fn upf(n4: &str, recovery: u64, at_ms: u64, volumes: Value) -> Value {
        let mut volumes = volumes;
        volumes["atMs"] = at_ms.into();
        json!({"name": "upf", "status": {"n4": n4, "n3": [n4], "recovery": recovery,
            "counters": {"uplink_bytes": 0}, "drops": {}, "sessionCount": 1, "volumes": volumes}})
    }

    fn control_plane() -> [Value; 2] {
        let cell = |cell: &str| json!({"plmn": "00101", "cell": cell});
        [
            json!({"name": "amf", "status": {"gnbs": [
                {"id": "00101-000001", "idBits": 24}, {"id": "00101-000002", "idBits": 24}]}}),
            json!({"name": "smf", "status": {
                "upfs": [{"n4": "127.0.0.8:8805"}, {"n4": "127.0.0.9:8805"}],
                "gtpuPeers": {"upfs": {"127.0.0.9": "127.0.0.9:8805"},
                    "cells": {"10.0.0.1": cell("000001010"), "10.0.0.2": cell("000002010")}}}}),
        ]
    }

    fn status(upfs: &[Value]) -> Value {
        let all: Vec<Value> = control_plane().into_iter().chain(upfs.iter().cloned()).collect();
        json!({"nfs": all})
    }

    fn line(interface: LineInterface, upf: &str, peer: &str, mbps: [f64; 2]) -> LineFigures {
        LineFigures {
            interface,
            upf: upf.into(),
            peer: peer.into(),
            uplink_bps: 1e6 * mbps[0],
            downlink_bps: 1e6 * mbps[1],
        }
    }

    fn bytes(uplink: u64, downlink: u64) -> Value {
        json!({"uplink": uplink * MEGABYTE, "downlink": downlink * MEGABYTE})
    }

    #[test]
    fn lines_are_named_by_gnb_data_network_and_upf() {
        let mut sampler = Sampler::default();
        let at = |ms, n: u64| {
            let volumes = json!({"access": {"10.0.0.1": bytes(n, 2 * n), "10.0.0.7": bytes(0, n)},
                "networks": {"internet": bytes(n, n)}, "upfs": {"127.0.0.9": bytes(0, n)}});
            status(&[upf("127.0.0.8", 1, ms, volumes)])
        };
        assert!(sampler.take(&at(1000, 5)).lines.iter().all(|line| line.uplink_bps == 0.0));
        let lines = sampler.take(&at(3000, 7)).lines;
        let own = "127.0.0.8:8805";
        use LineInterface::{N3, N6, N9};
        assert_eq!(
            lines,
            [
                line(N3, own, "00101-000001", [8.0, 16.0]),
                line(N3, own, "10.0.0.7", [0.0, 8.0]),
                line(N6, own, "internet", [8.0, 8.0]),
                line(N9, own, "127.0.0.9:8805", [0.0, 8.0]),
            ]
        );
        // The UPF has not counted again.
        assert_eq!(sampler.take(&at(3000, 7)).lines, lines);
    }

    #[test]
    fn a_line_between_two_upfs_that_count_is_there_once() {
        let mut sampler = Sampler::default();
        let at = |ms, n: u64| {
            let near =
                json!({"access": {"10.0.0.2": bytes(n, 0)}, "upfs": {"127.0.0.9": bytes(n, 0)}});
            let far =
                json!({"access": {"127.0.0.8": bytes(n, 0)}, "networks": {"ims": bytes(n, 0)}});
            status(&[upf("127.0.0.8", 1, ms, near), upf("127.0.0.9", 1, ms, far)])
        };
        sampler.take(&at(1000, 1));
        let traffic = sampler.take(&at(2000, 2));
        use LineInterface::{N3, N6, N9};
        assert_eq!(
            traffic.lines,
            [
                line(N3, "127.0.0.8:8805", "00101-000002", [8.0, 0.0]),
                line(N6, "127.0.0.9:8805", "ims", [8.0, 0.0]),
                line(N9, "127.0.0.8:8805", "127.0.0.9:8805", [8.0, 0.0]),
            ]
        );
        assert_eq!(traffic.upfs.len(), 2);
    }

    #[test]
    fn a_restart_begins_at_zero_and_causes_no_absurd_rate() {
        let mut sampler = Sampler::default();
        let at = |recovery, ms, n: u64| {
            let volumes = json!({"access": {"10.0.0.1": bytes(n, n)}});
            status(&[upf("127.0.0.8", recovery, ms, volumes)])
        };
        sampler.take(&at(1, 60_000, 900));
        sampler.take(&at(1, 61_000, 901));
        let lines = sampler.take(&at(9, 500, 1)).lines;
        assert_eq!((lines[0].uplink_bps, lines[0].downlink_bps), (16e6, 16e6));
        assert!(sampler.take(&status(&[])).lines.is_empty());
        let lines = sampler.take(&at(9, 2500, 3)).lines;
        assert_eq!(lines[0].uplink_bps, 8e6, "after a poll without the UPF");
    }
}
