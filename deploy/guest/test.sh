#!/usr/bin/env bash
# Tests that need the kernel's SCTP, in one guest: the conformance suite of n2/sctp, and call flows.
# MARTLET_BENCH=1 plays the conformance bench against free5GC's AMF, too, and prints its report.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
PATH=$PATH:/usr/sbin:/sbin

# Builds a test program and prints its path.
program() { # PACKAGE TEST
    "$cargo" test --locked -p "$1" --test "$2" --no-run --message-format json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}
echo "Building the tests that run in the guest."
"$cargo" test --locked -p martlet-sctp -p martlet-tests --no-run --quiet
conformance=$(program martlet-sctp conformance)
flows=$(program martlet-tests call_flows)
interop=$(program martlet-tests interop)
# Builds free5GC's AMF, which runs inside the guest.
"$interop" free5gc_amf > /dev/null 2>&1 || true
[ -x "$conformance" ] && [ -x "$flows" ] || {
    echo "guest-test: a test program was not built" >&2
    exit 1
}

export MARTLET_REQUIRE_KERNEL_SCTP=1 MARTLET_TEST_SCTP=kernel RUST_BACKTRACE=0
[ ! -x "$(dirname "$interop")/free5gc-amf" ] || export MARTLET_TEST_BUILT=1
echo "Starting a guest with Debian's kernel."
deploy/guest/run.sh --modules "sctp tun" --timeout "${MARTLET_BENCH:+1}600" bash -c '
    failed=0
    "$1" kernel --test-threads 1 || failed=1
    for flow in ue_lifecycle::ue_lifecycle_in_one_process n2::ng_setup::three_gnbs_serve \
        n2::gnb_failure::ues_of_an_aborted_gnb n2::gnb_failure::gnb_reconnects \
        n2::sctp_stack::the_user_space_stack_warns \
        connection::paging::downlink_data registration::general_registration::ten_ues_register; do
        "$2" --test-threads 1 "$flow" || failed=1
    done
    [ -z "$MARTLET_TEST_BUILT" ] || "$3" --test-threads 1 free5gc_amf_works || failed=1
    [ -z "$MARTLET_TEST_BUILT" ] || [ -z "$MARTLET_BENCH" ] ||
        "$3" --nocapture --test-threads 1 conformance_cases || failed=1
    exit $failed
' guest "$conformance" "$flows" "$interop" | tee target/guest/output
if grep -q SKIPPED target/guest/output ||
    ! grep -q "ue_lifecycle_in_one_process ... .*ok" target/guest/output; then
    echo "guest-test: a test was skipped or did not run, see above" >&2
    exit 1
fi
version=$(cat target/guest/linux-image-amd64/version)
echo "guest-test: all tests passed over the kernel's SCTP of Linux $version"
