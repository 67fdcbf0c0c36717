//! The experiments: each one command that runs, keeps raw data, and shows figures and plots.
// A descriptor of iceoryx2 has to be borrowed, where that is compared with.
#![cfg_attr(not(feature = "iceoryx2"), forbid(unsafe_code))]
#![deny(unsafe_code)]

mod bars;
pub mod control_plane;
mod core_process;
pub mod lcs_upp;
mod machine;
mod namespace;
mod output;
mod pace;
mod plot;
mod program;
mod progress;
pub mod sbi;
pub mod stats;
pub mod switch;
pub mod upf;

pub use bars::{Bars, draw_bars};
pub use core_process::{CoreProcess, Usage};
pub use output::{Figure, Output};
pub use plot::{Panel, Series, draw};
pub use program::CoreArgs;
