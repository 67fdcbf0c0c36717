//! What members did to contexts, from all of their processes, and the check that no two of them
//! held a context at the same time.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a member did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Acted on a context that it owned by its lease.
    Acted,
    /// Took a context over, or found it stored under its name when it started.
    TookOver,
}

/// An operation on a context; it took effect between its begin and its end, which are moments of
/// the machine's monotonic clock.
#[derive(Debug, Clone)]
pub struct Operation {
    pub context: u32,
    pub member: usize,
    pub kind: Kind,
    pub begun: Duration,
    pub ended: Duration,
}

/// The monotonic clock, which all processes of this machine share.
pub fn now() -> Duration {
    let clock = nix::time::ClockId::CLOCK_MONOTONIC;
    nix::time::clock_gettime(clock).map(Duration::from).expect("a monotonic clock")
}

fn file(folder: &Path, member: usize) -> PathBuf {
    folder.join(format!("history-{member}"))
}

/// The history of one member, which survives its process.
pub struct Recorder {
    file: std::fs::File,
    member: usize,
}

impl Recorder {
    pub fn open(folder: &Path, member: usize) -> Recorder {
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(file(folder, member));
        Recorder { file: file.expect("the file of the history"), member }
    }

    /// Records an operation that ends now.
    pub fn record(&mut self, context: u32, kind: Kind, begun: Duration) {
        let letter = if kind == Kind::Acted { 'a' } else { 't' };
        let (begun, ended) = (begun.as_nanos(), now().as_nanos());
        // One write for each line, so that a killed process leaves whole lines.
        let line = format!("{letter} {context} {} {begun} {ended}\n", self.member);
        self.file.write_all(line.as_bytes()).expect("the history is written");
    }
}

/// The operations of all members.
pub fn read(folder: &Path, members: usize) -> Vec<Operation> {
    let text = |member| std::fs::read_to_string(file(folder, member)).unwrap_or_default();
    let parse = |line: &str| {
        let mut words = line.split(' ');
        let kind = if words.next()? == "a" { Kind::Acted } else { Kind::TookOver };
        let (context, member) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let mut moment = || words.next()?.parse().ok().map(Duration::from_nanos);
        Some(Operation { context, member, kind, begun: moment()?, ended: moment()? })
    };
    let all: Vec<String> = (0..members).map(text).collect();
    // A line that is being written has no end yet.
    let lines = all.iter().flat_map(|text| text.split_inclusive('\n'));
    let whole = lines.filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| parse(line).unwrap_or_else(|| panic!("history: {line:?}"))).collect()
}

/// The first operation that contradicts one owner at a time: a member acted on a context that
/// another one had taken over before, without taking it over again. Ownership is a register that
/// takeovers write and acts read, and each is one operation, so this is linearisability.
pub fn contradiction(history: &[Operation]) -> Option<(Operation, Operation)> {
    let takeovers: Vec<&Operation> =
        history.iter().filter(|operation| operation.kind == Kind::TookOver).collect();
    for act in history.iter().filter(|operation| operation.kind == Kind::Acted) {
        let of_context = || takeovers.iter().filter(|takeover| takeover.context == act.context);
        // Those that were over when the act began.
        let before = of_context().filter(|takeover| takeover.ended <= act.begun);
        let Some(last) = before.max_by_key(|takeover| takeover.ended) else { continue };
        let may_own = of_context().any(|takeover| {
            takeover.member == act.member
                && takeover.ended >= last.begun
                && takeover.begun <= act.ended
        });
        if !may_own {
            return Some(((*last).clone(), act.clone()));
        }
    }
    None
}

#[test]
fn the_checker_finds_an_act_after_a_takeover_by_another_member() {
    let ms = Duration::from_millis;
    let operation = |member, kind, from, to| Operation {
        context: 1,
        member,
        kind,
        begun: ms(from),
        ended: ms(to),
    };
    let taken = operation(1, Kind::TookOver, 10, 20);
    // Overlapping operations may have had either order.
    for fine in [operation(0, Kind::Acted, 15, 30), operation(1, Kind::Acted, 30, 31)] {
        assert!(contradiction(&[taken.clone(), fine]).is_none());
    }
    let late = operation(0, Kind::Acted, 25, 30);
    assert!(contradiction(&[taken.clone(), late.clone()]).is_some());
    let back = operation(0, Kind::TookOver, 21, 24);
    assert!(contradiction(&[taken, back, late]).is_none());
}
