// Equivalent to DPDK's meter.spec: the colour of the source's meter is the egress port.
struct headers_t { ethernet_h ethernet; ipv4_h ipv4; }
struct metadata_t { bit<8> colour; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta, in swx_input_t input) {
    state start { packet.extract(hdr.ethernet); packet.extract(hdr.ipv4); transition accept; }
}
control Change(inout headers_t hdr, inout metadata_t meta, in swx_input_t input,
        inout swx_output_t output) {
    Meter<bit<32>>(65536) meters;
    apply {
        meta.colour = meters.execute(hdr.ipv4.src_addr, hdr.ipv4.total_len);
        output.egress_port = 0;
        if (meta.colour == 1) {
            output.egress_port = 1;
        } else if (meta.colour == 2) {
            output.egress_port = 2;
        }
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
Switch(Read(), Change(), Write()) main;
