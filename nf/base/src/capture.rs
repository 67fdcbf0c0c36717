//! Captures the messages on N2, N4 and the SBI (over each binding), and optionally N1 before
//! ciphering, in a pcapng file for Wireshark. Off unless [`start`] is called. A captured message
//! costs a copy.
//!
//! Each packet is an "exported PDU" with the name of Wireshark's dissector and the addresses of
//! both ends, since a call within a process has no packet.
use martlet_sbi::{Encoded, Exchange, Tap};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use std::borrow::Cow;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Capacity of the queue to the writer thread. A full queue drops messages, so that a network
/// function never waits for the disk.
const QUEUE: usize = 8192;
/// Maximum number of messages per write.
const BATCH: usize = 256;

/// Tags of an exported PDU (Wireshark's `epan/exported_pdu.h`).
const DISSECTOR: u16 = 12;
const IPV4_SOURCE: u16 = 20;
const IPV6_SOURCE: u16 = 22;
const PORT_TYPE: u16 = 24;
const SOURCE_PORT: u16 = 25;
const DESTINATION_PORT: u16 = 26;

/// A captured interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// NGAP.
    N2,
    /// NAS before ciphering.
    N1,
    /// PFCP.
    N4,
    /// HTTP, in the form of HTTP/1.1.
    Sbi,
}

impl Link {
    /// The protocol in words.
    pub fn protocol(self) -> &'static str {
        match self {
            Link::N2 => "NGAP",
            Link::N1 => "NAS",
            Link::N4 => "PFCP",
            Link::Sbi => "SBI",
        }
    }

    fn dissector(self) -> &'static str {
        match self {
            Link::N2 => "ngap",
            Link::N1 => "nas-5gs",
            Link::N4 => "pfcp",
            Link::Sbi => "http",
        }
    }

    /// Wireshark's port type: SCTP 1, TCP 2, UDP 3.
    fn transport(self) -> u32 {
        match self {
            Link::N2 | Link::N1 => 1,
            Link::Sbi => 2,
            Link::N4 => 3,
        }
    }
}

struct Sink {
    packets: SyncSender<(Duration, Vec<u8>)>,
    decipher: bool,
}

static SINK: OnceLock<Sink> = OnceLock::new();

/// A writer that holds the start of a file: a section, and an interface for each name.
fn blocks(interfaces: &[&str]) -> std::io::Result<PcapNgWriter<Vec<u8>>> {
    let wrong = |error: pcap_file::PcapError| std::io::Error::other(error.to_string());
    let mut writer = PcapNgWriter::new(Vec::new()).map_err(wrong)?;
    for name in interfaces {
        // Timestamps are in nanoseconds.
        let name = InterfaceDescriptionOption::IfName(Cow::Owned((*name).to_owned()));
        let options = vec![name, InterfaceDescriptionOption::IfTsResol(9)];
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::WIRESHARK_UPPER_PDU,
            snaplen: 0,
            options,
        };
        writer.write_pcapng_block(interface).map_err(wrong)?;
    }
    Ok(writer)
}

fn named(file: &Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

/// Creates a file (mode 0600) to which processes write with [`join`], an interface each. An
/// existing file is replaced, and gets this mode.
///
/// # Errors
/// The file cannot be written, or belongs to another user and others can read it.
pub fn create(file: &Path, interfaces: &[&str]) -> std::io::Result<()> {
    let begin = blocks(interfaces)?;
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(true).mode(0o600);
    let write = || -> std::io::Result<()> {
        let mut opened = open.open(file)?;
        // A file that exists keeps its mode. A pipe or a device has no content to protect. A
        // confined process does not change the mode of the file that it created at its start.
        let existing = opened.metadata()?;
        if existing.is_file() && existing.mode() & 0o077 != 0 {
            opened.set_permissions(Permissions::from_mode(0o600))?;
        }
        opened.write_all(begin.get_ref())
    };
    write().map_err(|error| named(file, &error))
}

/// Starts capturing to a new file (mode 0600); with `decipher` N1 too.
///
/// # Errors
/// The file cannot be written.
pub fn start(file: &Path, decipher: bool) -> std::io::Result<()> {
    let all = ["martlet"];
    create(file, &all)?;
    join(file, &all, 0, decipher)
}

/// Starts capturing to a file that [`create`] made for these interfaces, as the interface with this
/// index; with `decipher` N1 too. Other processes may write to the file concurrently.
///
/// # Errors
/// There is no such file.
pub fn join(file: &Path, interfaces: &[&str], index: usize, decipher: bool) -> std::io::Result<()> {
    let writer = blocks(interfaces)?;
    let file = OpenOptions::new().append(true).open(file).map_err(|error| named(file, &error))?;
    let (sender, packets) = sync_channel(QUEUE);
    std::thread::Builder::new()
        .name("capture".into())
        .spawn(move || write(file, writer, index as u32, &packets))?;
    let _ = SINK.set(Sink { packets: sender, decipher });
    Ok(())
}

fn write(
    mut file: File,
    mut writer: PcapNgWriter<Vec<u8>>,
    interface_id: u32,
    packets: &Receiver<(Duration, Vec<u8>)>,
) {
    while let Ok(first) = packets.recv() {
        writer.get_mut().clear();
        for (timestamp, data) in std::iter::once(first).chain(packets.try_iter().take(BATCH)) {
            let original_len = data.len() as u32;
            let data = Cow::Owned(data);
            let block = EnhancedPacketBlock {
                interface_id,
                timestamp,
                original_len,
                data,
                options: vec![],
            };
            if writer.write_pcapng_block(block).is_err() {
                return;
            }
        }
        // One write of whole blocks: in append mode, those of other processes cannot interleave.
        if file.write_all(writer.get_ref()).is_err() {
            return;
        }
    }
}

/// Whether an interface is captured.
pub fn wants(link: Link) -> bool {
    SINK.get().is_some_and(|sink| link != Link::N1 || sink.decipher)
}

/// Captures a message if its interface is captured.
pub fn record(link: Link, from: Option<SocketAddr>, to: Option<SocketAddr>, message: &[u8]) {
    let Some(sink) = SINK.get().filter(|_| wants(link)) else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let _ = sink.packets.try_send((now, exported(link, from, to, message)));
}

/// A message as Wireshark reads it.
pub(crate) fn exported(
    link: Link,
    from: Option<SocketAddr>,
    to: Option<SocketAddr>,
    message: &[u8],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 80);
    let mut tag = |kind: u16, value: &[u8]| {
        let padded = value.len().next_multiple_of(4);
        out.extend(kind.to_be_bytes());
        out.extend((padded as u16).to_be_bytes());
        out.extend(value);
        out.resize(out.len() + padded - value.len(), 0);
    };
    tag(DISSECTOR, link.dissector().as_bytes());
    for (end, number) in [(from, 0), (to, 1)] {
        match end.map(|end| end.ip()) {
            Some(IpAddr::V4(ip)) => tag(IPV4_SOURCE + number, &ip.octets()),
            Some(IpAddr::V6(ip)) => tag(IPV6_SOURCE + number, &ip.octets()),
            None => {}
        }
    }
    tag(PORT_TYPE, &link.transport().to_be_bytes());
    for (end, kind) in [(from, SOURCE_PORT), (to, DESTINATION_PORT)] {
        if let Some(end) = end {
            tag(kind, &u32::from(end.port()).to_be_bytes());
        }
    }
    out.extend([0; 4]);
    out.extend(message);
    out
}

/// Captures the SBI exchanges that a network function serves.
pub struct SbiCapture {
    /// The function's address.
    pub at: Option<SocketAddr>,
}

impl Tap for SbiCapture {
    fn wants_bodies(&self) -> bool {
        true
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        let (request, response) = as_http(self.at, exchange);
        record(Link::Sbi, None, self.at, &request);
        record(Link::Sbi, self.at, None, &response);
    }
}

/// The request and the response of an exchange in the form of HTTP/1.1.
pub(crate) fn as_http(at: Option<SocketAddr>, exchange: &Exchange<'_>) -> (Vec<u8>, Vec<u8>) {
    let body = |head: String, body: &Option<Encoded>| {
        let (kind, bytes) =
            body.as_ref().map_or(("", &[][..]), |body| (&*body.content_type, &body.bytes[..]));
        let kind =
            if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let mut text = format!("{head}{kind}content-length: {}\r\n\r\n", bytes.len()).into_bytes();
        text.extend_from_slice(bytes);
        text
    };
    let host = at.map_or(String::new(), |at| format!("host: {at}\r\n"));
    let request = body(
        format!("{} {} HTTP/1.1\r\n{host}", exchange.method, exchange.target),
        &exchange.request,
    );
    let reason =
        http::StatusCode::from_u16(exchange.status).ok().and_then(|code| code.canonical_reason());
    let head = format!("HTTP/1.1 {} {}\r\n", exchange.status, reason.unwrap_or(""));
    (request, body(head, &exchange.response))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_gets_the_mode_of_a_new_one() {
        let name = format!("martlet-capture-{}.pcapng", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "a longer capture of before ".repeat(100)).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        create(&file, &["martlet"]).unwrap();
        let (mode, content) =
            (std::fs::metadata(&file).unwrap().mode() & 0o777, std::fs::read(&file).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(mode, 0o600, "{mode:o}");
        assert_eq!(content, *blocks(&["martlet"]).unwrap().get_ref());
    }
}
