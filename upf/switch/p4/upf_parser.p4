// The parser, for any architecture. It reads what rules may match, and accepts everything else:
// these packets go to the native UPF.

parser UpfParser(packet_in packet, out headers_t hdr, inout metadata_t meta) {
    state start {
        meta.drop = 0;
        meta.filtered = WHOLE;
        meta.closed = 0;
        meta.session_meter_index = 0;
        meta.application_meter_index = 0;
        meta.path = PATH_NONE;
        transition select(meta.ingress_port) {
            PORT_CONTROLLER: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
    // Packets with extension headers go to the native UPF.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.outer_length = hdr.ipv6.payload_length;
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP: parse_udp;
            PROTOCOL_TCP: parse_ports;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.outer_length = hdr.ipv4.total_length - IPV4_HEADER;
        transition select(hdr.ipv4.version_ihl) {
            IPV4_WITHOUT_OPTIONS: parse_whole;
            default: accept;
        }
    }
    // Later fragments have no ports. MF and the offset have to be 0; DF may be set.
    state parse_whole {
        transition select(hdr.ipv4.fragment) {
            0x4000: parse_transport;
            0: parse_transport;
            default: accept;
        }
    }
    state parse_transport {
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_UDP: parse_udp;
            PROTOCOL_TCP: parse_ports;
            default: accept;
        }
    }
    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination) {
            PORT_GTPU: parse_gtpu;
            default: accept;
        }
    }
    state parse_gtpu {
        packet.extract(hdr.gtpu);
        transition select(hdr.gtpu.flags, hdr.gtpu.message_type) {
            (GTPU_EXTENDED, GTPU_G_PDU): parse_container;
            (GTPU_PLAIN, GTPU_G_PDU): parse_plain;
            default: accept;
        }
    }
    state parse_plain {
        meta.overhead = 0;
        meta.packet_qfi = 0;
        transition parse_inner;
    }
    // A single uplink container of one word, and nothing behind it.
    state parse_container {
        packet.extract(hdr.container);
        meta.overhead = 8;
        meta.packet_qfi = hdr.container.qfi & 0x3f;
        transition select(hdr.container.next, hdr.container.length, hdr.container.pdu_type,
                hdr.container.next_after) {
            (EXTENSION_PDU_SESSION, 1, 0x10, 0): parse_inner;
            default: accept;
        }
    }
    // The first byte of the inner packet is its version.
    state parse_inner {
        transition select(packet.lookahead<bit<8>>()) {
            IPV4_WITHOUT_OPTIONS: parse_inner_ipv4;
            0x60 &&& 0xf0: parse_inner_ipv6;
            default: accept;
        }
    }
    state parse_inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        transition parse_inner_whole;
    }
    state parse_inner_ipv6 {
        packet.extract(hdr.inner_ipv6);
        meta.ue_v6 = 0;
        transition select(hdr.inner_ipv6.next_header) {
            PROTOCOL_UDP: parse_inner_ports;
            PROTOCOL_TCP: parse_inner_ports;
            default: accept;
        }
    }
    state parse_inner_whole {
        transition select(hdr.inner_ipv4.fragment) {
            0x4000: parse_inner_transport;
            0: parse_inner_transport;
            default: accept;
        }
    }
    state parse_inner_transport {
        transition select(hdr.inner_ipv4.protocol) {
            PROTOCOL_UDP: parse_inner_ports;
            PROTOCOL_TCP: parse_inner_ports;
            default: accept;
        }
    }
    state parse_inner_ports {
        packet.extract(hdr.inner_ports);
        transition accept;
    }
}
