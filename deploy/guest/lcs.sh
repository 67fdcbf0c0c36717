#!/usr/bin/env bash
# Tests positioning's data paths in the kernel, in one start of a guest: the conformance suite of
# channels over kernel TLS, against the other libraries; the kernel module; and, with PROGRAM, the
# lab's figures of types 1, 2 and 3.
#   lcs.sh [PROGRAM]                                      PROGRAM is a `martlet-lab`
#     ROUNDS=N       rounds for each channel and size (1,000 as in the paper)
#     REALTIME=1     set and check real-time properties
#     KERNEL=…       package of the kernel; linux-image-rt-amd64 has PREEMPT_RT
#     VARIANTS=…     channels, instead of those of the paper that PROGRAM has
#     LIMIT=SECONDS  time limit of the guest; the default grows with ROUNDS
#     ONLY=lab       the lab's figures without the tests
# The report is then in target/guest/results/lcs-upp, from which
# `martlet-lab reproduce lcs-upp --draw --out target/guest/results` makes the paper's figures.
# `make lab-positioning-guest` builds a PROGRAM with wolfSSL, the baseline of the paper, and runs
# this.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
PATH=$PATH:/usr/sbin:/sbin
kernel=${KERNEL:-linux-image-amd64}
laboratory=${1:+$(realpath "$1")}
rounds=${ROUNDS:-1000}
only=${ONLY:-}
[ -z "$only" ] || [ -n "$laboratory" ] || {
    echo "lcs.sh: ONLY=lab needs PROGRAM; see the head of the file" >&2
    exit 2
}
# Tests take some minutes. On busy CPUs, one round of all channels and sizes takes up to 4 s.
limit=900
[ -z "$laboratory" ] || limit=$((limit + 4 * rounds))
limit=${LIMIT:-$limit}
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
channels='' kernel_tests='' ends=''
if [ -z "$only" ]; then
    echo "Building the tests of channels and of the kernel module."
    channels=$(program martlet-lcs-channel suite)
    kernel_tests=$(program martlet-lcs-kernel module)
    ends=$(program martlet-lab-endpoint ends)
    [ -x "$ends" ] && [ -x "$channels" ] && [ -x "$kernel_tests" ] || {
        echo "guest-test: a test program was not built" >&2
        exit 1
    }
fi

export RUST_BACKTRACE=0 MARTLET_REQUIRE_KERNEL_MODULE=1 MARTLET_REALTIME=${REALTIME:-}
export MARTLET_GUEST="QEMU without KVM, Linux $(cat "$folder/version")"
echo "Starting a guest with Debian's kernel, for at most $limit s."
deploy/guest/run.sh --kernel "$kernel" --modules "tls" --timeout "$limit" \
    env LD_LIBRARY_PATH="$libraries" bash -c '
    failed=0
    /usr/sbin/insmod "$1" || exit 125
    if [ -n "$2" ]; then
        MARTLET_CHANNELS=ktls,rustls "$2" --test-threads 1 conformance:: || failed=1
        "$2" --test-threads 1 a_connection_resumes || failed=1
        "$3" --test-threads 1 || failed=1
        "$7" --test-threads 1 real_time || failed=1
    fi
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
[ -n "$only" ] ||
    echo "guest-test: kernel TLS and the kernel module passed on Linux $(cat "$folder/version")"
