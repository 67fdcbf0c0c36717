//! Subscribers as the API writes and reads them. Keys are written and never read back.
use crate::problem::Failure;
use martlet_store::{Secret, SubscribedDnn, SubscribedSlice, Subscriber};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// What a report shows in place of a key.
const HIDDEN: &str = "(hidden)";

fn default_rate() -> String {
    martlet_store::DEFAULT_AMBR.into()
}
fn default_types() -> Vec<String> {
    vec!["IPV4".into()]
}
fn default_modes() -> Vec<u8> {
    vec![1]
}
fn nine() -> u8 {
    9
}
fn eight() -> u8 {
    8
}

/// A data network of a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataNetworkSubscription {
    /// DNN.
    #[schema(example = "internet")]
    pub name: String,
    /// Whether it is used for requests without a DNN.
    #[serde(default)]
    pub default: bool,
    /// Allowed session types; the first is the default: `IPV4`, `IPV6`, `IPV4V6`, `ETHERNET`,
    /// `UNSTRUCTURED`.
    #[serde(default = "default_types")]
    pub session_types: Vec<String>,
    /// Session AMBR uplink.
    #[serde(default = "default_rate")]
    #[schema(example = "100 Mbps")]
    pub ambr_uplink: String,
    /// Session AMBR downlink.
    #[serde(default = "default_rate")]
    #[schema(example = "100 Mbps")]
    pub ambr_downlink: String,
    /// 5QI of the default flow.
    #[serde(default = "nine")]
    #[schema(minimum = 1)]
    pub five_qi: u8,
    /// ARP priority level.
    #[serde(default = "eight")]
    #[schema(minimum = 1, maximum = 15)]
    pub arp_priority: u8,
    /// Static IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_ipv4: Option<String>,
    /// An address of the static /64 prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_ipv6: Option<String>,
    /// Allowed SSC modes; the first is the default.
    #[serde(default = "default_modes")]
    pub ssc_modes: Vec<u8>,
    /// Framed routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub framed_routes: Vec<String>,
    /// User plane security policy: `{"integrity": "required", "ciphering": "preferred"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub up_security: Option<Value>,
}

/// A slice of a subscriber.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSubscription {
    /// Slice or service type.
    #[schema(example = 1)]
    pub sst: u8,
    /// Slice differentiator: six hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0000a7", pattern = "^[0-9a-fA-F]{6}$")]
    pub sd: Option<String>,
    /// Whether it is used for requests without an S-NSSAI.
    #[serde(default)]
    pub default: bool,
    /// Data networks.
    pub dnns: Vec<DataNetworkSubscription>,
}

/// A subscriber as it is read: without keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriberView {
    /// `imsi-` and 14 or 15 digits, or `nai-` and a network-specific identifier.
    #[schema(example = "imsi-001010000000001")]
    pub supi: String,
    /// MSISDN in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "491700000001")]
    pub msisdn: Option<String>,
    /// `5G_AKA` or `EAP_AKA_PRIME`.
    #[serde(default = "five_g_aka")]
    pub authentication_method: String,
    /// UE AMBR uplink.
    pub ambr_uplink: String,
    /// UE AMBR downlink.
    pub ambr_downlink: String,
    /// Slices.
    pub slices: Vec<SliceSubscription>,
    /// Service area restriction: `{"allowed": [TAC]}` or `{"not_allowed": [TAC]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub service_area: Option<Value>,
    /// Groups for administration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["sensors"]))]
    pub groups: Vec<String>,
}

fn five_g_aka() -> String {
    "5G_AKA".into()
}

/// A subscriber as it is written. A change without keys keeps them.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "supi": "imsi-001010000000001", "key": "00112233445566778899aabbccddeeff",
    "opc": "ffeeddccbbaa99887766554433221100",
    "slices": [{"sst": 1, "default": true, "dnns": [{"name": "internet", "default": true}]}]
}))]
pub struct SubscriberBody {
    /// `imsi-` and 14 or 15 digits, or `nai-` and a network-specific identifier.
    #[schema(pattern = "^(imsi-[0-9]{14,15}|nai-.+@.+)$")]
    pub supi: String,
    /// MSISDN in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{5,15}$")]
    pub msisdn: Option<String>,
    /// K: 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, write_only, pattern = "^[0-9a-fA-F]{32}$")]
    pub key: Option<Zeroizing<String>>,
    /// OPc: 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, write_only, pattern = "^[0-9a-fA-F]{32}$")]
    pub opc: Option<Zeroizing<String>>,
    /// OP, from which OPc is derived, in place of `opc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, write_only, pattern = "^[0-9a-fA-F]{32}$")]
    pub op: Option<Zeroizing<String>>,
    /// Authentication management field: 4 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only, pattern = "^[0-9a-fA-F]{4}$", example = "8000")]
    pub amf: Option<String>,
    /// `5G_AKA` or `EAP_AKA_PRIME`.
    #[serde(default = "five_g_aka")]
    pub authentication_method: String,
    /// UE AMBR uplink.
    #[serde(default = "default_rate")]
    pub ambr_uplink: String,
    /// UE AMBR downlink.
    #[serde(default = "default_rate")]
    pub ambr_downlink: String,
    /// Slices.
    pub slices: Vec<SliceSubscription>,
    /// Service area restriction: `{"allowed": [TAC]}` or `{"not_allowed": [TAC]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub service_area: Option<Value>,
    /// Groups for administration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["sensors"]))]
    pub groups: Vec<String>,
}

fn key(name: &str, text: &str) -> Result<Secret, Failure> {
    Secret::from_hex(text)
        .ok_or_else(|| Failure::field(name, "not a key", "write 32 hexadecimal digits"))
}

/// Reads JSON into a type of the store. An error names the field.
fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        Failure::field(&path, error.inner().to_string(), "see /api/v1/openapi.json")
    })
}

impl SubscriberBody {
    /// The subscriber, checked. What the body does not have, such as keys, is that of `existing`.
    pub fn subscriber(&self, existing: Option<&Subscriber>) -> Result<Subscriber, Failure> {
        let k = match (&self.key, existing) {
            (Some(text), _) => key("key", text)?,
            (None, Some(existing)) => existing.key.clone(),
            (None, None) => {
                return Err(Failure::field("key", "K is missing", "write 32 hexadecimal digits"));
            }
        };
        let opc = match (&self.opc, &self.op, existing) {
            (Some(_), Some(_), _) => {
                return Err(Failure::field("op", "OPc is there too", "write one of opc and op"));
            }
            (Some(text), None, _) => key("opc", text)?,
            (None, Some(text), _) => Secret(martlet_security::aka::opc(&k.0, &key("op", text)?.0)),
            (None, None, Some(existing)) => existing.opc.clone(),
            (None, None, None) => {
                return Err(Failure::field("opc", "OPc is missing", "write opc or op"));
            }
        };
        let mut value = json!({
            "supi": self.supi, "key": k, "opc": opc,
            "authentication_method": self.authentication_method,
            "ambr_uplink": self.ambr_uplink, "ambr_downlink": self.ambr_downlink,
            "slices": self.slices, "msisdn": self.msisdn, "service_area": self.service_area,
            "groups": self.groups,
        });
        if let Value::Object(members) = &mut value {
            members.retain(|_, member| !member.is_null());
        }
        let mut subscriber: Subscriber = read(value)?;
        if let Some(existing) = existing {
            subscriber.amf = existing.amf;
            subscriber.sqn = existing.sqn;
            subscriber.tuak = existing.tuak.clone();
        }
        if let Some(text) = &self.amf {
            let mut amf = [0; 2];
            hex::decode_to_slice(text, &mut amf).map_err(|_| {
                Failure::field("amf", "not a management field", "write 4 hexadecimal digits")
            })?;
            subscriber.amf = amf;
        }
        subscriber.check().map_err(|invalid| {
            let place = place(&subscriber, invalid.field);
            Failure::from(martlet_store::StoreError::from(invalid)).with_fields(|_| place.clone())
        })?;
        Ok(subscriber)
    }
}

/// A field with the numbers of the slice and the data network that it is in: those that are wrong
/// alone, too.
fn place(subscriber: &Subscriber, field: &str) -> String {
    let Some(rest) = field.strip_prefix("slices.") else { return field.into() };
    let is_wrong = |slice: SubscribedSlice| {
        let alone = Subscriber { slices: vec![slice], ..subscriber.clone() };
        alone.check().is_err_and(|invalid| invalid.field == field)
    };
    for (n, slice) in subscriber.slices.iter().enumerate() {
        let alone = SubscribedSlice { default: true, ..slice.clone() };
        if !is_wrong(alone.clone()) {
            continue;
        }
        let Some(of_network) = rest.strip_prefix("dnns.") else {
            return format!("slices[{n}].{rest}");
        };
        let is_wrong = |dnn: &SubscribedDnn| {
            let dnn = SubscribedDnn { default: true, ..dnn.clone() };
            is_wrong(SubscribedSlice { dnns: vec![dnn], ..alone.clone() })
        };
        return match slice.dnns.iter().position(is_wrong) {
            Some(m) => format!("slices[{n}].dnns[{m}].{of_network}"),
            None => format!("slices[{n}].dnns"),
        };
    }
    field.into()
}

/// The word of a value in JSON.
fn word(value: &impl Serialize) -> Result<String, Failure> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Ok(word),
        _ => Err(Failure::unavailable("a subscriber cannot be shown")),
    }
}

fn json_of<T: Serialize>(value: &Option<T>) -> Option<Value> {
    value.as_ref().and_then(|value| serde_json::to_value(value).ok())
}

/// All but keys and the sequence number.
pub fn view(subscriber: &Subscriber) -> Result<SubscriberView, Failure> {
    let network = |dnn: &SubscribedDnn| {
        Ok(DataNetworkSubscription {
            name: dnn.name.clone(),
            default: dnn.default,
            session_types: dnn.session_types.iter().map(word).collect::<Result<_, _>>()?,
            ambr_uplink: dnn.ambr_uplink.clone(),
            ambr_downlink: dnn.ambr_downlink.clone(),
            five_qi: dnn.five_qi,
            arp_priority: dnn.arp_priority,
            static_ipv4: dnn.static_ipv4.map(|address| address.to_string()),
            static_ipv6: dnn.static_ipv6.map(|address| address.to_string()),
            ssc_modes: dnn.ssc_modes.clone(),
            framed_routes: dnn.framed_routes.clone(),
            up_security: json_of(&dnn.up_security),
        })
    };
    let slice = |slice: &SubscribedSlice| {
        Ok(SliceSubscription {
            sst: slice.sst,
            sd: slice.sd.map(|sd| format!("{sd:06x}")),
            default: slice.default,
            dnns: slice.dnns.iter().map(network).collect::<Result<_, Failure>>()?,
        })
    };
    Ok(SubscriberView {
        supi: subscriber.supi.clone(),
        msisdn: subscriber.msisdn.clone(),
        authentication_method: word(&subscriber.authentication_method)?,
        ambr_uplink: subscriber.ambr_uplink.clone(),
        ambr_downlink: subscriber.ambr_downlink.clone(),
        slices: subscriber.slices.iter().map(slice).collect::<Result<_, Failure>>()?,
        service_area: json_of(&subscriber.service_area),
        groups: subscriber.groups.clone(),
    })
}

/// What an entity tag is made of: all but the sequence number, which each authentication advances.
pub fn tagged(subscriber: &Subscriber) -> Value {
    let value = serde_json::to_value(Subscriber { sqn: 0, ..subscriber.clone() });
    value.unwrap_or_default()
}

/// The fields that differ, with both values; of keys the names alone.
pub fn differences(before: &Subscriber, after: &Subscriber) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    compare(&json!(view(before)?), &json!(view(after)?), "", &mut found);
    let (before, after) = (tagged(before), tagged(after));
    let keys = ["key", "opc", "tuak"].into_iter().filter(|field| before[field] != after[field]);
    found.extend(keys.map(|field| json!({"field": field, "before": HIDDEN, "after": HIDDEN})));
    Ok(found)
}

/// The fields that differ, with both values.
fn compare(before: &Value, after: &Value, path: &str, found: &mut Vec<Value>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&before[key], &after[key], &path, found);
            }
        }
        (Value::Array(one), Value::Array(other))
            if one.len() == other.len() && one.iter().all(Value::is_object) =>
        {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                compare(one, other, &format!("{path}[{n}]"), found);
            }
        }
        _ => found.push(json!({"field": path, "before": before, "after": after})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(change: impl FnOnce(&mut Value)) -> Result<Subscriber, Failure> {
        let mut value = json!({
            "supi": "imsi-001010000000001", "key": "00112233445566778899aabbccddeeff",
            "opc": "ffeeddccbbaa99887766554433221100",
            "slices": [{"sst": 1, "default": true, "dnns": [{"name": "internet"}]}],
        });
        change(&mut value);
        let body: SubscriberBody = serde_json::from_value(value).unwrap();
        body.subscriber(None)
    }

    #[test]
    fn a_wrong_field_is_named_with_its_remedy() {
        let field = |change: fn(&mut Value)| {
            let failure = body(change).unwrap_err();
            assert!(failure.problem().remedy.is_some());
            failure.problem().field.clone().unwrap()
        };
        assert_eq!(field(|v| v["key"] = "12".into()), "key");
        assert_eq!(field(|v| v["supi"] = "imsi-1".into()), "supi");
        assert_eq!(field(|v| v["slices"][0]["sd"] = "x".into()), "slices[0].sd");
        assert_eq!(
            field(|v| v["slices"][0]["dnns"][0]["session_types"] = json!(["IPX"])),
            "slices[0].dnns[0].session_types[0]"
        );
        assert_eq!(
            field(|v| v["slices"][0]["dnns"][0]["five_qi"] = 0.into()),
            "slices[0].dnns[0].five_qi"
        );
        let second = json!([
            {"sst": 1, "default": true, "dnns": [{"name": "internet"}]},
            {"sst": 2, "dnns": [{"name": "internet"}, {"name": "ims", "arp_priority": 16}]},
        ]);
        let failure = body(|v| v["slices"] = second).unwrap_err();
        let field = failure.problem().field.as_deref();
        assert_eq!(field, Some("slices[1].dnns[1].arp_priority"));
    }

    /// The fields are copied one by one; a new one of the store must not be forgotten.
    #[test]
    fn a_view_has_all_but_keys_and_the_sequence_number() {
        let subscriber = body(|v| {
            v["msisdn"] = "491700000001".into();
            v["service_area"] = json!({"allowed": [1]});
            v["groups"] = json!(["sensors"]);
            v["authentication_method"] = "EAP_AKA_PRIME".into();
            v["slices"][0]["sd"] = "0000a7".into();
            let dnn = &mut v["slices"][0]["dnns"][0];
            dnn["static_ipv4"] = "10.45.0.9".into();
            dnn["static_ipv6"] = "fd00:45::1".into();
            dnn["session_types"] = json!(["IPV4V6", "ETHERNET"]);
            dnn["framed_routes"] = json!(["10.60.0.0/24"]);
            dnn["up_security"] = json!({"integrity": "required", "ciphering": "preferred"});
        })
        .unwrap();
        let mut stored = serde_json::to_value(&subscriber).unwrap();
        for hidden in ["key", "opc", "amf", "sqn"] {
            stored.as_object_mut().unwrap().remove(hidden).unwrap();
        }
        assert_eq!(serde_json::to_value(view(&subscriber).unwrap()).unwrap(), stored);
    }

    #[test]
    fn keys_are_not_read_back_and_stay_with_a_change() {
        let subscriber = body(|_| {}).unwrap();
        let shown = serde_json::to_string(&view(&subscriber).unwrap()).unwrap();
        assert!(!shown.contains("0011") && !shown.contains("ffee"), "{shown}");
        let view: Value = serde_json::from_str(&shown).unwrap();
        let changed: SubscriberBody = serde_json::from_value(view).unwrap();
        let changed = changed.subscriber(Some(&subscriber)).unwrap();
        assert_eq!((changed.key.clone(), changed.opc.clone()), (subscriber.key, subscriber.opc));
    }
}
