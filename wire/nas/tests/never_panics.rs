//! Mutated messages are decoded or answered, and never cause a panic.

use martlet_nas::fuzz;
use martlet_wire_testing::{mutate, seeds};

fn messages() -> Vec<Vec<u8>> {
    [seeds(include_str!("vectors/pycrate.tsv")), seeds(include_str!("vectors/ours.tsv"))].concat()
}

#[test]
fn plain_octets_are_read_or_answered() {
    mutate::run(24501, messages(), 20_000, fuzz::plain);
}

#[test]
fn protected_octets_are_verified_or_refused() {
    // Each message plain, and under a security header of each type.
    let protected = |header: u8| {
        let wrap = move |message: Vec<u8>| [&[0x7e, header, 1, 2, 3, 4, 0][..], &message].concat();
        messages().into_iter().map(wrap)
    };
    let inputs = messages().into_iter().chain((1..=5).flat_map(protected)).collect();
    mutate::run(33501, inputs, 10_000, fuzz::secured);
}
