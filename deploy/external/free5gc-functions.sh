#!/bin/sh
# Starts functions of free5GC (github.com/free5gc) with Martlet's as the others, for
# `martlet-lab control-plane --core both --sbi http`: beside Martlet over HTTP/2, whose functions
# are processes of their own too, the measured difference is that of free5GC's functions alone.
#
#     FREE5GC_FUNCTIONS   of amf, smf, pcf and nrf; default: amf, pcf if it and a database are
#                         installed, and nrf if it and MongoDB are
#
# AUSF, UDM, UDR and NSSF are always Martlet's: their modules were not available. So is the SMF by
# default: the published module v1.2.4 does not find the UDM with free5GC's NRF, and does not know
# its own SM contexts by the references that free5GC's AMF v1.4.5 sends.
#
# The folder of --programs has `martlet`, and free5GC's programs as `amf` or `free5gc-amf`. They are
# Go modules: tests/interop/free5gc-NAME names each version, and
# `go build -o DIR/free5gc-NAME github.com/free5gc/NAME/cmd` builds it there. PCF and NRF need
# MongoDB, `mongod`. The stand-in of tests/interop/mongodb, as `mongodb`, is enough for the PCF: it
# refuses the NRF's queries with `$elemMatch`, so that a function finds others only if they register
# after it has subscribed to them. free5GC's functions need
# a slice with a differentiator (--slice 1-010203). Its AMF needs the kernel's SCTP; where that
# lacks, `free5gc-amf-user-space` is used (tests/interop/free5gc-amf/user-space.mod).
. "$(dirname "$0")/core-common.sh"

functions=${FREE5GC_FUNCTIONS:-}
if [ -z "$functions" ]; then
    functions=amf
    if find_program mongod mongodb > /dev/null && find_program free5gc-pcf pcf > /dev/null; then
        functions="$functions pcf"
    fi
    if find_program mongod > /dev/null && find_program free5gc-nrf nrf > /dev/null; then
        functions="$functions nrf"
    fi
fi
echo "functions of free5GC: $functions; all others are Martlet's" >&2
has() { case " $functions " in *" $1 "*) true ;; *) false ;; esac; }
for function in $functions; do
    case $function in amf | smf | pcf | nrf) ;; *) fail "no function $function here" ;; esac
done
[ -n "$sd" ] || fail "free5GC needs a slice with a differentiator: --slice 1-010203"
martlet=$(program martlet)
config=$folder/martlet.yaml
database=127.60.0.24:27017
nrf=http://127.60.0.10:7777
plmn="{ mcc: \"$mcc\", mnc: \"$mnc\" }"
slice="{ sst: $sst, sd: \"$sd\" }"
external=$(echo "$functions" | sed 's/ \{1,\}/, /g')
if has amf; then n2=; else n2="n2: { bind: [$MARTLET_LAB_AMF] }"; fi
# Prints the path of a function of free5GC. Its AMF has no SCTP, unless it is built with one.
function_program() { # NAME
    if [ "$1" = amf ] && ! has_kernel_sctp; then
        program free5gc-amf-user-space
    else
        program "free5gc-$1" "$1"
    fi
}

cat > "$config" << YAML
network: { plmn: "$MARTLET_LAB_PLMN", tacs: [$MARTLET_LAB_TAC], slices: [$slice] }
sbi:
  listen: true
  external: [$external]
  nrf: 127.60.0.10:7777
  udr: 127.60.0.11:7777
  udm: 127.60.0.12:7777
  ausf: 127.60.0.13:7777
  pcf: 127.60.0.14:7777
  nssf: 127.60.0.15:7777
  smf: 127.60.0.16:7777
  amf: 127.60.0.17:7777
  lmf: 127.60.0.18:7777
  chf: 127.60.0.19:7777
fabric: { socket: $folder/sbi.sock }
oam: { socket: $folder/oam.sock, history: { path: $folder/history } }
nrf: { interop: { absolute_prefixes: true, no_heartbeats: true } }
udm: { sdm_v1: true, empty_subscriptions: true }
udr: { path: $folder/martlet.db, key_file: $folder/operator.key }
chf: { enabled: $(has smf && echo true || echo false) }
amf: { $n2 }
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
YAML
printf 'key: %s\nopc: %s\n' "$MARTLET_LAB_KEY" "$MARTLET_LAB_OPC" |
    "$martlet" subscriber add -c "$config" "imsi-$MARTLET_LAB_FIRST_IMSI" --key-file - \
        --count "$MARTLET_LAB_SUBSCRIBERS" --slice "$MARTLET_LAB_SLICE" --dnn "$MARTLET_LAB_DNN"

# Starts a function of free5GC. Its own settings are on standard input, indented by two spaces.
start() { # NAME VERSION ADDRESS PORT OPTION…
    name=$1 file=$folder/$1cfg.yaml
    {
        cat << YAML
info: { version: $2, description: a function in a core of Martlet }
logger: { enable: true, level: warn, reportCaller: false }
configuration:
  sbi: { scheme: http, registerIPv4: $3, bindingIPv4: $3, port: $4 }
YAML
        [ "$name" = nrf ] || echo "  nrfUri: $nrf"
        cat
    } > "$file"
    shift 4
    run "$name" "$(function_program "$name")" -c "$file" "$@"
}

if has pcf || has nrf; then
    mkdir "$folder/database"
    # Both are tried; the name of the stand-in is not that of a program of MongoDB's.
    if path=$(find_program mongod); then
        run database "$path" --dbpath "$folder/database" --bind_ip "${database%:*}" \
            --port "${database#*:}"
    else
        run database "$(program mongodb)" "$database" "$folder/database"
    fi
    until_listening "the database" "${database%:*}" "${database#*:}"
fi
if has nrf; then
    start nrf 1.0.2 127.60.0.10 7777 << YAML
  MongoDBName: free5gc
  MongoDBUrl: mongodb://$database
  DefaultPlmnId: $plmn
  serviceNameList: [nnrf-nfm, nnrf-disc]
YAML
    until_listening "the NRF" 127.60.0.10 7777
fi

run martlet "$martlet" --log warn up --split --sbi http -c "$config"
until_true "Martlet's functions run" "$martlet" status -c "$config"
until_listening "the UDM" 127.60.0.12 7777
until_listening "the NRF" 127.60.0.10 7777

if has pcf; then
    start pcf 1.0.2 127.60.0.14 7777 << YAML
  pcfName: PCF
  mongodb: { name: free5gc, url: "mongodb://$database" }
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  serviceList:
    - { serviceName: npcf-am-policy-control }
    - { serviceName: npcf-smpolicycontrol, suppFeat: 3fff }
    - { serviceName: npcf-policyauthorization, suppFeat: 3 }
  locality: area1
YAML
    until_listening "the PCF" 127.60.0.14 7777
fi
if has smf; then
    # Its name is the NF instance ID for the CHF (TS 32.291, 6.1.6.2.1.2).
    echo "info: { version: 1.0.7, description: none }" > "$folder/uerouting.yaml"
    start smf 1.0.7 127.60.0.16 7777 -u "$folder/uerouting.yaml" << YAML
  smfName: 3f2504e0-4f89-41d3-9a0c-0305e82c3301
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - sNssai: $slice
      dnnInfos: [{ dnn: $MARTLET_LAB_DNN, dns: { ipv4: 9.9.9.9, ipv6: "2620:fe::fe" } }]
  plmnList: [$plmn]
  pfcp:
    nodeID: 127.60.0.7
    listenAddr: 127.60.0.7
    externalAddr: 127.60.0.7
    assocFailAlertInterval: 10s
    assocFailRetryInterval: 1s
    heartbeatInterval: 10s
  userplaneInformation:
    upNodes:
      gNB: { type: AN }
      UPF:
        type: UPF
        nodeID: 127.60.0.8
        addr: 127.60.0.8
        sNssaiUpfInfos:
          - sNssai: $slice
            dnnUpfInfoList: [{ dnn: $MARTLET_LAB_DNN, pools: [{ cidr: 10.162.0.0/15 }] }]
        interfaces:
          - { interfaceType: N3, endpoints: [127.60.0.8], networkInstances: [$MARTLET_LAB_DNN] }
    links: [{ A: gNB, B: UPF }]
  t3591: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
  t3592: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
YAML
    until_listening "the SMF" 127.60.0.16 7777
fi
if has amf; then
    start amf 1.0.9 127.60.0.17 7777 << YAML
  amfName: AMF
  ngapIpList: [$MARTLET_LAB_AMF]
  ngapPort: 38412
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{ plmnId: $plmn, amfId: "010041" }]
  supportTaiList: [{ plmnId: $plmn, tac: "$tac" }]
  plmnSupportList: [{ plmnId: $plmn, snssaiList: [$slice] }]
  supportDnnList: [$MARTLET_LAB_DNN]
  security: { integrityOrder: [NIA2], cipheringOrder: [NEA2] }
  networkName: { full: free5GC, short: free }
  t3502Value: 720
  t3512Value: 3600
  non3gppDeregTimerValue: 3240
  sctp: { numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2 }
$(for timer in t3513 t3522 t3550 t3555 t3560 t3565 t3570; do
    echo "  $timer: { enable: true, expireTime: 6s, maxRetryTimes: 4 }"
done)
YAML
    until_sctp_listening
    until_listening "the AMF" 127.60.0.17 7777
fi

# The NRF knows a function some time after it listens.
registered() {
    "$martlet" status -c "$config" --json > "$folder/status.json"
    for function in $functions; do
        [ "$function" = nrf ] || has nrf ||
            grep -q "\"$(echo "$function" | tr a-z A-Z)\"" "$folder/status.json" || return 1
    done
    grep -q '"associated": *true' "$folder/status.json" || has smf
}
until_true "the functions are registered" registered
serve
