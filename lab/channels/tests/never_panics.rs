//! The entry point of the fuzz target with random inputs.

#[path = "../../../lcs/channel/tests/random_inputs/mod.rs"]
mod random_inputs;

use martlet_lab_channels::fuzz_arq;

#[test]
fn datagrams_in_any_order_and_of_anybody_are_put_in_order_or_passed_over() {
    random_inputs::run(fuzz_arq);
}
