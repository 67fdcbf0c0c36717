#!/usr/bin/env bash
# Makes the Debian packages of programs that are built.
#
#     deploy/deb/build.sh FROM TO      FROM: cargo's output folder, TO: the folder of the packages
#
# martlet and martlet-ran are required, and are one package. martlet-lab, martlet-switch and
# libmartlet-fabric are made if FROM has them.
# Environment: VERSION (default: that of the workspace), SOURCE_DATE_EPOCH (default: the commit's
# time), CARGO, ONLY (one of these packages), QUICK (any value: little compression and no symbols,
# for tests).
set -euo pipefail
from=$(realpath "${1:?usage: build.sh FROM TO}")
to=$(realpath -m "${2:?usage: build.sh FROM TO}")
cd "$(dirname "$0")/../.."
here=deploy/deb
released=$(awk -F\" '/^version = /{print $2; exit}' Cargo.toml)
version=${VERSION:-$released}
revision=$version-1
architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
maintainer="Martlet developers <packages@martlet-core.org>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
mkdir -p "$to"
for name in martlet martlet-ran; do
    [ ! -x "$from/$name" ] || continue
    echo "build.sh: $from has no $name: run \`make release\`" >&2
    exit 1
done

compress() { gzip -9n "$@"; }

# Copies a program without symbols; these go to the package's debug folder, found by build ID.
program() { # PACKAGE FILE TARGET
    local root=$work/$1 id debug
    install -D -m 755 "$from/$2" "$root/$3"
    id=$(readelf -n "$root/$3" | awk '/Build ID/ {print $3}')
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/$3"
    if [ -n "$id" ] && [ -z "${QUICK:-}" ]; then
        debug=$work/$1-dbgsym/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
        mkdir -p "$(dirname "$debug")"
        objcopy --only-keep-debug --compress-debug-sections "$from/$2" "$debug"
        chmod 644 "$debug"
        echo "$id" >> "$work/$1-dbgsym.ids"
    fi
}

# What the programs of a package link, as a Depends line.
dependencies() { # PACKAGE FILE…
    local package=$1
    shift
    mkdir -p "$work/shlibs/debian"
    printf 'Source: martlet\n\nPackage: %s\nArchitecture: any\n' "$package" \
        > "$work/shlibs/debian/control"
    (
        cd "$work/shlibs"
        # It warns about programs outside of a build tree.
        if ! dpkg-shlibdeps -O "${@/#/$work/$package/}" 2> errors; then
            cat errors >&2
            exit 1
        fi
    ) | sed 's/^shlibs:Depends=//'
}

# Changelogs, copyright, licences and SBOM.
documentation() { # PACKAGE CRATE…
    local package=$1 doc=$work/$1/usr/share/doc/$1 crate crates=()
    shift
    for crate in "$@"; do crates+=(--package "$crate"); done
    python3 deploy/dist/components.py "${crates[@]}" --name "$package" --version "$version" \
        --out "$to"
    mkdir -p "$doc"
    install -m 644 "$to/$package.copyright" "$doc/copyright"
    install -m 644 "$to/$package.licences.txt" "$doc/third-party-licences"
    install -m 644 "$to/$package.cdx.json" "$doc/$package.cdx.json"
    install -m 644 CHANGELOG.md "$doc/changelog"
    debian_changelog "$doc"
    compress "$doc/third-party-licences" "$doc/$package.cdx.json" "$doc/changelog"
    rm "$to/$package.copyright"
}

debian_changelog() { # FOLDER
    cat > "$1/changelog.Debian" <<TEXT
martlet ($revision) stable; urgency=medium

  * Version $version, see changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
    compress "$1/changelog.Debian"
}

# A manual page in section 8 of a program that has no generator of its own.
manual() { # PACKAGE PROGRAM SUMMARY
    local page=$work/$1/usr/share/man/man8/$2.8
    mkdir -p "$(dirname "$page")"
    help2man --no-info --no-discard-stderr --section 8 --name "$3" --version-string "$version" \
        "$from/$2" > "$page"
    compress "$page"
}

# Writes control and checksums, and the package.
package() { # NAME SECTION; the remaining fields of control are read from standard input
    local root=$work/$1 size
    mkdir -p "$root/DEBIAN"
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    size=$(du -k --apparent-size -s --exclude=DEBIAN "$root" | cut -f 1)
    {
        printf 'Package: %s\nSource: martlet\nVersion: %s\nArchitecture: %s\n' \
            "$1" "$revision" "$architecture"
        printf 'Maintainer: %s\nInstalled-Size: %s\nSection: %s\n' "$maintainer" "$size" "$2"
        printf 'Priority: optional\nHomepage: https://github.com/martlet-core/martlet\n'
        cat
    } > "$root/DEBIAN/control"
    (cd "$root" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z |
        xargs -0 --no-run-if-empty md5sum > DEBIAN/md5sums)
    dpkg-deb --root-owner-group "${compression[@]}" --build "$root" \
        "$to/$1_${revision}_$architecture.deb" >/dev/null
    echo "$1_${revision}_$architecture.deb"
}

# The symbols of a package, unless its programs have none.
symbols() { # PACKAGE
    local compression=(-Zxz -z1)
    [ -s "$work/$1-dbgsym.ids" ] && [ -z "${QUICK:-}" ] || return 0
    mkdir -p "$work/$1-dbgsym/usr/share/doc"
    ln -s "$1" "$work/$1-dbgsym/usr/share/doc/$1-dbgsym"
    package "$1-dbgsym" debug <<TEXT
Auto-Built-Package: debug-symbols
Depends: $1 (= $revision)
Build-Ids: $(tr '\n' ' ' < "$work/$1-dbgsym.ids" | sed 's/ $//')
Description: debug symbols for $1
TEXT
}

compression=(-Zxz)
[ -z "${QUICK:-}" ] || compression=(-Zgzip -z1)

# With martlet-ran: the first UE of a new core is a simulated one, and `martlet demo` needs it.
martlet() {
    local root=$work/martlet page name links
    program martlet martlet usr/bin/martlet
    program martlet martlet-ran usr/bin/martlet-ran
    documentation martlet martlet martlet-ran
    "$from/martlet" defaults > "$root/usr/share/doc/martlet/defaults.yaml"
    install -D -m 644 deploy/systemd/xdp.conf "$root/usr/share/doc/martlet/examples/xdp.conf"
    install -D -m 644 deploy/systemd/martlet.service \
        "$root/lib/systemd/system/martlet.service"
    install -D -m 644 $here/martlet.yaml "$root/etc/martlet/martlet.yaml"
    mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions} \
        "$root/usr/share/fish/vendor_completions.d"
    # martlet-ran comes last: its pages replace that of the command `martlet ran`.
    for name in martlet martlet-ran; do
        "$from/$name" man "$root/usr/share/man/man1"
        "$from/$name" completions bash > "$root/usr/share/bash-completion/completions/$name"
        "$from/$name" completions zsh > "$root/usr/share/zsh/vendor-completions/_$name"
        "$from/$name" completions fish > "$root/usr/share/fish/vendor_completions.d/$name.fish"
    done
    for page in "$root"/usr/share/man/man1/*; do compress "$page"; done
    mkdir -p "$root/DEBIAN"
    install -m 755 $here/martlet/{postinst,prerm,postrm} "$root/DEBIAN/"
    echo /etc/martlet/martlet.yaml > "$root/DEBIAN/conffiles"
    links=$(dependencies martlet usr/bin/martlet usr/bin/martlet-ran)
    package martlet net <<TEXT
Depends: $links, adduser, procps, nftables | iptables
Pre-Depends: init-system-helpers (>= 1.54~)
Recommends: ca-certificates, iproute2
Suggests: martlet-switch (= $revision), martlet-lab (= $revision), postgresql, ethtool
Description: 5G core network for small machines
 Martlet is a 5G core in one program with one configuration file and an
 embedded database: AMF, SMF, UPF, LMF, NRF and the functions that hold
 subscriptions.
 .
 The package runs it as the service martlet, with a system user of its own.
 The program martlet-ran simulates gNBs and UEs.
TEXT
    symbols martlet
}

martlet_lab() {
    program martlet-lab martlet-lab usr/bin/martlet-lab
    program martlet-lab martlet-lcs usr/bin/martlet-lcs
    documentation martlet-lab martlet-lab martlet-lab-endpoint
    manual martlet-lab martlet-lab "experiments with the 5G core Martlet"
    manual martlet-lab martlet-lcs "endpoint of the positioning experiments of martlet-lab"
    package martlet-lab net <<TEXT
Depends: $(dependencies martlet-lab usr/bin/martlet-lab usr/bin/martlet-lcs), iproute2
Recommends: martlet (= $revision), fonts-dejavu-core
Description: experiments with the 5G core Martlet
 The program martlet-lab measures the control plane, the user plane and
 positioning of the 5G core Martlet. Each experiment keeps its raw data and
 writes a report with plots.
TEXT
    symbols martlet-lab
}

martlet_switch() {
    program martlet-switch martlet-switch usr/bin/martlet-switch
    documentation martlet-switch martlet-switch-target
    manual martlet-switch martlet-switch "programmable switch of the 5G core Martlet"
    package martlet-switch net <<TEXT
Depends: $(dependencies martlet-switch usr/bin/martlet-switch)
Recommends: martlet (= $revision)
Description: programmable switch of the user plane of the 5G core Martlet
 The switch runs a P4 pipeline on the software switch of DPDK. A UPF of the
 same version moves the packets of its sessions onto it (upf.datapath:
 switch).
TEXT
    symbols martlet-switch
}

libmartlet_fabric() {
    local runtime=$work/libmartlet-fabric0 dev=$work/libmartlet-fabric-dev doc
    local lib=usr/lib/$multiarch
    program libmartlet-fabric0 libmartlet_fabric_c.so "$lib/libmartlet_fabric.so.$version"
    chmod 644 "$runtime/$lib/libmartlet_fabric.so.$version"
    ln -s "libmartlet_fabric.so.$version" "$runtime/$lib/libmartlet_fabric.so.0"
    documentation libmartlet-fabric0 martlet-fabric-c
    mkdir -p "$runtime/DEBIAN"
    echo "activate-noawait ldconfig" > "$runtime/DEBIAN/triggers"
    echo "libmartlet_fabric 0 libmartlet-fabric0 (>= $version)" > "$runtime/DEBIAN/shlibs"
    package libmartlet-fabric0 libs <<TEXT
Depends: $(dependencies libmartlet-fabric0 "$lib/libmartlet_fabric.so.$version")
Multi-Arch: same
Description: sockets over shared memory between processes of one machine
 The library connects processes of one machine through shared memory, with
 an interface like that of sockets. The 5G core Martlet uses it between its
 network functions.
TEXT
    symbols libmartlet-fabric0

    install -D -m 644 fabric/c/include/martlet_fabric.h "$dev/usr/include/martlet_fabric.h"
    install -D -m 644 "$from/libmartlet_fabric_c.a" "$dev/$lib/libmartlet_fabric.a"
    strip --strip-debug --enable-deterministic-archives --remove-section=.comment \
        --remove-section=.note "$dev/$lib/libmartlet_fabric.a"
    ln -s libmartlet_fabric.so.0 "$dev/$lib/libmartlet_fabric.so"
    mkdir -p "$dev/$lib/pkgconfig"
    # shellcheck disable=SC2016
    sed -e 's|@PREFIX@|/usr|' -e "s|@VERSION@|$version|" \
        -e 's|^libdir=.*|libdir=${prefix}/lib/'"$multiarch|" fabric/c/martlet-fabric.pc.in \
        > "$dev/$lib/pkgconfig/martlet-fabric.pc"
    doc=$dev/usr/share/doc/libmartlet-fabric-dev
    mkdir -p "$doc"
    cp "$runtime/usr/share/doc/libmartlet-fabric0"/{copyright,changelog.gz,changelog.Debian.gz} \
        "$doc"
    mkdir "$doc/examples"
    cp -r fabric/c/examples/. "$doc/examples"
    package libmartlet-fabric-dev libdevel <<TEXT
Depends: libmartlet-fabric0 (= $revision)
Multi-Arch: same
Description: sockets over shared memory between processes (development)
 Header, static library, pkg-config file and examples of libmartlet_fabric,
 which connects processes of one machine through shared memory.
TEXT
}

# Whether a package is wanted, and the files that it needs are there.
wanted() { # PACKAGE FILE…
    local file
    [ "${ONLY:-$1}" = "$1" ] || return 1
    for file in "${@:2}"; do [ -e "$from/$file" ] || return 1; done
}
if wanted martlet martlet; then martlet; fi
if wanted martlet-lab martlet-lab martlet-lcs; then martlet_lab; fi
if wanted martlet-switch martlet-switch; then martlet_switch; fi
if wanted libmartlet-fabric libmartlet_fabric_c.so libmartlet_fabric_c.a; then libmartlet_fabric; fi
