//! What each UE did: every event of the log that names a UE, kept in files of a bounded size beside
//! the subscriber database, whatever the level of the log is. `martlet ue IMSI history` shows them.
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, Filter};

/// Events that wait to be written; more are counted and lost, rather than that a function waits for
/// the disk.
const MOST_WAITING: usize = 8192;
/// So many are written at once.
const MANY: usize = MOST_WAITING / 4;
/// For how long events are gathered before they are written together: to wake a thread for each of
/// them would cost the function that it comes from more than the event does.
const GATHERING: Duration = Duration::from_millis(50);

static SINK: OnceLock<Arc<Sink>> = OnceLock::new();

/// Events on their way to the file.
#[derive(Default)]
struct Sink {
    waiting: Mutex<Waiting>,
    stirred: Condvar,
}

#[derive(Default)]
struct Waiting {
    events: Vec<Happened>,
    lost: u64,
    ending: bool,
}

/// An event as it is handed over: what can be done later is done by the thread that writes.
struct Happened {
    ms: u64,
    target: &'static str,
    fields: Map<String, Value>,
}

impl Sink {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn put(&self, happened: Happened) {
        let mut waiting = self.waiting();
        if waiting.events.len() >= MOST_WAITING {
            waiting.lost += 1;
            return;
        }
        waiting.events.push(happened);
        // The first one wakes the thread; in a storm it does not gather for long.
        if matches!(waiting.events.len(), 1 | MANY) {
            self.stirred.notify_one();
        }
    }

    /// Ends the thread that writes, when it has written what there is.
    fn end(&self) {
        self.waiting().ending = true;
        self.stirred.notify_one();
    }

    /// What has come and how much was lost, when there is something and a moment has passed; `None`
    /// at the end.
    fn take(&self) -> Option<(Vec<Happened>, u64)> {
        let idle = |waiting: &mut Waiting| waiting.events.is_empty() && !waiting.ending;
        let rested =
            self.stirred.wait_while(self.waiting(), idle).unwrap_or_else(|e| e.into_inner());
        let moment = self.stirred.wait_timeout_while(rested, GATHERING, |waiting| {
            !waiting.ending && waiting.events.len() < MANY
        });
        let (mut waiting, _) = moment.unwrap_or_else(|e| e.into_inner());
        let events = std::mem::take(&mut waiting.events);
        match events.is_empty() {
            true => None,
            false => Some((events, std::mem::take(&mut waiting.lost))),
        }
    }
}

impl Happened {
    /// As a line of the file.
    fn line(mut self) -> String {
        let (supi, message) = (self.fields.remove("supi"), self.fields.remove("message"));
        let supi = supi.map(|supi| supi.as_str().and_then(revealed).map_or(supi, Value::from));
        let of = self.target.split("::").next().unwrap_or("").trim_start_matches("martlet_");
        json!({"ms": self.ms, "supi": supi, "nf": of, "what": message, "more": self.fields})
            .to_string()
    }
}

/// Keeps events that name a UE, once [`open`] has said where.
pub struct History;

/// Which events are kept: those from `info` on of Martlet's own crates.
pub struct Kept;

impl Kept {
    fn keeps(metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
            && metadata.target().starts_with("martlet")
            && metadata.is_event()
            && metadata.fields().field("supi").is_some()
    }
}

impl<S> Filter<S> for Kept {
    fn enabled(&self, metadata: &Metadata<'_>, _: &LayerContext<'_, S>) -> bool {
        Self::keeps(metadata)
    }

    /// Decided once for each place in the program: without this, every event and span of every
    /// library is asked about each time that it is passed, whatever the level of the log is.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::keeps(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }
}

impl<S: Subscriber> Layer<S> for History {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        let Some(sink) = SINK.get() else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let ms =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        sink.put(Happened { ms, target: event.metadata().target(), fields: fields.0 });
    }
}

/// The SUPI of a SUCI that conceals nothing (null scheme; TS 23.003, 2.2B), as the AMF knows a UE
/// that was never registered.
fn revealed(suci: &str) -> Option<String> {
    let parts: Vec<_> = suci.strip_prefix("suci-0-")?.split('-').collect();
    match parts[..] {
        [mcc, mnc, _routing_indicator, "0", _key, msin] => Some(format!("imsi-{mcc}{mnc}{msin}")),
        _ => None,
    }
}

/// Where events are kept, and how much of them.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HistoryConfig {
    /// Whether they are.
    pub keep: bool,
    /// The file; empty for one beside the subscriber database. With one process for each function,
    /// each has its own.
    pub path: String,
    /// Megabytes of one file, after which the next begins.
    pub megabytes: u32,
    /// Files before that, which are kept.
    pub files: u32,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        HistoryConfig { keep: true, path: String::new(), megabytes: 16, files: 3 }
    }
}

impl HistoryConfig {
    /// The file of a process, or of the whole core for `None`; none where nothing is kept.
    pub fn file(&self, database: &str, function: Option<&str>) -> Option<PathBuf> {
        let base = match (self.keep, self.path.is_empty()) {
            (false, _) => return None,
            (true, false) => PathBuf::from(&self.path),
            (true, true) => match martlet_store::DatabaseUrl::parse(database) {
                martlet_store::DatabaseUrl::Memory => return None,
                martlet_store::DatabaseUrl::File(path) => path.with_extension("history"),
                martlet_store::DatabaseUrl::Postgres(_) => PathBuf::from("martlet.history"),
            },
        };
        Some(match function {
            Some(function) => base.with_extension(format!("{function}.history")),
            None => base,
        })
    }
}

/// Keeps events in this file from now on, as long as the value lives: what is on its way then is
/// written.
///
/// # Errors
/// The file cannot be written.
pub fn open(file: &Path, config: &HistoryConfig) -> Result<Keeping> {
    let open = append(file)
        .with_context(|| format!("{}: oam.history.path names the file", file.display()))?;
    let sink = Arc::new(Sink::default());
    let (file, most, files) =
        (file.to_path_buf(), u64::from(config.megabytes.max(1)) << 20, config.files);
    let events = sink.clone();
    let work = move || write(open, &file, &events, most, files);
    let thread = std::thread::Builder::new().name("history".into()).spawn(work)?;
    // A second core in this process has the first one's.
    let _ = SINK.set(sink.clone());
    Ok(Keeping { sink, thread: Some(thread) })
}

/// Events are kept as long as this lives.
pub struct Keeping {
    sink: Arc<Sink>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.sink.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn append(file: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(file)
}

fn numbered(file: &Path, n: u32) -> PathBuf {
    PathBuf::from(format!("{}.{n}", file.display()))
}

fn write(mut open: File, file: &Path, sink: &Sink, most: u64, files: u32) {
    let mut length = open.metadata().map_or(0, |metadata| metadata.len());
    while let Some((events, lost)) = sink.take() {
        let lost = (lost > 0).then(|| json!({"ms": 0, "lost": lost}).to_string());
        let mut text = String::new();
        let mut lines = events.into_iter().map(Happened::line).chain(lost).peekable();
        while let Some(line) = lines.next() {
            text.push_str(&line);
            text.push('\n');
            let full = length + text.len() as u64 > most;
            if !full && lines.peek().is_some() {
                continue;
            }
            if open.write_all(text.as_bytes()).is_ok() {
                length += text.len() as u64;
            }
            text.clear();
            if full {
                (open, length) = match next(file, files) {
                    Ok(anew) => (anew, 0),
                    Err(_) => (open, length),
                };
            }
        }
    }
}

/// The next file, in the place of the one that is full.
fn next(file: &Path, files: u32) -> std::io::Result<File> {
    for n in (1..files).rev() {
        let _ = std::fs::rename(numbered(file, n), numbered(file, n + 1));
    }
    let _ = match files {
        0 => std::fs::remove_file(file),
        _ => std::fs::rename(file, numbered(file, 1)),
    };
    append(file)
}

/// What a UE did, in the order of time, from all files whose name begins like this one's.
///
/// # Errors
/// The folder cannot be read.
pub fn of(file: &Path, supi: &str) -> Result<Vec<Value>> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_string();
    let mut events = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(&format!("{stem}.")) || !name.contains("history") {
            continue;
        }
        for line in BufReader::new(File::open(&path)?).lines().map_while(Result::ok) {
            // A line that a kill has cut short is passed over.
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if event["supi"] == supi {
                events.push(event);
            }
        }
    }
    events.sort_by_key(|event| event["ms"].as_u64());
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_conceals_nothing_is_its_subscriber() {
        assert_eq!(
            revealed("suci-0-001-01-0-0-0-0000000001").as_deref(),
            Some("imsi-001010000000001")
        );
        for other in
            ["imsi-001010000000001", "suci-0-001-01-0-1-7-c0ffee", "suci-1-x", "ran-ue-ngap-id-1"]
        {
            assert_eq!(revealed(other), None, "{other}");
        }
    }

    #[test]
    fn what_nobody_wants_to_hear_is_not_asked_about_each_time() {
        use tracing_subscriber::layer::SubscriberExt;
        let quiet = tracing_subscriber::fmt::layer()
            .with_writer(std::io::sink)
            .with_filter(LevelFilter::WARN);
        let all = tracing_subscriber::registry().with(quiet).with(History.with_filter(Kept));
        assert_eq!(all.max_level_hint(), Some(LevelFilter::INFO));
    }

    #[test]
    fn files_are_bounded_and_a_ues_events_come_in_their_order() {
        let folder = std::env::temp_dir().join(format!("martlet-history-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("martlet.history");
        let sink = Sink::default();
        for ms in 0..3000 {
            let supi = format!("imsi-{}", ms % 3);
            let fields =
                json!({"supi": supi, "message": "something that takes some room in the file"});
            let Value::Object(fields) = fields else { unreachable!() };
            sink.put(Happened { ms, target: "martlet_amf::ue", fields });
        }
        sink.end();
        write(append(&file).unwrap(), &file, &sink, 50_000, 2);
        let others = folder.join("martlet.amf.history");
        std::fs::write(
            &others,
            "{\"ms\": 0, \"supi\": \"imsi-1\", \"what\": \"x\"}\n{\"ms\": 1, \"su",
        )
        .unwrap();
        let events = of(&file, "imsi-1").unwrap();
        assert!((100..1000).contains(&events.len()), "{}", events.len());
        assert_eq!(events[0]["what"], "x");
        assert_eq!(events.last().unwrap()["ms"], 2998);
        assert!(events.windows(2).all(|pair| pair[0]["ms"].as_u64() <= pair[1]["ms"].as_u64()));
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            4,
            "the file, two before it, and another function's"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
