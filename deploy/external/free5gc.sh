#!/bin/sh
# Starts free5GC 4 (free5gc.org) for `martlet-lab control-plane --core external|both`.
#
# The folder of --programs is that of its build: bin/ has amf, smf, … and upf; mongod and mongosh
# are there or on PATH. The AMF needs the kernel's SCTP, the UPF the kernel module gtp5g, and the
# functions a slice with a differentiator (--slice 1-010203). OAuth is off.
. "$(dirname "$0")/core-common.sh"

[ -n "$sd" ] || fail "free5GC needs a slice with a differentiator: --slice 1-010203"
need_kernel_sctp
[ -d /sys/module/gtp5g ] || modprobe gtp5g 2> /dev/null ||
    fail "free5GC's UPF needs the kernel module gtp5g (github.com/free5gc/gtp5g)"
nrf=http://127.60.0.10:8000
database=mongodb://127.60.0.24:27017
plmn="{ mcc: \"$mcc\", mnc: \"$mnc\" }"
slice="{ sst: $sst, sd: \"$sd\" }"
key=$(printf %02x "$sst")$sd
dnn=$MARTLET_LAB_DNN

mkdir "$folder/database"
run database "$(program mongod)" --dbpath "$folder/database" --bind_ip 127.60.0.24
until_listening MongoDB 127.60.0.24 27017

# The subscribers, in the collections of free5GC's UDR: authentication, access and mobility, session
# management and SMF selection data (TS 29.505), and policy data (TS 29.519).
cat > "$folder/subscribers.js" << JS
const slice = { sst: $sst, sd: "$sd" };
const rate = { uplink: "10 Gbps", downlink: "10 Gbps" };
const provisioned = (name) => db.getCollection("subscriptionData.provisionedData." + name);
const first = BigInt("$MARTLET_LAB_FIRST_IMSI");
for (let n = 0n; n < BigInt($MARTLET_LAB_SUBSCRIBERS); n++) {
  const ueId = "imsi-" + (first + n).toString().padStart(15, "0");
  const ue = { ueId, servingPlmnId: "$MARTLET_LAB_PLMN" };
  db.getCollection("subscriptionData.authenticationData.authenticationSubscription").insertOne({
    ueId, authenticationMethod: "5G_AKA", authenticationManagementField: "8000",
    encPermanentKey: "$MARTLET_LAB_KEY", encOpcKey: "$MARTLET_LAB_OPC",
    sequenceNumber: { sqnScheme: "GENERAL", sqn: "000000000020" },
  });
  provisioned("amData").insertOne({
    ...ue, subscribedUeAmbr: rate,
    nssai: { defaultSingleNssais: [slice], singleNssais: [slice] },
  });
  provisioned("smfSelectionSubscriptionData").insertOne({
    ...ue, subscribedSnssaiInfos: { "$key": { dnnInfos: [{ dnn: "$dnn" }] } },
  });
  provisioned("smData").insertOne({
    ...ue, singleNssai: slice,
    dnnConfigurations: { "$dnn": {
      pduSessionTypes: { defaultSessionType: "IPV4", allowedSessionTypes: ["IPV4"] },
      sscModes: { defaultSscMode: "SSC_MODE_1", allowedSscModes: ["SSC_MODE_1"] },
      sessionAmbr: rate,
      "5gQosProfile": { "5qi": 9, priorityLevel: 8, arp: {
        priorityLevel: 8, preemptCap: "NOT_PREEMPT", preemptVuln: "NOT_PREEMPTABLE" } },
    } },
  });
  db.getCollection("policyData.ues.amData").insertOne({ ueId, subscCats: ["free5gc"] });
  db.getCollection("policyData.ues.smData").insertOne({
    ueId,
    smPolicySnssaiData: { "$key": {
      snssai: slice, smPolicyDnnData: { "$dnn": { dnn: "$dnn" } } } },
  });
}
JS
"$(program mongosh)" --quiet "$database/free5gc" "$folder/subscribers.js" \
    > "$folder/mongosh.log" 2>&1 || {
    cat "$folder/mongosh.log" >&2
    fail "the subscribers were not added"
}

# Starts a function. Its own settings are on standard input, indented by two spaces.
start() { # NAME VERSION HOST OPTION…
    name=$1 file=$folder/$1cfg.yaml address=127.60.0.$3
    {
        cat << YAML
info: { version: $2, description: measured by martlet-lab }
logger: { enable: true, level: warn, reportCaller: false }
configuration:
  sbi: { scheme: http, registerIPv4: $address, bindingIPv4: $address, port: 8000 }
YAML
        [ "$name" = nrf ] || echo "  nrfUri: $nrf"
        cat
    } > "$file"
    shift 3
    run "$name" "$(program "$name" "free5gc-$name")" -c "$file" "$@"
    until_listening "$name" "$address" 8000
}

start nrf 1.0.2 10 << YAML
  MongoDBName: free5gc
  MongoDBUrl: $database
  DefaultPlmnId: $plmn
  serviceNameList: [nnrf-nfm, nnrf-disc]
YAML
start udr 1.1.0 11 << YAML
  dbConnectorType: mongodb
  mongodb: { name: free5gc, url: "$database" }
YAML
start udm 1.0.3 12 << YAML
  serviceNameList: [nudm-sdm, nudm-uecm, nudm-ueau, nudm-ee, nudm-pp]
YAML
start ausf 1.0.3 13 << YAML
  serviceNameList: [nausf-auth]
  plmnSupportList: [$plmn]
  groupId: ausfGroup001
YAML
start nssf 1.0.2 15 << YAML
  nssfName: NSSF
  serviceNameList: [nnssf-nsselection, nnssf-nssaiavailability]
  supportedPlmnList: [$plmn]
  supportedNssaiInPlmnList: [{ plmnId: $plmn, supportedSnssaiList: [$slice] }]
  nsiList:
    - snssai: $slice
      nsiInformationList: [{ nrfId: $nrf/nnrf-nfm/v1/nf-instances, nsiId: 1 }]
YAML
start pcf 1.0.2 14 << YAML
  pcfName: PCF
  mongodb: { name: free5gc, url: "$database" }
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  serviceList:
    - { serviceName: npcf-am-policy-control }
    - { serviceName: npcf-smpolicycontrol, suppFeat: 3fff }
    - { serviceName: npcf-policyauthorization, suppFeat: 3 }
    - { serviceName: npcf-eventexposure }
    - { serviceName: npcf-ue-policy-control }
  locality: area1
YAML

cat > "$folder/upfcfg.yaml" << YAML
version: 1.0.3
description: measured by martlet-lab
pfcp: { addr: 127.60.0.8, nodeID: 127.60.0.8, retransTimeout: 1s, maxRetrans: 3 }
gtpu: { forwarder: gtp5g, ifList: [{ addr: 127.60.0.8, type: N3 }] }
dnnList: [{ dnn: $dnn, cidr: 10.160.0.0/14 }]
logger: { enable: true, level: warn, reportCaller: false }
YAML
run upf "$(program upf free5gc-upf)" -c "$folder/upfcfg.yaml"
until_true "the UPF listens" sh -c "ss -Hlun 'src 127.60.0.8:8805' | grep -q ."

echo "info: { version: 1.0.7, description: none }" > "$folder/uerouting.yaml"
start smf 1.0.7 16 -u "$folder/uerouting.yaml" << YAML
  smfName: SMF
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - sNssai: $slice
      dnnInfos: [{ dnn: $dnn, dns: { ipv4: 9.9.9.9, ipv6: "2620:fe::fe" } }]
  plmnList: [$plmn]
  pfcp: { nodeID: 127.60.0.7, listenAddr: 127.60.0.7, externalAddr: 127.60.0.7 }
  userplaneInformation:
    upNodes:
      gNB: { type: AN }
      UPF:
        type: UPF
        nodeID: 127.60.0.8
        addr: 127.60.0.8
        sNssaiUpfInfos:
          - sNssai: $slice
            dnnUpfInfoList: [{ dnn: $dnn, pools: [{ cidr: 10.160.0.0/14 }] }]
        interfaces: [{ interfaceType: N3, endpoints: [127.60.0.8], networkInstances: [$dnn] }]
    links: [{ A: gNB, B: UPF }]
  t3591: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
  t3592: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
YAML
start amf 1.0.9 17 << YAML
  amfName: AMF
  ngapIpList: [$MARTLET_LAB_AMF]
  ngapPort: 38412
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{ plmnId: $plmn, amfId: "010041" }]
  supportTaiList: [{ plmnId: $plmn, tac: "$tac" }]
  plmnSupportList: [{ plmnId: $plmn, snssaiList: [$slice] }]
  supportDnnList: [$dnn]
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
serve
