#!/usr/bin/env bash
# Builds for arm64 (aarch64-unknown-linux-gnu) with Debian's cross compiler, and runs unit tests
# under qemu-user. All but the switch on DPDK, whose libraries come from the machine itself.
#
#     deploy/arm64/build.sh build     target/aarch64-unknown-linux-gnu/release/martlet{,-ran,-lab}
#     deploy/arm64/build.sh test      unit tests (dev profile)
#     deploy/arm64/build.sh run …     any command of cargo in the same environment
set -euo pipefail
cd "$(dirname "$0")/../.."
CARGO=${CARGO:-cargo}
target=aarch64-unknown-linux-gnu
sysroot=$PWD/target/arm64/sysroot
deploy/arm64/sysroot.sh "$sysroot"
# Rust's standard library for arm64: that of rustup, or Debian's arm64 package of the same version.
standard=$(rustc --print sysroot)/lib/rustlib/$target/lib
sysroot_of_rust=
if [ ! -d "$standard" ] && command -v rustup > /dev/null; then
    rustup target add "$target" || echo "build.sh: rustup has no $target" >&2
fi
if [ ! -d "$standard" ]; then
    core=$(find "$(rustc --print target-libdir)" -name 'libcore-*.rlib' | head -n 1)
    if ! package=$(dpkg -S "$core" 2>/dev/null); then
        echo "build.sh: Rust has no standard library for $target. Install it with rustup, or use" \
            "Debian's rustc (rustc-web and cargo-web) first in PATH" >&2
        exit 1
    fi
    package=${package%%:*}
    version=$(dpkg-query -W -f='${Version}' "$package:$(dpkg --print-architecture)")
    echo "Martlet downloads $package $version for arm64, and unpacks it in target/arm64."
    deploy/arm64/sysroot.sh "target/arm64/rust-$version" "$package=$version"
    standard=$(find "$PWD/target/arm64/rust-$version" -type d -path "*/rustlib/$target/lib")
    # Only for what is built for arm64: build scripts use the compiler's own.
    sysroot_of_rust="--sysroot ${standard%/lib/rustlib/*}"
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
libraries="-L native=$sysroot/usr/lib/aarch64-linux-gnu -L native=$sysroot/lib/aarch64-linux-gnu"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="$libraries $sysroot_of_rust"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L $sysroot"
export CFLAGS_aarch64_unknown_linux_gnu="-idirafter $sysroot/usr/include"
export USRSCTP_LIB_DIR=$sysroot/usr/lib/aarch64-linux-gnu
export PKG_CONFIG_ALLOW_CROSS=1 PKG_CONFIG_SYSROOT_DIR=$sysroot
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig
export QEMU_LD_PREFIX=$sysroot

# Crates whose unit tests need no rights and no system calls that qemu-user lacks (BPF, SCTP,
# namespaces).
unit=(nas ngap security pfcp gtpu per lpp nrppa lcsupp eap sbi sbi-api config log-limit outage
    upf-rules upf-n4 lcs-protocol lcs-position store fabric p4c-swx nrf udm ausf pcf nssf chf)
case "${1:-build}" in
    build)
        "$CARGO" build --release --locked --target "$target" -p martlet -p martlet-ran
        "$CARGO" build --release --locked --target "$target" -p martlet-lab -p martlet-lab-endpoint
        "$CARGO" build --release --locked --target "$target" -p martlet-fabric-c
        ;;
    test)
        packages=()
        for crate in "${unit[@]}"; do packages+=(-p "martlet-$crate"); done
        "$CARGO" test --locked --target "$target" --lib "${packages[@]}"
        ;;
    run) "$CARGO" "${@:2}" ;;
    *)
        echo "build.sh: write build, test or run" >&2
        exit 2
        ;;
esac
