//! Messages as other vendors' SMFs send them are decoded, so that the UPF can process them.
use martlet_pfcp::ie::Interface;
use martlet_pfcp::{Message, Packet};
use martlet_wire_testing::{bytes, lines, oracle};

const VECTORS: &str = include_str!("vectors/vendors.tsv");

#[test]
fn messages_of_other_vendors_are_decoded_and_encoded_to_the_same_octets() {
    let mut without_header = 0;
    for fields in lines(VECTORS) {
        let packet = Packet::decode(&bytes(fields[2]))
            .unwrap_or_else(|error| panic!("{} {}: {error}", fields[0], fields[1]));
        assert_eq!(hex::encode(packet.encode()), fields[2], "{} {}", fields[0], fields[1]);
        let Message::SessionEstablishmentRequest(request) = packet.message else {
            panic!("{} {}: {packet:?}", fields[0], fields[1])
        };
        let forwards =
            request.create_fars.iter().filter_map(|far| far.forwarding_parameters.as_ref());
        without_header += forwards
            .filter(|to| to.destination_interface.0 == Interface::Access)
            .filter(|to| to.outer_header_creation.is_none())
            .count();
    }
    assert_eq!(without_header, 1);
}

#[test]
fn pycrate_reads_the_messages_of_other_vendors_and_encodes_the_same_octets() {
    oracle::assert_same_bytes("pfcp", VECTORS);
}
