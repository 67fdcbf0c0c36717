//! Every message against pycrate, another implementation, in both directions; and mutated messages.

use martlet_lpp::*;
use martlet_wire_testing::{bytes, lines, mutate, oracle};

const VECTORS: &str = include_str!("vectors/pycrate.tsv");
const KNOWN: &str = include_str!("vectors/known.tsv");

/// The name of each message, its bytes, and how they are written again.
fn vectors() -> impl Iterator<Item = (String, Vec<u8>, Vec<u8>)> {
    [VECTORS, KNOWN].into_iter().flat_map(lines).map(|fields| {
        let sent = bytes(fields[2]);
        // The presence bitmap of an earlier release is shorter, since it has fewer additions.
        let again = fields.get(3).map_or_else(|| sent.clone(), |text| bytes(text));
        (fields[..2].join(", "), sent, again)
    })
}

#[test]
fn what_pycrate_encodes_is_read_and_encoded_to_the_same_octets() {
    let mut wrong = Vec::new();
    for (name, bytes, expected) in vectors() {
        match decode(&bytes) {
            Ok(message) => match encode(&message) {
                Ok(again) if again == expected => {}
                Ok(again) => wrong.push(format!(
                    "{name}\n  theirs {}\n  ours   {}",
                    hex::encode(expected),
                    hex::encode(again)
                )),
                Err(error) => wrong.push(format!("{name}: {error}")),
            },
            Err(error) => wrong.push(format!("{name}: {error}: {}", hex::encode(&bytes))),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), vectors().count(), wrong.join("\n"));
}

#[test]
fn every_message_type_is_there() {
    let names: std::collections::BTreeSet<_> = lines(VECTORS).map(|fields| fields[0]).collect();
    assert_eq!(names.len(), 8);
}

#[test]
fn pycrate_reads_what_we_encode() {
    let ours = vectors().filter_map(|(name, bytes, _)| {
        let message = decode(&bytes).ok()?;
        Some(("lpp".to_owned(), name, encode(&message).ok()?))
    });
    if let Some(wrong) = oracle::recode(&ours.collect::<Vec<_>>()) {
        assert!(wrong.is_empty(), "pycrate reads these otherwise:\n{}", wrong.join("\n"));
    }
}

#[test]
fn a_message_is_acknowledged_if_it_requests_that() {
    // The message that was captured from a UE.
    let captured = KNOWN.lines().next_back().and_then(|line| line.split('\t').nth(2));
    let message = decode(&bytes(captured.expect("a message"))).unwrap();
    let acknowledgement = message.acknowledge().expect("the UE requests one");
    // Of its members an acknowledgement alone, with the indicator 1.
    assert_eq!(encode(&acknowledgement).unwrap(), [0x24, 0x02]);
    assert_eq!(acknowledgement.acknowledge(), None);
    let body = Body::RequestCapabilities(Default::default());
    assert_eq!(LppMessage::new(Transaction::ByServer(1), false, body).acknowledge(), None);
}

#[test]
fn octets_that_are_nearly_messages_are_read_or_refused() {
    let seeds = vectors().map(|(_, bytes, _)| bytes).collect();
    mutate::run(37_355, seeds, 6_000, fuzz_decode);
}
