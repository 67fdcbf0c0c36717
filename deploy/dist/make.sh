#!/usr/bin/env bash
# Makes what `make dist` delivers: packages, image, SBOMs, licences, checksums.
#
#     deploy/dist/make.sh [FROM [TO]]     FROM: cargo's output folder (target/dist); TO: dist
set -euo pipefail
cd "$(dirname "$0")/../.."
from=${1:-target/dist}
to=${2:-dist}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
rm -rf "$to"
mkdir -p "$to"
deploy/deb/build.sh "$from" "$to"
version=${VERSION:-$(awk -F\" '/^version = /{print $2; exit}' Cargo.toml)}
# The image has no martlet-ran, and so fewer crates than the package.
documents=$(mktemp -d)
trap 'rm -rf "$documents"' EXIT
python3 deploy/dist/components.py --package martlet --name martlet --version "$version" \
    --out "$documents"
python3 deploy/oci/image.py --program "$from/martlet" --documents "$documents" \
    --version "$version" --out "$to/martlet_$version.oci.tar"
python3 deploy/dist/check_components.py "$to"/*.cdx.json "$documents"/*.cdx.json
sums=$(cd "$to" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" > "$to/SHA256SUMS"
du -sh "$to"/*
