#!/usr/bin/env bash
# Gets what a guest with our kernel module needs: QEMU, Debian's kernel, and its headers. Fails where one of them is not to be
# had, after saying which.
set -euo pipefail
cd "$(dirname "$0")/../.."
kernel=linux-image-amd64
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

bash deploy/install/packages.sh guest || { echo "QEMU and its tools cannot be installed." >&2; exit 1; }
apt-cache show "$kernel" > /dev/null 2>&1 || as_root apt-get update -qq || true
folder=$(deploy/guest/prepare.sh "$kernel") || { echo "The kernel $kernel is not to be had." >&2; exit 1; }
version=$(cat "$folder/version")
[ -d "/usr/src/linux-headers-$version" ] ||
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "linux-headers-$version" >&2 ||
    { echo "The headers of Linux $version are not to be had." >&2; exit 1; }
