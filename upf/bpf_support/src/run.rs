//! Runs an XDP program on frames from user space (`BPF_PROG_TEST_RUN`; Linux,
//! Documentation/bpf/bpf_prog_run.rst).
use libbpf_rs::libbpf_sys;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Input of a test run.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The frame. Programs that generate frames get a buffer of this length.
    pub frame: &'a [u8],
    /// The ingress interface that the program sees; 0 for none.
    pub ifindex: u32,
}

/// Result of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunResult {
    /// The last verdict of the program, one of `XDP_…`.
    pub action: u32,
    /// Length of the frame after the last run.
    pub bytes: usize,
    /// Mean duration of a run.
    pub duration: Duration,
}

impl Run<'_> {
    /// Runs a program `times` times on the frame without sending it. `out` receives the frame as
    /// the last run left it.
    ///
    /// # Errors
    /// The kernel cannot run the program, as for a frame larger than a page or a too small `out`.
    pub fn dry(
        &self,
        program: BorrowedFd<'_>,
        times: u32,
        out: &mut [u8],
    ) -> io::Result<RunResult> {
        let mut options = libbpf_sys::bpf_test_run_opts {
            data_out: out.as_mut_ptr().cast(),
            data_size_out: out.len() as u32,
            repeat: times.cast_signed(),
            ..Default::default()
        };
        self.call(program, &mut options)?;
        let duration = Duration::from_nanos(options.duration.into());
        Ok(RunResult { action: options.retval, bytes: options.data_size_out as usize, duration })
    }

    /// Runs a program on `frames` live frames, which take the program's verdict. Linux processes
    /// `batch_size` of them, at most 256, before other work of this CPU. Pages are recycled, so the
    /// program has to write the whole frame.
    ///
    /// # Errors
    /// The kernel rejects the run, or a signal interrupted it ([`io::ErrorKind::Interrupted`]).
    pub fn live(&self, program: BorrowedFd<'_>, frames: u32, batch_size: u32) -> io::Result<()> {
        let mut options = libbpf_sys::bpf_test_run_opts {
            repeat: frames.cast_signed(),
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size,
            ..Default::default()
        };
        self.call(program, &mut options)
    }

    fn call(
        &self,
        program: BorrowedFd<'_>,
        options: &mut libbpf_sys::bpf_test_run_opts,
    ) -> io::Result<()> {
        let length = self.frame.len() as u32;
        let mut context = libbpf_sys::xdp_md {
            data_end: length,
            ingress_ifindex: self.ifindex,
            ..Default::default()
        };
        options.sz = size_of_val(options) as _;
        (options.data_in, options.data_size_in) = (self.frame.as_ptr().cast(), length);
        if self.ifindex != 0 {
            (options.ctx_in, options.ctx_size_in) =
                ((&raw mut context).cast(), size_of_val(&context) as u32);
        }
        // SAFETY: the descriptor is open, and each pointer has the length of its buffer, which
        // outlives the call. The output buffer is borrowed mutably by the caller.
        let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), options) };
        // The options must not point to the context after this function.
        (options.ctx_in, options.ctx_size_in) = (std::ptr::null(), 0);
        if status < 0 { Err(io::Error::from_raw_os_error(-status)) } else { Ok(()) }
    }
}
