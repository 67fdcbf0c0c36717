//! Documents of free5GC's collections, with the types of TS 29.505 and TS 29.503, or a subscriber
//! of its web console.
use super::{hexadecimal, opc, secret};
use anyhow::{Context, Result};
use martlet_store::{
    AuthenticationMethod, SessionType, SubscribedDnn, SubscribedSlice, Subscriber,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The documents of a subscriber.
#[derive(Default)]
struct Parts<'a> {
    authentication: Option<&'a Value>,
    access: Option<&'a Value>,
    sessions: Vec<&'a Value>,
}

pub fn read(documents: &[Value]) -> Result<Vec<Subscriber>> {
    let mut all: BTreeMap<&str, Parts<'_>> = BTreeMap::new();
    for document in documents {
        let Some(supi) = document["ueId"].as_str() else { continue };
        let parts = all.entry(supi).or_default();
        // The web console has all parts in one document.
        let console = &document["AuthenticationSubscription"];
        if console.is_object() {
            parts.authentication = Some(console);
            parts.access = Some(&document["AccessAndMobilitySubscriptionData"]);
            parts.sessions.extend(
                document["SessionManagementSubscriptionData"].as_array().into_iter().flatten(),
            );
        } else if document["authenticationMethod"].is_string() {
            parts.authentication = Some(document);
        } else if document["dnnConfigurations"].is_object() {
            parts.sessions.push(document);
        } else if document["nssai"].is_object() {
            parts.access = Some(document);
        }
    }
    let known = all.iter().filter(|(_, parts)| parts.authentication.is_some());
    known.map(|(supi, parts)| one(supi, parts).with_context(|| supi.to_string())).collect()
}

fn one(supi: &str, parts: &Parts<'_>) -> Result<Subscriber> {
    let null = Value::Null;
    let authentication = parts.authentication.unwrap_or(&null);
    let text = |long: &str, short: &str| {
        authentication.pointer(long).or(authentication.get(short))?.as_str()
    };
    let key = secret(
        text("/permanentKey/permanentKeyValue", "encPermanentKey").unwrap_or(""),
        "the permanent key",
    )?;
    let op = authentication.pointer("/milenage/op/opValue").and_then(Value::as_str);
    let opc = opc(&key, text("/opc/opcValue", "encOpcKey"), op.or(text("/", "encTopcKey")))?;
    let mut subscriber = Subscriber::new(supi, key, opc, "internet");
    if authentication["authenticationMethod"].as_str() == Some("EAP_AKA_PRIME") {
        subscriber.authentication_method = AuthenticationMethod::EapAkaPrime;
    }
    if let Some(amf) = authentication["authenticationManagementField"].as_str() {
        let amf = u16::try_from(hexadecimal(amf, "the authentication management field")?);
        subscriber.amf =
            amf.context("the authentication management field has 16 bits")?.to_be_bytes();
    }
    let sequence = &authentication["sequenceNumber"];
    if let Some(sqn) = sequence.as_str().or(sequence["sqn"].as_str()) {
        subscriber.sqn = hexadecimal(sqn, "the sequence number")?;
    }
    let access = parts.access.unwrap_or(&null);
    let number = |gpsi: &Value| {
        Some(gpsi.as_str()?.strip_prefix("msisdn-")?.to_string()).filter(|n| !n.is_empty())
    };
    subscriber.msisdn = access["gpsis"].as_array().and_then(|all| all.iter().find_map(number));
    for (direction, rate) in
        [("uplink", &mut subscriber.ambr_uplink), ("downlink", &mut subscriber.ambr_downlink)]
    {
        if let Some(text) = access["subscribedUeAmbr"][direction].as_str() {
            *rate = text.into();
        }
    }
    let listed = |name: &str| access["nssai"][name].as_array().cloned().unwrap_or_default();
    let (defaults, others) = (listed("defaultSingleNssais"), listed("singleNssais"));
    let marked =
        defaults.iter().map(|slice| (slice, true)).chain(others.iter().map(|slice| (slice, false)));
    let mut slices: Vec<SubscribedSlice> = Vec::new();
    for (value, default) in marked {
        let (sst, sd) = slice(value)?;
        let of_slice = parts
            .sessions
            .iter()
            .find(|data| slice(&data["singleNssai"]).is_ok_and(|of| of == (sst, sd)));
        let dnns = of_slice.and_then(|data| data["dnnConfigurations"].as_object());
        let dnns = dnns
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(n, (name, value))| dnn(name, value, n == 0));
        let dnns = dnns.collect::<Result<Vec<_>>>()?;
        if !slices.iter().any(|known| (known.sst, known.sd) == (sst, sd)) && !dnns.is_empty() {
            slices.push(SubscribedSlice { sst, sd, default, dnns });
        }
    }
    if !slices.is_empty() {
        subscriber.slices = slices;
    }
    Ok(subscriber)
}

fn slice(value: &Value) -> Result<(u8, Option<u32>)> {
    let sst =
        value["sst"].as_u64().and_then(|sst| sst.try_into().ok()).context("a slice has no sst")?;
    let sd = value["sd"].as_str().filter(|text| !text.is_empty());
    Ok((sst, sd.map(|text| hexadecimal(text, "a slice's sd")).transpose()?.map(|sd| sd as u32)))
}

fn dnn(name: &str, value: &Value, default: bool) -> Result<SubscribedDnn> {
    let mut dnn = SubscribedDnn::new(name);
    dnn.default = default;
    let types = &value["pduSessionTypes"];
    let listed = types["allowedSessionTypes"].as_array().cloned().unwrap_or_default();
    let kind = |value: &Value| serde_json::from_value::<SessionType>(value.clone()).ok();
    let mut kinds: Vec<SessionType> = kind(&types["defaultSessionType"]).into_iter().collect();
    for other in listed.iter().filter_map(kind) {
        if !kinds.contains(&other) {
            kinds.push(other);
        }
    }
    if !kinds.is_empty() {
        dnn.session_types = kinds;
    }
    for (direction, rate) in
        [("uplink", &mut dnn.ambr_uplink), ("downlink", &mut dnn.ambr_downlink)]
    {
        if let Some(text) = value["sessionAmbr"][direction].as_str() {
            *rate = text.into();
        }
    }
    let qos = &value["5gQosProfile"];
    dnn.five_qi = qos["5qi"].as_u64().and_then(|five_qi| five_qi.try_into().ok()).unwrap_or(9);
    dnn.arp_priority =
        qos["arp"]["priorityLevel"].as_u64().and_then(|level| level.try_into().ok()).unwrap_or(8);
    let fixed = value["staticIpAddress"]
        .as_array()
        .and_then(|all| all.iter().find_map(|ip| ip["ipv4Addr"].as_str()));
    dnn.static_ipv4 =
        fixed.map(str::parse).transpose().context("a static address is not an IPv4 address")?;
    Ok(dnn)
}
