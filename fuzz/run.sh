#!/usr/bin/env bash
# Runs every fuzz target for a while, with the seeds of seeds.sh and the dictionaries.
#
#     fuzz/run.sh [SECONDS] [TARGET…]      30 seconds per target by default
#
# Shows for each target the executions a second, and the coverage of its corpus: how many edges of
# which of Martlet's source files it reaches (coverage.py). That needs llvm-symbolizer.
#
# Uses a nightly toolchain if there is one, else the stable one with RUSTC_BOOTSTRAP=1, which turns
# on the same compiler options. Installs cargo-fuzz where it is missing, and prints that it
# does. Failing inputs are saved in fuzz/artifacts/TARGET: `cargo fuzz run TARGET FILE` repeats one.
set -euo pipefail
cd "$(dirname "$0")"

if cargo +nightly --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
else
    cargo=(cargo)
    export RUSTC_BOOTSTRAP=1
fi
if ! "${cargo[@]}" fuzz --version >/dev/null 2>&1; then
    echo "Martlet installs cargo-fuzz 0.13 through cargo."
    cargo install cargo-fuzz --version '^0.13' --locked
fi

seconds=${1:-30}
shift || true
if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <("${cargo[@]}" fuzz list); fi
./seeds.sh

# The dictionary of a target's format.
dictionary() { # TARGET
    case $1 in
        nas_*) echo nas ;;
        ngap*) echo ngap ;;
        sbi_json | sbi_body | fabric_messages | fabric_frame) echo sbi ;;
        *) echo "$1" ;;
    esac
}

failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    options=(-max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048)
    words=dictionaries/$(dictionary "$target").dict
    [ ! -f "$words" ] || options+=(-dict="$words")
    echo "== $target, $seconds s"
    if ! "${cargo[@]}" fuzz run "$target" -- "${options[@]}" -print_final_stats=1 \
        > "$log" 2>&1; then
        failed+=("$target")
    fi
    grep -E '^(==|SUMMARY|thread|Done)|panicked|^error|stat::average_exec_per_sec' "$log" || true
    # Edges of the code that inputs reached, features, and inputs that reach new ones.
    grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$log" | tail -1 || true
    program=$(echo target/*/release/"$target")
    if command -v llvm-symbolizer >/dev/null && [ -x "$program" ]; then
        "$program" -runs=0 -print_coverage=1 "corpus/$target" 2>&1 |
            ./coverage.py "$(cd .. && pwd)" || true
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; the inputs are in fuzz/artifacts"
    exit 1
fi
echo "every target ran $seconds s without a failure"
