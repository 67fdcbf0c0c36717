#!/usr/bin/env bash
# Installs missing Debian packages and, if needed, a Rust toolchain. It lists them first.
#   packages.sh build            to build Martlet
#   packages.sh switch           and the programmable switch (DPDK)
#   packages.sh demo             and to run the demo
#   packages.sh test             and to run the tests with their reference implementations
#   packages.sh guest            and to run a guest with another kernel
#   packages.sh lab              and to generate background load in the lab
#   packages.sh bench            and to count instructions
#   packages.sh channels         and to build the TLS libraries in C
#   packages.sh dist             and to make and test the Debian packages
#   packages.sh fuzz             and to run the fuzz targets with their coverage
#   packages.sh arm64            and to build for arm64, and run its tests in an emulator
#   packages.sh helm             to check the Helm chart
set -euo pipefail

# Ubuntu has it as a snap only. Without it, the tests of the console in a browser are skipped.
optional=" chromium "
build="build-essential pkg-config libusrsctp-dev ca-certificates clang libelf-dev zlib1g-dev"
switch="libdpdk-dev"
demo="iproute2 ethtool iputils-ping iperf3 curl nftables fonts-dejavu-core"
tests="openssl tshark tcpdump python3 python3-venv python3-yaml binutils postgresql chromium"
tests="$tests valgrind libfaketime"
# The console's tests run with any installed Node.js from 20 on.
command -v node >/dev/null || tests="$tests nodejs npm"
# The fabric's Go package is tested with any installed Go.
command -v go >/dev/null || [ -x /usr/local/go/bin/go ] || tests="$tests golang-go"
guest="qemu-system-x86 busybox-static cpio kmod xz-utils"
lab="stress-ng"
bench="valgrind git"
channels="autoconf automake libtool libssl-dev cmake perl libnuma-dev libclang-dev"
channels="$channels tshark tcpdump openssl"
dist="dpkg-dev help2man python3 python3-yaml binutils git debootstrap lintian crun iproute2 curl"
# llvm has the program that names covered functions.
fuzz="llvm perl python3"
arm64="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
helm="python3 python3-venv python3-yaml"
command -v go >/dev/null || [ -x /usr/local/go/bin/go ] || helm="$helm golang-go"
case "${1:-build}" in
build) wanted="$build" ;;
demo) wanted="$build $demo" ;;
switch) wanted="$build $switch" ;;
test) wanted="$build $switch $demo $tests" ;;
guest) wanted="$build $switch $demo $guest" ;;
lab) wanted="$build $switch $demo $lab" ;;
bench) wanted="$build $bench" ;;
channels) wanted="$build $demo $channels" ;;
dist) wanted="$build $switch $dist" ;;
fuzz) wanted="$build $fuzz" ;;
arm64) wanted="$build $arm64" ;;
helm) wanted="$helm" ;;
*)
    echo "packages.sh: write build, switch, demo, test, guest, lab, bench, channels, dist, fuzz," \
        "arm64 or helm" >&2
    exit 2
    ;;
esac

# The oldest Rust that builds Martlet (workspace `rust-version`).
needed=1.89
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Succeeds if a cargo of at least the needed version is on PATH.
have_cargo() {
    local have
    have=$(cargo --version 2>/dev/null | awk '{print $2}') || return 1
    [ -n "$have" ] && [ "$(printf '%s\n%s\n' "$needed" "$have" | sort -V | head -n 1)" = "$needed" ]
}

missing=()
for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep 'ok installed' > /dev/null ||
        missing+=("$package")
done

toolchain=()
if ! have_cargo; then
    as_root apt-get update -qq
    # Debian 12 has a recent compiler for its browsers; Ubuntu has versioned packages.
    if apt-cache show cargo-web >/dev/null 2>&1; then
        toolchain=(cargo-web rustc-web)
    else
        newest=$(apt-cache search --names-only '^cargo-1\.[0-9]+$' |
            awk '{print $1}' | sort -V | tail -n 1)
        oldest=$(printf 'cargo-%s\n%s\n' "$needed" "$newest" | sort -V | head -n 1)
        if [ -n "$newest" ] && [ "$oldest" = "cargo-$needed" ]; then
            toolchain=("$newest" "rustc-${newest#cargo-}")
        fi
    fi
fi

# Whether apt can install a package: it also lists packages that are only mentioned by others.
is_available() {
    # Not `grep -q`, which ends at the first match: apt-cache would fail at its next line.
    LC_ALL=C apt-cache policy "$1" | grep '^ *Candidate: [^(]' > /dev/null
}
if [ ${#missing[@]} -gt 0 ] && [ ${#toolchain[@]} = 0 ]; then
    # The lists of a fresh machine are empty.
    if [ "$optional" != " ${missing[*]} " ] || ! is_available ca-certificates; then
        as_root apt-get update -qq
    fi
fi
for index in "${!missing[@]}"; do
    package=${missing[$index]}
    case $optional in *" $package "*) ;; *) continue ;; esac
    is_available "$package" && continue
    echo "Without $package, which this system's archive does not have; what needs it is skipped."
    unset "missing[$index]"
done
if [ ${#missing[@]} -gt 0 ] || [ ${#toolchain[@]} -gt 0 ]; then
    echo "Martlet installs these packages: ${missing[*]:-} ${toolchain[*]:-}"
    # Noninteractive: tshark would ask whether users may capture.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" "${toolchain[@]}" >/dev/null
else
    echo "All packages are installed."
fi

# Ubuntu's versioned packages are named after their version.
if ! have_cargo && [ ${#toolchain[@]} -gt 0 ] && [ -x "/usr/bin/${toolchain[0]}" ]; then
    version=${toolchain[0]#cargo-}
    as_root ln -sf "/usr/bin/cargo-$version" /usr/local/bin/cargo
    as_root ln -sf "/usr/bin/rustc-$version" /usr/local/bin/rustc
fi
if ! have_cargo; then
    echo "Martlet needs Rust $needed or newer, which this system's packages lack: install it" \
        "with rustup, then run make again." >&2
    exit 1
fi
# The headers with which the switch's pipeline becomes machine code; it works without them.
case " $wanted " in *" $switch "*) "$(dirname "$0")/swx-headers.sh" ;; esac
