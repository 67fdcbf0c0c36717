#!/bin/sh
# Starts eUPF (github.com/edgecomllc/eupf) for `martlet-lab upf --target external`.
. "$(dirname "$0")/upf-common.sh"

# Its tables hold 1,024 entries each, four of them for a session of the lab: at most 256 sessions.
wait_for_links
# It pins its maps in a bpffs; the mount ends with the mount namespace.
unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf && exec "$@"' - \
    "${programs}eupf" --iface "$MARTLET_LAB_N3_INTERFACE" --iface "$MARTLET_LAB_N6_INTERFACE" \
    --attach generic --nodeid "$MARTLET_LAB_UPF" --paddr "$MARTLET_LAB_UPF:8805" \
    --n3addr "$MARTLET_LAB_UPF" --aaddr "$MARTLET_LAB_UPF:8080" --maddr "$MARTLET_LAB_UPF:9090" \
    --ftup --loglvl warn &
serve $!
