#!/usr/bin/env bash
# Installs the packages into fresh roots of Debian 12 and Ubuntu 24.04, runs the core as its unit
# does, attaches a UE, upgrades, removes and purges. Needs root, debootstrap and mirrors.
#
#     deploy/deb/test.sh FOLDER          FOLDER has the packages, see build.sh
#     deploy/deb/test.sh --short FROM    only packs the programs of FROM (cargo's output folder),
#                                        and checks the files of the package and of `make
#                                        install`; 77 if tools are missing
#
# Environment: SUITES or SUITE (bookworm noble). Where no mirror of a suite answers, the suite is
# skipped by name, unless SUITES names it. MIRROR_BOOKWORM and MIRROR_NOBLE are mirrors: that of
# this machine's apt for its own suite, else debootstrap's defaults.
#
# Without systemd in the root, the program runs with the user, the capabilities and the folders of
# the unit, and without the unit's other restrictions (system calls, devices, namespaces):
# deploy/deb/boot.sh runs systemd.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
cd "$here/../.."

fail() { echo "deb: $*" >&2; exit 1; }
step() { printf 'deb: %s\n' "$*"; }

short() {
    local from=$1 tool folder root
    for tool in dpkg-deb dpkg-shlibdeps python3; do
        command -v $tool >/dev/null && continue
        echo "SKIPPED: packages: $tool is not installed (deploy/install/packages.sh dist)"
        exit 77
    done
    folder=target/deb-test/short root=$folder/root
    rm -rf "$folder"
    QUICK=yes ONLY=martlet deploy/deb/build.sh "$from" "$folder"
    dpkg-deb -x "$folder"/martlet_*.deb "$root"
    dpkg-deb -e "$folder"/martlet_*.deb "$folder/control"
    for tool in postinst prerm postrm; do sh -n "$folder/control/$tool"; done
    check_files "$root"
    "$root/usr/bin/martlet" check "$root/etc/martlet/martlet.yaml"
    "$root/usr/bin/martlet" ran --check -c "$here/scenario.yaml"
    python3 "$here/../dist/check_components.py" "$folder/martlet.cdx.json"
    check_install "$root/usr/bin" "$PWD/$folder/installed"
    check_packages "$PWD/$folder/apt"
    rm -rf "$folder"
    step "the package and \`make install\` have their files"
}

# What `make install` installs after DESTDIR, and what `make uninstall` leaves.
check_install() { # FROM DESTDIR
    local file unit=$2/usr/local/lib/systemd/system/martlet.service left
    DESTDIR=$2 deploy/install/files.sh install "$1" /usr/local >/dev/null
    for file in bin/martlet{,-ran} lib/systemd/system/martlet.service lib/sysusers.d/martlet.conf \
        share/man/man1/martlet{,-up,-ran,-ran-conformance}.1 \
        share/bash-completion/completions/martlet{,-ran} share/zsh/site-functions/_martlet{,-ran} \
        share/fish/vendor_completions.d/martlet{,-ran}.fish share/doc/martlet/defaults.yaml \
        share/doc/martlet/examples/xdp.conf; do
        [ -s "$2/usr/local/$file" ] || fail "make install: /usr/local/$file is missing"
    done
    grep -q 'config' "$2/usr/local/share/man/man1/martlet-ran.1" ||
        fail "the manual page of martlet-ran has no options"
    # The unit is that of the package, but for the program.
    diff <(sed 's|^ExecStart=/usr/local/bin/|ExecStart=/usr/bin/|' "$unit") \
        deploy/systemd/martlet.service || fail "make install changes more than the unit's program"
    grep -qx 'ExecStart=/usr/local/bin/martlet up -c /etc/martlet/martlet.yaml' "$unit" ||
        fail "the unit does not start the installed program"
    "$2/usr/local/bin/martlet" check "$2/etc/martlet/martlet.yaml"
    if command -v systemd-sysusers >/dev/null; then
        mkdir -p "$2/etc"
        systemd-sysusers --root="$2" "$2/usr/local/lib/sysusers.d/martlet.conf"
        grep -q '^martlet:' "$2/etc/passwd" || fail "systemd-sysusers makes no user martlet"
        rm -f "$2"/etc/.pwd.lock "$2"/etc/{passwd,group,shadow,gshadow}*
    fi
    # A second installation keeps the administrator's configuration, and so does the removal.
    echo '# changed' >> "$2/etc/martlet/martlet.yaml"
    DESTDIR=$2 deploy/install/files.sh install "$1" /usr/local >/dev/null
    DESTDIR=$2 deploy/install/files.sh uninstall "$1" /usr/local >/dev/null
    left=$(cd "$2" && find . -type f -o -type l)
    [ "$left" = ./etc/martlet/martlet.yaml ] || fail "make uninstall leaves: $left"
    grep -qx '# changed' "$2/etc/martlet/martlet.yaml" || fail "make install overwrote a file"
    # A prefix that systemd does not read.
    DESTDIR=$2 deploy/install/files.sh install "$1" /opt/martlet >/dev/null
    grep -q '^ExecStart=/opt/martlet/bin/martlet ' "$2/etc/systemd/system/martlet.service" ||
        fail "the unit for /opt/martlet is not in /etc/systemd/system"
}

# deploy/install/packages.sh goes on without chromium where the archive lacks it, as Ubuntu's does,
# and fails for any other package that is absent.
check_packages() { # FOLDER
    local output
    mkdir -p "$1"
    # The programs of a machine that has none of the packages.
    cp deploy/install/packages.sh "$1"
    printf '#!/bin/sh\nexit 0\n' > "$1/swx-headers.sh"
    printf '#!/bin/sh\nexit 1\n' > "$1/dpkg-query"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n%s\n%s\n' 'case " $LACKS " in *" $2 "*) exit ;; esac' \
        'echo "  Candidate: 1"; sleep 0.1; echo "  Version table:"' > "$1/apt-cache"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n%s\n%s\n' 'case "$*" in *" $LACKS "*) exit 100 ;; esac' \
        'echo "$*" >> "$(dirname "$0")/log"' > "$1/apt-get"
    printf '#!/bin/sh\nexec "$@"\n' > "$1/sudo"
    printf '#!/bin/sh\necho cargo 1.99.0\n' > "$1/cargo"
    chmod +x "$1"/*
    output=$(LACKS=chromium PATH=$1:$PATH "$1/packages.sh" test) ||
        fail "packages.sh fails where the archive lacks chromium: $output"
    grep -q '^Without chromium' <<< "$output" || fail "packages.sh does not name chromium: $output"
    grep -q '^install .*tshark' "$1/log" || fail "packages.sh does not install the others"
    ! grep -q '^install .*chromium' "$1/log" || fail "packages.sh installs what does not exist"
    rm "$1/log"
    LACKS=none PATH=$1:$PATH "$1/packages.sh" test > /dev/null
    grep -q '^install .*chromium' "$1/log" || fail "packages.sh leaves out chromium"
    ! LACKS=tshark PATH=$1:$PATH "$1/packages.sh" test > /dev/null 2>&1 ||
        fail "packages.sh goes on without tshark"
}

# What the package installs, and the paths that the unit names.
check_files() { # ROOT
    local file doc=usr/share/doc/martlet
    for file in usr/bin/martlet{,-ran} lib/systemd/system/martlet.service etc/martlet/martlet.yaml \
        usr/share/man/man1/martlet{,-up,-ran,-ran-conformance}.1.gz \
        usr/share/bash-completion/completions/martlet{,-ran} \
        usr/share/zsh/vendor-completions/_martlet{,-ran} \
        usr/share/fish/vendor_completions.d/martlet{,-ran}.fish $doc/copyright $doc/changelog.gz \
        $doc/third-party-licences.gz $doc/martlet.cdx.json.gz $doc/defaults.yaml \
        $doc/examples/xdp.conf; do
        [ -s "$1/$file" ] || fail "/$file is missing"
    done
    grep -qx 'ExecStart=/usr/bin/martlet up -c /etc/martlet/martlet.yaml' \
        "$1/lib/systemd/system/martlet.service" || fail "the unit starts another program"
    grep -qx 'RuntimeDirectory=martlet' "$1/lib/systemd/system/martlet.service" ||
        fail "the unit makes no /run/martlet, where the sockets of OAM and API are"
    grep -qx 'StartLimitIntervalSec=0' "$1/lib/systemd/system/martlet.service" ||
        fail "systemd gives up after five failed starts within 10 s"
    for file in martlet martlet-ran; do
        ! readelf -S "$1/usr/bin/$file" | grep '\.debug_line' > /dev/null ||
            fail "$file has debug sections"
    done
}

if [ "${1:-}" = --short ]; then
    short "${2:?usage: test.sh --short FROM}"
    exit 0
fi

packages=$(realpath "${1:?usage: test.sh FOLDER}")

# debootstrap's script for a suite. Debian 12's has one for Ubuntu, but not the names of its later
# suites.
script_of() { # SUITE
    local folder=/usr/share/debootstrap/scripts
    [ -e "$folder/$1" ] && echo "$folder/$1" && return
    case $1 in noble) echo "$folder/gutsy" ;; esac
}

# The mirror of a suite.
mirror_of() { # SUITE
    local set=MIRROR_${1^^} own
    # shellcheck disable=SC1091
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    if [ -n "${!set:-}" ]; then
        echo "${!set}"
    elif [ "$own" = "$1" ]; then
        apt-cache policy base-files | awk '/https?:/ {print $2; exit}'
    else
        sed -n 's/^\s*default_mirror //p' "$(script_of "$1")" | grep -v old-releases | head -n 1
    fi
}

# Prints why a suite cannot be made here, if it cannot.
obstacle() { # SUITE
    local mirror
    [ ! -e "$PWD/target/deb-test/$1/ready" ] || return 0
    [ -e "$(script_of "$1")" ] || { echo "debootstrap does not know it" && return; }
    mirror=$(mirror_of "$1")
    curl -sfL --max-time 20 -o /dev/null "$mirror/dists/$1/Release" ||
        echo "no mirror answers (${mirror:-none known}): set MIRROR_${1^^}"
}

if [ "${2:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || fail "run it as root: it makes a root file system and namespaces"
    done=0
    SUITES=${SUITES:-${SUITE:-}}
    for suite in ${SUITES:-bookworm noble}; do
        why=$(obstacle "$suite")
        if [ -n "$why" ]; then
            [ -z "${SUITES:-}" ] || fail "$suite: $why"
            echo "SKIPPED: packages on $suite: $why"
            continue
        fi
        # Mounts and processes end with these namespaces.
        unshare --mount --pid --fork --kill-child --propagation private \
            bash "$0" "$packages" --inside "$suite"
        done=$((done + 1))
    done
    [ "$done" -gt 0 ] || fail "nothing was tested"
    step "lintian"
    # These packages are not uploaded to Debian, which has no bug that they could close.
    find "$packages" -name '*.deb' ! -name '*-dbgsym_*' -print0 | xargs -0 \
        lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs
    step "all is well on $done suites"
    exit 0
fi
suite=$3
mount -t proc proc /proc
state=$PWD/target/deb-test
base=$state/$suite
root=$state/root
architecture=$(dpkg --print-architecture)
deb() { # NAME
    local found
    found=$(find "$packages" -name "$1_*_$architecture.deb" | sort -V | tail -n 1)
    echo "${found:?no package $1 in $packages}"
}

if [ ! -e "$base/ready" ]; then
    mirror=$(mirror_of "$suite")
    step "debootstrap $suite from $mirror"
    rm -rf "$base"
    mkdir -p "$base"
    # Ubuntu has some of what the packages depend on outside of `main`.
    components=main
    [ "$suite" = bookworm ] || components=main,universe
    debootstrap --variant=minbase --components="$components" "$suite" "$base/root" "$mirror" \
        "$(script_of "$suite")" > "$state/debootstrap.log" ||
        fail "debootstrap failed, see $state/debootstrap.log"
    touch "$base/ready"
fi
rm -rf "$root"
cp -a "$base/root" "$root"
finish() {
    # The mounts end with the namespace; they have to be gone before files are deleted.
    umount -R "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
    rm -rf --one-file-system "$root"
}
trap finish EXIT
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t sysfs sysfs "$root/sys"
cp /etc/resolv.conf "$root/etc/resolv.conf"
apt-config dump Acquire::http::Proxy > "$root/etc/apt/apt.conf.d/proxy"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
apt_install() {
    inside apt-get install -y -qq --no-install-recommends "$@" > "$state/apt.log" 2>&1 && return
    cat "$state/apt.log" >&2
    fail "apt-get install $*"
}
inside apt-get update -qq
# What the scenario runs beside the core.
apt_install iproute2 iputils-ping
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
cp "$here/scenario.yaml" "$root/packages/"

# A package with another version, whose configuration has one more line.
next_version() { # NUMBER
    local folder=$root/packages/next
    dpkg-deb -R "$(deb martlet)" "$folder"
    sed -i "s/^Version: .*/&+$1/" "$folder/DEBIAN/control"
    echo "# Line of version $1." >> "$folder/etc/martlet/martlet.yaml"
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$folder" "$root/packages/next-$1.deb" >/dev/null
    rm -r "$folder"
}
owner() { inside stat -c '%U:%G %a' "$1"; }
is() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }

# Fields of the unit.
unit() { sed -n "s/^$1=//p" "$root/lib/systemd/system/martlet.service"; }

# Starts the core in a network namespace of its own.
start() {
    local capabilities
    capabilities=$(unit AmbientCapabilities | tr '[:upper:]' '[:lower:]' |
        sed 's/cap_/+/g; s/ /,/g')
    ip netns add martlet-deb
    ip -n martlet-deb link set lo up
    inside install -d -m 755 -o "$(unit User)" -g "$(unit User)" /run/martlet
    # shellcheck disable=SC2046,SC2016
    ip netns exec martlet-deb chroot "$root" sh -c 'cd "$0" && umask "$1" && shift && exec "$@"' \
        "$(unit WorkingDirectory)" "$(unit UMask)" \
        setpriv --reuid "$(unit User)" --regid "$(unit User)" --init-groups --no-new-privs \
        --bounding-set "-all,$capabilities" --inh-caps "-all,$capabilities" \
        --ambient-caps "-all,$capabilities" -- \
        $(unit ExecStart) > "$state/core.log" 2>&1 &
    core=$!
    until command_ --log error status > /dev/null 2>&1; do
        kill -0 "$core" 2>/dev/null || { cat "$state/core.log" >&2; fail "the core ended"; }
        sleep 0.1
    done
}
stop() {
    kill -TERM "$core"
    wait "$core" || { cat "$state/core.log" >&2; fail "the core ended with $?"; }
    ip netns del martlet-deb
}
command_() { ip netns exec martlet-deb chroot "$root" martlet "$@"; }
# The same as a user who is neither root nor the core's.
command_other() { ip netns exec martlet-deb chroot --userspec 65534:65534 "$root" martlet "$@"; }
attach() {
    command_ --log warn ran -c /packages/scenario.yaml > "$state/steps" ||
        { cat "$state/steps" "$state/core.log" >&2; fail "the UE got no service"; }
}

step "install on $suite"
began=$(date +%s)
apt_install "/packages/$(basename "$(deb martlet)")"
check_files "$root"
is "/etc/martlet/martlet.yaml" "$(owner /etc/martlet/martlet.yaml)" "root:martlet 640"
is "/var/lib/martlet" "$(owner /var/lib/martlet)" "martlet:martlet 700"
is "/usr/bin/martlet" "$(owner /usr/bin/martlet)" "root:root 755"
size=$(stat -c %s "$root/usr/bin/martlet")
step "martlet has $((size / 1000000)) MB"
inside martlet check
inside dpkg --verify martlet
inside martlet version --verbose > "$state/version"
grep -Eq '^commit +[0-9a-f]{12}$' "$state/version" || [ "${FROM:-target/dist}" != target/dist ] ||
    fail "martlet names no commit: $(grep '^commit' "$state/version")"

step "run as the unit does, and attach a UE"
start
command_ --log warn subscriber add imsi-001010000000001 \
    --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
# The commands reach the API over its socket, which the core's folder of the unit has.
is "/run/martlet/api.sock" "$(owner /run/martlet/api.sock)" "martlet:martlet 600"
audit=$(curl -sf --unix-socket "$root/run/martlet/api.sock" http://localhost/api/v1/audit)
grep -q '"who":"uid:0","via":"socket","what":"subscriber.import"' <<< "$audit" ||
    fail "the audit log lacks what the command changed"
! refused=$(command_other status 2>&1) || fail "any user reaches the API"
grep -q 'oam.users' <<< "$refused" || fail "the refusal names no remedy: $refused"
attach
took=$(($(date +%s) - began))
step "$took s from apt-get to the UE's ping"
[ "$took" -lt 60 ] || fail "a UE's first ping takes 60 s or more"
rights=$(command_ status --security)
echo "$rights"
grep -q 'NET_ADMIN' <<< "$rights" || fail "the core has no CAP_NET_ADMIN"
! grep -q 'SYS_ADMIN' <<< "$rights" || fail "the core has CAP_SYS_ADMIN"
is "user of the core" "$(stat -c %u "/proc/$core")" "$(inside id -u martlet)"
[ -z "$(find "$root/var/lib/martlet" ! -user "$(inside id -u martlet)")" ] ||
    fail "files in /var/lib/martlet are not the core's"
stop

step "upgrade"
next_version 1
next_version 2
inside dpkg -i /packages/next-1.deb > "$state/dpkg.log"
grep -q 'Line of version 1' "$root/etc/martlet/martlet.yaml" ||
    fail "the unchanged configuration is not that of the new version"
is "/etc/martlet/martlet.yaml" "$(owner /etc/martlet/martlet.yaml)" "root:martlet 640"
echo "# Line of the administrator." >> "$root/etc/martlet/martlet.yaml"
inside dpkg --force-confold -i /packages/next-2.deb > "$state/dpkg.log"
grep -q 'Line of the administrator' "$root/etc/martlet/martlet.yaml" ||
    fail "the administrator's change is lost"
is "/etc/martlet/martlet.yaml" "$(owner /etc/martlet/martlet.yaml)" "root:martlet 640"
start
attach
stop

for name in martlet-lab martlet-switch libmartlet-fabric0; do
    [ -n "$(find "$packages" -name "${name}_*.deb")" ] || { step "no $name here"; continue; }
    step "install $name"
    case $name in
    martlet-lab)
        apt_install "/packages/$(basename "$(deb martlet-lab)")"
        inside martlet-lab --version
        ;;
    martlet-switch)
        apt_install "/packages/$(basename "$(deb martlet-switch)")"
        inside martlet-switch build
        ;;
    libmartlet-fabric0)
        apt_install "/packages/$(basename "$(deb $name)")" \
            "/packages/$(basename "$(deb libmartlet-fabric-dev)")"
        flags=$(PKG_CONFIG_LIBDIR=$(dirname "$root"/usr/lib/*/pkgconfig/martlet-fabric.pc) \
            PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs martlet-fabric)
        # shellcheck disable=SC2086
        cc -o "$root/packages/echo" fabric/c/examples/echo.c $flags
        inside ldd /packages/echo | grep 'libmartlet_fabric.so.0 => /' > /dev/null ||
            fail "a program does not find libmartlet_fabric"
        ;;
    esac
done

step "remove and purge"
inside apt-get purge -y -qq 'martlet-*' 'libmartlet-*' > "$state/apt.log" 2>&1
inside dpkg -r martlet > "$state/dpkg.log"
[ ! -e "$root/usr/bin/martlet" ] || fail "/usr/bin/martlet remains"
[ -e "$root/etc/martlet/martlet.yaml" ] || fail "removal deleted the configuration"
[ -e "$root/var/lib/martlet/martlet.db" ] || fail "removal deleted the subscribers"
inside dpkg -P martlet > "$state/dpkg.log" 2>&1
rm -r "$root/packages" "$root/run/martlet"
left=$(find "$root" -xdev \( -iname '*martlet*' -o -user "$(inside id -u martlet)" \))
[ -z "$left" ] || fail "left after purge: $left"
inside id martlet > /dev/null || fail "the user is gone, and its number may become another's"
