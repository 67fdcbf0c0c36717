#!/usr/bin/env bash
# Run every fuzz target for a while, each from the messages of the tests.
#
#     fuzz/run.sh [SECONDS] [TARGET…]      30 seconds a target if not said otherwise
#
# Installs cargo-fuzz and, through rustup, a nightly toolchain where they are missing, after saying so. What a target fails on is kept in fuzz/artifacts/TARGET; run it again with `cargo +nightly fuzz run TARGET FILE`.
set -euo pipefail
cd "$(dirname "$0")"

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    if ! command -v rustup >/dev/null; then
        echo "Fuzzing needs a nightly toolchain, which Debian does not have: install rustup (https://rustup.rs) first." >&2
        exit 1
    fi
    echo "Martlet installs a nightly toolchain through rustup, and cargo-fuzz 0.13 through cargo."
    rustup toolchain install nightly --profile minimal
    cargo install cargo-fuzz --version '^0.13' --locked
fi

seconds=${1:-30}
shift || true
if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(cargo +nightly fuzz list); fi

# The last field of each line of a file of vectors is a message in hexadecimal: one file of the corpus each.
seed() { # TARGET FILE…
    local target=$1; shift
    mkdir -p "corpus/$target"
    perl -ne '
        BEGIN { $folder = shift @ARGV }
        next if /^#/ || !/([0-9a-f]+)\s*$/ || length($1) % 2;
        $octets = pack("H*", $1);
        open my $file, ">:raw", sprintf("%s/seed-%04d", $folder, ++$number) or die $!;
        print $file $octets;
    ' "corpus/$target" "$@"
}

vectors=../wire
seed nas_plain "$vectors"/nas/tests/vectors/{pycrate,ours}.tsv
seed nas_secured "$vectors"/nas/tests/vectors/{pycrate,ours}.tsv
seed ngap "$vectors"/ngap/tests/vectors/{pycrate,ours}.tsv
seed ngap_transfer "$vectors"/ngap/tests/vectors/{pycrate,ours}.tsv
seed lcsupp "$vectors"/lcsupp/tests/vectors/messages.tsv
seed lpp "$vectors"/lpp/tests/vectors/{pycrate,known}.tsv
seed nrppa "$vectors"/nrppa/tests/vectors/{pycrate,known}.tsv

# Text: what a person or another network function would write.
text() { # TARGET NAME
    mkdir -p "corpus/$1"
    cat > "corpus/$1/$2"
}
printf 'suci-0-274-012-0-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87' |
    text suci profile-a
printf 'suci-0-208-93-0-0-0-0000000001' | text suci null
printf 'multipart/related; boundary="b"\n--b\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n--b\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1\r\n\r\n\x7e\r\n--b--\r\n' |
    text sbi_body parts
printf 'application/json\n{"a":[1,2.5,null,"x"]}' | text sbi_body json
printf 'amf:\n  plmn: {mcc: "208", mnc: "93"}\n  slices:\n    - sst: 1\n      sd: "0000ff"\n' | text config_yaml small
printf '\x00{"nfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF","nfStatus":"REGISTERED"}' |
    text sbi_json profile
printf '\x04{"amfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","deregCallbackUri":"http://a/b","guami":{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe00"},"ratType":"NR"}' |
    text sbi_json registration

# A peer of the fabric: it connects, is accepted, sends and is sent to; it asks for something, and answers.
printf '\x01\x04\x03\x01\x00x\x09\x08\x01\x06\x15\x01\x00ten octets\x09\x08\x01\x07\x09\x01\x00\x10\x00\x00\x00\x09\x01\x08\x01\x01\x00\x09' |
    text fabric_channel connection
printf '\x01\x00\x15\x02\x00ten octets\x09\x07\x09\x01\x01\x14\x01\x00ten octets\x09\x04\x00\x05\x00\x01\x09' |
    text fabric_channel call
printf '\x00\x01\x02\xff\xff\xff\xff\x03a:1\x02\x00/x\x01\x01\x03\x00AMF\x01{"nfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF","nfStatus":"REGISTERED"}' |
    text fabric_frame request
printf '\x02\x01\x94\x01\x00\x02{"status":404,"cause":"USER_NOT_FOUND"}' | text fabric_frame response
printf '\x00{"type":"join","version":1,"name":"amf","model":7}\n\x00{"type":"serve","service":"calls","authority":"a:1"}\n\x01{"type":"join","version":1,"name":"udm","model":7}\n\x01{"type":"connect","service":"calls","authority":"a:1"}\n\x00{"type":"welcome","domain":"core"}\n\x00{"type":"way","service":"calls","authority":"a:1","channel":null}\n' |
    text fabric_messages join

failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    echo "== $target, $seconds s"
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 > "$log" 2>&1 || failed+=("$target")
    grep -E '^(==|SUMMARY|thread|Done|stat::number_of_executed_units|artifact_prefix)|panicked|^error' "$log" || true
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; the inputs are in fuzz/artifacts"
    exit 1
fi
echo "every target ran $seconds s without a failure"
