#!/usr/bin/env bash
# Boots systemd in a root with the package, in namespaces: the unit starts the core with all of its
# restrictions, a UE attaches, and the unit reloads. Needs the root of deploy/deb/test.sh.
#
#     deploy/deb/boot.sh FOLDER      as root; FOLDER has the packages
set -euo pipefail
packages=$(realpath "${1:?usage: boot.sh FOLDER}")
here=$(dirname "$(realpath "$0")")
cd "$here/../.."
state=$PWD/target/deb-test
root=$state/boot
fail() { echo "boot: $*" >&2; exit 1; }

if [ "${2:-}" = --inside ]; then
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$root/run"
    mount --rbind /dev "$root/dev"
    ip link set lo up
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=namespaces \
        chroot "$root" /lib/systemd/systemd --log-target=console --unit=multi-user.target
fi

base=$state/${SUITE:-bookworm}
[ -e "$base/ready" ] || fail "there is no root in $base: run deploy/deb/test.sh first"
rm -rf "$root"
cp -a "$base/root" "$root"
system=
finish() {
    [ -z "$system" ] || kill -KILL "$system" 2>/dev/null || true
    wait || true
    rm -rf --one-file-system "$root"
}
trap finish EXIT
cp /etc/resolv.conf "$root/etc/resolv.conf"
apt-config dump Acquire::http::Proxy > "$root/etc/apt/apt.conf.d/proxy"
cp "$here/scenario.yaml" "$(find "$packages" -name 'martlet_*.deb' | sort -V | tail -n 1)" \
    "$root/root/"
chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install \
    -y -qq --no-install-recommends systemd iproute2 iputils-ping /root/martlet_*.deb' \
    > "$state/apt.log" 2>&1 || { cat "$state/apt.log" >&2; fail "the packages are not installed"; }

# systemd ends with unshare.
unshare --mount --net --pid --fork --uts --ipc --cgroup --kill-child --propagation private \
    bash "$0" "$packages" --inside > "$state/boot.log" 2>&1 &
system=$!
inside() {
    local process
    process=$(pgrep -P "$system" | head -n 1)
    nsenter -t "${process:?systemd has ended}" -m -p -n -u -i chroot "$root" "$@"
}
for ((tries = 0; ; tries++)); do
    [ "$(inside systemctl is-active martlet 2>/dev/null || true)" != active ] || break
    [ "$tries" -lt 600 ] || { tail -n 30 "$state/boot.log" >&2; fail "the unit is not active"; }
    kill -0 "$system" 2>/dev/null || { cat "$state/boot.log" >&2; fail "systemd ended"; }
    sleep 0.1
done
inside martlet status --security
inside martlet --log warn subscriber add imsi-001010000000001 \
    --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
if ! inside martlet --log warn ran -c /root/scenario.yaml > "$state/steps" 2>&1; then
    cat "$state/steps" >&2
    inside journalctl -u martlet --no-pager >&2
    fail "the UE got no service"
fi
inside systemctl reload martlet || fail "the unit does not reload"
inside systemctl restart martlet || fail "the unit does not restart"
[ -z "$(inside systemctl --failed --quiet --no-legend)" ] || fail "a unit failed"
inside apt-get remove -y -qq martlet > "$state/apt.log" 2>&1 || fail "apt-get remove"
[ "$(inside systemctl is-active martlet || true)" = inactive ] || fail "removal stops no core"
echo "boot: all is well"
