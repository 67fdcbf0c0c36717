#!/bin/sh
# Starts UPG-VPP (github.com/travelping/upg-vpp) for `martlet-lab upf --target external`.
#
# The folder of --programs has `vpp`; its plugins are where its build has them, or in the folder of
# UPG_VPP_PLUGINS. VPP takes the interfaces over as packet sockets (af_packet), and with them their
# addresses; no huge pages are needed.
. "$(dirname "$0")/upf-common.sh"

wait_for_links
n3=$MARTLET_LAB_N3_INTERFACE n6=$MARTLET_LAB_N6_INTERFACE
# The kernel must not answer for the addresses of VPP.
address_of() { ip -o -4 addr show dev "$1" | awk '{print $4; exit}'; }
n3_address=$(address_of "$n3") n6_address=$(address_of "$n6")
n3_mac=$(ip -o link show dev "$n3" | sed 's/.*link\/ether \([^ ]*\).*/\1/')
n6_mac=$(ip -o link show dev "$n6" | sed 's/.*link\/ether \([^ ]*\).*/\1/')
gnb_mac=$(ip neigh show "$MARTLET_LAB_GNB" dev "$n3" | sed 's/.*lladdr \([^ ]*\).*/\1/')
host_mac=$(ip neigh show "$MARTLET_LAB_HOST" dev "$n6" | sed 's/.*lladdr \([^ ]*\).*/\1/')
ip addr flush dev "$n3"
ip addr flush dev "$n6"

cat > "$MARTLET_LAB_FOLDER/setup.vpp" << EOF_VPP
create host-interface name $n3 hw-addr $n3_mac
create host-interface name $n6 hw-addr $n6_mac
set interface mtu packet 1600 host-$n3
set interface ip address host-$n3 $n3_address
set interface ip address host-$n6 $n6_address
set interface state host-$n3 up
set interface state host-$n6 up
set ip neighbor host-$n3 $MARTLET_LAB_GNB $gnb_mac static
set ip neighbor host-$n6 $MARTLET_LAB_HOST $host_mac static
ip route add 0.0.0.0/0 via $MARTLET_LAB_HOST host-$n6
upf specification release 16
upf pfcp endpoint ip $MARTLET_LAB_UPF vrf 0
upf nwi name $MARTLET_LAB_DNN vrf 0
upf gtpu endpoint ip $MARTLET_LAB_UPF nwi $MARTLET_LAB_DNN teid 0x80000000/2
EOF_VPP
cat > "$MARTLET_LAB_FOLDER/startup.conf" << EOF_VPP
unix {
  nodaemon
  log $MARTLET_LAB_FOLDER/vpp.log
  cli-listen $MARTLET_LAB_FOLDER/cli.sock
  runtime-dir $MARTLET_LAB_FOLDER
  exec $MARTLET_LAB_FOLDER/setup.vpp
}
api-segment { prefix martlet-lab-$$ }
plugins {
  ${UPG_VPP_PLUGINS:+path $UPG_VPP_PLUGINS}
  plugin default { disable }
  plugin af_packet_plugin.so { enable }
  plugin upf_plugin.so { enable }
}
EOF_VPP
"${programs}vpp" -c "$MARTLET_LAB_FOLDER/startup.conf" &
process=$!
trap 'kill -TERM "$process"; wait "$process"; exit 0' TERM INT
# VPP has its own network stack: its socket for commands shows that it runs.
while [ ! -S "$MARTLET_LAB_FOLDER/cli.sock" ]; do
    kill -0 "$process"
    sleep 0.05
done
sleep 1
echo ready
wait "$process"
