//! The papers' values for their figures, and where the papers have them.
//!
//! Each row is a quantity of a figure. The plots themselves are not part of this table: a value
//! that is in a plot only is described in words.

/// The name of a series of values of the paper, which were not measured here.
pub const SERIES: &str = "the paper";

/// A paper's statement about a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PaperValue {
    /// A number.
    Number(f64),
    /// A finding, where the text gives no number.
    Words(&'static str),
}

/// A quantity of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    /// The figure's ID.
    pub figure: &'static str,
    /// The quantity.
    pub what: &'static str,
    /// The statement.
    pub value: PaperValue,
    /// Its unit.
    pub unit: &'static str,
    /// Where the paper has it.
    pub source: &'static str,
}

const fn row(
    figure: &'static str,
    what: &'static str,
    value: PaperValue,
    unit: &'static str,
    source: &'static str,
) -> Quantity {
    Quantity { figure, what, value, unit, source }
}

use PaperValue::{Number, Words};

/// All quantities.
pub const QUANTITIES: &[Quantity] = &[
    row("l25gc-6", "registration, 1 UE", Number(1.51), "times faster", "text, IV-A"),
    row("l25gc-6", "PDU session, 1 UE", Number(2.0), "times faster", "text, IV-A"),
    row("l25gc-6", "registration, 5 UEs", Number(1.29), "times faster", "text, IV-A"),
    row("l25gc-6", "PDU session, 5 UEs", Number(1.61), "times faster", "text, IV-A"),
    row(
        "l25gc-7",
        "registration, 1 UE, with RAN",
        Words("less than of the core alone"),
        "times faster",
        "text, IV-A",
    ),
    row(
        "l25gc-7",
        "PDU session, 1 UE, with RAN",
        Words("less than of the core alone"),
        "times faster",
        "text, IV-A",
    ),
    row(
        "l25gc-7",
        "registration, 5 UEs, with RAN",
        Words("less than of the core alone"),
        "times faster",
        "text, IV-A",
    ),
    row(
        "l25gc-7",
        "PDU session, 5 UEs, with RAN",
        Words("less than of the core alone"),
        "times faster",
        "text, IV-A",
    ),
    row(
        "l25gc-8",
        "registration, average over 4 to 64 UEs",
        Number(1.87),
        "times faster",
        "text, IV-B",
    ),
    row(
        "l25gc-8",
        "PDU session, average over 4 to 64 UEs",
        Number(2.1),
        "times faster",
        "text, IV-B",
    ),
    row("l25gc-8", "paging, average over 4 to 64 UEs", Number(1.6), "times faster", "text, IV-B"),
    row(
        "l25gc-8",
        "registration, --baseline over shared memory, average over 4 to 64 UEs",
        Number(1.87),
        "times faster",
        "text, IV-B",
    ),
    row(
        "l25gc-8",
        "PDU session, --baseline over shared memory, average over 4 to 64 UEs",
        Number(2.1),
        "times faster",
        "text, IV-B",
    ),
    row(
        "l25gc-8",
        "paging, --baseline over shared memory, average over 4 to 64 UEs",
        Number(1.6),
        "times faster",
        "text, IV-B",
    ),
    row(
        "l25gc-8",
        "PDU session, 64 UEs, shared memory: no limit over a limit of 16",
        Words("16 is suitable on 16 cores"),
        "times",
        "text, III-E",
    ),
    row("xupfpi-2", "power at full load", Number(5.0), "W", "text, IV-B"),
    row("xupfpi-2", "temperature in standby", Number(50.0), "°C", "text, IV-A"),
    row("xupfpi-2", "temperature of the room", Number(27.0), "°C", "text, IV-A"),
    row(
        "xupfpi-4",
        "rise of the temperature from the lowest to the highest load, vanilla",
        Words("rises, may overheat"),
        "K",
        "text, IV-B",
    ),
    row(
        "xupfpi-5",
        "rise of the CPU time, vanilla",
        Words("in proportion to the bandwidth"),
        "% of a CPU",
        "text, IV-B",
    ),
    row(
        "xupfpi-5",
        "rise of the memory, vanilla",
        Words("in proportion, but less than the CPU time"),
        "MB",
        "text, IV-B",
    ),
    row("xupfpi-6a", "difference of the temperatures, vanilla", Words("stable"), "K", "text, IV-B"),
    row(
        "xupfpi-6b",
        "difference of the temperatures, vanilla",
        Words("minimal"),
        "K",
        "text, IV-B",
    ),
    row("xupfpi-7", "loss at 20 Mbit/s", Words("none that matters"), "%", "text, IV-B"),
    row("xupfpi-7", "loss at 60 Mbit/s", Words("significant"), "%", "text, IV-B"),
    row(
        "xupfpi-8",
        "change of the loss while the board heats up",
        Words("minimal"),
        "points",
        "text, IV-B",
    ),
    row(
        "xupfpi-9",
        "loss with frequent memory use, above that with sparse use, vanilla",
        Words("pronounced increase"),
        "points",
        "text, IV-B",
    ),
    row("xupfpi-11", "loss of the vanilla UPF", Words("significant"), "%", "text, VI-B"),
    row("xupfpi-11", "loss of the XDP UPF", Words("a qualitative leap less"), "%", "text, VI-B"),
    row(
        "xupfpi-12",
        "CPU time of vanilla over XDP",
        Words("a big difference"),
        "times",
        "text, VI-B",
    ),
    row(
        "xupfpi-12",
        "temperature of vanilla above XDP",
        Words("a big difference"),
        "K",
        "text, VI-B",
    ),
    row(
        "switch-2",
        "encapsulation, switch, DPDK",
        Number(86.0),
        "Gbit/s",
        "text, 3, average over sizes",
    ),
    row(
        "switch-2",
        "encapsulation, switch, XDP",
        Number(86.0),
        "Gbit/s",
        "text, 3, average over sizes",
    ),
    row("switch-2", "encapsulation, native", Number(0.35), "Gbit/s", "text, 3, average over sizes"),
    row(
        "switch-2",
        "decapsulation, switch, DPDK",
        Number(100.0),
        "Gbit/s",
        "text, 3, average over sizes",
    ),
    row(
        "switch-2",
        "decapsulation, switch, XDP",
        Number(100.0),
        "Gbit/s",
        "text, 3, average over sizes",
    ),
    row("switch-2", "decapsulation, native", Number(0.55), "Gbit/s", "text, 3, average over sizes"),
    row(
        "switch-2",
        "encapsulation, switch over native, DPDK",
        Number(245.7),
        "times",
        "from the text, 3",
    ),
    row(
        "switch-2",
        "encapsulation, switch over native, XDP",
        Number(245.7),
        "times",
        "from the text, 3",
    ),
    row(
        "switch-2",
        "decapsulation, switch over native, DPDK",
        Number(181.8),
        "times",
        "from the text, 3",
    ),
    row(
        "switch-2",
        "decapsulation, switch over native, XDP",
        Number(181.8),
        "times",
        "from the text, 3",
    ),
    row("switch-2", "latency of encapsulation, switch, DPDK", Number(0.93), "µs", "text, 3"),
    row("switch-2", "latency of encapsulation, switch, XDP", Number(0.93), "µs", "text, 3"),
    row("switch-2", "latency of encapsulation, native", Number(59.03), "µs", "text, 3"),
    row("switch-2", "latency of decapsulation, switch, DPDK", Number(0.94), "µs", "text, 3"),
    row("switch-2", "latency of decapsulation, switch, XDP", Number(0.94), "µs", "text, 3"),
    row("switch-2", "latency of decapsulation, native", Number(70.01), "µs", "text, 3"),
    row(
        "switch-users",
        "throughput with 1 user, 1,000 rules, DPDK",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "throughput with 1 user, 1,000 rules, XDP",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "throughput with 100 users, 1,000 rules, DPDK",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "throughput with 100 users, 1,000 rules, XDP",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "latency with 1 user, 1,000 rules, DPDK",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "latency with 1 user, 1,000 rules, XDP",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "latency with 100 users, 1,000 rules, DPDK",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row(
        "switch-users",
        "latency with 100 users, 1,000 rules, XDP",
        Words("similar"),
        "times",
        "text, 3",
    ),
    row("lcs-upp-4a", "mbedtls relative to wolfssl", Number(3.38), "%", "text, V"),
    row("lcs-upp-4a", "msquic relative to wolfssl", Number(-42.01), "%", "text, V"),
    row("lcs-upp-4b", "ktls relative to wolfssl", Number(13.35), "%", "text, V"),
    row("lcs-upp-4b", "kernel_module relative to wolfssl", Number(-5.84), "%", "text, V"),
    row("lcs-upp-4b", "kernel_module relative to ktls", Number(-16.95), "%", "text, V"),
];

/// The quantities of a figure.
pub fn of(figure: &str) -> impl Iterator<Item = &'static Quantity> {
    QUANTITIES.iter().filter(move |quantity| quantity.figure == figure)
}
