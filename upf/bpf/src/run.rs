//! An XDP program run on frames of ours (`BPF_PROG_TEST_RUN`; Linux,
//! Documentation/bpf/bpf_prog_run.rst).
use libbpf_rs::libbpf_sys;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What a program is run on.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The frame. Programs that make frames of their own get as many bytes to write to.
    pub frame: &'a [u8],
    /// The interface that it seems to come from; 0 for none.
    pub ifindex: u32,
}

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// What the program said the last time: one of `XDP_…`.
    pub action: u32,
    /// Bytes of the frame then.
    pub bytes: usize,
    /// What one run took.
    pub duration: Duration,
}

impl Run<'_> {
    /// Runs a program so many times on the frame, which goes nowhere. As it is in the end, it is
    /// put into `out`.
    ///
    /// # Errors
    /// The kernel cannot run it, as for a frame larger than a page, or one that has no room in
    /// `out`.
    pub fn dry(&self, program: BorrowedFd<'_>, times: u32, out: &mut [u8]) -> io::Result<Ran> {
        let mut options = libbpf_sys::bpf_test_run_opts {
            data_out: out.as_mut_ptr().cast(),
            data_size_out: out.len() as u32,
            repeat: times.cast_signed(),
            ..Default::default()
        };
        self.call(program, &mut options)?;
        let duration = Duration::from_nanos(options.duration.into());
        Ok(Ran { action: options.retval, bytes: options.data_size_out as usize, duration })
    }

    /// Runs a program on so many live frames, which go where it says: Linux takes `fast_teids` of
    /// them before it looks at what else comes to this CPU, 256 at the most. Pages are used again:
    /// such a program writes the whole of each frame.
    ///
    /// # Errors
    /// The kernel does not do it; a signal came ([`io::ErrorKind::Interrupted`]) before all were
    /// through.
    pub fn live(&self, program: BorrowedFd<'_>, frames: u32, fast_teids: u32) -> io::Result<()> {
        let mut options = libbpf_sys::bpf_test_run_opts {
            repeat: frames.cast_signed(),
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size: fast_teids,
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
        // SAFETY: the descriptor is open, and each pointer goes with the length of what it points
        // to, which outlives the call; what it writes to is borrowed by who called, for
        // longer than this.
        let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), options) };
        // Nothing points to the context any more.
        (options.ctx_in, options.ctx_size_in) = (std::ptr::null(), 0);
        if status < 0 { Err(io::Error::from_raw_os_error(-status)) } else { Ok(()) }
    }
}
