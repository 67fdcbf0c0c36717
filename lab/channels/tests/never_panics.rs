//! The entry point of the fuzz target with random inputs.

#[path = "../../../lcs/channel/tests/random_inputs/mod.rs"]
mod random_inputs;

use martlet_lab_channels::fuzz_arq;

#[test]
fn arbitrary_datagrams_are_reordered_or_ignored() {
    random_inputs::run(fuzz_arq);
}
