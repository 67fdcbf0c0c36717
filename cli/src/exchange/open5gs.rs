//! A document of Open5GS's collection `subscribers`. The keys are those of its `lib/proto/types.h`;
//! older names of addresses are read too.
use super::loss::Losses;
use super::{
    Sink, differentiator, imsi, management_field, management_text, number, opc, secret, take,
    take_list, take_text,
};
use anyhow::{Context, Result, bail};
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice, Subscriber};
use serde_json::{Value, json};

/// Units of bit rates, by their numbers.
const UNITS: [&str; 5] = ["bps", "Kbps", "Mbps", "Gbps", "Tbps"];

/// Members that describe the document or the UE's last attachment, not the subscription.
const IGNORED: [&str; 10] = [
    "/_id",
    "/__v",
    "/schema_version",
    "/imeisv",
    "/mme_host",
    "/mme_realm",
    "/mme_timestamp",
    "/purge_flag",
    "/security/rand",
    // Circuit-switched services, which 5G does not have.
    "/network_access_mode",
];

/// Values of members that mean nothing to a 5G core: what Open5GS writes by default.
const DEFAULTS: [(&str, u64); 2] =
    // Handover to non-3GPP access not allowed; and minutes of the periodic update in EPC.
    [("/access_restriction_data", 32), ("/subscribed_rau_tau_timer", 12)];

/// Pre-emption as Martlet has it: neither.
const NO_PRE_EMPTION: u64 = 1;

fn rate(mut value: Value) -> Result<String> {
    if value.is_null() {
        return Ok(martlet_store::DEFAULT_AMBR.into());
    }
    let amount = number(&take(&mut value, "/value")).context("a bit rate has no value")?;
    let unit = UNITS
        .get(number(&take(&mut value, "/unit")).unwrap_or(0) as usize)
        .context("a bit rate's unit is not 0 to 4")?;
    Ok(format!("{amount} {unit}"))
}

pub fn read(document: Value, each: &mut Sink<'_>, losses: &mut Losses) -> Result<()> {
    let imsi = document["imsi"].as_str().context("a document has no imsi")?.to_string();
    let supi = format!("imsi-{imsi}");
    let mut document = document;
    let barred = ["/subscriber_status", "/operator_determined_barring"]
        .into_iter()
        .find(|member| document.pointer(member).and_then(number).is_some_and(|value| value != 0));
    if let Some(barred) = barred {
        losses.add_barred(&supi, &barred[1..]);
        return Ok(());
    }
    let subscriber = one(&mut document, &supi, losses).with_context(|| format!("imsi {imsi}"))?;
    losses.add_rest(&supi, &document);
    each(subscriber)
}

fn one(document: &mut Value, supi: &str, losses: &mut Losses) -> Result<Subscriber> {
    take(document, "/imsi");
    for member in IGNORED {
        take(document, member);
    }
    for (member, default) in DEFAULTS {
        if document.pointer(member).and_then(number) == Some(default) {
            take(document, member);
        }
    }
    let key = secret(&take_text(document, "/security/k").unwrap_or_default(), "K")?;
    let (opc_text, op) =
        (take_text(document, "/security/opc"), take_text(document, "/security/op"));
    let opc = opc(&key, opc_text.as_deref(), op.as_deref())?;
    let mut subscriber = Subscriber::new(supi, key, opc, "internet");
    if let Some(amf) = take_text(document, "/security/amf") {
        subscriber.amf = management_field(&amf)?;
    }
    subscriber.sqn = number(&take(document, "/security/sqn")).unwrap_or(0);
    let mut numbers = take_list(document, "/msisdn").into_iter();
    subscriber.msisdn = numbers.next().and_then(|text| text.as_str().map(str::to_string));
    if numbers.next().is_some() {
        losses.add(supi, "msisdn[1]");
    }
    subscriber.ambr_downlink = rate(take(document, "/ambr/downlink"))?;
    subscriber.ambr_uplink = rate(take(document, "/ambr/uplink"))?;
    let slices = document["slice"].as_array_mut().context("slice is missing")?;
    subscriber.slices =
        slices.iter_mut().map(|value| slice(value, supi, losses)).collect::<Result<_>>()?;
    // Open5GS uses the first slice if none is marked as default.
    if !subscriber.slices.iter().any(|slice| slice.default)
        && let Some(first) = subscriber.slices.first_mut()
    {
        first.default = true;
    }
    Ok(subscriber)
}

fn slice(value: &mut Value, supi: &str, losses: &mut Losses) -> Result<SubscribedSlice> {
    let sst = number(&take(value, "/sst"))
        .and_then(|sst| sst.try_into().ok())
        .context("a slice has no sst")?;
    let sd = take_text(value, "/sd").map(|text| differentiator(&text)).transpose()?;
    let default = take(value, "/default_indicator").as_bool().unwrap_or(false);
    let sessions = value["session"].as_array_mut().map_or(&mut [][..], |all| all.as_mut_slice());
    let dnns = sessions
        .iter_mut()
        .enumerate()
        .map(|(n, value)| dnn(value, n == 0, supi, losses))
        .collect::<Result<Vec<_>>>()?;
    Ok(SubscribedSlice { sst, sd, default, dnns })
}

fn dnn(value: &mut Value, default: bool, supi: &str, losses: &mut Losses) -> Result<SubscribedDnn> {
    take(value, "/_id");
    let name = take_text(value, "/name").context("a session has no name")?;
    let mut dnn = SubscribedDnn { default, ..SubscribedDnn::new(&name) };
    dnn.session_types = match number(&take(value, "/type")).unwrap_or(3) {
        1 => vec![SessionType::Ipv4],
        2 => vec![SessionType::Ipv6],
        3 => vec![SessionType::Ipv4v6, SessionType::Ipv4, SessionType::Ipv6],
        4 => vec![SessionType::Unstructured],
        5 => vec![SessionType::Ethernet],
        other => bail!("a session's type is {other}: 1 to 5 are known"),
    };
    dnn.ambr_downlink = rate(take(value, "/ambr/downlink"))?;
    dnn.ambr_uplink = rate(take(value, "/ambr/uplink"))?;
    let small = |value: Value| number(&value).and_then(|number| u8::try_from(number).ok());
    dnn.five_qi = small(take(value, "/qos/index")).unwrap_or(dnn.five_qi);
    dnn.arp_priority = small(take(value, "/qos/arp/priority_level")).unwrap_or(dnn.arp_priority);
    for member in ["/qos/arp/pre_emption_capability", "/qos/arp/pre_emption_vulnerability"] {
        if value.pointer(member).and_then(number) == Some(NO_PRE_EMPTION) {
            take(value, member);
        }
    }
    // One name for the member, however many rules it has: the PCF has flows in its configuration.
    if !take_list(value, "/pcc_rule").is_empty() {
        losses.add(supi, "slice[].session[].pcc_rule");
    }
    let mut first = |names: [&str; 2]| {
        let texts = names.map(|name| take_text(value, name));
        texts.into_iter().flatten().next()
    };
    dnn.static_ipv4 = first(["/ue/ipv4", "/ue/addr"])
        .map(|text| text.parse())
        .transpose()
        .context("ue.ipv4 is not an IPv4 address")?;
    dnn.static_ipv6 = first(["/ue/ipv6", "/ue/addr6"])
        .map(|text| text.parse())
        .transpose()
        .context("ue.ipv6 is not an IPv6 address")?;
    for member in ["/ipv4_framed_routes", "/ipv6_framed_routes"] {
        let routes = take_list(value, member);
        dnn.framed_routes.extend(routes.iter().filter_map(|route| Some(route.as_str()?.into())));
    }
    Ok(dnn)
}

/// The highest bit rate up to the given one that is a whole number of a unit.
fn unrate(text: &str) -> Value {
    let (amount, unit) = text.split_once(' ').unwrap_or((text, "bps"));
    let mut unit = UNITS.iter().position(|name| *name == unit).unwrap_or(0);
    let mut amount: f64 = amount.parse().unwrap_or(0.0);
    while amount.fract() != 0.0 && unit > 0 {
        amount = (amount * 1000.0 * 1e6).round() / 1e6;
        unit -= 1;
    }
    json!({"value": amount as u64, "unit": unit})
}

pub fn write(subscriber: &Subscriber) -> Value {
    let session = |dnn: &SubscribedDnn| {
        let kind = match dnn.session_types.first() {
            Some(SessionType::Ipv4) => 1,
            Some(SessionType::Ipv6) => 2,
            Some(SessionType::Unstructured) => 4,
            Some(SessionType::Ethernet) => 5,
            _ => 3,
        };
        let arp = json!({
            "priority_level": dnn.arp_priority, "pre_emption_capability": NO_PRE_EMPTION,
            "pre_emption_vulnerability": NO_PRE_EMPTION,
        });
        let mut session = json!({
            "name": dnn.name, "type": kind, "qos": {"index": dnn.five_qi, "arp": arp},
            "ambr": {"downlink": unrate(&dnn.ambr_downlink), "uplink": unrate(&dnn.ambr_uplink)},
            "pcc_rule": [],
        });
        if let Some(address) = dnn.static_ipv4 {
            session["ue"]["ipv4"] = address.to_string().into();
        }
        if let Some(address) = dnn.static_ipv6 {
            session["ue"]["ipv6"] = address.to_string().into();
        }
        for (member, is_ipv6) in [("ipv4_framed_routes", false), ("ipv6_framed_routes", true)] {
            let routes = dnn.framed_routes.iter().filter(|route| route.contains(':') == is_ipv6);
            let routes: Vec<&String> = routes.collect();
            if !routes.is_empty() {
                session[member] = json!(routes);
            }
        }
        session
    };
    let slice = |slice: &SubscribedSlice| {
        // Open5GS uses the first data network as the default.
        let (first, others): (Vec<_>, Vec<_>) = slice.dnns.iter().partition(|dnn| dnn.default);
        let sessions: Vec<Value> = first.into_iter().chain(others).map(session).collect();
        let mut value =
            json!({"sst": slice.sst, "default_indicator": slice.default, "session": sessions});
        if let Some(sd) = slice.sd {
            value["sd"] = format!("{sd:06x}").into();
        }
        value
    };
    json!({
        "schema_version": 1,
        "imsi": imsi(subscriber),
        "msisdn": subscriber.msisdn.iter().collect::<Vec<_>>(),
        "security": {"k": subscriber.key.to_hex(), "opc": subscriber.opc.to_hex(), "op": null,
            "amf": management_text(subscriber.amf),
            "sqn": {"$numberLong": subscriber.sqn.to_string()}},
        "ambr": {
            "downlink": unrate(&subscriber.ambr_downlink),
            "uplink": unrate(&subscriber.ambr_uplink),
        },
        "slice": subscriber.slices.iter().map(slice).collect::<Vec<_>>(),
        "access_restriction_data": 32, "subscriber_status": 0, "network_access_mode": 0,
        "subscribed_rau_tau_timer": 12,
    })
}
