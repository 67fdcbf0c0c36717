#!/usr/bin/env bash
# Installs libmartlet_fabric with its header and its pkg-config file.
#
#     install.sh FROM [PREFIX]        FROM: the folder that cargo built into, such as target/release
#
# PREFIX is /usr/local if not said otherwise; $DESTDIR stands before it where a package is made.
set -euo pipefail
from=${1:?say where cargo built the library, such as target/release}
prefix=${2:-/usr/local}
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
root=${DESTDIR:-}$prefix

install -d "$root/lib/pkgconfig" "$root/include"
install -m 644 "$here/include/martlet_fabric.h" "$root/include/"
# Names of functions stay; what only a debugger reads is left out.
leaned() {
    install -m "$1" "$2" "$3"
    strip --strip-debug "$3"
}
leaned 755 "$from/libmartlet_fabric_c.so" "$root/lib/libmartlet_fabric.so.$version"
ln -sf "libmartlet_fabric.so.$version" "$root/lib/libmartlet_fabric.so.0"
ln -sf libmartlet_fabric.so.0 "$root/lib/libmartlet_fabric.so"
if [ -f "$from/libmartlet_fabric_c.a" ]; then
    leaned 644 "$from/libmartlet_fabric_c.a" "$root/lib/libmartlet_fabric.a"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/martlet-fabric.pc.in" >"$root/lib/pkgconfig/martlet-fabric.pc"
chmod 644 "$root/lib/pkgconfig/martlet-fabric.pc"
