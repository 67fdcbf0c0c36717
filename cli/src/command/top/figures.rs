//! Figures and rates from two readings of the UPF.
use super::Order;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Instant;

/// The latest reading, and the one before.
#[derive(Default)]
pub struct Figures {
    now: Value,
    before: Value,
    at: Option<Instant>,
    seconds: f64,
}

/// The figures of a UE.
pub struct Ue {
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
    pub fn update(&mut self, answer: Value, at: Instant) {
        self.seconds = self.at.map_or(0.0, |before| at.duration_since(before).as_secs_f64());
        self.before = std::mem::replace(&mut self.now, answer);
        self.at = Some(at);
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
                Ue {
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
        match order {
            Order::Rate => ues.sort_by(|a, b| {
                let rate = |ue: &Ue| ue.bits[0] + ue.bits[1];
                rate(b).total_cmp(&rate(a)).then_with(|| b.bytes.cmp(&a.bytes))
            }),
            Order::Drops => ues.sort_by_key(|ue| std::cmp::Reverse(ue.drops)),
            Order::Ue => {}
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
        let tables = self.now["tables"].as_array().into_iter().flatten();
        let tables: Vec<String> = tables
            .filter(|table| number(&table["used"]) > 0)
            .map(|t| {
                format!("{} {}/{}", t["table"].as_str().unwrap_or("?"), t["used"], t["capacity"])
            })
            .collect();
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
        out.push_str("\n\nREASON              DROPPED      PER SECOND\n");
        for (reason, n, rate) in self.reasons() {
            out.push_str(&format!("{reason:<18} {n:>8} {:>15}\n", short(rate).trim_end()));
        }
        out.push_str(
            "\nUE                     UP bit/s  DOWN bit/s  UP pkt/s  DOWN pkt/s  WAITING   \
             DROPPED\n",
        );
        for ue in self.ues(order).iter().take(max_ues) {
            out.push_str(&format!(
                "{:<20} {:>10} {:>11} {:>9} {:>11} {:>8} {:>9}  {}\n",
                ue.address,
                short(ue.bits[0]),
                short(ue.bits[1]),
                short(ue.packets[0]),
                short(ue.packets[1]),
                ue.waiting,
                ue.drops,
                ue.reasons
            ));
        }
        out
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

    fn reading(bytes: u64, gate: u64) -> Value {
        serde_json::json!({
            "datapath": "xdp", "sessionCount": 2,
            "counters": {"uplink_packets": bytes / 100, "uplink_bytes": bytes},
            "drops": {"gate": gate}, "tables": [{"table": "rules", "used": 4, "capacity": 256}],
            "latencyNs": {"p50": 128, "p99": null}, "board": {"temperature": 51.5},
            "sessions": [
                {"seid": "0x1", "ue": "10.45.0.2", "uplink": {"bytes": 5, "packets": 1},
                 "downlink": {}, "drops": {}},
                {"seid": "0x2", "ue": "10.45.0.3",
                 "uplink": {"bytes": bytes, "packets": bytes / 100},
                 "downlink": {"bytes": 0, "packets": 0}, "drops": {"gate": gate}, "waiting": 3},
            ],
        })
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
        assert!(text.contains("gate                     21              10\n"), "{text}");
        assert!(text.contains("10.45.0.3") && text.ends_with("gate 21\n"), "{text}");
        assert!(!text.contains("10.45.0.2"), "the number of UEs is limited to 1");
    }
}
