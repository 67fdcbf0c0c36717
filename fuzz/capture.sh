#!/usr/bin/env bash
# Captures the messages of the call flows, and makes fuzz/seeds from them. Uses root, as the tests.
#
#     fuzz/capture.sh [FILTER…]      all call flows by default
set -euo pipefail
cd "$(dirname "$0")/.."
captures=$(mktemp -d)
trap 'rm -rf "$captures"' EXIT
# A test that fails does not matter here: its messages are seeds, too.
MARTLET_TEST_PCAP=$captures cargo test --workspace --locked --test call_flows -- "$@" || true
fuzz/seeds_from_captures.py "$captures"/*.pcapng
