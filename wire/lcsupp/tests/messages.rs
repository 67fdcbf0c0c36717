//! Messages against bytes laid out by hand, and what is wrong with each.

use martlet_lcsupp::upp_cm::{BackOff, Cause, LmfAddress, UppCm};
use martlet_lcsupp::*;
use martlet_wire_testing::{bytes, lines, mutate, seeds};
use proptest::prelude::*;

const VECTORS: &str = include_str!("vectors/messages.tsv");

fn vectors(protocol: &str) -> Vec<(&str, Vec<u8>)> {
    lines(VECTORS)
        .filter(|fields| fields[0] == protocol)
        .map(|fields| (fields[1], bytes(fields[2])))
        .collect()
}

fn transport<'a>(payload: &'a [u8], session: &'a [u8]) -> Transport<'a> {
    Transport { payload_type: PayloadType::Lpp, payload, session }
}

#[test]
fn every_message_has_its_octets() {
    let binding = |bytes: &[u8]| Message::BindingRequest(BindingIdentity::new(bytes).unwrap());
    let expected = [
        Message::Uplink(transport(&[0, 2, 0xf0, 2], b"1")),
        Message::Uplink(transport(&[0, 2, 0xf0, 2], b"")),
        Message::Uplink(Transport {
            payload_type: PayloadType::Lcs,
            payload: &[0xaa, 0xbb],
            session: &[1],
        }),
        Message::Downlink(transport(&[0, 4, 0xf0, 2, 7, 0x48], &[1, 2, 3, 4])),
        Message::Downlink(transport(&[0, 2, 0xf0, 2, 0, 2, 0xf0, 3], &[1])),
        binding(&[0, 0, 0, 1]),
        binding(&[1, 2, 3, 4, 5, 6, 7, 8]),
        Message::BindingAccept,
        Message::BindingReject,
    ];
    let vectors = vectors("lcsupp");
    assert_eq!(vectors.len(), expected.len());
    for ((name, bytes), message) in vectors.iter().zip(expected) {
        assert_eq!(Message::decode(bytes), Ok((message.clone(), bytes.len())), "{name}");
        assert_eq!(hex::encode(message.encode().unwrap()), hex::encode(bytes), "{name}");
    }
}

#[test]
fn every_negotiation_message_has_its_octets() {
    let (four, six) = ("127.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let command = |address, source_lmf| UppCm::EstablishmentCommand {
        binding: BindingIdentity::new([1, 2, 3, 4]).unwrap(),
        address,
        source_lmf,
    };
    let expected = [
        command(LmfAddress::Ipv4(four), None),
        command(LmfAddress::Ipv6(six), Some(vec![0x10, 0xff])),
        command(LmfAddress::Both("10.0.0.1".parse().unwrap(), six), None),
        command(LmfAddress::Fqdn("lmf.example".into()), None),
        UppCm::EstablishmentComplete,
        UppCm::EstablishmentFailure(Cause::TlsFailure),
        UppCm::EstablishmentFailure(Cause::ProtocolError),
        UppCm::EstablishmentRequest,
        UppCm::EstablishmentReject(None),
        UppCm::EstablishmentReject(Some(BackOff::at_least(std::time::Duration::from_secs(900)))),
        UppCm::ReleaseCommand(None),
        UppCm::ReleaseCommand(Some(BackOff::NEVER)),
        UppCm::ReleaseComplete,
        UppCm::ReleaseRequest(None),
        UppCm::ReleaseRequest(Some(Cause::UserPlaneNotAvailable)),
        UppCm::ModificationCommand(None),
        UppCm::ModificationCommand(Some(vec![0xaa, 0xbb])),
        UppCm::ModificationComplete,
        UppCm::ModificationReject(Cause::SourceConnectionNotFound),
    ];
    let vectors = vectors("uppcm");
    assert_eq!(vectors.len(), expected.len());
    for ((name, bytes), message) in vectors.iter().zip(expected) {
        assert_eq!(UppCm::decode(bytes).as_ref(), Ok(&message), "{name}");
        assert_eq!(hex::encode(message.encode().unwrap()), hex::encode(bytes), "{name}");
    }
}

#[test]
fn the_largest_message_is_as_large_as_the_specification_says() {
    let (payload, session) = (vec![7; 65_535], vec![9; 255]);
    let message = Message::Uplink(transport(&payload, &session));
    let bytes = message.encode().unwrap();
    assert_eq!((bytes.len(), LARGEST_MESSAGE), (65_795, 65_795));
    assert_eq!(Message::decode(&bytes), Ok((message, bytes.len())));
    let too_large = vec![7; 65_536];
    assert!(Message::Uplink(transport(&too_large, b"")).encode().is_err());
    assert!(Message::Uplink(transport(b"", b"")).encode().is_err());
    assert!(Message::Uplink(transport(&[1], &[0; 256])).encode().is_err());

    let mut room = Vec::new();
    push_lpp_message(&mut room, &[1; LARGEST_LPP_MESSAGE]).unwrap();
    assert_eq!(room.len(), 65_535);
    assert!(push_lpp_message(&mut room, &[1]).is_err());
    assert!(push_lpp_message(&mut Vec::new(), &[1; LARGEST_LPP_MESSAGE + 1]).is_err());
    assert!(push_lpp_message(&mut Vec::new(), &[]).is_err());
}

#[test]
fn a_message_cut_at_any_octet_is_cut_off_and_nothing_else() {
    for (name, bytes) in vectors("lcsupp") {
        for end in 0..bytes.len() {
            assert_eq!(
                Message::decode(&bytes[..end]),
                Err(DecodeError::Truncated),
                "{name}, {end} bytes"
            );
        }
    }
    for (name, bytes) in vectors("uppcm") {
        // An option that is missing altogether is a message without it.
        let whole = match bytes[0] {
            0xc1 => 2 + usize::from(bytes[1]) + 1 + usize::from(bytes[2 + usize::from(bytes[1])]),
            0xc3 | 0xcb => 2,
            _ => 1,
        };
        for end in (0..bytes.len()).filter(|&end| end != whole) {
            assert_eq!(
                UppCm::decode(&bytes[..end]),
                Err(DecodeError::Truncated),
                "{name}, {end} bytes"
            );
        }
    }
}

#[test]
fn errors_are_reported_as_soon_as_they_are_received() {
    let wrong = |text: &str| Message::decode(&bytes(text)).unwrap_err();
    assert_eq!(wrong("40"), DecodeError::MessageType(0x40));
    assert_eq!(wrong("46"), DecodeError::MessageType(0x46));
    assert_eq!(wrong("c1"), DecodeError::MessageType(0xc1));
    assert_eq!(wrong("4100"), DecodeError::PayloadType(0));
    assert_eq!(wrong("4203"), DecodeError::PayloadType(3));
    assert_eq!(wrong("41010000"), DecodeError::Length { element: "the payload", length: 0 });
    assert_eq!(
        wrong("4303010203"),
        DecodeError::Length { element: "the binding identity", length: 3 }
    );
    assert_eq!(wrong("4300"), DecodeError::Length { element: "the binding identity", length: 0 });
    // The high half of the payload type is spare.
    assert!(Message::decode(&bytes("41f100010100")).is_ok());

    let wrong = |text: &str| UppCm::decode(&bytes(text)).unwrap_err();
    assert_eq!(wrong("41"), DecodeError::MessageType(0x41));
    assert_eq!(wrong("cc"), DecodeError::MessageType(0xcc));
    assert_eq!(
        wrong("c10301020305017f000001"),
        DecodeError::Length { element: "the binding identity", length: 3 }
    );
    assert_eq!(
        wrong("c1040102030400"),
        DecodeError::Length { element: "the LMF address", length: 0 }
    );
    assert_eq!(
        wrong("c10401020304050500000000"),
        DecodeError::Value { element: "the type of the LMF address", value: 5 }
    );
    assert_eq!(
        wrong("c1040102030404017f0000"),
        DecodeError::Length { element: "the LMF address", length: 4 }
    );
    assert_eq!(
        wrong("c104010203040404036c6d"),
        DecodeError::Length { element: "a label of the LMF's name", length: 3 }
    );
    assert_eq!(
        wrong("c10401020304030401 2e".replace(' ', "").as_str()),
        DecodeError::Value { element: "the LMF's name", value: 0x2e }
    );
    assert_eq!(
        wrong("c510021e1e"),
        DecodeError::Length { element: "the back-off timer", length: 2 }
    );
    assert_eq!(wrong("c50f0100"), DecodeError::NotUnderstood(0x0f));
}

#[test]
fn elements_that_are_not_known_are_passed_over() {
    // A TV of half an octet, a TLV, an element of another message, and a second back-off timer.
    let message =
        UppCm::decode(&bytes("c581700301020322 01aa 10011e 10011f".replace(' ', "").as_str()))
            .unwrap();
    assert_eq!(message, UppCm::decode(&bytes("c510011e")).unwrap());
    // A cause that is not known counts as unspecified.
    assert_eq!(
        UppCm::decode(&bytes("c377")),
        Ok(UppCm::EstablishmentFailure(Cause::ProtocolError))
    );
}

#[test]
fn lpp_messages_are_found_in_a_payload_or_none_is() {
    let found = |text: &str| {
        lpp_messages(&bytes(text)).map(|found| found.map(hex::encode).collect::<Vec<_>>())
    };
    assert_eq!(found("0001aa0002bbcc"), Ok(vec!["aa".into(), "bbcc".into()]));
    assert_eq!(found("0001aa0003bbcc"), Err(DecodeError::Truncated));
    assert_eq!(found("0001aa00"), Err(DecodeError::Truncated));
    assert_eq!(found("0000"), Err(DecodeError::Length { element: "an LPP message", length: 0 }));
}

/// The messages that a framer returns for a stream in these pieces.
fn framed(stream: &[u8], ends: &[usize]) -> (Vec<Vec<u8>>, Result<usize, DecodeError>) {
    let (mut framer, mut found, mut from) = (Framer::new(), Vec::new(), 0);
    for &end in ends.iter().chain([&stream.len()]) {
        framer.push(&stream[from..end]);
        from = end;
        loop {
            match framer.next() {
                Ok(Some(message)) => found.push(message.encode().unwrap()),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, Ok(framer.pending()))
}

#[test]
fn each_split_of_a_stream_gives_the_same_messages() {
    let messages: Vec<Vec<u8>> = vectors("lcsupp").into_iter().map(|(_, bytes)| bytes).collect();
    let stream = messages.concat();
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            assert_eq!(
                framed(&stream, &[first, second]),
                (messages.clone(), Ok(0)),
                "cut at {first} and {second}"
            );
        }
    }
    let each_octet: Vec<usize> = (0..stream.len()).collect();
    assert_eq!(framed(&stream, &each_octet), (messages, Ok(0)));
}

#[test]
fn a_large_message_in_records_of_any_size_is_one_message() {
    let payload = vec![0x5a; 65_535];
    let bytes = Message::Uplink(transport(&payload, &[1; 255])).encode().unwrap();
    let stream = [&bytes[..], &[0x44], &bytes[..]].concat();
    for record in [1000, 1399, 16_384, 65_535] {
        let ends: Vec<usize> = (record..stream.len()).step_by(record).collect();
        let (found, rest) = framed(&stream, &ends);
        assert_eq!((found.len(), rest), (3, Ok(0)), "records of {record}");
        assert!(
            found[0] == bytes && found[1] == [0x44] && found[2] == bytes,
            "records of {record}"
        );
    }
}

#[test]
fn a_failed_stream_remains_failed() {
    let mut framer = Framer::new();
    framer.push(&[0x44, 0x99, 0x44]);
    assert_eq!(framer.next(), Ok(Some(Message::BindingAccept)));
    assert_eq!(framer.next(), Err(DecodeError::MessageType(0x99)));
    framer.push(&[0x44]);
    assert_eq!(framer.next(), Err(DecodeError::MessageType(0x99)));
}

#[test]
fn octets_received_in_place_are_read_like_those_that_were_pushed() {
    let stream: Vec<u8> = vectors("lcsupp").into_iter().flat_map(|(_, bytes)| bytes).collect();
    let into_room = |framer: &mut Framer, piece: &[u8]| {
        framer.room(64)[..piece.len()].copy_from_slice(piece);
        framer.filled(64, piece.len());
    };
    let added = |framer: &mut Framer, piece: &[u8]| framer.input().extend_from_slice(piece);
    for receive in [into_room as fn(&mut Framer, &[u8]), added] {
        let (mut framer, mut count) = (Framer::new(), 0);
        for piece in stream.chunks(5) {
            receive(&mut framer, piece);
            while let Ok(Some(_)) = framer.next() {
                count += 1;
            }
        }
        assert_eq!((count, framer.pending()), (vectors("lcsupp").len(), 0));
    }
}

#[test]
fn a_failed_stream_buffers_no_later_input() {
    let mut framer = Framer::new();
    framer.input().push(0x99);
    assert!(framer.next().is_err());
    for _ in 0..10 {
        framer.input().extend_from_slice(&[0x44; 1000]);
        assert_eq!(framer.next(), Err(DecodeError::MessageType(0x99)));
        assert!(framer.pending() <= 1000);
    }
}

#[test]
fn octets_that_are_nearly_messages_are_read_or_refused() {
    mutate::run(24_572, seeds(VECTORS), 30_000, fuzz_decode);
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(bytes: Vec<u8>) {
        fuzz_decode(&bytes);
    }
}
