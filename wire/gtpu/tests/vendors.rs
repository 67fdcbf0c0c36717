//! Packets as other vendors' gNBs send them are decoded, so that the UPF can process them.
use martlet_gtpu::{GPdu, Message, decode, g_pdu_header};
use martlet_wire_testing::{bytes, lines, oracle};

const VECTORS: &str = include_str!("vectors/vendors.tsv");

#[test]
fn packets_of_other_vendors_are_decoded_and_encoded_to_the_same_octets() {
    let mut packets = 0;
    for fields in lines(VECTORS) {
        let octets = bytes(fields[2]);
        let Ok(Message::GPdu(GPdu { teid, container: None, payload, .. })) = decode(&octets) else {
            panic!("{} {}: {:?}", fields[0], fields[1], decode(&octets))
        };
        let header = g_pdu_header(teid, None, payload.len()).expect("a short payload");
        assert_eq!([header.as_slice(), payload].concat(), octets, "{} {}", fields[0], fields[1]);
        packets += 1;
    }
    assert_eq!(packets, 1);
}

#[test]
fn pycrate_reads_the_packets_of_other_vendors_and_encodes_the_same_octets() {
    oracle::assert_same_bytes("gtpu", VECTORS);
}
