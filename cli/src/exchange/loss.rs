//! The fields that an import or an export does not carry.
use martlet_store::Subscriber;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// Fields that are not carried, and the subscribers that have them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Losses {
    /// By field: the number of subscribers, and the first of them.
    fields: BTreeMap<String, (u64, String)>,
    /// Barred subscribers, which are not imported at all.
    barred: u64,
}

impl Losses {
    /// Adds a field of a subscriber.
    pub fn add(&mut self, supi: &str, field: &str) {
        let (count, _) = self.fields.entry(field.into()).or_insert((0, supi.into()));
        *count += 1;
    }

    /// Adds a barred subscriber. Martlet cannot bar one, so it is left out: otherwise it would get
    /// service.
    pub(super) fn add_barred(&mut self, supi: &str, field: &str) {
        self.add(supi, field);
        self.barred += 1;
    }

    /// Adds what is left of a document after its fields have been taken out. Values that mean
    /// nothing, such as 0 and an empty list, are left out.
    pub(super) fn add_rest(&mut self, supi: &str, rest: &Value) {
        let mut fields = Vec::new();
        collect(rest, "", &mut fields);
        fields.dedup();
        fields.iter().for_each(|field| self.add(supi, field));
    }

    /// Adds the fields of a subscriber that differ after an export.
    pub(super) fn add_difference(&mut self, subscriber: &Subscriber, exported: &Subscriber) {
        let (Ok(one), Ok(other)) = (canonical(subscriber), canonical(exported)) else {
            return self.add(&subscriber.supi, "the whole subscriber");
        };
        let mut fields = Vec::new();
        compare(&one, &other, "", &mut fields);
        fields.sort();
        fields.dedup();
        fields.iter().for_each(|field| self.add(&subscriber.supi, field));
    }

    /// Whether all fields are carried.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (field, (count, first))) in self.fields.iter().enumerate() {
            let line = if n == 0 { "" } else { "\n" };
            match count {
                1 => write!(f, "{line}  {field}: {first}")?,
                _ => write!(f, "{line}  {field}: {count} subscribers, such as {first}")?,
            }
        }
        if self.barred > 0 {
            write!(f, "\n  {} barred subscribers are left out", self.barred)?;
        }
        Ok(())
    }
}

/// The paths of values that mean something.
fn collect(value: &Value, path: &str, fields: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Number(number) if number.as_f64() == Some(0.0) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{path}[]"), fields);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(member, &path, fields);
            }
        }
        _ => fields.push(path.into()),
    }
}

/// The subscriber as JSON, where equal subscriptions are equal: bit rates in bit/s, slices and data
/// networks in order, and no key that TUAK does not use.
pub(super) fn canonical(subscriber: &Subscriber) -> serde_json::Result<Value> {
    let mut subscriber = subscriber.clone();
    subscriber.slices.sort_by_key(|slice| (slice.sst, slice.sd));
    for slice in &mut subscriber.slices {
        slice.dnns.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let mut value = serde_json::to_value(&subscriber)?;
    if let (Some(tuak), Some(members)) = (&subscriber.tuak, value.as_object_mut()) {
        members.remove("opc");
        if tuak.key.is_some() {
            members.remove("key");
        }
    }
    rates(&mut value);
    Ok(value)
}

fn rates(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str().filter(|_| name.starts_with("ambr_")).and_then(bits) {
                    Some(bits) => *member = bits.into(),
                    None => rates(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rates),
        _ => {}
    }
}

/// A bit rate in bit/s.
pub(super) fn bits(rate: &str) -> Option<f64> {
    let (amount, unit) = rate.split_once(' ')?;
    let power = ["bps", "Kbps", "Mbps", "Gbps", "Tbps"].iter().position(|name| *name == unit)?;
    Some((amount.parse::<f64>().ok()? * 1000f64.powi(power as i32)).round())
}

fn compare(one: &Value, other: &Value, path: &str, fields: &mut Vec<String>) {
    let below = |name: &str| match path.is_empty() {
        true => name.to_string(),
        false => format!("{path}.{name}"),
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let missing = Value::Null;
            let value = |of: &Map<String, Value>, name: &str| {
                of.get(name).cloned().unwrap_or(missing.clone())
            };
            for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
                compare(&value(one, name), &value(other, name), &below(name), fields);
            }
        }
        (Value::Array(one), Value::Array(other))
            if one.len() == other.len() && one.iter().chain(other).all(Value::is_object) =>
        {
            for (one, other) in one.iter().zip(other) {
                compare(one, other, &format!("{path}[]"), fields);
            }
        }
        _ if one == other => {}
        _ => fields.push(path.into()),
    }
}
