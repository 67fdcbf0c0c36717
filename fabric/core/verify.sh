#!/usr/bin/env bash
# Proves properties of the fabric's rings, flags and free lists within bounds: tests/model.rs with
# loom, and with longer sequences than `cargo test` checks. Then runs the tests of rings, free
# lists, copies and layout under Miri, with weak memory and 16 schedules.
#
#     fabric/core/verify.sh            as `make proofs` calls it
#
# Miri needs a nightly toolchain: rustup component add miri rust-src --toolchain nightly
# Without it, that part is skipped, with a message.
set -euo pipefail
cd "$(dirname "$0")"
# --workspace, so that nothing is built again with other features.
export MARTLET_PROOF_DEPTH=${MARTLET_PROOF_DEPTH:-7}
"${CARGO:-cargo}" test --workspace --locked --test model
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "SKIPPED: Miri is not installed: rustup component add miri rust-src --toolchain nightly"
    exit 0
fi
export MIRIFLAGS="-Zmiri-many-seeds=0..16 -Zmiri-disable-isolation"
cargo +nightly miri test --lib -- memory::ring memory::pool memory::copy memory::layout
