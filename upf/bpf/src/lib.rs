//! Helpers for BPF programs: shared memory, test runs and grace periods. Used by `upf/xdp` and
//! `upf/switch/xdp`.
//!
//! | module | what it is |
//! | --- | --- |
//! | `memory` | an array of programs, or a ring of a socket, as memory of this process |
//! | `run` | a program run on frames of ours (`BPF_PROG_TEST_RUN`) |
//! | `grace_period` | waiting until the programs that run have ended |
mod grace_period;
mod memory;
mod run;

pub use grace_period::GracePeriod;
pub use memory::{Access, Memory};
pub use run::{Ran, Run};
