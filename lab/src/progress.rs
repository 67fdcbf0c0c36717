//! Progress of long work on standard error: a line that is written over on a terminal, now and then
//! a line elsewhere.
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Counts towards a known end.
pub struct Progress {
    unit: &'static str,
    of: u64,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// Work of so many units.
    pub fn new(unit: &'static str, of: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Progress { unit, of, done: 0, started: Instant::now(), shown: None, terminal }
    }

    /// One unit is done; `what` names what it was.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        let pause = Duration::from_millis(if self.terminal { 200 } else { 10_000 });
        if self.shown.is_some_and(|shown| shown.elapsed() < pause) {
            return;
        }
        self.shown = Some(Instant::now());
        let left = self.started.elapsed().as_secs_f64() / self.done as f64
            * (self.of.saturating_sub(self.done)) as f64;
        let line = format!("{} of {} {} ({what}), {left:.0} s left", self.done, self.of, self.unit);
        let mut stderr = std::io::stderr();
        let _ = if self.terminal {
            write!(stderr, "\r\x1b[K{line}")
        } else {
            writeln!(stderr, "{line}")
        };
        let _ = stderr.flush();
    }

    /// All is done.
    pub fn done(self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
