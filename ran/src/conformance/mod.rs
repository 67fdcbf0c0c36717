//! A conformance bench for cores: behaviours of gNBs and UEs, valid and invalid, with what the
//! specifications require of the core for each.
//!
//! `martlet ran conformance --amf ADDRESS` plays [`cases`] against any AMF, and
//! [`cases_markdown`] lists them. A case passes, fails with what was received instead of what the
//! clause requires, or is not run, with what it lacks.
//!
//! | module | what it contains |
//! | --- | --- |
//! | `case` | [`Case`]: a behaviour, its clause, and what it requires |
//! | `bench` | [`Bench`]: the core under test, its subscribers, the gNBs of a case |
//! | `raw_gnb`, `raw_ue` | a gNB and a UE whose messages a case may change or withhold |
//! | `cases` | the cases by procedure |
//! | `run`, `report` | plays cases; the result of each, as text and JSON |
mod bench;
mod case;
mod cases;
mod cli;
mod raw_gnb;
mod raw_ue;
mod report;
mod run;
mod unmet;

pub use bench::{Bench, BenchConfig};
pub use case::{Behaviour, Case};
pub use cases::cases;
pub use cli::{ConformanceArgs, run as run_command};
pub use report::{CaseReport, Report, Verdict, cases_markdown};
pub use run::run;
pub use unmet::Unmet;
