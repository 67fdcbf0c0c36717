// The user plane pipeline on the Tofino Native Architecture. All of it is in the ingress, and the
// egress is bypassed.
//
// Counters and meters see the whole frame, with its Ethernet header and its tunnel.
#include <core.p4>
#include <tna.p4>
#include "upf_headers.p4"

// The PCIe port of the switch's CPU. There is no port that holds packets: the controller gets them.
const port_t PORT_CONTROLLER = 64;
const port_t PORT_HOLD = 64;

#include "upf_parser.p4"

const bit<8> METER_GREEN = 0;

control Police(inout metadata_t meta) {
    // Per rule: packets that a meter or a closed gate dropped.
    Counter<bit<64>, bit<32>>(262144, CounterType_t.PACKETS_AND_BYTES) dropped;
    // As many as rules: a session has one per direction.
    Meter<bit<32>>(262144, MeterType_t.BYTES) session_meter;
    Meter<bit<32>>(131072, MeterType_t.BYTES) application_meter;
    bit<8> colour = METER_GREEN;

    apply {
        if (meta.session_meter_index != 0 && meta.closed == 0) {
            colour = session_meter.execute(meta.session_meter_index);
            if (colour != METER_GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.application_meter_index != 0 && meta.closed == 0) {
            colour = application_meter.execute(meta.application_meter_index);
            if (colour != METER_GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.closed != 0) {
            dropped.count(meta.counter);
            meta.drop = 1;
        }
    }
}

control Count(inout metadata_t meta) {
    // Per rule: forwarded packets and their bytes.
    Counter<bit<64>, bit<32>>(262144, CounterType_t.PACKETS_AND_BYTES) rules;

    apply {
        rules.count(meta.counter);
    }
}

// The deparser makes the checksum.
control OuterChecksum(inout headers_t hdr) {
    apply {
    }
}

#include "upf_pipeline.p4"
#include "upf_deparser.p4"

parser UpfIngressParser(packet_in packet, out headers_t hdr, out metadata_t meta,
        out ingress_intrinsic_metadata_t istd) {
    UpfParser() upf;

    state start {
        packet.extract(istd);
        packet.advance(PORT_METADATA_SIZE);
        meta.ingress_port = (port_t) istd.ingress_port;
        upf.apply(packet, hdr, meta);
        transition accept;
    }
}

control UpfIngress(inout headers_t hdr, inout metadata_t meta,
        in ingress_intrinsic_metadata_t istd,
        in ingress_intrinsic_metadata_from_parser_t parser_meta,
        inout ingress_intrinsic_metadata_for_deparser_t deparser_meta,
        inout ingress_intrinsic_metadata_for_tm_t ostd) {
    Upf() upf;

    apply {
        upf.apply(hdr, meta);
        if (meta.drop != 0) {
            deparser_meta.drop_ctl = 1;
        } else {
            ostd.ucast_egress_port = (PortId_t) meta.egress_port;
        }
        ostd.bypass_egress = 1;
    }
}

control UpfIngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
        in ingress_intrinsic_metadata_for_deparser_t deparser_meta) {
    Checksum() checksum;
    UpfDeparser() upf;

    apply {
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = checksum.update({
                hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.total_length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.fragment,
                hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol,
                hdr.outer_ipv4.source, hdr.outer_ipv4.destination
            });
        }
        upf.apply(packet, hdr);
    }
}

struct no_headers_t {
}

struct no_metadata_t {
}

parser UpfEgressParser(packet_in packet, out no_headers_t hdr, out no_metadata_t meta,
        out egress_intrinsic_metadata_t istd) {
    state start {
        packet.extract(istd);
        transition accept;
    }
}

control UpfEgress(inout no_headers_t hdr, inout no_metadata_t meta,
        in egress_intrinsic_metadata_t istd,
        in egress_intrinsic_metadata_from_parser_t parser_meta,
        inout egress_intrinsic_metadata_for_deparser_t deparser_meta,
        inout egress_intrinsic_metadata_for_output_port_t port_meta) {
    apply {
    }
}

control UpfEgressDeparser(packet_out packet, inout no_headers_t hdr, in no_metadata_t meta,
        in egress_intrinsic_metadata_for_deparser_t deparser_meta) {
    apply {
    }
}

Pipeline(UpfIngressParser(), UpfIngress(), UpfIngressDeparser(), UpfEgressParser(), UpfEgress(),
        UpfEgressDeparser()) pipe;

Switch(pipe) main;
