//! Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere.
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two lines where standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Counts towards a known end.
pub struct Progress {
    unit: &'static str,
    bar: ProgressBar,
    /// When the last line was written; `None` on a terminal.
    line: Option<Instant>,
}

impl Progress {
    /// Work of a number of units.
    pub fn new(unit: &'static str, units: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target =
            if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(units), target);
        let style = format!("{{bar:40}} {{pos}} of {{len}} {unit} ({{msg}}), {{eta}} left");
        // The template is constant but for the unit.
        bar.set_style(ProgressStyle::with_template(&style).unwrap_or(ProgressStyle::default_bar()));
        Progress { unit, bar, line: (!terminal).then(Instant::now) }
    }

    /// One unit is done; `what` names what it was.
    pub fn step(&mut self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.inc(1);
        if self.line.is_some_and(|last| last.elapsed() >= LINE_INTERVAL) {
            let (done, units) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let seconds = self.bar.eta().as_secs();
            eprintln!("{done} of {units} {} ({what}), {seconds} s left", self.unit);
            self.line = Some(Instant::now());
        }
    }

    /// All is done: the bar is removed.
    pub fn done(self) {
        self.bar.finish_and_clear();
    }
}
