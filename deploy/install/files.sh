#!/usr/bin/env bash
# Installs martlet with its systemd unit, martlet-ran, configuration, manual pages and completions,
# or removes what was installed.
#
#     deploy/install/files.sh install FROM PREFIX      FROM: cargo's output folder
#     deploy/install/files.sh uninstall FROM PREFIX
#
# PREFIX and /etc come after DESTDIR. The programs martlet-switch, martlet-lab and martlet-lcs are
# installed where FROM has them. /etc/martlet/martlet.yaml is only installed where there is none,
# and is never removed. DEBUG is the folder of symbols (/usr/lib/debug).
set -euo pipefail
usage="usage: files.sh install|uninstall FROM PREFIX"
action=${1:?$usage} from=${2:?$usage} prefix=${3:?$usage}
here=$(realpath "$(dirname "$0")")
deploy=$here/..
debug=${DEBUG:-/usr/lib/debug}
root=${DESTDIR:-}$prefix
etc=${DESTDIR:-}/etc
programs="martlet martlet-ran martlet-switch martlet-lab martlet-lcs"
# systemd reads units and users below /usr and /usr/local. Elsewhere they go to /etc.
case $prefix in
/usr | /usr/local) units=$root/lib/systemd/system users=$root/lib/sysusers.d ;;
*) units=$etc/systemd/system users=$etc/sysusers.d ;;
esac
documents=$root/share/doc/martlet
bash=$root/share/bash-completion/completions
zsh=$root/share/zsh/site-functions
fish=$root/share/fish/vendor_completions.d

# A file, with the paths that depend on PREFIX.
placed() { # FROM TO
    install -d "$(dirname "$2")"
    sed -e "s|/usr/bin/martlet|$prefix/bin/martlet|g" \
        -e "s|/usr/share/doc/|$prefix/share/doc/|g" "$1" > "$2"
    chmod 644 "$2"
}

case $action in
install)
    for program in $programs; do
        [ ! -x "$from/$program" ] || "$here/program.sh" "$from/$program" "$prefix/bin" "$debug"
    done
    install -d "$root/share/man/man1" "$documents" "$bash" "$zsh" "$fish"
    # martlet-ran comes last: its pages replace that of the command `martlet ran`.
    for program in martlet martlet-ran; do
        "$from/$program" man "$root/share/man/man1"
        "$from/$program" completions bash > "$bash/$program"
        "$from/$program" completions zsh > "$zsh/_$program"
        "$from/$program" completions fish > "$fish/$program.fish"
    done
    "$from/martlet" defaults > "$documents/defaults.yaml"
    placed "$deploy/systemd/martlet.service" "$units/martlet.service"
    placed "$deploy/systemd/sysusers.conf" "$users/martlet.conf"
    placed "$deploy/systemd/xdp.conf" "$documents/examples/xdp.conf"
    if [ ! -e "$etc/martlet/martlet.yaml" ]; then
        placed "$deploy/deb/martlet.yaml" "$etc/martlet/martlet.yaml"
    fi
    ;;
uninstall)
    for program in $programs; do
        [ -e "$root/bin/$program" ] || continue
        id=$(readelf -n "$root/bin/$program" | awk '/Build ID/ {print $3}')
        [ -z "$id" ] || rm -f "${DESTDIR:-}$debug/.build-id/${id:0:2}/${id:2}.debug"
        rm "$root/bin/$program"
    done
    for program in martlet martlet-ran; do
        rm -f "$bash/$program" "$zsh/_$program" "$fish/$program.fish"
    done
    rm -f "$root"/share/man/man1/martlet.1 "$root"/share/man/man1/martlet-*.1 \
        "$units/martlet.service" "$users/martlet.conf"
    rm -rf "$documents"
    rm -f "$root/include/martlet_fabric.h" "$root"/lib/libmartlet_fabric.{a,so*} \
        "$root/lib/pkgconfig/martlet-fabric.pc"
    echo "$etc/martlet and /var/lib/martlet stay: configuration, subscribers and keys"
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
