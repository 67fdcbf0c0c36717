//! A conformance bench for cores: behaviours of gNBs and UEs, valid and invalid, with what the
//! specifications require of the core for each.
//!
//! `martlet ran conformance --amf ADDRESS` plays [`cases`] against any AMF, and
//! [`cases_markdown`] lists them. A case passes, fails with what was received in place of what the
//! clause requires, or is not run, with what it lacks.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `case` | [`Case`]: a behaviour, its clause, and what it requires |
//! | `bench` | [`Bench`]: the core under test, its subscribers, the gNBs of a case |
//! | `raw_gnb`, `raw_ue` | a gNB and a UE whose messages a case may change or withhold |
//! | `cases` | the cases by procedure |
//! | `report` | the result of each case, as text and JSON |
mod bench;
mod case;
mod cases;
mod cli;
mod raw_gnb;
mod raw_ue;
mod report;

pub use bench::{Bench, BenchConfig, run};
pub use case::{Behaviour, Case, Unmet};
pub use cases::cases;
pub use cli::{ConformanceArgs, run as run_command};
pub use report::{CaseReport, Report, Verdict, cases_markdown};
