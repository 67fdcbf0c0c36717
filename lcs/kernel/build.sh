#!/usr/bin/env bash
# Builds martlet_lcs.ko for a Debian kernel and prints its path. Installs the headers of that kernel
# where they are missing. Usage: build.sh [KERNEL-VERSION], such as 6.1.0-56-amd64; the default is
# the running kernel.
set -euo pipefail
cd "$(dirname "$0")"
version=${1:-$(uname -r)}
headers=/usr/src/linux-headers-$version
if ! [ -d "$headers" ]; then
    echo "Martlet installs linux-headers-$version." >&2
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "linux-headers-$version" >&2
fi
folder=../../target/guest/module-$version
mkdir -p "$folder"
cp -u module/* "$folder/"
make -s -C "$headers" M="$(cd "$folder" && pwd)" modules >&2
echo "$(cd "$folder" && pwd)/martlet_lcs.ko"
