//! Traffic generator and sink over links (`BPF_F_TEST_XDP_LIVE_FRAMES`). Both are programs, so that
//! only the path between them is measured.
use crate::loader::attach::{Attachment, Mode};
use crate::loader::bench::BenchPath;
use crate::loader::load::{Program, Programs, Sizes, table_error};
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags};
use martlet_bpf::Run;
use std::os::fd::AsFd;

/// A generator and a receiver. They need not belong to the datapath that is between them.
pub struct Traffic(Programs);

/// What a receiver has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// How long they took: how many for each class, of which there are eight for each power of
    /// two.
    pub took: Vec<u64>,
}

impl Received {
    /// A quantile (0 to 1) of the time that packets took, in nanoseconds: the upper end of its
    /// class.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let all: u64 = self.took.iter().sum();
        let rank = (all as f64 * q).ceil().max(1.0) as u64;
        let mut sum = 0;
        let class = self.took.iter().position(|count| {
            sum += count;
            sum >= rank
        })?;
        (all > 0).then(|| upper_end(class))
    }

    /// What has come since an earlier count.
    pub fn since(&self, earlier: &Received) -> Received {
        let took = self.took.iter().zip(&earlier.took).map(|(now, then)| now - then).collect();
        Received {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            took,
        }
    }
}

/// As `bench_count` in `bpf/bench.h` has it.
fn upper_end(class: usize) -> f64 {
    if class < 8 {
        return 8.0;
    }
    let (power, part) = (class / 8 + 2, class % 8);
    2f64.powi(power as i32) * (1.0 + (part + 1) as f64 / 8.0)
}

impl Traffic {
    /// Loads generator and receiver.
    ///
    /// # Errors
    /// The kernel refuses them.
    pub fn load() -> Result<Traffic, XdpError> {
        let sizes = Sizes {
            sessions: 1,
            rules: 1,
            filters: 1,
            ring: 1 << 16,
            nat_flows: 0,
            bench: 1,
            sample: 0,
        };
        Ok(Traffic(Programs::load(types::settings::default(), &sizes)?))
    }

    /// Receives what comes to an interface.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn receive(&self, ifindex: u32) -> Result<Attachment, XdpError> {
        self.0.attach(Program::Receive, ifindex, Some(Mode::Native))
    }

    /// Lets what comes to an interface pass: one that has a program takes frames of programs.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn pass(&self, ifindex: u32) -> Result<Attachment, XdpError> {
        self.0.attach(Program::Outer, ifindex, Some(Mode::Native))
    }

    /// Attaches the generator's programs to two interfaces that have no packets. The kernel calls
    /// programs that are attached directly, and others only after it has rewritten code and waited
    /// for all CPUs: without this each [`send`](Self::send) would take half a millisecond more.
    ///
    /// # Errors
    /// The kernel does not attach them.
    pub fn hold(&self, up: u32, down: u32) -> Result<Vec<Attachment>, XdpError> {
        let attach = |program, ifindex| self.0.attach(program, ifindex, Some(Mode::Native));
        Ok(vec![attach(Program::SendUp, up)?, attach(Program::SendDown, down)?])
    }

    /// Has receivers know packets that somebody else sends: where they find the time at which one
    /// was made.
    pub fn expect(&self, path: &BenchPath) {
        self.0.set_path(1, path, 1);
    }

    /// Sends so many packets, of sessions drawn at random beginning with `seed`, in runs of at most
    /// `batch`. Returns when they are sent, and where the links are virtual, what one CPU does with
    /// them is done, too.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn send(
        &self,
        uplink: bool,
        sessions: u32,
        path: &BenchPath,
        packets: u32,
        batch: u32,
        seed: u32,
    ) -> Result<(), XdpError> {
        self.0.set_path(sessions, path, seed.max(1));
        let frame = vec![0u8; path.length as usize + if uplink { 58 } else { 14 }];
        let program = self.0.fd(if uplink { Program::SendUp } else { Program::SendDown });
        let sent =
            Run { frame: &frame, ifindex: path.ifindex }.live(program.as_fd(), packets, batch);
        sent.map_err(|error| XdpError::Table { table: "packets", error })
    }

    /// What all receivers have counted.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn received(&self) -> Result<Received, XdpError> {
        let each = self.0.bench_received.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let each = each.map_err(|error| table_error("bench_received", error))?.unwrap_or_default();
        let mut words = vec![0u64; size_of::<types::bench_received>() / 8];
        for cpu in each {
            for (sum, word) in words.iter_mut().zip(cpu.as_chunks::<8>().0) {
                *sum += u64::from_ne_bytes(*word);
            }
        }
        Ok(Received { packets: words[0], bytes: words[1], took: words[2..].to_vec() })
    }
}
