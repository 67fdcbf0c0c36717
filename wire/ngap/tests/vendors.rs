//! Messages as other vendors' gNBs send them: deviations are tolerated by default, and rejected in
//! strict mode.
use martlet_ngap::inbound;
use martlet_wire_testing::{bytes, lines};

const VECTORS: &str = include_str!("vectors/vendors.tsv");
const IN_ORDER: &str = include_str!("vectors/pycrate.tsv");

#[test]
fn elements_in_any_order_are_read_unless_strict() {
    let mut messages = 0;
    for fields in lines(VECTORS) {
        let (name, variant, message) = (fields[1], fields[2], bytes(fields[3]));
        let received = inbound::read_any_order(&message)
            .unwrap_or_else(|fault| panic!("{name} {variant}: {fault}"));
        assert!(received.out_of_order, "{name} {variant}");
        assert_eq!(inbound::message_name(&received.pdu), name);
        assert!(inbound::read(&message).is_err(), "{name} {variant}: accepted strictly");
        messages += 1;
    }
    assert!(messages >= 12, "{messages} messages");
}

#[test]
fn messages_in_order_are_not_marked() {
    for fields in lines(IN_ORDER).filter(|fields| fields[0] == "message").take(100) {
        let message = bytes(fields[3]);
        let received = inbound::read_any_order(&message).expect("a message of pycrate");
        assert!(!received.out_of_order, "{} {}", fields[1], fields[2]);
    }
}
