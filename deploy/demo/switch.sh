#!/usr/bin/env bash
# A phone's download moves onto the programmable switch while it runs: a core, a gNB and a phone in a network namespace of
# their own, the UPF and its switch in another; all of it is gone afterwards.
#
#     deploy/demo/switch.sh PROGRAM      as root; PROGRAM is the path of `martlet`, and martlet-switch lies beside it
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || { echo "The demo makes network namespaces: run it as root." >&2; exit 1; }
    exec unshare --net bash "$0" --inside "$(realpath "${1:?name the path of martlet}")"
fi

martlet=$2
switch=$(dirname "$martlet")/martlet-switch
here=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
upf=martlet-demo-$$
core='' server='' watch=''
finish() {
    for process in $watch $server $core; do kill -TERM "$process" 2>/dev/null || true; done
    wait
    ip netns del "$upf" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"

# gnb ── access │ switch │ native3 ── upf3 (UPF) upf6 ── native6 │ switch │ core ── dn
ip netns add "$upf"
ip link set lo up
ip -n "$upf" link set lo up
ip link add gnb type veth peer name access netns "$upf"
ip link add dn type veth peer name core netns "$upf"
ip -n "$upf" link add upf3 type veth peer name native3
ip -n "$upf" link add upf6 type veth peer name native6
for end in gnb dn; do ip link set "$end" up; done
for end in access core upf3 native3 upf6 native6; do ip -n "$upf" link set "$end" up; done
"$switch" plain gnb dn
ip netns exec "$upf" "$switch" plain upf3 upf6
ip addr add 192.168.70.2/24 dev gnb
ip addr add 10.99.0.2/24 dev dn
ip route add 10.45.0.0/16 via 10.99.0.1
ip -n "$upf" addr add 192.168.70.1/24 dev upf3
ip -n "$upf" addr add 10.99.0.1/24 dev upf6
ip -n "$upf" route add default via 10.99.0.2

"$martlet" --log warn subscriber add imsi-001010000000001 \
    --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
cat > martlet.yaml <<YAML
upf:
  datapath: switch
  n3: { address: 192.168.70.1:2152, netns: $upf }
  n6: { mode: routing, netns: $upf }
  switch:
    policy: hot
    netns: $upf
    run: { program: $switch, access: access, native_n3: native3, core: core, native_n6: native6, state: $folder/switch }
YAML
"$martlet" --log warn up -c martlet.yaml > core.log 2>&1 &
core=$!
until "$martlet" --log error status --json 2>/dev/null | grep -q '"connected": true'; do
    kill -0 "$core" 2>/dev/null || { echo "The core did not start:" >&2; cat core.log >&2; exit 1; }
    sleep 0.1
done
echo "The native UPF has a programmable switch in its wires. Sessions that are hot move there."
iperf3 --server --bind 10.99.0.2 > /dev/null 2>&1 &
server=$!
# The first number of a name in the core's status.
says() { grep -E "\"$1\":" <<< "$status" | head -1 | tr -dc '0-9' || true; }
watch() {
    local status all before=0 seen=0 carried on
    while sleep 0.5; do
        status=$("$martlet" --log error status --json 2>/dev/null) || continue
        all=$(says downlink_octets) carried=$(says octets) on=$(says onSwitch)
        [ -n "$all" ] && [ -n "$carried" ] || continue
        [ "$seen" = 1 ] || [ "$on" != 1 ] || { seen=1; echo "  ── the download is on the switch ──"; }
        [ $((all / 1000000)) = "$before" ] || printf '  %3d MB to the phone since the start, %3d MB of all by the switch; sessions on the switch: %s\n' \
            $((all / 1000000)) $((carried / 1000000)) "$on"
        before=$((all / 1000000))
    done
}
watch &
watch=$!
"$martlet" --log warn ran -c "$here/switch.yaml" 2> ran.log || { cat ran.log >&2; exit 1; }
kill -TERM "$watch" 2>/dev/null || true
status=$("$martlet" --log error status --json)
printf '\nUsage is one, whichever path a packet took: %d octets to the phone and %d from it, of which the switch carried %d.\n' \
    "$(says downlink_octets)" "$(says uplink_octets)" "$(says octets)"
echo "The session moved onto the switch $(says movedOn) time(s), and off it $(says movedOff) time(s)."
