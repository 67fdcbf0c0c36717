//! The UPF datapath `xdp`: XDP programs, their loader, and the writer of their tables.
//!
//! `bpf/` has the programs in C, which this crate compiles and embeds:
//!
//! | file | content |
//! | --- | --- |
//! | `structs.h`, `maps.h` | types and maps shared with user space |
//! | `headers.h`, `gtpu.h` | parsing of packet headers and of GTP-U |
//! | `classify.h` | lookup by TEID or address, and matching by precedence |
//! | `qos.h` | gates, bit rates, quotas, usage |
//! | `telemetry.h` | counters, latency samples, tracing, captures |
//! | `events.h` | events and buffered packets, by a ring or by AF_XDP sockets |
//! | `nat_flows.h`, `nat_create.h` | NAT flow table, and creation of flows |
//! | `nat_transport.h`, `nat_rule_cache.h`, `nat.h` | transport headers, NAT cache in rules, translation |
//! | `forwarding.h` | encapsulation, next hops, transmission |
//! | `uplink_cpus.h` | distribution of packets from tunnels over CPUs |
//! | `pipeline.h`, `programs.bpf.c` | packet pipeline, and the programs |
//! | `losses.bpf.c` | tracepoints that count frames lost after a program |
//! | `bench.h`, `baseline.h` | packet generator and sink, and a minimal GTP-U baseline |
//!
//! The module `loader` loads and attaches the programs and maps their tables; it does not depend on
//! PFCP. The module `table_writer` writes the rules of N4 into the tables. [`types`] has the
//! structs of `structs.h`, generated from the compiled programs.
//!
//! # Errors
//! [`XdpError`] reports what the kernel rejected and what to do. Opening the datapath returns
//! [`OpenError`](martlet_upf_datapath::OpenError).

mod loader;
mod table_writer;

pub use loader::*;
pub use table_writer::XdpDatapath;
