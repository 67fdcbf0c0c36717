#!/usr/bin/env bash
# Runs a core, a gNB and a phone in a network namespace, and removes all of it afterwards.
#
#     deploy/demo/run.sh PROGRAM      as root; PROGRAM is the path of `martlet`, with martlet-ran
#                                     beside it
#
# MARTLET_DEMO_PICTURE is the file for the picture (martlet-demo.svg).
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "The demo makes a network namespace: run it as root." >&2
        exit 1
    fi
    MARTLET_DEMO_PICTURE=$(realpath -m "${MARTLET_DEMO_PICTURE:-martlet-demo.svg}")
    export MARTLET_DEMO_PICTURE
    exec unshare --net bash "$0" --inside "$(realpath "${1:?name the path of martlet}")"
fi

martlet=$2
here=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
core='' server=''
finish() {
    for process in $server $core; do kill -TERM "$process" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"

ip link set lo up
# All commands use this file, whatever configuration the machine has.
export MARTLET_CONFIG=$folder/martlet.yaml
# Positions of the cells, and the file with the LMF's certificate for the phone.
cat > core.yaml <<'YAML'
lmf:
  user_plane: { write_certificate: lmf.pem }
  cells:
    - { nr_cell_id: "000001001", pci: 1, lat: 54.0924, lon: 12.0991 }
    - { nr_cell_id: "000001002", pci: 2, lat: 54.0927, lon: 12.1055 }
    - { nr_cell_id: "000001003", pci: 3, lat: 54.0959, lon: 12.1019 }
    - { nr_cell_id: "000001004", pci: 4, lat: 54.0947, lon: 12.0954 }
YAML
# The XDP datapath is used if the kernel supports it, else the kernel datapath.
start() {
    # The phone measures the throughput to a server on this machine.
    allow='{ address: 10.45.0.1, protocol: tcp, port: 5201 }'
    upf='upf:\n  datapath: %s\n  n6: { allow: [%s] }\n'
    # shellcheck disable=SC2059
    { cat core.yaml; printf "$upf" "$1" "$allow"; } > martlet.yaml
    "$martlet" --log warn up -c martlet.yaml > core.log 2>&1 &
    core=$!
    until "$martlet" --log error status > /dev/null 2>&1; do
        kill -0 "$core" 2>/dev/null || return 1
        sleep 0.1
    done
    echo "The UPF uses the datapath \`$1\`."
}
started=
for datapath in ${MARTLET_DEMO_DATAPATHS:-xdp kernel}; do
    start "$datapath" && started=yes && break
done
[ -n "$started" ] || { echo "The core did not start:" >&2; cat core.log >&2; exit 1; }
"$martlet" --log warn subscriber add imsi-001010000000001 \
    --key 465b5ce8b199b49faa5f0a2ee238a6bc --opc cd63cb71954a9f4e48a5994e37a02baf
iperf3 --server --bind 10.45.0.1 > /dev/null 2>&1 &
server=$!
# The scenario locates the phone with this program.
sed "s|{martlet}|$martlet|" "$here/scenario.yaml" > scenario.yaml
"$martlet" --log warn ran -c scenario.yaml > steps || { cat steps >&2; exit 1; }

# Minimum, average and maximum of `ping`; the rate that the receiver of iperf3 had.
round_trips() {
    awk -F'[ /]' '/^rtt/ { print $7 " ms min, " $8 " ms avg, " $9 " ms max" }' "$1"
}
rate() { awk '/receiver/ { print $7, $8 }' "$1" | sed 's|Mbits/sec|Mbit/s|'; }
cat steps
echo
echo "Two positions of the phone, and their true errors:"
sed 's/^/    /' located
echo
echo "What the phone measured over its PDU session:"
printf '    %-13s %s\n' "round trip" "$(round_trips ping)" \
    "uplink" "$(rate uplink)" "downlink" "$(rate downlink)"
echo
echo "Twelve positions while it moves, and all that was measured:"
"$martlet" demo --draw . --picture "$MARTLET_DEMO_PICTURE"
# The picture belongs to the user who called sudo.
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$MARTLET_DEMO_PICTURE"
echo
echo "The picture of it: $MARTLET_DEMO_PICTURE"
