#!/bin/sh
# Starts Open5GS 2.7 (open5gs.org) for `martlet-lab control-plane --core external|both`.
#
# The folder of --programs has open5gs-amfd, open5gs-smfd, …; mongod and mongosh are there or on
# PATH. The AMF needs the kernel's SCTP. The functions call each other without an SCP.
. "$(dirname "$0")/core-common.sh"

need_kernel_sctp
nrf=http://127.60.0.10:7777
database=mongodb://127.60.0.24/open5gs
plmn="{ mcc: $mcc, mnc: $mnc }"
slice="{ sst: $sst${sd:+, sd: $sd} }"

mkdir "$folder/database"
run database "$(program mongod)" --dbpath "$folder/database" --bind_ip 127.60.0.24
until_listening MongoDB 127.60.0.24 27017

# The subscribers, by Open5GS's schema: the unit 3 of a bit rate is Gbit/s, the type 1 IPv4.
cat > "$folder/subscribers.js" << JS
const rate = () => ({ downlink: { value: NumberInt(10), unit: NumberInt(3) },
                      uplink: { value: NumberInt(10), unit: NumberInt(3) } });
const first = BigInt("$MARTLET_LAB_FIRST_IMSI");
for (let n = 0n; n < BigInt($MARTLET_LAB_SUBSCRIBERS); n++) {
  db.subscribers.insertOne({
    schema_version: NumberInt(1), imsi: (first + n).toString().padStart(15, "0"),
    msisdn: [], security: { k: "$MARTLET_LAB_KEY", opc: "$MARTLET_LAB_OPC", op: null, amf: "8000" },
    ambr: rate(), subscribed_rau_tau_timer: NumberInt(12), network_access_mode: NumberInt(0),
    access_restriction_data: NumberInt(32), subscriber_status: NumberInt(0),
    slice: [{
      sst: NumberInt($sst), ${sd:+sd: "$sd",} default_indicator: true,
      session: [{
        name: "$MARTLET_LAB_DNN", type: NumberInt(1), ambr: rate(), pcc_rule: [],
        qos: { index: NumberInt(9), arp: { priority_level: NumberInt(8),
          pre_emption_capability: NumberInt(1), pre_emption_vulnerability: NumberInt(1) } },
      }],
    }],
  });
}
JS
"$(program mongosh)" --quiet "$database" "$folder/subscribers.js" > "$folder/mongosh.log" 2>&1 ||
    { cat "$folder/mongosh.log" >&2; fail "the subscribers were not added"; }

# Starts a function. Its own settings are on standard input, indented by two spaces.
start() { # NAME HOST
    file=$folder/$1.yaml address=127.60.0.$2
    {
        case $1 in udr | pcf) echo "db_uri: $database" ;; esac
        cat << YAML
logger: { level: warn }
global: { max: { ue: $((MARTLET_LAB_SUBSCRIBERS + 1024)) } }
$1:
  sbi:
    server: [{ address: $address, port: 7777 }]
YAML
        [ "$1" = nrf ] || echo "    client: { nrf: [{ uri: $nrf }] }"
        cat
    } > "$file"
    run "$1" "$(program "open5gs-${1}d")" -c "$file"
    until_listening "$1" "$address" 7777
}

start nrf 10 << YAML
  serving: [{ plmn_id: $plmn }]
YAML
start udr 11 < /dev/null
start udm 12 < /dev/null
start ausf 13 < /dev/null
start bsf 20 < /dev/null
cat > "$folder/nssf.yaml" << YAML
logger: { level: warn }
nssf:
  sbi:
    server: [{ address: 127.60.0.15, port: 7777 }]
    client:
      nrf: [{ uri: $nrf }]
      nsi: [{ uri: $nrf, s_nssai: $slice }]
YAML
run nssf "$(program open5gs-nssfd)" -c "$folder/nssf.yaml"
until_listening nssf 127.60.0.15 7777
start pcf 14 << YAML
  metrics: { server: [{ address: 127.60.0.14, port: 9090 }] }
YAML

ip tuntap add name ogstun mode tun 2> /dev/null || true
ip addr add 10.160.0.1/14 dev ogstun 2> /dev/null || true
ip link set ogstun up
cat > "$folder/upf.yaml" << YAML
logger: { level: warn }
global: { max: { ue: $((MARTLET_LAB_SUBSCRIBERS + 1024)) } }
upf:
  pfcp: { server: [{ address: 127.60.0.8 }], client: { smf: [{ address: 127.60.0.7 }] } }
  gtpu: { server: [{ address: 127.60.0.8 }] }
  session: [{ subnet: 10.160.0.0/14, gateway: 10.160.0.1, dev: ogstun }]
  metrics: { server: [{ address: 127.60.0.8, port: 9090 }] }
YAML
run upf "$(program open5gs-upfd)" -c "$folder/upf.yaml"
until_true "the UPF listens" sh -c "ss -Hlun 'src 127.60.0.8:8805' | grep -q ."
start smf 16 << YAML
  pfcp: { server: [{ address: 127.60.0.7 }], client: { upf: [{ address: 127.60.0.8 }] } }
  gtpc: { server: [{ address: 127.60.0.16 }] }
  gtpu: { server: [{ address: 127.60.0.16 }] }
  metrics: { server: [{ address: 127.60.0.16, port: 9090 }] }
  session: [{ subnet: 10.160.0.0/14, gateway: 10.160.0.1 }]
  dns: [9.9.9.9]
  mtu: 1400
  info: [{ s_nssai: [{ sst: $sst${sd:+, sd: $sd}, dnn: [$MARTLET_LAB_DNN] }] }]
YAML
start amf 17 << YAML
  ngap: { server: [{ address: $MARTLET_LAB_AMF }] }
  metrics: { server: [{ address: 127.60.0.17, port: 9090 }] }
  guami: [{ plmn_id: $plmn, amf_id: { region: 1, set: 1 } }]
  tai: [{ plmn_id: $plmn, tac: $MARTLET_LAB_TAC }]
  plmn_support: [{ plmn_id: $plmn, s_nssai: [$slice] }]
  security: { integrity_order: [NIA2], ciphering_order: [NEA2] }
  network_name: { full: Open5GS }
  amf_name: open5gs-amf
YAML
until_sctp_listening
serve
