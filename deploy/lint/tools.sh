#!/usr/bin/env bash
# Installs the checkers of `make lint` into target/lint: typos, rumdl and license-expression from
# PyPI, cargo-machete from crates.io (compiled once; a minute). With the argument `docs`, mdbook for
# `make docs`; with `audit`, cargo-deny for `make audit` (some minutes).
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=target/lint

# Installs a Python package at a version, unless it is there.
python_tool() {
    "$folder/bin/python" -c "import importlib.metadata as m; assert m.version('$1') == '$2'" \
        2>/dev/null && return
    echo "make lint installs $1 $2 from PyPI into $folder."
    "$folder/bin/pip" install --quiet "$1==$2"
}

# Installs a program from crates.io at a version, unless it is there.
cargo_tool() {
    local name=$1 version=$2
    shift 2
    "$folder/bin/$name" --version 2>/dev/null |
        grep -E " v?${version//./\\.}\$" > /dev/null && return
    echo "$name $version is compiled into $folder."
    cargo install --quiet --debug --locked --root "$folder" --version "=$version" "$@" "$name"
}

if [ "${1:-lint}" = docs ]; then
    # Without its server and its watcher of files.
    cargo_tool mdbook 0.5.4 --no-default-features --features search
    exit
fi
if [ "${1:-lint}" = audit ]; then
    cargo_tool cargo-deny 0.20.2
    exit
fi

[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
python_tool typos 1.52.0
python_tool rumdl 0.3.0
python_tool license-expression 30.4.4
cargo_tool cargo-machete 0.9.2
