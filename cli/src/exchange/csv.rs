//! CSV with a header. Required columns: `imsi` (or `supi`), `key`, and one of `opc`, `op` and
//! `topc`. All other columns are optional, and an empty field is the default.
//!
//! | columns | what they hold |
//! | --- | --- |
//! | `method` | `5G_AKA` or `EAP_AKA_PRIME` |
//! | `topc`, `tuak_key`, `tuak_iterations`, `tuak_res_bits` | TUAK in place of MILENAGE |
//! | `amf`, `sqn` | hexadecimal digits |
//! | `msisdn`, `ue_downlink`, `ue_uplink` | of the subscriber |
//! | `service_area` | `allowed 1;2` or `not_allowed 3` |
//! | `groups` | names separated by `;` |
//! | `slice`, `default_slice` | `1-0000a7`; `yes` or `no` |
//! | `dnn`, `default_dnn` | names separated by `;`; `yes` or `no` |
//! | `types`, `ssc_modes`, `routes` | lists separated by `;` |
//! | `downlink`, `uplink`, `5qi`, `arp`, `static_ip`, `static_ip6` | of the data network |
//! | `up_integrity`, `up_ciphering` | `required`, `preferred` or `not_needed` |
//!
//! Lines with the same IMSI follow each other. They are the data networks of one subscriber: those
//! with the same slice belong to it. Without `default_slice` and `default_dnn` the first ones are
//! the defaults.
//!
//! Columns are separated by commas; where the header has none, by semicolons or tabs. A field that
//! contains the separator is in quotes.
use super::{
    differentiator, hexadecimal, imsi, management_field, management_text, opc, secret,
    session_type, type_name,
};
use anyhow::{Context, Result, bail, ensure};
use martlet_store::{
    AuthenticationMethod, Secret, ServiceArea, SubscribedDnn, SubscribedSlice, Subscriber, Tuak,
    UpProtection, UpSecurityPolicy,
};
use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::str::FromStr;

/// Each column, in the order in which it is written.
const COLUMNS: [&str; 32] = [
    "supi",
    "imsi",
    "key",
    "opc",
    "op",
    "topc",
    "tuak_key",
    "tuak_iterations",
    "tuak_res_bits",
    "method",
    "amf",
    "sqn",
    "msisdn",
    "ue_downlink",
    "ue_uplink",
    "service_area",
    "groups",
    "slice",
    "default_slice",
    "dnn",
    "default_dnn",
    "types",
    "downlink",
    "uplink",
    "5qi",
    "arp",
    "static_ip",
    "static_ip6",
    "ssc_modes",
    "routes",
    "up_integrity",
    "up_ciphering",
];
/// Columns that are read, but not written.
const ALTERNATIVES: [&str; 2] = ["supi", "op"];

/// The separator of the columns in a header, which has no other one: programs for tables write
/// semicolons where the comma is the decimal sign.
pub fn delimiter(text: &[u8]) -> u8 {
    let header = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let header = header.unwrap_or_default();
    [b',', b';', b'\t'].into_iter().find(|byte| header.contains(byte)).unwrap_or(b',')
}

/// Passes each subscriber on when the last of its lines has been read.
pub fn read(mut input: impl BufRead, each: &mut super::Sink<'_>) -> Result<()> {
    let delimiter = delimiter(input.fill_buf()?);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(input);
    let names: Vec<String> = reader.headers()?.iter().map(str::to_ascii_lowercase).collect();
    if let Some(unknown) = names.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        bail!("unknown column {unknown:?}; known are {}", COLUMNS.join(", "));
    }
    let columns = COLUMNS.map(|column| names.iter().position(|name| name == column));
    let mut current: Option<Subscriber> = None;
    // Numbers take less memory than texts.
    let mut done: HashSet<u64> = HashSet::new();
    let mut done_nais: HashSet<String> = HashSet::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let number = record.position().map_or(0, csv::Position::line);
        let field = |name: &str| {
            let column = COLUMNS.iter().position(|column| *column == name)?;
            record.get(columns[column]?).filter(|text| !text.is_empty())
        };
        let at = || format!("line {number}");
        let line = Line::read(&field).with_context(at)?;
        match &mut current {
            Some(known) if known.supi == line.supi => known.add(line).with_context(at)?,
            _ => {
                let is_new = match line.supi.strip_prefix("nai-") {
                    Some(nai) => done_nais.insert(nai.to_string()),
                    None => {
                        let digits = line.supi.trim_start_matches("imsi-");
                        done.insert(digits.parse().unwrap_or_default())
                    }
                };
                ensure!(
                    is_new,
                    "line {number}: {} has lines above that do not precede this one: sort the file \
                     by IMSI",
                    line.supi
                );
                let next = line.first(&field).with_context(at)?;
                if let Some(complete) = current.replace(next) {
                    each(complete)?;
                }
            }
        }
    }
    current.map_or(Ok(()), each)
}

/// The identity of a line's subscriber, and the data networks of the line.
struct Line {
    supi: String,
    key: Secret,
    sst: u8,
    sd: Option<u32>,
    default_slice: Option<bool>,
    default_dnn: Option<bool>,
    dnns: Vec<SubscribedDnn>,
}

trait AddLine {
    fn add(&mut self, line: Line) -> Result<()>;
}

impl AddLine for Subscriber {
    /// Adds the data networks of another line.
    fn add(&mut self, line: Line) -> Result<()> {
        ensure!(self.key == line.key, "the key differs from that of the line above");
        let mut dnns = line.dnns;
        let slice = self.slices.iter_mut().find(|s| (s.sst, s.sd) == (line.sst, line.sd));
        match slice {
            Some(slice) => {
                dnns.iter_mut().for_each(|dnn| dnn.default &= line.default_dnn == Some(true));
                slice.dnns.extend(dnns);
            }
            None => self.slices.push(SubscribedSlice {
                sst: line.sst,
                sd: line.sd,
                default: line.default_slice == Some(true),
                dnns,
            }),
        }
        Ok(())
    }
}

fn parsed<T: FromStr>(text: Option<&str>, what: &str) -> Result<Option<T>> {
    let wrong = |text: &str| format!("{what} {text:?} is not valid");
    text.map(|text| text.parse().ok().with_context(|| wrong(text))).transpose()
}

fn yes_or_no(text: Option<&str>, what: &str) -> Result<Option<bool>> {
    Ok(match text.map(str::to_ascii_lowercase).as_deref() {
        None => None,
        Some("yes" | "true" | "1") => Some(true),
        Some("no" | "false" | "0") => Some(false),
        Some(other) => bail!("{what} {other:?}: write yes or no"),
    })
}

fn protection(text: Option<&str>, what: &str) -> Result<Option<UpProtection>> {
    let wrong = |text: &str| format!("{what} {text:?}: write required, preferred or not_needed");
    let value = |text: &str| serde_json::from_value(text.to_ascii_lowercase().into());
    text.map(|text| value(text).with_context(|| wrong(text))).transpose()
}

fn slice(text: &str) -> Result<(u8, Option<u32>)> {
    let wrong = || format!("{text:?} is not a slice: write 1, or 1-0000a7");
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    Ok((sst.parse().ok().with_context(wrong)?, sd.map(differentiator).transpose()?))
}

impl Line {
    fn read<'a>(field: &impl Fn(&str) -> Option<&'a str>) -> Result<Line> {
        let imsi = field("supi").or(field("imsi")).context("imsi is missing")?;
        let is_supi = ["imsi-", "nai-"].iter().any(|prefix| imsi.starts_with(prefix));
        let supi = if is_supi { imsi.into() } else { format!("imsi-{imsi}") };
        // TUAK may have a longer key, in a column of its own.
        let key = match (field("key"), field("tuak_key")) {
            (None, Some(_)) => Secret([0; 16]),
            (key, _) => secret(key.unwrap_or(""), "key")?,
        };
        let (sst, sd) = field("slice").map_or(Ok((1, None)), slice)?;
        let default_dnn = yes_or_no(field("default_dnn"), "default_dnn")?;
        let names = field("dnn").unwrap_or("internet");
        let mut dnns = Vec::new();
        for (n, name) in names.split(';').map(str::trim).enumerate() {
            dnns.push(dnn(field, name, n == 0 && default_dnn != Some(false), n == 0)?);
        }
        let default_slice = yes_or_no(field("default_slice"), "default_slice")?;
        Ok(Line { supi, key, sst, sd, default_slice, default_dnn, dnns })
    }

    /// A subscriber of this line alone.
    fn first<'a>(self, field: &impl Fn(&str) -> Option<&'a str>) -> Result<Subscriber> {
        let tuak = match field("topc") {
            None => None,
            Some(topc) => {
                let default = Tuak::new(secret(topc, "topc")?);
                Some(Tuak {
                    key: field("tuak_key").map(|key| secret(key, "tuak_key")).transpose()?,
                    iterations: parsed(field("tuak_iterations"), "tuak_iterations")?
                        .unwrap_or(default.iterations),
                    res_bits: parsed(field("tuak_res_bits"), "tuak_res_bits")?
                        .unwrap_or(default.res_bits),
                    ..default
                })
            }
        };
        // TUAK has no OPc.
        let opc = match tuak {
            Some(_) if field("opc").or(field("op")).is_none() => Secret([0; 16]),
            _ => opc(&self.key, field("opc"), field("op"))?,
        };
        let mut subscriber = Subscriber::new(&self.supi, self.key, opc, "internet");
        subscriber.tuak = tuak;
        if let Some(method) = field("method") {
            subscriber.authentication_method =
                serde_json::from_value(method.to_ascii_uppercase().into())
                    .ok()
                    .with_context(|| format!("method {method:?}: write 5G_AKA or EAP_AKA_PRIME"))?;
        }
        if let Some(amf) = field("amf") {
            subscriber.amf = management_field(amf)?;
        }
        if let Some(sqn) = field("sqn") {
            subscriber.sqn = hexadecimal(sqn, "sqn")?;
        }
        subscriber.msisdn = field("msisdn").map(str::to_string);
        let rate = |name: &str, default: String| field(name).map_or(default, str::to_string);
        subscriber.ambr_downlink = rate("ue_downlink", subscriber.ambr_downlink);
        subscriber.ambr_uplink = rate("ue_uplink", subscriber.ambr_uplink);
        subscriber.service_area = field("service_area").map(service_area).transpose()?;
        let groups = field("groups").into_iter().flat_map(|groups| groups.split(';'));
        subscriber.groups = groups.map(|group| group.trim().to_string()).collect();
        subscriber.slices = vec![SubscribedSlice {
            sst: self.sst,
            sd: self.sd,
            default: self.default_slice != Some(false),
            dnns: self.dnns,
        }];
        Ok(subscriber)
    }
}

fn service_area(text: &str) -> Result<ServiceArea> {
    let wrong =
        || format!("service_area {text:?}: write for example allowed 1;2, or not_allowed 3");
    let (kind, list) = text.split_once(' ').unwrap_or((text, ""));
    let tacs = list.split(';').filter(|tac| !tac.is_empty()).map(|tac| tac.trim().parse::<u32>());
    let tacs = tacs.collect::<Result<Vec<_>, _>>().ok().with_context(wrong)?;
    match kind {
        "allowed" => Ok(ServiceArea::Allowed(tacs)),
        "not_allowed" => Ok(ServiceArea::NotAllowed(tacs)),
        _ => bail!(wrong()),
    }
}

fn dnn<'a>(
    field: &impl Fn(&str) -> Option<&'a str>,
    name: &str,
    default: bool,
    is_first: bool,
) -> Result<SubscribedDnn> {
    let mut dnn = SubscribedDnn { default, ..SubscribedDnn::new(name) };
    if let Some(types) = field("types") {
        dnn.session_types = types.split(';').map(session_type).collect::<Result<_>>()?;
    }
    dnn.ambr_downlink = field("downlink").map_or(dnn.ambr_downlink, str::to_string);
    dnn.ambr_uplink = field("uplink").map_or(dnn.ambr_uplink, str::to_string);
    dnn.five_qi = parsed(field("5qi"), "5qi")?.unwrap_or(dnn.five_qi);
    dnn.arp_priority = parsed(field("arp"), "arp")?.unwrap_or(dnn.arp_priority);
    if let Some(modes) = field("ssc_modes") {
        let modes = modes.split(';').map(|mode| mode.trim().parse());
        dnn.ssc_modes =
            modes.collect::<Result<_, _>>().context("ssc_modes: write for example 1;2")?;
    }
    let (integrity, ciphering) = (
        protection(field("up_integrity"), "up_integrity")?,
        protection(field("up_ciphering"), "up_ciphering")?,
    );
    dnn.up_security = match (integrity, ciphering) {
        (None, None) => None,
        (Some(integrity), Some(ciphering)) => Some(UpSecurityPolicy { integrity, ciphering }),
        _ => bail!("up_integrity and up_ciphering are given together or not at all"),
    };
    // Addresses belong to one data network.
    if is_first {
        dnn.static_ipv4 = parsed(field("static_ip"), "static_ip")?;
        dnn.static_ipv6 = parsed(field("static_ip6"), "static_ip6")?;
        let routes = field("routes").into_iter().flat_map(|routes| routes.split(';'));
        dnn.framed_routes = routes.map(|route| route.trim().to_string()).collect();
    }
    Ok(dnn)
}

/// Writes a line for each data network.
pub struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        let columns = COLUMNS.iter().filter(|name| !ALTERNATIVES.contains(name));
        writer.write_record(columns)?;
        Ok(Writer(writer))
    }

    pub fn write(&mut self, subscriber: &Subscriber) -> Result<()> {
        let yes = |value: bool| if value { "yes" } else { "no" }.to_string();
        let shown = |value: Option<String>| value.unwrap_or_default();
        let tuak = subscriber.tuak.as_ref();
        let of_tuak = |value: fn(&Tuak) -> String| tuak.map(value).unwrap_or_default();
        let area = subscriber.service_area.as_ref().map(|area| {
            let (kind, tacs) = match area {
                ServiceArea::Allowed(tacs) => ("allowed", tacs),
                ServiceArea::NotAllowed(tacs) => ("not_allowed", tacs),
            };
            format!("{kind} {}", joined(tacs.iter().map(u32::to_string)))
        });
        let method = match subscriber.authentication_method {
            AuthenticationMethod::FiveGAka => "5G_AKA",
            AuthenticationMethod::EapAkaPrime => "EAP_AKA_PRIME",
        };
        let protected = |value: Option<UpProtection>| {
            let value = value.and_then(|value| serde_json::to_value(value).ok());
            value.and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
        };
        for slice in &subscriber.slices {
            for dnn in &slice.dnns {
                self.0.write_record([
                    imsi(subscriber).to_string(),
                    subscriber.key.to_hex(),
                    if tuak.is_some() { String::new() } else { subscriber.opc.to_hex() },
                    of_tuak(|tuak| tuak.topc.to_hex()),
                    of_tuak(|tuak| tuak.key.as_ref().map(|key| key.to_hex()).unwrap_or_default()),
                    of_tuak(|tuak| tuak.iterations.to_string()),
                    of_tuak(|tuak| tuak.res_bits.to_string()),
                    method.to_string(),
                    management_text(subscriber.amf),
                    format!("{:x}", subscriber.sqn),
                    subscriber.msisdn.clone().unwrap_or_default(),
                    subscriber.ambr_downlink.clone(),
                    subscriber.ambr_uplink.clone(),
                    area.clone().unwrap_or_default(),
                    subscriber.groups.join(";"),
                    slice.sd.map_or(slice.sst.to_string(), |sd| format!("{}-{sd:06x}", slice.sst)),
                    yes(slice.default),
                    dnn.name.clone(),
                    yes(dnn.default),
                    joined(dnn.session_types.iter().map(|kind| type_name(*kind).to_string())),
                    dnn.ambr_downlink.clone(),
                    dnn.ambr_uplink.clone(),
                    dnn.five_qi.to_string(),
                    dnn.arp_priority.to_string(),
                    shown(dnn.static_ipv4.map(|ip| ip.to_string())),
                    shown(dnn.static_ipv6.map(|ip| ip.to_string())),
                    joined(dnn.ssc_modes.iter().map(u8::to_string)),
                    dnn.framed_routes.join(";"),
                    protected(dnn.up_security.map(|policy| policy.integrity)),
                    protected(dnn.up_security.map(|policy| policy.ciphering)),
                ])?;
            }
        }
        Ok(())
    }

    pub fn finish(self) -> Result<W> {
        self.0.into_inner().map_err(|error| error.into_error().into())
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(";")
}
