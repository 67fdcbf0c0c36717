#!/usr/bin/env bash
# Look deeper than `cargo test` at what lies in shared memory: Miri runs the tests of ring, pool and octets, with weak
# memory and 16 schedules. The model checker needs nothing of this: `tests/model.rs` is part of `cargo test`.
#
#     fabric/core/verify.sh
#
# Needs a nightly toolchain with Miri (`rustup component add miri rust-src --toolchain nightly`).
set -euo pipefail
cd "$(dirname "$0")"
export MIRIFLAGS="-Zmiri-many-seeds=0..16 -Zmiri-disable-isolation"
cargo +nightly miri test --lib -- memory::ring memory::pool memory::octets memory::layout
