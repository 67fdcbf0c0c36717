//! LCS-UPP messages over every channel: they are reassembled, however they are split into records.

use crate::channels::*;
use martlet_lcsupp::{Framer, Message, PayloadType, Transport};
use std::net::SocketAddr;

fn message(payload: &[u8]) -> Vec<u8> {
    let transport = Transport { payload_type: PayloadType::Lpp, payload, session: b"seven" };
    let mut bytes = Vec::new();
    Message::Uplink(transport).encode_into(&mut bytes).unwrap();
    bytes
}

/// The messages that a server receives until its client closes.
fn read_all(mut channel: Box<dyn Channel>) -> Vec<Vec<u8>> {
    let (mut framer, mut bytes, mut payloads) = (Framer::new(), Vec::new(), Vec::new());
    while channel.receive(&mut bytes).unwrap() {
        framer.push(&bytes);
        bytes.clear();
        while let Some(message) = framer.next().unwrap() {
            let Message::Uplink(transport) = message else {
                panic!("unexpected message: {message:?}")
            };
            assert_eq!(transport.session, b"seven");
            payloads.push(transport.payload.to_vec());
        }
    }
    assert_eq!(framer.pending(), 0);
    channel.close().unwrap();
    payloads
}

/// Sends each piece as one or more records, and returns what the peer receives.
fn carry(kind: Kind, pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let options = Options::default();
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let mut listener =
        listen(kind, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options).unwrap();
    let at = listener.local_addr();
    let reader = std::thread::spawn(move || read_all(listener.accept().unwrap()));
    let mut channel = connect(kind, at, &identity.trust("lmf.example"), &options).unwrap();
    pieces.iter().for_each(|piece| channel.send(piece).unwrap());
    channel.close().unwrap();
    reader.join().unwrap()
}

fn kinds() -> Vec<Kind> {
    Kind::available().into_iter().filter(|kind| crate::is_secure(*kind)).collect()
}

#[test]
fn a_message_may_be_split_at_any_byte() {
    let (one, two) = (message(b"twenty bytes of LPP"), message(&[7; 300]));
    for kind in kinds() {
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut due: Vec<Vec<u8>> = Vec::new();
        for at in 0..=one.len() {
            let (head, tail) = one.split_at(at);
            pieces.extend([head, tail].into_iter().filter(|piece| !piece.is_empty()));
            due.push(b"twenty bytes of LPP".to_vec());
        }
        // Each byte alone; and a long message whose record begins with the end of a short one.
        pieces.extend(two.chunks(1));
        due.push(vec![7; 300]);
        let both = [one.as_slice(), two.as_slice()].concat();
        let (head, tail) = both.split_at(one.len() + 3);
        pieces.extend([head, tail]);
        due.extend([b"twenty bytes of LPP".to_vec(), vec![7; 300]]);
        assert!(carry(kind, &pieces) == due, "{kind:?}");
    }
}

#[test]
fn the_largest_message_spans_records_and_a_record_holds_several_messages() {
    let payload: Vec<u8> = (0..65_535).map(|at| (at * 31) as u8).collect();
    let (large, small) = (message(&payload), message(b"x"));
    let many = small.repeat(1000);
    for kind in kinds() {
        for size in [999, 16_383, 16_384, 16_385, 65_000, 100_000] {
            let mut pieces: Vec<&[u8]> = large.chunks(size).collect();
            pieces.push(&many);
            let arrived = carry(kind, &pieces);
            assert!(arrived.len() == 1001 && arrived[0] == payload, "{kind:?}, {size}");
            assert!(arrived[1..].iter().all(|it| it == b"x"), "{kind:?}, {size}");
        }
    }
}
