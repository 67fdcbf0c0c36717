#!/usr/bin/env bash
# Makes a folder with the arm64 libraries that the programs link and load, from Debian's packages,
# or with other arm64 packages. The machine's own packages stay as they are.
#
#     deploy/arm64/sysroot.sh FOLDER [PACKAGE=VERSION…]
set -euo pipefail
folder=$(realpath -m "${1:?usage: sysroot.sh FOLDER [PACKAGE=VERSION…]}")
packages="libc6 libc6-dev linux-libc-dev libgcc-s1 libelf1 libelf-dev zlib1g zlib1g-dev
    libusrsctp-dev libstdc++6"
[ $# = 1 ] || packages=${*:2}
[ ! -e "$folder/complete" ] || exit 0
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,packages} "$folder"
: > "$apt/status"
options=(
    -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
)
# Ubuntu's arm64 packages are on servers of their own.
if grep -q '^ID=ubuntu' /etc/os-release; then
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "deb http://ports.ubuntu.com/ubuntu-ports $release main universe" > "$apt/sources.list"
    options+=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/nonexistent)
fi
apt-get "${options[@]}" update
# shellcheck disable=SC2086
(cd "$apt/packages" && apt-get "${options[@]}" download $packages)
for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
# Absolute links lead into the folder.
find "$folder" -type l -lname '/*' | while read -r link; do
    ln -sf "$folder$(readlink "$link")" "$link"
done
touch "$folder/complete"
