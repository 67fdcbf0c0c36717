//! Records the signalling of this process in memory for a limited time, when an operator requests
//! it: NAS before ciphering, NGAP, the SBI, and PFCP. While nothing is recorded, a message costs
//! one load.
//!
//! Each message has identities, such as `imsi-001010000000001`, `amf-ue:7` or `cp:3`. Functions
//! report which identities belong together ([`same`]), and the reader selects the messages of a UE.
//! Keys in messages are overwritten with zeros before they are stored.
use crate::capture::{self, Link};
use crate::paths::Paths;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use martlet_sbi::{Exchange, Problem, Tap};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of entries. The oldest are removed first.
const MAX_ENTRIES: usize = 8192;
/// Maximum bytes of messages.
const MAX_BYTES: usize = 8 << 20;
/// Longest recording.
const MAX_SECONDS: u64 = 3600;
/// Entries that one answer has.
const PAGE: usize = 1000;

static ON: AtomicBool = AtomicBool::new(false);
static RECORDER: Mutex<Recorder> = Mutex::new(Recorder::new());

/// A message to record.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The interface.
    pub link: Link,
    /// Sender: `UE`, `AMF`, or the name of a gNB.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Addresses of both.
    pub addresses: (Option<SocketAddr>, Option<SocketAddr>),
    /// Name of the message.
    pub name: String,
    /// What it belongs to.
    pub identities: Vec<String>,
    /// The message.
    pub bytes: &'a [u8],
}

struct Entry {
    number: u64,
    size: usize,
    value: Value,
}

struct Recorder {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Number of the last entry.
    last: u64,
    recordings: u32,
    until: Option<Instant>,
    /// Distinguishes processes for the reader.
    process: u32,
}

impl Recorder {
    const fn new() -> Self {
        Recorder {
            entries: VecDeque::new(),
            bytes: 0,
            last: 0,
            recordings: 0,
            until: None,
            process: 0,
        }
    }

    fn push(&mut self, size: usize, value: Value) {
        if self.until.is_none_or(|until| until < Instant::now()) {
            return self.clear();
        }
        self.last += 1;
        self.bytes += size;
        self.entries.push_back(Entry { number: self.last, size, value });
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.size;
        }
    }

    fn clear(&mut self) {
        ON.store(false, Ordering::Relaxed);
        (self.entries, self.bytes) = (VecDeque::new(), 0);
        (self.recordings, self.until) = (0, None);
    }

    fn begin(&mut self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds.clamp(1, MAX_SECONDS));
        self.until = self.until.max(Some(until));
        self.recordings += 1;
        self.process = std::process::id();
        ON.store(true, Ordering::Relaxed);
    }

    fn end(&mut self) {
        self.recordings = self.recordings.saturating_sub(1);
        if self.recordings == 0 {
            self.clear();
        }
    }

    fn read(&self, after: u64) -> Value {
        let first = self.entries.front().map_or(self.last + 1, |entry| entry.number);
        let later = self.entries.iter().filter(|entry| entry.number > after);
        let page: Vec<&Entry> = later.take(PAGE).collect();
        json!({
            "process": self.process,
            "next": page.last().map_or(after, |entry| entry.number),
            "missed": first.saturating_sub(after + 1),
            "entries": page.iter().map(|entry| &entry.value).collect::<Vec<_>>(),
        })
    }
}

fn recorder() -> MutexGuard<'static, Recorder> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether messages are recorded.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Records a message; it is made only if messages are recorded.
pub fn record<'a>(message: impl FnOnce() -> Option<Message<'a>>) {
    if is_on()
        && let Some(message) = message()
    {
        store(message, now_us());
    }
}

fn store(message: Message<'_>, us: u64) {
    let mut bytes = message.bytes.to_vec();
    match message.link {
        Link::N2 => hide_ngap_keys(&mut bytes),
        Link::Sbi => hide_json_keys(&mut bytes),
        Link::N1 | Link::N4 => {}
    }
    let (from, to) = message.addresses;
    let exported = capture::exported(message.link, from, to, &bytes);
    let value = json!({
        "us": us,
        "protocol": message.link.protocol(),
        "from": message.from,
        "to": message.to,
        "name": message.name,
        "identities": message.identities,
        "exported": BASE64_STANDARD.encode(&exported),
    });
    recorder().push(exported.len() + 512, value);
}

/// Reports that identities belong to the same UE. They are made only if messages are recorded.
pub fn same(identities: impl FnOnce() -> Vec<String>) {
    if is_on() {
        let identities = identities();
        recorder().push(64 * identities.len(), json!({"same": identities}));
    }
}

/// Records the SBI exchanges that a network function serves.
pub(crate) struct SbiRecorder {
    /// The function's address.
    pub at: Option<SocketAddr>,
}

impl Tap for SbiRecorder {
    fn wants_bodies(&self) -> bool {
        is_on()
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        record_exchange(self.at, exchange);
    }
}

fn record_exchange(at: Option<SocketAddr>, exchange: &Exchange<'_>) {
    if !is_on() {
        return;
    }
    let operation = exchange.operation;
    let api = operation.map_or("", |operation| operation.api);
    let producer = match api.strip_prefix('n').and_then(|rest| rest.split('-').next()) {
        Some(producer) => producer.to_ascii_uppercase(),
        None => "NF".into(),
    };
    let consumer = exchange.consumer.and_then(|name| name.split('-').next()).unwrap_or("NF");
    let consumer = consumer.to_ascii_uppercase();
    let (request, response) = capture::as_http(at, exchange);
    let mut identities = identities_in(exchange.target);
    identities.extend(exchange.correlation.map(str::to_string));
    for body in [&exchange.request, &exchange.response].into_iter().flatten() {
        identities.extend(identities_in(&String::from_utf8_lossy(&body.bytes)));
    }
    let name = operation.map_or(exchange.target, |operation| operation.name);
    let service = format!("{} {name}", api.replacen('n', "N", 1).replace('-', "_"));
    let identities: Vec<String> = identities.into_iter().collect();
    let took = exchange.duration.as_micros() as u64;
    let now = now_us();
    let message = |from: &str, to: &str, ends, name, bytes| Message {
        link: Link::Sbi,
        from: from.into(),
        to: to.into(),
        addresses: ends,
        name,
        identities: identities.clone(),
        bytes,
    };
    let asked = message(&consumer, &producer, (None, at), service.clone(), &request);
    store(asked, now.saturating_sub(took));
    let name = format!("{} {service}", exchange.status);
    store(message(&producer, &consumer, (at, None), name, &response), now);
}

/// SUPIs, SUCIs and SM contexts that a text names.
fn identities_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let names =
        [("imsi-", "imsi-"), ("nai-", "nai-"), ("suci-", "suci-"), ("/sm-contexts/", "sm:")];
    for (prefix, name) in names {
        // Those with a realm. In a path, `@` is escaped.
        let has_realm = matches!(name, "nai-" | "suci-");
        for (at, _) in text.match_indices(prefix) {
            let rest = &text[at + prefix.len()..];
            let is_part =
                |c: char| c.is_ascii_alphanumeric() || (has_realm && "-_.~+@%".contains(c));
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let identity = rest[..end].replace("%40", "@");
            if !identity.is_empty() && (name != "nai-" || identity.contains('@')) {
                found.insert(format!("{name}{identity}"));
            }
        }
    }
    found
}

/// Members of JSON bodies with keys: of the UDR, UDM, AUSF and AMF, and tokens.
const SECRETS: [&str; 19] = [
    "kausf",
    "kseaf",
    // Of EAP (TS 29.509, 6.1.6).
    "kSeaf",
    "kamf",
    "kAkma",
    "keyVal",
    "nh",
    "ck",
    "ik",
    "ckPrime",
    "ikPrime",
    "xres",
    "xresStar",
    "encPermanentKey",
    "encOpcKey",
    "encTopcKey",
    "msk",
    "access_token",
    "hxresStar",
];

/// Overwrites the texts of secret members in JSON, also within a multipart body.
fn hide_json_keys(bytes: &mut [u8]) {
    for secret in SECRETS {
        let name = format!("\"{secret}\"");
        let mut at = 0;
        while let Some(found) = find(&bytes[at..], name.as_bytes()) {
            at += found + name.len();
            let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
            let skipped = bytes[at..].iter().take_while(|byte| is_between(byte)).count();
            if bytes.get(at + skipped) != Some(&b'"') {
                continue;
            }
            let start = at + skipped + 1;
            let end = bytes[start..].iter().position(|byte| *byte == b'"');
            let end = end.map_or(bytes.len(), |end| start + end);
            bytes[start..end].fill(b'0');
            at = end;
        }
    }
}

/// Overwrites the keys of NGAP: Security Key, and the Security Context with its next hop
/// (TS 38.413, 9.3.1.87 and 9.3.1.88). Their values begin at an octet.
fn hide_ngap_keys(bytes: &mut [u8]) {
    for (id, length) in [([0x00, 0x5e], 32_u8), ([0x00, 0x5d], 33)] {
        let mut at = 0;
        while let Some(found) = find(&bytes[at..], &id) {
            at += found + id.len();
            // Criticality, then the length of the value.
            if bytes.get(at + 1) == Some(&length) {
                let end = (at + 2 + usize::from(length)).min(bytes.len());
                // The first octet has the next hop chaining counter.
                let start = if length == 32 { at + 2 } else { at + 3 };
                bytes[start.min(end)..end].fill(0);
                at = end;
            }
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

/// What the function `oam` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Begin,
    Read,
    End,
}

static REQUESTS: LazyLock<Paths<Request>> = LazyLock::new(|| {
    Paths::new([
        ("signalling/begin/{seconds}", Request::Begin),
        ("signalling/read/{after}", Request::Read),
        ("signalling/end", Request::End),
    ])
});

/// Answers a request of the function `oam`: `signalling/begin/SECONDS`, `signalling/read/AFTER` and
/// `signalling/end`; `None` if it is another one's.
pub(crate) fn ask(question: &str) -> Option<Result<Value, Problem>> {
    let (request, number) = REQUESTS.find(question)?;
    let wrong = || Problem::new(400, "MANDATORY_QUERY_PARAM_INCORRECT").detail("not a number");
    let number = number.first().and_then(|number| number.parse::<u64>().ok()).ok_or_else(wrong);
    let mut recorder = recorder();
    Some(match request {
        Request::Begin => number.map(|seconds| {
            recorder.begin(seconds);
            json!({"process": recorder.process, "next": recorder.last})
        }),
        Request::Read => number.map(|after| recorder.read(after)),
        Request::End => {
            recorder.end();
            Ok(Value::Null)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_their_paths() {
        let number = || vec!["7".to_string()];
        assert_eq!(REQUESTS.find("signalling/begin/7"), Some((Request::Begin, number())));
        assert_eq!(REQUESTS.find("signalling/read/7"), Some((Request::Read, number())));
        assert_eq!(REQUESTS.find("signalling/end"), Some((Request::End, Vec::new())));
        assert_eq!(REQUESTS.find("signalling/start/7"), None);
        assert!(ask("signalling/read/first").is_some_and(|answer| answer.is_err()));
    }

    #[test]
    fn keys_in_json_are_overwritten_and_nothing_else() {
        let mut body = br#"--b
{"kseaf": "00ff11", "supi":"imsi-1","keyAmf":{"keyType":"KAMF","keyVal" :"ABCD"},"ck":null,
"autn":"77", "xresStar":"99","kSeaf":"22ee33"}
--b"#
            .to_vec();
        let length = body.len();
        hide_json_keys(&mut body);
        let text = String::from_utf8(body).unwrap();
        assert_eq!(text.len(), length);
        for open in ["\"supi\":\"imsi-1\"", "\"autn\":\"77\"", "\"ck\":null", "\"KAMF\""] {
            assert!(text.contains(open), "{open}: {text}");
        }
        for secret in ["00ff11", "ABCD", "99", "22ee33"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }

    #[test]
    fn keys_in_ngap_are_overwritten() {
        let mut message = vec![1, 2, 0x00, 0x5e, 0x00, 32];
        message.extend([7; 32]);
        message.extend([0x00, 0x5d, 0x40, 33, 0x20]);
        message.extend([8; 32]);
        message.extend([9; 4]);
        hide_ngap_keys(&mut message);
        assert!(!message.contains(&7) && !message.contains(&8), "{message:02x?}");
        assert_eq!(
            (message[0], message[42], &message[message.len() - 4..]),
            (1, 0x20, &[9; 4][..])
        );
    }

    #[test]
    fn identities_are_found_in_texts() {
        let found = identities_in("/a/imsi-001/sm-contexts/12/modify?x=suci-0-001-01-0000-0-0-7");
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["imsi-001", "sm:12", "suci-0-001-01-0000-0-0-7"]);
        assert!(identities_in("imsi-").is_empty() && identities_in("dnai-1").is_empty());
        let found = identities_in("/a/nai-a-b%40x.org/c {\"s\":\"suci-1-x.org-0-0-0-a-b\"}");
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["nai-a-b@x.org", "suci-1-x.org-0-0-0-a-b"]);
    }

    #[test]
    fn a_recording_is_bounded_in_entries_and_time() {
        let mut recorder = Recorder::new();
        recorder.push(1, json!(1));
        assert_eq!(recorder.last, 0, "nothing is recorded yet");
        recorder.begin(60);
        for n in 0..MAX_ENTRIES + 10 {
            recorder.push(1, json!(n));
        }
        let read = recorder.read(0);
        assert_eq!(read["missed"], 10);
        assert_eq!(read["entries"].as_array().map(Vec::len), Some(PAGE));
        recorder.push(MAX_BYTES, json!("large"));
        assert_eq!(recorder.entries.len(), 1);
        recorder.begin(60);
        recorder.end();
        assert!(!recorder.entries.is_empty(), "another recording is in progress");
        recorder.end();
        assert!(recorder.entries.is_empty());
    }
}
