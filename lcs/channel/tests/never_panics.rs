//! The entry point of the fuzz target with random inputs.

mod random_inputs;

use martlet_lcs_channel::fuzz_records;

#[test]
fn arbitrary_records_are_decrypted_or_rejected() {
    random_inputs::run(fuzz_records);
}
