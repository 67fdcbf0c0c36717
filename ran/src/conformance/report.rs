//! The results of a run, and the list of all cases.
use super::case::{Behaviour, Case};
use super::cases::{cases, groups};
use serde::Serialize;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The core did what the clause requires.
    Passed,
    /// It did not.
    Failed {
        /// What was received in its place.
        received: String,
    },
    /// The case was not run.
    NotRun {
        /// What it needs.
        needs: String,
    },
}

/// The result of one case, with what it was.
#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    pub case: &'static str,
    /// What the core has to do.
    pub expected: &'static str,
    /// The clause that requires it.
    pub clause: &'static str,
    /// The result.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How long the case took, milliseconds.
    pub ms: u64,
}

impl CaseReport {
    pub(super) fn new(case: &Case, verdict: Verdict, took: Duration) -> CaseReport {
        CaseReport {
            case: case.name,
            expected: case.expected,
            clause: case.clause,
            verdict,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The results of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The AMF under test.
    pub amf: SocketAddr,
    /// Each case.
    pub cases: Vec<CaseReport>,
}

impl Report {
    /// Number of cases that passed, failed and were not run.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |wanted: fn(&Verdict) -> bool| {
            self.cases.iter().filter(|case| wanted(&case.verdict)).count()
        };
        (
            count(|verdict| *verdict == Verdict::Passed),
            count(|verdict| matches!(verdict, Verdict::Failed { .. })),
            count(|verdict| matches!(verdict, Verdict::NotRun { .. })),
        )
    }

    /// The names of the cases that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        let failed = |case: &&CaseReport| matches!(case.verdict, Verdict::Failed { .. });
        self.cases.iter().filter(failed).map(|case| case.case).collect()
    }

    /// The results as text: one line for each case, and two more for one that failed.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let width = self.cases.iter().map(|case| case.case.len()).max().unwrap_or_default();
        for CaseReport { case, expected, clause, verdict, ms } in &self.cases {
            let _ = match verdict {
                Verdict::Passed => writeln!(text, "pass     {case:width$}  {clause}  {ms} ms"),
                Verdict::NotRun { needs } => {
                    writeln!(text, "not run  {case:width$}  {clause}  needs {needs}")
                }
                Verdict::Failed { received } => writeln!(
                    text,
                    "FAIL     {case:width$}  {clause}  {ms} ms\n           expected: \
                     {expected}\n           received: {received}"
                ),
            };
        }
        let (passed, failed, not_run) = self.counts();
        let _ = writeln!(text, "{}: {passed} passed, {failed} failed, {not_run} not run", self.amf);
        text
    }
}

/// The list of all cases as Markdown tables, one for each group.
pub fn cases_markdown() -> String {
    let mut text = format!("{} cases.\n", cases().count());
    for (group, cases) in groups() {
        let _ = write!(
            text,
            "\n## {group}\n\n| case | gNB and UE | what they do | required of the core | clause \
             |\n| --- | --- | --- | --- | --- |\n"
        );
        for Case { name, behaviour, stimulus, expected, clause, .. } in cases {
            let behaviour = match behaviour {
                Behaviour::Valid => "valid",
                Behaviour::Invalid => "invalid",
            };
            let _ =
                writeln!(text, "| `{name}` | {behaviour} | {stimulus} | {expected} | {clause} |");
        }
    }
    text
}
