//! UE files of UERANSIM (`nr-ue -c`), several of them as YAML documents of one file. They hold what
//! a UE knows of its subscription: identity, keys, slices and data networks.
use super::loss::Losses;
use super::{
    Sink, differentiator, imsi, management_field, management_text, number, opc, secret, take,
    take_list, take_text,
};
use anyhow::{Context, Result, bail};
use martlet_config::from_yaml;
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice, Subscriber};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::BufRead;

/// Settings of the UE, which are not part of the subscription.
const OF_UE: [&str; 17] = [
    "/mcc",
    "/mnc",
    "/imei",
    "/imeiSv",
    "/gnbSearchList",
    "/uacAic",
    "/uacAcc",
    "/integrity",
    "/ciphering",
    "/integrityMaxRate",
    "/tunNetmask",
    "/routingIndicator",
    "/protectionScheme",
    "/homeNetworkPublicKey",
    "/homeNetworkPublicKeyId",
    "/smsf",
    "/nssaiInclusionMode",
];

/// Passes each UE on.
pub fn read(input: impl BufRead, each: &mut Sink<'_>, losses: &mut Losses) -> Result<()> {
    let mut document = String::new();
    let mut first_line = 1;
    let mut pass = |text: &str, line: usize| {
        let is_empty = text.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
        if is_empty { Ok(()) } else { one(text, line, &mut *each, losses) }
    };
    for (n, line) in input.lines().enumerate() {
        let line = line?;
        if line.trim_end() == "---" {
            pass(&document, first_line)?;
            document.clear();
            first_line = n + 2;
        } else {
            document.push_str(&line);
            document.push('\n');
        }
    }
    pass(&document, first_line)
}

fn one(text: &str, line: usize, each: &mut Sink<'_>, losses: &mut Losses) -> Result<()> {
    // The parser's own text may show a line with a key.
    let mut document: Value = from_yaml(text).map_err(|error| {
        let line = error.location().map_or(line, |at| line + at.line() as usize - 1);
        anyhow::anyhow!("line {line}: the text is not YAML")
    })?;
    let supi = take_text(&mut document, "/supi").context("a UE has no supi")?;
    let supi = if supi.starts_with("imsi-") { supi } else { format!("imsi-{supi}") };
    let subscriber = ue(&mut document, &supi).with_context(|| supi.clone())?;
    for setting in OF_UE {
        take(&mut document, setting);
    }
    losses.add_rest(&supi, &document);
    each(subscriber)
}

/// A text, also where YAML reads it as a number.
fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn ue(document: &mut Value, supi: &str) -> Result<Subscriber> {
    let key = secret(&text(take(document, "/key")).unwrap_or_default(), "key")?;
    let op = text(take(document, "/op"));
    let opc = match take_text(document, "/opType").as_deref() {
        Some("OP") => opc(&key, None, op.as_deref())?,
        Some("OPC") | None => opc(&key, op.as_deref(), None)?,
        Some(other) => bail!("opType {other:?}: write OP or OPC"),
    };
    let mut subscriber = Subscriber::new(supi, key, opc, "internet");
    if let Some(amf) = text(take(document, "/amf")) {
        subscriber.amf = management_field(&amf)?;
    }
    let mut slices: Vec<SubscribedSlice> = Vec::new();
    for (list, default) in [("/default-nssai", true), ("/configured-nssai", false)] {
        for mut value in take_list(document, list) {
            let (sst, sd) = slice(&mut value)?;
            if !slices.iter().any(|known| (known.sst, known.sd) == (sst, sd)) {
                slices.push(SubscribedSlice { sst, sd, default, dnns: Vec::new() });
            }
        }
    }
    for session in document.get_mut("sessions").and_then(Value::as_array_mut).into_iter().flatten()
    {
        let name = take_text(session, "/apn").unwrap_or("internet".into());
        let kind = take_text(session, "/type").unwrap_or("IPv4".into());
        let (sst, sd) = match session.get_mut("slice") {
            Some(value) => slice(value)?,
            None => slices.first().map_or((1, None), |slice| (slice.sst, slice.sd)),
        };
        let at = slices.iter().position(|known| (known.sst, known.sd) == (sst, sd));
        let at = at.unwrap_or_else(|| {
            slices.push(SubscribedSlice { sst, sd, default: false, dnns: Vec::new() });
            slices.len() - 1
        });
        let dnns = &mut slices[at].dnns;
        if !dnns.iter().any(|dnn| dnn.name == name) {
            let session_types = vec![super::session_type(&kind)?];
            let default = dnns.is_empty();
            dnns.push(SubscribedDnn { default, session_types, ..SubscribedDnn::new(&name) });
        }
    }
    for slice in slices.iter_mut().filter(|slice| slice.dnns.is_empty()) {
        slice.dnns.push(SubscribedDnn::new("internet"));
    }
    if !slices.iter().any(|slice| slice.default)
        && let Some(first) = slices.first_mut()
    {
        first.default = true;
    }
    if !slices.is_empty() {
        subscriber.slices = slices;
    }
    Ok(subscriber)
}

/// SST, and SD as a number or as hexadecimal digits.
fn slice(value: &mut Value) -> Result<(u8, Option<u32>)> {
    let sst = number(&take(value, "/sst")).and_then(|sst| sst.try_into().ok());
    let sd = match take(value, "/sd") {
        Value::String(text) => Some(differentiator(&text)?),
        other => number(&other).map(|sd| sd as u32),
    };
    Ok((sst.context("a slice has no sst")?, sd))
}

/// The UE's file, for a gNB on this machine.
pub fn write(subscriber: &Subscriber, plmn: &str) -> String {
    let (mcc, mnc) = plmn.split_at_checked(3).unwrap_or((plmn, ""));
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = writeln!(text, "supi: 'imsi-{}'\nmcc: '{mcc}'\nmnc: '{mnc}'", imsi(subscriber));
    let _ = writeln!(text, "key: '{}'", subscriber.key.to_hex());
    let _ = writeln!(text, "op: '{}'\nopType: 'OPC'", subscriber.opc.to_hex());
    let _ = writeln!(text, "amf: '{}'", management_text(subscriber.amf));
    text += "protectionScheme: 0\nroutingIndicator: '0000'\nimei: '356938035643803'\n";
    text += "imeiSv: '4370816125816151'\ngnbSearchList: ['127.0.0.1']\n";
    text += "uacAic: { mps: false, mcs: false }\n";
    text += "uacAcc: { normalClass: 0, class11: false, class12: false, class13: false, \
             class14: false, class15: false }\n";
    text += "integrity: { IA1: true, IA2: true, IA3: true }\n";
    text += "ciphering: { EA1: true, EA2: true, EA3: true }\n";
    text += "integrityMaxRate: { uplink: 'full', downlink: 'full' }\n";
    let nssai = |slice: &SubscribedSlice| match slice.sd {
        Some(sd) => format!("{{ sst: {}, sd: 0x{sd:06x} }}", slice.sst),
        None => format!("{{ sst: {} }}", slice.sst),
    };
    text += "sessions:\n";
    for slice in &subscriber.slices {
        // A UE's first session with a slice is its default data network.
        let (first, others): (Vec<_>, Vec<_>) = slice.dnns.iter().partition(|dnn| dnn.default);
        for dnn in first.into_iter().chain(others) {
            let kind = match dnn.session_types.first() {
                Some(SessionType::Ipv6) => "IPv6",
                Some(SessionType::Ipv4v6) => "IPv4v6",
                Some(SessionType::Ethernet) => "Ethernet",
                Some(SessionType::Unstructured) => "Unstructured",
                _ => "IPv4",
            };
            let _ = writeln!(
                text,
                "  - {{ type: '{kind}', apn: '{}', slice: {} }}",
                dnn.name,
                nssai(slice)
            );
        }
    }
    let mut list = |name: &str, slices: Vec<String>| {
        let _ = writeln!(text, "{name}: [{}]", slices.join(", "));
    };
    let all = &subscriber.slices;
    list("default-nssai", all.iter().filter(|slice| slice.default).map(nssai).collect());
    list("configured-nssai", all.iter().map(nssai).collect());
    text
}
