#!/usr/bin/env bash
# Counts instructions in the build of the tests, and compares them with the stored counts. A count
# that is more than 3 % above the stored one is an error.
#
#     deploy/bench/debug.sh            exit code 77, with the reason, if they cannot be compared
#     deploy/bench/debug.sh --update   stores the counts; the commit says why a count rises
#
# The program is target/debug/martlet-lab, as `cargo test --workspace --no-run` builds it: a build
# of other packages has other features. Environment: MARTLET_SKIPPED, a file for the reason.
set -euo pipefail
cd "$(dirname "$0")/../.."

counts=lab/instructions-debug.tsv
program=target/debug/martlet-lab
# Seconds for all counts.
limit=180
# Without call_fabric: how often its ends poll depends on the clock, by up to 2 %.
works=nas_codec,nas_security,ngap_codec,pfcp_codec,sbi_json,sbi_binary,call_local

skip() {
    echo "SKIPPED: instructions are not compared: $1"
    [ -z "${MARTLET_SKIPPED:-}" ] || echo "instructions: $1" >> "$MARTLET_SKIPPED"
    exit 77
}

command -v valgrind > /dev/null || skip "valgrind is not installed"
[ -x "$program" ] || skip "$program is not built"
# Compiler, valgrind and the C library change what is executed or counted, and so does the CPU:
# libraries select functions by its instruction sets.
libc=$(getconf GNU_LIBC_VERSION || true)
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | sed 1q)
tools="$(rustc --version), $(valgrind --version), ${libc:-no glibc}, ${cpu:-$(uname -m)}"
if [ "${1:-}" != --update ]; then
    stored=$(sed -n '1s/.*Compiler: //p' "$counts")
    [ "$stored" = "$tools" ] || skip "stored with $stored, and here is $tools"
fi
code=0
timeout "$limit" "$program" --log warn instructions --work "$works" --rounds 60 \
    --out target/bench/debug --counts "$counts" --compiler "$tools" "$@" || code=$?
[ "$code" != 124 ] || skip "not counted within $limit seconds"
exit "$code"
