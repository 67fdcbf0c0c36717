//! LCS-UPP messages over every channel, cut at every octet and spread over any records: they arrive
//! whole.

use crate::channels::*;
use martlet_lcsupp::{Framer, Message, PayloadType, Transport};
use std::net::SocketAddr;

fn message(payload: &[u8]) -> Vec<u8> {
    let transport = Transport { payload_type: PayloadType::Lpp, payload, session: b"seven" };
    let mut octets = Vec::new();
    Message::Uplink(transport).encode_into(&mut octets).unwrap();
    octets
}

/// What messages a server reads until its client closes.
fn read_all(mut channel: Box<dyn Channel>) -> Vec<Vec<u8>> {
    let (mut framer, mut octets, mut payloads) = (Framer::new(), Vec::new(), Vec::new());
    while channel.receive(&mut octets).unwrap() {
        framer.push(&octets);
        octets.clear();
        while let Some(message) = framer.next().unwrap() {
            let Message::Uplink(transport) = message else {
                panic!("another message: {message:?}")
            };
            assert_eq!(transport.session, b"seven");
            payloads.push(transport.payload.to_vec());
        }
    }
    assert_eq!(framer.pending(), 0);
    channel.close().unwrap();
    payloads
}

/// Sends pieces, each of which is a record or more of its own, and gives what the other end reads.
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
fn a_message_may_be_cut_at_any_octet() {
    let (one, two) = (message(b"twenty octets of LPP"), message(&[7; 300]));
    for kind in kinds() {
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut due: Vec<Vec<u8>> = Vec::new();
        for at in 0..=one.len() {
            let (head, tail) = one.split_at(at);
            pieces.extend([head, tail].into_iter().filter(|piece| !piece.is_empty()));
            due.push(b"twenty octets of LPP".to_vec());
        }
        // Each octet alone, and a long one that begins with the end of a short one.
        pieces.extend(two.chunks(1));
        due.push(vec![7; 300]);
        let both = [one.as_slice(), two.as_slice()].concat();
        let (head, tail) = both.split_at(one.len() + 3);
        pieces.extend([head, tail]);
        due.extend([b"twenty octets of LPP".to_vec(), vec![7; 300]]);
        assert!(carry(kind, &pieces) == due, "{kind:?}");
    }
}

#[test]
fn the_largest_message_may_be_spread_over_any_records_and_several_be_in_one() {
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
