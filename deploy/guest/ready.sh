#!/usr/bin/env bash
# Installs what a guest with Martlet's kernel module needs: QEMU, Debian's kernel, and its headers.
# Fails with a message if one of them is not available.
set -euo pipefail
cd "$(dirname "$0")/../.."
kernel=linux-image-amd64
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

fail() { echo "$1" >&2; exit 1; }
bash deploy/install/packages.sh guest || fail "QEMU and its tools cannot be installed."
apt-cache show "$kernel" > /dev/null 2>&1 || as_root apt-get update -qq || true
folder=$(deploy/guest/prepare.sh "$kernel") || fail "The kernel $kernel is not available."
version=$(cat "$folder/version")
[ -d "/usr/src/linux-headers-$version" ] ||
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "linux-headers-$version" >&2 ||
    fail "The headers of Linux $version are not available."
