//! Import and export of subscribers: CSV, Martlet's own JSON, documents of Open5GS's and free5GC's
//! databases, and UE files of UERANSIM.
//!
//! No field is lost in silence. An import lists the fields of a document that Martlet cannot
//! represent, and an export reads each written subscriber back and lists the fields that differ.
mod csv;
mod free5gc;
mod json;
mod loss;
mod open5gs;
mod ueransim;

pub use self::csv::delimiter;
pub use loss::Losses;

use anyhow::{Context, Result, bail};
use martlet_store::{Secret, SessionType, Subscriber};
use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// A file format of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Detect from the contents; no file is written in it
    #[value(hide = true)]
    Auto,
    /// Collection `subscribers` of Open5GS, by mongoexport
    Open5gs,
    /// Collections of free5GC, by mongoexport, or subscribers of its web console
    Free5gc,
    /// UE files of UERANSIM
    Ueransim,
    /// CSV with a header, a line for each data network of a subscriber
    Csv,
    /// Martlet's own format: a JSON array
    Martlet,
}

impl Format {
    /// Whether the format represents each subscriber completely.
    pub fn is_complete(self) -> bool {
        matches!(self, Format::Auto | Format::Csv | Format::Martlet)
    }
}

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The byte order marks of UTF-16.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Receives the subscribers of an import, one after the other.
pub type Sink<'a> = dyn FnMut(Subscriber) -> Result<()> + 'a;

/// A text to import.
pub struct Input {
    /// Name of the file, which errors then begin with.
    pub name: Option<String>,
    /// Its contents.
    pub text: Box<dyn BufRead>,
}

/// Reads subscribers and passes each one to `each`. Several inputs may contain parts of the same
/// subscribers, as free5GC's collections do. Returns the fields that were not imported.
///
/// Memory does not grow with the number of subscribers, except for free5GC's collections.
///
/// # Errors
/// An input is not of the format, or a subscriber is wrong. The error names both, but never keys.
pub fn read(format: Format, inputs: Vec<Input>, each: &mut Sink<'_>) -> Result<Losses> {
    let mut losses = Losses::default();
    let mut checked = |subscriber: Subscriber| {
        subscriber.check().with_context(|| subscriber.supi.clone())?;
        each(subscriber)
    };
    let mut format = format;
    let mut collections = free5gc::Collections::default();
    for Input { name, mut text } in inputs {
        let mut read = || {
            let start = beginning(&mut text)?;
            if format == Format::Auto {
                format = detect_text(&start);
            }
            let text = std::mem::replace(&mut text, Box::new(std::io::empty()));
            match format {
                Format::Csv => csv::read(text, &mut checked),
                Format::Ueransim => ueransim::read(text, &mut checked, &mut losses),
                _ => json::documents(text, &mut |document| {
                    if format == Format::Auto {
                        format = detect(&document)?;
                    }
                    match format {
                        Format::Open5gs => open5gs::read(document, &mut checked, &mut losses),
                        Format::Free5gc => collections.add(document),
                        _ => {
                            let supi = document["supi"].as_str().unwrap_or("no SUPI").to_string();
                            let subscriber = serde_json::from_value::<Subscriber>(document);
                            checked(subscriber.context(supi)?)
                        }
                    }
                }),
            }
        };
        let outcome = read();
        match name {
            Some(name) => outcome.context(name)?,
            None => outcome?,
        }
    }
    collections.finish(&mut checked, &mut losses)?;
    Ok(losses)
}

/// The beginning of a text, which is not read by this. A byte order mark before it, as programs on
/// Windows write it, is removed.
fn beginning(input: &mut Box<dyn BufRead>) -> Result<String> {
    // The buffer holds the first line of a UE file, and the header of a CSV file.
    let mut peeked = Vec::new();
    input.by_ref().take(4096).read_to_end(&mut peeked)?;
    if UTF_16.iter().any(|mark| peeked.starts_with(mark)) {
        bail!("the text is UTF-16: save it as UTF-8, as \"CSV UTF-8\" in programs for tables");
    }
    if peeked.starts_with(BYTE_ORDER_MARK) {
        peeked.drain(..BYTE_ORDER_MARK.len());
    }
    let start = String::from_utf8_lossy(&peeked).into_owned();
    let rest = std::mem::replace(input, Box::new(std::io::empty()));
    *input = Box::new(std::io::Cursor::new(peeked).chain(rest));
    Ok(start)
}

/// CSV, UERANSIM, or `Auto` for JSON, whose documents tell their format.
fn detect_text(start: &str) -> Format {
    let mut lines = start.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    match line.unwrap_or_default() {
        line if line.starts_with(['{', '[']) => Format::Auto,
        line if line.find(':') < line.find(',') && line.contains(':') => Format::Ueransim,
        line if line.contains(':') && !line.contains(',') => Format::Ueransim,
        _ => Format::Csv,
    }
}

fn detect(document: &Value) -> Result<Format> {
    let any = |name: &str| !document[name].is_null();
    Ok(match () {
        () if any("security") && any("imsi") => Format::Open5gs,
        () if any("ueId") => Format::Free5gc,
        () if any("supi") => Format::Martlet,
        () => bail!(
            "the format is not recognised: use --format open5gs, free5gc, ueransim, csv or martlet"
        ),
    })
}

/// Writes subscribers with their keys, one after the other.
pub enum Writer<W: Write> {
    /// CSV.
    Csv(Box<csv::Writer<W>>),
    /// A JSON array; whether it has an element.
    Martlet(W, bool),
    /// A JSON document on each line.
    Lines(W, fn(&Subscriber, &str) -> Value, String),
    /// YAML documents; whether there is one.
    Ueransim(W, bool, String),
}

impl<W: Write> Writer<W> {
    /// Begins a file. `plmn` is the home network of subscribers whose IMSI begins with it; of
    /// others it is the first five digits.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(format: Format, mut out: W, plmn: &str) -> Result<Writer<W>> {
        Ok(match format {
            Format::Csv => Writer::Csv(Box::new(csv::Writer::new(out)?)),
            Format::Open5gs => Writer::Lines(out, |s, _| open5gs::write(s), plmn.into()),
            Format::Free5gc => Writer::Lines(out, free5gc::write, plmn.into()),
            Format::Ueransim => Writer::Ueransim(out, false, plmn.into()),
            Format::Auto | Format::Martlet => {
                out.write_all(b"[")?;
                Writer::Martlet(out, false)
            }
        })
    }

    /// Writes a subscriber.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, subscriber: &Subscriber) -> Result<()> {
        let is_foreign = matches!(self, Writer::Lines(..) | Writer::Ueransim(..));
        if is_foreign && !subscriber.supi.starts_with("imsi-") {
            return Ok(());
        }
        match self {
            Writer::Csv(writer) => writer.write(subscriber)?,
            Writer::Martlet(out, has_element) => {
                out.write_all(if *has_element { b",\n" } else { b"\n" })?;
                *has_element = true;
                serde_json::to_writer_pretty(out, subscriber)?;
            }
            Writer::Lines(out, document, plmn) => {
                writeln!(out, "{}", document(subscriber, home(subscriber, plmn)))?;
            }
            Writer::Ueransim(out, has_document, plmn) => {
                if *has_document {
                    writeln!(out, "---")?;
                }
                *has_document = true;
                out.write_all(ueransim::write(subscriber, home(subscriber, plmn)).as_bytes())?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<W> {
        let mut out = match self {
            Writer::Csv(writer) => writer.finish()?,
            Writer::Martlet(mut out, _) => {
                out.write_all(b"\n]\n")?;
                out
            }
            Writer::Lines(out, ..) | Writer::Ueransim(out, ..) => out,
        };
        out.flush()?;
        Ok(out)
    }
}

/// Adds the fields of a subscriber that a format cannot represent: it is written, read back, and
/// compared.
///
/// # Errors
/// The written subscriber cannot be read.
pub fn add_losses(
    format: Format,
    subscriber: &Subscriber,
    plmn: &str,
    losses: &mut Losses,
) -> Result<()> {
    if format.is_complete() {
        return Ok(());
    }
    if !subscriber.supi.starts_with("imsi-") {
        losses.add(&subscriber.supi, "the whole subscriber, whose SUPI is no IMSI");
        return Ok(());
    }
    let mut writer = Writer::new(format, Vec::new(), plmn)?;
    writer.write(subscriber)?;
    let text = Box::new(std::io::Cursor::new(writer.finish()?));
    let mut again = None;
    read(format, vec![Input { name: None, text }], &mut |subscriber| {
        again = Some(subscriber);
        Ok(())
    })?;
    match again {
        Some(again) => losses.add_difference(subscriber, &again),
        None => losses.add(&subscriber.supi, "the whole subscriber"),
    }
    Ok(())
}

/// MCC and MNC of a subscriber.
fn home<'a>(subscriber: &'a Subscriber, plmn: &'a str) -> &'a str {
    let imsi = imsi(subscriber);
    if imsi.starts_with(plmn) { plmn } else { imsi.get(..5).unwrap_or(imsi) }
}

fn imsi(subscriber: &Subscriber) -> &str {
    subscriber.supi.trim_start_matches("imsi-")
}

/// Takes the value at a JSON pointer out of a document. What is left in the end was not read.
fn take(document: &mut Value, pointer: &str) -> Value {
    document.pointer_mut(pointer).map(Value::take).unwrap_or_default()
}

fn take_text(document: &mut Value, pointer: &str) -> Option<String> {
    match take(document, pointer) {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn take_list(document: &mut Value, pointer: &str) -> Vec<Value> {
    match take(document, pointer) {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// A number in JSON or in MongoDB's extended JSON.
fn number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as u64))
        .or_else(|| {
            let inner = value.as_object()?.values().next()?;
            inner.as_u64().or_else(|| inner.as_str()?.parse().ok())
        })
}

/// A key of `2 * N` hexadecimal digits, with or without spaces.
fn secret<const N: usize>(text: &str, what: &str) -> Result<Secret<N>> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    // The error does not contain the text, since it may be a key with a typing error.
    Secret::from_hex(&digits)
        .with_context(|| format!("{what} is not a key of {} hexadecimal digits", 2 * N))
}

/// OPc, given or derived from OP.
fn opc(key: &Secret, opc: Option<&str>, op: Option<&str>) -> Result<Secret> {
    match (opc.filter(|text| !text.is_empty()), op.filter(|text| !text.is_empty())) {
        (Some(opc), _) => secret(opc, "OPc"),
        (None, Some(op)) => Ok(Secret(martlet_security::aka::opc(&key.0, &secret(op, "OP")?.0))),
        (None, None) => bail!("neither OPc nor OP nor TOPc is given"),
    }
}

fn hexadecimal(text: &str, what: &str) -> Result<u64> {
    u64::from_str_radix(text, 16)
        .with_context(|| format!("{what} {text:?} is not a hexadecimal number"))
}

/// A slice differentiator of six hexadecimal digits.
fn differentiator(text: &str) -> Result<u32> {
    let sd = hexadecimal(text.trim_start_matches("0x"), "the slice differentiator")?;
    u32::try_from(sd).context("a slice differentiator has six hexadecimal digits")
}

/// The authentication management field.
fn management_field(text: &str) -> Result<[u8; 2]> {
    let field = u16::try_from(hexadecimal(text, "the authentication management field")?);
    Ok(field.context("the authentication management field has 4 digits")?.to_be_bytes())
}

fn management_text([a, b]: [u8; 2]) -> String {
    format!("{a:02x}{b:02x}")
}

/// The name of a session type in 3GPP's and Martlet's JSON.
fn type_name(kind: SessionType) -> &'static str {
    match kind {
        SessionType::Ipv4 => "IPV4",
        SessionType::Ipv6 => "IPV6",
        SessionType::Ipv4v6 => "IPV4V6",
        SessionType::Ethernet => "ETHERNET",
        SessionType::Unstructured => "UNSTRUCTURED",
    }
}

fn session_type(text: &str) -> Result<SessionType> {
    let value = Value::from(text.trim().to_ascii_uppercase());
    serde_json::from_value(value).with_context(|| {
        format!(
            "{text:?} is not a session type: write IPV4, IPV6, IPV4V6, ETHERNET or UNSTRUCTURED"
        )
    })
}

#[cfg(test)]
mod tests;
