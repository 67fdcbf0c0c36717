//! Helpers for BPF programs: shared memory, test runs and grace periods. Used by `upf/xdp` and
//! `upf/switch/xdp_engine`.
//!
//! | module | what it is |
//! | --- | --- |
//! | `memory` | an array map or a socket ring, mapped into this process |
//! | `run` | test runs of a program on frames from user space (`BPF_PROG_TEST_RUN`) |
//! | `grace_period` | waits until all running programs have ended |
mod grace_period;
mod memory;
mod run;

pub use grace_period::GracePeriod;
pub use memory::{Access, Memory};
pub use run::{Run, RunResult};
