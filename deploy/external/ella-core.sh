#!/bin/sh
# Starts Ella Core (ellanetworks.com) for `martlet-lab control-plane --core external|both`.
#
# The folder of --programs has `core`, or `ella-core`, or `ella`. It needs the kernel's SCTP, and
# curl. Its UPF is part of it and attaches to interfaces: the loopback interface for N3, and a veth
# pair that this script makes for N6.
. "$(dirname "$0")/core-common.sh"

need_kernel_sctp
api=127.60.0.20:5002
ip link add ella-n6 type veth peer name ella-dn 2> /dev/null || true
ip addr replace 10.98.60.1/24 dev ella-n6
ip link set ella-n6 up
ip link set ella-dn up

cat > "$folder/core.yaml" << YAML
logging:
  system: { level: warn, output: stdout }
  audit: { output: file, path: $folder/audit.log }
db: { path: $folder/ella.db }
interfaces:
  n2: { address: $MARTLET_LAB_AMF, port: 38412 }
  n3: { name: lo }
  n6: { name: ella-n6 }
  api: { address: ${api%:*}, port: ${api#*:} }
xdp: { attach-mode: generic }
YAML
# It pins its maps in a bpffs; the mount ends with the mount namespace.
run core unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf; exec "$@"' - \
    "$(program core ella-core ella)" --config "$folder/core.yaml"
until_listening "the API" "${api%:*}" "${api#*:}"

# Sends a request to the API; the token is absent before there is a user.
token=
request() { # METHOD PATH JSON
    curl --silent --show-error --fail-with-body --request "$1" \
        --header "Content-Type: application/json" \
        ${token:+--header "Authorization: Bearer $token"} \
        --data "$3" "http://$api/api/v1/$2"
}
user='{"email": "lab@example.org", "password": "martlet-lab"}'
request POST init "$user" > /dev/null
token=$(request POST auth/login "$user" | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
[ -n "$token" ] || fail "no token for the API"
request PUT operator/id "{\"mcc\": \"$mcc\", \"mnc\": \"$mnc\"}" > /dev/null
request PUT operator/tracking "{\"supportedTacs\": [\"$tac\"]}" > /dev/null
request PUT operator/nas-security '{"ciphering": ["AES"], "integrity": ["AES"]}' > /dev/null
# A new database has a slice, a profile and a policy named `default`, for the network `internet`.
[ "$MARTLET_LAB_DNN" = internet ] || fail "this script serves the data network internet alone"
request PUT slices/default "{\"sst\": $sst${sd:+, \"sd\": \"$sd\"}}" > /dev/null
request PUT data-networks/internet \
    '{"ip_pool": "10.160.0.0/14", "dns": "9.9.9.9", "mtu": 1400}' > /dev/null
n=0
while [ "$n" -lt "$MARTLET_LAB_SUBSCRIBERS" ]; do
    request POST subscribers "{\"imsi\": \"$(imsi $n)\", \"key\": \"$MARTLET_LAB_KEY\",
        \"opc\": \"$MARTLET_LAB_OPC\", \"sequenceNumber\": \"000000000020\",
        \"profile_name\": \"default\"}" > /dev/null
    n=$((n + 1))
done
until_sctp_listening
serve
