#!/bin/sh
# Starts Martlet's UPF for `martlet-lab upf --target external`. MARTLET_LAB_DATAPATH: kernel or xdp.
. "$(dirname "$0")/upf-common.sh"

wait_for_links
cat > "$MARTLET_LAB_FOLDER/martlet.yaml" <<EOF
oam: { socket: $MARTLET_LAB_FOLDER/oam.sock }
upf:
  datapath: ${MARTLET_LAB_DATAPATH:-kernel}
  n4: { address: "$MARTLET_LAB_UPF:8805", allow: [$MARTLET_LAB_GNB] }
  n3: { address: "$MARTLET_LAB_UPF:2152" }
  n6: { interface: lab-ue, mode: routing }
  xdp: { interfaces: [$MARTLET_LAB_N3_INTERFACE, $MARTLET_LAB_N6_INTERFACE] }
  dnns: [{ name: $MARTLET_LAB_DNN, pools: [$MARTLET_LAB_UE_POOL] }]
EOF
"${programs}martlet" --log warn nf upf -c "$MARTLET_LAB_FOLDER/martlet.yaml" &
serve $!
