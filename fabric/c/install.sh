#!/usr/bin/env bash
# Installs libmartlet_fabric with its header and its pkg-config file.
#
#     install.sh FROM [PREFIX]        FROM: cargo's output folder, such as target/release
#
# PREFIX defaults to /usr/local; $DESTDIR is prepended to it, for packagers.
set -euo pipefail
from=${1:?usage: install.sh FROM [PREFIX], FROM being the output folder of cargo}
prefix=${2:-/usr/local}
here=$(cd "$(dirname "$0")" && pwd)
version=$(awk -F\" "/^version = /{print \$2; exit}" "$here/../../Cargo.toml")
root=${DESTDIR:-}$prefix

install -d "$root/lib/pkgconfig" "$root/include"
install -m 644 "$here/include/martlet_fabric.h" "$root/include/"
# Remove debug information, keep symbols.
install_stripped() {
    install -m "$1" "$2" "$3"
    strip --strip-debug "$3"
}
install_stripped 755 "$from/libmartlet_fabric_c.so" "$root/lib/libmartlet_fabric.so.$version"
ln -sf "libmartlet_fabric.so.$version" "$root/lib/libmartlet_fabric.so.0"
ln -sf libmartlet_fabric.so.0 "$root/lib/libmartlet_fabric.so"
if [ -f "$from/libmartlet_fabric_c.a" ]; then
    install_stripped 644 "$from/libmartlet_fabric_c.a" "$root/lib/libmartlet_fabric.a"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/martlet-fabric.pc.in" \
    >"$root/lib/pkgconfig/martlet-fabric.pc"
chmod 644 "$root/lib/pkgconfig/martlet-fabric.pc"
