// Forwards frames by their destination address: a smallest program for `swx.p4`.
header ethernet_h {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

struct headers_t {
    ethernet_h ethernet;
}

struct metadata_t {
    bit<32> spare;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, in swx_input_t input) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Forward(
    inout headers_t hdr,
    inout metadata_t meta,
    in swx_input_t input,
    inout swx_output_t output)
{
    action send(bit<32> port) {
        output.egress_port = port;
    }
    action drop() {
        drop_packet();
    }
    table stations {
        key = { hdr.ethernet.destination : exact; }
        actions = { send; drop; }
        const default_action = drop;
        size = 1024;
    }
    apply {
        stations.apply();
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

Switch(Parse(), Forward(), Deparse()) main;
