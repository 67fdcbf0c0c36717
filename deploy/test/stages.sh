#!/usr/bin/env bash
# Runs all stages of `make test`, also after one has failed, and lists their results at the end.
#
#     deploy/test/stages.sh            as `make test` calls it
#     deploy/test/stages.sh --list     only prints the stages
#
# Environment: RUST_TEST_THREADS (tests at a time; twice the number of CPUs), MARTLET_TEST_MINUTES
# (after so many minutes no stage begins that repeats call flows; it is listed as skipped), CARGO,
# AS_ROOT (the command that raises what runs the tests), MARTLET_PYTHON, CALL_FLOWS,
# SWITCH_SELECTION and SWITCH_XDP_SELECTION (see the Makefile).
set -uo pipefail
cd "$(dirname "$0")/../.."

CARGO=${CARGO:-cargo}
SWITCH_SELECTION=${SWITCH_SELECTION:-}
SWITCH_XDP_SELECTION=${SWITCH_XDP_SELECTION:-}
# Most tests wait for timers and for each other's processes: with one for each CPU, the CPUs are
# idle for two thirds of the time.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
MARTLET_TEST_MINUTES=${MARTLET_TEST_MINUTES:-0}
times=target/test-stages
runner=()
[ -z "${AS_ROOT:-}" ] || runner=(--config "target.'cfg(all())'.runner='$AS_ROOT'")
call_flows=(deploy/test/steady.py "$CARGO" test --workspace --test call_flows --locked
    --no-fail-fast "${runner[@]}")

build() {
    "$CARGO" test --workspace --locked --no-run || return
    # For the stage `docs`, which is skipped without it. With a limit of time, it is not compiled.
    [ "$MARTLET_TEST_MINUTES" -gt 0 ] || CARGO="$CARGO" bash deploy/lint/tools.sh docs ||
        echo "mdbook is not built, see above"
}
workspace() {
    deploy/test/steady.py "$CARGO" test --workspace --locked --no-fail-fast "${runner[@]}"
}
# A binding of the SBI changes how messages are carried, a datapath how packets are: they are
# independent, so one run can change both. `other` is one of the two bindings that a test does not
# have, so that each test runs on two of three, and the tests of a procedure on all.
xdp() { MARTLET_TEST_SBI=other MARTLET_TEST_DATAPATH=xdp "${call_flows[@]}"; }
# Two at a time, since each switch takes much memory.
switch() {
    "$CARGO" build --workspace --bin martlet-switch --locked || return
    # shellcheck disable=SC2086
    MARTLET_TEST_DATAPATH=switch "${call_flows[@]}" -- --test-threads 2 $SWITCH_SELECTION
}
switch_xdp() {
    # shellcheck disable=SC2086
    MARTLET_TEST_DATAPATH=switch-xdp "${call_flows[@]}" -- --test-threads 2 $SWITCH_XDP_SELECTION
}
guest() {
    if ! deploy/guest/ready.sh; then
        why="the kernel's TLS and the kernel module: no guest on this machine"
        echo "SKIPPED: $why, see above"
        echo "$why" >> "$MARTLET_SKIPPED"
        return "$SKIPPED"
    fi
    # A second try if it starts too late.
    CARGO="$CARGO" deploy/guest/lcs.sh || CARGO="$CARGO" deploy/guest/lcs.sh
}
docs() {
    if [ ! -x target/lint/bin/mdbook ]; then
        why="the documentation site: mdbook is not built"
        echo "SKIPPED: $why (deploy/lint/tools.sh docs)"
        echo "$why" >> "$MARTLET_SKIPPED"
        return "$SKIPPED"
    fi
    deploy/docs/generate.sh target/debug/martlet
}
instructions() { deploy/bench/debug.sh; }
packages() { CARGO="$CARGO" deploy/deb/test.sh --short target/debug; }

# Name, and what it is.
stages=(
    "build:everything that the tests need"
    "packages:the Debian package is made, and its files and its SBOM checked"
    "docs:the documentation site is built with its reference, and its links are checked"
    "instructions:instructions of codecs are counted, and compared with the stored counts"
    "workspace:all tests, with the kernel datapath"
    "xdp:call flows again, with another SBI binding of each and the XDP datapath"
    "switch:call flows of sessions, with a programmable switch"
    "switch_xdp:a part of them, with the switch's pipeline in XDP"
    "guest:positioning over the kernel's TLS and our kernel module, in a QEMU guest"
)
count=${#stages[@]}

# The exit code of a stage that this machine cannot run.
SKIPPED=77

# Minutes and seconds.
duration() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

total=0
echo "$count stages. They run as root: they create and delete network namespaces and interfaces."
for stage in "${stages[@]}"; do
    name=${stage%%:*} known=
    if [ -r "$times/$name" ]; then
        seconds=$(cat "$times/$name")
        known=" ($(duration "$seconds") last time)"
        total=$((total + seconds))
    fi
    printf '    %-12s %s%s\n' "$name" "${stage#*:}" "$known"
done
if [ "$total" -gt 0 ]; then
    echo "About $(duration "$total") minutes, as last time on this machine."
else
    echo "Half an hour to an hour on 2 CPUs, the build included. Later runs know it better."
fi
[ "${1:-}" != --list ] || exit 0

mkdir -p "$times"
# deploy/test/steady.py appends the tests that this machine cannot run, and those that failed.
export MARTLET_SKIPPED=$PWD/$times/skipped
export MARTLET_UNSTEADY=$PWD/$times/unsteady MARTLET_FAILED=$PWD/$times/failed
: > "$MARTLET_SKIPPED" > "$MARTLET_UNSTEADY" > "$MARTLET_FAILED"
results=() failed=0 skipped=0 n=0
for stage in "${stages[@]}"; do
    name=${stage%%:*} n=$((n + 1)) began=$SECONDS
    printf '\n== Stage %d of %d, %s: %s\n' "$n" "$count" "$name" "${stage#*:}"
    # The first five stages always run.
    if [ "$n" -gt 5 ] && [ "$MARTLET_TEST_MINUTES" -gt 0 ] &&
        [ "$SECONDS" -gt $((60 * MARTLET_TEST_MINUTES)) ]; then
        why="stage $name: not begun within $MARTLET_TEST_MINUTES minutes (MARTLET_TEST_MINUTES)"
        echo "SKIPPED: $why"
        echo "$why" >> "$MARTLET_SKIPPED"
        code=$SKIPPED
    else
        "$name"
        code=$?
    fi
    case $code in
        0) result=passed && echo $((SECONDS - began)) > "$times/$name" ;;
        "$SKIPPED") result=skipped skipped=$((skipped + 1)) ;;
        *) result=FAILED failed=$((failed + 1)) ;;
    esac
    results+=("$(printf '%-12s %-7s %s' "$name" "$result" "$(duration $((SECONDS - began)))")")
    # Without a build no stage has anything to run.
    if [ "$name" = build ] && [ "$result" = FAILED ]; then
        break
    fi
done

if [ -s "$MARTLET_SKIPPED" ]; then
    printf '\n== Skipped on this machine\n'
    sort -u "$MARTLET_SKIPPED" | sed 's/^/    /'
fi
if [ -s "$MARTLET_UNSTEADY" ]; then
    printf '\n== Failed once, and passed alone twice\n'
    sed 's/^/    /' "$MARTLET_UNSTEADY"
fi
printf '\n== All stages\n'
printf '    %s\n' "${results[@]}"
# Last, since logs are often cut to their end.
if [ -s "$MARTLET_FAILED" ]; then
    printf '\n== Failed\n'
    sed 's/^/    /' "$MARTLET_FAILED"
fi
echo "$((n - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
