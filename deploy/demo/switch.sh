#!/usr/bin/env bash
# Offloads a phone's download to the programmable switch while it runs. Core, gNB and phone are in a
# network namespace, the UPF and its switch in another. All of it is removed afterwards.
#
#     deploy/demo/switch.sh PROGRAM      as root; PROGRAM is the path of `martlet`, with
#                                        martlet-switch and martlet-ran beside it
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "The demo makes network namespaces: run it as root." >&2
        exit 1
    fi
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

# All commands use this file, whatever configuration the machine has.
export MARTLET_CONFIG=$folder/martlet.yaml
echo '{}' > martlet.yaml
"$martlet" --log warn subscriber add imsi-001010000000001 \
    --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
cat > martlet.yaml <<YAML
upf:
  datapath: switch
  n3: { address: 192.168.70.1:2152, netns: $upf }
  n6: { mode: routing, netns: $upf }
  switch:
    # The default is 150 ms. After one second, both paths can be seen.
    policy: hot
    hot_ms: 1000
    netns: $upf
    run:
      program: $switch
      access: access
      native_n3: native3
      core: core
      native_n6: native6
      state: $folder/switch
YAML
"$martlet" --log warn up -c martlet.yaml > core.log 2>&1 &
core=$!
until "$martlet" --log error status --json 2>/dev/null | grep '"connected": true' > /dev/null; do
    if ! kill -0 "$core" 2>/dev/null; then
        echo "The core did not start:" >&2
        cat core.log >&2
        exit 1
    fi
    sleep 0.1
done
cat <<'TEXT'

gNB ── switch ── native UPF ── switch ── data network        a session without rules in the switch
gNB ── switch ── data network                                a session with rules in the switch

The phone downloads 80 Mbit/s for six seconds. A session with more than 10 Mbit/s for one second is
hot, and is offloaded to the switch.

    after          native UPF          switch
TEXT
iperf3 --server --bind 10.99.0.2 > /dev/null 2>&1 &
server=$!
# The first number with a name in the status of the core.
status_number() { grep -E "\"$1\":" <<< "$status" | head -1 | tr -dc '0-9' || true; }
# A bar with one character for each five Mbit/s.
bar() {
    local width=$((($1 + 2) / 5)) text
    printf -v text '%*s' $((width > 40 ? 40 : width)) ''
    printf '%s' "${text// /$2}"
}
watch() {
    local status now all carried on took native switch
    local began=0 seen=0 then=0 all_then=0 carried_then=0
    while sleep 0.25; do
        status=$("$martlet" --log error status --json 2>/dev/null) || continue
        now=${EPOCHREALTIME/[.,]/} all=$(status_number downlink_bytes)
        carried=$(status_number bytes) on=$(status_number onSwitch)
        [ -n "$all" ] && [ -n "$carried" ] && [ -n "$on" ] || continue
        all=$((all + $(status_number uplink_bytes))) took=$((now - then))
        # Bytes per microsecond times 8 are Mbit/s.
        native=$(((all - all_then - carried + carried_then) * 8 / took))
        switch=$(((carried - carried_then) * 8 / took))
        [ "$native" -ge 0 ] || native=0
        if [ "$then" != 0 ] && [ $((native + switch)) -ge 1 ]; then
            [ "$began" != 0 ] || began=$then
            if [ "$on" -ge 1 ] && [ "$seen" = 0 ]; then
                seen=1
                printf '%14s── the session is hot and is offloaded during the download ──\n' ''
            fi
            printf '  %3d.%d s   %4d Mbit/s          %4d Mbit/s   %s%s\n' \
                $(((now - began) / 1000000)) $(((now - began) / 100000 % 10)) \
                "$native" "$switch" "$(bar "$native" '░')" "$(bar "$switch" '█')"
        fi
        then=$now all_then=$all carried_then=$carried
    done
}
watch &
watch=$!
"$martlet" --log warn ran -c "$here/switch.yaml" 2> ran.log || { cat ran.log >&2; exit 1; }
kill -TERM "$watch" 2>/dev/null || true
status=$("$martlet" --log error status --json)
printf '\nUsage over both paths: %d bytes to the phone, %d from it; by the switch: %d.\n' \
    "$(status_number downlink_bytes)" "$(status_number uplink_bytes)" "$(status_number bytes)"
echo "The session was offloaded to the switch $(status_number movedOn) time(s) and, at its end," \
    "moved back $(status_number movedOff) time(s)."
