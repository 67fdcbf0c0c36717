//! Messages as other vendors' UEs send them are decoded, so that procedures can process them.
use martlet_nas::Nas5gsMessage;
use martlet_wire_testing::{bytes, lines, oracle};

const VECTORS: &str = include_str!("vectors/vendors.tsv");

#[test]
fn messages_of_other_vendors_are_decoded_and_encoded_to_the_same_octets() {
    let mut messages = 0;
    for fields in lines(VECTORS) {
        let message = bytes(fields[2]);
        let decoded = Nas5gsMessage::decode(&message)
            .unwrap_or_else(|error| panic!("{} {}: {error}", fields[0], fields[1]));
        assert_eq!(decoded.encode().expect("it encodes"), message, "{} {}", fields[0], fields[1]);
        messages += 1;
    }
    assert_eq!(messages, 2);
}

#[test]
fn pycrate_reads_the_messages_of_other_vendors_and_encodes_the_same_octets() {
    oracle::assert_same_bytes("nas", VECTORS);
}
