#!/bin/sh
# Starts Martlet as the other core of `martlet-lab control-plane --core external`:
#
#     martlet-lab control-plane --core external --amf 127.60.0.5 \
#         --start deploy/external/martlet.sh --programs DIR
#
# It is also the pattern for scripts of other cores. The lab gives each script, in the environment:
#
#     MARTLET_LAB_FOLDER        an empty folder for its files
#     MARTLET_LAB_PROGRAMS      the folder of --programs
#     MARTLET_LAB_AMF           N2 address of the AMF
#     MARTLET_LAB_PLMN, _TAC, _SLICE, _DNN         what the core serves
#     MARTLET_LAB_FIRST_IMSI, _SUBSCRIBERS         its subscribers
#     MARTLET_LAB_KEY, _OPC     K and OPc of all of them, in hexadecimal
#
# A script of --start writes the line `ready`, and on SIGTERM stops what it started. All that it
# starts must be its descendants: their memory and CPU time are the core's.
set -eu

martlet=${MARTLET_LAB_PROGRAMS:+$MARTLET_LAB_PROGRAMS/}martlet
folder=$MARTLET_LAB_FOLDER
config=$folder/martlet.yaml
sst=${MARTLET_LAB_SLICE%%-*} sd=${MARTLET_LAB_SLICE#*-}
[ "$sd" = "$MARTLET_LAB_SLICE" ] && slice="{ sst: $sst }" || slice="{ sst: $sst, sd: \"$sd\" }"

cat > "$config" <<EOF
network: { plmn: "$MARTLET_LAB_PLMN", tacs: [$MARTLET_LAB_TAC], slices: [$slice] }
fabric: { socket: $folder/sbi.sock }
oam: { socket: $folder/oam.sock, history: { path: $folder/history } }
udr: { path: $folder/martlet.db, key_file: $folder/operator.key }
amf: { n2: { bind: [$MARTLET_LAB_AMF] } }
smf:
  dnns: [{ name: $MARTLET_LAB_DNN, pool: 10.160.0.0/14 }]
  upfs: [{ n4: "127.60.0.8:8805" }]
  n4: { bind: 127.60.0.7 }
upf:
  n3: { address: "127.60.0.8:2152" }
  n4: { address: "127.60.0.8:8805", sessions: 200000 }
  kernel: { sessions: 200000 }
  n6: { interface: lab-external, mode: local }
  dnns: [{ name: $MARTLET_LAB_DNN, pools: [10.160.0.0/14] }]
lmf: { user_plane: { enabled: false } }
EOF
printf 'key: %s\nopc: %s\n' "$MARTLET_LAB_KEY" "$MARTLET_LAB_OPC" |
    "$martlet" subscriber add -c "$config" "imsi-$MARTLET_LAB_FIRST_IMSI" --key-file - \
        --count "$MARTLET_LAB_SUBSCRIBERS" --slice "$MARTLET_LAB_SLICE" --dnn "$MARTLET_LAB_DNN"

"$martlet" --log warn up -c "$config" &
core=$!
trap 'kill -TERM "$core"; wait "$core"; exit 0' TERM INT
while ! "$martlet" status -c "$config" 2>&1 | grep -q 'associated'; do
    kill -0 "$core"
    sleep 0.1
done
echo ready
wait "$core"
