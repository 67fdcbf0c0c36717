//! Tests of the record layer.

use super::*;

fn sealed(plain: &[u8]) -> (Vec<u8>, Records) {
    let (mut one, other) = pair();
    let mut wire = Vec::new();
    one.seal(plain, &mut wire).unwrap();
    (wire, other)
}

#[test]
fn records_are_decrypted_however_they_are_split() {
    for length in [1, 100, MAX_PLAINTEXT - 1, MAX_PLAINTEXT, MAX_PLAINTEXT + 1, 65_795] {
        let plain: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
        for cut in [1, 4, 5, 6, 21, 1000, 16_405, 70_000] {
            if length > 20_000 && cut < 1000 {
                continue;
            }
            let (wire, mut other) = sealed(&plain);
            let mut opened = Vec::new();
            wire.chunks(cut).for_each(|piece| other.open(piece, &mut opened).unwrap());
            assert!(opened == plain, "{length} bytes in pieces of {cut}");
        }
    }
}

#[test]
fn a_modified_repeated_or_missing_record_ends_the_connection_with_an_alert() {
    let (mut one, _) = pair();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    one.seal(b"first", &mut first).unwrap();
    one.seal(b"second", &mut second).unwrap();
    let mut changed = first.clone();
    changed[7] ^= 1;
    for wire in [changed, [first.clone(), first.clone()].concat(), second.clone()] {
        let (_, mut other) = pair();
        let mut opened = Vec::new();
        let error = other.open(&wire, &mut opened).unwrap_err().to_string();
        assert!(error.contains("does not open"), "{error}");
        let mut alert = Vec::new();
        other.pending(&mut alert);
        // One alert is sent, and no further input is accepted.
        assert_eq!(alert.len(), HEADER + 2 + 1 + TAG);
        assert!(other.open(&first, &mut opened).is_err() && other.seal(b"x", &mut alert).is_err());
    }
}

#[test]
fn malformed_records_are_rejected() {
    for wire in [
        // A handshake record, an alert without protection, one that is too long, one without a
        // tag.
        &[22, 3, 3, 0, 1, 0][..],
        &[21, 3, 3, 0, 2, 2, 40],
        &[23, 3, 3, 0x41, 0x01],
        &[[23, 3, 3, 0x41, 0x00].as_slice(), &[0; 0x4100]].concat(),
        &[23, 3, 3, 0, 3, 1, 2, 3],
        &[0; 5],
    ] {
        let (_, mut other) = pair();
        assert!(other.open(wire, &mut Vec::new()).is_err(), "{wire:02x?}");
    }
}

#[test]
fn padding_is_removed_up_to_the_maximum_record_size() {
    // RFC 8446, 5.4: content, its type, and zeros; with them at most 2^14 + 1 bytes.
    for (content, padding, good) in
        [(3, 0, true), (3, 500, true), (3, MAX_PLAINTEXT - 3, true), (3, MAX_PLAINTEXT - 2, false)]
    {
        let (mut one, mut other) = pair();
        let (mut inner, mut wire) = (vec![7; content], Vec::new());
        inner.push(APPLICATION_DATA);
        inner.resize(content + 1 + padding, 0);
        // The last zero is where `seal` writes the type.
        let kind = inner.pop().unwrap();
        one.tx.seal(kind, &inner, &mut wire).unwrap();
        let mut opened = Vec::new();
        assert_eq!(other.open(&wire, &mut opened).is_ok(), good, "{content} and {padding}");
        assert_eq!(opened, if good { vec![7; content] } else { Vec::new() });
    }
}

#[test]
fn user_canceled_is_ignored_and_other_alerts_end_the_connection() {
    let (mut one, mut other) = pair();
    let (mut wire, mut opened) = (Vec::new(), Vec::new());
    one.tx.seal(ALERT, &[1, alert::USER_CANCELED], &mut wire).unwrap();
    one.seal(b"and more", &mut wire).unwrap();
    one.tx.seal(ALERT, &[2, alert::BAD_RECORD_MAC], &mut wire).unwrap();
    assert!(other.open(&wire, &mut opened).is_err() && opened == b"and more" && !other.is_closed());
    // An alert is not answered with one.
    let mut answer = Vec::new();
    other.pending(&mut answer);
    assert!(answer.is_empty());
}

#[test]
fn close_notify_differs_from_truncation_and_empty_records_are_limited() {
    let (mut one, mut other) = pair();
    let mut wire = Vec::new();
    one.seal(b"last", &mut wire).unwrap();
    one.close(&mut wire);
    let mut opened = Vec::new();
    other.open(&wire, &mut opened).unwrap();
    assert!(other.is_closed() && opened == b"last");

    let (mut one, mut other) = pair();
    let mut wire = Vec::new();
    for _ in 0..=MAX_EMPTY_RECORDS {
        one.tx.seal(APPLICATION_DATA, &[], &mut wire).unwrap();
    }
    assert!(other.open(&wire, &mut Vec::new()).is_err());
}

/// The alert description sent for records of these types and contents.
fn alert_for(records: &[(u8, &[u8])]) -> u8 {
    let (mut one, mut other) = pair();
    let mut wire = Vec::new();
    records.iter().for_each(|(kind, content)| one.tx.seal(*kind, content, &mut wire).unwrap());
    assert!(other.open(&wire, &mut Vec::new()).is_err() && !other.is_closed(), "{records:?}");
    wire.clear();
    other.pending(&mut wire);
    let mut alert = Vec::new();
    assert_eq!(
        one.rx.open(*wire.first_chunk().unwrap(), &wire[HEADER..], &mut alert).unwrap(),
        ALERT
    );
    assert_eq!(alert[0], 2, "it is fatal");
    alert[1]
}

#[test]
fn each_error_sends_the_alert_of_rfc_8446() {
    let update = [KEY_UPDATE, 0, 0, 1, 0];
    for (records, alert) in [
        (&[(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 7][..])][..], alert::ILLEGAL_PARAMETER),
        (&[(HANDSHAKE, &[KEY_UPDATE, 0, 0, 2, 0, 0])], alert::DECODE_ERROR),
        (&[(HANDSHAKE, &[KEY_UPDATE, 0, 0, 0])], alert::DECODE_ERROR),
        // Two messages in one record: the second would have to be under the new key.
        (&[(HANDSHAKE, &[update, update].concat())], alert::UNEXPECTED_MESSAGE),
        // A ClientHello, a CertificateRequest and EndOfEarlyData, which are not allowed here.
        (&[(HANDSHAKE, &[1, 0, 0, 0])], alert::UNEXPECTED_MESSAGE),
        (&[(HANDSHAKE, &[13, 0, 0, 0])], alert::UNEXPECTED_MESSAGE),
        (&[(HANDSHAKE, &[5, 0, 0, 0])], alert::UNEXPECTED_MESSAGE),
        // A ticket to a server; a message of 16 MB; an empty message.
        (&[(HANDSHAKE, &[NEW_SESSION_TICKET, 0, 0, 1, 0])], alert::UNEXPECTED_MESSAGE),
        (&[(HANDSHAKE, &[NEW_SESSION_TICKET, 0xff, 0, 0, 0])], alert::DECODE_ERROR),
        (&[(HANDSHAKE, &[])], alert::UNEXPECTED_MESSAGE),
        // Another record between the fragments of a message, even an alert.
        (&[(HANDSHAKE, &update[..4]), (APPLICATION_DATA, b"x")], alert::UNEXPECTED_MESSAGE),
        (
            &[(HANDSHAKE, &update[..4]), (ALERT, &[1, alert::CLOSE_NOTIFY])],
            alert::UNEXPECTED_MESSAGE,
        ),
        (&[(ALERT, &[1])], alert::DECODE_ERROR),
        (&[(ALERT, &[1, 0, 1, 0])], alert::DECODE_ERROR),
        (&[(20, &[1])], alert::UNEXPECTED_MESSAGE),
        (&[(24, &[1, 0, 0])], alert::UNEXPECTED_MESSAGE),
        (&[(0, &[0; 30])], alert::UNEXPECTED_MESSAGE),
    ] {
        assert_eq!(alert_for(records), alert, "{records:?}");
    }
}

#[test]
fn nothing_is_sent_after_close_notify() {
    let (mut one, mut other) = pair();
    let mut wire = Vec::new();
    one.close(&mut wire);
    let length = wire.len();
    one.close(&mut wire);
    assert!(one.seal(b"more", &mut wire).is_err() && wire.len() == length);
    // Input after the peer's close_notify is ignored (RFC 8446, 6.1), but a KeyUpdate request
    // before it is answered.
    wire.extend_from_slice(&[0xff; 100]);
    let mut opened = Vec::new();
    other.open(&wire, &mut opened).unwrap();
    assert!(other.is_closed() && opened.is_empty());
    wire.clear();
    other.seal(b"the rest", &mut wire).unwrap();
    one.open(&wire, &mut opened).unwrap();
    assert_eq!(opened, b"the rest");
}
