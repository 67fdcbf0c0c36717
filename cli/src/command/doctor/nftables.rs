//! Whether the rules of nftables drop a packet: an evaluation of `nft -j list ruleset`.
//!
//! A packet has the fields that are known from the configuration. A match on another field, such as
//! the sender's address, is undecided: a rule with one that drops is taken not to match, and one
//! that accepts makes the result uncertain.
use martlet_upf::rules::Prefix;
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;

/// Chains call each other at most so deep in the kernel.
const MAX_DEPTH: usize = 16;

/// Where in the kernel a packet is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Received for this machine.
    In,
    /// Forwarded.
    Through,
    /// Sent by this machine.
    Out,
}

impl Path {
    fn hooks(self) -> &'static [&'static str] {
        match self {
            Path::In => &["ingress", "prerouting", "input"],
            Path::Through => &["ingress", "prerouting", "forward", "postrouting"],
            Path::Out => &["output", "postrouting"],
        }
    }
}

/// A packet, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub path: Path,
    /// Name of the protocol above IP, such as `udp`.
    pub protocol: Option<&'static str>,
    pub source: Option<IpAddr>,
    pub destination: Option<IpAddr>,
    pub source_port: Option<u16>,
    pub destination_port: Option<u16>,
    pub received_on: Option<String>,
    pub sent_on: Option<String>,
    /// `new` or `established`.
    pub state: &'static str,
    pub is_ipv6: bool,
}

/// The base chain that drops a packet, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Family, table and name of the base chain, as `nft` has them.
    pub base: String,
    /// The chain of the rule that drops the packet, and its handle; `None` for the base chain's
    /// policy.
    pub rule: Option<(String, u64)>,
    /// No rule before it accepts packets of some senders.
    pub is_certain: bool,
}

/// The rules of a machine.
pub struct Ruleset(Vec<Value>);

/// The output of `nft` is not what was expected.
#[derive(Debug, PartialEq, Eq)]
pub struct NotARuleset;

impl fmt::Display for NotARuleset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`nft -j list ruleset` has no JSON as expected")
    }
}

/// A chain of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Chain<'a> {
    family: &'a str,
    table: &'a str,
    name: &'a str,
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.family, self.table, self.name)
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn chain_of<'a>(value: &'a Value, name: &str) -> Chain<'a> {
    Chain { family: text(value, "family"), table: text(value, "table"), name: text(value, name) }
}

/// What a chain does with a packet.
enum Verdict {
    Accept,
    Drop(Option<(String, u64)>),
    /// The rules of the chain are at their end.
    Continue,
}

/// A field of the packet.
enum Field {
    /// The packet has it with this value.
    Is(Known),
    /// The packet does not have it, so that no match on it holds.
    Absent,
    Undecided,
}

enum Known {
    Name(String),
    Number(u16),
    Address(IpAddr),
}

impl From<Option<Known>> for Field {
    fn from(value: Option<Known>) -> Field {
        value.map_or(Field::Undecided, Field::Is)
    }
}

impl Ruleset {
    /// Reads what `nft -j list ruleset` prints.
    pub fn parse(json: &str) -> Result<Ruleset, NotARuleset> {
        let value: Value = serde_json::from_str(json).map_err(|_| NotARuleset)?;
        match &value["nftables"] {
            Value::Array(objects) => Ok(Ruleset(objects.clone())),
            _ => Err(NotARuleset),
        }
    }

    fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter_map(move |object| object.get(kind))
    }

    /// What drops the packet.
    pub fn obstacle(&self, packet: &Packet) -> Option<Obstacle> {
        let hooks = packet.path.hooks();
        hooks.iter().find_map(|hook| {
            let mut bases: Vec<&Value> = self
                .all("chain")
                .filter(|chain| chain["hook"] == *hook && chain["type"] == "filter")
                .filter(|chain| applies(chain, packet) && !self.is_dormant(chain))
                .collect();
            bases.sort_by_key(|chain| chain["prio"].as_i64());
            bases.into_iter().find_map(|base| self.obstacle_in(base, packet))
        })
    }

    fn obstacle_in(&self, base: &Value, packet: &Packet) -> Option<Obstacle> {
        let chain = chain_of(base, "name");
        let mut walk = Walk { ruleset: self, packet, may_accept: false };
        let rule = match walk.chain(chain, 0) {
            Verdict::Accept => return None,
            Verdict::Drop(rule) => rule,
            Verdict::Continue if base["policy"] == "drop" => None,
            Verdict::Continue => return None,
        };
        Some(Obstacle { base: chain.to_string(), rule, is_certain: !walk.may_accept })
    }

    fn is_dormant(&self, chain: &Value) -> bool {
        let mut tables = self.all("table");
        tables.any(|table| {
            let flags = &table["flags"];
            let is_its = table["family"] == chain["family"] && table["name"] == chain["table"];
            is_its && (flags == "dormant" || has(flags, |flag| flag == "dormant"))
        })
    }

    /// Elements of a set or map by its name with `@`.
    fn elements(&self, chain: Chain<'_>, name: &str) -> Option<&Vec<Value>> {
        let name = name.strip_prefix('@')?;
        let is_it = |set: &&Value| chain_of(set, "name") == Chain { name, ..chain };
        let set = self.all("set").chain(self.all("map")).find(is_it)?;
        set["elem"].as_array()
    }
}

fn has(list: &Value, is_it: impl Fn(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(is_it))
}

/// Whether a base chain sees the packet.
fn applies(base: &Value, packet: &Packet) -> bool {
    match text(base, "family") {
        "ip" => !packet.is_ipv6,
        "ip6" => packet.is_ipv6,
        // Older versions do not say of which device it is.
        "inet" | "netdev" if base["hook"] == "ingress" => {
            let is_it = |device: &Value| device.as_str() == packet.received_on.as_deref();
            base["dev"].is_string() && is_it(&base["dev"]) || has(&base["dev"], is_it)
        }
        "inet" => true,
        _ => false,
    }
}

struct Walk<'a> {
    ruleset: &'a Ruleset,
    packet: &'a Packet,
    /// A rule would accept packets with some values of fields that are not known.
    may_accept: bool,
}

impl Walk<'_> {
    fn chain(&mut self, chain: Chain<'_>, depth: usize) -> Verdict {
        let ruleset = self.ruleset;
        for rule in ruleset.all("rule").filter(|rule| chain_of(rule, "chain") == chain) {
            match self.rule(chain, rule, depth) {
                Some(Verdict::Continue) => return Verdict::Continue,
                Some(verdict) => return verdict,
                None => {}
            }
        }
        Verdict::Continue
    }

    /// `None` if the next rule follows.
    fn rule(&mut self, chain: Chain<'_>, rule: &Value, depth: usize) -> Option<Verdict> {
        let mut is_certain = true;
        for statement in rule["expr"].as_array()? {
            let (key, content) = statement.as_object()?.iter().next()?;
            match key.as_str() {
                "match" => match self.matches(chain, content) {
                    Some(true) => {}
                    Some(false) => return None,
                    None => is_certain = false,
                },
                "vmap" => {
                    let verdict = match self.verdict_of(chain, content) {
                        Some(Some(verdict)) => verdict,
                        Some(None) => continue,
                        None => {
                            self.may_accept = true;
                            continue;
                        }
                    };
                    return self.verdict(chain, rule, &verdict, is_certain, depth);
                }
                "accept" | "drop" | "reject" | "return" | "jump" | "goto" | "queue" => {
                    return self.verdict(chain, rule, statement, is_certain, depth);
                }
                "counter" | "log" | "mangle" | "notrack" | "ct helper" | "flow" | "continue" => {}
                // A limit, a set that grows, a match of iptables.
                _ => is_certain = false,
            }
        }
        None
    }

    /// Carries out a verdict. `None` if the next rule follows.
    fn verdict(
        &mut self,
        chain: Chain<'_>,
        rule: &Value,
        verdict: &Value,
        is_certain: bool,
        depth: usize,
    ) -> Option<Verdict> {
        let (key, content) = verdict.as_object()?.iter().next()?;
        let outcome = match key.as_str() {
            "accept" | "queue" => Verdict::Accept,
            "drop" | "reject" => {
                Verdict::Drop(Some((chain.to_string(), rule["handle"].as_u64().unwrap_or(0))))
            }
            "return" => Verdict::Continue,
            "jump" | "goto" if depth < MAX_DEPTH => {
                let target = Chain { name: text(content, "target"), ..chain };
                match (self.chain(target, depth + 1), key.as_str()) {
                    (Verdict::Continue, "jump") => return None,
                    (outcome, _) => outcome,
                }
            }
            _ => return None,
        };
        if is_certain {
            return Some(outcome);
        }
        // Only some packets get here: what is accepted for them may be dropped for others.
        self.may_accept |= !matches!(outcome, Verdict::Drop(_));
        None
    }

    /// The verdict of a map for the packet: `Some(None)` if it has none, `None` if undecided.
    fn verdict_of(&self, chain: Chain<'_>, map: &Value) -> Option<Option<Value>> {
        let value = match self.field(&map["key"]) {
            Field::Is(value) => value,
            Field::Absent => return Some(None),
            Field::Undecided => return None,
        };
        let data = &map["data"];
        let elements = match data.as_str() {
            Some(name) => self.ruleset.elements(chain, name)?,
            None => data["set"].as_array()?,
        };
        let mut is_decided = true;
        for element in elements {
            match self.equals(chain, &value, &element[0]) {
                Some(true) => return Some(Some(element[1].clone())),
                Some(false) => {}
                None => is_decided = false,
            }
        }
        is_decided.then_some(None)
    }

    /// Whether a match holds; `None` if that depends on what is not known of the packet.
    fn matches(&self, chain: Chain<'_>, content: &Value) -> Option<bool> {
        let value = match self.field(&content["left"]) {
            Field::Is(value) => value,
            Field::Absent => return Some(false),
            Field::Undecided => return None,
        };
        let equals = self.equals(chain, &value, &content["right"])?;
        match text(content, "op") {
            "==" | "in" => Some(equals),
            "!=" => Some(!equals),
            _ => None,
        }
    }

    fn field(&self, left: &Value) -> Field {
        let packet = self.packet;
        let name = |text: &str| Known::Name(text.into());
        let interface = |name: &Option<String>| Field::from(name.clone().map(Known::Name));
        let meta = text(&left["meta"], "key");
        let (protocol, field) =
            (text(&left["payload"], "protocol"), text(&left["payload"], "field"));
        match (meta, protocol, field) {
            ("iif" | "iifname", ..) if packet.path == Path::Out => Field::Absent,
            ("iif" | "iifname", ..) => interface(&packet.received_on),
            ("oif" | "oifname", ..) if packet.path == Path::In => Field::Absent,
            ("oif" | "oifname", ..) => interface(&packet.sent_on),
            ("l4proto", ..) | (_, "ip", "protocol") | (_, "ip6", "nexthdr")
                if !(protocol == "ip" && packet.is_ipv6
                    || protocol == "ip6" && !packet.is_ipv6) =>
            {
                packet.protocol.map(name).into()
            }
            ("nfproto", ..) => Field::Is(name(if packet.is_ipv6 { "ipv6" } else { "ipv4" })),
            ("protocol", ..) => Field::Is(name(if packet.is_ipv6 { "ip6" } else { "ip" })),
            (_, "ip", _) if packet.is_ipv6 => Field::Absent,
            (_, "ip6", _) if !packet.is_ipv6 => Field::Absent,
            (_, "ip" | "ip6", "saddr") => packet.source.map(Known::Address).into(),
            (_, "ip" | "ip6", "daddr") => packet.destination.map(Known::Address).into(),
            (_, "tcp" | "udp" | "sctp" | "udplite" | "dccp" | "icmp" | "icmpv6", _)
                if packet.protocol.is_some_and(|it| it != protocol) =>
            {
                Field::Absent
            }
            (_, "tcp" | "udp" | "sctp" | "th", "sport") => {
                packet.source_port.map(Known::Number).into()
            }
            (_, "tcp" | "udp" | "sctp" | "th", "dport") => {
                packet.destination_port.map(Known::Number).into()
            }
            _ if left["ct"]["key"] == "state" => Field::Is(name(packet.state)),
            _ => Field::Undecided,
        }
    }

    /// Whether a value is the one on the right side of a match, or in its set.
    fn equals(&self, chain: Chain<'_>, value: &Known, right: &Value) -> Option<bool> {
        let any = |items: &Vec<Value>| {
            let results = items.iter().map(|item| self.equals(chain, value, item));
            let results: Vec<Option<bool>> = results.collect();
            match results.contains(&Some(true)) {
                true => Some(true),
                false => (!results.contains(&None)).then_some(false),
            }
        };
        match right {
            Value::Array(items) => return any(items),
            Value::String(set) if set.starts_with('@') => {
                return any(self.ruleset.elements(chain, set)?);
            }
            Value::Object(object) => {
                let (kind, content) = object.iter().next()?;
                return match kind.as_str() {
                    "set" => any(content.as_array()?),
                    "elem" => self.equals(chain, value, &content["val"]),
                    "range" => in_range(value, &content[0], &content[1]),
                    "prefix" => in_prefix(value, content),
                    _ => None,
                };
            }
            _ => {}
        }
        match value {
            Known::Name(name) => {
                let right = right.as_str()?;
                Some(match right.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => name == right,
                })
            }
            Known::Number(number) => Some(u64::from(*number) == right.as_u64()?),
            Known::Address(ip) => Some(*ip == address(right)?),
        }
    }
}

fn address(value: &Value) -> Option<IpAddr> {
    value.as_str()?.parse().ok()
}

fn in_range(value: &Known, low: &Value, high: &Value) -> Option<bool> {
    match value {
        Known::Number(number) => {
            Some((low.as_u64()?..=high.as_u64()?).contains(&u64::from(*number)))
        }
        Known::Address(ip) => Some((address(low)?..=address(high)?).contains(ip)),
        Known::Name(_) => None,
    }
}

fn in_prefix(value: &Known, prefix: &Value) -> Option<bool> {
    let Known::Address(ip) = value else { return None };
    let length = u8::try_from(prefix["len"].as_u64()?).ok()?;
    Some(Prefix::of(address(&prefix["addr"])?, length).contains(*ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn packet(protocol: &'static str, port: u16) -> Packet {
        Packet {
            path: Path::In,
            protocol: Some(protocol),
            source: None,
            destination: Some("192.168.7.10".parse().unwrap()),
            source_port: None,
            destination_port: Some(port),
            received_on: Some("eth0".into()),
            sent_on: None,
            state: "new",
            is_ipv6: false,
        }
    }

    /// A base chain of the hook input with rules of these statements.
    fn input(policy: &str, rules: &[Value]) -> Ruleset {
        let chain = json!({"family": "inet", "table": "filter", "name": "input", "hook": "input",
            "type": "filter", "prio": 0, "policy": policy});
        let set = json!({"family": "inet", "table": "filter", "name": "cells",
            "elem": [{"prefix": {"addr": "192.168.0.0", "len": 16}}]});
        let rule = |(number, expr): (usize, &Value)| {
            json!({"rule": {"family": "inet", "table": "filter", "chain": "input",
                "handle": number + 1, "expr": expr}})
        };
        let mut all = vec![json!({"chain": chain}), json!({"set": set})];
        all.extend(rules.iter().enumerate().map(rule));
        all.push(
            json!({"rule": {"family": "inet", "table": "filter", "chain": "gtp", "handle": 99,
            "expr": [{"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field":
            "dport"}}, "right": {"set": [2152, {"range": [8800, 8810]}]}}}, {"drop": null}]}}),
        );
        Ruleset::parse(&json!({"nftables": all}).to_string()).unwrap()
    }

    fn equal(left: Value, right: Value) -> Value {
        json!({"match": {"op": "==", "left": left, "right": right}})
    }

    fn port(protocol: &str) -> Value {
        json!({"payload": {"protocol": protocol, "field": "dport"}})
    }

    fn handle(ruleset: &Ruleset, packet: &Packet) -> Option<(u64, bool)> {
        let obstacle = ruleset.obstacle(packet)?;
        Some((obstacle.rule.map_or(0, |(_, handle)| handle), obstacle.is_certain))
    }

    /// Policy, rules, and what is found: the handle of a rule, and whether it drops for sure.
    type Case = (&'static str, Vec<Value>, Option<(u64, bool)>);

    #[test]
    fn the_first_rule_that_decides_is_found() {
        let (drop, accept) = (json!({"drop": null}), json!({"accept": null}));
        let name = |name: &str| json!({"meta": {"key": name}});
        let state = json!({"ct": {"key": "state"}});
        let established = json!({"vmap": {"key": state, "data": {"set": [["established",
            {"accept": null}], ["invalid", {"drop": null}]]}}});
        let source = json!({"payload": {"protocol": "ip", "field": "saddr"}});
        let destination = json!({"payload": {"protocol": "ip", "field": "daddr"}});
        let cases: Vec<Case> = vec![
            ("accept", vec![], None),
            ("drop", vec![], Some((0, true))),
            ("drop", vec![json!([established])], Some((0, true))),
            ("accept", vec![json!([equal(port("udp"), json!(8805)), drop])], Some((1, true))),
            ("accept", vec![json!([equal(port("tcp"), json!(8805)), drop])], None),
            ("accept", vec![json!([{"jump": {"target": "gtp"}}])], Some((99, true))),
            ("drop", vec![json!([equal(name("iifname"), json!("eth*")), accept])], None),
            ("drop", vec![json!([equal(name("iif"), json!("lo")), accept])], Some((0, true))),
            ("drop", vec![json!([equal(destination.clone(), json!("@cells")), accept])], None),
            // It depends on the sender.
            (
                "drop",
                vec![json!([equal(source.clone(), json!("10.0.0.1")), accept])],
                Some((0, false)),
            ),
            ("accept", vec![json!([equal(source, json!("10.0.0.1")), drop])], None),
            ("accept", vec![json!([{"limit": {"rate": 5}}, drop])], None),
            ("accept", vec![json!([{"xt": null}, drop])], None),
            (
                "accept",
                vec![json!([equal(name("l4proto"), json!({"set": ["udp", "tcp"]})),
                {"counter": {}}, {"reject": null}])],
                Some((1, true)),
            ),
            (
                "accept",
                vec![json!([{"match": {"op": "!=", "left": destination, "right":
                {"range": ["192.168.7.1", "192.168.7.9"]}}}, drop])],
                Some((1, true)),
            ),
        ];
        for (policy, rules, expected) in cases {
            let found = handle(&input(policy, &rules), &packet("udp", 8805));
            assert_eq!(found, expected, "{policy} {rules:?}");
        }
    }

    #[test]
    fn chains_of_other_hooks_families_and_devices_are_not_seen() {
        let chain = |family: &str, hook: &str, more: Value| {
            let mut chain = json!({"family": family, "table": "t", "name": "c", "hook": hook,
                "type": "filter", "prio": 0, "policy": "drop"});
            for (key, value) in more.as_object().unwrap() {
                chain[key] = value.clone();
            }
            let all = json!({"nftables": [{"table": {"family": family, "name": "t", "flags":
                more["flags"]}}, {"chain": chain}]});
            Ruleset::parse(&all.to_string()).unwrap().obstacle(&packet("sctp", 38412)).is_some()
        };
        assert!(chain("ip", "input", json!({})) && chain("inet", "prerouting", json!({})));
        assert!(!chain("ip6", "input", json!({})) && !chain("ip", "forward", json!({})));
        assert!(!chain("ip", "input", json!({"type": "nat"})));
        assert!(!chain("ip", "input", json!({"flags": ["dormant"]})));
        assert!(chain("netdev", "ingress", json!({"dev": "eth0"})));
        assert!(!chain("netdev", "ingress", json!({"dev": ["eth1"]})));
        assert!(!chain("netdev", "ingress", json!({})));
        assert_eq!(Ruleset::parse("{}").err(), Some(NotARuleset));
    }
}
