//! The UE history: every log event with a SUPI, recorded in files of limited size beside the
//! subscriber database, independent of the log level. `martlet ue IMSI history` shows it.
use anyhow::{Context, Result};
use martlet_security::sidf::HomeNetworkKeys;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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

/// Maximum number of queued events. Further events are dropped and counted, so that no function
/// waits for the disk.
const MAX_QUEUED: usize = 8192;
/// Permissions of a new file, unless the one before it has others.
const PRIVATE: u32 = 0o600;
/// Number of queued events that are written at once.
const BATCH: usize = MAX_QUEUED / 4;
/// Events of this time are written together. A wakeup of the writer for each event would cost more
/// than the event.
const FLUSH_INTERVAL: Duration = Duration::from_millis(50);

static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// The queue of events for the writer.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: Vec<Record>,
    dropped: u64,
    closed: bool,
}

/// An event, not yet formatted: the writer does that.
struct Record {
    ms: u64,
    target: &'static str,
    fields: Map<String, Value>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn push(&self, record: Record) {
        let mut state = self.state();
        if state.events.len() >= MAX_QUEUED {
            state.dropped += 1;
            return;
        }
        state.events.push(record);
        // The first event wakes the writer, and a full batch ends its flush interval.
        if matches!(state.events.len(), 1 | BATCH) {
            self.changed.notify_one();
        }
    }

    /// Ends the writer after the last queued event.
    fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// Waits for events and returns a batch with the number of dropped ones; `None` once closed and
    /// empty.
    fn next_batch(&self) -> Option<(Vec<Record>, u64)> {
        let is_idle = |state: &mut State| state.events.is_empty() && !state.closed;
        let first = self.changed.wait_while(self.state(), is_idle);
        let first = first.unwrap_or_else(|e| e.into_inner());
        let flushed = self.changed.wait_timeout_while(first, FLUSH_INTERVAL, |state| {
            !state.closed && state.events.len() < BATCH
        });
        let (mut state, _) = flushed.unwrap_or_else(|e| e.into_inner());
        let events = std::mem::take(&mut state.events);
        match events.is_empty() {
            true => None,
            false => Some((events, std::mem::take(&mut state.dropped))),
        }
    }
}

impl Record {
    /// The line of the file.
    fn line(mut self) -> String {
        let (supi, message) = (self.fields.remove("supi"), self.fields.remove("message"));
        let supi = supi.map(|supi| supi.as_str().and_then(supi_of_suci).map_or(supi, Value::from));
        let nf = self.target.split("::").next().unwrap_or("").trim_start_matches("martlet_");
        json!({"ms": self.ms, "supi": supi, "nf": nf, "what": message, "more": self.fields})
            .to_string()
    }
}

/// The tracing layer that records events of UEs, once [`open`] has started the writer.
pub struct UeHistory;

/// The filter of recorded events: those of Martlet's crates with a SUPI, from level `info` on.
pub struct UeEvents;

impl UeEvents {
    fn matches(metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
            && metadata.target().starts_with("martlet")
            && metadata.is_event()
            && metadata.fields().field("supi").is_some()
    }
}

impl<S> Filter<S> for UeEvents {
    fn enabled(&self, metadata: &Metadata<'_>, _: &LayerContext<'_, S>) -> bool {
        Self::matches(metadata)
    }

    /// Decides once for each call site. Otherwise every event and span of every library would be
    /// filtered each time, independent of the log level.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::matches(metadata) { Interest::always() } else { Interest::never() }
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

impl<S: Subscriber> Layer<S> for UeHistory {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        let Some(queue) = QUEUE.get() else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let ms =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        queue.push(Record { ms, target: event.metadata().target(), fields: fields.0 });
    }
}

/// The SUPI of a SUCI with the null scheme (TS 23.003, 2.2B). The AMF logs it for a UE that was
/// never registered.
fn supi_of_suci(suci: &str) -> Option<String> {
    HomeNetworkKeys::new().deconceal(suci).ok()
}

/// Section `oam.history`.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HistoryConfig {
    /// Whether events are recorded.
    pub enabled: bool,
    /// The file; empty for one beside the subscriber database. With one process for each function,
    /// each has a file of its own.
    pub path: String,
    /// Maximum size of a file in megabytes.
    pub megabytes: u32,
    /// Number of older files.
    pub files: u32,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        HistoryConfig { enabled: true, path: String::new(), megabytes: 16, files: 3 }
    }
}

impl HistoryConfig {
    /// The file of a function's process, or of the whole core for `None`. `None` if nothing is
    /// recorded.
    pub fn file(&self, database: &str, function: Option<&str>) -> Option<PathBuf> {
        let base = match (self.enabled, self.path.is_empty()) {
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

/// Records events into a file until the value is dropped, which writes the queued ones.
///
/// # Errors
/// The file cannot be written.
pub fn open(file: &Path, config: &HistoryConfig) -> Result<HistoryWriter> {
    let open = append(file, PRIVATE)
        .with_context(|| format!("{}: oam.history.path names the file", file.display()))?;
    let queue = Arc::new(Queue::default());
    let (file, max_size, files) =
        (file.to_path_buf(), u64::from(config.megabytes.max(1)) << 20, config.files);
    let events = queue.clone();
    let work = move || write(open, &file, &events, max_size, files);
    let thread = std::thread::Builder::new().name("history".into()).spawn(work)?;
    // A second core in this process shares the writer of the first one.
    let _ = QUEUE.set(queue.clone());
    Ok(HistoryWriter { queue, thread: Some(thread) })
}

/// The writer of the UE history. Dropping it writes all queued events.
pub struct HistoryWriter {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for HistoryWriter {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn append(file: &Path, mode: u32) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(mode).open(file)
}

fn numbered(file: &Path, n: u32) -> PathBuf {
    PathBuf::from(format!("{}.{n}", file.display()))
}

fn write(mut open: File, file: &Path, queue: &Queue, max_size: u64, files: u32) {
    let mut length = open.metadata().map_or(0, |metadata| metadata.len());
    while let Some((events, dropped)) = queue.next_batch() {
        let dropped = (dropped > 0).then(|| json!({"ms": 0, "lost": dropped}).to_string());
        let mut text = String::new();
        let mut lines = events.into_iter().map(Record::line).chain(dropped).peekable();
        while let Some(line) = lines.next() {
            text.push_str(&line);
            text.push('\n');
            let full = length + text.len() as u64 > max_size;
            if !full && lines.peek().is_some() {
                continue;
            }
            if open.write_all(text.as_bytes()).is_ok() {
                length += text.len() as u64;
            }
            text.clear();
            if full {
                (open, length) = match rotate(file, files) {
                    Ok(next) => (next, 0),
                    Err(_) => (open, length),
                };
            }
        }
    }
}

/// Renames the full file and opens the next one.
fn rotate(file: &Path, files: u32) -> std::io::Result<File> {
    // A group that may read the history reads the next file, too.
    let mode = std::fs::metadata(file).map_or(PRIVATE, |file| file.permissions().mode() & 0o777);
    for n in (1..files).rev() {
        let _ = std::fs::rename(numbered(file, n), numbered(file, n + 1));
    }
    let _ = match files {
        0 => std::fs::remove_file(file),
        _ => std::fs::rename(file, numbered(file, 1)),
    };
    append(file, mode)
}

/// Whether a name is that of the file, or of the file of a function beside it.
pub fn is_current(file: &Path, name: &str) -> bool {
    let of_function = || {
        let rest = name.strip_prefix(file.file_stem()?.to_str()?)?;
        Some(rest.starts_with('.') && rest.ends_with(".history"))
    };
    file.file_name().is_some_and(|own| own == name) || of_function() == Some(true)
}

/// The name of the current file, for one of the older files.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((current, number)) if number.parse::<u32>().is_ok() => current,
        _ => name,
    }
}

/// The events of a UE in order of time, from the file, its older files and those of other
/// functions.
///
/// # Errors
/// The folder cannot be read.
pub fn read(file: &Path, supi: &str) -> Result<Vec<Value>> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut events = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !is_current(file, name) && !is_current(file, without_number(name)) {
            continue;
        }
        for line in BufReader::new(File::open(&path)?).lines().map_while(Result::ok) {
            // A line that a crash has truncated is skipped.
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
    fn a_suci_with_the_null_scheme_gives_its_supi() {
        assert_eq!(
            supi_of_suci("suci-0-001-01-0-0-0-0000000001").as_deref(),
            Some("imsi-001010000000001")
        );
        for other in
            ["imsi-001010000000001", "suci-0-001-01-0-1-7-c0ffee", "suci-1-x", "ran-ue-ngap-id-1"]
        {
            assert_eq!(supi_of_suci(other), None, "{other}");
        }
    }

    #[test]
    fn the_filter_limits_the_level_of_the_whole_log() {
        use tracing_subscriber::layer::SubscriberExt;
        let quiet = tracing_subscriber::fmt::layer()
            .with_writer(std::io::sink)
            .with_filter(LevelFilter::WARN);
        let all = tracing_subscriber::registry().with(quiet).with(UeHistory.with_filter(UeEvents));
        assert_eq!(all.max_level_hint(), Some(LevelFilter::INFO));
    }

    #[test]
    fn files_are_rotated_and_events_are_read_in_order() {
        let folder = std::env::temp_dir().join(format!("martlet-history-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("martlet.history");
        let queue = Queue::default();
        for ms in 0..3000 {
            let supi = format!("imsi-{}", ms % 3);
            let fields = json!({"supi": supi, "message": "an event of some length"});
            let Value::Object(fields) = fields else { unreachable!() };
            queue.push(Record { ms, target: "martlet_amf::ue", fields });
        }
        queue.close();
        write(append(&file, PRIVATE).unwrap(), &file, &queue, 50_000, 2);
        let others = folder.join("martlet.amf.history");
        std::fs::write(
            &others,
            "{\"ms\": 0, \"supi\": \"imsi-1\", \"what\": \"x\"}\n{\"ms\": 1, \"su",
        )
        .unwrap();
        let events = read(&file, "imsi-1").unwrap();
        assert!((100..1000).contains(&events.len()), "{}", events.len());
        assert_eq!(events[0]["what"], "x");
        assert_eq!(events.last().unwrap()["ms"], 2998);
        assert!(events.windows(2).all(|pair| pair[0]["ms"].as_u64() <= pair[1]["ms"].as_u64()));
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            4,
            "the file, two older ones, and another function's"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_of_any_name_is_read_with_its_older_ones() {
        for path in ["events/ue.log", "events/history", "events/martlet.history", "events/ue.5"] {
            let folder = format!("martlet-history-name-{}", std::process::id());
            let file = std::env::temp_dir().join(folder).join(path);
            let folder = file.parent().unwrap();
            let _ = std::fs::remove_dir_all(folder);
            std::fs::create_dir_all(folder).unwrap();
            let config =
                HistoryConfig { path: file.display().to_string(), ..HistoryConfig::default() };
            let of_amf = config.file("", Some("amf")).unwrap();
            let unrelated = folder.join("unrelated.history");
            let files = [&numbered(&file, 2), &of_amf, &numbered(&of_amf, 1), &file, &unrelated];
            for (ms, file) in files.into_iter().enumerate() {
                let event = json!({"ms": ms, "supi": "imsi-1"});
                std::fs::write(file, format!("{event}\n")).unwrap();
            }
            let events = read(&file, "imsi-1").unwrap();
            let times: Vec<_> = events.iter().filter_map(|event| event["ms"].as_u64()).collect();
            assert_eq!(times, [0, 1, 2, 3], "{path}");
            std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
        }
    }
}
