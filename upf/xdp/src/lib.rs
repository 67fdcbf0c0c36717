//! The datapath `xdp` of the UPF: XDP programs, their loader, and the writer of their tables.
//!
//! The programs are C, in `bpf/`, compiled when this crate is:
//!
//! | file | what is in it |
//! | --- | --- |
//! | `structs.h`, `maps.h` | what programs and user space share |
//! | `headers.h`, `gtpu.h` | headers, from the link to the tunnel |
//! | `classify.h` | from a tunnel or address to a rule, by precedence |
//! | `qos.h` | gates, bit rates, quotas, usage |
//! | `telemetry.h` | where packets came in, why they went no further, how long they took; tracing |
//! | `events.h` | what user space is told, by a ring or by sockets (AF_XDP); packets that wait |
//! | `nat_flows.h`, `nat_creating.h` | flows of UEs whose addresses are translated: found, and made with their ports |
//! | `nat_fragments.h`, `nat_rule_cache.h`, `nat.h` | what of a packet changes, what rules note of flows, and the translation |
//! | `forwarding.h` | tunnel headers put on and taken off, next hops |
//! | `pipeline.h`, `programs.bpf.c` | the way of a packet, and the programs |
//! | `bench.h`, `baseline.h` | packets to measure with, made and received, and what the least costs |
//!
//! `loader` loads and attaches them and maps their tables; it knows no rules of PFCP. `datapath`
//! writes the rules of N4 into the tables. [`types`] are the structs of `structs.h`, made from the
//! compiled programs.

mod datapath;
mod loader;

pub use datapath::XdpDatapath;
pub use loader::*;
