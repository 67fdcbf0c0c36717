//! Traffic generator and sink over links (`BPF_F_TEST_XDP_LIVE_FRAMES`). Both are programs, so that
//! only the path between them is measured.
use crate::loader::attach::{Attachment, Mode};
use crate::loader::bench::BenchPath;
use crate::loader::error::table_error;
use crate::loader::{Program, Programs, Sizes};
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags};
use martlet_bpf::Run;
use std::os::fd::AsFd;

/// A generator and a receiver, independent of the datapath between them.
pub struct Traffic(Programs);

/// Counters of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// Histogram of latencies, with eight classes for each power of two.
    pub latency_classes: Vec<u64>,
}

impl Received {
    /// A quantile (0 to 1) of the latency in nanoseconds: the upper end of its class.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let all: u64 = self.latency_classes.iter().sum();
        let rank = (all as f64 * q).ceil().max(1.0) as u64;
        let mut sum = 0;
        let class = self.latency_classes.iter().position(|count| {
            sum += count;
            sum >= rank
        })?;
        (all > 0).then(|| upper_end(class))
    }

    /// The difference to an earlier count.
    pub fn since(&self, earlier: &Received) -> Received {
        let latency_classes = self
            .latency_classes
            .iter()
            .zip(&earlier.latency_classes)
            .map(|(now, then)| now - then)
            .collect();
        Received {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            latency_classes,
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

    /// Counts packets received on an interface.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn receive(&self, ifindex: u32) -> Result<Attachment, XdpError> {
        self.0.attach(Program::Receive, ifindex, Some(Mode::Native))
    }

    /// Passes packets received on an interface: an interface with a program accepts redirected
    /// frames.
    ///
    /// # Errors
    /// The kernel does not attach the program.
    pub fn pass(&self, ifindex: u32) -> Result<Attachment, XdpError> {
        self.0.attach(Program::Outer, ifindex, Some(Mode::Native))
    }

    /// Attaches the generator's programs to two interfaces without packets. The kernel calls
    /// attached programs directly; otherwise it rewrites code and waits for all CPUs, half a
    /// millisecond for each [`send`](Self::send).
    ///
    /// # Errors
    /// The kernel does not attach them.
    pub fn hold(&self, up: u32, down: u32) -> Result<Vec<Attachment>, XdpError> {
        let attach = |program, ifindex| self.0.attach(program, ifindex, Some(Mode::Native));
        Ok(vec![attach(Program::SendUp, up)?, attach(Program::SendDown, down)?])
    }

    /// Makes receivers recognise packets of another sender: sets the offset of the timestamp.
    pub fn expect(&self, path: &BenchPath) {
        self.0.set_path(1, path, 1);
    }

    /// Sends a number of packets, of sessions drawn at random from `seed`, in batches of at most
    /// `batch`. Returns when they are sent and, with virtual links on one CPU, processed.
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
        let program = self.0.fd(if uplink { Program::SendUp } else { Program::SendDown })?;
        let sent =
            Run { frame: &frame, ifindex: path.ifindex }.live(program.as_fd(), packets, batch);
        sent.map_err(|error| XdpError::Table { table: "packets", error })
    }

    /// The sum of all receivers' counters.
    ///
    /// # Errors
    /// If the kernel cannot read them.
    pub fn received(&self) -> Result<Received, XdpError> {
        let each = self.0.bench_received.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let each = each.map_err(|error| table_error("bench_received", error))?.unwrap_or_default();
        let mut words = vec![0u64; size_of::<types::bench_received>() / 8];
        for cpu in each {
            for (sum, word) in words.iter_mut().zip(cpu.as_chunks::<8>().0) {
                *sum += u64::from_ne_bytes(*word);
            }
        }
        Ok(Received { packets: words[0], bytes: words[1], latency_classes: words[2..].to_vec() })
    }
}
