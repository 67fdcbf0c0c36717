// Constants, headers and metadata of the user plane pipeline, for any architecture.

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<32> port_t;
typedef bit<32> teid_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<8> IPV4_WITHOUT_OPTIONS = 0x45;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> PORT_GTPU = 2152;

// TS 29.281, 5.1: version 1, protocol type GTP; either no flag, or only that of extension headers.
const bit<8> GTPU_PLAIN = 0x30;
const bit<8> GTPU_EXTENDED = 0x34;
const bit<8> GTPU_G_PDU = 255;
// TS 29.281, 5.2.1, and TS 38.415, 5.5.2.
const bit<8> EXTENSION_PDU_SESSION = 0x85;

// How a packet is processed further. Up to `PATH_DOWNLINK` by the session's rules; with
// `PATH_DEFAULT` by no rule, so that the native UPF gets it; with `PATH_NONE` not at all.
const bit<8> PATH_UPLINK = 1;
const bit<8> PATH_DOWNLINK = 2;
const bit<8> PATH_DEFAULT = 8;
const bit<8> PATH_DEFAULT_GTP = 9;
const bit<8> PATH_DEFAULT_IP = 10;
const bit<8> PATH_HELD = 16;
const bit<8> PATH_NONE = 32;

// What is applied to a session's packets in addition to the lookup: nothing, filters, or hold.
const bit<8> WHOLE = 0;
const bit<8> FILTERED = 1;
const bit<8> HELD = 2;

const bit<8> PROTOCOL_SCTP = 132;
const bit<8> PROTOCOL_ICMPV6 = 58;
const bit<16> IPV4_HEADER = 20;
const bit<16> IPV6_HEADER = 40;
// A header, and the ports behind it.
const bit<16> IPV4_AND_PORTS = 24;
const bit<16> IPV6_AND_PORTS = 44;
const bit<8> VERSION_4 = 4;
const bit<8> VERSION_6 = 6;
// Version 6, no traffic class, no flow label.
const bit<32> IPV6_PLAIN = 0x60000000;
// All bits of the flags and the fragment offset except "don't fragment".
const bit<16> FRAGMENTED = 0xbfff;
// Upper halves of link-local and multicast addresses.
const bit<64> LINK_LOCAL = 0xfe80000000000000;
const bit<64> LINK_LOCAL_MASK = 0xffc0000000000000;
const bit<64> MULTICAST = 0xff00000000000000;
// The same of NAT64 and 6to4, which have IPv4 addresses in them.
const bit<64> NAT64 = 0x0064ff9b00000000;
const bit<64> NAT64_MASK = 0xffffffff00000000;
const bit<64> SIX_TO_FOUR = 0x2002000000000000;
const bit<64> SIX_TO_FOUR_MASK = 0xffff000000000000;
// The first group address. Groups, and the reserved addresses above them, are in no data network.
const bit<32> GROUPS = 0xe0000000;
const bit<32> UPPER_16 = 0xffff0000;
const bit<32> UPPER_24 = 0xffffff00;

// Whether destinations of packets from UEs are looked up in the perimeter.
const bit<8> PERIMETER_NONE = 0;
// IPv6 packets all go to the native UPF.
const bit<8> PERIMETER_WITHOUT_V6 = 2;
// All packets do.
const bit<8> PERIMETER_NATIVE = 3;

// The result of such a lookup.
const bit<8> REACHABLE = 0;
const bit<8> SOME_ISOLATED = 1;
const bit<8> ISOLATED = 2;

header ethernet_h {
    mac_t destination;
    mac_t source;
    bit<16> ether_type;
}

header ipv4_h {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> total_length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
}

// An address consists of two halves, since fields have at most 64 bits.
header ipv6_h {
    bit<32> version_class_flow;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<64> source_high;
    bit<64> source_low;
    bit<64> destination_high;
    bit<64> destination_low;
}

header udp_h {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

// The ports of TCP or UDP.
header ports_h {
    bit<16> source;
    bit<16> destination;
}

header gtpu_h {
    bit<8> flags;
    bit<8> message_type;
    bit<16> length;
    teid_t teid;
}

// The optional fields of GTP-U, and the PDU session container (TS 38.415).
header container_h {
    bit<16> sequence;
    bit<8> n_pdu;
    bit<8> next;
    bit<8> length;
    bit<8> pdu_type;
    bit<8> qfi;
    bit<8> next_after;
}

@controller_header("packet_in")
header packet_in_h {
    port_t ingress_port;
}

@controller_header("packet_out")
header packet_out_h {
    port_t egress_port;
}

struct headers_t {
    packet_in_h packet_in;
    packet_out_h packet_out;
    ethernet_h ethernet;
    // Headers that encapsulation adds.
    ipv4_h outer_ipv4;
    ipv6_h outer_ipv6;
    udp_h outer_udp;
    gtpu_h outer_gtpu;
    container_h outer_container;
    // Headers of the received packet.
    ipv4_h ipv4;
    ipv6_h ipv6;
    udp_h udp;
    ports_h ports;
    gtpu_h gtpu;
    container_h container;
    ipv4_h inner_ipv4;
    ipv6_h inner_ipv6;
    ports_h inner_ports;
}

struct metadata_t {
    // Between the architecture and this program: the port of arrival, the port of departure, and
    // whether the packet is dropped.
    port_t ingress_port;
    port_t egress_port;
    bit<8> drop;
    bit<8> path;
    // For a tunnelled packet: the difference between the GTP-U payload length and the inner
    // packet's length.
    bit<16> overhead;
    bit<16> expected;
    // Length of the outer packet without its IP header.
    bit<16> outer_length;
    // The UE's IPv4 address and its IPv6 prefix; 0: none.
    ipv4_t ue;
    bit<64> ue_v6;
    // Keys of `uplink_terminations` and `downlink_terminations`, one behind the other: p4c-dpdk
    // copies the key of an exact table otherwise.
    bit<32> session;
    bit<32> application;
    // Address and port of the remote end, and the protocol, in either direction; keys of
    // `applications`.
    ipv4_t remote;
    bit<16> remote_port;
    bit<8> protocol;
    // The halves of an IPv6 address; keys of `applications_v6`.
    bit<64> remote_high;
    bit<64> remote_low;
    bit<8> filtered;
    // The version of the packet that filters look at.
    bit<8> version;
    // The gate of the flow is closed, or a meter is exceeded.
    bit<8> closed;
    // The QFI of a tunnelled packet, and the one that its rule requires; 0: any.
    bit<8> packet_qfi;
    bit<8> required_qfi;
    // The UEs' networks: packets between UEs go to the native UPF.
    ipv4_t ues;
    ipv4_t ues_mask;
    bit<64> ues_v6;
    bit<64> ues_v6_mask;
    // Our N3 addresses: packets from UEs to them go to the native UPF, and so do tunnels to other
    // addresses. 0: unknown; all ones: none.
    ipv4_t own;
    bit<64> own_high;
    bit<64> own_low;
    // Where UEs may not send: see `blocks`.
    bit<8> perimeter;
    bit<8> isolation;
    bit<32> block;
    // The sender of a tunnelled packet: its IPv4 address, or the number of its IPv6 address in
    // `ipv6_gnbs`; and the one that the session requires; 0: any.
    bit<32> sender;
    bit<32> gnb;
    // The longest packet that fits into a tunnel.
    bit<16> longest;
    bit<32> counter;
    bit<32> session_meter_index;
    bit<32> application_meter_index;
    bit<16> bytes;
    bit<32> next_hop;
    // The next hop of IPv6 packets to the data network.
    bit<32> next_hop_v6;
    // The entry of `ipv6_peers` for a tunnel over IPv6; 0: over IPv4.
    bit<32> peer;
    teid_t teid;
    ipv4_t tunnel_source;
    ipv4_t tunnel_destination;
    bit<8> qfi;
    bit<8> tunnel_tos;
}
