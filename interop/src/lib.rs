//! Interop quirks: deviations of other vendors' programs from the specifications that Martlet
//! tolerates.
//!
//! Each interface has one table, an enum in a module of its own: an entry has the deviation and its
//! clause, who shows it, what Martlet does, and the configuration key that refuses it. Code that
//! tolerates a deviation names its entry, and calls [`Quirk::met`], which counts it for the peer
//! and logs the first time. [`status`] lists the peers that deviate.
//!
//! ```
//! use martlet_interop::{N2Quirk, Quirk};
//!
//! N2Quirk::ElementOrder.met("amf", "192.0.2.1");
//! assert_eq!(martlet_interop::status("amf")[0]["peer"], "192.0.2.1");
//! ```
//!
//! The memory is bounded: beyond [`MAX_PEERS`] pairs of quirk and peer, further peers are counted
//! together.
#![forbid(unsafe_code)]
mod n1;
mod n2;
mod n3;
mod n4;
mod sbi;

pub use n1::N1Quirk;
pub use n2::N2Quirk;
pub use n3::N3Quirk;
pub use n4::N4Quirk;
pub use sbi::SbiQuirk;

use prometheus::{IntCounterVec, register_int_counter_vec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Pairs of quirk and peer that are counted apart.
pub const MAX_PEERS: usize = 1024;

/// The peer of the quirks beyond [`MAX_PEERS`].
const OTHERS: &str = "others";

/// An interface of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interface {
    /// UE and AMF.
    N1,
    /// gNB and AMF.
    N2,
    /// gNB and UPF.
    N3,
    /// SMF and UPF.
    N4,
    /// The service-based interface.
    Sbi,
}

impl Interface {
    /// Its name in metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Interface::N1 => "n1",
            Interface::N2 => "n2",
            Interface::N3 => "n3",
            Interface::N4 => "n4",
            Interface::Sbi => "sbi",
        }
    }
}

/// An entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Its name in metrics and status.
    pub name: &'static str,
    /// What the peer does.
    pub deviation: &'static str,
    /// The clause from which it deviates.
    pub clause: &'static str,
    /// Who does it.
    pub vendors: &'static str,
    /// What Martlet does.
    pub handling: &'static str,
    /// The configuration key that refuses it.
    pub refused_by: &'static str,
}

/// A table of quirks.
pub trait Quirk: Copy + 'static {
    /// The interface of the table.
    const INTERFACE: Interface;
    /// All entries.
    const ALL: &'static [Self];

    /// The entry.
    fn description(self) -> &'static Description;

    /// Counts it for a peer, and logs the first time. `nf` is the name of the function that
    /// tolerates it, as `martlet status` shows it.
    fn met(self, nf: &str, peer: impl Display) {
        let Description { name, deviation, clause, refused_by, .. } = *self.description();
        let interface = Self::INTERFACE.name();
        METRIC.with_label_values(&[interface, name]).inc();
        if count((nf.to_ascii_lowercase(), interface, name), peer.to_string()) {
            tracing::warn!(
                interface,
                quirk = name,
                %peer,
                deviation,
                clause,
                refused_by,
                "deviation tolerated"
            );
        }
    }
}

static METRIC: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Deviations of peers from the specifications that were tolerated";
    let metric =
        register_int_counter_vec!("martlet_interop_quirks_total", help, &["interface", "quirk"]);
    #[allow(clippy::expect_used)]
    metric.expect("a valid, unique metric name")
});

/// Function, interface and quirk.
type Key = (String, &'static str, &'static str);

static MET: Mutex<BTreeMap<(Key, String), u64>> = Mutex::new(BTreeMap::new());

/// Counts a quirk of a peer. Returns whether it is the first time.
fn count(key: Key, peer: String) -> bool {
    let mut met = MET.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entry = (key, peer);
    if met.len() >= MAX_PEERS && !met.contains_key(&entry) {
        entry.1 = OTHERS.into();
    }
    let count = met.entry(entry).or_default();
    *count += 1;
    *count == 1
}

/// Which peers of a function deviate, and how often: a list of objects, for its status.
pub fn status(nf: &str) -> Vec<Value> {
    let met = MET.lock().unwrap_or_else(PoisonError::into_inner);
    let of_nf = met.iter().filter(|(((of, ..), _), _)| of == nf);
    let entry = of_nf.map(|(((_, interface, quirk), peer), count)| {
        json!({"interface": interface, "quirk": quirk, "peer": peer, "count": count})
    });
    entry.collect()
}

/// Whether a peer of a function deviates from the specifications. `peer` is written as for
/// [`Quirk::met`].
pub fn deviates(nf: &str, peer: &str) -> bool {
    let met = MET.lock().unwrap_or_else(PoisonError::into_inner);
    met.keys().any(|((of, ..), met)| of == nf && met == peer)
}

/// The table of an interface as Markdown.
pub fn markdown<Q: Quirk>() -> String {
    let mut text =
        "| quirk | deviation | clause | seen with | Martlet | refused by |\n| --- | --- \
                    | --- | --- | --- | --- |\n"
            .to_string();
    for quirk in Q::ALL {
        let Description { name, deviation, clause, vendors, handling, refused_by } =
            quirk.description();
        let _ = writeln!(
            text,
            "| `{name}` | {deviation} | {clause} | {vendors} | {handling} | `{refused_by}` |"
        );
    }
    text
}

/// Declares the table of an interface: an enum whose entries carry their texts.
macro_rules! quirks {
    (
        $(#[$outer:meta])*
        pub enum $table:ident on $interface:path {
            $($(#[$inner:meta])* $entry:ident {
                name: $name:literal,
                deviation: $deviation:literal,
                clause: $clause:literal,
                vendors: $vendors:literal,
                handling: $handling:literal,
                refused_by: $refused_by:literal $(,)?
            }),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $table {
            $($(#[$inner])* $entry,)+
        }

        impl $crate::Quirk for $table {
            const INTERFACE: $crate::Interface = $interface;
            const ALL: &'static [Self] = &[$($table::$entry),+];

            fn description(self) -> &'static $crate::Description {
                match self {
                    $($table::$entry => &$crate::Description {
                        name: $name,
                        deviation: $deviation,
                        clause: $clause,
                        vendors: $vendors,
                        handling: $handling,
                        refused_by: $refused_by,
                    },)+
                }
            }
        }
    };
}

use quirks;

/// The tables of all interfaces as Markdown, each with its heading.
pub fn all_markdown() -> String {
    let tables = [
        ("N1", markdown::<N1Quirk>()),
        ("N2", markdown::<N2Quirk>()),
        ("N3", markdown::<N3Quirk>()),
        ("N4", markdown::<N4Quirk>()),
        ("SBI", markdown::<SbiQuirk>()),
    ];
    let section = tables.map(|(name, table)| format!("### {name}\n\n{table}"));
    section.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    quirks! {
        /// A table.
        pub enum TestQuirk on Interface::N4 {
            /// An entry.
            One {
                name: "one",
                deviation: "does one",
                clause: "TS 1",
                vendors: "no vendor",
                handling: "nothing",
                refused_by: "strict",
            },
        }
    }

    #[test]
    fn peers_are_counted_apart_up_to_a_limit() {
        for peer in 0..MAX_PEERS + 10 {
            TestQuirk::One.met("test", peer);
        }
        TestQuirk::One.met("test", 0);
        let listed = status("test");
        assert!(listed.len() <= MAX_PEERS + 1);
        let of = |peer: &str| listed.iter().find(|entry| entry["peer"] == peer).unwrap();
        assert_eq!((&of("0")["count"], &of("0")["interface"]), (&json!(2), &json!("n4")));
        assert_eq!(of(OTHERS)["count"], 10);
        assert!(status("other").is_empty());
    }

    #[test]
    fn the_table_is_markdown() {
        let text = markdown::<TestQuirk>();
        assert!(text.ends_with("| `one` | does one | TS 1 | no vendor | nothing | `strict` |\n"));
    }
}
