// The user plane pipeline on the Portable Switch Architecture. All of it is in the ingress.
//
// Counters and meters see the whole frame, with its Ethernet header and its tunnel.
#include <core.p4>
#include <psa.p4>
#include "upf_headers.p4"

// PSA_PORT_CPU. There is no port that holds packets: the controller gets them.
const port_t PORT_CONTROLLER = 0xfffffffd;
const port_t PORT_HOLD = 0xfffffffd;

#include "upf_parser.p4"

control Police(inout metadata_t meta) {
    // Per rule: packets that a meter or a closed gate dropped.
    Counter<bit<64>, bit<32>>(262144, PSA_CounterType_t.PACKETS_AND_BYTES) dropped;
    // As many as rules: a session has one per direction.
    Meter<bit<32>>(262144, PSA_MeterType_t.BYTES) session_meter;
    Meter<bit<32>>(131072, PSA_MeterType_t.BYTES) application_meter;
    PSA_MeterColor_t colour;

    apply {
        if (meta.session_meter_index != 0 && meta.closed == 0) {
            colour = session_meter.execute(meta.session_meter_index);
            if (colour != PSA_MeterColor_t.GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.application_meter_index != 0 && meta.closed == 0) {
            colour = application_meter.execute(meta.application_meter_index);
            if (colour != PSA_MeterColor_t.GREEN) {
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
    Counter<bit<64>, bit<32>>(262144, PSA_CounterType_t.PACKETS_AND_BYTES) rules;

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

struct empty_t {
}

parser UpfIngressParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
        in psa_ingress_parser_input_metadata_t istd, in empty_t resubmit_meta,
        in empty_t recirculate_meta) {
    UpfParser() upf;

    state start {
        meta.ingress_port = (PortIdUint_t) istd.ingress_port;
        upf.apply(packet, hdr, meta);
        transition accept;
    }
}

control UpfIngress(inout headers_t hdr, inout metadata_t meta,
        in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {
    Upf() upf;

    apply {
        upf.apply(hdr, meta);
        if (meta.drop != 0) {
            ingress_drop(ostd);
        } else {
            send_to_port(ostd, (PortId_t) meta.egress_port);
        }
    }
}

control UpfIngressDeparser(packet_out packet, out empty_t clone_i2e_meta,
        out empty_t resubmit_meta, out empty_t normal_meta, inout headers_t hdr,
        in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    InternetChecksum() checksum;
    UpfDeparser() upf;

    apply {
        // Without a condition, which p4c's back end for BMv2 refuses in a deparser. A header that
        // is not valid is not emitted, so this has no effect on it.
        checksum.clear();
        checksum.add({
            hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.total_length,
            hdr.outer_ipv4.identification, hdr.outer_ipv4.fragment,
            hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol,
            hdr.outer_ipv4.source, hdr.outer_ipv4.destination
        });
        hdr.outer_ipv4.checksum = checksum.get();
        upf.apply(packet, hdr);
    }
}

struct no_headers_t {
}

parser UpfEgressParser(packet_in packet, out no_headers_t hdr, inout empty_t meta,
        in psa_egress_parser_input_metadata_t istd, in empty_t normal_meta,
        in empty_t clone_i2e_meta, in empty_t clone_e2e_meta) {
    state start {
        transition accept;
    }
}

control UpfEgress(inout no_headers_t hdr, inout empty_t meta,
        in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {
    apply {
    }
}

control UpfEgressDeparser(packet_out packet, out empty_t clone_e2e_meta,
        out empty_t recirculate_meta, inout no_headers_t hdr, in empty_t meta,
        in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
    }
}

IngressPipeline(UpfIngressParser(), UpfIngress(), UpfIngressDeparser()) ingress;

EgressPipeline(UpfEgressParser(), UpfEgress(), UpfEgressDeparser()) egress;

PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
