#!/usr/bin/env bash
# The XDP datapath on an older kernel, in one start of a guest: the verifier takes every program, packets come out octet
# for octet, the conformance suite passes in native mode, packets wait and are captured, and programs are replaced and taken over while packets run.
#   xdp.sh [KERNEL-PACKAGE]
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
kernel=${1:-linux-image-amd64}
if ! apt-cache show "$kernel" >/dev/null 2>&1; then
    echo "SKIPPED: this system's packages have no kernel $kernel"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin

# The path of a test program, built if need be.
program() { # PACKAGE TEST
    "$cargo" test --locked -p "$1" --test "$2" --no-run --message-format json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}
echo "Building the tests of the XDP datapath."
"$cargo" test --locked -p martlet-upf-xdp -p martlet-upf --no-run --quiet
load=$(program martlet-upf-xdp load)
packets=$(program martlet-upf xdp_packets)
nat=$(program martlet-upf xdp_nat)
conformance=$(program martlet-upf xdp)
controller=$(program martlet-upf xdp_controller)
telemetry=$(program martlet-upf telemetry)
ipv6=$(program martlet-upf xdp_ipv6)
sockets=$(program martlet-upf xdp_sockets)
capture=$(program martlet-upf capture)
[ -x "$load" ] && [ -x "$packets" ] && [ -x "$nat" ] && [ -x "$conformance" ] && [ -x "$controller" ] && [ -x "$telemetry" ] && [ -x "$ipv6" ] && [ -x "$sockets" ] && [ -x "$capture" ] || { echo "guest-test: a test program was not built" >&2; exit 1; }

export RUST_BACKTRACE=0
echo "Starting a guest with Debian's kernel."
mkdir -p target/guest
deploy/guest/run.sh --kernel "$kernel" --modules "veth tun" --timeout 1200 bash -c '
    failed=0
    "$1" --color never || failed=1
    "$2" --color never --test-threads 1 || failed=1
    "$3" --color never --test-threads 1 native || failed=1
    "$4" --color never --test-threads 1 || failed=1
    "$5" --color never --test-threads 1 || failed=1
    "$6" --color never --test-threads 1 || failed=1
    "$7" --color never --test-threads 1 || failed=1
    "$8" --color never --test-threads 1 || failed=1
    "$9" --color never --test-threads 1 || failed=1
    exit $failed
' guest "$load" "$packets" "$conformance" "$nat" "$controller" "$telemetry" "$ipv6" "$sockets" "$capture" | tee target/guest/output
if grep -q SKIPPED target/guest/output || ! grep -q "conforms_in_native_mode ... ok" target/guest/output; then
    echo "guest-test: something was skipped or not run, see above" >&2
    exit 1
fi
echo "guest-test: the XDP datapath passed on Linux $(cat "target/guest/$kernel/version")"
