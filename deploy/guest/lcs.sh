#!/usr/bin/env bash
# Tests positioning's data paths in the kernel, in one start of a guest: the conformance suite of
# channels over kernel TLS, against the other libraries; the kernel module; and, with PROGRAM, the
# lab's figures of types 1, 2 and 3.
#   [VARIANTS=…] [KERNEL=…] [REALTIME=1] lcs.sh [PROGRAM [ROUNDS]]      PROGRAM is a `martlet-lab`
# The report is then in target/guest/results/lcs-upp, from which
# `martlet-lab reproduce lcs-upp --draw --out target/guest/results` makes the paper's figures.
# KERNEL=linux-image-rt-amd64 has PREEMPT_RT; REALTIME=1 sets and checks real-time properties.
# `make lab-positioning-guest` builds a PROGRAM with wolfSSL, the baseline of the paper, and runs
# this.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
PATH=$PATH:/usr/sbin:/sbin
kernel=${KERNEL:-linux-image-amd64}
laboratory=${1:+$(realpath "$1")}
rounds=${2:-200}
variants=${VARIANTS:-raw_tcp,rustls,ktls,kernel_module}
# MsQuic is a shared library.
libraries=$(echo target/*/build/msquic-*/out/lib target/*/*/build/msquic-*/out/lib |
    tr ' ' '\n' | while read -r it; do
    [ -d "$it" ] && printf '%s:' "$PWD/$it"; done || true)${LD_LIBRARY_PATH:-}
# Only builds with the features have the paper's libraries: all types are measured in one run then.
# The error for an unknown channel lists all of them.
known=$([ -z "$laboratory" ] ||
    LD_LIBRARY_PATH=$libraries "$laboratory" lcs-upp --channels none 2>&1 || true)
[ -n "${VARIANTS:-}" ] || for library in msquic mbedtls wolfssl_default wolfssl; do
    case "$known," in *" $library,"*) variants=raw_tcp,$library,${variants#raw_tcp,} ;; esac
done

# Builds a test program and prints its path.
program() { # PACKAGE TEST
    # The output also names programs that the test starts.
    "$cargo" test --locked -p "$1" --test "$2" --no-run --message-format json 2>/dev/null |
        sed -n 's/.*"kind":\["test"\].*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}
folder=$(deploy/guest/prepare.sh "$kernel")
module=$(lcs/kernel/build.sh "$(cat "$folder/version")")
echo "Building the tests of channels and of the kernel module."
channels=$(program martlet-lcs-channel suite)
kernel_tests=$(program martlet-lcs-kernel module)
ends=$(program martlet-lab-endpoint ends)
[ -x "$ends" ] && [ -x "$channels" ] && [ -x "$kernel_tests" ] || {
    echo "guest-test: a test program was not built" >&2
    exit 1
}

export RUST_BACKTRACE=0 MARTLET_REQUIRE_KERNEL_MODULE=1 MARTLET_REALTIME=${REALTIME:-}
export MARTLET_GUEST="QEMU without KVM, Linux $(cat "$folder/version")"
echo "Starting a guest with Debian's kernel."
deploy/guest/run.sh --kernel "$kernel" --modules "tls" --timeout 900 \
    env LD_LIBRARY_PATH="$libraries" bash -c '
    failed=0
    /usr/sbin/insmod "$1" || exit 125
    MARTLET_CHANNELS=ktls,rustls "$2" --test-threads 1 conformance:: || failed=1
    "$2" --test-threads 1 a_connection_resumes || failed=1
    "$3" --test-threads 1 || failed=1
    "$7" --test-threads 1 real_time || failed=1
    if [ -n "$4" ]; then
        "$4" --log warn lcs-upp --rounds "$5" --setups 5 --out "$GUEST_RESULTS/lcs-upp" \
            --channels "$6" ${MARTLET_REALTIME:+--realtime} || failed=1
    fi
    exit $failed
' guest "$module" "$channels" "$kernel_tests" "$laboratory" "$rounds" "$variants" "$ends" |
    tee target/guest/output
if grep -q SKIPPED target/guest/output; then
    echo "guest-test: something was skipped or not run, see above" >&2
    exit 1
fi
echo "guest-test: kernel TLS and the kernel module passed on Linux $(cat "$folder/version")"
