#!/usr/bin/env bash
# Compares the release build with that of a base, and counts instructions.
#
#     deploy/bench/run.sh BASE       BASE is a commit, or the path of a built martlet
#     deploy/bench/run.sh --update   only writes the counts of instructions
#
# Environment: CARGO, and AS_ROOT, the command that raises what needs network namespaces. The
# measurements take ten minutes; the first build of a base takes additional time.
set -euo pipefail
cd "$(dirname "$0")/../.."

CARGO=${CARGO:-cargo}
read -ra as_root <<< "${AS_ROOT:-}"
folder=target/bench
counts=lab/instructions.tsv
history=docs/measurements/bench.md
mkdir -p "$folder"

lab() { "${as_root[@]}" target/release/martlet-lab --log warn "$@"; }
count() {
    lab instructions --procedures --out "$folder/instructions" --counts "$counts" "$@"
}

"$CARGO" build --release --locked -p martlet -p martlet-lab
compiler=$(rustc --version)
if [ "${1:-}" = --update ]; then
    count --compiler "$compiler" --update
    exit
fi

base=${1:?"write a commit or the path of a martlet program"}
if [ -x "$base" ] && [ ! -d "$base" ]; then
    program=$base name=$(basename "$base")
else
    commit=$(git rev-parse --verify "$base^{commit}")
    name=$(git rev-parse --short "$commit")
    program=$folder/martlet-$commit
    if [ ! -x "$program" ]; then
        source=$folder/source
        [ ! -e "$source" ] || git worktree remove --force "$source"
        git worktree add --detach --quiet "$source" "$commit"
        # The folder of the build is kept, so that the next base takes less time.
        # With the simulator, as releases: their shared dependencies have the features of both.
        "$CARGO" build --release --locked -p martlet -p martlet-ran \
            --manifest-path "$source/Cargo.toml" --target-dir "$folder/build"
        cp "$folder/build/release/martlet" "$program"
        git worktree remove --force "$source"
    fi
fi

own=$(git rev-parse --short HEAD)
git diff --quiet HEAD || own="$own with changes"
lab compare --out "$folder/compare" --base "$program" --history "$history" \
    --title "$(date +%F) | $own | $name"
count --compiler "$compiler"
