#!/usr/bin/env bash
# Generates the seeds of each fuzz target in fuzz/corpus/TARGET from test vectors, which other
# implementations produced, from seeds/TARGET.hex, which capture.sh made from our call flows, and
# from the texts below. The result is deterministic.
set -euo pipefail
cd "$(dirname "$0")"

# The last field of each line of a file is a message in hexadecimal; each becomes a file of the
# corpus, with a prefix.
seed() { # TARGET NAME PREFIX FILE…
    local target=$1 name=$2 prefix=$3; shift 3
    mkdir -p "corpus/$target"
    perl -ne '
        BEGIN { ($folder, $prefix) = splice @ARGV, 0, 2 }
        next if /^#/ || !/([0-9a-f]+)\s*$/ || length($1) % 2;
        $bytes = pack("H*", $prefix . $1);
        open my $file, ">:raw", sprintf("%s-%04d", $folder, ++$number) or die $!;
        print $file $bytes;
    ' "corpus/$target/$name" "$prefix" "$@"
}

# Messages of our own call flows.
for file in seeds/*.hex; do
    [ ! -f "$file" ] || seed "$(basename "$file" .hex)" flow "" "$file"
done

vectors=../wire
seed nas_plain seed "" "$vectors"/nas/tests/vectors/{pycrate,ours,vendors}.tsv
# As the payload of a message with a correct MAC.
seed nas_secured seed 0a "$vectors"/nas/tests/vectors/{pycrate,ours}.tsv
seed ngap seed "" "$vectors"/ngap/tests/vectors/{pycrate,ours,vendors}.tsv
seed pfcp vendor "" "$vectors"/pfcp/tests/vectors/vendors.tsv
seed gtpu vendor "" "$vectors"/gtpu/tests/vectors/vendors.tsv
seed ngap_transfer seed "" "$vectors"/ngap/tests/vectors/{pycrate,ours}.tsv
seed lcsupp seed "" "$vectors"/lcsupp/tests/vectors/messages.tsv
seed lpp seed "" "$vectors"/lpp/tests/vectors/{pycrate,known}.tsv
seed nrppa seed "" "$vectors"/nrppa/tests/vectors/{pycrate,known}.tsv

# An EAP response with AT_KDF behind AT_MAC, as UERANSIM before 3.2.7 sends it.
mkdir -p corpus/eap
printf '\x02\x07\x00\x2c\x32\x01\x00\x00\x03\x03\x00\x40\x01\x02\x03\x04\x05\x06\x07\x08'\
'\x0b\x05\x00\x00AAAAAAAAAAAAAAAA\x18\x01\x00\x01' > corpus/eap/kdf-behind-mac

# Text, as written by people or by other network functions.
text() { # TARGET NAME
    mkdir -p "corpus/$1"
    cat > "corpus/$1/$2"
}
printf 'suci-0-274-012-0-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d'\
'cb02352410cddd9e730ef3fa87' |
    text suci profile-a
printf 'suci-0-208-93-0-0-0-0000000001' | text suci null
# SUCIs of a network-specific identifier, a GLI and a GCI (TS 23.003, 28.7.3): as text, as a mobile
# identity, and in a registration request.
number=0
for output in 1-realm.example-0-0-0-user 1-5gc.mnc001.mcc001.3gppnetwork.org-012-0-0-a-b \
    1-a-b.example-0-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d \
    2-5gc.example-0000-0-0-gli 3-5gc.example-0000-0-0-gci-00-11; do
    number=$((number + 1))
    printf 'suci-%s' "$output" | text suci "nai-$number"
done
for kind in 1 2 3; do
    nai="type$kind.rid0000.schid0.useriduser@realm.example"
    length=$(printf %02x $((${#nai} + 1)))
    printf "\\x${kind}1%s" "$nai" | text suci "identity-$kind"
    printf "\\x7e\\x00\\x41\\x01\\x00\\x$length\\x${kind}1%s\\x2e\\x02\\xf0\\xf0" "$nai" |
        text nas_plain "nai-$kind"
done
printf 'multipart/related; boundary="b"\n--b\r\nContent-Type: application/json\r\n\r\n{"a":1}'\
'\r\n--b\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1\r\n\r\n\x7e\r\n-'\
'-b--\r\n' |
    text sbi_body parts
printf 'application/json\n{"a":[1,2.5,null,"x"]}' | text sbi_body json
printf 'amf:\n  plmn: {mcc: "208", mnc: "93"}\n  slices:\n    - sst: 1\n      sd: "0000ff"\n' |
    text config_yaml small
printf '\x00{"nfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF","nfStatus":"'\
'REGISTERED"}' |
    text sbi_json profile
printf '\x04{"amfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","deregCallbackUri":"http:/'\
'/a/b","guami":{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe00"},"ratType":"NR"}' |
    text sbi_json registration

# SUPIs of each kind of TS 29.571, and some that are refused.
number=0
for supi in imsi-00101 nai-user@realm.example nai-a/b?c%41 gci-00-11@5gc.example gli-x \
    001010000000001 suci-0-001-01-0000-0-0-1 'nai-a\nb' 'nai-\u0000' 'a\u2028b' .. ''; do
    number=$((number + 1))
    printf '\x07{"supi":"%s","pduSessionId":1,"pduSessionType":"IPV4","dnn":"a","notificationUri"'\
':"http://a/b","sliceInfo":{"sst":1}}' "$supi" |
        text sbi_json "supi-$number"
done

# Bodies of other vendors' functions, of the types that fuzz/targets/bodies has.
perl -F'\t' -ne '
    BEGIN { %choice = (NfProfile => 0, SearchResult => 1, AccessAndMobilitySubscriptionData => 4) }
    next if /^#/ || !exists $choice{$F[0]};
    open my $file, ">:raw", "corpus/sbi_json/vendor-$F[0]" or die $!;
    print $file chr($choice{$F[0]}), $F[2];
' ../sbi/api/tests/vendors.tsv

# A peer of the fabric: it connects, is accepted, sends and receives, calls, and responds.
printf '\x01\x04\x03\x01\x00x\x09\x08\x01\x06\x15\x01\x00ten bytes!\x09\x08\x01\x07\x09\x01'\
'\x00\x10\x00\x00\x00\x09\x01\x08\x01\x01\x00\x09' |
    text fabric_channel connection
printf '\x01\x00\x15\x02\x00ten bytes!\x09\x07\x09\x01\x01\x14\x01\x00ten bytes!\x09\x04\x00'\
'\x05\x00\x01\x09' |
    text fabric_channel call
printf '\x00\x01\x02\xff\xff\xff\xff\x03a:1\x02\x00/x\x01\x01\x03\x00AMF\x01{"nfInstanceId":"3'\
'fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF","nfStatus":"REGISTERED"}' |
    text fabric_frame request
printf '\x02\x01\x94\x01\x00\x02{"status":404,"cause":"USER_NOT_FOUND"}' |
    text fabric_frame response
printf '\x00{"type":"join","version":1,"name":"amf","model":7}\n\x00{"type":"serve","service":'\
'"calls","authority":"a:1"}\n\x01{"type":"join","version":1,"name":"udm","model":7}\n'\
'\x01{"type":"connect","service":"calls","authority":"a:1"}\n\x00{"type":"welcome","dom'\
'ain":"core"}\n\x00{"type":"way","service":"calls","authority":"a:1","channel":null}\n' |
    text fabric_messages join

# One message in hexadecimal.
hex() { # TARGET NAME DIGITS
    mkdir -p "corpus/$1"
    printf '%s' "$3" | perl -ne 'binmode STDOUT; print pack("H*", $_)' > "corpus/$1/$2"
}

# EAP-AKA': identity, challenge with RAND, AUTN, KDF and MAC, synchronization failure, notification.
hex eap identity 0201000c0136303030303031
hex eap challenge 0101004432010000010500001111111111111111111111111111111102050000222222222222222222222222222222221704000757414e0018010001
hex eap synchronization 02010018320400000404333333333333333333333333333333
hex eap notification 0101000c320c00000c014000

# PFCP: heartbeat, association setup with node ID and recovery time stamp, session establishment
# with an uplink PDR and its FAR, deletion, a report of usage.
hex pfcp heartbeat 2001000c0000010000600004e8000001
hex pfcp association 2005001500000200003c0005007f000007
hex pfcp association_full 2005001900000200003c0005007f00000700600004e8000001
hex pfcp establishment 2132006b000000000000000000000300003c0005007f0000070039000d020000000000000001
hex pfcp deletion 2136000c000000000000000100000400
hex pfcp report 2138002000000000000000010000050000270001020050000e0051000400000001006800040000

# GTP-U: a G-PDU with a PDU session container, an echo request, an error indication, an end marker.
hex gtpu gpdu 34ff001c0000000100000085011001004500001400000000400100000a2d00010a2d0002
hex gtpu echo 3201000400000000000a0000
hex gtpu error 321a0010000000000000000010000000018500047f000005
hex gtpu end_marker 30fe000000000001

# DNS: an answer with CNAME and A (RFC 1035).
hex dns_answer answer 123481800001000200000000076578616d706c6503636f6d0000010001c00c000500010000003c00060363616ec00cc029000100010000003c00045db8d822

# TLS 1.3 records: a Client Hello, application data, an alert.
hex lcs_records hello 160301002f0100002b03030000000000000000000000000000000000000000000000000000000000000000000002130101000000
hex lcs_records data 1703030013000102030405060708090a0b0c0d0e0f101112
hex lcs_records alert 15030300020228
hex lcs_arq data 0000000000000001000a68656c6c6f

for program in ../upf/switch/p4/upf_*.p4 ../upf/switch/target/tests/examples/*.p4; do
    mkdir -p corpus/p4c_swx
    cp "$program" corpus/p4c_swx/
done
printf '%s' '{"supi":"imsi-001010000000001","key":"465b5ce8b199b49faa5f0a2ee238a6bc","opc":"cd63'\
'cb71954a9f4e48a5994e37a02baf","amf":"8000","sqn":"000000000020"}' |
    text subscriber small
for supi in nai-user@realm.example 'nai-a/b?c%41' gci-00-11@5gc.example gli-x; do
    printf '{"supi":"%s","key":"465b5ce8b199b49faa5f0a2ee238a6bc","opc":"cd63cb71954a9f4e48a5994e3'\
'7a02baf","amf":"8000","sqn":"000000000020"}' "$supi" |
        text subscriber "${supi%%-*}-${#supi}"
done
printf '\x00\x01\x02\x03AMF\x00' | text sbi_compact short

# A document and a patch; a flow description and a packet.
printf '%s\n%s' '{"a":{"b":[1,2]},"sqn":"000000000020"}' '[{"op":"test","path":"/sqn","value":"00'\
'00'\
'00000020"},{"op":"replace","path":"/sqn","value":"000000000021"},{"op":"add","path":"/a/b/-","value'\
'":3},{"op":"copy","from":"/a","path":"/c"},{"op":"move","from":"/c","path":"/d"},{"op":"remove","pa'\
'th":"/d"}]' |
    text json_patch all
printf 'permit out 17 from 10.0.0.0/8 53,1000-2000 to assigned\n\x45\x00\x00\x1c\x00\x00'\
'\x00\x00\x40'\
'\x11\x00\x00\x0a\x2d\x00\x01\x0a\x2d\x00\x02\x00\x35\x04\x00\x00\x08\x00\x00' |
    text sdf_filter udp
printf 'permit out ip from !2001:db8::/32 to any' | text sdf_filter ipv6

# Packets of UEs: UDP, ESP, IPv6 with extension headers, a frame with two VLAN tags.
hex ue_packet udp 4500001c00000000401100000a2d00010a2d0002003504000008000045000000
hex ue_packet esp 4500001800000000403200000a2d00010a2d000200001234
hex ue_packet ipv6 6000000000180040fd000000000000000000000000000001fd0000000000000000000000000000022c00000000000000110000010000000100350400000800000000
hex ue_packet frame 02000000000102000000000288a80064810000c808004500001c0000000040110000

# Access tokens: one as text, and claims that the target signs.
printf '\x00eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJhIiwic3ViIjoiYiIsImF1ZCI6IlVETSIsInNjb3BlIjoibnVkbS1z'\
'ZG0iLCJleHAiOjQxMDI0NDQ4MDB9.AAAA' |
    text access_token token
printf '\x01{"iss":"3fa85f64-5717-4562-b3fc-2c963f66afa6","sub":"a","aud":["UDM"],"scope":"nudm-sdm'\
' nudm-uecm","exp":4102444800}' |
    text access_token claims

# Imports of subscribers: CSV, our own JSON, Open5GS, free5GC and UERANSIM.
printf '\x01imsi,key,opc,slice,dnn\n001010000000001,465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a'\
'9f4e48a5994e37a02baf,1-0000a7,internet\n' |
    text subscriber_import csv
printf '\x01supi,key,opc\nnai-user@realm.example,465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e'\
'48a5994e37a02baf\ngci-00-11@5gc.example,465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e'\
'37a02baf\n' |
    text subscriber_import csv-supi
printf '\x02[{"supi":"imsi-001010000000001","key":"465b5ce8b199b49faa5f0a2ee238a6bc","opc":"cd63cb'\
'71954a9f4e48a5994e37a02baf","amf":"8000","sqn":"000000000020"}]' |
    text subscriber_import martlet
printf '\x03{"imsi":"001010000000001","security":{"k":"465B5CE8 B199B49F AA5F0A2E E238A6BC","opc":'\
'"cd63cb71954a9f4e48a5994e37a02baf","amf":"8000","sqn":{"$numberLong":"32"}},"slice":[{"sst":1,"def'\
'ault_indicator":true,"session":[{"name":"internet","type":3,"qos":{"index":9}}]}]}' |
    text subscriber_import open5gs
printf '\x04{"ueId":"imsi-001010000000001","plmnID":"00101","AuthenticationSubscription":{"authenti'\
'cationMethod":"5G_AKA","permanentKey":{"permanentKeyValue":"465b5ce8b199b49faa5f0a2ee238a6bc"},"seq'\
'uenceNumber":"000000000020","authenticationManagementField":"8000","opc":{"opcValue":"cd63cb71954a9'\
'f4e48a5994e37a02baf"}}}' |
    text subscriber_import free5gc
printf "\x05supi: 'imsi-001010000000001'\nmcc: '001'\nmnc: '01'\nkey: '465B5CE8B199B49FAA5F0A2EE23"\
"8A6BC'\nop: 'CD63CB71954A9F4E48A5994E37A02BAF'\nopType: 'OPC'\namf: '8000'\nsessions:\n  - type: "\
"'IPv4'\n    apn: 'internet'\n    slice:\n      sst: 1\n" |
    text subscriber_import ueransim

# P4Runtime: a write request with one update, and a read request for a table.
hex p4runtime write 08011a0408001001220d0801120912070881808010220000
hex p4runtime read 080112040a020801
