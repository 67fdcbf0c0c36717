//! A program run on a packet of ours (`BPF_PROG_TEST_RUN`).
use crate::load::{Program, Programs};
use crate::{XdpError, types};
use libbpf_rs::libbpf_sys;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// What a program says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Dropped, and counted.
    Drop,
    /// For the kernel to deal with.
    Pass,
    /// Back out of the interface that it came from.
    Transmit,
    /// Out of an interface; only from [`Program::Release`] and [`Program::Socket`] is it known which, else 0.
    Redirect(u32),
    /// The rule still says that it has to wait.
    Keep,
}

/// As `bpf/forwarding.h` has it.
const KEEP: u32 = 100;

impl Programs {
    /// Runs a program on a frame as if it came from an interface. The frame as it leaves is put into `out`, in place of
    /// what was there.
    ///
    /// # Errors
    /// The kernel cannot run it, as for a frame larger than a page.
    pub fn run(&self, program: Program, ifindex: u32, frame: &[u8], out: &mut Vec<u8>) -> Result<Verdict, XdpError> {
        out.clear();
        out.resize(frame.len() + 256, 0);
        let (action, length, _) = self.test_run(program, ifindex, frame, out, 1)?;
        out.truncate(length);
        Ok(match action {
            libbpf_sys::XDP_PASS => Verdict::Pass,
            libbpf_sys::XDP_TX => Verdict::Transmit,
            libbpf_sys::XDP_REDIRECT if matches!(program, Program::Release | Program::Socket) => {
                let before = size_of::<types::verdict>();
                let ifindex = out.get(4..before).and_then(|octets| <[u8; 4]>::try_from(octets).ok());
                out.drain(..before.min(out.len()));
                Verdict::Redirect(ifindex.map_or(0, u32::from_ne_bytes))
            }
            libbpf_sys::XDP_REDIRECT => Verdict::Redirect(0),
            KEEP => Verdict::Keep,
            _ => Verdict::Drop,
        })
    }

    /// Runs a program so many times on a frame; what it said the last time, and how long one run took.
    ///
    /// # Errors
    /// The kernel cannot run it.
    pub(crate) fn test_run(
        &self,
        program: Program,
        ifindex: u32,
        frame: &[u8],
        out: &mut [u8],
        repeat: u32,
    ) -> Result<(u32, usize, Duration), XdpError> {
        let program = self.fd(program);
        let mut context =
            libbpf_sys::xdp_md { data_end: frame.len() as u32, ingress_ifindex: ifindex, ..Default::default() };
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            data_out: out.as_mut_ptr().cast(),
            data_size_out: out.len() as u32,
            ctx_in: (&raw mut context).cast(),
            ctx_size_in: size_of_val(&context) as u32,
            repeat: repeat as i32,
            ..Default::default()
        };
        // SAFETY: the descriptor is open, and each pointer goes with the length of what it points to, which outlives the
        // call.
        let outcome = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) };
        if outcome < 0 {
            return Err(XdpError::Table { table: "packets", error: io::Error::from_raw_os_error(-outcome) });
        }
        Ok((options.retval, options.data_size_out as usize, Duration::from_nanos(options.duration.into())))
    }
}
