#!/usr/bin/env bash
# Gives the switch's P4 programs to the reference compiler.
#
#     deploy/test/p4c.sh FOLDER    the folder with p4test, p4c-bm2-ss, p4c-bm2-psa and p4c-dpdk;
#                                  empty: on PATH
#
# Programs of the compiler that are missing are reported as skipped, and the exit code is 77 if none
# is there.
set -uo pipefail
cd "$(dirname "$0")/../../upf/switch/p4"
folder=${1:-}
[ -z "$folder" ] || PATH=$folder:$PATH
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0 skipped=0

# Whether p4test has an architecture file. Without p4test, `check` reports it.
has() {
    local program path
    program=$(command -v p4test) || return 0
    for path in "$(dirname "$program")"/{,../,../../,../share/p4c/}p4include/"$1"; do
        [ ! -f "$path" ] || return 0
    done
    return 1
}

check() {
    local name=$1 program=$2
    shift 2
    if ! command -v "$program" >/dev/null; then
        echo "SKIPPED: $name: $program is not there"
        skipped=$((skipped + 1))
    elif "$program" "$@" > "$out/log" 2>&1; then
        echo "passed: $name"
        passed=$((passed + 1))
    else
        echo "FAILED: $name"
        cat "$out/log"
        failed=$((failed + 1))
    fi
}

check "psa, p4test" p4test upf_psa.p4
check "v1model, p4test" p4test upf_v1model.p4
check "pna, p4test" p4test upf_pna.p4
check "v1model, BMv2" p4c-bm2-ss --arch v1model upf_v1model.p4 -o "$out/v1model.json" \
    --p4runtime-files "$out/v1model.txtpb"
# Not p4c-dpdk: it demands lengths in count and execute, which the standard's PSA has not.
check "psa, BMv2" p4c-bm2-psa upf_psa.p4 -o "$out/psa.json"
check "pna, DPDK" p4c-dpdk --arch pna upf_pna.p4 -o "$out/pna.spec"
# Not p4c-barefoot: it refuses conditions of the pipeline, see upf/switch/p4/README.md.
if has tna.p4; then
    check "tna, p4test" p4test -D__TARGET_TOFINO__=1 upf_tna.p4
else
    echo "SKIPPED: tna, p4test: p4test has no tna.p4"
    skipped=$((skipped + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
