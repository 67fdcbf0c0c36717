//! CSV with a header. Required columns: `imsi` (or `supi`), `key`, and `opc` or `op`. Optional
//! columns:
//! `amf`, `sqn`, `msisdn`, `slice` (`1-0000a7`), `dnn` (several separated by `;`, the first is the
//! default), `types` (`IPV4V6;IPV4`), `downlink`, `uplink`, `5qi`, `arp`, `static_ip`,
//! `static_ip6`. Several lines with one IMSI are its slices.
use super::{hexadecimal, opc, secret};
use anyhow::{Context, Result, bail, ensure};
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice, Subscriber};

const COLUMNS: [&str; 17] = [
    "supi",
    "imsi",
    "key",
    "opc",
    "op",
    "amf",
    "sqn",
    "msisdn",
    "slice",
    "dnn",
    "types",
    "downlink",
    "uplink",
    "5qi",
    "arp",
    "static_ip",
    "static_ip6",
];

pub fn read(text: &str) -> Result<Vec<Subscriber>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers()?.iter().map(str::to_ascii_lowercase).collect();
    if let Some(unknown) = names.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        bail!("unknown column {unknown:?}; known are {}", COLUMNS.join(", "));
    }
    let mut all: Vec<Subscriber> = Vec::new();
    for (n, record) in reader.records().enumerate() {
        let record = record?;
        let field = |name: &str| {
            let at = names.iter().position(|known| known == name)?;
            record.get(at).filter(|text| !text.is_empty())
        };
        let subscriber = line(&field).with_context(|| format!("line {}", n + 2))?;
        match all.iter_mut().find(|known| known.supi == subscriber.supi) {
            Some(known) => {
                let more = subscriber
                    .slices
                    .into_iter()
                    .map(|slice| SubscribedSlice { default: false, ..slice });
                known.slices.extend(more);
            }
            None => all.push(subscriber),
        }
    }
    Ok(all)
}

fn line<'a>(field: &impl Fn(&str) -> Option<&'a str>) -> Result<Subscriber> {
    let imsi = field("supi").or(field("imsi")).context("imsi is missing")?;
    let supi = if imsi.starts_with("imsi-") { imsi.to_string() } else { format!("imsi-{imsi}") };
    let key = secret(field("key").unwrap_or(""), "key")?;
    let opc = opc(&key, field("opc"), field("op"))?;
    let mut subscriber = Subscriber::new(&supi, key, opc, "internet");
    if let Some(amf) = field("amf") {
        subscriber.amf =
            u16::try_from(hexadecimal(amf, "amf")?).context("amf has 4 digits")?.to_be_bytes();
    }
    if let Some(sqn) = field("sqn") {
        subscriber.sqn = hexadecimal(sqn, "sqn")?;
    }
    subscriber.msisdn = field("msisdn").map(str::to_string);
    let (sst, sd) = match field("slice") {
        None => (1, None),
        Some(text) => {
            let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
            let sd = sd
                .map(|sd| hexadecimal(sd, "the slice's differentiator"))
                .transpose()?
                .map(|sd| sd as u32);
            (
                sst.parse()
                    .with_context(|| format!("{text:?} is not a slice: write 1, or 1-0000a7"))?,
                sd,
            )
        }
    };
    let names = field("dnn").unwrap_or("internet");
    let mut dnns = Vec::new();
    for (n, name) in names.split(';').map(str::trim).enumerate() {
        let mut dnn = SubscribedDnn::new(name);
        dnn.default = n == 0;
        if let Some(types) = field("types") {
            let kind = |text: &str| {
                let value = serde_json::Value::from(text.trim().to_ascii_uppercase());
                serde_json::from_value::<SessionType>(value)
                    .with_context(|| format!("{text:?} is not a session type"))
            };
            dnn.session_types = types.split(';').map(kind).collect::<Result<_>>()?;
        }
        dnn.ambr_downlink = field("downlink").map_or(dnn.ambr_downlink, str::to_string);
        dnn.ambr_uplink = field("uplink").map_or(dnn.ambr_uplink, str::to_string);
        dnn.five_qi =
            field("5qi").map(str::parse).transpose().context("5qi is not a number")?.unwrap_or(9);
        dnn.arp_priority =
            field("arp").map(str::parse).transpose().context("arp is not a number")?.unwrap_or(8);
        if n == 0 {
            dnn.static_ipv4 = field("static_ip")
                .map(str::parse)
                .transpose()
                .context("static_ip is not an IPv4 address")?;
            dnn.static_ipv6 = field("static_ip6")
                .map(str::parse)
                .transpose()
                .context("static_ip6 is not an IPv6 address")?;
        }
        dnns.push(dnn);
    }
    ensure!(!dnns.is_empty(), "dnn is empty");
    subscriber.slices = vec![SubscribedSlice { sst, sd, default: true, dnns }];
    Ok(subscriber)
}

pub fn write(subscribers: &[Subscriber]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns: Vec<&str> =
        COLUMNS.iter().copied().filter(|name| !matches!(*name, "supi" | "op")).collect();
    writer.write_record(&columns)?;
    for subscriber in subscribers {
        for slice in &subscriber.slices {
            let first = slice.dnns.first().context("a slice has no data network")?;
            let names: Vec<&str> = slice.dnns.iter().map(|dnn| dnn.name.as_str()).collect();
            let types: Vec<String> = first
                .session_types
                .iter()
                .filter_map(|kind| Some(serde_json::to_value(kind).ok()?.as_str()?.to_string()))
                .collect();
            let [a, b] = subscriber.amf;
            writer.write_record([
                subscriber.supi.trim_start_matches("imsi-").to_string(),
                subscriber.key.to_hex(),
                subscriber.opc.to_hex(),
                format!("{a:02x}{b:02x}"),
                format!("{:x}", subscriber.sqn),
                subscriber.msisdn.clone().unwrap_or_default(),
                slice.sd.map_or(slice.sst.to_string(), |sd| format!("{}-{sd:06x}", slice.sst)),
                names.join(";"),
                types.join(";"),
                first.ambr_downlink.clone(),
                first.ambr_uplink.clone(),
                first.five_qi.to_string(),
                first.arp_priority.to_string(),
                first.static_ipv4.map(|ip| ip.to_string()).unwrap_or_default(),
                first.static_ipv6.map(|ip| ip.to_string()).unwrap_or_default(),
            ])?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
