// Equivalent to DPDK's l2fwd_macswp.spec: swaps link addresses, and pairs of ports.
header ethernet_h { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
struct headers_t { ethernet_h ethernet; }
struct metadata_t { bit<48> addr; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta, in swx_input_t input) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}
control Change(inout headers_t hdr, inout metadata_t meta, in swx_input_t input,
        inout swx_output_t output) {
    action macswp() {
        meta.addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = meta.addr;
    }
    apply {
        macswp();
        output.egress_port = input.ingress_port;
        output.egress_port = output.egress_port ^ 1;
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); }
}
Switch(Read(), Change(), Write()) main;
