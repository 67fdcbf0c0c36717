#!/usr/bin/env bash
# Makes what `make dist` delivers: packages, SBOMs, licences, checksums.
#
#     deploy/dist/make.sh [FROM [TO]]     FROM: cargo's output folder (target/release); TO: dist
set -euo pipefail
cd "$(dirname "$0")/../.."
from=${1:-target/release}
to=${2:-dist}
rm -rf "$to"
mkdir -p "$to"
deploy/deb/build.sh "$from" "$to"
python3 deploy/dist/check_components.py "$to"/*.cdx.json
sums=$(cd "$to" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" > "$to/SHA256SUMS"
du -sh "$to"/*
