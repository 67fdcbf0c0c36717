//! Mutated messages are decoded or answered, and never cause a panic.

use martlet_ngap::fuzz;
use martlet_wire_testing::{bytes, lines, mutate, seeds};

/// The bytes of the vectors of a kind, by pycrate and by us.
fn vectors(kind: &str) -> Vec<Vec<u8>> {
    let pycrate = lines(include_str!("vectors/pycrate.tsv")).filter(|fields| fields[0] == kind);
    pycrate.map(|fields| bytes(fields[3])).chain(seeds(include_str!("vectors/ours.tsv"))).collect()
}

#[test]
fn messages_are_read_or_answered() {
    mutate::run(38413, vectors("message"), 20_000, fuzz::message);
}

#[test]
fn transfers_are_read_or_refused() {
    mutate::run(38414, vectors("transfer"), 20_000, fuzz::transfers);
}
