#!/usr/bin/env bash
# Run the tests of rings, free lists, copies and layout under Miri, with weak memory and 16
# schedules. The loom model in tests/model.rs is part of `cargo test`.
#
#     fabric/core/verify.sh
#
# Needs a nightly toolchain with Miri: rustup component add miri rust-src --toolchain nightly
set -euo pipefail
cd "$(dirname "$0")"
export MIRIFLAGS="-Zmiri-many-seeds=0..16 -Zmiri-disable-isolation"
cargo +nightly miri test --lib -- memory::ring memory::pool memory::copy memory::layout
