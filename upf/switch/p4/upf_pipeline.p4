// The pipeline, for any architecture. A file of an architecture defines, before it includes this
// one:
//
//   Police(inout metadata_t)       executes the meters of the session and the application; drops
//                                  and counts the packet if one is exceeded, or if `closed` is set
//   Count(inout metadata_t)        counts the packet for its rule
//   OuterChecksum(inout headers_t) the checksum of `outer_ipv4`, where a deparser cannot do it
//   PORT_CONTROLLER, PORT_HOLD     ports of packets for the controller, and of packets that wait
//
// A verdict is in the metadata: `drop`, else `egress_port`.

control Upf(inout headers_t hdr, inout metadata_t meta) {
    Count() count;
    Police() police;
    OuterChecksum() outer_checksum;

    // ── Ingress ports ───────────────────────────────────────────────

    action access(ipv4_t ues, ipv4_t ues_mask, bit<64> ues_v6, bit<64> ues_v6_mask, ipv4_t own,
            bit<64> own_high, bit<64> own_low) {
        meta.path = PATH_UPLINK;
        meta.ues = ues;
        meta.ues_mask = ues_mask;
        meta.ues_v6 = ues_v6;
        meta.ues_v6_mask = ues_v6_mask;
        meta.own = own;
        meta.own_high = own_high;
        meta.own_low = own_low;
        meta.perimeter = PERIMETER_NONE;
    }
    // The same with the perimeter.
    action access_checked(ipv4_t ues, ipv4_t ues_mask, bit<64> ues_v6, bit<64> ues_v6_mask,
            ipv4_t own, bit<64> own_high, bit<64> own_low, bit<8> perimeter) {
        meta.path = PATH_UPLINK;
        meta.ues = ues;
        meta.ues_mask = ues_mask;
        meta.ues_v6 = ues_v6;
        meta.ues_v6_mask = ues_v6_mask;
        meta.own = own;
        meta.own_high = own_high;
        meta.own_low = own_low;
        meta.perimeter = perimeter;
    }
    action core(bit<16> longest) {
        meta.peer = 0;
        meta.path = PATH_DOWNLINK;
        meta.longest = longest;
    }
    // From the native UPF: to the port on the other side of the wire.
    action native(port_t peer) {
        meta.path = PATH_NONE;
        meta.egress_port = peer;
    }
    action drop() {
        meta.drop = 1;
    }
    table interfaces {
        key = { meta.ingress_port : exact @name("port"); }
        actions = { access; access_checked; core; native; drop; }
        const default_action = drop;
        size = 64;
    }

    // ── Packets without a rule ──────────────────────────────────────

    action to_native(port_t port) {
        meta.egress_port = port;
    }
    action to_controller() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.ingress_port;
        meta.egress_port = PORT_CONTROLLER;
    }
    table gtp_default_forward {
        key = { meta.ingress_port : exact @name("port"); }
        actions = { to_native; to_controller; drop; }
        default_action = drop;
        size = 64;
    }
    table ip_default_forward {
        key = { meta.ingress_port : exact @name("port"); }
        actions = { to_native; to_controller; drop; }
        default_action = drop;
        size = 64;
    }

    // Holds the packet, with its ingress port in front.
    action hold() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.ingress_port;
        meta.egress_port = PORT_HOLD;
    }

    // ── The perimeter ───────────────────────────────────────────────

    // Packets from UEs to addresses of the machine, of the core and of other peers of N3 go to the
    // native UPF, which drops and counts them. Entries are exact: a block of 16 bits is isolated as
    // a whole, or has isolated blocks of 24 bits or hosts in it.
    action isolate() {
        meta.isolation = ISOLATED;
    }
    action look_closer() {
        meta.isolation = SOME_ISOLATED;
    }
    table blocks {
        key = { meta.block : exact @name("block"); }
        actions = { isolate; look_closer; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    table blocks_24 {
        key = { meta.block : exact @name("block"); }
        actions = { isolate; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    table hosts {
        key = { meta.remote : exact @name("host"); }
        actions = { isolate; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    // By the upper halves of addresses.
    table blocks_v6 {
        key = { meta.remote_high : exact @name("block"); }
        actions = { isolate; look_closer; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    table hosts_v6 {
        key = {
            meta.remote_low : ternary @name("low");
            meta.remote_high : ternary @name("high");
        }
        actions = { isolate; NoAction; }
        const default_action = NoAction;
        size = 4096;
    }

    // The numbers of gNBs that have IPv6 addresses.
    action gnb_number(bit<32> number) {
        meta.sender = number;
    }
    table ipv6_gnbs {
        key = {
            hdr.ipv6.source_low : ternary @name("low");
            hdr.ipv6.source_high : ternary @name("high");
        }
        actions = { gnb_number; NoAction; }
        const default_action = NoAction;
        size = 4096;
    }

    // ── From a tunnel to the data network ───────────────────────────

    // While a flow moves here from the native UPF, its packets are held at port 6 until earlier
    // ones have left the native UPF. The target reinjects them in order when this entry changes or
    // is deleted.
    action hold_uplink() {
        meta.ue = hdr.inner_ipv4.source;
        meta.ue_v6 = hdr.inner_ipv6.source_high;
        meta.required_qfi = 0;
        meta.gnb = 0;
        meta.filtered = HELD;
    }
    // A whole session: every packet of this UE address and, unless they are 0, of this QFI and from
    // this gNB.
    action decap(ipv4_t ue, @name("counter") bit<32> counter_index,
            @name("meter") bit<32> meter_index, bit<32> next_hop, bit<8> qfi, bit<32> gnb) {
        meta.ue = ue;
        meta.gnb = gnb;
        meta.required_qfi = qfi;
        meta.counter = counter_index;
        meta.session_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    // A session with application filters: see `applications` and `uplink_terminations`.
    action decap_filtered(ipv4_t ue, bit<32> session, @name("meter") bit<32> meter_index,
            bit<32> gnb) {
        meta.ue = ue;
        meta.gnb = gnb;
        meta.required_qfi = 0;
        meta.session = session;
        meta.session_meter_index = meter_index;
        meta.filtered = FILTERED;
    }
    // The same for a UE with an IPv6 prefix, and possibly an IPv4 address; 0: none.
    action decap_v6(ipv4_t ue, bit<64> prefix, @name("counter") bit<32> counter_index,
            @name("meter") bit<32> meter_index, bit<32> next_hop, bit<32> next_hop_v6, bit<8> qfi,
            bit<32> gnb) {
        meta.ue = ue;
        meta.gnb = gnb;
        meta.ue_v6 = prefix;
        meta.required_qfi = qfi;
        meta.counter = counter_index;
        meta.session_meter_index = meter_index;
        meta.next_hop = next_hop;
        meta.next_hop_v6 = next_hop_v6;
    }
    action decap_filtered_v6(ipv4_t ue, bit<64> prefix, bit<32> session,
            @name("meter") bit<32> meter_index, bit<32> gnb) {
        meta.ue = ue;
        meta.gnb = gnb;
        meta.ue_v6 = prefix;
        meta.required_qfi = 0;
        meta.session = session;
        meta.session_meter_index = meter_index;
        meta.filtered = FILTERED;
    }
    table gtp_decap {
        key = { hdr.gtpu.teid : exact @name("teid"); }
        actions = { decap; decap_filtered; decap_v6; decap_filtered_v6; hold_uplink; NoAction; }
        const default_action = NoAction;
        size = 131072;
    }

    // ── From the data network into a tunnel ─────────────────────────

    action hold_downlink() {
        meta.filtered = HELD;
    }
    action encap(teid_t teid, ipv4_t source, ipv4_t destination, bit<8> qfi, bit<8> tos,
            @name("counter") bit<32> counter_index, @name("meter") bit<32> meter_index,
            bit<32> next_hop) {
        meta.teid = teid;
        meta.tunnel_source = source;
        meta.tunnel_destination = destination;
        meta.qfi = qfi;
        meta.tunnel_tos = tos;
        meta.counter = counter_index;
        meta.session_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    // The same over IPv6: `peer` is an entry of `ipv6_peers`.
    action encap6(teid_t teid, bit<32> peer, bit<8> qfi, @name("counter") bit<32> counter_index,
            @name("meter") bit<32> meter_index, bit<32> next_hop) {
        meta.teid = teid;
        meta.peer = peer;
        meta.qfi = qfi;
        meta.counter = counter_index;
        meta.session_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    action encap_filtered(bit<32> session, @name("meter") bit<32> meter_index) {
        meta.session = session;
        meta.session_meter_index = meter_index;
        meta.filtered = FILTERED;
    }
    table gtp_encap {
        key = { hdr.ipv4.destination : exact @name("ue"); }
        actions = { encap; encap6; encap_filtered; hold_downlink; NoAction; }
        const default_action = NoAction;
        size = 131072;
    }
    // UEs have IPv6 prefixes of 64 bits (TS 23.501, 5.8.2.2.3): the upper half of an address.
    table gtp_encap_v6 {
        key = { hdr.ipv6.destination_high : exact @name("prefix"); }
        actions = { encap; encap6; encap_filtered; hold_downlink; NoAction; }
        const default_action = NoAction;
        size = 131072;
    }

    // ── Applications of a session ───────────────────────────────────

    action application(@name("application") bit<32> number) {
        meta.application = number;
    }
    // Addresses are matched with masks, since architectures refuse longest prefixes beside other
    // masks.
    table applications {
        key = {
            meta.session : ternary @name("session");
            meta.remote : ternary @name("remote");
            meta.remote_port : range @name("remote_port");
            meta.protocol : ternary @name("protocol");
            meta.packet_qfi : ternary @name("qfi");
        }
        actions = { application; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    // An IPv6 address is matched by its halves, with masks.
    table applications_v6 {
        key = {
            meta.session : ternary @name("session");
            meta.remote_high : ternary @name("remote_high");
            meta.remote_low : ternary @name("remote_low");
            meta.remote_port : range @name("remote_port");
            meta.protocol : ternary @name("protocol");
            meta.packet_qfi : ternary @name("qfi");
        }
        actions = { application; NoAction; }
        const default_action = NoAction;
        size = 8192;
    }
    action uplink_forward(@name("counter") bit<32> counter_index,
            @name("meter") bit<32> meter_index, bit<32> next_hop) {
        meta.counter = counter_index;
        meta.application_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    action uplink_forward_v6(@name("counter") bit<32> counter_index,
            @name("meter") bit<32> meter_index, bit<32> next_hop, bit<32> next_hop_v6) {
        meta.counter = counter_index;
        meta.application_meter_index = meter_index;
        meta.next_hop = next_hop;
        meta.next_hop_v6 = next_hop_v6;
    }
    action gate_closed(@name("counter") bit<32> counter_index) {
        meta.counter = counter_index;
        meta.closed = 1;
    }
    table uplink_terminations {
        key = {
            meta.session : exact @name("session");
            meta.application : exact @name("application");
        }
        actions = { uplink_forward; uplink_forward_v6; gate_closed; NoAction; }
        const default_action = NoAction;
        size = 131072;
    }
    action downlink_forward(teid_t teid, ipv4_t source, ipv4_t destination, bit<8> qfi, bit<8> tos,
            @name("counter") bit<32> counter_index, @name("meter") bit<32> meter_index,
            bit<32> next_hop) {
        meta.teid = teid;
        meta.tunnel_source = source;
        meta.tunnel_destination = destination;
        meta.qfi = qfi;
        meta.tunnel_tos = tos;
        meta.counter = counter_index;
        meta.application_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    action downlink_forward6(teid_t teid, bit<32> peer, bit<8> qfi,
            @name("counter") bit<32> counter_index, @name("meter") bit<32> meter_index,
            bit<32> next_hop) {
        meta.teid = teid;
        meta.peer = peer;
        meta.qfi = qfi;
        meta.counter = counter_index;
        meta.application_meter_index = meter_index;
        meta.next_hop = next_hop;
    }
    table downlink_terminations {
        key = {
            meta.session : exact @name("session");
            meta.application : exact @name("application");
        }
        actions = { downlink_forward; downlink_forward6; gate_closed; NoAction; }
        const default_action = NoAction;
        size = 131072;
    }

    // The endpoints of tunnels over IPv6, shared by many sessions.
    action tunnel6(bit<64> source_high, bit<64> source_low, bit<64> destination_high,
            bit<64> destination_low) {
        hdr.outer_ipv6.setValid();
        hdr.outer_ipv6.version_class_flow = IPV6_PLAIN;
        hdr.outer_ipv6.next_header = PROTOCOL_UDP;
        hdr.outer_ipv6.hop_limit = 64;
        hdr.outer_ipv6.source_high = source_high;
        hdr.outer_ipv6.source_low = source_low;
        hdr.outer_ipv6.destination_high = destination_high;
        hdr.outer_ipv6.destination_low = destination_low;
    }
    table ipv6_peers {
        key = { meta.peer : exact @name("peer"); }
        actions = { tunnel6; drop; }
        const default_action = drop;
        size = 4096;
    }

    // ── Next hops ───────────────────────────────────────────────────

    action l2(mac_t source, mac_t destination, port_t port) {
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
        meta.egress_port = port;
    }
    table l2_forward {
        key = { meta.next_hop : exact @name("next_hop"); }
        actions = { l2; drop; }
        const default_action = drop;
        size = 4096;
    }

    // Each table is applied at one place: BMv2 and Tofino demand it. So a decision is written into
    // `meta.path`, and the tables that follow depend on it.
    apply {
        // Without an Ethernet header: a packet from the controller.
        if (hdr.ethernet.isValid()) {
            interfaces.apply();
        }

        if (meta.path == PATH_UPLINK) {
            // Fast path: all lengths agree, and the TTL allows forwarding. The native UPF processes
            // and counts all other packets.
            if (hdr.inner_ipv4.isValid()) {
                meta.bytes = hdr.inner_ipv4.total_length;
                meta.expected = hdr.inner_ipv4.total_length + meta.overhead;
                if (hdr.gtpu.length != meta.expected || hdr.inner_ipv4.ttl <= 1
                        || hdr.inner_ipv4.total_length < IPV4_HEADER) {
                    meta.path = PATH_DEFAULT_GTP;
                } else {
                    meta.expected = meta.expected + 16;
                    if (hdr.udp.length != meta.expected || meta.outer_length != meta.expected
                            || hdr.inner_ipv4.total_length >= meta.outer_length) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                }
            } else if (hdr.inner_ipv6.isValid()) {
                // Shorter than the outer packet, so that the sums below do not overflow.
                if (hdr.inner_ipv6.payload_length >= meta.outer_length
                        || hdr.inner_ipv6.hop_limit <= 1) {
                    meta.path = PATH_DEFAULT_GTP;
                } else {
                    meta.bytes = hdr.inner_ipv6.payload_length + IPV6_HEADER;
                    meta.expected = meta.bytes + meta.overhead;
                    if (hdr.gtpu.length != meta.expected) {
                        meta.path = PATH_DEFAULT_GTP;
                    } else {
                        meta.expected = meta.expected + 16;
                        if (hdr.udp.length != meta.expected || meta.outer_length != meta.expected) {
                            meta.path = PATH_DEFAULT_GTP;
                        }
                    }
                }
            } else if (hdr.gtpu.isValid()) {
                meta.path = PATH_DEFAULT_GTP;
            } else {
                meta.path = PATH_DEFAULT_IP;
            }
            if (meta.path == PATH_UPLINK) {
                if (gtp_decap.apply().miss) {
                    meta.path = PATH_DEFAULT_GTP;
                } else if (hdr.inner_ipv4.isValid()) {
                    // The UE owns the source address. Packets to UEs and to our own address go to
                    // the native UPF.
                    meta.remote = hdr.inner_ipv4.destination;
                    meta.remote = meta.remote & meta.ues_mask;
                    if (hdr.inner_ipv4.source != meta.ue || meta.remote == meta.ues
                            || meta.ue == 0 || hdr.inner_ipv4.destination == meta.own) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                } else if (meta.ue_v6 == 0 || hdr.inner_ipv6.source_high != meta.ue_v6) {
                    meta.path = PATH_DEFAULT_GTP;
                } else {
                    // Packets to UEs, to link-local or multicast addresses, and to IPv4 addresses
                    // within IPv6 ones, go to the native UPF.
                    meta.remote_high = hdr.inner_ipv6.destination_high;
                    meta.remote_high = meta.remote_high & meta.ues_v6_mask;
                    if (meta.remote_high == meta.ues_v6) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                    meta.remote_high = hdr.inner_ipv6.destination_high;
                    meta.remote_high = meta.remote_high & LINK_LOCAL_MASK;
                    if (meta.remote_high == LINK_LOCAL
                            || hdr.inner_ipv6.destination_high >= MULTICAST) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                    meta.remote_high = hdr.inner_ipv6.destination_high;
                    meta.remote_high = meta.remote_high & NAT64_MASK;
                    if (meta.remote_high == NAT64) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                    meta.remote_high = hdr.inner_ipv6.destination_high;
                    meta.remote_high = meta.remote_high & SIX_TO_FOUR_MASK;
                    if (meta.remote_high == SIX_TO_FOUR) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                    if (hdr.inner_ipv6.destination_low == meta.own_low
                            && hdr.inner_ipv6.destination_high == meta.own_high) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                }
            }
            if (meta.path == PATH_UPLINK) {
                // A tunnel to another host, which may have the same TEID.
                if (hdr.ipv4.isValid()) {
                    if (meta.own != 0 && hdr.ipv4.destination != meta.own) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                } else if (meta.own_high != 0) {
                    if (hdr.ipv6.destination_low != meta.own_low
                            || hdr.ipv6.destination_high != meta.own_high) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                }
                // The native UPF checks the sender once more, and where it may be in a handover.
                if (meta.gnb != 0) {
                    meta.sender = hdr.ipv4.source;
                    if (hdr.ipv6.isValid()) {
                        meta.sender = 0;
                        ipv6_gnbs.apply();
                    }
                    if (meta.sender != meta.gnb) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                }
                if (meta.perimeter != PERIMETER_NONE) {
                    meta.isolation = REACHABLE;
                    if (hdr.inner_ipv4.isValid()) {
                        if (hdr.inner_ipv4.destination >= GROUPS
                                || meta.perimeter == PERIMETER_NATIVE) {
                            meta.isolation = ISOLATED;
                        } else {
                            meta.remote = hdr.inner_ipv4.destination;
                            meta.block = hdr.inner_ipv4.destination;
                            meta.block = meta.block & UPPER_16;
                            blocks.apply();
                            if (meta.isolation == SOME_ISOLATED) {
                                meta.isolation = REACHABLE;
                                meta.block = hdr.inner_ipv4.destination;
                                meta.block = meta.block & UPPER_24;
                                blocks_24.apply();
                                hosts.apply();
                            }
                        }
                    } else if (meta.perimeter >= PERIMETER_WITHOUT_V6) {
                        meta.isolation = ISOLATED;
                    } else {
                        meta.remote_high = hdr.inner_ipv6.destination_high;
                        blocks_v6.apply();
                        if (meta.isolation == SOME_ISOLATED) {
                            meta.isolation = REACHABLE;
                            meta.remote_low = hdr.inner_ipv6.destination_low;
                            hosts_v6.apply();
                        }
                    }
                    if (meta.isolation == ISOLATED) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                }
                if (meta.required_qfi != 0 && meta.packet_qfi != meta.required_qfi) {
                    meta.path = PATH_DEFAULT_GTP;
                }
            }
        } else if (meta.path == PATH_DOWNLINK) {
            // Too long for the tunnel: the native UPF answers.
            if (hdr.ipv4.isValid()) {
                meta.bytes = hdr.ipv4.total_length;
                if (hdr.ipv4.version_ihl != IPV4_WITHOUT_OPTIONS || hdr.ipv4.ttl <= 1
                        || meta.bytes > meta.longest) {
                    meta.path = PATH_DEFAULT_IP;
                } else if (gtp_encap.apply().miss) {
                    meta.path = PATH_DEFAULT_IP;
                }
            } else if (hdr.ipv6.isValid()) {
                // The target has checked that the frame has this length, so the sum does not
                // overflow.
                meta.bytes = hdr.ipv6.payload_length + IPV6_HEADER;
                if (hdr.ipv6.hop_limit <= 1 || meta.bytes > meta.longest) {
                    meta.path = PATH_DEFAULT_IP;
                } else if (gtp_encap_v6.apply().miss) {
                    meta.path = PATH_DEFAULT_IP;
                }
            } else {
                meta.path = PATH_DEFAULT_IP;
            }
        }

        // The session's filters.
        if (meta.filtered != WHOLE && meta.path <= PATH_DOWNLINK) {
            if (meta.filtered == HELD) {
                meta.path = PATH_HELD;
            } else {
                // Filters may look at ports that the parser does not read, or that are truncated;
                // of IPv6, behind extension headers, and at ports of other protocols.
                meta.remote_port = 0;
                meta.version = VERSION_4;
                if (meta.path == PATH_UPLINK) {
                    if (hdr.inner_ipv4.isValid()) {
                        meta.remote = hdr.inner_ipv4.destination;
                        meta.protocol = hdr.inner_ipv4.protocol;
                        meta.expected = hdr.inner_ipv4.fragment;
                    } else {
                        meta.version = VERSION_6;
                        meta.remote_high = hdr.inner_ipv6.destination_high;
                        meta.remote_low = hdr.inner_ipv6.destination_low;
                        meta.protocol = hdr.inner_ipv6.next_header;
                    }
                    if (hdr.inner_ports.isValid()) {
                        meta.remote_port = hdr.inner_ports.destination;
                    }
                } else {
                    meta.packet_qfi = 0;
                    if (hdr.ipv4.isValid()) {
                        meta.remote = hdr.ipv4.source;
                        meta.protocol = hdr.ipv4.protocol;
                        meta.expected = hdr.ipv4.fragment;
                    } else {
                        meta.version = VERSION_6;
                        meta.remote_high = hdr.ipv6.source_high;
                        meta.remote_low = hdr.ipv6.source_low;
                        meta.protocol = hdr.ipv6.next_header;
                    }
                    if (hdr.ports.isValid()) {
                        meta.remote_port = hdr.ports.source;
                    }
                    if (hdr.udp.isValid()) {
                        meta.remote_port = hdr.udp.source;
                    }
                }
                if (meta.version == VERSION_4) {
                    meta.expected = meta.expected & FRAGMENTED;
                    if (meta.expected != 0 || meta.protocol == PROTOCOL_SCTP
                            || meta.bytes < IPV4_AND_PORTS) {
                        meta.path = meta.path | PATH_DEFAULT;
                    } else if (applications.apply().miss) {
                        meta.path = meta.path | PATH_DEFAULT;
                    }
                } else if (meta.protocol != PROTOCOL_UDP && meta.protocol != PROTOCOL_TCP
                        && meta.protocol != PROTOCOL_ICMPV6 || meta.bytes < IPV6_AND_PORTS) {
                    meta.path = meta.path | PATH_DEFAULT;
                } else if (applications_v6.apply().miss) {
                    meta.path = meta.path | PATH_DEFAULT;
                }
                if (meta.path == PATH_UPLINK) {
                    if (uplink_terminations.apply().miss) {
                        meta.path = PATH_DEFAULT_GTP;
                    }
                } else if (meta.path == PATH_DOWNLINK) {
                    if (downlink_terminations.apply().miss) {
                        meta.path = PATH_DEFAULT_IP;
                    }
                }
            }
        }

        // The packet changes from here on.
        if (meta.path == PATH_UPLINK) {
            // The inner packet's version determines the EtherType.
            if (hdr.inner_ipv4.isValid()) {
                hdr.ethernet.ether_type = TYPE_IPV4;
                hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
                // RFC 1624: decrementing the TTL adds 0x0100 to the checksum, with end-around
                // carry.
                if (hdr.inner_ipv4.checksum >= 0xfeff) {
                    hdr.inner_ipv4.checksum = hdr.inner_ipv4.checksum + 0x101;
                } else {
                    hdr.inner_ipv4.checksum = hdr.inner_ipv4.checksum + 0x100;
                }
            } else {
                hdr.ethernet.ether_type = TYPE_IPV6;
                hdr.inner_ipv6.hop_limit = hdr.inner_ipv6.hop_limit - 1;
                meta.next_hop = meta.next_hop_v6;
            }
            hdr.ipv4.setInvalid();
            hdr.ipv6.setInvalid();
            hdr.udp.setInvalid();
            hdr.gtpu.setInvalid();
            hdr.container.setInvalid();
        } else if (meta.path == PATH_DOWNLINK) {
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                if (hdr.ipv4.checksum >= 0xfeff) {
                    hdr.ipv4.checksum = hdr.ipv4.checksum + 0x101;
                } else {
                    hdr.ipv4.checksum = hdr.ipv4.checksum + 0x100;
                }
            } else {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
            if (meta.peer != 0) {
                if (ipv6_peers.apply().miss) {
                    meta.path = PATH_NONE;
                }
                hdr.ethernet.ether_type = TYPE_IPV6;
                hdr.outer_ipv6.payload_length = meta.bytes + 24;
            } else {
                hdr.ethernet.ether_type = TYPE_IPV4;
                hdr.outer_ipv4.setValid();
                hdr.outer_ipv4.version_ihl = IPV4_WITHOUT_OPTIONS;
                hdr.outer_ipv4.tos = meta.tunnel_tos;
                hdr.outer_ipv4.total_length = meta.bytes + 44;
                hdr.outer_ipv4.identification = 0;
                hdr.outer_ipv4.fragment = 0x4000;
                hdr.outer_ipv4.ttl = 64;
                hdr.outer_ipv4.protocol = PROTOCOL_UDP;
                hdr.outer_ipv4.source = meta.tunnel_source;
                hdr.outer_ipv4.destination = meta.tunnel_destination;
                outer_checksum.apply(hdr);
            }
            hdr.outer_udp.setValid();
            // Without a checksum: optional over IPv4 (RFC 768), and allowed for tunnels over IPv6
            // (RFC 6935). Behind setValid, which leaves fields undefined.
            hdr.outer_udp.checksum = 0;
            hdr.outer_udp.source = PORT_GTPU;
            hdr.outer_udp.destination = PORT_GTPU;
            hdr.outer_udp.length = meta.bytes + 24;
            hdr.outer_gtpu.setValid();
            hdr.outer_gtpu.flags = GTPU_EXTENDED;
            hdr.outer_gtpu.message_type = GTPU_G_PDU;
            hdr.outer_gtpu.length = meta.bytes + 8;
            hdr.outer_gtpu.teid = meta.teid;
            hdr.outer_container.setValid();
            hdr.outer_container.sequence = 0;
            hdr.outer_container.n_pdu = 0;
            hdr.outer_container.next = EXTENSION_PDU_SESSION;
            hdr.outer_container.length = 1;
            hdr.outer_container.pdu_type = 0;
            hdr.outer_container.qfi = meta.qfi;
            hdr.outer_container.next_after = 0;
        } else if (meta.path == PATH_DEFAULT_GTP) {
            gtp_default_forward.apply();
        } else if (meta.path == PATH_DEFAULT_IP) {
            ip_default_forward.apply();
        } else if (meta.path == PATH_HELD) {
            hold();
        } else if (hdr.packet_out.isValid()) {
            meta.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        }
        // Else from the native UPF, or from an unknown port.

        if (meta.path <= PATH_DOWNLINK) {
            police.apply(meta);
            if (meta.closed == 0) {
                l2_forward.apply();
                // Last: the counter was prefetched, and arrives during the lookup of the next hop.
                count.apply(meta);
            }
        }
    }
}
