// Equivalent to DPDK's registers.spec: counts packets and bytes by source.
struct headers_t { ethernet_h ethernet; ipv4_h ipv4; }
struct metadata_t { bit<32> unused; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta, in swx_input_t input) {
    state start { packet.extract(hdr.ethernet); packet.extract(hdr.ipv4); transition accept; }
}
control Change(inout headers_t hdr, inout metadata_t meta, in swx_input_t input,
        inout swx_output_t output) {
    Counter<bit<64>, bit<32>>(65536) sources;
    apply {
        sources.count(hdr.ipv4.src_addr, hdr.ipv4.total_len);
        output.egress_port = input.ingress_port;
        output.egress_port = output.egress_port ^ 1;
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
Switch(Read(), Change(), Write()) main;
