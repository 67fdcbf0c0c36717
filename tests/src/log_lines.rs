//! Log lines of a test, whose fields it compares.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

/// A log line: its fields by their names. The text has the name `message`.
pub type LogLine = BTreeMap<String, String>;

thread_local! {
    /// The lines of the recording of this thread.
    static LINES: RefCell<Option<Rc<RefCell<Vec<LogLine>>>>> = const { RefCell::new(None) };
}

/// The warnings and errors of this thread, from [`LogLines::record`] on. A test has one thread, on
/// which its core runs, too. They are not printed meanwhile.
pub struct LogLines {
    lines: Rc<RefCell<Vec<LogLine>>>,
    _default: DefaultGuard,
}

impl LogLines {
    /// Begins to record.
    pub fn record() -> LogLines {
        let lines = Rc::new(RefCell::new(Vec::new()));
        LINES.set(Some(lines.clone()));
        let subscriber = registry().with(Recorder);
        LogLines { lines, _default: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines with this text so far.
    pub fn with_message(&self, message: &str) -> Vec<LogLine> {
        let is_it = |line: &&LogLine| line.get("message").is_some_and(|text| text == message);
        self.lines.borrow().iter().filter(is_it).cloned().collect()
    }

    /// All lines so far.
    pub fn all(&self) -> Vec<LogLine> {
        self.lines.borrow().clone()
    }
}

impl Drop for LogLines {
    fn drop(&mut self) {
        LINES.set(None);
    }
}

struct Recorder;

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        LINES.with_borrow(|lines| {
            if let Some(lines) = lines {
                lines.borrow_mut().push(fields.0);
            }
        });
    }
}

#[derive(Default)]
struct Fields(LogLine);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}
