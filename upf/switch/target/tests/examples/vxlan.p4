// Equivalent to DPDK's vxlan.spec: frames to known link addresses are tunnelled, others dropped.
// The example updates the checksum of the outer header; here it is computed.
header udp_h { bit<16> src_port; bit<16> dst_port; bit<16> length; bit<16> checksum; }
header vxlan_h { bit<8> flags; bit<24> reserved; bit<24> vni; bit<8> reserved2; }
struct headers_t {
    ethernet_h ethernet; ipv4_h ipv4; ethernet_h outer_ethernet; ipv4_h outer_ipv4;
    udp_h outer_udp; vxlan_h outer_vxlan;
}
struct metadata_t { bit<32> unused; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta, in swx_input_t input) {
    state start { packet.extract(hdr.ethernet); packet.extract(hdr.ipv4); transition accept; }
}
control Change(inout headers_t hdr, inout metadata_t meta, in swx_input_t input,
        inout swx_output_t output) {
    action vxlan_encap(
        bit<48> ethernet_dst_addr, bit<48> ethernet_src_addr, bit<16> ethernet_ethertype,
        bit<8> ipv4_ver_ihl, bit<8> ipv4_diffserv, bit<16> ipv4_total_len,
        bit<16> ipv4_identification, bit<16> ipv4_flags_offset, bit<8> ipv4_ttl,
        bit<8> ipv4_protocol, bit<16> ipv4_hdr_checksum, bit<32> ipv4_src_addr,
        bit<32> ipv4_dst_addr, bit<16> udp_src_port, bit<16> udp_dst_port, bit<16> udp_length,
        bit<16> udp_checksum, bit<8> vxlan_flags, bit<24> vxlan_reserved, bit<24> vxlan_vni,
        bit<8> vxlan_reserved2, bit<32> port_out) {
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.dst_addr = ethernet_dst_addr;
        hdr.outer_ethernet.src_addr = ethernet_src_addr;
        hdr.outer_ethernet.ethertype = ethernet_ethertype;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.ver_ihl = ipv4_ver_ihl;
        hdr.outer_ipv4.diffserv = ipv4_diffserv;
        hdr.outer_ipv4.total_len = ipv4_total_len;
        hdr.outer_ipv4.identification = ipv4_identification;
        hdr.outer_ipv4.flags_offset = ipv4_flags_offset;
        hdr.outer_ipv4.ttl = ipv4_ttl;
        hdr.outer_ipv4.protocol = ipv4_protocol;
        hdr.outer_ipv4.hdr_checksum = ipv4_hdr_checksum;
        hdr.outer_ipv4.src_addr = ipv4_src_addr;
        hdr.outer_ipv4.dst_addr = ipv4_dst_addr;
        hdr.outer_udp.setValid();
        hdr.outer_udp.src_port = udp_src_port;
        hdr.outer_udp.dst_port = udp_dst_port;
        hdr.outer_udp.length = udp_length;
        hdr.outer_udp.checksum = udp_checksum;
        hdr.outer_vxlan.setValid();
        hdr.outer_vxlan.flags = vxlan_flags;
        hdr.outer_vxlan.reserved = vxlan_reserved;
        hdr.outer_vxlan.vni = vxlan_vni;
        hdr.outer_vxlan.reserved2 = vxlan_reserved2;
        output.egress_port = port_out;
    }
    action drop() { drop_packet(); }
    table vxlan_table {
        key = { hdr.ethernet.dst_addr : exact @name("dst_addr"); }
        actions = { vxlan_encap; drop; }
        default_action = drop;
        size = 1024;
    }
    apply {
        if (vxlan_table.apply().miss) {
            return;
        }
        hdr.outer_ipv4.total_len = hdr.outer_ipv4.total_len + hdr.ipv4.total_len;
        hdr.outer_udp.length = hdr.outer_udp.length + hdr.ipv4.total_len;
        hdr.outer_ipv4.hdr_checksum = header_checksum(hdr.outer_ipv4);
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer_ethernet);
        packet.emit(hdr.outer_ipv4);
        packet.emit(hdr.outer_udp);
        packet.emit(hdr.outer_vxlan);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}
Switch(Read(), Change(), Write()) main;
