#!/bin/sh
# Starts Martlet's UPF with the XDP datapath for `martlet-lab upf --target external`.
MARTLET_LAB_DATAPATH=xdp exec "$(dirname "$0")/martlet-upf.sh"
