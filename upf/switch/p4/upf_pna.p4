// The user plane pipeline on the Portable NIC Architecture, as p4c's DPDK back end has it. Both
// engines of `martlet-switch` run this program.
//
// The switch is in the wires between the native UPF and its peers, with a port on either side of
// each wire:
//
//   gNB ── access │ switch │ native N3 ── native UPF ── native N6 │ switch │ core ── data network
//
// GTP-U tunnels of flows with rules begin and end here. All other packets go to the native UPF, and
// its packets are forwarded.
#include <core.p4>
// With the lengths of packets. In <pna.p4>, the file of the standard, methods have none.
#include <dpdk/pna.p4>
#include "upf_headers.p4"

const port_t PORT_HOLD = 6;
const port_t PORT_CONTROLLER = 7;

#include "upf_parser.p4"

control Police(inout metadata_t meta) {
    // Per rule: packets that a meter or a closed gate dropped.
    Counter<bit<64>, bit<32>>(262144, PNA_CounterType_t.PACKETS_AND_BYTES) dropped;
    // As many as rules: a session has one per direction.
    Meter<bit<32>>(262144, PNA_MeterType_t.BYTES) session_meter;
    Meter<bit<32>>(131072, PNA_MeterType_t.BYTES) application_meter;
    PNA_MeterColor_t colour;

    apply {
        if (meta.session_meter_index != 0 && meta.closed == 0) {
            colour = session_meter.dpdk_execute(meta.session_meter_index, (bit<32>) meta.bytes);
            if (colour != PNA_MeterColor_t.GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.application_meter_index != 0 && meta.closed == 0) {
            colour = application_meter.dpdk_execute(meta.application_meter_index,
                    (bit<32>) meta.bytes);
            if (colour != PNA_MeterColor_t.GREEN) {
                meta.closed = 1;
            }
        }
        if (meta.closed != 0) {
            dropped.count(meta.counter, (bit<32>) meta.bytes);
            meta.drop = 1;
        }
    }
}

control Count(inout metadata_t meta) {
    // Per rule: forwarded packets, and the bytes of their IP packets without tunnel headers, as
    // URRs count them.
    Counter<bit<64>, bit<32>>(262144, PNA_CounterType_t.PACKETS_AND_BYTES) rules;

    apply {
        rules.count(meta.counter, (bit<32>) meta.bytes);
    }
}

// PNA's deparser cannot change headers, so the checksum is made here. The whole header is added: of
// a list, p4c-dpdk adds each field alone, and DPDK takes the second byte of a word for the first.
control OuterChecksum(inout headers_t hdr) {
    InternetChecksum() checksum;

    apply {
        checksum.clear();
        hdr.outer_ipv4.checksum = 0;
        checksum.add(hdr.outer_ipv4);
        hdr.outer_ipv4.checksum = checksum.get();
    }
}

#include "upf_pipeline.p4"
#include "upf_deparser.p4"

parser MainParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
        in pna_main_parser_input_metadata_t istd) {
    UpfParser() upf;

    state start {
        meta.ingress_port = (PortIdUint_t) istd.input_port;
        upf.apply(packet, hdr, meta);
        transition accept;
    }
}

control PreControl(in headers_t hdr, inout metadata_t meta, in pna_pre_input_metadata_t istd,
        inout pna_pre_output_metadata_t ostd) {
    apply {
    }
}

control Main(inout headers_t hdr, inout metadata_t meta, in pna_main_input_metadata_t istd,
        inout pna_main_output_metadata_t ostd) {
    Upf() upf;

    apply {
        upf.apply(hdr, meta);
        if (meta.drop != 0) {
            drop_packet();
        } else {
            send_to_port((PortId_t) meta.egress_port);
        }
    }
}

control MainDeparser(packet_out packet, in headers_t hdr, in metadata_t meta,
        in pna_main_output_metadata_t ostd) {
    UpfDeparser() upf;

    apply {
        upf.apply(packet, hdr);
    }
}

PNA_NIC(MainParser(), PreControl(), Main(), MainDeparser()) main;
