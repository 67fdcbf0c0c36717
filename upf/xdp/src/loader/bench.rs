//! Benchmark of programs on generated packets (`bpf/bench.h`).
use crate::loader::{Program, Programs};
use crate::loader::{XdpError, types};
use martlet_bpf::Run;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The measured program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bench {
    /// Generates a packet of a gNB, and drops it.
    NothingUp,
    /// Generates a packet to a UE, and drops it.
    NothingDown,
    /// Removes the tunnel header after one lookup.
    BareUplink,
    /// Adds a tunnel header after one lookup.
    BareDownlink,
    /// The datapath with a packet of a gNB.
    Uplink,
    /// The datapath with a packet to a UE.
    Downlink,
}

impl Bench {
    /// Whether packets come from gNBs.
    pub fn is_uplink(self) -> bool {
        matches!(self, Bench::NothingUp | Bench::BareUplink | Bench::Uplink)
    }
}

/// Input and output of the measured packets.
#[derive(Debug, Clone, Copy)]
pub struct BenchPath {
    /// Our address on N3.
    pub n3: Ipv4Addr,
    /// The gNB's.
    pub gnb: Ipv4Addr,
    /// The host in the data network, and its port.
    pub host: (Ipv4Addr, u16),
    /// Bytes of the UE's packet.
    pub length: u32,
    /// The input interface, which bare programs also use for output. For generated traffic, the
    /// output interface.
    pub ifindex: u32,
    /// Packets to UEs are sent to their public addresses and ports: see [`Programs::fill_publics`].
    pub translated: bool,
    /// MAC addresses of generated frames: destination, source.
    pub link: ([u8; 6], [u8; 6]),
    /// The offset of the timestamp for receivers; 0 for none.
    pub stamp_at: u32,
}

/// The TEID of the n-th generated session.
pub fn bench_teid(n: u32) -> u32 {
    (n + 1).wrapping_mul(0x9e37_79b1)
}

/// The UE's address of the n-th session.
pub fn bench_ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0002 + n)
}

/// Link addresses as they lie in a frame.
fn words((to, from): ([u8; 6], [u8; 6])) -> [u16; 6] {
    let bytes = [to, from].concat();
    std::array::from_fn(|n| u16::from_ne_bytes([bytes[2 * n], bytes[2 * n + 1]]))
}

impl Programs {
    /// Fills the tables of the bare programs with sessions.
    ///
    /// # Errors
    /// A table is full.
    pub fn fill_bare(&self, sessions: u32, path: &BenchPath) -> Result<(), XdpError> {
        for n in 0..sessions {
            let teid = bench_teid(n).to_be_bytes();
            let mut entry = [0; size_of::<types::bare>()];
            entry[..4].copy_from_slice(&teid);
            entry[4..8].copy_from_slice(&path.gnb.octets());
            entry[8..12].copy_from_slice(&path.ifindex.to_ne_bytes());
            self.set_bare(true, teid, &entry)?;
            self.set_bare(false, bench_ue(n).octets(), &entry)?;
        }
        Ok(())
    }

    /// Makes packets to UEs use the public addresses and ports of their flows, one for each
    /// session, which running [`Bench::Uplink`] on all of them creates.
    ///
    /// # Errors
    /// A session has no flow.
    pub fn fill_publics(&self, sessions: u32) -> Result<(), XdpError> {
        let mut known = 0;
        for flow in self.nat_find_l4().filter_map(|slot| self.nat_flow(slot)) {
            let n = u32::from_be(flow.ue.0).wrapping_sub(bench_ue(0).to_bits());
            if n < sessions {
                let public =
                    types::bench_public { address: flow.public.0, port: flow.public.1, unused: 0 };
                self.bench_publics.write(n, public);
                known += 1;
            }
        }
        if known < sessions {
            let error = std::io::Error::other(format!(
                "{known} of {sessions} sessions have a translated flow"
            ));
            return Err(XdpError::Table { table: "nat_lines", error });
        }
        Ok(())
    }

    pub(crate) fn set_path(&self, sessions: u32, path: &BenchPath, state: u32) {
        self.bench.write(
            0,
            types::bench {
                sessions,
                state,
                length: path.length,
                n3: u32::from_ne_bytes(path.n3.octets()),
                gnb: u32::from_ne_bytes(path.gnb.octets()),
                host: u32::from_ne_bytes(path.host.0.octets()),
                port: path.host.1,
                translated: path.translated.into(),
                ifindex: path.ifindex,
                link: words(path.link),
                stamp_at: path.stamp_at,
            },
        );
    }

    /// The mean duration of a run on packets of a number of sessions.
    ///
    /// # Errors
    /// If the kernel does not run it, or the program's verdict is wrong.
    pub fn measure(
        &self,
        bench: Bench,
        sessions: u32,
        path: &BenchPath,
        runs: u32,
    ) -> Result<Duration, XdpError> {
        self.set_path(sessions, path, 0x1234_5679);
        let frame = vec![0; path.length as usize + if bench.is_uplink() { 58 } else { 14 }];
        let mut out = vec![0; frame.len() + 256];
        let run = Run { frame: &frame, ifindex: path.ifindex };
        let ran = self.test_run(Program::Bench(bench), run, runs, &mut out)?;
        let due = match bench {
            Bench::NothingUp | Bench::NothingDown => libbpf_rs::libbpf_sys::XDP_DROP,
            _ => libbpf_rs::libbpf_sys::XDP_REDIRECT,
        };
        if ran.action != due {
            let error = std::io::Error::other(format!(
                "{bench:?} ended with {} instead of {due}",
                ran.action
            ));
            return Err(XdpError::Table { table: "packets", error });
        }
        Ok(ran.duration)
    }
}
