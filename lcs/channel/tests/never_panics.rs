//! The entry point of the fuzz target with random inputs.

mod random_inputs;

use martlet_lcs_channel::fuzz_records;

#[test]
fn records_of_anybody_are_opened_or_refused() {
    random_inputs::run(fuzz_records);
}
