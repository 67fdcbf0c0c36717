# Part of the scripts in this folder that start a UPF for `martlet-lab upf --target external`; they
# source it. The lab gives them, in the environment:
#
#     MARTLET_LAB_FOLDER          an empty folder for their files
#     MARTLET_LAB_PROGRAMS        the folder of --programs
#     MARTLET_LAB_UPF             address of N4 and N3
#     MARTLET_LAB_GNB             address of the SMF and of the gNB
#     MARTLET_LAB_HOST            address of the data network's host, the gateway of N6
#     MARTLET_LAB_UE_POOL         addresses of the UEs
#     MARTLET_LAB_N3_INTERFACE, MARTLET_LAB_N6_INTERFACE, MARTLET_LAB_DNN
#
# shellcheck shell=sh
set -eu
programs=${MARTLET_LAB_PROGRAMS:+$MARTLET_LAB_PROGRAMS/}

# Waits until the lab has made the interfaces.
wait_for_links() {
    while [ ! -e "$MARTLET_LAB_FOLDER/links" ]; do sleep 0.05; done
    sysctl -qw net.ipv4.ip_forward=1
}

# Waits until a UDP socket is bound to the port of N4, and then for the end of the process.
# shellcheck disable=SC2154
serve() {
    process=$1
    trap 'kill -TERM "$process"; wait "$process"; exit 0' TERM INT
    while ! ss -Hlun "sport = :8805" | grep -q .; do
        kill -0 "$process"
        sleep 0.05
    done
    echo ready
    wait "$process"
}
