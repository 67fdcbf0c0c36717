#!/bin/sh
# Starts Martlet's UPF with the kernel datapath for `martlet-lab upf --target external`.
MARTLET_LAB_DATAPATH=kernel exec "$(dirname "$0")/martlet-upf.sh"
