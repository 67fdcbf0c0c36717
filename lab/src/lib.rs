//! The experiments of `martlet-lab`. Each is one function that measures, keeps raw data, and writes
//! a report with figures and plots.
//!
//! | module | experiment |
//! | --- | --- |
//! | [`control_plane`] | latency of procedures, after L25GC+ |
//! | [`console`] | the cost of the northbound API and the console, and their speed |
//! | [`idle`] | CPU time and memory of an idle core |
//! | [`memory`] | memory of a UE at each function |
//! | [`crowd`] | many registered UEs: memory of each, and the registration of one more |
//! | [`instructions`] | instructions of codecs, calls and procedures |
//! | [`scale`] | many UEs: registration storm, memory, recovery after a crash |
//! | [`provisioning`] | import of many subscribers, and the start of a core with them |
//! | [`serve`] | quick runs for the console |
//! | [`sbi`] | cost of a service call for each transport |
//! | [`upf`] | cost of packets and sessions in the user plane, after XupfPI |
//! | [`switch`] | the programmable switch |
//! | [`lcs_upp`] | transport time of LCS-UPP, for each secure channel |
//! | [`reproduce`] | the figures of the papers, beside the papers' values |
// iceoryx2 lends a file descriptor that only unsafe code can duplicate.
#![cfg_attr(not(feature = "iceoryx2"), forbid(unsafe_code))]
#![deny(unsafe_code)]

mod command;
pub mod console;
pub mod control_plane;
mod core;
pub mod crowd;
pub mod idle;
pub mod instructions;
pub mod interruption;
pub mod lcs_upp;
mod machine;
pub mod memory;
mod namespace;
mod output;
mod pacer;
mod plot;
mod process_usage;
mod progress;
mod promises;
pub mod provisioning;
pub mod reproduce;
pub mod sbi;
pub mod scale;
pub mod serve;
pub mod stats;
pub mod switch;
pub mod upf;

pub use self::core::{CoreArgs, CoreProcess, Variant, status_at};
pub use output::{Figure, Output, RunArgs};
pub use plot::{Axes, Bars, Panel, Series, draw, draw_bars, draw_scaled, draw_stacked};
