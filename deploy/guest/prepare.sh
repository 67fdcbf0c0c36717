#!/usr/bin/env bash
# Prepares a guest under target/guest: Debian's kernel and its modules, unpacked but not installed,
# and an initramfs that mounts the host's root. Prints the folder.
#   prepare.sh [KERNEL-PACKAGE]        default: linux-image-amd64; the cloud flavour lacks 9p
set -euo pipefail
cd "$(dirname "$0")/../.."
package=${1:-linux-image-amd64}
folder=target/guest/$package
if [ "$folder/ready" -nt deploy/guest/init ] &&
    [ "$folder/ready" -nt deploy/guest/prepare.sh ]; then
    echo "$folder"
    exit 0
fi
rm -rf "$folder"
mkdir -p "$folder"

# The package without a version depends on the current version.
if ! apt-cache show "$package" >/dev/null 2>&1; then
    echo "prepare.sh: apt has no kernel $package; run apt-get update" >&2
    exit 1
fi
concrete=$(apt-cache depends "$package" | awk '/Depends: linux-image-/ {print $2; exit}')
concrete=${concrete:-$package}
echo "Martlet downloads $concrete and unpacks it into $folder; nothing of it is installed." >&2
(
    cd "$folder"
    apt-get download -qq "$concrete" 2>/dev/null
    dpkg-deb -x "$concrete"_*.deb unpacked
    rm ./*.deb
)

version=$(basename "$folder"/unpacked/lib/modules/*)
mv "$folder/unpacked/boot/vmlinuz-$version" "$folder/vmlinuz"
echo "$version" > "$folder/version"
depmod -b "$folder/unpacked" "$version"

# Modules of the initramfs for 9p and the console, each after its dependencies.
root=$folder/initramfs
mkdir -p "$root"/{bin,dev,proc,sys,modules,host,top,root}
cp "$(command -v busybox)" "$root/bin/busybox"
cp deploy/guest/init "$root/init"
chmod +x "$root/init"
for module in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
    modprobe -d "$folder/unpacked" -S "$version" --show-depends "$module" |
        awk '$1 == "insmod" {print $2}' |
        while read -r file; do
            name=$(basename "$file")
            name=${name%%.ko*}.ko
            [ -e "$root/modules/$name" ] && continue
            case "$file" in
            *.xz) xz -dc "$file" > "$root/modules/$name" ;;
            *) cp "$file" "$root/modules/$name" ;;
            esac
            echo "$name" >> "$root/modules/order"
        done
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$folder/initramfs.gz"
rm -rf "$root"
touch "$folder/ready"
echo "$folder"
