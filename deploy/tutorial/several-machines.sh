#!/usr/bin/env bash
# Runs the commands of docs/tutorials/several-machines.md. Network and mount namespaces are its
# machines `central` and `edge`, with the link `lan` between them.
#
#     deploy/tutorial/several-machines.sh PROGRAM      as root; PROGRAM is the path of `martlet`,
#                                                      with martlet-ran beside it
#
# Files of the page, blocks `yaml` whose first line is `# NAME`, are on both machines. The first
# line of a block of commands names its machine; `martlet up` continues in the background there.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || { echo "It makes network namespaces: run it as root." >&2; exit 1; }
    exec unshare --net bash "$0" --inside "$(realpath "${1:?name the path of martlet}")"
fi
page=$(realpath "$(dirname "$0")/../../docs/tutorials/several-machines.md")
PATH=$(dirname "$2"):$PATH
unset MARTLET_CONFIG
root=$(mktemp -d)
cd "$root"

finish() {
    local code=$? machine file
    for machine in edge central; do
        for file in core pid; do
            [ ! -e "$machine/$file" ] || kill "$(cat "$machine/$file")" 2>/dev/null || true
        done
    done
    wait || true
    if [ "$code" != 0 ]; then
        for machine in central edge; do
            [ ! -e "$machine/log" ] || sed "s/^/$machine: /" "$machine/log" >&2
        done
    fi
    rm -rf "$root"
}
trap finish EXIT

machine() { # NAME: namespaces of its own
    mkdir "$1"
    unshare --mount --net sh -c '
        mkdir -p /run/martlet /run/netns
        for folder in /run/martlet /run/netns; do mount -t tmpfs tmpfs $folder; done
        ip link set lo up
        touch up
        exec sleep 600' &
    echo $! > "$1/pid"
    until [ -e up ]; do sleep 0.05; done
    rm up
}
in_machine() { # NAME COMMAND…
    nsenter -t "$(cat "$root/$1/pid")" --mount --net --wd="$root/$1" "${@:2}"
}
machine central
machine edge
ip link add lan netns "$(cat central/pid)" type veth peer name lan netns "$(cat edge/pid)"
in_machine central ip address add 192.168.60.1/24 dev lan
in_machine edge ip address add 192.168.60.2/24 dev lan
in_machine central ip link set lan up
in_machine edge ip link set lan up

# What the commands of the page use.
cat > functions <<'END'
set -eu
scp() { cp -r "$2" "../${3%%:*}/${3#*:}"; }
start() { # COMMAND…: in the background, until all functions are ready
    "$@" > log 2>&1 &
    echo $! > core
    for tries in $(seq 300); do
        ! curl -sf --unix-socket /run/martlet/oam.sock http://localhost/readyz > /dev/null ||
            return 0
        kill -0 "$(cat core)" || return 1
        sleep 0.1
    done
    return 1
}
END

# The blocks of the page, in files by number and language.
mkdir blocks
awk '
    /^```/ { if (file) file = ""; else file = sprintf("blocks/%03d.%s", ++n, substr($0, 4)); next }
    file { print > file }' "$page"
for block in blocks/*; do
    name=$(sed -n '1s/^# //p' "$block")
    case $block in
        *.yaml) cp "$block" "central/$name" && cp "$block" "edge/$name" ;;
        *.sh)
            sed 's/^martlet up/start &/' "$block" | cat functions - > commands
            in_machine "$name" bash "$root/commands"
            ;;
        *)
            echo "several-machines: a block ${block##*.} is not known" >&2
            exit 1
            ;;
    esac
done
