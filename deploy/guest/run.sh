#!/usr/bin/env bash
# Runs a command in a guest with Debian's kernel, for features that the host's kernel lacks. It
# needs no KVM.
#   run.sh [--kernel PACKAGE] [--modules "sctp tls"] [--timeout SECONDS] COMMAND [ARGUMENT…]
# The command sees the host's files. Its writes are discarded, except in $GUEST_RESULTS, which is
# target/guest/results on the host. Output and exit code are the command's; 124 is a timeout.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
package=linux-image-amd64
modules=
limit=300
while [ $# -gt 0 ]; do
    case "$1" in
    --kernel) package=$2 && shift 2 ;;
    --modules) modules=$2 && shift 2 ;;
    --timeout) limit=$2 && shift 2 ;;
    --*) echo "run.sh: unknown option $1; see the head of the file" >&2 && exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || { echo "run.sh: the command is missing" >&2; exit 2; }
folder=$top/$("$top/deploy/guest/prepare.sh" "$package")

results=$top/target/guest/results
mkdir -p "$results"
run=$(mktemp -d "$top/target/guest/run.XXXXXX")
qemu=
finish() {
    [ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
    cp -a "$run/results/." "$results/" 2>/dev/null || true
    rm -rf "$run"
}
trap finish EXIT
mkdir "$run/results"
{
    # Variables of builds and tests only.
    for name in PATH HOME LANG ${!CARGO*} ${!RUST*} ${!MARTLET*}; do
        [ -z "${!name:-}" ] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    echo 'export GUEST_RESULTS=/run/guest/results'
    printf 'cd %q || exit 126\n' "$PWD"
    for module in $modules; do
        printf '/usr/sbin/modprobe %q || { echo "the guest has no module %s"; exit 125; }\n' \
            "$module" "$module"
    done
    printf '%q ' "$@"
    echo
} > "$run/command"

# On a busy host the timer test of the guest kernel fails, so it is off (no_timer_check).
qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max -smp 1 -m 2048 \
    -nographic -nodefaults -no-reboot -serial "file:$run/kernel.log" \
    -kernel "$folder/vmlinuz" -initrd "$folder/initramfs.gz" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off no_timer_check" \
    -device virtio-serial -chardev stdio,id=out,signal=off -device virtconsole,chardev=out \
    -virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap" \
    -virtfs "local,path=$run,mount_tag=run,security_model=none" \
    -virtfs "local,path=$folder/unpacked,mount_tag=modules,security_model=none,readonly=on" \
    < /dev/null &
qemu=$!
waited=0
while kill -0 "$qemu" 2>/dev/null; do
    if [ "$waited" -ge "$((limit * 5))" ]; then
        echo "run.sh: the guest did not end within $limit s" >&2
        exit 124
    fi
    sleep 0.2
    waited=$((waited + 1))
done
wait "$qemu" || true
qemu=
if ! [ -e "$run/exit" ]; then
    echo "run.sh: the guest ended before its command did; kernel log:" >&2
    tail -n 20 "$run/kernel.log" >&2
    exit 125
fi
exit "$(cat "$run/exit")"
