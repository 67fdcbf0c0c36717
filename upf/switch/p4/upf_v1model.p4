// The user plane pipeline on v1model, which BMv2's simple_switch runs. All of it is in the ingress.
//
// Counters and meters see the whole frame, with its Ethernet header and its tunnel.
#include <core.p4>
#include <v1model.p4>
#include "upf_headers.p4"

// What simple_switch_grpc is started with: --cpu-port 510. There is no port that holds packets: the
// controller gets them.
const port_t PORT_CONTROLLER = 510;
const port_t PORT_HOLD = 510;

#include "upf_parser.p4"

const bit<8> METER_GREEN = 0;

control Police(inout metadata_t meta) {
    // Per rule: packets that a meter or a closed gate dropped.
    counter(262144, CounterType.packets_and_bytes) dropped;
    // As many as rules: a session has one per direction.
    meter(262144, MeterType.bytes) session_meter;
    meter(131072, MeterType.bytes) application_meter;
    bit<8> colour = METER_GREEN;

    apply {
        if (meta.session_meter_index != 0 && meta.closed == 0) {
            session_meter.execute_meter(meta.session_meter_index, colour);
            if (colour != METER_GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.application_meter_index != 0 && meta.closed == 0) {
            application_meter.execute_meter(meta.application_meter_index, colour);
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
    counter(262144, CounterType.packets_and_bytes) rules;

    apply {
        rules.count(meta.counter);
    }
}

// A block of its own makes the checksum.
control OuterChecksum(inout headers_t hdr) {
    apply {
    }
}

#include "upf_pipeline.p4"
#include "upf_deparser.p4"

parser UpfV1Parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
        inout standard_metadata_t standard_metadata) {
    UpfParser() upf;

    state start {
        meta.ingress_port = (port_t) standard_metadata.ingress_port;
        upf.apply(packet, hdr, meta);
        transition accept;
    }
}

control UpfVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control UpfIngress(inout headers_t hdr, inout metadata_t meta,
        inout standard_metadata_t standard_metadata) {
    Upf() upf;

    apply {
        upf.apply(hdr, meta);
        if (meta.drop != 0) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = (bit<9>) meta.egress_port;
        }
    }
}

control UpfEgress(inout headers_t hdr, inout metadata_t meta,
        inout standard_metadata_t standard_metadata) {
    apply {
    }
}

control UpfComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.outer_ipv4.isValid(), {
            hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.total_length,
            hdr.outer_ipv4.identification, hdr.outer_ipv4.fragment,
            hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol,
            hdr.outer_ipv4.source, hdr.outer_ipv4.destination
        }, hdr.outer_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control UpfV1Deparser(packet_out packet, in headers_t hdr) {
    UpfDeparser() upf;

    apply {
        upf.apply(packet, hdr);
    }
}

V1Switch(UpfV1Parser(), UpfVerifyChecksum(), UpfIngress(), UpfEgress(), UpfComputeChecksum(),
        UpfV1Deparser()) main;
