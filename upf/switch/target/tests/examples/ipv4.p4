// Included by the programs that parse IPv4.
header ethernet_h { bit<48> dst_addr; bit<48> src_addr; bit<16> ethertype; }
header ipv4_h {
    bit<8> ver_ihl; bit<8> diffserv; bit<16> total_len; bit<16> identification;
    bit<16> flags_offset; bit<8> ttl;
    bit<8> protocol; bit<16> hdr_checksum; bit<32> src_addr; bit<32> dst_addr;
}
