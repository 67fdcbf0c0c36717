//! A document of Open5GS's collection `subscribers`.
use super::{opc, secret};
use anyhow::{Context, Result, bail};
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice, Subscriber};
use serde_json::{Value, json};

/// Units of bit rates, by their numbers.
const UNITS: [&str; 5] = ["bps", "Kbps", "Mbps", "Gbps", "Tbps"];

/// A number in JSON or in MongoDB's extended JSON.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let inner = value.as_object()?.values().next()?;
        inner.as_u64().or_else(|| inner.as_str()?.parse().ok())
    })
}

fn rate(value: &Value) -> Result<String> {
    if value.is_null() {
        return Ok(martlet_store::DEFAULT_AMBR.into());
    }
    let amount = number(&value["value"]).context("a bit rate has no value")?;
    let unit = UNITS
        .get(number(&value["unit"]).unwrap_or(0) as usize)
        .context("a bit rate's unit is not 0 to 4")?;
    Ok(format!("{amount} {unit}"))
}

pub fn read(document: &Value) -> Result<Subscriber> {
    let imsi = document["imsi"].as_str().context("a document has no imsi")?;
    one(document, imsi).with_context(|| format!("imsi {imsi}"))
}

fn one(document: &Value, imsi: &str) -> Result<Subscriber> {
    let security = &document["security"];
    let key = secret(security["k"].as_str().unwrap_or(""), "K")?;
    let opc = opc(&key, security["opc"].as_str(), security["op"].as_str())?;
    let mut subscriber = Subscriber::new(&format!("imsi-{imsi}"), key, opc, "internet");
    if let Some(amf) = security["amf"].as_str() {
        subscriber.amf = u16::from_str_radix(amf, 16)
            .context("security.amf is not 4 hexadecimal digits")?
            .to_be_bytes();
    }
    subscriber.sqn = number(&security["sqn"]).unwrap_or(0);
    subscriber.msisdn =
        document["msisdn"].as_array().and_then(|all| all.first()?.as_str()).map(str::to_string);
    subscriber.ambr_downlink = rate(&document["ambr"]["downlink"])?;
    subscriber.ambr_uplink = rate(&document["ambr"]["uplink"])?;
    let slices = document["slice"].as_array().context("slice is missing")?;
    subscriber.slices = slices.iter().map(slice).collect::<Result<_>>()?;
    // Open5GS uses the first slice if none is marked as default.
    if !subscriber.slices.iter().any(|slice| slice.default)
        && let Some(first) = subscriber.slices.first_mut()
    {
        first.default = true;
    }
    Ok(subscriber)
}

fn slice(value: &Value) -> Result<SubscribedSlice> {
    let sst =
        number(&value["sst"]).and_then(|sst| sst.try_into().ok()).context("a slice has no sst")?;
    let sd = match value["sd"].as_str() {
        Some(text) => {
            Some(u32::from_str_radix(text, 16).context("a slice's sd is not hexadecimal")?)
        }
        None => None,
    };
    let sessions = value["session"].as_array().map_or(&[][..], Vec::as_slice);
    let dnns = sessions
        .iter()
        .enumerate()
        .map(|(n, value)| dnn(value, n == 0))
        .collect::<Result<Vec<_>>>()?;
    Ok(SubscribedSlice {
        sst,
        sd,
        default: value["default_indicator"].as_bool().unwrap_or(false),
        dnns,
    })
}

fn dnn(value: &Value, default: bool) -> Result<SubscribedDnn> {
    let mut dnn = SubscribedDnn::new(value["name"].as_str().context("a session has no name")?);
    dnn.default = default;
    dnn.session_types = match number(&value["type"]).unwrap_or(3) {
        1 => vec![SessionType::Ipv4],
        2 => vec![SessionType::Ipv6],
        3 => vec![SessionType::Ipv4v6, SessionType::Ipv4, SessionType::Ipv6],
        other => bail!("a session's type is {other}: 1 to 3 are known"),
    };
    dnn.ambr_downlink = rate(&value["ambr"]["downlink"])?;
    dnn.ambr_uplink = rate(&value["ambr"]["uplink"])?;
    dnn.five_qi =
        number(&value["qos"]["index"]).and_then(|index| index.try_into().ok()).unwrap_or(9);
    let priority = number(&value["qos"]["arp"]["priority_level"]);
    dnn.arp_priority = priority.and_then(|level| level.try_into().ok()).unwrap_or(8);
    let address = |name: &str| {
        value["ue"][name].as_str().or(value["ue"][name.replace("addr", "ipv4")].as_str())
    };
    dnn.static_ipv4 =
        address("addr").map(str::parse).transpose().context("ue.addr is not an IPv4 address")?;
    dnn.static_ipv6 = value["ue"]["addr6"]
        .as_str()
        .map(str::parse)
        .transpose()
        .context("ue.addr6 is not an IPv6 address")?;
    Ok(dnn)
}

/// The highest bit rate up to the given one that is a whole number of a unit.
fn unrate(text: &str) -> Value {
    let (amount, unit) = text.split_once(' ').unwrap_or((text, "bps"));
    let unit = UNITS.iter().position(|name| *name == unit).unwrap_or(0);
    let amount: f64 = amount.parse().unwrap_or(0.0);
    match amount.fract() == 0.0 || unit == 0 {
        true => json!({"value": amount as u64, "unit": unit}),
        false => json!({"value": (amount * 1000.0) as u64, "unit": unit - 1}),
    }
}

pub fn write(subscriber: &Subscriber) -> Value {
    let session = |dnn: &SubscribedDnn| {
        let kind = match dnn.session_types.first() {
            Some(SessionType::Ipv4) => 1,
            Some(SessionType::Ipv6) => 2,
            _ => 3,
        };
        let arp = json!({
            "priority_level": dnn.arp_priority, "pre_emption_capability": 1,
            "pre_emption_vulnerability": 1,
        });
        let mut session = json!({
            "name": dnn.name, "type": kind, "qos": {"index": dnn.five_qi, "arp": arp},
            "ambr": {"downlink": unrate(&dnn.ambr_downlink), "uplink": unrate(&dnn.ambr_uplink)},
            "pcc_rule": [],
        });
        if let Some(address) = dnn.static_ipv4 {
            session["ue"]["addr"] = address.to_string().into();
        }
        if let Some(address) = dnn.static_ipv6 {
            session["ue"]["addr6"] = address.to_string().into();
        }
        session
    };
    let slice = |slice: &SubscribedSlice| {
        let sessions: Vec<Value> = slice.dnns.iter().map(session).collect();
        let mut value =
            json!({"sst": slice.sst, "default_indicator": slice.default, "session": sessions});
        if let Some(sd) = slice.sd {
            value["sd"] = format!("{sd:06x}").into();
        }
        value
    };
    let [a, b] = subscriber.amf;
    json!({
        "schema_version": 1,
        "imsi": subscriber.supi.trim_start_matches("imsi-"),
        "msisdn": subscriber.msisdn.iter().collect::<Vec<_>>(),
        "security": {"k": subscriber.key.to_hex(), "opc": subscriber.opc.to_hex(), "op": null,
            "amf": format!("{a:02x}{b:02x}"), "sqn": {"$numberLong": subscriber.sqn.to_string()}},
        "ambr": {
            "downlink": unrate(&subscriber.ambr_downlink),
            "uplink": unrate(&subscriber.ambr_uplink),
        },
        "slice": subscriber.slices.iter().map(slice).collect::<Vec<_>>(),
        "access_restriction_data": 32, "subscriber_status": 0, "network_access_mode": 0,
        "subscribed_rau_tau_timer": 12,
    })
}
