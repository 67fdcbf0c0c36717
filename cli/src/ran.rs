//! `martlet ran`: simulated gNBs and phones.
pub use martlet_ran::cli::{RanArgs, run};
