//! A program run on a packet of ours (`BPF_PROG_TEST_RUN`).
use crate::loader::{Program, Programs};
use crate::loader::{XdpError, types};
use libbpf_rs::libbpf_sys;
use martlet_bpf::{Run, RunResult};
use std::os::fd::AsFd;

/// The verdict of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Dropped, and counted.
    Drop,
    /// For the kernel to deal with.
    Pass,
    /// Sent back on the input interface.
    Transmit,
    /// Redirected to an interface; it is known only from [`Program::Release`] and
    /// [`Program::Socket`], else 0.
    Redirect(u32),
    /// The rule still buffers it.
    Keep,
}

/// As `bpf/forwarding.h` has it.
const KEEP: u32 = 100;

impl Programs {
    /// Runs a program on a frame as if received on an interface. `out` is replaced by the resulting
    /// frame.
    ///
    /// # Errors
    /// The kernel cannot run it, as for a frame larger than a page.
    pub fn run(
        &self,
        program: Program,
        ifindex: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Verdict, XdpError> {
        out.clear();
        out.resize(frame.len() + 256, 0);
        let ran = self.test_run(program, Run { frame, ifindex }, 1, out)?;
        out.truncate(ran.bytes);
        Ok(match ran.action {
            libbpf_sys::XDP_PASS => Verdict::Pass,
            libbpf_sys::XDP_TX => Verdict::Transmit,
            libbpf_sys::XDP_REDIRECT if matches!(program, Program::Release | Program::Socket) => {
                let before = size_of::<types::verdict>();
                let ifindex = out.get(4..before).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
                out.drain(..before.min(out.len()));
                Verdict::Redirect(ifindex.map_or(0, u32::from_ne_bytes))
            }
            libbpf_sys::XDP_REDIRECT => Verdict::Redirect(0),
            KEEP => Verdict::Keep,
            _ => Verdict::Drop,
        })
    }

    /// Runs a program repeatedly on a frame.
    ///
    /// # Errors
    /// The kernel cannot run it.
    pub(crate) fn test_run(
        &self,
        program: Program,
        on: Run<'_>,
        times: u32,
        out: &mut [u8],
    ) -> Result<RunResult, XdpError> {
        on.dry(self.fd(program)?.as_fd(), times, out)
            .map_err(|error| XdpError::Table { table: "packets", error })
    }
}
