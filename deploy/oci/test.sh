#!/usr/bin/env bash
# Unpacks the image, runs it with crun as Docker runs a user that is not root, and attaches a UE;
# again with the configuration of deploy/compose, whose metrics are read as Prometheus does.
#
#     deploy/oci/test.sh ARCHIVE PROGRAM      as root; PROGRAM is a `martlet` for the UE's side,
#                                             with martlet-ran beside it
set -euo pipefail
# crun refuses machines with both versions of cgroups; it gets the second alone, in a mount
# namespace that ends with this script.
if [ "${3:-}" != --inside ]; then
    exec unshare --mount --propagation slave bash "$0" "$1" "${2:-}" --inside
fi
[ ! -e /sys/fs/cgroup/unified ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
archive=$(realpath "${1:?usage: test.sh ARCHIVE PROGRAM}")
program=$(realpath "${2:?usage: test.sh ARCHIVE PROGRAM}")
cd "$(dirname "$0")/../.."
folder=$PWD/target/oci-test
name=martlet-oci
fail() { echo "oci: $*" >&2; [ ! -e "$folder/log" ] || cat "$folder/log" >&2; exit 1; }
run() { crun --root "$folder/state" --cgroup-manager=disabled "$@"; }
finish() {
    run kill "$name" KILL 2>/dev/null || true
    wait
    run delete -f "$name" 2>/dev/null || true
    ip netns del "$name" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
rm -rf "$folder"
mkdir -p "$folder"
ip netns add "$name"
ip -n "$name" link set lo up
for address in 10.53.1.10 10.53.1.20; do ip -n "$name" address add $address/32 dev lo; done
python3 deploy/compose/check.py

start() { # CONFIGURATION CAPABILITY…
    run delete -f "$name" 2>/dev/null || true
    rm -rf "$folder/bundle"
    python3 deploy/oci/run.py "$archive" "$folder/bundle" "/run/netns/$name" "${@:2}"
    [ -z "$1" ] || cp "$1" "$folder/bundle/rootfs/etc/martlet/martlet.yaml"
    run run --bundle "$folder/bundle" "$name" > "$folder/log" 2>&1 < /dev/null &
    core=$!
}
# With the user of the container, which is Docker's default for `exec`.
inside() { run exec --user 65532:65532 "$name" /usr/bin/martlet "$@"; }
ready() {
    for ((tries = 0; ; tries++)); do
        inside --log error status > "$folder/status" 2>&1 && return
        [ "$tries" -lt 300 ] || { cat "$folder/status" >&2; fail "no answer in 30 s"; }
        kill -0 "$core" 2>/dev/null || fail "the core ended"
        sleep 0.1
    done
}
attach() { # SCENARIO
    inside --log warn subscriber add imsi-001010000000001 \
        --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
    ip netns exec "$name" "$program" --log warn ran -c "$1" > "$folder/steps" ||
        { cat "$folder/steps"; fail "the UE got no service"; }
}
stop() {
    run kill "$name" TERM
    wait "$core" || fail "the core ended with $?"
}

start "" CAP_NET_ADMIN CAP_NET_RAW
ready
rights=$(inside status --security)
echo "$rights"
grep -Eq ' 65532 +NET_ADMIN NET_RAW ' <<< "$rights" || fail "the core has other rights"
attach deploy/deb/scenario.yaml
# The user of the container has changed it over the API, whose socket root may use, too.
audit=$(curl -sf --unix-socket "$folder/bundle/rootfs/run/martlet/api.sock" \
    http://localhost/api/v1/audit)
grep -q '"who":"uid:65532","via":"socket","what":"subscriber.import"' <<< "$audit" ||
    fail "the audit log lacks what the command changed"
stop

start deploy/compose/martlet.yaml CAP_NET_ADMIN CAP_NET_RAW
ready
sed -e 's/127.0.0.5/10.53.1.10/; s/127.0.0.20/10.53.1.20/' deploy/deb/scenario.yaml \
    > "$folder/scenario.yaml"
attach "$folder/scenario.yaml"
metrics=$(ip netns exec "$name" curl -sf -H "Host: core:9090" http://10.53.1.10:9090/metrics)
grep -q '^martlet_amf_' <<< "$metrics" || fail "Prometheus gets no metrics"
stop

# Without the capabilities, the error says what is missing.
start "" CAP_CHOWN
! wait "$core" || fail "the core runs without capabilities"
echo "oci: without capabilities:"
tail -n 2 "$folder/log"
echo "oci: all is well"
