#!/usr/bin/env bash
# Tests the XDP datapath on Debian's kernel, in one start of a guest: the verifier accepts every
# program, packets are translated to the byte, the conformance suite passes in native mode, packets
# cross veths without GRO, are buffered and captured, and programs are replaced and adopted while
# packets are forwarded.
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

# Builds a test program and prints its path.
program() { # PACKAGE TEST
    "$cargo" test --locked -p "$1" --test "$2" --no-run --message-format json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}
echo "Building the tests of the XDP datapath."
"$cargo" test --locked -p martlet-upf-xdp -p martlet-switch-xdp --no-run --quiet
conformance=$(program martlet-upf-xdp datapath)
others=()
for test in load packets nat program_replacement telemetry n3_ipv6 buffering capture; do
    others+=("$(program martlet-upf-xdp "$test")")
done
# The P4 program of the switch is one of XDP, too.
others+=("$(program martlet-switch-xdp programs)")
for one in "$conformance" "${others[@]}"; do
    [ -x "$one" ] || { echo "guest-test: a test program was not built" >&2; exit 1; }
done

export RUST_BACKTRACE=0
echo "Starting a guest with Debian's kernel."
mkdir -p target/guest
deploy/guest/run.sh --kernel "$kernel" --modules "veth tun" --timeout 1200 bash -c '
    failed=0
    "$1" --color never --test-threads 1 native plain_veths || failed=1
    shift
    for one in "$@"; do
        "$one" --color never --test-threads 1 || failed=1
    done
    exit $failed
' guest "$conformance" "${others[@]}" | tee "target/guest/output.$kernel"
if grep -q SKIPPED "target/guest/output.$kernel" ||
    ! grep -q "conforms_in_native_mode ... ok" "target/guest/output.$kernel" ||
    ! grep -q "forwards_between_plain_veths ... ok" "target/guest/output.$kernel"; then
    echo "guest-test: something was skipped or not run, see above" >&2
    exit 1
fi
echo "guest-test: the XDP datapath passed on Linux $(cat "target/guest/$kernel/version")"
