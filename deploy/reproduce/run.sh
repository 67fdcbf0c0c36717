#!/usr/bin/env bash
# Makes the 17 figures of the four papers in one report (`make reproduce`): builds the programs,
# measures LCS-UPP in a guest with kernel TLS and Martlet's module, all else on this machine.
#   run.sh
#     OUT=DIR        where parts and report are kept (lab-results/reproduce)
#     AGAIN=PARTS    parts to measure again: all, or of control-plane, upf, switch, lcs-upp
#     QUICK=1        few rounds, which claim nothing, in lab-results/reproduce-quick
#     ROUNDS=N       rounds of LCS-UPP in the guest (1,000 as in the paper)
#     TRIAL=SECONDS  of the trials that confirm rates of the switch (60 as in RFC 2544)
#     BASELINE=none  L25GC+ without free5GC, the paper's baseline
#     LAB=FILE       a built martlet-lab; then nothing is built, and there is no baseline
#     GUEST=FILE     what measures LCS-UPP in a guest (deploy/guest/lcs.sh)
#     KERNEL=PACKAGE Debian's kernel of that guest (linux-image-rt-amd64)
# A part that OUT has from the same programs and options is kept, so that an aborted run continues
# where it ended. A part that fails does not stop the others: its figures have the reason, and the
# exit code is 1. MAKE and AS_ROOT are those of the Makefile.
set -uo pipefail
cd "$(dirname "$0")/../.."
read -ra as_root <<< "${AS_ROOT:-}"
# The lab runs as root, so that its files are root's.
raised() { "${as_root[@]}" "$@"; }
quick=${QUICK:-}
out=${OUT:-lab-results/reproduce${quick:+-quick}}
rounds=${ROUNDS:-1000}
[ -z "$quick" ] || rounds=${ROUNDS:-20}
guest=${GUEST:-deploy/guest/lcs.sh}
kernel=${KERNEL:-linux-image-rt-amd64}
results=target/guest/results/lcs-upp
failed=()
mkdir -p "$out" || exit 1

for part in ${AGAIN:-}; do
    [ "$part" != all ] || part='*'
    # Raw data stay until the part is measured.
    raised rm -f "$out"/$part/origin.json
done

build() { # WHAT TARGET
    ${MAKE:-make} "$2" || { failed+=("build of $1"); return 1; }
}
if [ -n "${LAB:-}" ]; then
    lab=$LAB
else
    # The lab with wolfSSL, the paper's baseline, measures all parts; without it the usual one.
    lab=target/positioning/release/martlet-lab
    build "the lab with the paper's libraries" release-positioning ||
        {
            lab=target/release/martlet-lab
            build "the lab" release-lab && build "the core" release
        } || exit 1
    build "the switch" release-switch
fi
# The paper's baseline: free5GC's functions whose modules the Go proxy has (AMF, PCF and NRF, and a
# stand-in for MongoDB), beside Martlet's program.
programs=target/reproduce/programs
build_baseline() {
    local root=$PWD
    mkdir -p "$programs" || return 1
    compile() { # FOLDER NAME PACKAGE OPTION…
        (cd "tests/interop/$1" && go build "${@:4}" -o "$root/$programs/$2" "$3")
    }
    compile free5gc-amf free5gc-amf github.com/free5gc/amf/cmd &&
        compile free5gc-amf free5gc-amf-user-space github.com/free5gc/amf/cmd \
            -modfile=user-space.mod &&
        compile free5gc-pcf free5gc-pcf github.com/free5gc/pcf/cmd &&
        compile free5gc-nrf free5gc-nrf github.com/free5gc/nrf/cmd &&
        compile mongodb mongodb . &&
        ln -sf "$root/${lab%-lab}" "$programs/martlet"
}
baseline=()
if [ -z "${LAB:-}" ] && [ "${BASELINE:-}" != none ]; then
    if build_baseline; then
        baseline=(--baseline deploy/external/free5gc-functions.sh --programs "$programs")
    else
        failed+=("build of free5GC's functions: L25GC+ is without the paper's baseline")
    fi
fi
options=("${baseline[@]}" --resume --out "$out" ${quick:+--quick} ${TRIAL:+--trial "$TRIAL"})
# Another target folder than the lab's has it.
[ ! -x target/release/martlet-switch ] ||
    options+=(--switch-program target/release/martlet-switch)

# Measures LCS-UPP in a guest into OUT, unless OUT has it from the same program, kernel and length.
guest_part() {
    local origin kept
    origin="$(sha256sum < "$lab") $kernel, $rounds rounds, real time"
    kept=$(cat "$out/lcs-upp/origin.json" 2>/dev/null)
    if [ "$kept" = "\"$origin\"" ] && [ -s "$out/lcs-upp/summary.json" ]; then
        echo "The guest's part is kept: $out/lcs-upp"
        return
    fi
    rm -rf "$results"
    KERNEL=$kernel REALTIME=1 ROUNDS=$rounds ONLY=lab "$guest" "$lab" || return 1
    [ -s "$results/summary.json" ] || return 1
    raised rm -rf "$out/lcs-upp"
    cp -r "$results" "$out/lcs-upp" && echo "\"$origin\"" > "$out/lcs-upp/origin.json"
}
if guest_part; then
    options+=(--keep lcs-upp)
else
    failed+=("LCS-UPP in a guest: it is measured here, without the data paths in the kernel")
fi

# MsQuic is a shared library.
library=$(echo target/positioning/release/build/msquic-*/out/lib)
raised env LD_LIBRARY_PATH="$library:${LD_LIBRARY_PATH:-}" \
    "$lab" --log info reproduce all "${options[@]}" || failed+=("report")
absent=$(grep -cE '"mark": "(incomplete|absent)"' "$out/summary.json")
[ "$absent" = 0 ] || failed+=("${absent:-all} of 17 figures are incomplete or not measured")
if [ ${#failed[@]} -gt 0 ]; then
    printf 'reproduce: failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
